"""The whole loop on a real EC2 API of 120 instances: what a dry run plans is what enforcing does, and no more."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from costguard import assets
from costguard.app.app import App
from costguard.app.once import OnceResult, run_once
from costguard.config.load import load
from costguard.daemon import levers
from costguard.domain.action import Action, ActionState
from costguard.domain.ledger import LedgerKind
from costguard.net.clock import SystemClock
from costguard.testing.clock import FakeClock
from tests.daemon.ec2 import ACCOUNT, CPU, GPU, LOCAL, REGIONS, Ec2, Moto
from tests.daemon.rig import MINUTE, booked, lines, rows
from tests.fakes.dingtalk import SECRET, DingTalkServer
from tests.fakes.server import Fault
from tests.fakes.slack import SlackServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

CONFIG = """\
version: 1
database: "sqlite:///{database}"
timezone: UTC
language: en
currency: USD
mode: {mode}
enforce_accounts: [prod]
limits: {{per_hour: {per_hour}, share: 100%}}
accounts:
  - name: prod
    provider: aws
    account_id: "{account}"
    endpoint: "{url}"
    regions: [us-east-1, us-west-2, eu-central-1]
    credentials: {{access_key_id: AKIAFIXTURE, secret_access_key: x}}
prices: [prices.yaml]
channels:
  - {{name: ops, kind: dingtalk, url: "{dingtalk}", secret: {secret}, language: zh}}
  - {{name: team, kind: slack, url: "{slack}"}}
owners:
  - {{name: alice, tags: {{owner: [alice]}}, slack: U012ZHANG}}
notify: {{default: [ops, team], quiet_hours: null}}
policies: [policies]
"""
# Idle for long enough for both idle policies, and their stops.
DEV = ("idle",)
TRAINING = ("untagged",)
GRACE = timedelta(minutes=33)


@pytest.fixture(scope="module")
def account() -> Iterator[Ec2]:
    with pytest.MonkeyPatch.context() as patch:
        # Loading and listing all of its images takes moto longer than everything else here.
        patch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
        with Moto() as made:
            made.build()
            yield made


@pytest.fixture(scope="module")
def noon(account: Ec2) -> datetime:
    """The test's now: three hours after the launch, which moto does in real time. Metrics lie around it."""
    now = SystemClock().now().replace(second=0, microsecond=0) + timedelta(hours=3)
    since, until = now - timedelta(minutes=160), now + timedelta(minutes=50)
    quiet = ("idle", "untagged", "kept", "locked", "local disk", "spot", "group")
    account.measure(sorted(account.ids(*quiet)), since, until, 0.0)
    account.measure(sorted(account.ids("busy")), since, until, 88.0)
    return now.astimezone(UTC)


class Place:
    """Configurations and databases of one test, with a clock of its own."""

    def __init__(self, folder: Path, account: Ec2, noon: datetime, migrated: Path, stack: ExitStack) -> None:
        self.folder, self.account, self.stack, self._migrated = folder, account, stack, migrated
        self.clock = FakeClock(noon)
        self.slack = stack.enter_context(SlackServer(self.clock))
        self.dingtalk = stack.enter_context(DingTalkServer(self.clock))
        prices = ", ".join(
            f'{{provider: aws, region: {region}, sku: {sku}, price: "{price} USD/h"}}'
            for region in REGIONS
            for sku, price in ((GPU, "0.42"), (LOCAL, "0.526"), (CPU, "0.085"))
        )
        (folder / "prices.yaml").write_text(f"[{prices}]\n", "utf-8")

    def app(self, mode: str, *, per_hour: int = 1000, database: str = "fleet.db", turned: bool = False) -> App:
        """An application. ``turned``: its policies in the opposite order."""
        self._policies(turned)
        path = self.folder / "costguard.yaml"
        path.write_text(
            CONFIG.format(
                database=self.folder / database, mode=mode, per_hour=per_hour, account=ACCOUNT, url=self.account.url,
                dingtalk=self.dingtalk.robot_url, slack=self.slack.webhook_url, secret=SECRET,
            ),
            "utf-8",
        )  # fmt: skip
        if not (self.folder / database).exists():
            shutil.copy(self._migrated, self.folder / database)
        app = App.open(load(path, {}), self.clock, threads=2)
        self.stack.callback(app.close)
        return app

    def _policies(self, turned: bool) -> None:
        """The starter policies that look at instances, with limits that hold nothing back."""
        target = self.folder / "policies"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for number, name in enumerate(sorted(["idle", "lifetime", "untagged"], reverse=turned)):
            text = (assets.policies() / f"{name}.yaml").read_text("utf-8")
            for limit in ("per_hour: 10, share: 50%", "per_hour: 5, share: 25%"):
                text = text.replace(limit, "per_hour: 1000, share: 100%")
            (target / f"{number}-{name}.yaml").write_text(text, "utf-8")


@pytest.fixture
def place(tmp_path: Path, account: Ec2, noon: datetime, migrated_sqlite: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        account.gate.requests.clear()
        account.gate.deny = lambda operation, region: False
        before, measured = account.states(), account.measured()
        yield Place(tmp_path, account, noon, migrated_sqlite, stack)
        account.gate.deny = lambda operation, region: False
        account.forget(measured)
        after = account.states()
        account.start(id for id, state in before.items() if state == "running" and after.get(id) == "stopped")


def verdicts(result: OnceResult, response: str = "stop") -> dict[str, tuple[str, str]]:
    """Subject's id to (policy, code) of the decisions."""
    decisions: Any = result.document["decisions"]
    return {d["subject"]["id"]: (d["policy"], d["code"]) for d in decisions if d["response"] == response}


def planned(app: App) -> set[str]:
    """What a dry run would have stopped."""
    return {row.subject.id for row in rows(app.database) if row.state is ActionState.RECORDED and row.ended_at}


def test_a_dry_run_plans_what_enforcing_does_and_changes_nothing(place: Place) -> None:
    """C18, M04, C04, C05, C29, C24: the same ladders, the same set; the order of policies changes nothing."""
    account, gate = place.account, place.account.gate
    dry = place.app("dry_run", database="dry.db")
    first = run_once(dry)
    assert not first.unreadable, [s for s in first.document["sources"] if s["error"]]  # type: ignore[index, union-attr]
    assert len([s for s in first.document["sources"] if s["source"] == "inventory"]) == 3  # type: ignore[index, union-attr]
    assert set(verdicts(first).values()) == {("idle-dev", "not_due"), ("idle-training", "not_due")}
    place.clock.advance(GRACE)
    second = run_once(dry)
    assert gate.changed() == [], "a dry run changes nothing at the provider"
    would = planned(dry)
    assert would == account.ids(*DEV, *TRAINING)
    codes = verdicts(second)
    assert {codes[id][1] for id in would} == {"dry_run"}
    assert {codes[id][1] for id in account.ids("kept", "locked")} == {"protected"}
    assert {codes[id][1] for id in account.ids("group")} == {"group_member"}
    assert {codes[id][1] for id in account.ids("local disk")} == {"loses_data"}
    assert {codes[id][1] for id in account.ids("spot")} <= {"saves_nothing"}
    assert not account.ids("busy", "blind", "stopped", "cpu") & set(codes)
    assert place.slack.posted == [], "owners hear nothing of a dry run"
    dry.lead.give_up()
    turned = place.app("dry_run", database="dry.db", turned=True)
    assert turned.lead.round()
    again = turned.decide()
    assert sorted((d.subject.id, d.policy, d.verdict.code) for d in again.plan.decisions) == sorted(
        (d["subject"]["id"], d["policy"], d["code"]) for d in second.document["decisions"]  # type: ignore[index, union-attr]
    )  # fmt: skip


def test_enforcing_warns_waits_looks_and_stops_one_by_one(place: Place) -> None:
    """A04, M12, M03: what became busy, was kept, restarted or retagged since the warning is left alone."""
    account, gate = place.account, place.account.gate
    app = place.app("enforce")
    first = run_once(app)
    assert not first.failed, [(n["kind"], n["error"]) for n in first.document["notices"]]  # type: ignore[index, union-attr]
    assert gate.changed() == []
    warned = {row.subject.id: row for row in rows(app.database) if row.warned_at is not None}
    expected = account.ids(*DEV, *TRAINING)
    assert set(warned) == expected
    titles = " ".join(m.delivered.text for m in place.slack.posted) + " ".join(
        m.delivered.text for m in place.dingtalk.messages
    )
    assert all(id in titles for id in expected)
    place.clock.advance(timedelta(minutes=20))
    run_once(app)
    assert gate.changed() == [], "the grace has not passed"

    busy, kept, restarted, retagged = sorted(account.boxes["idle"])[:4]
    now = place.clock.now()
    account.measure([busy], now - 8 * MINUTE, now + 20 * MINUTE, 97.0)
    with app.database.write() as conn:
        levers.keep(
            conn, kept, person=levers.Person("alice"), now=now, reason="a demo", until=now + timedelta(hours=2),
            longest=app.settings.keep_max,
        )  # fmt: skip
    launched = account.launched(restarted)
    account.restart(restarted, now)
    account.retag(retagged, role="serving")
    gate.requests.clear()
    place.clock.advance(GRACE - timedelta(minutes=20))
    result = run_once(app)
    left = expected - {busy, kept, restarted, retagged}
    try:
        states = account.states()
        assert {id for id in expected if states[id] == "stopped"} == left
        assert gate.changed() == ["StopInstances"] * len(left), "one call for each, and no other"
        done = [row for row in rows(app.database) if row.state is ActionState.DONE]
        assert {row.subject.id for row in done} == left
        for row in done:
            _whole_story(app, row)
        assert not result.failed
        assert {s.ref.id for s in booked(app.database, place.clock.now())} == left
        actions: Any = result.document["actions"]
        assert {a["subject"]["id"] for a in actions if a["state"] == "done"} == left
    finally:
        account.retag(retagged, role="dev")
        account.restart(restarted, launched)


def _whole_story(app: App, row: Action) -> None:
    """The ledger of one stop, from the finding to the money; the grace counts from delivery."""
    assert row.warned_at is not None
    assert row.executed_at is not None
    assert row.executed_at - row.warned_at >= timedelta(minutes=30)
    kinds = [line.kind for line in lines(app.database) if line.action_id == row.id]
    told = [LedgerKind.FINDING, LedgerKind.WARNING, LedgerKind.EXECUTED, LedgerKind.CONFIRMED, LedgerKind.SAVING]
    assert [kind for kind in kinds if kind in told] == told
    (executed,) = (
        line for line in lines(app.database) if line.action_id == row.id and line.kind is LedgerKind.EXECUTED
    )
    assert executed.evidence
    assert executed.money is not None


def test_a_limit_lets_five_go_and_says_so_of_the_rest(place: Place) -> None:
    """M18"""
    app = place.app("enforce", per_hour=5)
    run_once(app)
    place.clock.advance(GRACE)
    result = run_once(app)
    assert place.account.gate.changed() == ["StopInstances"] * 5
    expected = place.account.ids(*DEV, *TRAINING)
    waiting = [id for id, (_, code) in verdicts(result).items() if code == "limit"]
    assert len(waiting) == len(expected) - 5


def test_with_every_channel_down_nothing_is_stopped_and_the_run_says_so(place: Place) -> None:
    """J20, M13"""
    place.slack.fail(Fault.SERVER_ERROR)
    place.dingtalk.fail(Fault.SERVER_ERROR)
    app = place.app("enforce")
    first = run_once(app)
    assert first.failed
    place.clock.advance(GRACE)
    second = run_once(app)
    assert second.failed
    assert place.account.gate.changed() == []
    codes = verdicts(second)
    assert {codes[id][1] for id in place.account.ids(*DEV, *TRAINING)} == {"not_warned"}
    notices: Any = second.document["notices"]
    assert all(n["state"] != "sent" for n in notices)


def test_a_metric_api_that_is_denied_is_never_all_well(place: Place) -> None:
    """M01: everything is unknown, the source is denied, the run exits 69."""
    place.account.gate.deny = lambda operation, region: operation in {"GetMetricData", "ListMetrics"}
    app = place.app("enforce")
    result = run_once(app)
    assert result.unreadable
    states: Any = result.document["sources"]
    assert {s["state"] for s in states if s["source"] == "usage"} == {"denied"}
    assert result.document["partial"] is True
    assert not [f for f in result.evaluation.findings if f.rule == "idle"]
    assert rows(app.database) == () or all(r.rule != "idle" for r in rows(app.database))


def test_metrics_that_fail_in_one_region_leave_the_others_their_verdicts(place: Place) -> None:
    """M02"""
    place.account.gate.deny = lambda operation, region: operation == "GetMetricData" and region == "us-west-2"
    app = place.app("dry_run")
    result = run_once(app)
    assert result.unreadable
    found = {f.subject.id for f in result.evaluation.findings if f.rule == "idle" and f.subject.ref}
    expected = place.account.ids(*DEV, *TRAINING)
    here = {id for id in expected if place.account.where[id] == "us-west-2"}
    assert expected - here <= found
    assert not here & found
