"""`costguard policies test`: expected and got for each subject, and mistakes at their place."""

from pathlib import Path

import pytest

from costguard.config.testing import failures, run

POLICY = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: dev}}
    when: {for: 45m}
    respond: [{do: warn}, {after: 30m, do: stop}]
    limits: {per_hour: 1}
"""


def write(tmp_path: Path, tests: str, policy: str = POLICY) -> Path:
    (tmp_path / "tests").mkdir(exist_ok=True)
    (tmp_path / "p.yaml").write_text(policy)
    (tmp_path / "tests" / "t.yaml").write_text(tests)
    return tmp_path


def test_a_failure_names_the_line_what_was_expected_and_what_was_got(tmp_path: Path) -> None:
    tests = """\
policy: idle-dev
now: 2026-06-11T20:30
fleet:
  - {name: due, gpus: 8xA800, tags: {role: dev}, usage: idle, warned: 31m}
  - {name: busy, gpus: 8xA800, tags: {role: dev}, usage: busy}
expect:
  due: warn
  busy: clear
"""
    report = run([write(tmp_path, tests)], {})
    assert not report.ok
    assert failures(report) == [f"{tmp_path}/tests/t.yaml:7: idle-dev: due: expected warn, got stop"]
    assert [row.ok for result in report.results for row in result.rows] == [False, True]


def test_all_words_of_a_list_must_hold(tmp_path: Path) -> None:
    tests = """\
policy: idle-dev
now: 2026-06-11T12:30:00Z
fleet: [{name: fresh, gpus: 1xA10, tags: {role: dev}, usage: idle}]
expect: {fresh: [warn, "defer: not_warned"]}
"""
    assert run([write(tmp_path, tests)], {}).ok
    report = run([write(tmp_path, tests.replace("not_warned", "not_due"))], {})
    assert not report.ok


def test_the_policys_own_limits_hold_and_the_most_wasteful_goes_first(tmp_path: Path) -> None:
    tests = """\
- policy: idle-dev
  now: 2026-06-11T20:30
  fleet:
    - {name: cheap, gpus: 1xA10, tags: {role: dev}, usage: idle, warned: 31m, price: 5 CNY/h}
    - {name: dear, gpus: 8xA800, tags: {role: dev}, usage: idle, warned: 31m, price: 34.74 CNY/h}
  expect: {dear: stop, cheap: "defer: limit"}
- policy: {name: inline, rule: untagged, when: {require: [team]}, respond: [{do: notify}]}
  now: 2026-06-11T20:30
  fleet: [{name: a}]
  expect: {a: notify}
---
policy: idle-dev
now: 2026-06-11T20:30
never_stop: {names: ["prod-*"]}
fleet: [{name: prod-1, gpus: 1xA10, tags: {role: dev}, usage: idle, warned: 31m}]
expect: {prod-1: "deny: fenced"}
"""
    report = run([write(tmp_path, tests)], {})
    assert failures(report) == []
    assert [result.policy for result in report.results] == ["idle-dev", "inline", "idle-dev"]


def test_a_policy_in_dry_run_is_tested_as_if_enforced(tmp_path: Path) -> None:
    policy = POLICY.replace("rule: idle", "rule: idle\n    mode: dry_run")
    tests = """\
policy: idle-dev
now: 2026-06-11T20:30
fleet: [{name: due, gpus: 1xA10, tags: {role: dev}, usage: idle, warned: 31m}]
expect: {due: stop}
"""
    assert run([write(tmp_path, tests, policy)], {}).ok


def test_mistakes_are_told_at_their_place(tmp_path: Path) -> None:
    tests = """\
- {policy: idle-dve, now: 2026-06-11T20:30, expect: {x: warn}}
- {policy: idle-dev, now: soon, expect: {x: warn}}
- {policy: idle-dev, now: 2026-06-11T20:30, fleet: [{name: a, gpus: A800, started: 5}], expect: {x: warn}}
- {policy: idle-dev, now: 2026-06-11T20:30, fleet: [{name: train}], expect: {trian: warn}}
- idle-dev
- {policy: {rule: idel, respnd: []}, now: 2026-06-11T20:30, expect: {x: warn}}
- {policy: {name: x, rule: idle, respond: []}, now: 2026-06-11T20:30, expect: {x: warn}}
- {now: 2026-06-11T20:30, expect: {x: warn}}
"""
    report = run([write(tmp_path, tests)], {})
    assert not report.ok
    told = [line.removeprefix(f"{tmp_path}/tests/") for line in failures(report)]
    assert told == [
        "t.yaml:1:12: [0].policy: unknown policy 'idle-dve' (did you mean idle-dev?)",
        "t.yaml:2:3: [1]: not a time: 'soon'; write it like 2026-06-11T20:30",
        "t.yaml:3:69: [2].fleet[0].gpus: not GPUs: 'A800'; write them like 8xA800",
        "t.yaml:3:84: [2].fleet[0].started: a duration needs a unit: write 5m, 5h or 5d",
        "t.yaml:4:78: [3].expect.trian: unknown subject 'trian' (did you mean train?)",
        "t.yaml:5:3: [4]: a test is a mapping with policy, now, fleet and expect",
        "t.yaml:6:19: [5].policy.rule: unknown rule 'idel' (did you mean idle?)",
        "t.yaml:6:4: [5].policy.name: this key is required",
        "t.yaml:6:4: [5].policy.respond: this key is required",
        "t.yaml:6:25: [5].policy.respnd: unknown key (did you mean respond?)",
        "t.yaml:7:43: [6].policy.respond: at least 1 is needed here",
        "t.yaml:8:3: [7].policy: this key is required",
    ]


@pytest.mark.parametrize("expect", ["{}", "{due: []}"])
def test_a_test_that_could_not_fail_is_a_mistake(tmp_path: Path, expect: str) -> None:
    tests = f"""\
policy: idle-dev
now: 2026-06-11T20:30
fleet: [{{name: due, gpus: 1xA10, tags: {{role: dev}}, usage: idle}}]
expect: {expect}
"""
    (told,) = failures(run([write(tmp_path, tests)], {}))
    assert "at least 1 is needed here" in told


def test_a_bad_policy_file_is_told_too(tmp_path: Path) -> None:
    report = run(
        [write(tmp_path, "{policy: idle-dev, now: 2026-06-11T20:30, expect: {x: warn}}", POLICY.replace("45m", "45"))],
        {},
    )
    assert any("a duration needs a unit" in line for line in failures(report))
