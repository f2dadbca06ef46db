"""DingTalk's Stream in the whole product: a warning with buttons, people who press and write, and what the fleet does.

The cloud is in memory, the database and every wire are real; only the clock is moved.
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.listen import chats
from costguard.app.once import run_once
from costguard.config.load import load
from costguard.domain.action import ActionState
from costguard.notify.listening import Patience
from costguard.ports import Listener
from costguard.store import levers
from costguard.testing.clock import FakeClock
from tests.daemon.rig import IDLE, MINUTE, Cloud, rows, start
from tests.fakes.dingtalk_openapi import Card, DingTalkApi, Sent
from tests.fakes.dingtalk_reference import CLIENT_ID, CLIENT_SECRET, GROUP, TEMPLATE
from tests.fakes.dingtalk_stream import DingTalkStream, Frame

CONFIG = """\
version: 1
timezone: Asia/Shanghai
language: {language}
currency: CNY
mode: enforce
enforce_accounts: [prod]
limits: {{per_hour: 100, share: 100%}}
admins: [boss]
accounts:
  - {{name: prod, provider: simulated, account_id: "1"}}
channels:
  - {{name: dev, kind: dingtalk, mode: stream, client_id: "{id}", client_secret: "{secret}", endpoint: "{url}"{more}}}
owners:
  - {{name: zhangwei, tags: {{owner: [zhangwei]}}, dingtalk: zw01}}
  - {{name: boss, dingtalk: admin03}}
notify: {{default: [dev], quiet_hours: null}}
policies: [policies.yaml]
"""
QUICK = Patience(
    open=timedelta(seconds=3), alive=timedelta(seconds=0.5), silence=timedelta(seconds=60),
    steady=timedelta(seconds=0.1), backoff=(timedelta(seconds=0.05), timedelta(seconds=0.2)),
)  # fmt: skip
HOUR = timedelta(hours=1)


@dataclass
class Office:
    """The product on a cloud with one idle box, and the group that looks at it."""

    app: App
    clock: FakeClock
    cloud: Cloud
    api: DingTalkApi
    stream: DingTalkStream
    listener: Listener

    def card(self) -> Card:
        return list(self.api.cards.values())[-1]

    def press(self, who: str, label: str) -> Frame:
        """Presses a button of the newest card as the platform's button group does: its number behind its id."""
        number, found = next((n, b) for n, b in enumerate(json.loads(self.card().params["btns"])) if b["text"] == label)
        event = found["event"]["params"]
        frame = self.stream.press(who, self.card(), f"{event['actionId']}{number}", event["params"]).wait()
        assert frame.acked
        return frame

    def said(self, who: str, text: str) -> str:
        """What the robot answers to a line in the group."""
        before = len(self.api.sent)
        assert self.stream.say(who, text).wait().acked
        self.stream.wait_until(lambda: len(self.api.sent) > before)
        return self.api.sent[before].text.removeprefix(f"@{who}\n\n")

    def new(self, before: int) -> Sent:
        self.stream.wait_until(lambda: len(self.api.sent) > before)
        return self.api.sent[-1]

    def kept(self) -> list[tuple[str, timedelta]]:
        with self.app.database.read() as conn:
            found = levers.keeps(conn, self.clock.now()).values()
            return [(keep.by, keep.until - self.clock.now()) for keep in found]

    def later(self, span: timedelta) -> None:
        """The clock moves on, and the loops come round once."""
        self.clock.advance(span)
        self.app.lead.round()
        run_once(self.app)


def office(folder: Path, migrated: Path, api: DingTalkApi, text: str, policies: str) -> tuple[App, Cloud]:
    shutil.copy(migrated, folder / "costguard.db")
    (folder / "policies.yaml").write_text(policies, "utf-8")
    path = folder / "costguard.yaml"
    path.write_text(text, "utf-8")
    clock = api.clock
    cloud = Cloud(clock)
    cloud.add("i-1", tags={"owner": "zhangwei"}, name="train-03")
    app = start(load(path, {}), cloud, clock)
    app.lead.round()
    app.identify()
    return app, cloud


@pytest.fixture
def language() -> str:
    return "zh"


@pytest.fixture
def more() -> str:
    return f', conversation: "{GROUP}", card_template: "{TEMPLATE}"'


@pytest.fixture
def policies() -> str:
    return IDLE


@pytest.fixture
def group(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, language: str, more: str, policies: str
) -> Iterator[Office]:
    with DingTalkApi(clock) as api, DingTalkStream(api) as stream:
        text = CONFIG.format(language=language, id=CLIENT_ID, secret=CLIENT_SECRET, url=api.url, more=more)
        app, cloud = office(tmp_path, migrated_sqlite, api, text, policies)
        (listener,) = chats(app, patience=QUICK)
        listener.start()
        stream.wait_connected()
        yield Office(app, clock, cloud, api, stream, listener)
        listener.stop()
        app.close()


def test_a_click_keeps_the_box_and_the_card_says_so(group: Office) -> None:
    run_once(group.app)
    assert group.card().params["title"].startswith("30 分钟后关机 train-03")
    assert group.card().pinged == ("zw01",)
    group.clock.advance(MINUTE)
    group.press("zw01", "保留 2 小时")
    group.stream.wait_until(lambda: group.card().params["btns"] == "[]")
    assert group.card().params["tips"].startswith("zhangwei 保留 train-03 到")
    assert group.kept() == [("zhangwei", 2 * HOUR)]
    group.later(31 * MINUTE)
    assert rows(group.app.database)[0].state is ActionState.CANCELLED
    assert group.cloud.stops() == []
    assert group.card().params["title"].startswith("zhangwei 保留")
    assert group.api.sent == [], "the card says it; nobody needs a message more"


def test_a_stop_becomes_the_card_and_can_be_taken_back(group: Office) -> None:
    run_once(group.app)
    first = group.card()
    group.later(31 * MINUTE)
    group.later(MINUTE)
    assert len(group.cloud.stops()) == 1
    assert first.params["title"].startswith("已关机 train-03")
    assert first.params["btns"] == "[]"
    second = group.card()
    assert second is not first
    assert second.pinged == ("zw01",)
    group.press("zw01", "重新启动")
    group.stream.wait_until(lambda: second.params["btns"] == "[]")
    assert "要求重新启动 train-03" in second.params["tips"]
    assert [call.operation for call in group.cloud.calls] == ["stop", "start"]


@pytest.mark.parametrize("policies", [IDLE.replace("- {do: warn}", "- {do: warn, to: [owner]}", 1)])
def test_what_a_policy_sends_to_the_owner_alone_is_written_to_them(group: Office) -> None:
    run_once(group.app)
    card = group.card()
    assert card.space == "zw01"
    group.press("zw01", "保留 2 小时")
    group.stream.wait_until(lambda: card.params["btns"] == "[]")
    assert group.kept() == [("zhangwei", 2 * HOUR)]


def test_words_in_the_group_keep_the_box(group: Office) -> None:
    run_once(group.app)
    assert group.said("zw01", "保留 train-03 2小时").startswith("zhangwei 保留 train-03 到")
    assert group.kept() == [("zhangwei", 2 * HOUR)]


def test_a_stranger_is_refused_and_told_why(group: Office) -> None:
    run_once(group.app)
    before = len(group.api.sent)
    group.press("li02", "保留 2 小时")
    refusal = group.new(before)
    assert refusal.to == ("li02",)
    assert "不认识 li02" in refusal.text
    assert "不认识 李雷" in group.said("li02", "保留 train-03 2小时")
    assert group.kept() == []
    group.later(31 * MINUTE)
    assert len(group.cloud.stops()) == 1, "a refusal keeps nothing"


def test_a_stop_now_asks_first(group: Office) -> None:
    run_once(group.app)
    group.press("zw01", "现在关机")
    group.press("zw01", "✓ 现在关机")
    group.stream.wait_until(lambda: group.card().params["btns"] == "[]")
    assert "现在关机 train-03" in group.card().params["tips"]
    group.later(MINUTE)
    assert len(group.cloud.stops()) == 1


def test_what_the_robot_is_asked_in_the_group(group: Office) -> None:
    run_once(group.app)
    assert group.said("zw01", "状态").startswith("1 台在运行，1 台空闲")
    assert "train-03" in group.said("zw01", "谁在烧钱")
    assert "策略 idle-dev" in group.said("zw01", "为什么 train-03")
    assert "可以这样说" in group.said("zw01", "帮助")
    assert "只有管理员" in group.said("zw01", "暂停")
    assert group.said("admin03", "暂停").startswith("boss 紧急暂停")
    group.later(31 * MINUTE)
    assert group.cloud.stops() == []


@pytest.mark.parametrize("language", ["en"])
def test_in_english(group: Office) -> None:
    run_once(group.app)
    group.press("zw01", "Keep 2 h")
    group.stream.wait_until(lambda: group.card().params["btns"] == "[]")
    assert group.card().params["tips"].startswith("zhangwei keeps train-03 until")
    assert "1 running" in group.said("zw01", "status")
    assert "keep train-03" in group.said("zw01", "help")


def test_a_delivery_that_comes_twice_is_one_press(group: Office) -> None:
    run_once(group.app)
    frame = group.press("zw01", "保留 2 小时")
    group.stream.wait_until(lambda: group.card().params["btns"] == "[]")
    group.stream.send_again(frame)
    assert frame.wait().acked
    assert len(group.kept()) == 1


def test_after_a_break_people_are_heard_again(group: Office) -> None:
    """DingTalk gone for a while: the gateway refuses, and comes back."""
    run_once(group.app)
    group.api.gateway = None
    group.stream.drop()
    time.sleep(0.6)
    assert not group.listener.state.connected
    group.api.gateway = group.stream
    group.stream.wait_connected(2)
    assert group.said("zw01", "保留 train-03 2小时").startswith("zhangwei 保留")


def test_what_failed_meanwhile_is_delivered_later(group: Office) -> None:
    """The warning counts from its delivery: while it cannot be delivered nothing is stopped."""
    group.api.permissions.clear()
    run_once(group.app)
    assert group.api.delivered() == []
    group.later(40 * MINUTE)
    assert group.cloud.stops() == []
    group.api.permissions.update({"Card.Instance.Write", "qyapi_robot_sendmsg"})
    group.later(40 * MINUTE)
    assert len(group.api.delivered()) >= 1
    assert group.cloud.stops() == []


@pytest.mark.parametrize("more", [f', conversation: "{GROUP}", card_template: null'])
def test_without_cards_the_commands_are_in_words(group: Office) -> None:
    run_once(group.app)
    text = group.api.sent[0].text
    assert "保留 train-03 2小时" in text
    assert [sent.to for sent in group.api.sent] == [(GROUP,), ("zw01",)], "the owner is written to, for a mention"


@pytest.mark.parametrize("more", [f', card_template: "{TEMPLATE}"'])
def test_the_group_is_the_one_that_somebody_known_speaks_in(group: Office) -> None:
    run_once(group.app)
    assert group.api.delivered() == []
    assert "从现在起" in group.said("zw01", "状态")
    group.later(11 * MINUTE)
    assert group.card().space == GROUP


def test_a_box_with_a_hostile_name_mentions_and_links_nothing(group: Office) -> None:
    group.cloud.boxes["i-1"].name = "@所有人 [x](https://evil.example) <a atId=zw01>"
    run_once(group.app)
    card = group.card()
    assert card.pinged == ("zw01",)
    assert "](https://evil.example)" not in card.params["markdown"]
    assert "<a" not in card.params["markdown"]
    assert "@所有人" not in "".join(card.params.values())


def test_no_secret_is_written_anywhere(group: Office, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """K04: client secret, access token, ticket and session webhook, in no log and not in the database."""
    caplog.set_level("DEBUG")
    run_once(group.app)
    group.said("zw01", "状态")
    group.stream.disconnect()
    group.stream.wait_connected(2)
    secrets = [*group.api.secrets, *(line.ticket for line in group.stream.lines)]
    assert len(secrets) >= 4
    ours = [r for r in caplog.records if r.name.startswith(("costguard", "httpx", "httpcore", "websockets.client"))]
    logged = "\n".join(f"{r.getMessage()} {vars(r)}" for r in ours)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("costguard.db*"))
    for secret in secrets:
        assert secret not in logged
        assert secret.encode() not in stored
        assert secret not in group.app.redactor.text(f"x {secret} y")
