"""docs/commands.md: every command with its arguments and options, from the Typer application."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from costguard.cli.help import commands_of
from costguard.cli.main import app
from scripts.pages.markdown import code, table


def commands() -> Iterator[tuple[str, Any]]:
    """`costguard a b` → its command, for every leaf that is not hidden. Typer carries a Click of its own: no types."""
    yield from _leaves("costguard", typer.main.get_command(app))


def page(root: Path) -> str:
    """The page."""
    parts = [
        "# Commands",
        "`costguard [OPTIONS] COMMAND`. `--json` prints one document on stdout; logs go to stderr. Exit codes are in "
        "[operations.md](operations.md#exit-codes).",
        "What people read is in the language of `--lang`, else of COSTGUARD_LANG, else of the configuration, else of "
        "the terminal (LC_ALL, LC_MESSAGES, LANG: the first that is set; `zh…` is Chinese). `--help` and what is wrong "
        "with a command line come before a configuration is read, and skip it; mistakes in a configuration are told in "
        "the language that is written in it. JSON is the same in both languages.",
        _options(typer.main.get_command(app)),
    ]
    for path, command in commands():
        parts.append(f"## {path}")
        parts.append((command.help or "").replace("\b", "").strip())
        parts.append(_options(command))
    return "\n\n".join(part for part in parts if part)


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, inner in sorted(commands_of(command).items()):
        if not inner.hidden:
            yield from _leaves(f"{path} {name}", inner)


def _options(command: Any) -> str:
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    return table(["argument or option", "meaning"], [(_spelling(p), _help(p)) for p in shown]) if shown else ""


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return code((parameter.metavar or parameter.name).upper())
    return ", ".join(code(option) for option in (*parameter.opts, *parameter.secondary_opts))


def _help(parameter: Any) -> str:
    return getattr(parameter, "help", None) or ""
