"""A process that dies anywhere: killed between any two writes and around any call, and started again.

What is asked of every such death: no request is made twice, what was under way is looked at and never repeated
blindly, the ladder ends, its saving is booked once, and nobody is stopped whom nobody warned.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind, NoticeState
from costguard.errors import Throttled, TimedOut, Unavailable
from costguard.ports import CommandResult
from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import IDLE, MINUTE, Call, Cloud, booked, configure, lines, rows, start, told, with_hook
from tests.fakes.slack import SlackServer
from tests.store.databases import ENGINES, _create, _drop, _url

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

HOOK = with_hook("{on: instance, run: /opt/ckpt.sh, timeout: 10m}")
DUE_IN = timedelta(minutes=31)


class Killed(BaseException):
    """The machine lost its power here."""


class Tripwire:
    """Counts the boundaries of writes and calls, and kills at one of them."""

    def __init__(self) -> None:
        self.kill_at, self.where = 0, ""
        self.seen: list[str] = []

    def arm(self, number: int) -> None:
        self.kill_at, self.where = number, ""
        self.seen.clear()

    def __call__(self, where: str) -> None:
        self.seen.append(where)
        if len(self.seen) == self.kill_at:
            self.where = where
            raise Killed(where)


@pytest.fixture
def trip(monkeypatch: pytest.MonkeyPatch) -> Tripwire:
    wire, write = Tripwire(), Database.write

    @contextmanager
    def watched(self: Database, *, durable: bool = True) -> Iterator[Connection]:
        wire("before a write")
        with write(self, durable=durable) as conn:
            yield conn
        wire("after a write")

    monkeypatch.setattr(Database, "write", watched)
    return wire


@pytest.fixture(autouse=True)
def _one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of one test share the compiled statements, which take most of a start; connections they do not."""
    known: dict[str, Database] = {}

    def opened(url: str) -> Database:
        if url not in known:
            known[url] = Database(url)
        return known[url]

    monkeypatch.setattr("costguard.app.app.Database", opened)


@dataclass
class Scene:
    """A fleet whose stop has just come due, to be played again and again from the same moment."""

    folder: Path
    clock: FakeClock
    slack: SlackServer
    copy: Callable[[], str]
    cloud: Cloud
    policies: str
    step: int
    stack: ExitStack

    def stage(self) -> "Stage":
        clock = FakeClock(self.clock.now())
        self.stack.close()
        self.slack = self.stack.enter_context(SlackServer(clock))
        cloud = replace(self.cloud, clock=clock, boxes=deepcopy(self.cloud.boxes), calls=[], hook_runs={})
        return Stage(self, clock, cloud, self.copy())

    def prepare(self, url: str) -> None:
        """Warns, delivers, and lets the grace pass."""
        config = configure(self.folder, self.slack.webhook_url, policies=self.policies, database=url)
        app = start(config, self.cloud, self.clock)
        run_once(app)
        app.close()
        assert [n.state for n in told_at(url)] == [NoticeState.SENT]
        self.clock.advance(DUE_IN)


def told_at(url: str) -> Any:
    database = Database(url)
    try:
        return told(database)
    finally:
        database.close()


@dataclass
class Stage:
    """One try."""

    scene: Scene
    clock: FakeClock
    cloud: Cloud
    url: str

    def process(self) -> App:
        config = configure(
            self.scene.folder, self.scene.slack.webhook_url, policies=self.scene.policies, database=self.url
        )
        return start(config, self.cloud, self.clock)

    def run(self) -> None:
        app = self.process()
        try:
            run_once(app)
        finally:
            app.close()

    def watch(self, trip: Tripwire) -> tuple[list[str], int]:
        """A whole run: the boundaries that it passed, and how many of them were the poll's."""
        polls: list[int] = []
        app = self.process()
        self.cloud.boundary = trip
        trip.arm(0)
        run_once(app, lambda what: polls.append(len(trip.seen)) if what == "prod" else None)
        passed = list(trip.seen)
        self.cloud.boundary = lambda what: None
        app.close()
        return passed, polls[-1]

    def die(self, trip: Tripwire, number: int) -> bool:
        """A run that is killed at boundary ``number``; False when it came to its end before."""
        app = self.process()
        self.cloud.boundary = trip
        trip.arm(number)
        try:
            run_once(app)
        except Killed:
            return True
        finally:
            trip.kill_at = 0
            self.cloud.boundary = lambda what: None
            # A dead process gives nothing up: the lease runs out by itself.
            app.database.close()
        return False

    def recover(self) -> None:
        """New processes, one after the other, until nothing is open any more."""
        self.clock.advance(3 * MINUTE)
        for _ in range(20):
            self.run()
            if all(row.state.terminal for row in self.rows()):
                return
            self.clock.advance(15 * MINUTE)
        raise AssertionError(f"still open: {[(r.state, r.code, r.reason) for r in self.rows()]}")

    def rows(self) -> Any:
        return self.ask(rows)

    def ask(self, question: Callable[[Database], Any]) -> Any:
        database = Database(self.url)
        try:
            return question(database)
        finally:
            database.close()

    def settled(self, where: str) -> None:
        """What has to hold after every death."""
        calls = self.cloud.stops()
        assert len(calls) == 1, f"{where}: {calls}"
        (row,) = self.rows()
        assert row.state is ActionState.DONE, where
        assert row.token == calls[0].token, where
        assert row.warned_at is not None
        assert calls[0].at >= row.warned_at + timedelta(minutes=30), where
        savings = self.ask(lambda database: booked(database, self.clock.now()))
        assert [(s.action_id, s.until) for s in savings] == [(row.id, None)], where
        kinds = [line.kind for line in self.ask(lines)]
        assert kinds.count(LedgerKind.CONFIRMED) == 1, where
        assert kinds.count(LedgerKind.SAVING) == 1, where
        results = [n for n in self.ask(told) if n.kind is NoticeKind.RESULT]
        assert [n.state for n in results] == [NoticeState.SENT], where


@pytest.fixture(params=ENGINES)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """(the URL of a migrated database, a function that copies it and returns the copy's URL)."""
    if request.param == "sqlite":
        original = tmp_path / "original.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), original)

        def copy_file() -> str:
            for suffix in ("-wal", "-shm"):
                (tmp_path / f"copy.db{suffix}").unlink(missing_ok=True)
            shutil.copy(original, tmp_path / "copy.db")
            return f"sqlite:///{tmp_path}/copy.db"

        yield f"sqlite:///{original}", copy_file
        return
    admin: Engine = request.getfixturevalue("postgres_admin")
    name = _create(admin, request.getfixturevalue("migrated_postgres"))
    copies: list[str] = []

    def copy_database() -> str:
        for old in copies:
            _drop(admin, old)
        copies[:] = [_create(admin, name)]
        return _url(admin, copies[0])

    yield _url(admin, name), copy_database
    for left in (*copies, name):
        _drop(admin, left)


@pytest.fixture
def scene(places: tuple[str, Callable[[], str]], tmp_path: Path, clock: FakeClock) -> Iterator[Callable[[str], Scene]]:
    with ExitStack() as stack:

        def make(policies: str = IDLE) -> Scene:
            cloud = Cloud(clock)
            cloud.add("a")
            slack = stack.enter_context(SlackServer(clock))
            # A death on Postgres takes a database of its own: every seventh boundary is played there.
            step = 1 if places[0].startswith("sqlite") else 7
            made = Scene(tmp_path, clock, slack, places[1], cloud, policies, step, stack)
            made.prepare(places[0])
            return made

        yield make


def deaths(scene: Scene, trip: Tripwire, chosen: Callable[[list[str], int], Iterable[int]]) -> list[str]:
    """Kills one run at each chosen boundary, and checks what the next ones make of it; returns where they died.

    ``chosen`` gets the boundaries of a whole run and how many of them are the poll's; the first is number 1.
    """
    whole = scene.stage()
    passed, polled = whole.watch(trip)
    whole.settled("no death at all")
    places = []
    for number in list(chosen(passed, polled))[:: scene.step]:
        stage = scene.stage()
        assert stage.die(trip, number)
        where = f"killed {trip.where} (boundary {number} of {len(passed)})"
        places.append(trip.where)
        stage.recover()
        stage.settled(where)
        tokens = [call.token for call in stage.cloud.calls]
        assert len(tokens) == len(set(tokens)), f"{where}: a token was used twice"
    return places


def test_killed_between_any_two_writes_and_around_any_call(scene: Callable[[str], Scene], trip: Tripwire) -> None:
    """C11, E13, and the promise of kill -9: nothing is lost, nothing is repeated. A poll's deaths are all alike, so
    that every fourth is played; of deciding, acting and telling, every one."""

    def chosen(passed: list[str], polled: int) -> Iterable[int]:
        return (n for n in range(1, len(passed) + 1) if n > polled or n % 4 == 0)

    places = deaths(scene(IDLE), trip, chosen)
    assert len(places) >= 4
    if len(places) > 20:
        assert {"before stop", "after stop", "before get", "before a write", "after a write"} <= set(places)


def test_killed_around_a_hook(scene: Callable[[str], Scene], trip: Tripwire) -> None:
    """C30, C31: whether a hook started cannot be told, so it counts as failed and is tried later; a known run is
    waited for; the stop comes once."""

    def chosen(passed: list[str], polled: int) -> Iterable[int]:
        return range(passed.index("before run_command") + 1, passed.index("after stop") + 2)

    places = deaths(scene(HOOK), trip, chosen)
    assert places[0] == "before run_command"


def test_a_lost_answer_is_looked_at_and_not_asked_for_again(scene: Callable[[str], Scene]) -> None:
    """C11: the stop took effect, its answer did not arrive."""
    made = scene(IDLE)
    for error in (TimedOut("no answer", provider="simulated"), Unavailable("reset", provider="simulated")):
        stage = made.stage()
        stage.cloud.lose = {"stop": lambda error=error: error}  # type: ignore[misc]
        stage.run()
        stage.settled(type(error).__name__)


def test_a_call_that_never_arrived_is_tried_again_with_a_new_token_after_new_looks(
    scene: Callable[[str], Scene],
) -> None:
    """C34: the outcome is open for a while, then it failed; the retry warns in time, looks twice, asks anew."""
    stage = scene(IDLE).stage()
    tried: list[Call] = []

    def lost() -> TimedOut | None:
        tried.append(Call("stop", "a", "?", stage.clock.now()))
        return TimedOut("no answer", provider="simulated") if len(tried) == 1 else None

    stage.cloud.fail = {"stop": lost}
    stage.run()
    (row,) = stage.rows()
    assert row.state is ActionState.IN_DOUBT
    first = row.token
    stage.recover()
    (row,) = stage.rows()
    assert row.state is ActionState.DONE
    assert row.token not in (None, first)
    assert len(tried) == 2
    assert tried[1].at - tried[0].at >= timedelta(minutes=30)


def test_a_throttled_call_waits_and_spends_no_attempt(scene: Callable[[str], Scene]) -> None:
    """M16, C11: an explicit refusal did nothing, so the next call comes after new looks and a new token."""
    stage = scene(IDLE).stage()
    answers = [Throttled("slow down", provider="simulated", after=timedelta(seconds=90)), None]
    stage.cloud.fail = {"stop": lambda: answers.pop(0) if answers else None}
    stage.run()
    (row,) = stage.rows()
    assert row.state is ActionState.DEFERRED
    assert row.attempt == 0
    stage.recover()
    stage.settled("throttled once")


def test_a_stop_that_is_never_seen_ends_in_failure(scene: Callable[[str], Scene]) -> None:
    """C11, C34: accepted, and nothing happens: the look ends at its deadline, people hear of it, a person decides
    after the last try."""
    stage = scene(IDLE).stage()

    def ignored() -> None:
        stage.cloud.boxes["a"].stopping_since = None

    stage.cloud.lose = {"stop": ignored}
    stage.run()
    assert [r.state for r in stage.rows()] == [ActionState.VERIFYING]
    for _ in range(4):
        stage.clock.advance(5 * MINUTE)
        stage.run()
    (row,) = stage.rows()
    assert row.state is ActionState.DEFERRED
    assert row.attempt == 1
    assert row.error == "accepted, but not seen to happen in time"
    assert [n.state for n in stage.ask(told) if n.kind is NoticeKind.FAILED] == [NoticeState.SENT]
    assert stage.ask(lambda database: booked(database, stage.clock.now())) == ()


def test_the_policy_changed_while_a_stop_was_being_verified(scene: Callable[[str], Scene], trip: Tripwire) -> None:
    """A05: the row was written under other rungs. It is looked at and ends all the same, and blocks nobody."""
    made = scene(IDLE)
    passed, _ = made.stage().watch(trip)
    stage = made.stage()
    assert stage.die(trip, passed.index("after stop") + 1)
    shorter = IDLE.replace("      - {after: 15m, do: warn}\n", "").replace("45m", "50m")
    changed = Stage(replace(made, policies=shorter), stage.clock, stage.cloud, stage.url)
    changed.recover()
    changed.settled("another policy")


def test_a_hook_runs_under_the_policy_that_started_it(scene: Callable[[str], Scene]) -> None:
    """A05: the ladder got shorter while the hook ran; the row it had is not there any more."""
    made = scene(HOOK)
    stage = made.stage()
    stage.cloud.hook = CommandResult("running")
    stage.run()
    assert [r.state for r in stage.rows()] == [ActionState.PREPARING]
    shorter = IDLE.replace("      - {after: 15m, do: warn}\n", "")
    changed = Stage(replace(made, policies=shorter), stage.clock, stage.cloud, stage.url)
    changed.clock.advance(5 * MINUTE)
    changed.run()
    old = changed.rows()[0]
    assert old.state.terminal or old.state is ActionState.DEFERRED
    assert changed.cloud.stops() == []


def test_a_hook_beside_a_daemon_that_died_is_left_its_time(scene: Callable[[str], Scene]) -> None:
    """C30: nobody hears its result any more, but it may be writing still; on_failure: stop means after its timeout."""
    hook = '{on: daemon, run: "sleep 20", timeout: 10m, on_failure: stop}'
    stage = scene(with_hook(hook)).stage()
    stage.run()
    assert [r.state for r in stage.rows()] == [ActionState.PREPARING]
    stage.clock.advance(5 * MINUTE)
    stage.run()
    assert [r.state for r in stage.rows()] == [ActionState.PREPARING]
    assert stage.cloud.stops() == []
    stage.clock.advance(6 * MINUTE)
    stage.run()
    (row,) = stage.rows()
    assert row.hook_output == "costguard restarted while the hook ran"
    assert len(stage.cloud.stops()) == 1
