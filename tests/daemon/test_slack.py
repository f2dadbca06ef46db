"""People act from Slack: the whole product with a strict Slack, a cloud in memory and a moved clock.

The bot warns with buttons; presses come by Socket Mode on threads of their own, or signed over HTTP.
"""

import contextlib
import logging
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import uvicorn

from costguard.app import slack as wiring
from costguard.app.app import App
from costguard.app.desk import desk_of
from costguard.app.once import run_once
from costguard.app.serve import site_of
from costguard.config.load import load
from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.notify.listening import Circumstances, Patience
from costguard.notify.slack.socket import SlackSocket
from costguard.testing.clock import FakeClock
from costguard.web.site import create
from tests.daemon.rig import IDLE, MINUTE, Cloud, lines, rows, start
from tests.daemon.test_service import free_port, running
from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, SlackApi
from tests.fakes.slack_events import SlackDeliveries
from tests.fakes.slack_message import Posted
from tests.fakes.slack_socket import SlackSocket as Platform

TEAM, ZW, LI, NOBODY = "C012AB3CD", "U012ZHANG", "U012LI", "U012STRANGER"
CONFIG = """\
version: 1
database: "sqlite:///costguard.db"
timezone: Asia/Shanghai
language: {language}
mode: enforce
enforce_accounts: [prod]
admins: [li]
limits: {{per_hour: 100, share: 100%}}
accounts:
  - {{name: prod, provider: simulated, account_id: "1"}}
channels:
  - name: team
    kind: slack
    token: "{token}"
    channel: C012AB3CD
    endpoint: "{endpoint}"
    {heard}
owners:
  - {{name: zhangwei, tags: {{owner: [zhangwei]}}, slack: U012ZHANG}}
  - {{name: li, email: li@example.com}}
notify: {{default: [team], quiet_hours: null}}
policies: [policies.yaml]
"""
SERVICE = """\
version: 1
database: sqlite:///costguard.db
timezone: UTC
language: en
currency: CNY
mode: dry_run
accounts:
  - {{name: sim, provider: simulated, options: {{cloud: rack}}}}
channels:
  - {{name: team, kind: slack, token: "{token}", app_token: "{app_token}", channel: C012AB3CD, endpoint: "{endpoint}"}}
owners:
  - {{name: zhangwei, slack: U012ZHANG}}
notify: {{default: [team]}}
policies: []
web: {{listen: "127.0.0.1:{port}"}}
schedule: {{heartbeat: 1s, act: 1s, deliver: 1s, cycle: 1s}}
"""
HASTY = Patience(
    open=timedelta(seconds=3), alive=timedelta(seconds=0.5), steady=timedelta(0), backoff=(timedelta(seconds=0.05),),
    last=timedelta(seconds=1),
)  # fmt: skip


def eventually(what: Callable[[], object], seconds: float = 5.0) -> None:
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.01)


@dataclass
class Office:
    """Slack, its people, and costguard beside them."""

    app: App
    cloud: Cloud
    clock: FakeClock
    slack: SlackApi
    platform: Platform

    @property
    def warning(self) -> Posted:
        return self.slack.posted[0]

    def press(self, press: str, who: str = ZW, message: Posted | None = None) -> None:
        """A press, acknowledged in time and worked on."""
        done = len(self.slack.requests)
        envelope = self.platform.press(who, message or self.warning, press)
        assert envelope.wait().acked
        eventually(lambda: any(r.path != "/api/users.lookupByEmail" for r in self.slack.requests[done:]))

    def type(self, text: str, who: str = ZW) -> Posted:
        """A slash command; what was answered, to all or to one."""
        seen = len(self.slack.posted), len(self.slack.ephemeral)
        assert self.platform.slash(who, text).wait().acked
        eventually(lambda: (len(self.slack.posted), len(self.slack.ephemeral)) != seen)
        return (self.slack.posted if len(self.slack.posted) > seen[0] else self.slack.ephemeral)[-1]

    def later(self, span: timedelta) -> None:
        self.clock.advance(span)
        run_once(self.app)

    def shown(self, message: Posted) -> str:
        return message.delivered.text.replace("\u200b", "")


def folder_of(
    tmp_path: Path, migrated_sqlite: Path, slack: SlackApi, heard: str, language: str = "en", policies: str = IDLE
) -> Path:
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    (tmp_path / "policies.yaml").write_text(policies, "utf-8")
    path = tmp_path / "costguard.yaml"
    text = CONFIG.format(token=BOT_TOKEN, endpoint=slack.api_url, heard=heard, language=language)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def slack(clock: FakeClock) -> Iterator[SlackApi]:  # type: ignore[override]
    with SlackApi(clock) as server:
        yield server


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    made = Cloud(clock)
    made.add("a", tags={"owner": "zhangwei"}, name="train-03")
    return made


@pytest.fixture
def language(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "en")


@pytest.fixture
def policies(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", IDLE)


@pytest.fixture
def office(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, slack: SlackApi, cloud: Cloud, language: str, policies: str
) -> Iterator[Office]:
    """The box was found idle, and its owner warned with buttons."""
    path = folder_of(tmp_path, migrated_sqlite, slack, f'app_token: "{APP_TOKEN}"', language, policies)
    app = start(load(path, {}), cloud, clock)
    with contextlib.ExitStack() as stack:
        stack.callback(app.close)
        platform = stack.enter_context(Platform(slack))
        app.lead.round()
        app.identify()
        (socket,) = wiring.sockets(app, desk_of(app), HASTY)
        # The lease's clock is moved by hand here.
        socket._around = replace(socket._around, leading=lambda: True)
        socket.start()
        stack.callback(socket.stop)
        run_once(app)
        clock.advance(MINUTE)
        yield Office(app, cloud, clock, slack, platform)


def test_the_owner_presses_keep_and_the_message_says_so(office: Office) -> None:
    assert [element["action_id"] for _, element in office.warning.elements] == [
        "keep_2h", "keep_morning", "when_idle", "stop_now", "false_alarm",
    ]  # fmt: skip
    assert office.warning.delivered.mentions == (f"@{ZW}",)
    office.press("keep_2h")
    assert office.warning.elements == []
    assert "zhangwei keeps train-03 until 22:01 UTC+8" in office.shown(office.warning)
    assert "Stopping in 30 min: train-03" in office.shown(office.warning), "what it was about is still there"
    office.later(MINUTE)
    assert rows(office.app.database)[0].state is ActionState.CANCELLED
    assert office.warning.text.startswith("Kept by zhangwei until 22:01 UTC+8: train-03")
    assert [message.text for message in office.slack.thread(office.warning)] == [office.warning.text]
    office.later(31 * MINUTE)
    assert office.cloud.stops() == []


def test_stop_now_stops_and_the_message_becomes_the_result(office: Office) -> None:
    office.later(2 * MINUTE)
    office.press("stop_now")
    assert "zhangwei asked to stop train-03 now" in office.shown(office.warning)
    office.later(timedelta(seconds=10))
    assert [call.id for call in office.cloud.stops()] == ["a"]
    assert office.warning.text.startswith("Stopped train-03")
    assert [element["action_id"] for _, element in office.warning.elements] == ["start_again", "false_alarm"]
    office.press("start_again")
    assert "zhangwei asked to start train-03 again" in office.shown(office.warning)
    assert [call.operation for call in office.cloud.calls] == ["stop", "start"]


def test_work_that_nobody_could_see_is_told_in_the_thread_and_undone_there(office: Office) -> None:
    """Beside the result, for everybody to see, with the way back."""
    box = office.cloud.boxes["a"]
    office.cloud.late = 2 * MINUTE
    office.later(25 * MINUTE)
    (row,) = rows(office.app.database)
    assert row.due_at is not None
    box.busy_since = row.due_at - MINUTE
    office.later(row.due_at + timedelta(seconds=5) - office.clock.now())
    assert [call.id for call in office.cloud.stops()] == ["a"]
    office.later(3 * MINUTE)
    assert office.warning.text.startswith("Stopped train-03"), "the result stays where it is"
    said = office.slack.thread(office.warning)[-1]
    assert said.text.startswith("Stopped within 3 min of beginning to work: train-03"), "as finely as metrics tell"
    assert said.content["reply_broadcast"] is True
    assert f"@{ZW}" in said.delivered.mentions
    assert [element["action_id"] for _, element in said.elements] == ["start_again", "false_alarm"]
    office.press("start_again", message=said)
    assert "zhangwei asked to start train-03 again" in office.shown(said)
    assert [call.operation for call in office.cloud.calls] == ["stop", "start"]
    office.later(3 * MINUTE)
    office.later(3 * MINUTE)
    assert len([m for m in office.slack.posted if "beginning to work" in m.text]) == 1


def test_a_stranger_is_refused_alone_and_nothing_changes(office: Office) -> None:
    before = dict(office.warning.content)
    office.press("keep_2h", NOBODY)
    eventually(lambda: office.slack.ephemeral)
    (refusal,) = office.slack.ephemeral
    assert (refusal.seen_by, office.warning.content) == (NOBODY, before)
    assert "costguard does not know stranger. Ask an admin to add slack: U012STRANGER" in office.shown(refusal)
    assert [line for line in lines(office.app.database) if line.kind is LedgerKind.LEVER] == []


def test_an_admin_known_by_address_alone_may(office: Office) -> None:
    office.press("keep_morning", LI)
    eventually(lambda: office.warning.elements == [])
    assert "li keeps train-03 until tomorrow 09:00 UTC+8" in office.shown(office.warning)


def test_pressed_twice_and_pressed_after_the_stop(office: Office) -> None:
    """A double press finds the promise; a press under an old copy of the message finds the stop."""
    message = office.warning
    old = Posted(message.channel, dict(message.content), message.at, message.ts, message.author)
    office.press("keep_2h", message=old)
    office.press("keep_2h", message=old)
    eventually(lambda: "already kept by zhangwei" in office.shown(office.warning))
    levers = [line for line in lines(office.app.database) if line.kind is LedgerKind.LEVER]
    assert len(levers) == 1
    office.later(timedelta(hours=2, minutes=1))
    second = office.slack.posted[-1]
    stale = Posted(second.channel, dict(second.content), second.at, second.ts, second.author)
    office.later(MINUTE)
    office.later(31 * MINUTE)
    assert len(office.cloud.stops()) == 1
    office.press("keep_2h", message=stale)
    eventually(lambda: "train-03 was stopped at" in office.shown(second))


def test_the_same_envelope_twice_is_one_press(office: Office) -> None:
    office.press("keep_2h")
    envelope = office.platform.envelopes[-1]
    updates = office.slack.calls("chat.update")
    office.platform.send_again(envelope)
    assert envelope.wait().acked
    office.press("keep_2h", NOBODY, Posted(TEAM, dict(office.warning.edits[0]), office.warning.at, office.warning.ts))
    assert office.slack.calls("chat.update") == updates
    assert len([line for line in lines(office.app.database) if line.kind is LedgerKind.LEVER]) == 1


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
def test_the_connection_is_replaced_when_slack_asks_for_it(office: Office, reason: str) -> None:
    office.press("keep_2h", NOBODY)
    office.platform.disconnect(reason)  # type: ignore[arg-type]
    office.press("keep_2h")
    eventually(lambda: office.warning.elements == [])


def test_slash_commands(office: Office) -> None:
    status = office.type("status")
    assert (status.seen_by, "1 running, 1 idle" in office.shown(status)) == ("", True)
    kept = office.type("keep train-03 3h")
    assert (kept.seen_by, office.shown(kept)) == ("", "zhangwei keeps train-03 until 23:01 UTC+8")
    refused = office.type("keep train-03", NOBODY)
    assert refused.seen_by == NOBODY
    helped = office.type("hepl")
    assert helped.seen_by == ZW
    assert "Did you mean “help”?" in office.shown(helped)


@pytest.mark.parametrize("language", ["zh"], indirect=True)
def test_in_chinese(office: Office) -> None:
    labels = [element["text"]["text"] for _, element in office.warning.elements]
    assert labels == ["保留 2 小时", "保留到 09:00", "空闲后关机", "现在关机", "误报"]
    office.press("when_idle")
    assert "zhangwei 让 train-03 跑完：空闲之后再预警、再关机" in office.shown(office.warning)
    assert "谁" not in office.shown(office.type("谁在烧钱"))


def test_no_secret_is_in_the_log(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    office.platform.disconnect("refresh_requested")
    office.press("keep_2h")
    told = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("costguard"))
    for secret in (BOT_TOKEN, APP_TOKEN, "ticket=", "/actions/"):
        assert secret not in told


def test_who_does_not_lead_is_not_connected(office: Office, clock: FakeClock) -> None:
    leads = threading.Event()
    clerk_calls: list[object] = []
    other = SlackSocket(
        "other", office.app.workers[0].channel.api, APP_TOKEN, clock, clerk_calls.append,  # type: ignore[attr-defined]
        Circumstances(leads.is_set, patience=HASTY),
    )  # fmt: skip
    other.start()
    try:
        time.sleep(0.3)
        assert (other.state.connected, other.state.opened) == (False, 0)
        leads.set()
        eventually(lambda: other.state.connected)
        leads.clear()
        eventually(lambda: not other.state.connected)
    finally:
        other.stop()


@pytest.fixture
def posted_to(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, slack: SlackApi, cloud: Cloud
) -> Iterator[tuple[Office, str]]:
    """The same with a public address in the place of Socket Mode."""
    path = folder_of(tmp_path, migrated_sqlite, slack, f'signing_secret: "{SIGNING_SECRET}"')
    app = start(load(path, {}), cloud, clock)
    app.lead.round()
    app.identify()
    run_once(app)
    config = uvicorn.Config(create(site_of(app)), host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Office(app, cloud, clock, slack, None), f"http://127.0.0.1:{port}/slack"  # type: ignore[arg-type]
    server.should_exit = True
    thread.join(5)
    app.close()


def test_presses_and_commands_over_http(posted_to: tuple[Office, str]) -> None:
    office, url = posted_to
    presses = SlackDeliveries(office.slack, f"{url}/interactivity")
    heard = presses.press(ZW, office.warning, "keep_2h")
    assert (heard.acked, heard.body) == (True, "")
    eventually(lambda: office.warning.elements == [])
    assert SlackDeliveries(office.slack, f"{url}/commands").slash(ZW, "status").acked
    eventually(lambda: len(office.slack.posted) == 2)


def test_what_is_not_signed_is_refused(posted_to: tuple[Office, str]) -> None:
    office, url = posted_to
    for spoil in (
        {"secret": "another"}, {"skew": timedelta(seconds=301)}, {"skew": timedelta(seconds=-301)}, {"tamper": b"&x=1"},
    ):  # fmt: skip
        deliveries = SlackDeliveries(office.slack, f"{url}/interactivity")
        for name, value in spoil.items():
            setattr(deliveries, name, value)
        assert deliveries.press(ZW, office.warning, "keep_2h").status == 401, spoil
    deliveries = SlackDeliveries(office.slack, f"{url}/interactivity")
    for headers in (
        {"X-Slack-Request-Timestamp": "soon"}, {"X-Slack-Request-Timestamp": ""}, {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "٣"}, {"X-Slack-Request-Timestamp": "9" * 400},
    ):  # fmt: skip
        encoded = {key: value.encode() for key, value in headers.items()}
        assert deliveries.deliver(b"payload=%7B%7D", encoded).status == 401, headers  # type: ignore[arg-type]
    assert deliveries.deliver(b"payload=%7B%7D").status == 200, "an interaction that is not ours is only acknowledged"
    assert deliveries.deliver(b"payload=nonsense").status == 400
    assert deliveries.deliver(b"x" * 300_000).status == 413
    commands = SlackDeliveries(office.slack, f"{url}/commands")
    assert commands.deliver(b"ssl_check=1&token=x").status == 200
    assert [line for line in lines(office.app.database) if line.kind is LedgerKind.LEVER] == []


@pytest.mark.parametrize("policies", [IDLE.replace("do: stop}", "do: stop, approve: true}")], indirect=True)
def test_a_stop_that_waits_for_a_yes(office: Office) -> None:
    office.later(31 * MINUTE)
    office.later(MINUTE)
    assert office.cloud.stops() == []
    asked = next(m for m in office.slack.posted if m.text.startswith("Approval needed: stop train-03"))
    assert asked.thread_ts == office.warning.ts
    assert asked.elements[0][1]["action_id"] == "approve"
    office.press("approve", NOBODY, asked)
    office.press("approve", ZW, asked)
    eventually(lambda: "zhangwei approved: train-03" in office.shown(asked))
    office.later(timedelta(seconds=10))
    assert [call.id for call in office.cloud.stops()] == ["a"]
    assert office.warning.text.startswith("Stopped train-03")


def test_a_box_without_an_owner_is_claimed_and_its_owner_warned_anew(office: Office) -> None:
    office.press("keep_2h")
    office.cloud.add("b", name="test1")
    office.later(MINUTE)
    message = next(m for m in office.slack.posted if "test1" in m.text)
    assert "mine" in [element["action_id"] for _, element in message.elements]
    office.press("keep_2h", LI, Posted(TEAM, {**message.content}, message.at, message.ts))
    office.later(MINUTE)
    eventually(lambda: "li keeps test1" in office.shown(message) or "Kept by li" in office.shown(message))
    office.type("unkeep test1", LI)
    office.later(3 * MINUTE)
    again = next(m for m in office.slack.posted if m.ts != message.ts and m.text.startswith("Stopping") and m.elements)
    office.clock.advance(MINUTE)
    office.press("mine", ZW, again)
    eventually(lambda: "test1 is zhangwei's now" in office.shown(again))
    office.later(MINUTE)
    newest = [m for m in office.slack.posted if m.text.startswith("Stopping in 30 min: test1")][-1]
    assert newest.delivered.mentions == (f"@{ZW}",)
    assert "mine" not in [element["action_id"] for _, element in newest.elements]


def test_a_rung_for_the_owner_alone_is_a_direct_message(office: Office) -> None:
    """``to: [owner]``: li is known by an address that Slack knows; presses count there as well."""
    office.press("keep_2h")
    office.cloud.add("b", tags={"owner": "li"}, name="eval-1")
    path = office.app.config.path.parent / "policies.yaml"
    path.write_text(IDLE.replace("{do: warn}\n", "{do: warn, to: [owner]}\n", 1), "utf-8")
    app = start(load(office.app.config.path, {}), office.cloud, office.clock)
    office.app.lead.give_up()
    app.lead.round()
    app.identify()
    run_once(app)
    (message,) = (posted for posted in office.slack.posted if posted.channel == office.slack.people[LI].dm)
    assert "Stopping in 30 min: eval-1" in message.text
    office.press("keep_2h", LI, message)
    assert "li keeps eval-1" in office.shown(message)
    app.close()


@pytest.mark.slow
def test_the_service_hears_people_and_ends_on_sigterm(tmp_path: Path) -> None:
    """The real process: connected once it leads, answers a command, gone within seconds of SIGTERM."""
    with SlackApi() as slack, Platform(slack) as platform:
        port = free_port()
        path = tmp_path / "costguard.yaml"
        path.write_text(
            SERVICE.format(token=BOT_TOKEN, app_token=APP_TOKEN, endpoint=slack.api_url, port=port), "utf-8"
        )
        with running(["-m", "costguard", "run", "-c", str(path)], port, tmp_path) as service:
            service.hear("channel team: Socket Mode is connected")
            assert platform.slash(ZW, "状态").wait().acked
            eventually(lambda: slack.posted, 20)
            assert slack.posted[-1].text.endswith("Nothing is to be stopped.")
            assert 'costguard_chat_connected{channel="team"} 1.0' in service.get("/metrics")[1]
            code, seconds = service.end(signal.SIGTERM, 30)
            assert (code, seconds < 20) == (0, True)
            log = "\n".join(service.said)
        assert not [secret for secret in (BOT_TOKEN, APP_TOKEN, "ticket=") if secret in log]
        eventually(lambda: platform.lines == [])
