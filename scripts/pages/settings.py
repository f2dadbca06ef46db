"""docs/settings.md: every key of costguard.yaml, from the models that check it."""

from pathlib import Path

from costguard.config.settings import Settings
from scripts.pages.models import model_table, nested, summary


def page(root: Path) -> str:
    """The page."""
    parts = [
        "# Settings",
        "Every key of `costguard.yaml`. Paths are relative to that file's folder. Strings may contain `${env:NAME}` "
        "and `${file:PATH}` (one trailing newline is stripped; read again on SIGHUP), and nothing else is substituted. "
        "Unknown keys, duplicate keys, durations without a unit and floats for money are errors with file, line and "
        "column. `costguard policies schema` prints the JSON Schema for your editor.",
        "## costguard.yaml",
        model_table(Settings),
    ]
    for model in nested(Settings):
        parts += [f"## {model.__name__}", summary(model), model_table(model)]
    return "\n\n".join(part for part in parts if part)
