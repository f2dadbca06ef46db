"""Prices, balance and quotas."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from costguard.domain.money import Money
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import Unsupported
from tests.unit.simulated.helpers import START, clock_at, machine, open_up, write


def key(sku: str, charge: ChargeType, region: str = "r1", zone: str | None = None) -> PriceKey:
    return PriceKey("simulated", region, sku, charge, zone)


def test_list_prices_by_market(tmp_path: Path) -> None:
    """H07, G11: an unknown type, region or market is left out."""
    connection = open_up(write(tmp_path), clock_at())
    asked = [
        key("t4", ChargeType.ON_DEMAND), key("t4", ChargeType.PREPAID), key("a100x8", ChargeType.PREPAID),
        key("zz", ChargeType.ON_DEMAND), key("t4", ChargeType.ON_DEMAND, "mars"), key("t4", ChargeType.SPOT),
    ]  # fmt: skip
    found = {(p.key.sku, p.key.charge_type): p.per_hour for p in connection.prices(asked)}
    assert found == {
        ("t4", ChargeType.ON_DEMAND): Money.of("7.966", "CNY"),
        ("t4", ChargeType.PREPAID): Money.of(Decimal(3000) / 730, "CNY"),
    }


def test_spot_prices_of_every_zone_or_of_one(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path), clock_at())
    since = START - timedelta(hours=6)
    both = connection.spot_prices([key("t4", ChargeType.SPOT)], since)
    assert {p.key.zone for p in both} == {"r1-a", "r1-b"}
    one = connection.spot_prices([key("t4", ChargeType.SPOT, zone="r1-a")], since)
    assert list(one) == [p for p in both if p.key.zone == "r1-a"]
    assert all(p.since <= START for p in both)


def test_own_machines_have_no_market_and_no_balance(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, personality="rack"), clock_at())
    with pytest.raises(Unsupported):
        connection.spot_prices([key("t4", ChargeType.SPOT)], START)
    with pytest.raises(Unsupported):
        connection.balance()


def test_quotas_count_what_runs(tmp_path: Path) -> None:
    quotas = [{"name": what, "region": "r1", "limit": 100, "counts": what} for what in ("instances", "gpus", "vcpus")]
    machines = [machine("a"), machine("b", sku="a100x8"), machine("off", stopped="-1h"), machine("c", region="r2")]
    connection = open_up(write(tmp_path, *machines, cloud={"quotas": quotas}), clock_at())
    assert {q.name: q.used for q in connection.quotas("r1")} == {"instances": 2, "gpus": 9, "vcpus": 104}
    assert list(connection.quotas("r2")) == []
