"""English times and spans."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from costguard.notify.doc import Doc
from costguard.notify.words.en import En

NOW = datetime(2026, 3, 5, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "zone", "expected"),
    [
        (NOW, "Asia/Shanghai", "21:00 UTC+8"),
        (NOW + timedelta(hours=12), "Asia/Shanghai", "tomorrow 09:00 UTC+8"),
        (NOW + timedelta(days=20), "Asia/Shanghai", "25 Mar 21:00 UTC+8"),
        (NOW + timedelta(days=400), "Asia/Shanghai", "9 Apr 2027 21:00 UTC+8"),
        # The clock goes forward in between: each time has the offset of its own day.
        (NOW, "America/New_York", "08:00 UTC-5"),
        (NOW + timedelta(days=4), "America/New_York", "9 Mar 09:00 UTC-4"),
    ],
)
def test_times_name_their_offset(at: datetime, zone: str, expected: str) -> None:
    """D16, D03."""
    assert En().when(at, NOW, ZoneInfo(zone)) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [(1, "1 min"), (90, "1 h 30 min"), (1440, "1 day"), (2880, "2 days"), (2940, "2 days 1 h")],
)
def test_spans(minutes: int, expected: str) -> None:
    assert En().duration(timedelta(minutes=minutes)) == expected


@pytest.mark.parametrize(
    ("do", "provider", "left", "expected"),
    [
        ("stop", "aws", 30, "Stopping in 30 min: a"),
        ("stop", "aws", 0, "Stopping now: a"),
        ("release", "aws", 30, "Terminating in 30 min: a"),
        ("release", "aliyun", 30, "Releasing in 30 min: a"),
        ("set_release_time", "aliyun", 30, "Setting a release time on in 30 min: a"),
    ],
)
def test_a_warnings_verb(do: str, provider: str, left: int, expected: str) -> None:
    doc = Doc({"do": do, "subject": {"provider": provider, "name": "a"}})
    assert En().warn_title(doc, timedelta(minutes=left)) == expected


def test_a_time_that_is_not_fixed_is_not_invented() -> None:
    assert En().warn_title(Doc({"do": "stop", "subject": {"id": "i-1"}}), None) == "Stopping soon: i-1"
