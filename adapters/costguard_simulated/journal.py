"""Journal: every call that changed the world, in order; optionally kept in a file between processes.

The file holds one JSON document a line, appended under a lock, so that a daemon and a command line can share it; a line
that a crash cut short is ignored. The first line says for which scenario and start it is.
"""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from costguard.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Entry:
    """A change. ``what`` ∈ stop, start, release, set_release_time, tag, run_command; ``target`` the resource's id."""

    at: datetime
    cloud: str
    target: str
    what: str
    token: str = ""
    data: Mapping[str, str | None] = field(default_factory=dict)


class Journal:
    """Not thread-safe by itself; the world locks. Raises ConfigError for a file of another scenario."""

    def __init__(self, path: Path | None, scenario: str) -> None:
        self._path, self._scenario = path, scenario
        self._read = 0
        self.entries: list[Entry] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def refresh(self) -> Sequence[Entry]:
        """What other processes have appended since the last look."""
        if self._path is None or not self._path.exists() or self._path.stat().st_size == self._read:
            return ()
        with self._path.open("rb") as file:
            file.seek(self._read)
            return self._take(file.read())

    def append(self, entry: Entry) -> Sequence[Entry]:
        """Adds an entry; returns it and what others appended before it."""
        if self._path is None:
            self.entries.append(entry)
            return (entry,)
        with self._path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            tail = file.read()
            lines = b"" if self._read or tail else _line({"scenario": self._scenario})
            if tail and not tail.endswith(b"\n"):
                lines += b"\n"
            lines += _line(
                {
                    "at": entry.at.isoformat(), "cloud": entry.cloud, "target": entry.target, "what": entry.what,
                    "token": entry.token, "data": dict(entry.data),
                }
            )  # fmt: skip
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
            return self._take(tail + lines)

    def _take(self, data: bytes) -> Sequence[Entry]:
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        found: list[Entry] = []
        for line in whole.splitlines():
            try:
                document = json.loads(line)
            except ValueError:  # cut short by a crash; the next line starts afresh
                continue
            if "scenario" in document:
                if document["scenario"] != self._scenario:
                    raise ConfigError(
                        f"the journal belongs to scenario {document['scenario']}, not {self._scenario}",
                        file=str(self._path), line=1, column=1,
                    )  # fmt: skip
                continue
            at = datetime.fromisoformat(document.pop("at")).astimezone(UTC)
            found.append(Entry(at, **document))
        self.entries.extend(found)
        return found


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
