"""Journal: shared by processes, survives a crash in the middle of a line."""

from datetime import timedelta
from pathlib import Path

import pytest

from costguard.errors import ConfigError
from costguard_simulated.journal import Entry, Journal
from tests.unit.simulated.helpers import START


def entry(number: int) -> Entry:
    return Entry(START + timedelta(seconds=number), "one", f"i-{number}", "stop", f"token-{number}", {"k": "值"})


def test_without_a_file_it_is_a_list() -> None:
    journal = Journal(None, "s")
    journal.append(entry(1))
    assert (journal.entries, journal.refresh()) == ([entry(1)], ())


def test_another_process_reads_what_was_written(tmp_path: Path) -> None:
    """C11: what was done before a restart is still done after it."""
    first = Journal(tmp_path / "deep" / "state.jsonl", "s")
    first.append(entry(1))
    second = Journal(tmp_path / "deep" / "state.jsonl", "s")
    assert second.refresh() == [entry(1)]
    first.append(entry(2))
    assert second.append(entry(3)) == [entry(2), entry(3)]
    assert first.refresh() == [entry(3)]
    assert first.entries == second.entries


def test_a_line_cut_short_by_a_crash_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    journal = Journal(path, "s")
    journal.append(entry(1))
    with path.open("ab") as file:
        file.write(b'{"at":"2026-11-1')
    journal = Journal(path, "s")
    journal.refresh()
    journal.append(entry(2))
    fresh = Journal(path, "s")
    fresh.refresh()
    assert journal.entries == fresh.entries == [entry(1), entry(2)]


def test_a_journal_of_another_scenario_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "state.jsonl", "s").append(entry(1))
    with pytest.raises(ConfigError, match="belongs to scenario s, not t"):
        Journal(tmp_path / "state.jsonl", "t").refresh()
