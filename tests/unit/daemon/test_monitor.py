"""Polling a metrics source: what it asks for, what it stores, and what it says of itself."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.daemon import monitor as monitors
from costguard.daemon.monitor import Monitor
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric, WindowSpec
from costguard.errors import BadResponse
from costguard.store import inventory, sources, usage
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, start
from tests.fakes.prometheus import PrometheusServer
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]

UTIL = "DCGM_FI_DEV_GPU_UTIL"
METRICS = """\
metrics:
  - {{name: dcgm, kind: prometheus, url: '{url}', join: {{label: instance_id}}, delay: 0s, accounts: {accounts}}}
"""


@pytest.fixture
def prometheus(clock: FakeClock) -> Iterator[PrometheusServer]:
    with PrometheusServer(clock) as server:
        yield server


@pytest.fixture
def app(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer,
    request: pytest.FixtureRequest,
) -> Iterator[App]:  # fmt: skip
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    more = METRICS.format(url=prometheus.url, accounts=getattr(request, "param", "[prod]"))
    made = start(configure(tmp_path, "http://127.0.0.1:9/hook", more=more), cloud, clock)
    made.identify()
    made.inventory(made.accounts["prod"])
    yield made
    made.close()


@pytest.fixture
def monitor(app: App) -> Monitor:
    return app.monitors[0]


def told(prometheus: PrometheusServer, clock: FakeClock, id: str = "a", back: timedelta = 2 * HOUR) -> None:
    on = {"instance_id": id, "instance": f"{id}:9400", "gpu": "0", "UUID": f"GPU-{id}"}
    prometheus.scrapes(UTIL, on, clock.now() - back, clock.now(), 3.0, MINUTE / 2)


def known(app: App) -> dict[str, int]:
    """How many samples of each box the source brought."""
    with app.database.read() as conn:
        boxes = inventory.resources(conn)
        return {
            box.ref.id: len(usage.series(conn, box.ref, Metric.GPU_UTIL, box.observed_at - 24 * HOUR, app.clock.now()))
            for box in boxes
        }


def test_the_first_sight_pulls_the_longest_window_and_the_next_goes_on(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    """45 minutes are the longest window; half an hour more is pulled, from the whole hour on."""
    told(prometheus, clock)
    assert monitor.poll()
    assert known(app) == {"a": 120}
    first = len(prometheus.queries)
    prometheus.scrapes(
        UTIL, {"instance_id": "a", "instance": "a:9400", "gpu": "0", "UUID": "GPU-a"}, clock.now(),
        clock.now() + 5 * MINUTE, 3.0, MINUTE / 2,
    )  # fmt: skip
    clock.advance(5 * MINUTE)
    assert monitor.poll()
    assert known(app) == {"a": 125}
    assert len(prometheus.queries) - first == 6, "one query for each metric, and one for slices"


def test_an_outage_is_made_up_for(
    app: App, monitor: Monitor, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    told(prometheus, clock, back=30 * MINUTE)
    monitor.poll()
    prometheus.fail(Fault.RESET)
    prometheus.scrapes(
        UTIL, {"instance_id": "a", "instance": "a:9400", "gpu": "0", "UUID": "GPU-a"}, clock.now(),
        clock.now() + HOUR, 3.0, MINUTE / 2,
    )  # fmt: skip
    clock.advance(HOUR)
    assert not monitor.poll()
    prometheus.heal()
    assert monitor.poll()
    assert known(app)["a"] == 90


def test_many_boxes_are_pulled_in_batches(
    app: App, monitor: Monitor, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    for number in range(59):
        cloud.add(f"b{number}")
        told(prometheus, clock, f"b{number}", 30 * MINUTE)
    told(prometheus, clock, back=30 * MINUTE)
    app.inventory(app.accounts["prod"], all_regions=True)
    assert monitor.poll()
    assert set(known(app).values()) == {30}
    assert len(prometheus.queries) == 6 + 3 * 6, "one look at all, then sixty in three batches"


def test_what_is_too_much_at_once_is_asked_in_halves(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    told(prometheus, clock)
    prometheus.max_samples = 40
    assert monitor.poll()
    assert known(app) == {"a": 120}


def test_what_is_always_too_much_fails_in_the_end(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    told(prometheus, clock)
    prometheus.max_samples = 0
    assert not monitor.poll()
    with app.database.read() as conn:
        status = sources.get(conn, "dcgm", "-", "prometheus")
    assert status is not None
    assert status.state is SourceState.FAILED
    assert "too many samples" in (status.error or "")


def test_a_silent_source_does_not_make_the_provider_look_back(
    app: App, monitor: Monitor, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """Where the next poll of a provider goes on is told by its own samples alone."""
    told(prometheus, clock)
    monitor.poll()
    clock.advance(10 * HOUR)
    app.poller.usage(app.accounts["prod"])
    with app.database.read() as conn:
        ours, theirs = usage.newest(conn, "prod", "dcgm"), usage.newest(conn, "prod")
    assert max(ours.values()) == clock.now() - 10 * HOUR
    assert min(theirs.values()) > clock.now() - 10 * MINUTE


@pytest.mark.parametrize("app", ["[prod]", "null"], indirect=True)
def test_what_it_saw_is_kept_for_others_to_show(
    app: App, monitor: Monitor, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    cloud.add("b")
    app.inventory(app.accounts["prod"], all_regions=True)
    told(prometheus, clock)
    told(prometheus, clock, "node-7")
    assert monitor.poll()
    with app.database.read() as conn:
        seen = monitor.sight(conn)
    assert seen == monitors.Sight(1, 2, {}, ["node-7"], timedelta())


@pytest.mark.parametrize("app", ["[prod]"], indirect=True)
def test_a_card_stays_cut_while_its_exporter_is_silent(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    """A10: silence does not make it whole; the exporter saying so does."""
    told(prometheus, clock)
    mode = {"instance_id": "a", "gpu": "0", "UUID": "GPU-a"}
    prometheus.scrapes("DCGM_FI_DEV_MIG_MODE", mode, clock.now() - HOUR, clock.now(), 1.0, MINUTE)

    def cut() -> set[str]:
        with app.database.read() as conn:
            return {ref.id for ref in monitors.cut(conn, [monitor.name, "never-read"])}

    assert cut() == set()
    assert monitor.poll()
    assert cut() == {"a"}
    clock.advance(HOUR)
    monitor.poll()
    assert cut() == {"a"}
    clock.advance(HOUR)
    told(prometheus, clock)
    assert monitor.poll()
    assert cut() == set()


def test_a_box_of_another_account_is_not_told_of(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    told(prometheus, clock)
    other = Monitor(
        monitor.reader, app.database, clock, monitor.interval, monitor.backfill, monitor.delay, lambda account: False
    )
    other.poll()
    assert known(app) == {"a": 0}


def test_a_partial_answer_is_noted_on_the_source(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    told(prometheus, clock)
    prometheus.partial = True
    assert not monitor.poll()
    with app.database.read() as conn:
        status = sources.get(conn, "dcgm", "-", "prometheus")
    assert status is not None
    assert (status.state, status.count, status.error) == (
        SourceState.OK, 1, "a part may be missing: the answer is partial",
    )  # fmt: skip


def test_one_box_is_asked_for_right_now(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    """What cannot be read is told to who asks, once the source is known to speak of the box."""
    with app.database.read() as conn:
        (box,) = inventory.resources(conn)
    prometheus.fail(Fault.RESET)
    monitor.read(box)
    prometheus.heal()
    told(prometheus, clock)
    monitor.read(box)
    assert known(app)["a"] >= 15
    prometheus.fail(Fault.HTML)
    with pytest.raises(BadResponse):
        monitor.read(box)


@pytest.mark.parametrize("minutes", [-3, 3])
def test_clocks_that_disagree_are_no_source(monitor: Monitor, prometheus: PrometheusServer, minutes: int) -> None:
    prometheus.ahead = minutes * MINUTE
    with pytest.raises(BadResponse, match=f"180 s {'ahead of' if minutes > 0 else 'behind'} ours"):
        monitor.agree()


def test_a_source_that_left_the_configuration_is_forgotten(
    app: App, monitor: Monitor, clock: FakeClock, prometheus: PrometheusServer
) -> None:
    """Nobody reads it any more: it neither fails for ever, nor makes boxes unknown."""
    told(prometheus, clock)
    prometheus.fail(Fault.RESET)
    monitor.poll()
    monitors.forget_others(app.database, ["dcgm"])
    with app.database.read() as conn:
        assert app.builder.build(conn, clock.now()).monitors()
    monitors.forget_others(app.database, [])
    with app.database.read() as conn:
        assert app.builder.build(conn, clock.now()).monitors() == ()
        assert sources.get(conn, "dcgm", "-", "prometheus") is None
        assert monitor.sight(conn) is None


@pytest.mark.parametrize("app", ["[prod]"], indirect=True)
def test_the_snapshot_says_whose_cards_it_tells_of(app: App, clock: FakeClock) -> None:
    with app.database.read() as conn:
        assert app.builder.build(conn, clock.now()).told_by == {"prod": {"dcgm"}}


def test_what_was_told_under_another_join_is_read_anew(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """A04: a wrong mapping is put right: the rest of another machine is no proof that this one rests."""
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    now = clock.now()
    told(prometheus, clock, "m1")
    on = {"instance_id": "m2", "instance": "m2:9400", "gpu": "0", "UUID": "GPU-m2"}
    prometheus.scrapes(UTIL, on, now - 2 * HOUR, now, lambda at: 90.0 if at < now - 20 * MINUTE else 0.0, MINUTE / 2)
    seen = []
    for value in ("m1", "m2", "m2"):
        more = METRICS.format(url=prometheus.url, accounts="[prod]").replace(
            "instance_id}", f"instance_id, map: {{{value}: a}}}}"
        )
        app = start(configure(tmp_path, "http://127.0.0.1:9/hook", more=more), cloud, clock)
        app.identify()
        app.inventory(app.accounts["prod"])
        app.monitors[0].poll()
        with app.database.read() as conn:
            (box,) = inventory.resources(conn)
            snapshot = app.builder.build(conn, clock.now())
        windows = snapshot.usage[box.ref][WindowSpec(Metric.GPU_UTIL, 45 * MINUTE)]
        seen.append((max(window.max for window in windows), windows[0].samples))
        app.close()
    assert seen == [(3.0, 45), (90.0, 45), (90.0, 45)]
