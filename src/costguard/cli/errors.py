"""From exceptions to exit codes and words: 78 configuration, 75 temporary, 3 failed, 69 unreadable, 2 usage.

Of several the first of 78 > 75 > 3 > 69 > 1 wins.
"""

import json
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape

from costguard.errors import (
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
        case StoreError():
            return TEMPORARY
        case ProviderError():
            return UNREADABLE
        case DeliveryError():
            return FAILED
        case _:
            return FAILED


def report(error: CostguardError, *, as_json: bool) -> int:
    """Prints an error (stderr, or one ``costguard.error/1`` document) and returns the exit code."""
    code = exit_code(error)
    if as_json:
        sys.stdout.write(json.dumps(_document(error, code), ensure_ascii=False, indent=2) + "\n")
        return code
    console = Console(stderr=True, highlight=False)
    for line in _lines(error):
        console.print(line, soft_wrap=True)
    return code


def _lines(error: CostguardError) -> list[str]:
    if isinstance(error, ConfigErrors):
        count = len(error.errors)
        lines = [_config_line(e) for e in error.errors]
        return [*lines, f"[bold]{count} error{'s' if count > 1 else ''}; nothing was loaded[/bold]"]
    if isinstance(error, ConfigError):
        return [_config_line(error)]
    if isinstance(error, UsageError) and error.candidates:
        return [f"[red]error[/red]: {escape(str(error))}", *(f"  {escape(c)}" for c in error.candidates)]
    return [f"[red]error[/red]: {escape(str(error))}"]


def _config_line(error: ConfigError) -> str:
    place = f"{error.file}:{error.line}:{error.column}: " if error.file else ""
    path = f"{error.path}: " if error.path else ""
    hint = f" [cyan]({escape(error.hint)})[/cyan]" if error.hint else ""
    return f"[bold]{escape(place)}[/bold][red]error[/red]: {escape(path + error.message)}{hint}"


def _document(error: CostguardError, code: int) -> dict[str, object]:
    errors = error.errors if isinstance(error, ConfigErrors) else (error,)
    return {
        "schema": "costguard.error/1",
        "exit_code": code,
        "errors": [
            {
                "type": type(one).__name__,
                "message": one.message if isinstance(one, ConfigError) else str(one),
                "file": getattr(one, "file", None) or None,
                "line": getattr(one, "line", None) or None,
                "column": getattr(one, "column", None) or None,
                "path": getattr(one, "path", None) or None,
                "hint": getattr(one, "hint", None),
                "candidates": list(getattr(one, "candidates", ())),
            }
            for one in errors
        ],
    }
