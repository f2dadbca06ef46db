"""A look at the box itself in a replay: it sees the minute that no source had told of when the stop was due."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.usage import Metric
from costguard.engine.replayed import Replayed
from costguard.testing.builders import make_account
from tests.unit.engine.stage import idle_policy
from tests.unit.engine.test_replay import STEP, at, box, played, run_of, tracks

DELAY = 2 * STEP
# At rest from 10:00 on: idle at 10:55, as it is told ten minutes later, warned then, stopped at 11:25.
DUE = 11 + 25 / 60


def looked(*busy: tuple[float, float], look: bool = True, **changes: Any) -> Replayed:
    one = box()
    account = make_account(metric_delay=dict.fromkeys(Metric, DELAY))
    stop = {"after": "30m", "do": "stop", "look": look}
    return played(
        (one, (run_of(),), tracks(one, [(-6, 10), *busy])),
        policies=[idle_policy(respond=[{"do": "warn"}, stop], **changes)], accounts={"prod": account},
    )  # fmt: skip


def test_a_box_at_rest_is_stopped_when_it_is_due() -> None:
    (stop,) = looked((30, 48)).stops
    assert stop.at == at(DUE)


def test_work_in_the_blind_minutes_is_hit_without_a_look() -> None:
    (stop, *_) = looked((DUE - 0.05, DUE), look=False).stops
    assert stop.at == at(DUE)


def test_a_look_sees_it() -> None:
    """Held an hour, as after a hook's exit 75, and idle for the whole time again before anybody is warned anew."""
    result = looked((DUE - 0.05, DUE))
    (stop,) = result.stops
    assert stop.warned_at >= at(DUE + 1.75)
    assert stop.at == stop.warned_at + timedelta(minutes=30)
    assert [w.outcome for w in result.warnings] == ["cleared", "stopped"]


@pytest.mark.parametrize("ended", [DUE - 0.05, DUE + 0.1])
def test_a_look_sees_neither_what_was_before_nor_what_comes(ended: float) -> None:
    """Samples of five minutes: the one that ends five minutes before is over, the one that ends later is to come."""
    (stop, *_) = looked((ended - 0.05, ended)).stops
    assert stop.at == at(DUE)


def test_the_size_of_the_pieces_changes_nothing() -> None:
    one = box()
    account = make_account(metric_delay=dict.fromkeys(Metric, DELAY))
    policies = [idle_policy(respond=[{"do": "warn"}, {"after": "30m", "do": "stop", "look": True}])]
    found = tracks(one, [(-6, 10), (DUE - 0.05, DUE)])
    results = {
        length: played((one, (run_of(),), found), policies=policies, accounts={"prod": account}, length=length).stops
        for length in (STEP, timedelta(hours=7), timedelta(hours=48))
    }
    assert len({tuple(stop.at for stop in stops) for stops in results.values()}) == 1
