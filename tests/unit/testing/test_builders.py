"""Builders: the dull case is valid, and what is asked for is what one gets."""

from datetime import timedelta
from decimal import Decimal

from costguard.domain.resource import ChargeType, Kind, State
from costguard.domain.usage import Metric, WindowSpec
from costguard.testing.builders import (
    HOUR,
    NOW,
    cny,
    make_account,
    make_action,
    make_charge,
    make_finding,
    make_message,
    make_notice,
    make_price,
    make_resource,
    make_sample,
    make_series,
    make_snapshot,
    make_source,
    make_spend,
    make_window,
    make_windows,
    usd,
)


def test_a_resource_runs_unless_it_is_told_otherwise() -> None:
    box = make_resource()
    assert (box.state, box.charge_type, box.raw_state) == (State.RUNNING, ChargeType.ON_DEMAND, "running")
    assert box.gpus is not None
    assert (box.gpus.count, box.price, box.started_at) == (Decimal(8), cny("34.74"), NOW - 24 * HOUR)
    off = make_resource(state=State.STOPPED)
    assert (off.started_at, off.stopped_at) == (None, NOW - HOUR)
    disk = make_resource("d-1", kind=Kind.DISK, account="b", provider="aws", region="r", cards=0, price=usd("1"))
    assert (str(disk.ref), disk.gpus, disk.name) == ("aws/b/r/disk/d-1", None, "d-1")


def test_a_window_is_as_covered_as_it_is_asked_to_be() -> None:
    full, half = make_window(3.0), make_window(3.0, coverage=0.5, max=9.0)
    assert (full.coverage, full.samples, full.start, full.end) == (1.0, 60, NOW - HOUR, NOW)
    assert (half.coverage, half.max, half.mean, half.last_at) == (0.5, 9.0, 3.0, NOW)
    assert half.first_at == NOW - timedelta(minutes=29)


def test_windows_are_per_card_when_each_card_has_a_value() -> None:
    box = make_resource()
    windows = make_windows(box, {Metric.GPU_UTIL: [0.0, 99.0], Metric.CPU_CORES: 2.5}, 2 * HOUR)
    util = windows[WindowSpec(Metric.GPU_UTIL, 2 * HOUR)]
    (cpu,) = windows[WindowSpec(Metric.CPU_CORES, 2 * HOUR)]
    assert [(w.series.gpu_index, w.max, w.series.ref) for w in util] == [(0, 0.0, box.ref), (1, 99.0, box.ref)]
    assert (cpu.series.gpu_index, cpu.mean, cpu.expected) == (None, 2.5, 120)


def test_a_snapshot_knows_the_accounts_and_sources_of_its_resources() -> None:
    boxes = make_resource("a"), make_resource("b"), make_resource("c", account="other", region="far")
    snapshot = make_snapshot(*boxes)
    assert set(snapshot.accounts) == {"prod", "other"}
    assert snapshot.accounts["prod"].armed
    for account, region, count in (("prod", "cn-north", 2), ("other", "far", 1)):
        for name in ("inventory", "usage"):
            source = snapshot.source(account, region, name)
            assert source is not None
            assert (source.fresh(snapshot.now), source.count) == (True, count)


def test_an_action_answers_its_finding() -> None:
    finding = make_finding(make_resource("i-9"), policy="p", threshold="80%")
    assert make_action(finding).fingerprint == finding.fingerprint
    assert make_action(finding, policy="q").fingerprint != finding.fingerprint


def test_the_rest_is_valid_and_takes_fields() -> None:
    assert make_account(enforce=False).capabilities["stop"] == "full"
    assert make_source("charges", interval=6 * HOUR).fresh(NOW)
    assert make_sample(make_series(gpu_index=1), NOW, 5.0).period == timedelta(minutes=1)
    assert make_notice("n").idem_key != make_notice("m").idem_key
    assert make_message("hi", mentions=("138",)).body == "hi"
    assert make_price(cny("2"), sku="x", zone="z").key.zone == "z"
    assert make_spend(cny("5")).end - make_spend().start == 24 * HOUR
    charge = make_charge("k", cny("5"))
    assert charge.billing_period_start <= charge.charge_period_start < charge.charge_period_end
    assert charge.billing_period_end.day == 1
