"""From exceptions to exit codes and words: 78 configuration, 75 temporary, 3 failed, 69 unreadable, 2 usage.

Of several the first of 78 > 75 > 3 > 69 > 1 wins.
"""

import json
import sys
from collections.abc import Iterable, Mapping

from rich.text import Text

from costguard.cli.console import console, plural
from costguard.errors import (
    AddressTaken,
    BillError,
    BillErrors,
    ConfigError,
    ConfigErrors,
    CostguardError,
    DeliveryError,
    ProviderError,
    SchemaBehind,
    StoreError,
    UsageError,
)

OK, FINDINGS, USAGE, FAILED, UNREADABLE, TEMPORARY, CONFIG = 0, 1, 2, 3, 69, 75, 78
_ORDER = (CONFIG, TEMPORARY, FAILED, UNREADABLE, FINDINGS)


def worst(codes: Iterable[int]) -> int:
    """The exit code that wins."""
    found = set(codes)
    return next((code for code in _ORDER if code in found), OK)


def exit_code(error: CostguardError) -> int:
    match error:
        case ConfigError() | ConfigErrors() | SchemaBehind():
            return CONFIG
        case UsageError():
            return USAGE
        case StoreError() | AddressTaken():
            return TEMPORARY
        case ProviderError() | BillError() | BillErrors():
            return UNREADABLE
        case DeliveryError():
            return FAILED
        case _:
            return FAILED


def report(error: CostguardError, *, as_json: bool) -> int:
    """Prints an error (stderr, or one ``costguard.error/1`` document) and returns the exit code."""
    code = exit_code(error)
    if as_json:
        write(_document(error, code))
        return code
    screen = console(stderr=True)
    for line in _lines(error):
        screen.print(line, soft_wrap=True)
    return code


def write(document: Mapping[str, object]) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def usage_document(message: str) -> dict[str, object]:
    """A command line that cannot be understood, as an error document."""
    return _document(UsageError(message), USAGE)


def _lines(error: CostguardError) -> list[Text]:
    if isinstance(error, ConfigErrors):
        lines = [_config_line(one) for one in error.errors]
        return [*lines, Text(f"{plural(len(lines), 'error')}; nothing was loaded", "bold")]
    if isinstance(error, ConfigError):
        return [_config_line(error)]
    if isinstance(error, BillErrors):
        lines = [Text.assemble(("error", "red"), f": {one}") for one in error.errors]
        return [*lines, Text(f"{plural(len(lines), 'error')}; nothing was imported", "bold")]
    lines = [Text.assemble(("error", "red"), ": ", str(error))]
    if isinstance(error, UsageError):
        lines += [Text(f"  {candidate}") for candidate in error.candidates]
    return lines


def _config_line(error: ConfigError) -> Text:
    place = f"{error.file}:{error.line}:{error.column}: " if error.file else ""
    path = f"{error.path}: " if error.path else ""
    hint = f" ({error.hint})" if error.hint else ""
    return Text.assemble((place, "bold"), ("error", "red"), f": {path}{error.message}", (hint, "cyan"))


def _document(error: CostguardError, code: int) -> dict[str, object]:
    errors: tuple[CostguardError, ...] = error.errors if isinstance(error, ConfigErrors | BillErrors) else (error,)
    return {
        "schema": "costguard.error/1",
        "exit_code": code,
        "errors": [
            {
                "type": type(one).__name__,
                "message": one.message if isinstance(one, ConfigError | BillError) else str(one),
                "file": getattr(one, "file", None) or None,
                "line": getattr(one, "line", None) or getattr(one, "row", None) or None,
                "column": getattr(one, "column", None) or None,
                "path": getattr(one, "path", None) or None,
                "hint": getattr(one, "hint", None),
                "candidates": list(getattr(one, "candidates", ())),
            }
            for one in errors
        ],
    }
