"""A delivery rig: the real store on SQLite, real channels, strict platforms, one moved clock."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from costguard.app.outbox import StoreOutbox
from costguard.domain.decision import Response
from costguard.domain.notice import Notice, NoticeKind
from costguard.net.http import HttpClient
from costguard.notify.dingtalk.channel import DingTalkRobot
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.facts import failed_facts, notify_facts, result_facts, warning_facts
from costguard.notify.pipeline import Attempt, ChannelWorker, Delivery, Tick
from costguard.notify.route import Draft, Person, Place, Routing, route
from costguard.notify.samples import SAMPLE_NOW, SAMPLE_ZONE, sample_action, sample_resource
from costguard.notify.settings import DeliverySettings
from costguard.notify.slack.channel import SlackWebhook
from costguard.notify.slack.config import SlackConfig
from costguard.ports import Channel
from costguard.store.database import Database
from costguard.store.outbox import get, list_notices
from costguard.testing.clock import FakeClock
from tests.fakes.dingtalk import SECRET, DingTalkServer
from tests.fakes.slack import SlackServer

PEOPLE = {"zhangwei": Person("zhangwei", slack="U012ZHANG", dingtalk_mobile="13800000000")}
_SECOND = timedelta(seconds=1)


@dataclass
class Rig:
    """``ops`` is a DingTalk robot that falls back to ``team``, a Slack webhook."""

    database: Database
    clock: FakeClock
    slack: SlackServer
    dingtalk: DingTalkServer
    delivery: Delivery
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def outbox(self) -> StoreOutbox:
        return StoreOutbox(self.database)

    def channel(self, name: str) -> Channel:
        http = HttpClient(deadline=timedelta(seconds=1))
        if name == "ops":
            config = DingTalkConfig(name="ops", url=self.dingtalk.robot_url, secret=SECRET)  # type: ignore[arg-type]
            return DingTalkRobot(config, self.clock, http)
        return SlackWebhook(SlackConfig(name=name, url=self.slack.webhook_url), self.clock, http)  # type: ignore[arg-type]

    def worker(self, name: str, who: str = "w1") -> ChannelWorker:
        return ChannelWorker(
            self.channel(name), self.outbox, lambda: self.delivery, self.clock, who,
            observe=self.attempts.append, jitter=lambda: 0.999,
        )  # fmt: skip

    def queue(
        self, number: int = 1, kind: NoticeKind = NoticeKind.WARN, key: str = "", **fields: object
    ) -> list[Notice]:
        """Queues a message about box ``number``; returns its rows."""
        box = sample_resource(f"box-{number:03d}", f"i-{number:03d}")
        action = sample_action(box, id=f"act-{number}")
        common: dict[str, object] = {
            "action": action, "resource": box, "do": Response.STOP, "now": self.clock.now(), "timezone": SAMPLE_ZONE,
        }  # fmt: skip
        match kind:
            case NoticeKind.WARN:
                facts = warning_facts(**common, owner="zhangwei", due_in=timedelta(minutes=30))  # type: ignore[arg-type]
            case NoticeKind.RESULT:
                facts = result_facts(**common)  # type: ignore[arg-type]
            case NoticeKind.FAILED:
                facts = failed_facts(**common, error="it said no")  # type: ignore[arg-type]
            case _:
                facts = notify_facts(finding=action.finding(), resource=box, now=self.clock.now(), timezone=SAMPLE_ZONE)
        values: dict[str, object] = {
            "kind": kind, "alert_key": f"alert-{number}", "key": key or f"{number}/{kind.value}", "facts": facts,
            "created_at": self.clock.now(), "to": ("ops",), "action_id": f"act-{number}",
        }  # fmt: skip
        rows = route(Draft(**{**values, **fields}), self.delivery.routing)  # type: ignore[arg-type]
        self.outbox.enqueue(rows)
        return rows

    def rows(self, **filters: object) -> tuple[Notice, ...]:
        with self.database.read() as conn:
            return tuple(reversed(list_notices(conn, **filters)))  # type: ignore[arg-type]

    def row(self, notice: Notice) -> Notice:
        with self.database.read() as conn:
            found = get(conn, notice.id)
        assert found is not None
        return found

    def run(self, worker: ChannelWorker, span: timedelta) -> list[Tick]:
        """Runs a worker for a span of the moved clock, whenever it asks to be run again."""
        ticks = []
        ends = self.clock.now() + span
        while (now := self.clock.now()) < ends:
            ticks.append(worker.run_once())
            wake = ticks[-1].next_at
            self.clock.advance(min(ends, max(wake, now + _SECOND)) - now if wake else ends - now)
        return ticks

    def settings(self, **changes: object) -> None:
        self.delivery = replace(self.delivery, settings=replace(self.delivery.settings, **changes))  # type: ignore[arg-type]


@contextmanager
def rig(folder: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        clock = FakeClock(SAMPLE_NOW)
        database = Database(f"sqlite:///{folder / 'costguard.db'}")
        stack.callback(database.close)
        database.upgrade()
        slack = stack.enter_context(SlackServer(clock))
        dingtalk = stack.enter_context(DingTalkServer(clock))
        places = {"ops": Place("ops", "dingtalk", "zh", "team"), "team": Place("team", "slack", "en")}
        routing = Routing(places, PEOPLE, default=("ops",), dry_run=("ops",))
        yield Rig(database, clock, slack, dingtalk, Delivery(routing, DeliverySettings()))
