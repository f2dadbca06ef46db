"""Explain: everything that speaks for and against, not only the first."""

import json
from dataclasses import replace
from typing import Any

import pytest

from costguard.domain.codec import encode
from costguard.domain.decision import GuardCode
from costguard.domain.resource import Ends, StopEffect
from costguard.domain.snapshot import Keep
from costguard.engine.evaluate import evaluate
from costguard.engine.events import Event, EventKind
from costguard.engine.explain import explain
from costguard.engine.lifecycle import advance
from costguard.engine.settings import EngineSettings, Owner
from costguard.testing.builders import HOUR, MINUTE, NOW, make_account, make_ref, make_resource, make_source
from tests.unit.engine.stage import SETTINGS, Cycles, busy, idle_policy, lifetime_policy, snapshot_of

BOX = make_resource(name="zw-1")


def document(policies: list[Any], box: Any = BOX, settings: EngineSettings = SETTINGS, **facts: Any) -> Any:
    snapshot = snapshot_of(box, **facts)
    return explain(box.ref, evaluate(policies, snapshot), (), snapshot, settings)


def test_every_guard_against_it_is_listed_with_what_would_change_it() -> None:
    box = replace(BOX, tags={"costguard": "keep"}, group="asg")
    (policy,) = document([idle_policy()], box, paused_until=NOW + HOUR)["policies"]
    (ladder,) = policy["ladders"]
    against = [g["code"] for g in ladder["guards"] if g["answer"] != "allow"]
    assert against == ["protected", "group_member", "not_warned", "paused"]
    assert len(ladder["guards"]) == len(GuardCode) - 1
    assert ladder["verdict"]["code"] == "protected"
    assert [c.split(" (")[0] for c in ladder["changes"]] == [
        "the keep tag, keep or lock is taken away", "never: scale the group in, or delete the job",
        "the warning is delivered", "somebody resumes",
    ]  # fmt: skip


def test_why_a_policy_does_not_match() -> None:
    (policy,) = document([idle_policy(match={"tags": {"role": ["dev"]}})])["policies"]
    assert not policy["matched"]
    assert "tags.role" in policy["why_not"]
    assert policy["ladders"] == []


@pytest.mark.parametrize(
    ("own", "account", "matched"),
    [("nlp", None, True), (None, "nlp", True), (None, None, False), ("vision", "nlp", False)],
)
def test_what_is_set_for_a_team_alone_is_shown_for_each_of_its_boxes(
    own: str | None, account: str | None, matched: bool
) -> None:
    """B12: the box's own team, else its account's, decides; every policy says of each box whether it is for it."""
    box = replace(BOX, team=own)
    accounts = {"prod": make_account(team=account)}
    of_team = document([idle_policy(match={"teams": ["nlp"]}), lifetime_policy()], box, accounts=accounts)["policies"]
    assert [(p["policy"], p["matched"]) for p in of_team] == [("idle-dev", matched), ("old", True)]
    assert ("teams" in of_team[0]["why_not"]) is not matched


def test_why_a_rule_does_not_fire() -> None:
    (policy,) = document([idle_policy()], usage={BOX.ref: busy(BOX)})["policies"]
    (ladder,) = policy["ladders"]
    assert (ladder["outcome"], ladder["reason"]) == ("clear", "gpu_util_busy")
    told = "the rule fires (now: GPU use reached 80.0% in the last 45m (idle is below 5.0%))"
    assert ladder["changes"][0] == told
    assert document([idle_policy()], usage={BOX.ref: busy(BOX)})["activity"]["verdict"] == "active"


def test_each_signal_is_shown_with_its_freshness_side_by_side() -> None:
    """A16."""
    signals = document([idle_policy()])["signals"]
    assert {s["metric"] for s in signals} == {"gpu_util", "cpu_cores", "network"}
    assert all(s["coverage"] == 1.0 and s["age"].total_seconds() == 0 for s in signals)


def test_the_ladder_it_is_on_and_who_owns_it() -> None:
    settings = replace(SETTINGS, owners=(Owner("zhangwei", names=("zw-*",)),))
    cycles = Cycles([idle_policy()], settings)
    snapshot = snapshot_of(BOX)
    cycles.cycle(snapshot)
    cycles.deliver(NOW)
    story: Any = explain(BOX.ref, evaluate(cycles.policies, snapshot), cycles.open, snapshot, settings)
    assert story["policies"][0]["ladders"][0]["action"]["id"] == cycles.row.id
    assert story["policies"][0]["ladders"][0]["verdict"]["code"] == "not_due"
    assert (story["resource"]["owner"], story["resource"]["owner_found_by"]) == ("zhangwei", "name zw-*")


def test_the_first_line_says_what_happens_next_and_in_which_mode() -> None:
    told = document([idle_policy()])
    assert told["outlook"] == {
        "prospect": "later", "policy": "idle-dev", "response": "stop", "at": None, "code": "not_warned",
        "reason": "the warning has not been delivered yet",
    }  # fmt: skip
    assert told["policies"][0]["effective_mode"] == "enforce"
    dry = document([idle_policy()], settings=replace(SETTINGS, enforce=False))
    assert (dry["outlook"]["prospect"], dry["outlook"]["code"]) == ("dry_run", "dry_run")
    assert (dry["policies"][0]["mode"], dry["policies"][0]["effective_mode"]) == ("enforce", "dry_run")
    prepaid = replace(BOX, stop_effect=StopEffect(Ends.NO))
    never = document([idle_policy()], prepaid, settings=replace(SETTINGS, enforce=False))
    assert (never["outlook"]["prospect"], never["outlook"]["code"]) == ("refused", "saves_nothing")
    working = document([idle_policy()], usage={BOX.ref: busy(BOX)})["outlook"]
    assert (working["prospect"], working["reason"]) == ("nothing", "gpu_util_busy")
    assert document([])["outlook"]["reason"] == "no policy matches it"


def test_a_ladder_that_only_tells_has_no_verdict() -> None:
    (policy,) = document([idle_policy(respond=[{"do": "notify"}])])["policies"]
    assert policy["ladders"][0]["response"] == "notify"
    assert policy["ladders"][0]["verdict"] is None


def test_the_document_is_json_after_encoding() -> None:
    keep = {"keeps": {BOX.ref: Keep(BOX.ref, NOW + HOUR, "li", "demo", NOW)}}
    story = document([lifetime_policy(), idle_policy(mode="dry_run")], **keep)
    assert json.loads(json.dumps(encode(story)))["protection"]["why"] == "kept by li: demo"


def test_an_unknown_ref_is_a_key_error() -> None:
    snapshot = snapshot_of(BOX)
    with pytest.raises(KeyError):
        explain(make_ref("i-404"), evaluate([], snapshot), (), snapshot, SETTINGS)


def test_a_metrics_source_that_refuses_a_box_says_so_there() -> None:
    """Beside the account's own sources; another box of it reads nothing of that."""
    dcgm = make_source("prometheus", account="dcgm", region="-", fetched_at=NOW - MINUTE)
    facts = {"sources": (*snapshot_of(BOX).sources, dcgm), "refused_by": {BOX.ref: {"dcgm": "two machines tell of it"}}}
    shown = document([idle_policy()], **facts)["sources"]
    assert [s["source"] for s in shown] == ["inventory", "usage", "prometheus:dcgm"]
    assert shown[-1] == {
        "source": "prometheus:dcgm", "state": "ok", "fresh": True, "age": MINUTE, "error": "two machines tell of it",
    }  # fmt: skip
    facts["refused_by"] = {make_ref("i-9"): {"dcgm": "two machines tell of it"}}
    assert document([idle_policy()], **facts)["sources"][-1]["error"] is None


def test_a_ladder_that_a_person_ended_promises_nothing() -> None:
    """Cancelled, or failed for the last time: no new ladder starts while the finding holds, and explain says so."""
    cycles = Cycles([idle_policy()], SETTINGS)
    snapshot = snapshot_of(BOX)
    cycles.cycle(snapshot)
    cancel = Event(EventKind.CANCEL, "cancelled by li", who="li")
    row = advance(cycles.row, cancel, NOW, SETTINGS).action
    told: Any = explain(BOX.ref, evaluate(cycles.policies, snapshot), (), snapshot, SETTINGS, closed=(row,))
    assert (told["outlook"]["prospect"], told["outlook"]["code"]) == ("refused", "approval")
    assert told["outlook"]["reason"] == "cancelled: cancelled by li; a person decides, or the finding clears"
    cleared = replace(row, clear_count=2)
    again: Any = explain(BOX.ref, evaluate(cycles.policies, snapshot), (), snapshot, SETTINGS, closed=(cleared,))
    assert again["outlook"]["code"] == "not_warned"
