"""The shipped scenario tells its story: who falls idle when, and who must never look idle."""

import hashlib
import time
from collections import defaultdict
from datetime import datetime, timedelta

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard.domain.usage import Metric
from costguard.ports import AccountSpec
from costguard.testing.clock import FakeClock
from costguard_simulated import workload
from costguard_simulated.connection import SimulatedConnection, connect
from costguard_simulated.scenario import load
from tests.unit.simulated.helpers import named

START: datetime = load("startup").start
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
METRICS = frozenset({Metric.GPU_UTIL, Metric.CPU_CORES, Metric.NETWORK})
NEVER = -1


def account(cloud: str, at: timedelta) -> SimulatedConnection:
    return connect(AccountSpec(cloud, options={"cloud": cloud}), FakeClock(START + at))


def proven_idle(connection: SimulatedConnection, name: str, window: timedelta) -> int:
    """The first minute of the story whose window has all its samples and each below its threshold (for a mean over n
    cards: threshold / n); NEVER if there is none in eight hours."""
    box = named(connection, name)
    busy: dict[datetime, bool] = defaultdict(bool)
    seen: set[datetime] = set()
    for sample in connection.usage([box], METRICS, START - 5 * HOUR, START + 8 * HOUR).samples:
        limit = {Metric.GPU_UTIL: 5 / sample.series.cards, Metric.CPU_CORES: 1.0, Metric.NETWORK: 1e6}
        busy[sample.at] |= sample.value >= limit[sample.series.metric]
        if sample.series.metric is Metric.GPU_UTIL:
            seen.add(sample.at)
    run = 0
    for minute in range(-300, 480):
        at = START + minute * MINUTE
        run = run + 1 if at in seen and not busy[at] else 0
        if minute >= 0 and run * MINUTE >= window:
            return minute
    return NEVER


@pytest.mark.parametrize(
    ("cloud", "name", "window", "minute"),
    [
        ("alibaba", "train-a100-08", 45, 0),
        ("alibaba", "dev-a10-li", 45, 53),
        ("alibaba", "dev-a100-zhao", 45, 61),
        ("alibaba", "dev-a10-liu", 45, 57),
        ("alibaba", "dev-t4-chen", 45, 0),
        ("alibaba", "gpu-tmp-2", 120, 0),
        ("alibaba", "dsw-notebook-huang", 45, 0),
        ("alibaba", "demo-a10-investors", 45, 0),
        ("alibaba", "prepaid-a100-wu", 45, 0),
        ("alibaba", "serve-qwen-chat", 240, 60),
        ("alibaba", "eas-old-summarizer", 240, 0),
        ("aws", "dev-g5-he", 45, 0),
        ("aws", "api-g6e-locked", 45, 0),
        ("rack", "node-03", 45, 0),
        # Never proven idle, whatever they do: A06, A10, A01, A27, A30.
        ("alibaba", "dev-t4-bursts", 45, NEVER),
        ("alibaba", "train-fsdp-offload", 120, NEVER),
        ("alibaba", "train-a100-loading", 45, NEVER),
        ("alibaba", "train-a100-hung", 120, NEVER),
        ("alibaba", "train-a10-silent", 45, NEVER),
        ("alibaba", "train-t4-lost-agent", 45, NEVER),
        ("alibaba", "eas-chat-prod", 120, NEVER),
        ("tencent", "tc-v100-one-card", 45, NEVER),
        ("aws", "cluster-p4d-1", 45, NEVER),
    ],
)
def test_who_is_proven_idle_and_when(cloud: str, name: str, window: int, minute: int) -> None:
    assert proven_idle(account(cloud, 8 * HOUR), name, window * MINUTE) == minute


def test_zhao_works_again_between_the_warning_and_the_stop() -> None:
    connection = account("alibaba", 8 * HOUR)
    box = named(connection, "dev-a100-zhao")
    batch = connection.usage([box], frozenset({Metric.GPU_UTIL}), START + HOUR, START + 2 * HOUR)
    working = [sample.at - START for sample in batch.samples if sample.value > 90]
    assert working[0] == timedelta(minutes=81)


def test_liu_restarts_the_box_before_it_is_stopped() -> None:
    started = named(account("alibaba", 2 * HOUR), "dev-a10-liu").started_at
    assert started is not None
    assert timedelta(minutes=72) < started - START < timedelta(minutes=75)


def test_chen_starts_the_box_that_was_stopped_and_works_on() -> None:
    clock = FakeClock(START + 80 * MINUTE)
    connection = connect(AccountSpec("a", options={"cloud": "alibaba"}), clock)
    ref = named(connection, "dev-t4-chen").ref
    connection.stop(ref, "t")
    clock.advance(10 * MINUTE)
    assert connection.get(ref).state is State.STOPPED
    clock.advance(20 * MINUTE)
    back = connection.get(ref)
    assert back.state is State.RUNNING
    batch = connection.usage([back], frozenset({Metric.GPU_UTIL}), clock.now() - 3 * MINUTE, clock.now())
    assert min(sample.value for sample in batch.samples) > 90
    assert [event.actor for event in connection.power_events(ref, START)] == ["costguard", "chen"]


def test_the_levers_of_the_evening() -> None:
    levers = account("alibaba", 0 * HOUR).due_levers(START - MINUTE, START + 8 * HOUR)
    assert [(lever.do, lever.who, lever.resource_name) for lever in levers] == [
        ("keep", "li", "dev-a10-li"),
        ("claim", "he", "gpu-tmp-2"),
    ]


def test_the_cast_is_complete() -> None:
    """On demand, spot, prepaid, owned; notebooks, jobs, endpoints; groups, locks, unreadable tags, leftovers."""
    everything = [
        resource
        for cloud in load("startup").clouds
        for connection in [account(cloud, timedelta())]
        for region in connection.regions()
        for kind in sorted(connection.kinds())
        for resource in connection.list(kind, region)
    ]
    assert {r.charge_type for r in everything} >= {
        ChargeType.ON_DEMAND, ChargeType.SPOT, ChargeType.PREPAID, ChargeType.OWNED,
    }  # fmt: skip
    assert {r.ref.kind for r in everything} == {
        Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT, Kind.DISK, Kind.ADDRESS, Kind.SNAPSHOT,
    }  # fmt: skip
    boxes = [r for r in everything if r.ref.kind is Kind.VM]
    assert any(r.tags is None for r in boxes)
    assert any(r.tags == {} for r in boxes)
    assert {r.group for r in boxes if r.group} == {"asg-2ze7k1render", "pretrain-v3", "infer-asg"}
    assert {r.stop_effect.compute_billing_ends for r in boxes if r.stop_effect} == {Ends.YES, Ends.NO}
    assert any(r.state is State.STOPPED for r in boxes)
    assert any(r.ref.kind is Kind.DISK and r.depends_on is None for r in everything)
    owners = {r.tags["owner"] for r in boxes if r.tags and "owner" in r.tags}
    assert len(owners) >= 10


def fingerprint() -> str:
    """Everything that an evening shows, in one hash."""
    digest = hashlib.sha256()
    for cloud in load("startup").clouds:
        connection = account(cloud, 5 * HOUR)
        for region in connection.regions():
            for kind in sorted(connection.kinds()):
                found = list(connection.list(kind, region))
                digest.update(repr(found).encode())
                batch = connection.usage(found, frozenset(Metric), START + 3 * HOUR, START + 4 * HOUR)
                values = [(s.series.ref.id, s.series.metric, s.series.gpu_index, s.at, s.value) for s in batch.samples]
                digest.update(repr(sorted(values, key=repr)).encode())
        digest.update(repr(list(connection.charges(START - timedelta(days=20), START))).encode())
    return digest.hexdigest()


def test_the_same_seed_is_the_same_evening_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A20."""
    seen = set()
    for zone in ("Asia/Shanghai", "America/New_York", "Pacific/Kiritimati"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        workload._day.cache_clear()
        workload._office_day.cache_clear()
        seen.add(fingerprint())
    monkeypatch.undo()
    time.tzset()
    assert len(seen) == 1
