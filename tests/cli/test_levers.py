"""People's levers from the terminal: what they matched is said, and what they cannot mean is told with a way out."""

from dataclasses import replace

import pytest

from costguard.domain.action import ActionState
from costguard.store import actions
from tests.cli.cli import Answer, costguard
from tests.web.stage import OPS_URL, Stage

ENV = {OPS_URL: "http://127.0.0.1:9/none", "USER": "mei", "SUDO_USER": ""}


def _run(stage: Stage, *words: str) -> Answer:
    return costguard(*words, "-c", str(stage.config), env=ENV, width=200)


def _action(stage: Stage, name: str) -> str:
    found = _run(stage, "actions", "--json").document["actions"]
    return next(a["id"] for a in found if a["subject"]["name"] == name and a["state"] != "cancelled")


def test_keep_and_unkeep(stage: Stage) -> None:
    """K02: a promise has an end, an author and a reason."""
    kept = _run(stage, "keep", "warned", "--for", "4h", "--reason", "reading the results")
    assert kept.code == 0
    assert kept.out.startswith("kept until 20")
    assert "(Asia/Shanghai): warned (simulated/sim/r1/vm/" in kept.out
    assert "kept" in _run(stage, "fleet").out
    assert "cli:mei" in _run(stage, "ledger", "-n", "3").out
    assert _run(stage, "unkeep", "warned").out.startswith("no longer kept: warned (")
    assert "not kept" in _run(stage, "unkeep", "warned").err


def test_a_keep_that_comes_too_late_for_a_stop_says_so(stage: Stage) -> None:
    action_id = _action(stage, "warned")
    with stage.app() as app, app.database.write() as conn:
        action = actions.get(conn, action_id)
        assert action is not None
        actions.save(conn, replace(action, state=ActionState.EXECUTING, token="t"))
    kept = _run(stage, "keep", "warned", "--for", "4h")
    assert kept.code == 0
    first, second = kept.out.splitlines()
    assert first.startswith("kept until 20")
    assert second.startswith("too late for the stop that is under way: ")
    assert f"`costguard undo {action_id}`" in second
    document = _run(stage, "keep", "warned", "--for", "5h", "--json").document
    assert document["under_way"]["state"] == "executing"
    assert _run(stage, "keep", "forgotten", "--for", "5h", "--json").document["under_way"] is None


def test_claim_heartbeat_pause_and_resume(stage: Stage) -> None:
    assert _run(stage, "claim", "blind", "--owner", "li").out.startswith("owner is now li: blind (")
    assert _run(stage, "heartbeat", "warned", "--for", "45m").out.startswith("counts as in use until 20")
    assert _run(stage, "pause", "--for", "2h", "--reason", "moving").out.startswith("paused until 20")
    assert "fresh warning" in _run(stage, "resume").out
    assert "costguard resume" in _run(stage, "pause").out
    assert _run(stage, "resume", "--json").document["paused"] is False
    again = _run(stage, "resume")
    assert (again.code, again.err.strip()) == (2, "error: nothing is paused")


def test_cancel_dispute_and_undo(stage: Stage) -> None:
    warned, stopped = _action(stage, "warned"), _action(stage, "forgotten")
    cancelled = _run(stage, "cancel", warned[:6])
    assert cancelled.out.startswith(f"cancelled: stop of warned (idle-dev, {warned})")
    assert _run(stage, "cancel", warned).code == 2
    assert (
        "costguard undo" in _run(stage, "cancel", stopped).err
        or "nothing to cancel" in _run(stage, "cancel", stopped).err
    )
    assert "false stop" in _run(stage, "dispute", stopped, "--reason", "was in use").out
    assert _run(stage, "undo", stopped).out.strip() == "start asked for: forgotten"
    assert "no finished stop" in _run(stage, "undo", warned).err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("keep", "warned", "--reason", "r"), "one of --for 4h, --until TIME, --until-idle"),
        (("keep", "warned", "--for", "4h", "--until-idle", "--reason", "r"), "one of"),
        (("keep", "warned", "--for", "4h", "--max", "1d", "--reason", "r"), "--max goes with --until-idle"),
        (("keep", "warned", "--until", "2036-12-01T09:00", "--reason", "r"), "+08:00"),
        (("keep", "warned", "--until", "tomorrow", "--reason", "r"), "is a time like"),
        (("keep", "warned", "--for", "9d", "--reason", "r"), "at most 7d"),
        (("keep", "twin", "--for", "1h", "--reason", "r"), "simulated/sim/r2/disk/"),
        (("keep", "nobody", "--for", "1h", "--reason", "r"), "costguard fleet"),
        (("heartbeat", "warned", "--for", "2d"), "24h"),
        (("approve", "nope"), "costguard actions"),
        (("cancel", "nope"), "costguard actions"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_exit_2_with_a_way_out(staged: Stage, words: tuple[str, ...], says: str) -> None:
    answer = _run(staged, *words)
    assert answer.code == 2
    assert says in answer.err
    assert answer.out == ""
    document = _run(staged, *words, "--json").document
    assert document["schema"] == "costguard.error/1"
    assert document["exit_code"] == 2


def test_a_command_line_that_is_not_understood_is_a_document_too(staged: Stage) -> None:
    for words in (("keep", "--json"), ("nosuch", "--json"), ("fleet", "--nosuch", "--json")):
        answer = costguard(*words)
        assert answer.code == 2
        assert answer.document["schema"] == "costguard.error/1"
        assert costguard(words[0], *words[1:-1]).code == 2
