"""The desk on both databases, with two replicas that hear the same people at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.daemon.desk import Desk
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.press import Click, Press, Reply, Said, Sender
from costguard.engine.settings import EngineSettings
from costguard.notify.route import Person, Routing
from costguard.store import actions, inventory
from costguard.store.database import Database
from costguard.testing.builders import NOW, make_action, make_finding, make_resource
from costguard.testing.clock import FakeClock
from tests.daemon.rig import lines, rows

SENDER = Sender("slack", "U1", "zw")


def not_now(action_id: str, person: str) -> Action:
    raise AssertionError("nothing was stopped")


@pytest.fixture
def desk(database: Database) -> Desk:
    box = make_resource()
    row = make_action(make_finding(box), state=ActionState.WARNED, response=Response.STOP, code=GuardCode.NOT_DUE)
    with database.write() as conn:
        inventory.record_live(conn, box, NOW)
        actions.insert(conn, replace(row, warned_at=NOW, due_at=NOW + timedelta(minutes=30)))
    routing = Routing({}, {"zw": Person("zw", "en", slack="U1")}, language="en")
    return Desk(database, FakeClock(NOW + timedelta(minutes=1)), EngineSettings(admins=("zw",)), routing, not_now)


def click(desk: Desk, press: Press, event: str) -> Reply:
    return desk.press(Click("team", SENDER, press, rows(desk.database)[0].id, event))


def levers(desk: Desk) -> list[str]:
    return [line.text for line in lines(desk.database) if line.kind is LedgerKind.LEVER]


def test_one_event_heard_by_two_is_one_press(desk: Desk) -> None:
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: click(desk, Press.STOP_NOW, "same"), range(8)))
    assert len(set(replies)) == 1
    assert levers(desk) == ["asked to stop now"]
    assert rows(desk.database)[0].hastened_at is not None


def test_people_who_press_at_once_find_what_the_first_one_did(desk: Desk) -> None:
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda number: click(desk, Press.STOP_NOW, f"e{number}"), range(8)))
    said = sorted("already asked" in reply.text for reply in replies)
    assert said == [False, *[True] * 7]
    assert levers(desk) == ["asked to stop now"]


@pytest.mark.parametrize(
    ("command", "reason", "told"),
    [
        (
            "why i-1",
            "limit reached: per_hour over all policies is 3",
            "but held back: limit reached: per_hour over all policies is 3",
        ),
        (
            "为什么 i-1",
            "limit reached: per_hour over all policies is 3",
            "但会被拦下：达到单次上限：所有策略合计的 per_hour 是 3",
        ),
        ("为什么 i-1", "", "但会被拦下：超过单次上限"),
    ],
)
def test_why_tells_the_whole_reason(desk: Desk, command: str, reason: str, told: str) -> None:
    """As every message and page does; its code says less."""
    row = rows(desk.database)[0]
    with desk.database.write() as conn:
        actions.save(conn, replace(row, state=ActionState.DEFERRED, code=GuardCode.LIMIT, reason=reason))
    chinese = replace(desk.routing, people={"zw": Person("zw", "zh" if command.startswith("为") else "en", slack="U1")})
    desk = replace(desk, routing=chinese)
    assert told in desk.command(Said("team", SENDER, command, "e1")).text


def test_what_fails_leaves_the_event_to_be_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database went away in the middle: nothing happened, and the same event works later."""
    with monkeypatch.context() as broken:
        broken.setattr("costguard.daemon.desk.parse", lambda text: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            desk.command(Said("team", SENDER, "status", "e1"))
    assert desk.command(Said("team", SENDER, "status", "e1")).text.startswith("1 running")
