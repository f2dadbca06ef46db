"""The compact grammar of fleets."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from costguard.config.fleet import Facts, at, snapshot
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import Calendars
from costguard.domain.usage import Metric, Statistic, UsageWindow, WindowSpec

NOW = datetime(2026, 6, 11, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SHANGHAI = ZoneInfo("Asia/Shanghai")


def facts(**fields: Any) -> Snapshot:
    specs = [WindowSpec(metric, HOUR) for metric in Metric]
    return snapshot(Facts.model_validate(fields), NOW, SHANGHAI, specs, Calendars(), "CNY")


def windows(usage: Any, metric: Metric, **box: Any) -> tuple[UsageWindow, ...]:
    shot = facts(fleet=[{"name": "a", "gpus": "4xA800", "usage": usage, **box}])
    (ref,) = shot.resources
    return shot.usage[ref].get(WindowSpec(metric, HOUR), ())


def test_what_is_left_out_is_the_dull_case() -> None:
    (resource,) = facts(fleet=[{"name": "a"}]).resources.values()
    assert (resource.ref.id, resource.ref.kind, resource.state) == ("a", Kind.VM, State.RUNNING)
    assert (resource.charge_type, resource.price) == (ChargeType.ON_DEMAND, Money.of("10", "CNY"))
    assert resource.started_at == NOW - timedelta(days=1)
    assert resource.stop_effect is not None
    assert resource.stop_effect.compute_billing_ends is Ends.YES
    assert resource.gpus is None


def test_a_box_in_words() -> None:
    (resource,) = facts(
        fleet=[
            {
                "name": "n", "id": "i-1", "gpus": "0.5xA10", "price": "3 CNY/gpu/h", "started": "unknown",
                "tags": "unreadable", "stop": "loses_data", "charge": "spot", "spot_cap": "2 CNY/h",
            }
        ]
    ).resources.values()  # fmt: skip
    assert resource.gpus is not None
    assert resource.gpus.count == Decimal("0.5")
    assert resource.price == Money.of("1.5", "CNY")
    assert (resource.ref.id, resource.name, resource.started_at, resource.tags) == ("i-1", "n", None, None)
    assert resource.spot_cap == Money.of("2", "CNY")


def test_use_that_is_not_written_did_not_arrive() -> None:
    assert windows("none", Metric.GPU_UTIL) == ()
    assert windows({"gpu_util": "0%"}, Metric.CPU_CORES) == ()


def test_one_value_is_every_card_and_a_list_is_each() -> None:
    assert [w.max for w in windows({"gpu_util": "7%"}, Metric.GPU_UTIL)] == [7.0] * 4
    each = windows({"gpu_util": ["0%", "99%"]}, Metric.GPU_UTIL)
    assert [(w.series.gpu_index, w.max) for w in each] == [(0, 0.0), (1, 99.0)]


def test_a_mean_over_cards_is_one_series() -> None:
    (window,) = windows({"gpu_util": {"max": "4.9%", "over": 8}}, Metric.GPU_UTIL)
    assert (window.series.statistic, window.series.cards, window.series.gpu_index) == (Statistic.MEAN, 8, None)


def test_a_burst_has_a_maximum_and_a_mean() -> None:
    """Written once it holds for every card, as a plain value does."""
    found = windows({"gpu_util": {"max": "90%", "mean": "1%"}}, Metric.GPU_UTIL)
    assert [(w.series.gpu_index, w.max, w.mean) for w in found] == [(n, 90.0, 1.0) for n in range(4)]


@pytest.mark.parametrize(
    ("usage", "box", "samples", "last"),
    [
        ({"cpu": "1 core"}, {}, 60, NOW),
        ({"cpu": "1 core", "coverage": "50%"}, {}, 30, NOW),
        ({"cpu": "1 core", "last": "30m"}, {}, 30, NOW - HOUR / 2),
        ({"cpu": "1 core"}, {"started": "15m"}, 15, NOW),
        ({"cpu": "1 core"}, {"started": "unknown"}, 60, NOW),
    ],
)
def test_samples_that_did_not_arrive(usage: Any, box: Any, samples: int, last: datetime) -> None:
    """A04: no sample is older than the machine's start."""
    (window,) = windows(usage, Metric.CPU_CORES, **box)
    assert (window.samples, window.expected, window.last_at) == (samples, 60, last)
    assert window.first_at == last - (samples - 1) * timedelta(minutes=1)


def test_a_window_with_no_sample_left_is_not_there() -> None:
    assert windows({"cpu": "1 core", "last": "2h"}, Metric.CPU_CORES) == ()


def test_money_of_a_local_day() -> None:
    shot = facts(
        fleet=[{"name": "a"}],
        spend=[{"day": "2026-06-10", "amount": "900 CNY", "box": "a"}],
        balances=[{"available": "500 CNY"}],
        spot=[{"sku": "s", "price": "3 CNY/h", "since": "2h"}],
    )
    (spend,) = shot.spend
    assert (spend.start, spend.end) == (datetime(2026, 6, 9, 16, tzinfo=UTC), datetime(2026, 6, 10, 16, tzinfo=UTC))
    assert spend.ref is not None
    assert spend.ref.id == "a"
    assert shot.balances[0].available == Money.of("500", "CNY")
    assert shot.spot_prices[0].since == NOW - timedelta(hours=2)


@pytest.mark.parametrize(
    "box",
    [{"gpus": "A800"}, {"gpus": "0xA800"}, {"usage": "quiet"}, {"gpus": "1xA10", "usage": {"gpu_util": ["0%", "0%"]}}],
)
def test_what_makes_no_sense_is_refused(box: Any) -> None:
    with pytest.raises(ValidationError):
        Facts.model_validate({"fleet": [{"name": "a", **box}]})


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-06-11T20:00+08:00", NOW),
        ("2026-06-11T20:00", NOW),
        ("2026-06-11 20:00", NOW),
        ("2026-06-11T12:00Z", NOW),
    ],
)
def test_a_time_has_its_zone(text: str, moment: datetime) -> None:
    assert at(text, SHANGHAI) == moment
