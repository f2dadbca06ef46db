"""From exceptions to exit codes and words: 78 configuration, 75 temporary, 3 failed, 69 unreadable, 2 usage.

Of several the first of 78 > 75 > 3 > 69 > 1 wins.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from costguard.cli.console import console, harmless
from costguard.cli.words import say
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
from costguard.web.words import Language

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


def report(error: CostguardError, language: Language = "en", *, as_json: bool) -> int:
    """Prints an error (stderr, or one ``costguard.error/1`` document in English) and returns the exit code."""
    code = exit_code(error)
    if as_json:
        write(_document(error, code))
        return code
    screen = console(stderr=True)
    for line in _lines(error, language):
        screen.print(line, soft_wrap=True)
    return code


def write(document: Mapping[str, object]) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def refuse(error: Any, language: Language, *, as_json: bool) -> int:
    """Prints Click's word that a command line cannot be understood, and returns the exit code."""
    if as_json:
        write(_document(UsageError(error.format_message()), USAGE))
    else:
        from costguard.cli import help

        help.refuse(error, language)
    return USAGE


def told(error: CostguardError, language: Language) -> str:
    """An error in one line, without its place in a file."""
    if language == "en":
        return str(error).removeprefix(place(error))
    from costguard.cli import chinese

    return chinese.error(error)


def place(error: CostguardError) -> str:
    """Where a mistake is, as compilers write it: ``file:line:column: ``; empty for what is in no file."""
    return error.place if isinstance(error, ConfigError) else ""


def _lines(error: CostguardError, language: Language) -> list[Text]:
    if isinstance(error, ConfigErrors | BillErrors):
        kind, count = "config" if isinstance(error, ConfigErrors) else "bill", len(error.errors)
        counts = say("count.error" if count == 1 else "counts.error", language, n=count)
        ends = Text(say(f"errors.{kind}", language, errors=counts), "bold")
        return [*(_line(one, language) for one in error.errors), ends]
    lines = [_line(error, language)]
    if isinstance(error, UsageError):
        lines += [Text(f"  {harmless(candidate)}") for candidate in error.candidates]
    return lines


def _line(error: CostguardError, language: Language) -> Text:
    return Text.assemble((place(error), "bold"), (say("error", language), "red"), harmless(told(error, language)))


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
