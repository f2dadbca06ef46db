"""Bad days of a whole fleet, lived through under the starter policies: what must never happen, whatever fails.

The scenario knows what every machine really did, so that the judge here asks no metric: no box that worked is
stopped, nobody is stopped without a warning that arrived, and what could not be seen is said to be so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import costguard_simulated
from costguard import assets
from costguard.app.app import App
from costguard.app.jobs import jobs
from costguard.config.load import load
from costguard.daemon.jobs import SteppedDriver
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.notice import Notice, NoticeKind, NoticeState
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.snapshot import SourceState
from costguard.plugins import registry
from costguard.ports import AccountSpec, Clock, Connection, PowerResult
from costguard.store import inventory, sources
from costguard.testing.clock import FakeClock
from costguard_simulated.connection import SimulatedConnection
from costguard_simulated.workload import minute_of, segments
from tests.daemon.rig import MINUTE, rows, told
from tests.fakes.dingtalk import SECRET, DingTalkServer
from tests.fakes.server import Fault
from tests.fakes.slack import SlackServer

pytestmark = pytest.mark.slow

START = datetime.fromisoformat("2026-11-12T18:00:00+08:00")
# A job that reads, waits or computes; and one that hangs, which is no idle box either.
WORK = frozenset({"training", "offload", "loading", "bursts", "serving", "cpu_only", "hung", "cpu_box"})
# What a metric tells comes two minutes late: nobody can know of work that began since.
BLIND = 3 * MINUTE

CONFIG = """\
version: 1
database: "sqlite:///{database}"
timezone: Asia/Shanghai
language: en
currency: CNY
exchange_rates: {{USD: "7.10"}}
mode: enforce
enforce_accounts: [aliyun, tencent, aws]
never_stop: {{names: ["prod-*"]}}
limits: {{per_hour: 12, share: 50%}}
accounts:
  - name: aliyun
    provider: simulated
    account_id: "1298345600017701"
    options: {{scenario: "{scenario}", cloud: alibaba}}
  - name: tencent
    provider: simulated
    account_id: "100028745510"
    options: {{scenario: "{scenario}", cloud: tencent}}
  - name: aws
    provider: simulated
    account_id: "420017300551"
    options: {{scenario: "{scenario}", cloud: aws}}
    currency: USD
channels:
  - {{name: ops, kind: dingtalk, url: "{dingtalk}", secret: {secret}, fallback: team}}
  - {{name: team, kind: slack, url: "{slack}"}}
notify: {{default: [ops, team], quiet_hours: null}}
policies: ["{policies}/idle.yaml", "{policies}/lifetime.yaml", "{policies}/schedule.yaml", "{policies}/untagged.yaml"]
schedule: {{inventory: 5m, usage: 5m, spot_prices: 1h, charges: 6h, cycle: 5m, act: 1m, deliver: 1m, heartbeat: 2m}}
"""


@dataclass
class Day:
    """One life of the fleet. ``looks`` and ``stops`` are the calls that reached the cloud: (id, when)."""

    app: App
    clock: FakeClock
    slack: SlackServer
    dingtalk: DingTalkServer
    looks: list[tuple[str, datetime]] = field(default_factory=list)
    stops: list[tuple[str, str, datetime]] = field(default_factory=list)
    seen: dict[tuple[str, str, str], list[tuple[timedelta, SourceState]]] = field(default_factory=dict)

    def live(self, span: timedelta, at: Mapping[timedelta, Callable[["Day"], None]] | None = None) -> None:
        """The daemon's loops for ``span``; ``at`` holds what else happens, and when."""
        waiting = dict(at or {})

        def each(now: datetime) -> None:
            passed = now - START
            for moment in [m for m in waiting if m <= passed]:
                waiting.pop(moment)(self)
            with self.app.database.read() as conn:
                for status in sources.sources(conn):
                    place = (status.account, status.region, status.source)
                    self.seen.setdefault(place, []).append((passed, status.state))

        loops = [job for job in jobs(self.app) if not job.name.startswith("bills")]
        SteppedDriver(loops, self.clock).run_until(START + span, each)  # type: ignore[arg-type]
        assert not waiting

    def state(self, account: str, region: str, source: str, at: timedelta) -> SourceState:
        """How a source stood at a moment of the day."""
        known = [state for passed, state in self.seen[account, region, source] if passed <= at]
        return known[-1]

    def worked(self, id: str, since: datetime, until: datetime) -> list[str]:
        """What a machine really worked at between two moments, by the scenario's own timeline."""
        connection = self.app.accounts["aliyun"].connection()
        assert isinstance(connection, SimulatedConnection)
        world = connection.world
        (machine,) = (m for cloud in world.scenario.clouds for m in world.machines(cloud) if m.id == id)
        plan = world.timeline(machine).plan
        zone = self.app.config.settings.timezone
        found = segments(plan, machine.seed, zone, minute_of(since), minute_of(until))
        return sorted({s.mode.name for s in found if s.mode.name in WORK})

    def judge(self) -> list[Action]:
        """What has to hold at the end of every day; the ladders that called a stop."""
        called = [row for row in rows(self.app.database) if row.executed_at is not None]
        notices = told(self.app.database)
        for row in called:
            self._judge(row, notices)
        tokens = [token for _, token, _ in self.stops]
        assert len(tokens) == len(set(tokens)), "a token was used for two calls"
        return called

    def _judge(self, row: Action, notices: Sequence[Notice]) -> None:
        at = row.executed_at
        assert at is not None
        assert row.response is Response.STOP
        name = f"{row.subject.name} by {row.policy}"
        work = self.worked(row.subject.id, at - timedelta(minutes=30), at - BLIND)
        assert work == [], f"{name}: it was at work: {work}"
        sent = [
            n.sent_at for n in notices
            if n.action_id == row.id and n.kind is NoticeKind.WARN and n.state is NoticeState.SENT and n.sent_at
        ]  # fmt: skip
        assert sent, f"{name}: nobody was warned"
        assert min(sent) <= at - timedelta(minutes=10), f"{name}: warned at {min(sent)}, stopped at {at}"
        assert row.warned_at is not None
        assert row.warned_at >= min(sent), f"{name}: the grace began before a warning had arrived"
        assert self.arrived(row.subject.name, at - timedelta(minutes=10)), f"{name}: no platform has the warning"
        looks = [moment for id, moment in self.looks if id == row.subject.id and at - 3 * MINUTE <= moment <= at]
        assert len(looks) >= 2, f"{name}: {len(looks)} looks right before the call"

    def arrived(self, name: str, before: datetime) -> bool:
        """Whether some platform shows a message about a machine that came before a moment."""
        posted = [(m.at, m.delivered.text) for m in self.slack.posted]
        posted += [(m.at, m.delivered.text) for m in self.dingtalk.messages]
        return any(at <= before and name in text for at, text in posted)

    def runs_stopped_twice(self) -> list[str]:
        """Ids that were stopped more than once without somebody's start in between."""
        found = []
        for row in rows(self.app.database):
            same = [r for r in rows(self.app.database) if r.subject == row.subject and r.started_at == row.started_at]
            if sum(r.state is ActionState.DONE for r in same) > 1:
                found.append(row.subject.name)
        return found


@pytest.fixture
def day(
    tmp_path: Path, migrated_sqlite: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], Day]]:
    clock = FakeClock(START)
    with SlackServer(clock) as slack, DingTalkServer(clock) as dingtalk:
        opened: list[App] = []

        def make(faults: Sequence[Mapping[str, Any]]) -> Day:
            scenario = tmp_path / "bad-day.yaml"
            yaml = YAML(typ="safe", pure=True)
            text = yaml.load((Path(costguard_simulated.__file__).parent / "startup.yaml").read_text("utf-8"))
            text["faults"] = [dict(fault) for fault in faults]
            del text["clouds"]["rack"]
            with scenario.open("w", encoding="utf-8") as file:
                yaml.dump(text, file)
            path = tmp_path / "costguard.yaml"
            path.write_text(
                CONFIG.format(
                    database=tmp_path / "day.db", scenario=scenario, dingtalk=dingtalk.robot_url, secret=SECRET,
                    slack=slack.webhook_url, policies=assets.policies(),
                ),
                "utf-8",
            )  # fmt: skip
            lived = Day(None, clock, slack, dingtalk)  # type: ignore[arg-type]
            lived.app = App.open(
                load(path, {}), clock, connect=_watched(lived), threads=1, lease_ttl=timedelta(minutes=10)
            )
            opened.append(lived.app)
            return lived

        yield make
        for app in opened:
            app.close()


def _watched(lived: Day) -> Callable[[str, AccountSpec, Clock], Connection]:
    """Connections that note live looks and stops."""

    def connect(provider: str, spec: AccountSpec, clock: Clock) -> Connection:
        connection = registry.connect(provider, spec, clock)
        assert isinstance(connection, SimulatedConnection)
        get, stop = connection.get, connection.stop

        def look(ref: ResourceRef) -> Resource:
            lived.looks.append((ref.id, clock.now()))
            return get(ref)

        def call(ref: ResourceRef, token: str) -> PowerResult:
            lived.stops.append((ref.id, token, clock.now()))
            return stop(ref, token)

        connection.get, connection.stop = look, call  # type: ignore[method-assign]
        return connection

    return connect


def test_a_day_on_which_calls_are_throttled_lost_and_refused(
    day: Callable[[Sequence[Mapping[str, Any]]], Day],
) -> None:
    """C11, C34, M16, E13: the idle boxes of this evening are stopped all the same, and only they."""
    lived = day(
        [
            {"code": "Throttling", "operation": "usage", "every": 5},
            {"code": "Throttling", "operation": "instances", "every": 11},
            {"code": "InternalError", "operation": "regions", "every": 7},
            {"code": "ConnectionReset", "operation": "stop", "every": 3, "after_effect": True},
            {"code": "Throttling", "operation": "stop", "every": 2},
            {"code": "InternalError", "operation": "identity", "every": 2},
        ]
    )

    def outage(lived: Day) -> None:
        lived.dingtalk.fail(Fault.SERVER_ERROR)
        lived.slack.fail(Fault.LOST_ANSWER, times=3)

    def well_again(lived: Day) -> None:
        lived.dingtalk.heal()
        lived.slack.heal()

    lived.live(timedelta(minutes=110), {timedelta(minutes=12): outage, timedelta(minutes=40): well_again})
    called = lived.judge()
    assert len({row.subject for row in called if row.state is ActionState.DONE}) >= 5
    assert lived.runs_stopped_twice() == []
    assert len(lived.stops) > len(called), "no call was refused: the day was not bad"


def test_a_day_on_which_much_cannot_be_seen(day: Callable[[Sequence[Mapping[str, Any]]], Day]) -> None:
    """A10, A15, G06, M01, M02: what cannot be seen is not stopped, and is said to be unseen."""
    denied = (timedelta(minutes=15), timedelta(minutes=55))
    blind = (timedelta(minutes=10), timedelta(minutes=60))
    empty = (timedelta(minutes=18), timedelta(minutes=28))
    lived = day(
        [
            _window(denied, code="Forbidden", operation="instances", cloud="alibaba", region="cn-hangzhou"),
            _window(blind, code="Forbidden", operation="usage", cloud="tencent"),
            _window(empty, operation="instances", cloud="aws", empty=True),
            {"code": "InternalError", "operation": "usage", "machines": ["train-a100-08"]},
        ]
    )
    lived.live(timedelta(minutes=90))
    called = lived.judge()
    stops = [(row.subject, row.executed_at - START) for row in called if row.executed_at]
    assert len(stops) >= 3

    def within(span: tuple[timedelta, timedelta], account: str, region: str = "") -> list[str]:
        return [
            subject.name for subject, at in stops
            if subject.account == account and region in ("", subject.region) and span[0] + 10 * MINUTE <= at < span[1]
        ]  # fmt: skip

    assert within(denied, "aliyun", "cn-hangzhou") == []
    assert within(blind, "tencent") == []
    assert [subject.name for subject, _ in stops if subject.name == "train-a100-08"] == []
    # The sources say so while it lasts, and are well afterwards.
    middle = timedelta(minutes=45)
    assert lived.state("aliyun", "cn-hangzhou", "inventory", middle) is SourceState.DENIED
    assert lived.state("aliyun", "cn-beijing", "inventory", middle) is SourceState.OK
    tencent = {place for place in lived.seen if place[0] == "tencent" and place[2] == "usage"}
    assert {lived.state(*place, middle) for place in tencent} == {SourceState.DENIED}
    assert {lived.state(*place, timedelta(minutes=80)) for place in tencent} == {SourceState.OK}
    assert lived.state("aliyun", "cn-hangzhou", "inventory", timedelta(minutes=80)) is SourceState.OK
    # An empty listing is an alarm and no fact: nothing of that account was taken for gone.
    with lived.app.database.read() as conn:
        gone = [r.name for r in inventory.resources(conn, include_gone=True) if r.state is State.GONE]
    assert gone == []
    assert within(empty, "aws") == []


def _window(span: tuple[timedelta, timedelta], **fault: Any) -> Mapping[str, Any]:
    since, until = (f"{moment // MINUTE}m" for moment in span)
    return {"code": "InternalError", **fault, "since": since, "until": until}
