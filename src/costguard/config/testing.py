"""``policies test``: what policies say of fleets that people describe, by the same functions that act.

A test is a document ``{policy, now, fleet, expect}``; docs/policies-tests.md is its grammar. Everything is enforced and
armed, so that a policy is tested and not today's configuration.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from costguard.config import calendar, fleet, hints, ladders, problems, yaml
from costguard.config import policies as policy_files
from costguard.config.fleet import Facts
from costguard.config.settings import Fence
from costguard.config.texts import Currency
from costguard.config.yaml import Document, Loc
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Answer, Decision
from costguard.domain.finding import Outcome
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import Calendars, country_of
from costguard.engine.evaluate import Evaluation, evaluate, prepare, windows_needed
from costguard.engine.ownership import with_owners
from costguard.engine.plan import Plan, PlanFacts, plan
from costguard.engine.settings import EngineSettings
from costguard.errors import ConfigError
from costguard.rules.fields import Zone
from costguard.rules.policy import Policy
from costguard.rules.schedule import OF_THE_ZONE

UNMATCHED = "unmatched"


class PolicyTest(Facts):
    """One document of a tests file."""

    name: str = ""
    """What it shows, in a few words."""

    policy: Any
    """The name of a policy, or a policy written here."""

    now: str
    """2026-06-11T20:30+08:00; without an offset in ``timezone``."""

    timezone: Zone = ZoneInfo("Asia/Shanghai")
    """The default zone of the policy, and of ``now``."""

    holidays: str | None = OF_THE_ZONE
    """Whose calendar holds; null is the plain weekday rule. Left out: CN in China's time zone, else none."""

    currency: Currency = "CNY"
    never_stop: Fence = Field(default_factory=Fence)
    expect: dict[str, str | Annotated[tuple[str, ...], Field(min_length=1)]] = Field(min_length=1)
    """Subject → what must be said of it. A test that expects nothing could not fail."""

    @model_validator(mode="after")
    def _time(self) -> "PolicyTest":
        fleet.at(self.now, self.timezone)
        return self

    def at(self) -> datetime:
        """``now`` in UTC."""
        return fleet.at(self.now, self.timezone)


@dataclass(frozen=True, slots=True)
class Row:
    """One subject of one test: what was expected and what was got (every word that holds)."""

    subject: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    line: int

    @property
    def ok(self) -> bool:
        return all(any(_fits(word, said) for said in self.got) for word in self.expected)


@dataclass(frozen=True, slots=True)
class Result:
    """One test."""

    file: str
    line: int
    name: str
    policy: str
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)


@dataclass(frozen=True, slots=True)
class Report:
    """All tests of a run, and the mistakes in files that kept others from running."""

    results: tuple[Result, ...]
    errors: tuple[ConfigError, ...]

    @property
    def ok(self) -> bool:
        return not self.errors and all(result.ok for result in self.results)


def run(entries: Iterable[Path], env: Mapping[str, str]) -> Report:
    """Runs ``tests/*.yaml`` beside the policy files that ``entries`` name (folders or files).

    A name in ``policy`` is looked for in the policy files of all entries.
    """
    errors: list[ConfigError] = []
    found = policy_files.Findings(errors, [])
    policies: dict[str, Policy] = {}
    tests: dict[Path, None] = {}
    for entry in entries:
        paths = policy_files.files(str(entry), Path()) or []
        for path in paths:
            _, placed = policy_files.read_file(path, env, found)
            for one in placed:
                ladders.check(one.policy, one.document, one.loc, errors, [])
                if policies.setdefault(one.policy.name, one.policy) is not one.policy:
                    where = (*one.loc, "name")
                    errors.append(one.document.error(where, f"duplicate policy name {one.policy.name!r}"))
        folder = (entry if entry.is_dir() else entry.parent) / "tests"
        tests |= dict.fromkeys(sorted(folder.glob("*.yaml")) if folder.is_dir() else ())
    calendars = calendar.calendars(None, "", errors)
    results = [result for path in tests for result in run_file(path, policies, env, calendars, errors)]
    return Report(tuple(results), tuple(errors))


def run_file(
    path: Path,
    policies: Mapping[str, Policy],
    env: Mapping[str, str],
    calendars: Calendars,
    errors: list[ConfigError],
) -> list[Result]:
    """The tests of one file. Mistakes in it are appended to ``errors``."""
    results: list[Result] = []
    for document in yaml.read_all(path, env, errors):
        if document.data is None:
            continue
        many = isinstance(document.data, list)
        for loc in [(index,) for index in range(len(document.data))] if many else [()]:
            result = _one(document, loc, policies, calendars, errors)
            results += [result] if result is not None else []
    return results


def _one(
    document: Document, loc: Loc, policies: Mapping[str, Policy], calendars: Calendars, errors: list[ConfigError]
) -> Result | None:
    if not isinstance(document.at(loc), dict):
        errors.append(document.error(loc, "a test is a mapping with policy, now, fleet and expect"))
        return None
    test = problems.validate(PolicyTest, document, loc, errors)
    policy = _policy(document, (*loc, "policy"), policies, errors)
    if test is None or policy is None:
        return None
    said = words(policy, test, calendars)
    rows: list[Row] = []
    for subject, expected in test.expect.items():
        where = (*loc, "expect", subject)
        if subject not in said:
            hint = hints.near(subject, said) or f"subjects: {', '.join(said)}"
            errors.append(document.error(where, f"unknown subject {subject!r}", hint=hint, key=True))
            continue
        listed = (expected,) if isinstance(expected, str) else expected
        rows.append(Row(subject, listed, said[subject], document.place(where, key=True)[0]))
    line, _ = document.place(loc)
    return Result(document.file, line, test.name, policy.name, tuple(rows))


def _policy(document: Document, loc: Loc, policies: Mapping[str, Policy], errors: list[ConfigError]) -> Policy | None:
    try:
        written = document.at(loc)
    except KeyError:
        return None  # told already: the key is required
    if isinstance(written, dict):
        return policy_files.parse(document, loc, written, errors)
    if written not in policies:
        errors.append(document.error(loc, f"unknown policy {written!r}", hint=hints.near(str(written), policies)))
        return None
    return policies[written]


def words(policy: Policy, test: PolicyTest, calendars: Calendars) -> dict[str, tuple[str, ...]]:
    """Subject → every word that holds of it: ``unmatched``, the rule's answer, messages, the next action's answer."""
    policy = policy.model_copy(update={"mode": "enforce"})
    country = country_of(test.timezone) if test.holidays == OF_THE_ZONE else test.holidays
    calendars = replace(calendars, home=str(test.timezone), country=country)
    settings = EngineSettings(
        fence_names=test.never_stop.names,
        fence_tags=test.never_stop.tags,
        per_hour=None,
        share=None,
        timezone=str(test.timezone),
    )
    snapshot = fleet.snapshot(test, test.at(), test.timezone, windows_needed([policy]), calendars, test.currency)
    snapshot = with_owners(snapshot, (), {})
    evaluation = evaluate([prepare(policy)], snapshot)
    planned = _planned(policy, test, evaluation, snapshot, settings)
    said = {box.key: _said(evaluation, policy, box.key) for box in test.fleet}
    for judgement in evaluation.judgements[policy.name]:
        said.setdefault(judgement.subject.id, _said(evaluation, policy, judgement.subject.id))
    for decision in planned.decisions:
        name = decision.subject.id
        said[name] = (*(word for word in said[name] if word != "fires"), *_told(decision, planned))
    return said


def _planned(
    policy: Policy, test: PolicyTest, evaluation: Evaluation, snapshot: Snapshot, settings: EngineSettings
) -> Plan:
    """The plan; of boxes that say ``warned``, as it is with that warning delivered."""
    numbers = itertools.count(1)

    def new_id() -> str:
        return f"test-{next(numbers)}"

    first = plan(evaluation, (), snapshot, PlanFacts(), settings, new_id)
    boxes = {box.key: box for box in test.fleet}
    open_actions: list[Action] = []
    for action in first.inserts:
        box = boxes.get(action.subject.id)
        if box is None or box.warned is None:
            continue
        at = snapshot.now - box.warned
        ready = evaluation.policies[policy.name]
        ladder = ready.ladder(action.subject.type, action.threshold)
        rung = (ladder.first_warning if ladder.first_warning is not None else -1) + 1
        warned = replace(action, state=ActionState.WARNED, rung=rung, warned_at=at, held_since=at, warning_id="warned")
        open_actions.append(replace(warned, approved_by="somebody" if box.approved else None))
    if not open_actions:
        return first
    return plan(evaluation, open_actions, snapshot, PlanFacts(), settings, new_id)


def _said(evaluation: Evaluation, policy: Policy, subject: str) -> tuple[str, ...]:
    answers = [j for j in evaluation.judgements[policy.name] if j.subject.id == subject]
    if not answers:
        return (UNMATCHED,)
    return tuple(
        "fires" if answer.outcome is Outcome.FIRES else f"{answer.outcome.value}: {answer.reason}" for answer in answers
    )


def _told(decision: Decision, planned: Plan) -> tuple[str, ...]:
    """``warn`` and other messages of this cycle, and the answer to the next rung that acts."""
    messages = [n.kind.value for n in planned.notices if n.finding.fingerprint == decision.finding.fingerprint]
    verdict = decision.verdict
    if not decision.response.acts:
        return tuple(messages) or ("told",)
    refused = f"{verdict.answer.value}: {verdict.code.value}"
    answer = decision.response.value if verdict.answer is Answer.ALLOW else refused
    return (*messages, answer)


def _fits(word: str, said: str) -> bool:
    """``clear`` fits ``clear: gpu_util_busy``; what is written in full must be so in full."""
    return said == word or said.startswith(f"{word}:")


def failures(report: Report) -> Sequence[str]:
    """One line for each mistake and each subject of which something else was said: ``file:line: …``."""
    lines = [str(error) for error in report.errors]
    for result in report.results:
        lines += [
            f"{result.file}:{row.line}: {result.policy}: {row.subject}: expected {' and '.join(row.expected)}, "
            f"got {', '.join(row.got)}"
            for row in result.rows
            if not row.ok
        ]
    return lines
