"""Savings: only what a provider confirmed, and never what stays billed."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import Ends, StopEffect
from costguard.domain.saving import Saving
from costguard.domain.snapshot import PowerEvent
from costguard.engine.savings import (
    book,
    booked_line,
    dispute,
    end,
    ended_line,
    projected,
    saved_per_hour,
    savings_json,
    would_stop,
)
from costguard.rules.currency import Rates
from costguard.testing.builders import HOUR, NOW, cny, make_action, make_resource, usd

BOX = make_resource(price=cny("10"))
DONE = make_action(state=ActionState.DONE)


@pytest.mark.parametrize(
    ("ends", "price", "still", "expected"),
    [
        (Ends.YES, cny("10"), None, cny("10")),
        (Ends.YES, cny("10"), cny("0.5"), cny("9.5")),
        (Ends.PARTLY, cny("10"), cny("4"), cny("6")),
        (Ends.PARTLY, cny("10"), None, None),
        (Ends.NO, cny("10"), None, None),
        (Ends.UNKNOWN, cny("10"), None, None),
        (Ends.YES, None, None, None),
        (Ends.YES, cny("10"), cny("10"), None),
    ],
)
def test_what_an_hour_saves(ends: Ends, price: Money | None, still: Money | None, expected: Money | None) -> None:
    """C06, C07, C08."""
    box = replace(BOX, price=price, stop_effect=StopEffect(ends))
    assert saved_per_hour(box, still) == expected
    assert projected(box, 3 * HOUR, still) == (expected.times(3) if expected else None)


def test_only_a_confirmed_real_stop_is_booked() -> None:
    """C07: savings are 0 until confirmed."""
    saving = book(DONE, BOX, NOW)
    assert saving is not None
    assert (saving.per_hour, saving.since, saving.until) == (cny("10"), NOW, None)
    assert book(replace(DONE, state=ActionState.VERIFYING), BOX, NOW) is None
    assert book(replace(DONE, dry_run=True), BOX, NOW) is None
    assert book(DONE, replace(BOX, stop_effect=None), NOW) is None


def test_a_saving_ends_once_and_never_before_it_began() -> None:
    """I20: accrual follows confirmed moments only."""
    saving = book(DONE, BOX, NOW)
    assert saving is not None
    over = end(saving, NOW + HOUR, "restarted")
    assert over.amount(NOW - HOUR, NOW + 9 * HOUR) == cny("10")
    assert end(over, NOW + 5 * HOUR, "released") is over
    planned = replace(saving, until=NOW + 2 * HOUR)
    assert end(planned, NOW + 9 * HOUR, "restarted").ended_by == "would_have_stopped"
    assert end(planned, NOW + HOUR, "restarted").amount(NOW, NOW + 9 * HOUR) == cny("10")
    assert end(saving, NOW - timedelta(days=1), "restarted").amount(NOW - HOUR, NOW + HOUR) == cny("0")


def test_a_booking_is_worth_nothing_yet() -> None:
    saving = book(DONE, BOX, NOW)
    assert saving is not None
    line = booked_line(saving, DONE, NOW)
    assert (line.kind, line.money, line.action_id) == (LedgerKind.SAVING, None, DONE.id)
    assert line.evidence["per_hour"] == cny("10")
    assert "¥10.00" in line.text


SHANGHAI = ZoneInfo("Asia/Shanghai")


def stops(*local: str, ours: bool = False) -> list[PowerEvent]:
    """Stops of the box by its people, at local times of Shanghai."""
    times = [datetime.fromisoformat(text).replace(tzinfo=SHANGHAI).astimezone(UTC) for text in local]
    return [PowerEvent(BOX.ref, at, "stop", ours) for at in times]


WEEK = ("2026-03-02T19:40", "2026-03-03T20:10", "2026-03-04T20:00")


@pytest.mark.parametrize(
    ("now", "events", "expected"),
    [
        ("2026-03-05T15:00", stops(*WEEK), "2026-03-05T20:00"),
        ("2026-03-05T21:00", stops(*WEEK), "2026-03-06T20:00"),
        ("2026-03-05T15:00", stops(*WEEK[:2]), None),
        ("2026-03-05T15:00", stops(*WEEK, ours=True), None),
        ("2026-03-05T15:00", stops("2026-02-02T19:00", "2026-02-03T19:00", *WEEK[:2]), None),
        ("2026-03-05T15:00", stops(*(f"2026-03-04T{hour}:00" for hour in (10, 14, 19))), None),
        ("2026-03-05T15:00", stops("2026-03-02T23:30", "2026-03-04T00:30", "2026-03-05T01:00"), "2026-03-06T00:30"),
    ],
)
def test_a_box_that_its_people_stop_each_evening_would_have_stopped(
    now: str, events: list[PowerEvent], expected: str | None
) -> None:
    """I20: a saving ends when the box would have stopped anyway, by its own history."""

    def local(text: str) -> datetime:
        return datetime.fromisoformat(text).replace(tzinfo=SHANGHAI)

    assert would_stop(BOX, events, local(now), SHANGHAI) == (None if expected is None else local(expected))


def test_the_providers_own_timer_ends_a_saving_too() -> None:
    timed = replace(BOX, auto_release_at=NOW + 2 * HOUR, expires_at=NOW + 9 * HOUR)
    assert would_stop(timed, (), NOW, SHANGHAI) == NOW + 2 * HOUR
    assert would_stop(timed, stops(*WEEK), NOW + 3 * HOUR, SHANGHAI) == NOW + 9 * HOUR


def test_a_disputed_stop_is_a_loss_for_as_long_as_the_box_was_off() -> None:
    saving = book(DONE, BOX, NOW)
    assert saving is not None
    wrong = dispute(end(saving, NOW + HOUR / 2, "restarted"), NOW + 9 * HOUR)
    assert wrong.amount(NOW, NOW + 24 * HOUR) == cny("-5")
    assert dispute(saving, NOW + 2 * HOUR).amount(NOW, NOW + 24 * HOUR) == cny("-20")
    report = savings_json([wrong], Rates("CNY", {}), NOW, NOW + 24 * HOUR, {BOX.ref: "train"})
    assert report["booked"] == {"amount": "-5", "currency": "CNY"}
    assert report["lost"] == {"amount": "5", "currency": "CNY"}
    assert report["back_within_hour"] == 1


def test_a_saving_in_a_currency_without_a_rate_joins_no_sum() -> None:
    report = savings_json([Saving("a", BOX.ref, "idle", usd("1"), NOW)], Rates("CNY", {}), NOW, NOW + HOUR, {})
    assert report["booked"] == {"amount": "0", "currency": "CNY"}
    assert report["lines"][0]["amount"] == {"amount": "1", "currency": "USD"}  # type: ignore[index]


minutes = st.integers(0, 60 * 24 * 70)
happenings = st.lists(st.tuples(minutes, st.sampled_from(["restarted", "released", "undone", "disputed"])), max_size=4)
lives = st.lists(
    st.tuples(minutes, st.none() | minutes, st.integers(1, 10**13), happenings), min_size=1, max_size=6
)  # fmt: skip


@given(lives, st.lists(minutes, max_size=6))
def test_the_ledger_adds_up_to_the_report(
    lives: list[tuple[int, int | None, int, list[tuple[int, str]]]], cuts: list[int]
) -> None:
    """L: whatever happens to savings, their ledger lines are what all reports together say, to the nano."""
    last = NOW + timedelta(minutes=60 * 24 * 71)
    ledger, savings = 0, list[Saving]()
    for number, (began, most, nanos, events) in enumerate(lives):
        since = NOW + timedelta(minutes=began)
        until = None if most is None else since + timedelta(minutes=most)
        saving = Saving(f"act-{number}", BOX.ref, "idle", Money(nanos, "CNY"), since, until)
        for minute, what in sorted(events):
            at = NOW + timedelta(minutes=minute)
            after = dispute(saving, at) if what == "disputed" else end(saving, at, what)
            if after != saving:
                line = ended_line(saving, after, DONE.subject, at)
                assert line.money is not None
                ledger += line.money.nanos
            saving = after
        ledger += saving.amount(since, last).nanos if saving.stands else 0
        savings.append(saving)
    edges = sorted({NOW, last, *(NOW + timedelta(minutes=cut) for cut in cuts)})
    reports = [savings_json(savings, Rates("CNY", {}), low, high, {}) for low, high in itertools.pairwise(edges)]
    told = sum(Money.of(r["booked"]["amount"], "CNY").nanos for r in reports)  # type: ignore[index,misc]
    assert told == ledger
    for report in reports:
        lines = [Money.of(line["amount"]["amount"], "CNY").nanos for line in report["lines"]]  # type: ignore[attr-defined]
        assert sum(lines) == Money.of(report["booked"]["amount"], "CNY").nanos  # type: ignore[index]
