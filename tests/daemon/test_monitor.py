"""The whole daemon on boxes whose provider tells no GPU use: what Prometheus does not tell is unknown."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.backfill import backfill
from costguard.app.doctor import Finding, examine
from costguard.app.explain import explain
from costguard.app.jobs import jobs
from costguard.app.once import run_once
from costguard.daemon.jobs import Job, SteppedDriver
from costguard.domain.action import ActionState
from costguard.domain.notice import NoticeKind
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric
from costguard.errors import BadResponse
from costguard.notify.render import render
from costguard.store import inventory, sources, usage
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, drive, rows, start, told
from tests.fakes.prometheus import PrometheusServer
from tests.fakes.slack import SlackServer
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

UTIL = "DCGM_FI_DEV_GPU_UTIL"
SCHEDULE = "{inventory: 5m, cycle: 2m, act: 1m, deliver: 1m, heartbeat: 1m}"
METRICS = "metrics: [{{name: dcgm, kind: prometheus, url: '{url}', profile: dcgm, join: {{label: instance_id}}}}]\n"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    made = Cloud(clock)
    made.tells = ((Metric.CPU_CORES, None), (Metric.NETWORK, None))
    made.add("a")
    return made


@pytest.fixture
def slack(clock: FakeClock) -> Iterator[SlackServer]:
    with SlackServer(clock) as server:
        yield server


@pytest.fixture
def prometheus(clock: FakeClock) -> Iterator[PrometheusServer]:
    with PrometheusServer(clock) as server:
        yield server


@pytest.fixture
def app(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud, slack: SlackServer,
    prometheus: PrometheusServer,
) -> Iterator[App]:  # fmt: skip
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    config = configure(tmp_path, slack.webhook_url, more=METRICS.format(url=prometheus.url), schedule=SCHEDULE)
    made = start(config, cloud, clock, lease_ttl=5 * MINUTE)
    yield made
    made.close()


def works(
    prometheus: PrometheusServer, clock: FakeClock, value: float | Callable[[datetime], float | None] = 0.0,
    back: timedelta = 2 * HOUR, ahead: timedelta = 3 * HOUR, **labels: str,
) -> None:  # fmt: skip
    """What the exporter of box a is scraped to say, from ``back`` ago on; nobody sees what is not yet past."""
    now = clock.now()
    on = {"instance_id": "a", "instance": "a:9400", "gpu": "0", "UUID": "GPU-a", **labels}
    prometheus.scrapes(UTIL, on, now - back, now + ahead, value, MINUTE / 2)


def sight(app: App) -> tuple[SourceState, int, str | None]:
    with app.database.read() as conn:
        status = sources.get(conn, "dcgm", "-", "prometheus")
    assert status is not None
    return status.state, status.count, status.error


def test_a_box_that_prometheus_sees_idle_is_warned_and_stopped(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """First sight pulls the longest window, so that the verdict needs no hour of waiting; the ladder is as ever."""
    works(prometheus, clock)
    drive(app, clock, 3 * MINUTE)
    (row,) = rows(app.database)
    assert row.state is ActionState.WARNED
    assert row.evidence["source"] == "prometheus:dcgm"
    drive(app, clock, 40 * MINUTE)
    assert len(cloud.stops("a")) == 1
    assert rows(app.database)[0].state is ActionState.DONE


def test_a_box_that_prometheus_sees_at_work_is_left_alone(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    works(prometheus, clock, 80.0)
    drive(app, clock, HOUR)
    assert rows(app.database) == ()
    assert cloud.stops() == []


def test_work_that_began_after_the_last_poll_is_seen_before_the_stop(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """The last look before the call asks Prometheus itself: here no poll comes after the first one."""
    began = clock.now() + 30 * MINUTE
    works(prometheus, clock, lambda at: 95.0 if at >= began else 0.0)
    polls: list[datetime] = []

    def once() -> bool:
        """Only while the ladder has not come due."""
        if clock.now() < began - 2 * MINUTE:
            polls.append(clock.now())
            return poll()
        return True

    (monitor,) = app.monitors
    poll = monitor.poll
    looks = [job for job in jobs(app) if not job.name.startswith("metrics")]
    SteppedDriver([Job("metrics", 2 * MINUTE, lambda: once() and None, wakes="cycle"), *looks], clock).run_until(
        clock.now() + 33 * MINUTE
    )
    assert polls[-1] < began
    assert cloud.stops() == []
    (row,) = rows(app.database)
    assert row.state in (ActionState.SUPERSEDED, ActionState.CANCELLED)
    assert "no longer holds: GPU use reached" in row.reason


@pytest.mark.parametrize("busy", [95.0, 2.0])
def test_work_that_no_poll_and_no_look_could_see_is_told_afterwards(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer, busy: float
) -> None:
    """The box is off and Prometheus still holds the minute in which it was stopped; its exporter ends with it."""
    clock.advance(timedelta(seconds=17))
    works(prometheus, clock, ahead=3 * MINUTE)
    drive(app, clock, 3 * MINUTE)
    (row,) = rows(app.database)
    due = row.due_at
    assert due is not None
    on = {"instance_id": "a", "instance": "a:9400", "gpu": "0", "UUID": "GPU-a"}
    prometheus.scrapes(UTIL, on, clock.now(), due + MINUTE / 2, lambda at: busy if at > due else 0.0, MINUTE / 12)
    drive(app, clock, 45 * MINUTE)
    assert [stop.at for stop in cloud.stops("a")] == [due]
    told_of = [notice for notice in told(app.database) if notice.kind is NoticeKind.UNSEEN_WORK]
    assert len(told_of) == (busy == 95.0)


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.FORBIDDEN, Fault.HTML])
def test_a_prometheus_that_dies_after_the_warning_stops_nothing(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer, fault: Fault
) -> None:
    """A26, M01: no answer, a refusal, junk: what cannot be read is unknown, is said, and is read again when it can."""
    works(prometheus, clock)
    drive(app, clock, 3 * MINUTE)
    prometheus.fail(fault)
    drive(app, clock, 45 * MINUTE)
    assert cloud.stops() == []
    state, _, error = sight(app)
    assert state in (SourceState.FAILED, SourceState.DENIED)
    assert error is not None
    assert error.startswith("prometheus/dcgm: query")
    (notice,) = [notice for notice in told(app.database) if notice.kind is NoticeKind.SOURCE]
    titles = {
        language: render(notice.facts, fmt="plain", language=language, now=clock.now(), idem_key="k").title
        for language in ("zh", "en")
    }
    assert titles["zh"] in ("读不到 dcgm 的 Prometheus 数据：读取失败", "读不到 dcgm 的 Prometheus 数据：没有权限")
    assert titles["en"].startswith("Can't read Prometheus data of dcgm: ")
    prometheus.heal()
    drive(app, clock, 40 * MINUTE)
    assert len(cloud.stops("a")) == 1


def test_an_exporter_that_dies_after_the_warning_stops_nothing(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """A10, A15: Prometheus itself answers, and has nothing new; its five minutes of looking back are no samples."""
    died = clock.now() + 20 * MINUTE
    works(prometheus, clock, ahead=20 * MINUTE)
    drive(app, clock, 45 * MINUTE)
    assert cloud.stops() == []
    with app.database.read() as conn:
        newest = usage.newest(conn, "prod", "dcgm")
    assert max(newest.values()) - died < MINUTE


def test_a_part_of_an_answer_proves_no_rest(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """M01: a store of Thanos is down, and perhaps the series of the busy card with it. The stop comes once all of it
    answers."""
    works(prometheus, clock)
    drive(app, clock, 20 * MINUTE)
    assert [row.state for row in rows(app.database)] == [ActionState.WARNED]
    prometheus.warnings = ["fetch series for store-1: no such host"]
    drive(app, clock, 40 * MINUTE)
    assert cloud.stops() == []
    prometheus.warnings = []
    drive(app, clock, 40 * MINUTE)
    assert len(cloud.stops("a")) == 1


def test_the_last_look_asks_for_a_whole_answer(app: App, clock: FakeClock, prometheus: PrometheusServer) -> None:
    works(prometheus, clock)
    run_once(app)
    with app.database.read() as conn:
        (box,) = inventory.resources(conn)
    app.monitors[0].read(box)
    prometheus.partial = True
    with pytest.raises(BadResponse, match="the answer is partial"):
        app.monitors[0].read(box)


def test_two_machines_of_one_label_value_stop_nothing(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """Refused, and said where people look: the sources, doctor and explain."""
    works(prometheus, clock, instance="x:9400", UUID="GPU-x")
    works(prometheus, clock, 0.0, instance="y:9400", UUID="GPU-y")
    drive(app, clock, 45 * MINUTE)
    assert rows(app.database) == ()
    assert cloud.stops() == []
    why = "two cards with the number 0 tell of it at once: GPU-x, GPU-y"
    assert sight(app) == (SourceState.OK, 0, f"ambiguous: a: {why}")
    (shown,) = [s for s in explain(app, "a")["sources"] if s["source"] == "prometheus:dcgm"]  # type: ignore[attr-defined]
    assert shown["error"] == why
    found = [check for check in examine(app, metrics=True) if check.area == "metrics dcgm"]
    assert any(f"simulated/prod/cn-north/vm/a is refused: {why}" in c.text for c in found)
    assert ("it tells of 0 of 1 running boxes that it could tell of", Finding.WARNING) in [
        (c.text, c.finding) for c in found
    ]


def test_a_machine_that_joins_under_the_same_label_ends_what_was_proven(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """Idle and warned; then another machine says that it is this box, too."""
    works(prometheus, clock)
    later = clock.now() + 10 * MINUTE
    works(prometheus, clock, lambda at: 60.0 if at > later else None, UUID="GPU-z", instance="z:9400")
    drive(app, clock, 45 * MINUTE)
    assert cloud.stops() == []


def test_zeros_under_mig_prove_nothing(app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer) -> None:
    works(prometheus, clock, GPU_I_ID="1", GPU_I_PROFILE="3g.40gb")
    drive(app, clock, 45 * MINUTE)
    assert rows(app.database) == ()
    assert cloud.stops() == []
    (policy,) = [p for p in explain(app, "a")["policies"] if p["matched"]]  # type: ignore[attr-defined]
    assert policy["ladders"][0]["outcome"] == "unknown"


@pytest.mark.parametrize(("mode", "stops"), [(1.0, 0), (0.0, 1)])
def test_zeros_of_the_provider_prove_nothing_where_a_card_is_cut(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer, mode: float, stops: int
) -> None:
    """A10, A15: its agent tells 0 % of the whole card; that the card is cut, only the exporter knows."""
    cloud.tells = (*cloud.tells, (Metric.GPU_UTIL, 0))
    now, on = clock.now(), {"instance_id": "a", "gpu": "0", "UUID": "GPU-a"}
    prometheus.scrapes("DCGM_FI_DEV_FB_USED", on, now - 2 * HOUR, now + HOUR, 30_000.0, MINUTE / 2)
    prometheus.scrapes("DCGM_FI_DEV_FB_FREE", on, now - 2 * HOUR, now + HOUR, 51_000.0, MINUTE / 2)
    prometheus.scrapes("DCGM_FI_DEV_MIG_MODE", on, now - 2 * HOUR, now + HOUR, mode, MINUTE / 2)
    drive(app, clock, 45 * MINUTE)
    assert len(cloud.stops()) == stops
    if not stops:
        (policy,) = [p for p in explain(app, "a")["policies"] if p["matched"]]  # type: ignore[attr-defined]
        assert policy["ladders"][0]["reason"] == "gpu_util_cut"


@pytest.mark.parametrize(("hours", "stops"), [(5, 0), (26, 1)])
def test_a_slice_that_vanished_holds_its_box_for_a_day(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer, hours: int, stops: int
) -> None:
    """A15: long before what the rule looks back; the other slice alone is no proof. Then it was taken apart."""
    now, on = clock.now(), {"instance_id": "a", "gpu": "0", "UUID": "GPU-a"}
    active = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    prometheus.scrapes(active, {**on, "GPU_I_ID": "1"}, now - 2 * HOUR, now + HOUR, 0.0, MINUTE / 2)
    prometheus.scrapes(active, {**on, "GPU_I_ID": "2"}, now - hours * HOUR - MINUTE, now - hours * HOUR, 0.9)
    drive(app, clock, 45 * MINUTE)
    assert len(cloud.stops()) == stops
    if not stops:
        assert sight(app) == (SourceState.OK, 1, "not every slice of card 0 of a is told of")
        (policy,) = [p for p in explain(app, "a")["policies"] if p["matched"]]  # type: ignore[attr-defined]
        assert policy["ladders"][0]["outcome"] == "unknown"


def test_a_clock_that_is_ahead_makes_old_samples_look_new(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """E08: nothing of it is used until the clocks agree."""
    works(prometheus, clock)
    prometheus.ahead = 10 * MINUTE
    drive(app, clock, 45 * MINUTE)
    assert cloud.stops() == []
    state, _, error = sight(app)
    assert (state, error) == (
        SourceState.FAILED, "prometheus/dcgm: its clock is 600 s ahead of ours: set both by NTP",
    )  # fmt: skip


def test_sources_that_disagree_are_shown_side_by_side_and_work_wins(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """A16: the provider says 0 %, dcgm says 12 %; both are shown with their age, and the box is at work."""
    cloud.tells = ((Metric.GPU_UTIL, 0), *cloud.tells)
    works(prometheus, clock, 12.0)
    drive(app, clock, 45 * MINUTE)
    assert cloud.stops() == []
    signals = explain(app, "a")["signals"]
    found = {
        s["source"]: s["max"]
        for s in signals  # type: ignore[attr-defined]
        if s["metric"] == "gpu_util" and s["window"] == {"seconds": 2700}
    }
    assert found == {"cloud": 0.0, "prometheus:dcgm": 12.0}


def test_a_source_that_never_told_of_a_box_does_not_hold_it(
    app: App, clock: FakeClock, cloud: Cloud, prometheus: PrometheusServer
) -> None:
    """The provider proves it idle; a Prometheus without this box may be down all night."""
    cloud.tells = ((Metric.GPU_UTIL, 0), *cloud.tells)
    prometheus.fail(Fault.RESET)
    drive(app, clock, 45 * MINUTE)
    assert len(cloud.stops("a")) == 1


def test_what_it_holds_of_the_past_is_pulled(app: App, clock: FakeClock, prometheus: PrometheusServer) -> None:
    """Backfill asks it day by day, in pieces that the server takes, and not twice."""
    works(prometheus, clock, 40.0, back=18 * HOUR, ahead=timedelta())
    prometheus.max_samples = 200
    app.poll()
    first = backfill(app, timedelta(hours=16))
    (found,) = [source for source in first.sources if source.account == "dcgm"]
    assert (found.provider, found.source, found.boxes, found.of, found.error) == ("prometheus", "usage", 1, 1, None)
    assert found.added == 16 * 60
    asked = len(prometheus.queries)
    again = backfill(app, timedelta(hours=16))
    assert again.fine
    assert len(prometheus.queries) - asked < asked


def test_a_label_that_fits_nobody_is_said(app: App, clock: FakeClock, prometheus: PrometheusServer) -> None:
    """The usual first mistake: the label holds something else than was thought."""
    prometheus.scrapes(UTIL, {"instance_id": "node-7", "gpu": "0", "UUID": "g"}, clock.now() - HOUR, clock.now())
    result = run_once(app)
    assert result.unreadable
    assert sight(app) == (SourceState.OK, 0, "no value of instance_id is a running box: node-7")
