"""Protection: what people said must stay, however they wrote it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.snapshot import Keep
from costguard.engine.protection import keep_ended, parse_until, protection_of
from costguard.testing.builders import HOUR, MINUTE, NOW, make_resource, make_snapshot
from tests.unit.engine.stage import busy, quiet

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-01T09:00+08:00", datetime(2026, 12, 1, 1, tzinfo=UTC)),
        ("2026-12-01 09:00", datetime(2026, 12, 1, 1, tzinfo=UTC)),
        (" 2026-12-01t09:00:30 ", datetime(2026, 12, 1, 1, 0, 30, tzinfo=UTC)),
        ("2026-12-01 16:00 UTC", datetime(2026, 12, 1, 16, tzinfo=UTC)),
        ("2026-12-01T16:00Z", datetime(2026, 12, 1, 16, tzinfo=UTC)),
        ("2026-12-01 09:00 America/New_York", datetime(2026, 12, 1, 14, tzinfo=UTC)),
        ("2026-12-01T09:00-0500", datetime(2026, 12, 1, 14, tzinfo=UTC)),
        ("2026-12-01", datetime(2026, 12, 1, 16, tzinfo=UTC)),
        ("2026-11-01 01:30 America/New_York", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_its_own_zone(text: str, expected: datetime) -> None:
    """C25: two boxes, one tag with UTC, one without a zone; a doubtful hour keeps longer."""
    assert parse_until(text, SHANGHAI) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-45", "tomorrow", "", "２０２６-12-01", "二〇二六", "2026-12-01 09:00 CST", "2026-12-01 09:00 utc+8",
        "2026-12-01 25:00", "2026-02-30T09:00Z", "2026-12-01 09:00 Mars/Olympus", "2026-12-01 09:00 et", "9:00",
        "2026-12-01T09:00+8", "2026-12-01 09:00 America/Argentina", "2026-12-01 09:00 __init__/py", "0001-01-01T00:00",
    ],
)  # fmt: skip
def test_what_cannot_be_read_keeps_and_its_owner_is_told(text: str) -> None:
    """C26, M06: a malformed time, Chinese digits, a zone abbreviation."""
    with pytest.raises(ValueError):
        parse_until(text, SHANGHAI)
    box = make_resource(tags={"costguard:keep-until": text})
    found = protection_of(box, make_snapshot(box))
    assert found is not None
    assert found.malformed
    assert found.until is None
    assert text in found.raw


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12-31T23:59-12:00", "9999-01-01 00:00 America/New_York"])
def test_the_last_year_of_the_calendar_is_for_ever(text: str) -> None:
    """C26: no time can be after it, and the one box that says so takes no other one's rules away."""
    box = make_resource(tags={"costguard:keep-until": text})
    found = protection_of(box, make_snapshot(box))
    assert found is not None
    assert (found.until, found.malformed) == (None, False)


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        ({"costguard": "keep"}, True),
        ({"CostGuard": " KEEP "}, True),
        ({"costguard": "false"}, False),
        ({"costguard": "off"}, False),
        ({"CostGuard-Exempt": "TRUE"}, True),
        ({" costguard-exempt ": ""}, True),
        ({"costguard_keep": "no"}, False),
        ({"costguard-keep": "yes"}, True),
        ({"costguard:keep": "whatever"}, True),
        ({"costguard": "kepe"}, True),
        ({"costguard-managed": "yes"}, False),
        ({"costguard": "managed"}, False),
        ({"keep": "yes"}, False),
        ({}, False),
    ],
)
def test_keep_tags(tags: dict[str, str], kept: bool) -> None:
    """C23, C24: true, false and absent are three things; case, spaces and dashes fold; a typing mistake keeps."""
    box = make_resource(tags=tags)
    found = protection_of(box, make_snapshot(box))
    assert (found is not None) is kept
    assert found is None or next(iter(tags)) in found.raw
    assert found is None or found.malformed is (tags.get("costguard") == "kepe")


def test_unreadable_tags_protect() -> None:
    """C21: tags API denied or not supported."""
    box = make_resource(tags=None)
    assert protection_of(box, make_snapshot(box)) is not None


def test_keep_until_ends() -> None:
    for until, kept in (("2026-03-05T12:01Z", True), ("2026-03-05T12:00Z", False)):
        box = make_resource(tags={"costguard:keep-until": until})
        assert (protection_of(box, make_snapshot(box)) is not None) is kept


def test_two_boxes_share_no_state() -> None:
    """C25: one tag with a zone, one without, in one snapshot."""
    first = make_resource("a", tags={"costguard_keep_until": "2026-03-05 12:30 UTC"})
    second = make_resource("b", tags={"costguard_keep_until": "2026-03-05 20:30"})
    snapshot = make_snapshot(first, second)
    for box in (first, second):
        found = protection_of(box, snapshot)
        assert found is not None
        assert found.until == NOW + 30 * MINUTE


def keep(until: datetime, at: datetime = NOW - HOUR, until_idle: bool = False) -> Keep:
    return Keep(make_resource().ref, until, "slack:U012", "demo", at, until_idle)


def test_a_persons_keep_holds_until_its_end() -> None:
    """K02: time-boxed, with who and why."""
    box = make_resource()
    held = protection_of(box, make_snapshot(box, keeps={box.ref: keep(NOW + MINUTE)}))
    assert held is not None
    assert held.until == NOW + MINUTE
    assert "slack:U012" in held.why
    assert protection_of(box, make_snapshot(box, keeps={box.ref: keep(NOW)})) is None


@pytest.mark.parametrize(
    ("at", "working", "ended"),
    [(NOW - HOUR, False, True), (NOW - HOUR, True, False), (NOW - 10 * MINUTE, False, False)],
)
def test_keep_until_idle_ends_after_a_whole_quiet_window(at: datetime, working: bool, ended: bool) -> None:
    box = make_resource()
    usage = {box.ref: busy(box) if working else quiet(box)}
    snapshot = make_snapshot(box, usage=usage, keeps={box.ref: keep(NOW + 24 * HOUR, at, until_idle=True)})
    assert keep_ended(box, snapshot) is ended
    assert (protection_of(box, snapshot) is None) is ended
    plain = make_snapshot(box, usage=usage, keeps={box.ref: keep(NOW + timedelta(days=1), at)})
    assert not keep_ended(box, plain)


def test_a_lock_at_the_provider_protects() -> None:
    """C29."""
    box = make_resource(protected="disableApiStop")
    found = protection_of(box, make_snapshot(box))
    assert found is not None
    assert "disableApiStop" in found.why
