"""A look at a simulated machine answers as the script would on a machine that does the same."""

from datetime import timedelta
from pathlib import Path

import pytest

from costguard.engine import onsite as script
from costguard.engine.onsite import preparation, said
from costguard.ports import CommandResult
from costguard.rules.kind import ActivityTests
from costguard.rules.policy import Hook, Rung
from costguard.testing.clock import FakeClock
from costguard_simulated import onsite
from tests.unit.simulated.helpers import START, machine, named, open_up, write

MINUTE = timedelta(minutes=1)


def looked(
    folder: Path, *work: dict[str, str], hook: Hook | None = None, tests: ActivityTests | None = None
) -> CommandResult:
    """What the look says that is made 40 minutes after the scenario's start."""
    clock = FakeClock(START + 40 * MINUTE)
    plan = [{"since": "-3h", "do": "idle"}, *work]
    path = write(folder, machine("a", created="-3h", work=plan, hook={"takes": "40s", "output": "saved"}))
    connection = open_up(path, clock)
    found = preparation(Rung(do="stop", look=True, hook=hook), tests or ActivityTests())
    assert found is not None
    ref = named(connection, "a").ref
    run = connection.run_command(ref, found.run, found.timeout, "t")
    assert connection.command_result(ref, run).state == "pending"
    clock.advance(timedelta(seconds=13))
    if hook is not None:
        clock.advance(timedelta(seconds=30))
    return connection.command_result(ref, run)


def test_it_knows_the_script_by_its_first_line() -> None:
    assert onsite.MARK == script.MARK
    found = preparation(Rung(do="stop", look=True), ActivityTests())
    assert found is not None
    assert found.run.endswith(onsite.ALONE)


def test_rest(tmp_path: Path) -> None:
    found = looked(tmp_path)
    assert (found.state, found.exit_code) == ("finished", 0)
    assert found.output.startswith("rest: gpu=0 ")
    assert said(found.output) is None


@pytest.mark.parametrize(("mode", "word"), [("training", "GPU"), ("cpu_only", "CPU"), ("offload", "GPU")])
def test_work(tmp_path: Path, mode: str, word: str) -> None:
    found = looked(tmp_path, {"since": "40m", "do": mode})
    assert found.exit_code == 75
    assert word in (said(found.output) or "")


def test_the_minute_before_is_in_the_load(tmp_path: Path) -> None:
    found = looked(tmp_path, {"since": "39m", "do": "cpu_only"}, {"since": "40m", "do": "idle"})
    assert found.exit_code == 75
    assert "load" in (said(found.output) or "")


def test_what_was_long_before_is_not(tmp_path: Path) -> None:
    assert looked(tmp_path, {"since": "20m", "do": "cpu_only"}, {"since": "30m", "do": "idle"}).exit_code == 0


def test_work_to_come_is_not_seen(tmp_path: Path) -> None:
    assert looked(tmp_path, {"since": "41m", "do": "training"}).exit_code == 0


def test_its_levels_are_the_scripts(tmp_path: Path) -> None:
    off = ActivityTests(cpu_cores=None, network=None, disk=None)
    assert looked(tmp_path, {"since": "40m", "do": "cpu_only"}, tests=off).exit_code == 0


HOOK = Hook(on="instance", run="/opt/ckpt.sh", timeout=5 * MINUTE)


def test_the_machines_hook_follows_a_look_that_saw_rest(tmp_path: Path) -> None:
    found = looked(tmp_path, hook=HOOK)
    assert (found.exit_code, found.output.splitlines()[-1]) == (0, "saved")


def test_it_does_not_follow_work(tmp_path: Path) -> None:
    found = looked(tmp_path, {"since": "40m", "do": "training"}, hook=HOOK)
    assert (found.exit_code, "saved" in found.output) == (75, False)
