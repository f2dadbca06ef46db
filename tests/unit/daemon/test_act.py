"""Levers that are pulled while costguard looks and decides: what a person was told holds up to the very call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest

from costguard.app.app import App
from costguard.app.desk import desk_of
from costguard.app.once import run_once
from costguard.daemon import levers
from costguard.daemon.levers import Person
from costguard.domain.action import ActionState
from costguard.domain.notice import NoticeKind
from costguard.domain.press import Click, Press, Reply, Sender
from costguard.errors import InvalidState
from costguard.store import actions
from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud, rows
from tests.daemon.rig import told as told_of
from tests.fakes.slack import SlackServer

BOXES = 12
HALF_AN_HOUR = timedelta(minutes=31)
OPERATOR = Person("ops")


class Watched(FakeClock):
    """Calls ``meanwhile`` whenever somebody asks for the time: at every step of a look and between any two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        with self.deaf() as meanwhile:
            meanwhile()
        return super().now()

    @contextmanager
    def deaf(self) -> Iterator[Callable[[], None]]:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        yield meanwhile
        self.meanwhile = meanwhile


@pytest.fixture
def clock() -> Watched:
    return Watched()


@pytest.fixture
def fleet(app: App, cloud: Cloud, clock: Watched) -> App:
    """Many idle boxes, all warned, all due."""
    del cloud.boxes["a"]
    for number in range(BOXES):
        cloud.add(f"b{number:02}")
    run_once(app)
    clock.advance(HALF_AN_HOUR)
    return app


def last_look(app: App) -> str | None:
    """The box that is looked at for the last time right now; None inside a transaction, where nobody else writes."""
    if app.database.in_write:
        return None
    with app.database.read() as conn:
        found = [a for a in actions.in_flight(conn) if a.state is ActionState.REVALIDATING]
    return found[0].subject.id if found else None


def pull(app: App, clock: Watched, lever: Callable[[str], None], due: Callable[[str, int], bool]) -> None:
    """Pulls ``lever`` for each box at the moment of its last look (0, 1 …) that is ``due``."""
    moments: dict[str, int] = {}

    def meanwhile() -> None:
        box = last_look(app)
        if box is not None:
            moments[box] = moments.get(box, -1) + 1
            if due(box, moments[box]):
                lever(box)

    def listen(what: str) -> None:
        clock.meanwhile = meanwhile if what == "decided" else lambda: None

    run_once(app, listen)


def each_later(box: str, moment: int) -> bool:
    """For each box one moment later than for the one before; the last boxes have fewer moments than that."""
    return moment == int(box[1:])


def test_a_keep_that_was_answered_with_yes_stops_the_call(fleet: App, cloud: Cloud, clock: Watched) -> None:
    desk, events = desk_of(fleet), count()
    desk = replace(desk, settings=replace(desk.settings, admins=("ops",)))
    said: dict[str, Reply] = {}

    def press(box: str) -> None:
        action = next(row for row in rows(fleet.database) if row.subject.id == box)
        sender = Sender("slack", "U1", "@zw", owner="ops")
        said[box] = desk.press(Click("ops", sender, Press.KEEP_2H, action.id, f"e{next(events)}"))

    pull(fleet, clock, press, each_later)
    assert said.keys() < cloud.boxes.keys(), "each moment of a last look has its press, and some boxes have none"
    assert all("ops keeps" in reply.text for reply in said.values()), said
    assert {call.id for call in cloud.stops()} == cloud.boxes.keys() - said.keys()


@pytest.mark.parametrize("lever", ["heartbeat", "claim"])
def test_a_sign_of_life_and_a_claim_stop_the_call_as_well(fleet: App, cloud: Cloud, clock: Watched, lever: str) -> None:
    pulled: list[str] = []

    def one(box: str) -> None:
        pulled.append(box)
        with fleet.database.write() as conn:
            if lever == "heartbeat":
                levers.heartbeat(conn, box, span=timedelta(hours=2), person=OPERATOR, now=clock.now())
            else:
                levers.claim(conn, box, owner="new", person=OPERATOR, now=clock.now())

    pull(fleet, clock, one, each_later)
    assert pulled
    assert {call.id for call in cloud.stops()} == cloud.boxes.keys() - set(pulled)


def test_a_pause_in_the_last_moment_comes_in_time(fleet: App, cloud: Cloud, clock: Watched) -> None:
    seen: dict[str, int] = {}

    def last_of_the_second(box: str, moment: int) -> bool:
        seen[box] = moment
        first = next(iter(seen))
        return box != first and moment == seen[first]

    def pause(box: str) -> None:
        with fleet.database.write() as conn:
            levers.pause(conn, person=OPERATOR, now=clock.now(), reason="fire", until=None)

    pull(fleet, clock, pause, last_of_the_second)
    assert [call.id for call in cloud.stops()] == [next(iter(seen))]


def test_one_box_in_a_wrong_state_keeps_no_other_from_its_stop(
    fleet: App, cloud: Cloud, clock: Watched, slack: SlackServer
) -> None:
    """M10, C34: each box has its own call and its own outcome; the one that did not stop is told by its name."""
    asked = count()

    def refused() -> InvalidState | None:
        wrong = next(asked) == 3
        return InvalidState("wrong state", provider="simulated", code="IncorrectInstanceStatus") if wrong else None

    cloud.fail = {"stop": refused}
    first = run_once(fleet)
    states = [row.state for row in rows(fleet.database)]
    assert states.count(ActionState.DONE) == BOXES - 1
    (open_one,) = (row for row in rows(fleet.database) if row.state is not ActionState.DONE)
    assert open_one.state is ActionState.IN_DOUBT, "what the provider meant is looked at, not guessed"
    assert first.failed
    assert len(cloud.stops()) == BOXES - 1
    clock.advance(timedelta(minutes=15))
    run_once(fleet)
    (failed,) = (row for row in rows(fleet.database) if row.state is not ActionState.DONE)
    assert (failed.id, failed.attempt) == (open_one.id, 1)
    assert "IncorrectInstanceStatus" in (failed.error or "")
    told = [notice for notice in told_of(fleet.database) if notice.kind is NoticeKind.FAILED]
    assert [notice.action_id for notice in told] == [failed.id]
    assert any(f"box-{failed.subject.id}" in str(post) for post in slack.posted)
