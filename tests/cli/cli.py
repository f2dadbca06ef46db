"""Commands as a person's shell runs them: in this process for speed, as a real process where that is the point."""

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from costguard.cli.main import main
from tests.web.stage import HOSTILE

ROOT = Path(__file__).parents[2]
# The language of whoever runs the tests is not theirs.
_PLAIN = {"COSTGUARD_LOG": "ERROR", "LC_ALL": "C.UTF-8", "COSTGUARD_LANG": ""}

# Three English words in a row are a sentence, four capitals the head of a column; commands and names are neither, and
# what a person gave as a reason or a provider answered is quoted as it is.
_ENGLISH = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+\b|\b[A-Z]{4,}\b")
_NAMES = re.compile(
    r"`[^`]*`|JSON|YAML|FOCUS|YYYY|costguard [a-z]+( [^ ，。；）]+)*|(still )?reading the( results)?"
    r"|(this |account |pays )+(in arrears)?"
)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def leaks(told: Answer) -> list[str]:
    """Lines in which something stands that no Chinese sentence has; JSON and the like are names."""
    lines = (told.out + told.err).replace(HOSTILE, "").splitlines()
    return [line for line in lines if _ENGLISH.search(_NAMES.sub("", line))]


def costguard(*words: str, env: Mapping[str, str] | None = None, width: int = 80) -> Answer:
    """Runs a command in this process, with the environment changed for it alone."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, _logging_as_it_was():
        for name, value in {**_PLAIN, "COLUMNS": str(width), **(env or {})}.items():
            patch.setenv(name, value)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(words))
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
    return Answer(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _logging_as_it_was() -> Iterator[None]:
    """A command sets logging up for its process; the tests that follow want theirs."""
    named = logging.Logger.manager.loggerDict.values()
    loggers = [logging.getLogger(), *(one for one in named if isinstance(one, logging.Logger))]
    levels, handlers = [(one, one.level) for one in loggers], logging.getLogger().handlers[:]
    try:
        yield
    finally:
        logging.getLogger().handlers[:] = handlers
        for one, level in levels:
            one.setLevel(level)


def process(*words: str, cwd: Path, env: Mapping[str, str] | None = None, shell: str = "") -> Answer:
    """Runs a command as a process of its own; ``shell`` is what follows it on the line."""
    command = " ".join([f'"{sys.executable}" -m costguard', *words, shell])
    around = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=cwd, env={**around, **_PLAIN, **(env or {})}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)
