"""People at the desk: who may, what each press does, and presses that come twice, late or out of date."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count

import pytest

from costguard.app.app import App
from costguard.app.desk import desk_of
from costguard.app.once import run_once
from costguard.app.undo import undo
from costguard.daemon import levers
from costguard.daemon.desk import Desk, forget
from costguard.daemon.levers import Person
from costguard.daemon.ownership import Ownership
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.press import Click, Press, Reply, Said, Sender
from costguard.domain.resource import Resource
from costguard.engine.settings import Owner
from costguard.errors import PermissionDenied, Unavailable, UsageError
from costguard.notify.route import Person as Known
from costguard.notify.route import Place, Routing
from costguard.notify.words.speech import desk_words
from costguard.store import inventory
from costguard.store import levers as stored
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, Cloud, lines, rows, told
from tests.fakes.slack import SlackServer

HOUR = timedelta(hours=1)
ZW, HE, BOSS, NOBODY = "U012ZHANG", "U0HE", "U0BOSS", "U666"


@dataclass
class Counter:
    """The desk with people in front of it: zhangwei owns the box, he another, boss is an admin."""

    app: App
    desk: Desk
    events: "count[int]" = field(default_factory=count)

    def press(self, press: Press, who: str = ZW, event: str | None = None, action: str | None = None) -> Reply:
        sender = Sender("slack", who, f"@{who}")
        value = action or rows(self.app.database)[-1].id
        return self.desk.press(Click("ops", sender, press, value, event or f"e{next(self.events)}"))

    def say(self, text: str, who: str = ZW, channel: str = "ops") -> Reply:
        return self.desk.command(Said(channel, Sender("slack", who, f"@{who}"), text, f"e{next(self.events)}"))

    @property
    def ladder(self) -> Action:
        return rows(self.app.database)[-1]

    def keeps(self) -> list[str]:
        now = self.app.clock.now()
        with self.app.database.read() as conn:
            return [f"{keep.by} {keep.until - now}" for keep in stored.keeps(conn, now).values()]

    def box(self) -> Resource:
        with self.app.database.read() as conn:
            (found,) = inventory.resources(conn)
        return found


@pytest.fixture
def counter(app: App, cloud: Cloud) -> Counter:
    cloud.boxes["a"].tags["owner"] = "zhangwei"
    run_once(app)
    owners = (Owner("zhangwei", tags={"owner": ("zhangwei",)}), Owner("he"), Owner("boss"))
    people = {
        "zhangwei": Known("zhangwei", slack=ZW), "he": Known("he", slack=HE, dingtalk_mobile="13800000000"),
        "boss": Known("boss", slack=BOSS, language="zh"),
    }  # fmt: skip
    routing = Routing(
        {"ops": Place("ops", "slack", language="en"), "grp": Place("grp", "slack")}, people, language="en"
    )
    desk = desk_of(app)
    settings = replace(desk.settings, owners=owners, admins=("boss",))
    return Counter(app, replace(desk, settings=settings, routing=routing, ownership=Ownership(owners)))


def test_the_owner_keeps_the_box_and_nothing_is_stopped(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(MINUTE)
    reply = counter.press(Press.KEEP_2H)
    assert reply == Reply("zhangwei keeps box-a until 14:01 UTC", settled=True, public=True)
    assert counter.keeps() == ["zhangwei 2:00:00"]
    lever = next(line for line in lines(counter.app.database) if line.kind is LedgerKind.LEVER)
    assert (lever.actor, lever.evidence["via"]) == ("zhangwei", f"slack:{ZW} in ops")
    clock.advance(31 * MINUTE)
    run_once(counter.app)
    assert rows(counter.app.database)[0].state is ActionState.CANCELLED
    assert counter.say("status").text.endswith("Nothing is to be stopped.")
    assert cloud.stops() == []


def test_a_second_press_of_the_same_wish_changes_nothing(counter: Counter, clock: FakeClock) -> None:
    counter.press(Press.KEEP_2H)
    clock.advance(timedelta(seconds=2))
    again = counter.press(Press.KEEP_2H)
    assert again == Reply("box-a is already kept by zhangwei until 14:00 UTC", settled=True, public=True)
    assert len([line for line in lines(counter.app.database) if line.kind is LedgerKind.LEVER]) == 1


def test_the_same_event_twice_is_one_press_with_one_reply(counter: Counter, clock: FakeClock) -> None:
    first = counter.press(Press.KEEP_2H, event="x")
    with counter.app.database.write() as conn:
        levers.unkeep(conn, "a", person=Person("ops"), now=clock.now())
    assert counter.press(Press.KEEP_2H, event="x") == first
    assert counter.keeps() == []
    with counter.app.database.write() as conn:
        assert forget(conn, clock.now() + MINUTE) >= 1


def test_a_keep_is_never_shortened(counter: Counter) -> None:
    counter.press(Press.KEEP_MORNING)
    before = counter.keeps()
    assert "already kept" in counter.press(Press.KEEP_2H).text
    assert "already kept" in counter.press(Press.WHEN_IDLE).text
    assert counter.keeps() == before == ["zhangwei 21:00:00"]


def test_stop_when_it_is_idle_then_a_longer_keep(counter: Counter) -> None:
    text = counter.press(Press.WHEN_IDLE).text
    assert (
        text
        == "zhangwei lets box-a finish: warned and stopped once it is idle (kept until 8 Mar 12:00 UTC at the latest)"
    )
    assert "already kept by zhangwei until it is idle" in counter.press(Press.WHEN_IDLE).text
    assert "zhangwei keeps box-a" in counter.press(Press.KEEP_2H).text


@pytest.mark.parametrize("press", list(Press))
def test_strangers_and_other_owners_are_refused(counter: Counter, press: Press) -> None:
    stranger = counter.press(press, NOBODY)
    assert stranger == Reply(
        f"costguard does not know @{NOBODY}. Ask an admin to add slack: {NOBODY} to owners in costguard.yaml."
    )
    other = counter.press(press, HE)
    assert other == Reply("box-a belongs to zhangwei; only they or an admin (boss) may do this.")
    assert [line for line in lines(counter.app.database) if line.kind is LedgerKind.LEVER] == []


def test_an_admin_may_and_a_box_without_owner_is_claimed_first(counter: Counter, cloud: Cloud) -> None:
    assert "boss keeps box-a" in counter.press(Press.KEEP_2H, BOSS).text
    cloud.boxes["a"].tags.clear()
    run_once(counter.app)
    assert counter.press(Press.FALSE_ALARM, HE).text == (
        "box-a has no owner yet. If it is yours, press “It's mine” or write “claim box-a” first,"
        " or ask an admin (boss)."
    )
    assert counter.press(Press.MINE, HE).text == "box-a is he's now; before any stop there is a fresh warning"
    assert counter.press(Press.MINE, HE).text == "box-a is already he's"
    assert counter.press(Press.MINE, ZW).text == "box-a belongs to he; only they or an admin (boss) may do this."
    assert counter.say("unkeep box-a", HE).text == "he no longer keeps box-a"


def test_stop_now_ends_the_grace_and_nothing_else(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(2 * MINUTE)
    reply = counter.press(Press.STOP_NOW)
    assert reply.settled
    assert reply.text == "zhangwei asked to stop box-a now: one more look, and if nobody uses it, it is stopped"
    assert counter.press(Press.STOP_NOW, BOSS).text == "zhangwei has already asked to stop box-a now; it is being done"
    clock.advance(timedelta(seconds=10))
    run_once(counter.app)
    assert [call.id for call in cloud.stops()] == ["a"]
    assert counter.ladder.state is ActionState.DONE
    late = counter.press(Press.KEEP_2H)
    assert late.settled
    assert late.text == "box-a was stopped at 12:02 UTC; to use it, press “Start again” under that message"
    assert "was stopped at" in counter.press(Press.STOP_NOW).text


def test_stop_now_never_stops_a_box_that_works(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    """It fell busy after the last cycle: the press is taken, the look before the call is not fooled."""
    clock.advance(2 * MINUTE)
    cloud.boxes["a"].busy_since = clock.now()
    assert "asked to stop" in counter.press(Press.STOP_NOW).text
    clock.advance(3 * MINUTE)
    run_once(counter.app)
    assert cloud.stops() == []
    assert counter.press(Press.STOP_NOW, action=rows(counter.app.database)[0].id).text in (
        "box-a is in use, so it is not stopped. “Stop when it is idle” waits for the end.",
        "This message is out of date: things changed for box-a, and nothing is to be done now",
    )


def test_stop_now_sees_work_that_was_told_sooner_than_it_has_to_be(
    counter: Counter, cloud: Cloud, clock: FakeClock
) -> None:
    """The provider may tell two minutes late; what it has told already is known."""
    clock.advance(2 * MINUTE)
    cloud.boxes["a"].busy_since = clock.now()
    assert "asked to stop" in counter.press(Press.STOP_NOW).text
    run_once(counter.app)
    assert cloud.stops() == []
    assert counter.ladder.code is not GuardCode.OK
    warnings = [n for n in told(counter.app.database) if n.kind is NoticeKind.WARN]
    run_once(counter.app)
    assert [n for n in told(counter.app.database) if n.kind is NoticeKind.WARN] == warnings, "nobody is warned anew"


def test_who_asked_for_a_stop_hears_once_what_is_against_it(
    counter: Counter, cloud: Cloud, slack: SlackServer, clock: FakeClock
) -> None:
    """The press was taken; the look before the call could not be made."""
    clock.advance(2 * MINUTE)
    assert "asked to stop" in counter.press(Press.STOP_NOW).text
    cloud.fail["get"] = lambda: Unavailable("no answer", provider="simulated", operation="get")
    for _ in range(4):
        run_once(counter.app)
        clock.advance(MINUTE)
    assert cloud.stops() == []
    (refused,) = [m for m in slack.delivered() if m.notification.startswith("No stop now: box-a: ")]
    assert refused.notification == "No stop now: box-a: data is old"
    assert "it could not be read live: " in refused.text
    assert refused.text.count("no answer") == 1


def test_who_asked_for_a_stop_hears_of_a_pause_that_came_after(
    counter: Counter, cloud: Cloud, slack: SlackServer, clock: FakeClock
) -> None:
    clock.advance(2 * MINUTE)
    assert "asked to stop" in counter.press(Press.STOP_NOW).text
    counter.say("pause", BOSS)
    for _ in range(3):
        run_once(counter.app)
        clock.advance(MINUTE)
    refused = [m.notification for m in slack.delivered() if m.notification.startswith("No stop now")]
    assert refused == ["No stop now: box-a: costguard is paused"]
    assert cloud.stops() == []


def test_stop_now_while_paused_says_so(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    assert counter.say("pause 2h", ZW).text == "Only an admin may do this: boss."
    assert counter.say("pause 2h", BOSS).text == "boss paused costguard: nothing is stopped until 14:00 UTC"
    run_once(counter.app)
    assert counter.press(Press.STOP_NOW) == Reply("box-a is not stopped now: costguard is paused.")
    assert "Paused until 14:00 UTC" in counter.say("status").text
    assert counter.say("resume", BOSS).text.startswith("boss resumed")
    assert counter.say("resume", BOSS).text == "Nothing is paused."
    assert cloud.stops() == []


def test_start_again_and_false_alarm_after_a_stop(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(31 * MINUTE)
    run_once(counter.app)
    assert counter.ladder.state is ActionState.DONE
    assert "belongs to zhangwei" in counter.press(Press.START_AGAIN, HE).text
    reply = counter.press(Press.START_AGAIN, event="start")
    assert reply == Reply("zhangwei asked to start box-a again; the provider has the order", settled=True, public=True)
    assert counter.press(Press.START_AGAIN, event="start") == reply
    assert counter.press(Press.START_AGAIN).text == "zhangwei has already asked to start box-a again"
    assert len([call for call in cloud.calls if call.operation == "start"]) == 1
    assert (
        counter.press(Press.FALSE_ALARM).text == "zhangwei: false alarm, recorded; box-a is only in dry run for 7 days"
    )
    assert counter.press(Press.FALSE_ALARM, BOSS).text == "zhangwei has already called it a false alarm: box-a"


def test_a_start_that_the_provider_refuses_may_be_pressed_again(
    counter: Counter, cloud: Cloud, clock: FakeClock
) -> None:
    clock.advance(31 * MINUTE)
    run_once(counter.app)
    cloud.fail["start"] = lambda: PermissionDenied("no right to start", provider="simulated", operation="start")
    refused = counter.press(Press.START_AGAIN)
    assert not refused.settled
    assert refused.text.startswith("Could not start box-a again: ")
    cloud.fail.clear()
    assert "asked to start" in counter.press(Press.START_AGAIN).text


def test_of_two_who_start_it_at_once_one_calls(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(31 * MINUTE)
    run_once(counter.app)
    second: list[Reply] = []

    def meanwhile(what: str) -> None:
        if what == "before start" and not second:
            second.append(counter.press(Press.START_AGAIN, BOSS))
            with pytest.raises(UsageError, match="zhangwei asked for it a moment ago"):
                undo(counter.app, counter.ladder.id, "cli:root")

    cloud.boundary = meanwhile
    assert counter.press(Press.START_AGAIN).text.startswith("zhangwei asked to start box-a again")
    assert second == [Reply("zhangwei has already asked to start box-a again", settled=True, public=True)]
    assert len([call for call in cloud.calls if call.operation == "start"]) == 1
    clock.advance(6 * MINUTE)
    undo(counter.app, counter.ladder.id, "cli:root")
    assert len([call for call in cloud.calls if call.operation == "start"]) == 2, "later it may be asked for again"


def test_who_keeps_a_box_that_is_being_stopped_hears_it(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(31 * MINUTE)
    said: list[str] = []

    def meanwhile(what: str) -> None:
        if what == "before stop":
            said.append(counter.say("keep a 2h").text)
            said.append(counter.press(Press.KEEP_2H).text)

    cloud.boundary = meanwhile
    run_once(counter.app)
    late = "Too late: box-a is being stopped right now. Afterwards you can press “Start again”."
    assert said == [f"zhangwei keeps box-a until 14:31 UTC\n{late}", late]
    assert counter.keeps(), "the promise holds for what comes next"
    assert counter.ladder.state is ActionState.DONE
    assert "\n" not in counter.say("keep a 3h").text, "the stop is over"


def test_a_false_alarm_before_the_stop_keeps_for_a_day(counter: Counter) -> None:
    reply = counter.press(Press.FALSE_ALARM)
    assert reply.text == "zhangwei: false alarm, recorded; box-a is kept until tomorrow 12:00 UTC"
    assert counter.keeps() == ["zhangwei 1 day, 0:00:00"]
    lever = next(line for line in lines(counter.app.database) if line.kind is LedgerKind.LEVER)
    assert lever.evidence["reason"] == "false alarm"
    assert "already kept" in counter.press(Press.FALSE_ALARM).text


def test_approve_where_nothing_waits(counter: Counter) -> None:
    assert counter.press(Press.APPROVE) == Reply("box-a does not wait for an approval", settled=True, public=True)


def test_a_message_that_nothing_is_known_of(counter: Counter) -> None:
    reply = counter.press(Press.KEEP_2H, action="gone")
    assert reply == Reply("costguard no longer has a record of this message.")


def test_the_language_is_the_channels_then_the_persons(counter: Counter) -> None:
    assert counter.say("状态", BOSS, "grp").text.startswith(
        "1 台在运行，1 台空闲，合计 34.74 CNY/h".replace("34.74 CNY", "¥34.74")
    )
    assert counter.say("状态", BOSS, "ops").text.startswith("1 running, 1 idle")


def test_commands_of_people(counter: Counter, clock: FakeClock) -> None:
    assert counter.say("keep box-a 3h").text == "zhangwei keeps box-a until 15:00 UTC"
    assert counter.say("keep box-a 8d").text == "At most 7 days at a time."
    assert counter.say("keep box-a for ever").text.startswith("“for ever” is no time.")
    assert counter.say("keep bx-a").text == "No resource is called bx-a; did you mean box-a?"
    assert counter.say("keep").text == "Say which one, like: keep train-03 2h"
    assert counter.say("keep box-a", HE).text == "box-a belongs to zhangwei; only they or an admin (boss) may do this."
    assert counter.say("claim box-a", HE).text == "box-a belongs to zhangwei; only they or an admin (boss) may do this."
    assert counter.say("unkeep box-a").text == "zhangwei no longer keeps box-a"
    assert counter.say("unkeep box-a").text == "box-a is not kept."
    assert counter.say("stauts").text.startswith("“stauts” is no command. Did you mean “status”?")
    assert counter.say("help", NOBODY).text == desk_words("en").help
    assert counter.say("status", NOBODY).text.startswith("costguard does not know")


def test_status_why_and_who_is_burning(counter: Counter, clock: FakeClock) -> None:
    run_once(counter.app)
    assert counter.say("status").text == ("1 running, 1 idle, ¥34.74/h in all\n· box-a: stop 12:30 UTC")
    burning = counter.say("谁在烧钱").text
    assert burning == "¥34.74/h now, ¥34.74/h of it idle\n· box-a ¥34.74/h · idle 47 min · zhangwei"
    why = counter.say("why box-a").text.split("\n")
    assert why[0] == "box-a: idle 47 min, ¥34.74/h, owner zhangwei"
    assert why[1].startswith("· idle-dev: GPU idle for 47 min: max 0%")
    assert why[1].endswith("; stop 12:30 UTC")


def test_every_message_says_which_buttons_it_has(counter: Counter) -> None:
    (warning,) = (n for n in told(counter.app.database) if n.kind is NoticeKind.WARN)
    assert warning.facts["action_id"] == counter.ladder.id


def test_what_could_not_be_written_is_not_taken_for_done(counter: Counter) -> None:
    with counter.app.database.write():  # whoever writes inside is refused, as when the disk is full
        assert counter.press(Press.KEEP_2H, event="x") == Reply(desk_words("en").not_done())
        assert counter.say("keep box-a 2h") == Reply(desk_words("en").not_done())
    assert counter.keeps() == []
    assert counter.press(Press.KEEP_2H, event="x").settled
    assert counter.keeps() == ["zhangwei 2:00:00"]


def test_levers_refuse_by_themselves_what_the_desk_would(counter: Counter, clock: FakeClock) -> None:
    he = Person("he", frozenset({"he"}), counter.desk.ownership)
    for pull in (
        lambda conn: levers.stop_now(conn, counter.ladder.id, person=he, now=clock.now()),
        lambda conn: levers.claim(conn, "a", owner="he", person=he, now=clock.now()),
        lambda conn: levers.pause(conn, person=he, now=clock.now(), reason="", until=None),
        lambda conn: levers.resume(conn, person=he, now=clock.now()),
    ):
        with counter.app.database.write() as conn, pytest.raises(UsageError):
            pull(conn)


def test_a_name_of_two_boxes_and_a_box_that_is_kept(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    cloud.add("b", name="twin", tags={"owner": "zhangwei"})
    cloud.add("c", name="twin", tags={"owner": "zhangwei"})
    run_once(counter.app)
    assert counter.say("keep twin 2h").text == (
        "More than one is called twin; write the id: simulated/prod/cn-north/vm/b, simulated/prod/cn-north/vm/c"
    )
    assert counter.say("keep prod/b until idle").public
    assert "Kept by zhangwei until 8 Mar 12:00 UTC (kept from the chat)" in counter.say("why b").text
    cloud.boxes["c"].stopping_since = clock.now() - HOUR
    run_once(counter.app)
    assert counter.say("why c").text == "twin: stopped, owner zhangwei\nNo policy wants anything of it."


def test_a_press_under_a_warning_whose_box_works_again(counter: Counter, cloud: Cloud, clock: FakeClock) -> None:
    """The ladder is over; a keep is taken all the same, a stop is not."""
    cloud.boxes["a"].busy_since = clock.now()
    for _ in range(3):
        clock.advance(5 * MINUTE)
        run_once(counter.app)
    action = rows(counter.app.database)[0]
    assert action.state is ActionState.SUPERSEDED
    over = counter.press(Press.STOP_NOW, action=action.id)
    assert over == Reply(
        "This message is out of date: things changed for box-a, and nothing is to be done now",
        settled=True,
        public=True,
    )
    assert "zhangwei keeps box-a" in counter.press(Press.KEEP_2H, action=action.id).text
