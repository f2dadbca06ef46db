"""Market: prices hold between their change points, spikes included, and never exceed on demand by themselves."""

from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from costguard.domain.money import Money
from costguard_simulated.market import Market
from costguard_simulated.scenario import load
from tests.unit.simulated.helpers import START, write

SPIKE = {"at": "2h20m", "lasts": "90m", "share": "1.05", "skus": ["t4"], "zone": "a"}


def market(tmp_path: Path) -> Market:
    return Market(load(str(write(tmp_path, cloud={"spikes": [SPIKE]}))).clouds["one"], 3, START)


def test_change_points_tell_the_price_of_every_minute(tmp_path: Path) -> None:
    """H09: also inside a spike, and from the point before the window on."""
    found = market(tmp_path)
    points = list(found.changes("t4", "r1", "r1-a", START, START + timedelta(hours=12)))
    assert points[0][0] <= START < points[1][0]
    assert all(a[1] != b[1] for a, b in pairwise(points))
    for minute in range(0, 720, 7):
        at = START + timedelta(minutes=minute)
        told = [price for moment, price in points if moment <= at][-1]
        assert told == found.price("t4", "r1", "r1-a", at)


def test_a_spike_beats_the_on_demand_price_in_its_zone(tmp_path: Path) -> None:
    found, at = market(tmp_path), START + timedelta(hours=3)
    assert found.price("t4", "r1", "r1-a", at) == Money.of(Decimal("7.966") * Decimal("1.05"), "CNY")
    calm = found.price("t4", "r1", "r1-b", at)
    assert calm is not None
    assert calm < Money.of("7.966", "CNY")


def test_a_window_that_begins_in_a_spike_tells_it_first(tmp_path: Path) -> None:
    first, *_ = market(tmp_path).changes("t4", "r1", "r1-a", START + timedelta(hours=3), START + timedelta(hours=4))
    assert first[0] == START + timedelta(hours=2, minutes=20)


def test_prices_move_over_days_and_differ_by_zone(tmp_path: Path) -> None:
    found = market(tmp_path)
    for zone in ("r1-a", "r1-b"):
        assert len({p for _, p in found.changes("t4", "r1", zone, START, START + timedelta(days=5))}) > 10
    assert found.price("t4", "r1", "r1-a", START) != found.price("t4", "r1", "r1-b", START)
