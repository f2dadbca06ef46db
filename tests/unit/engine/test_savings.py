"""Savings: only what a provider confirmed, and never what stays billed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import Ends, StopEffect
from costguard.engine.savings import book, booked_line, end, projected, saved_per_hour
from costguard.testing.builders import HOUR, NOW, cny, make_action, make_resource

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
    assert end(saving, NOW - timedelta(days=1), "restarted").amount(NOW - HOUR, NOW + HOUR) == cny("0")


def test_the_ledger_line_holds_what_an_hour_saves() -> None:
    saving = book(DONE, BOX, NOW)
    assert saving is not None
    line = booked_line(saving, DONE, NOW)
    assert (line.kind, line.money, line.action_id) == (LedgerKind.SAVING, cny("10"), DONE.id)
