"""The starter pack over days of the simulated fleet: it finds the idle money and stops no box that works.

Thirty days of the same are in ``bench/savings.py``.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from bench.savings import END, Measured, measure, rests, works
from costguard.app.app import App
from costguard.app.replay import gather
from costguard.config.load import load
from costguard.testing.clock import FakeClock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

DAYS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture(scope="module")
def found(folder: Path) -> Measured:
    return measure(DAYS, folder)


def test_no_working_box_is_stopped(found: Measured) -> None:
    assert len(found.stops) >= 10
    assert not found.false


def test_it_saves_nearly_what_an_oracle_with_the_same_delays_does(found: Measured) -> None:
    assert found.of_oracle >= 0.9
    assert found.of_idle <= found.of_oracle


def test_stops_at_other_times_would_have_hit_work(found: Measured, folder: Path) -> None:
    """What judges the stops knows work when it sees it: most boxes that were stopped had worked before."""
    app = App.open(load(folder / "costguard.yaml", {}), FakeClock(END))
    try:
        since = END - timedelta(days=DAYS)
        with app.database.read() as conn:
            history = gather(app, conn, since, END, app.config.policies[:1])
        worked = rested = 0
        for ref, box in history.resources.items():
            for rest in rests(app, box, history.runs[ref], since, END):
                rested += not works(app, box, rest.start + timedelta(minutes=1))
                worked += rest.start > since and works(app, box, rest.start)
        assert worked >= 10
        assert rested >= worked
    finally:
        app.close()
