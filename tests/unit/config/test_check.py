"""`costguard check` ends with what each policy would do."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from costguard.config.check import Report, check
from costguard.config.load import load
from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State

POLICIES = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: dev}}
    when: {for: 2h}
    respond: [{do: warn}, {after: 30m, do: stop, hook: {on: daemon, run: ./save, timeout: 5m}}]
  - name: idle-quiet
    rule: idle
    mode: dry_run
    when: {for: 4h}
    respond: [{do: notify}]
  - name: ttl
    rule: lifetime
    match: all
    when: {tag: "costguard:ttl"}
    respond: [{do: warn}, {after: 1h, do: stop, approve: true}]
"""
BUDGET = """\
policies:
  - name: month
    rule: budget
    match: all
    when: {amount: "9 CNY", at: [50%, 100%]}
    respond: [{do: notify}, {at: 50%, do: warn}, {at: 100%, after: 30m, do: stop}]
"""
SETTINGS = """\
version: 1
accounts: [{name: a, provider: simulated, account_id: "1"}]
channels: [{name: ops, kind: slack, url: "http://127.0.0.1:9/h"}]
notify: {default: ops}
never_stop: {names: ["prod-*"]}
"""


def box(name: str, **tags: str) -> Resource:
    ref = ResourceRef("simulated", "a", "r", Kind.VM, name)
    return Resource(ref, name, State.RUNNING, "running", datetime(2026, 1, 1, tzinfo=UTC), tags=tags)


def report(tmp_path: Path, extra: str = "", resources: list[Resource] | None = None) -> Report:
    (tmp_path / "policies").mkdir(exist_ok=True)
    (tmp_path / "policies" / "a.yaml").write_text(POLICIES)
    (tmp_path / "costguard.yaml").write_text(SETTINGS + extra)
    return check(load(tmp_path / "costguard.yaml", {}), resources)


def test_a_spot_machine_that_a_long_hook_reaches_is_counted(tmp_path: Path) -> None:
    """C31: no match need name spot for its hook to be longer than the notice that a spot machine gets."""
    spot = replace(box("s", role="dev"), charge_type=ChargeType.SPOT)
    assert report(tmp_path, resources=[spot, box("d", role="dev")]).policies[0].hasty == 1
    assert report(tmp_path, resources=[box("d", role="dev")]).policies[0].hasty == 0


def test_without_an_inventory_matches_are_left_out(tmp_path: Path) -> None:
    told = report(tmp_path)
    assert (told.accounts, told.channels) == (1, 1)
    assert [(p.policy, p.mode, p.steps, p.matches) for p in told.policies] == [
        ("idle-dev", "dry_run", ("warn at 2h", "stop at 2h30m after a hook"), None),
        ("idle-quiet", "dry_run", ("notify at 4h",), None),
        ("ttl", "dry_run", ("warn at once", "stop at 1h once approved"), None),
    ]


def test_with_one_they_are_counted_and_so_is_the_fence(tmp_path: Path) -> None:
    boxes = [box("a", role="dev"), box("prod-1", role="dev"), box("PROD-2", role="dev"), box("b", role="train")]
    told = report(tmp_path, "mode: enforce\nenforce_accounts: [a]\n", boxes)
    assert [(p.policy, p.mode, p.matches, p.fenced) for p in told.policies] == [
        ("idle-dev", "enforce", 3, 2),
        ("idle-quiet", "dry_run", 4, 2),
        ("ttl", "enforce", 4, 2),
    ]


def test_a_budget_is_told_by_its_steps(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "b.yaml").write_text(BUDGET)
    assert report(tmp_path).policies[-1].steps == ("notify at 50%/100%", "warn at 50%", "stop at 100% + 30m")


def test_enforce_that_nothing_is_armed_for_says_so(tmp_path: Path) -> None:
    told = report(tmp_path, "mode: enforce\n")
    assert [warning.message for warning in told.warnings] == ["nothing acts: enforce_accounts is empty"]
    assert told.policies[0].mode == "enforce (no account is armed)"


@pytest.mark.parametrize(
    ("settings", "when", "limits", "holidays"),
    [
        ("", "off: [{days: restdays}]", "", ("CN",)),
        ("timezone: Europe/Berlin\n", "off: [{days: restdays}]", "", ()),
        ("timezone: Europe/Berlin\n", "off: [{days: restdays}], holidays: CN", "", ("CN",)),
        ("", "off: [{days: restdays}], holidays: null", "", ()),
        ("", "off: [{days: mon-fri}]", "", None),
        ("", "off: [{days: workdays, timezone: Europe/Berlin}]", "", ()),
        ("timezone: Europe/Berlin\n", "off: [{days: sat}]", "only_during: [{days: workdays}]", ()),
    ],
)
def test_whose_holidays_a_policy_goes_by(
    tmp_path: Path, settings: str, when: str, limits: str, holidays: object
) -> None:
    """D13: nobody has to find out on 1 October."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "a.yaml").write_text(
        f"policies: [{{name: n, rule: schedule, match: all, when: {{{when}}}, respond: [{{do: notify}}], "
        f"limits: {{{limits}}}}}]\n"
    )
    (tmp_path / "costguard.yaml").write_text(SETTINGS + settings)
    assert check(load(tmp_path / "costguard.yaml", {})).policies[0].holidays == holidays
