"""The moments at which a replay must look: the begins and ends of off times, each once."""

from datetime import UTC, datetime, timedelta

from costguard.engine.history import History, moment
from costguard.engine.looks import off_edges
from costguard.rules.schedule import ScheduleWhen

SINCE = datetime(2026, 6, 8, tzinfo=UTC)  # a Monday


def edges(*off: dict[str, object], days: int = 3) -> list[datetime]:
    when = ScheduleWhen.model_validate({"off": list(off), "holidays": None})
    past = History(SINCE, SINCE + timedelta(days=days), {}, {}, {}, lambda low: (), timezone="UTC")
    return [moment(at) for at in off_edges(when, past) if SINCE <= moment(at) <= past.until]


def test_every_night_begins_and_ends() -> None:
    found = edges({"days": "daily", "from": "20:00", "to": "08:00"})
    assert found == [SINCE + timedelta(hours=h) for h in (8, 20, 32, 44, 56, 68)]


def test_lines_that_touch_are_edges_all_the_same() -> None:
    """The second line begins while the boxes are off already: whoever started one in between is asked again."""
    found = edges(
        {"days": "daily", "from": "20:00", "to": "23:00"}, {"days": "daily", "from": "22:00", "to": "06:00"}, days=1
    )
    assert [at.hour for at in found] == [6, 20, 22]
