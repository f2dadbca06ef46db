"""The look at the box itself right before its stop, in the daemon: it sees what the metrics tell only later."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.engine.onsite import MARK
from costguard.errors import InvalidState, PermissionDenied, ProviderError, Throttled, Unavailable
from costguard.ports import CommandResult
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, IDLE, MINUTE, Cloud, configure, lines, rows, told
from tests.fakes.slack import SlackServer

LOOK = IDLE.replace("do: stop}", "do: stop, look: true}")
AT_WORK = CommandResult("finished", 75, "gpu: gpu=87 cpu=30 load=40/2 network=900 disk=100\n")
AT_REST = CommandResult("finished", 0, "rest: gpu=0 cpu=3 load=1/2 network=900 disk=100\n")


@pytest.fixture
def app(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> Iterator[App]:
    app = App.open(configure(tmp_path, slack.webhook_url, policies=LOOK), clock, connect=cloud.connect, threads=1)
    yield app
    app.close()


def until_due(app: App, clock: FakeClock) -> None:
    """One run warns; the next one, half an hour later, acts and waits for its look."""
    run_once(app)
    clock.advance(31 * MINUTE)
    run_once(app)


def begun(app: App) -> None:
    """A process that polls, decides, acts once and goes away."""
    assert app.lead.round()
    app.poll()
    app.decide()
    app.actor.run()


def looks(cloud: Cloud) -> int:
    return sum(call.operation == "run_command" for call in cloud.calls)


def test_a_box_at_rest_is_stopped(app: App, cloud: Cloud, clock: FakeClock) -> None:
    cloud.hook = AT_REST
    until_due(app, clock)
    assert (looks(cloud), len(cloud.stops())) == (1, 1)
    looked, stopped = (next(c.at for c in cloud.calls if c.operation == what) for what in ("run_command", "stop"))
    assert stopped - looked <= MINUTE
    [row] = rows(app.database)
    assert row.state is ActionState.DONE
    assert row.hook_output == AT_REST.output


def test_a_box_at_work_is_left_alone(app: App, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> None:
    """A08: every metric still says that it rests."""
    cloud.hook = AT_WORK
    until_due(app, clock)
    assert (looks(cloud), cloud.stops()) == (1, [])
    row = rows(app.database)[0]
    assert (row.state, row.reason) == (ActionState.CANCELLED, "the box itself is at work: its GPU is at 87 %")
    [over] = [n for n in told(app.database) if n.kind is NoticeKind.CLEARED]
    assert over.action_id == row.id
    message = slack.delivered()[-1].text
    assert "GPU is at 87 %" in message


def test_it_is_warned_anew_before_the_next_try(app: App, cloud: Cloud, clock: FakeClock) -> None:
    cloud.hook = AT_WORK
    until_due(app, clock)
    cloud.hook = AT_REST
    clock.advance(2 * HOUR)
    until_due(app, clock)
    first, second = rows(app.database)
    assert (first.state, second.state) == (ActionState.CANCELLED, ActionState.DONE)
    assert first.ended_at is not None
    assert second.warned_at is not None
    assert second.warned_at >= first.ended_at + HOUR


@pytest.mark.parametrize(
    "error",
    [
        InvalidState("the agent is not online", provider="simulated", operation="run_command"),
        PermissionDenied("not allowed", provider="simulated", operation="run_command"),
    ],
    ids=["agent", "permission"],
)
def test_where_no_look_can_be_had_the_stop_goes_on_and_says_so(
    app: App, cloud: Cloud, clock: FakeClock, error: ProviderError
) -> None:
    cloud.fail["run_command"] = lambda: error
    until_due(app, clock)
    assert len(cloud.stops()) == 1
    [line] = [e for e in lines(app.database) if e.kind is LedgerKind.SYSTEM and e.action_id]
    assert line.text.startswith("stop goes on without its hook or look: ")


@pytest.mark.parametrize(
    "result",
    [
        CommandResult("finished", 69),
        CommandResult("finished", 1, "The term 'costguard_look' is not recognized"),
        CommandResult("unreachable"),
        CommandResult("timed_out"),
        CommandResult("running"),
    ],
    ids=["cannot tell", "another shell", "unreachable", "timed out", "hangs"],
)
def test_a_look_that_sees_nothing_holds_nothing_up(
    app: App, cloud: Cloud, clock: FakeClock, result: CommandResult
) -> None:
    cloud.hook = result
    until_due(app, clock)
    assert (looks(cloud), len(cloud.stops())) == (1, 1)


def test_what_the_metrics_tell_while_it_looks_is_heard(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """Only a hook's own load is nobody's work: a look makes none."""
    cloud.hook = CommandResult("running")
    run_once(app)
    clock.advance(31 * MINUTE)
    cloud.boxes["a"].busy_since = clock.now() + MINUTE
    run_once(app)
    assert looks(cloud) == 1
    cloud.hook = AT_REST
    clock.advance(4 * MINUTE)
    run_once(app)
    assert cloud.stops() == []


@pytest.mark.parametrize("result", [AT_REST, CommandResult("running")], ids=["rest", "no answer"])
def test_a_look_that_is_heard_of_late_is_made_again(
    tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer, result: CommandResult
) -> None:
    """A daemon that was away between the look and its result: the box works since, and no metric tells of it yet."""
    cloud.fail["command_result"] = lambda: Unavailable("away", provider="simulated")
    config = configure(tmp_path, slack.webhook_url, policies=LOOK)
    app = App.open(config, clock, connect=cloud.connect, threads=1)
    run_once(app)
    clock.advance(31 * MINUTE)
    begun(app)
    assert looks(cloud) == 1
    app.close()
    del cloud.fail["command_result"]
    cloud.hook = result
    clock.advance(9 * MINUTE)
    app = App.open(config, clock, connect=cloud.connect, threads=1)
    try:
        begun(app)
        assert cloud.stops() == []
        cloud.hook = AT_WORK
        run_once(app)
        assert (looks(cloud), cloud.stops()) == (2, [])
        assert rows(app.database)[0].reason.startswith("the box itself is at work")
    finally:
        app.close()


def test_a_slow_round_takes_no_look_for_an_old_one(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """Else a round over many boxes that takes longer than a look's life would look for ever and stop nothing."""
    cloud.hook = AT_REST
    run_once(app)
    clock.advance(31 * MINUTE)
    begun(app)
    assert (looks(cloud), cloud.stops()) == (1, [])
    clock.advance(9 * MINUTE)
    begun(app)
    assert (looks(cloud), len(cloud.stops())) == (1, 1)


def test_a_look_that_was_throttled_is_made_later(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """M16: many boxes due at once; nothing was run on this one, so it is not stopped unseen."""
    answers = [Throttled("slow down", provider="simulated", after=5 * MINUTE)]
    cloud.fail["run_command"] = lambda: answers.pop() if answers else None
    cloud.hook = AT_WORK
    until_due(app, clock)
    assert cloud.stops() == []
    [row] = rows(app.database)
    assert (row.state, row.attempt) == (ActionState.DEFERRED, 0)
    assert [n for n in told(app.database) if n.kind is NoticeKind.FAILED] == []
    clock.advance(6 * MINUTE)
    run_once(app)
    assert cloud.stops() == []
    assert rows(app.database)[0].reason.startswith("the box itself is at work")


def test_a_policy_that_is_edited_while_it_looks_alarms_nobody(
    tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer
) -> None:
    """The box is warned anew by the policy as it is now."""
    cloud.hook = CommandResult("running")
    app = App.open(configure(tmp_path, slack.webhook_url, policies=LOOK), clock, connect=cloud.connect, threads=1)
    run_once(app)
    clock.advance(31 * MINUTE)
    begun(app)
    assert rows(app.database)[0].state is ActionState.PREPARING
    app.close()
    edited = LOOK.replace("look: true", "look: false")
    app = App.open(configure(tmp_path, slack.webhook_url, policies=edited), clock, connect=cloud.connect, threads=1)
    try:
        run_once(app)
        row = rows(app.database)[0]
        assert (row.state, row.reason) == (ActionState.SUPERSEDED, "the policy is another one now")
        assert [n for n in told(app.database) if n.kind is NoticeKind.FAILED] == []
    finally:
        app.close()


def test_a_dry_run_runs_nothing_on_any_box(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> None:
    config = configure(tmp_path, slack.webhook_url, policies=LOOK, mode="dry_run")
    app = App.open(config, clock, connect=cloud.connect, threads=1)
    try:
        until_due(app, clock)
        assert cloud.calls == []
    finally:
        app.close()


def test_the_command_is_the_look(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> None:
    seen: list[str] = []
    connect = cloud.connect

    def spying(provider, spec, clock):  # type: ignore[no-untyped-def]
        connection = connect(provider, spec, clock)
        run = connection.run_command
        connection.run_command = lambda ref, command, timeout, token: (
            seen.append(command),
            run(ref, command, timeout, token),
        )[1]
        return connection

    app = App.open(configure(tmp_path, slack.webhook_url, policies=LOOK), clock, connect=spying, threads=1)
    try:
        until_due(app, clock)
    finally:
        app.close()
    [command] = seen
    assert command.startswith(f"{MARK} gpu=5 cpu=100 network=1000000 ")
