"""Facts about more than one resource: a budget's step from the rule's own evidence."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from costguard.domain.finding import Finding, Outcome
from costguard.notify.bulletins import budget_facts, budget_step_facts
from costguard.notify.render import render
from costguard.rules.registry import RULES, parse_policy
from costguard.testing.builders import NOW, cny, make_snapshot, make_spend

ZONE = "Asia/Shanghai"


def test_a_step_of_the_budget_rule_is_told_in_its_numbers() -> None:
    policy = parse_policy({
        "name": "team-month", "rule": "budget", "match": "all",
        "when": {"amount": "1000 CNY", "period": "month", "at": ["80%"]}, "respond": [{"do": "notify"}],
    })  # fmt: skip
    snapshot = make_snapshot(spend=(make_spend(cny("850")),))
    fired = [j for j in RULES["budget"].judge(policy.when, [], snapshot) if j.outcome is Outcome.FIRES]
    (step,) = fired
    assert step.since is not None
    finding = Finding(
        "team-month", "h", "budget", step.subject, step.since, step.evidence, None, step.started_at, step.threshold
    )
    facts = budget_step_facts(finding=finding, now=NOW, timezone=ZONE)
    title = render(facts, fmt="plain", language="zh", now=NOW, idem_key="k").title
    assert title.startswith("本月已用 ¥850.00 / ¥1,000.00（85%）")
    assert title.endswith("team-month")


def test_each_step_and_period_is_a_fact_of_its_own() -> None:
    """J01."""

    def told(threshold: str, month: int, recovered: bool = False) -> object:
        start = datetime(2026, month, 1, tzinfo=ZoneInfo(ZONE)).astimezone(UTC)
        return budget_facts(
            name="b", now=NOW, timezone=ZONE, spent=cny("1"), amount=cny("2"), threshold=threshold, period="month",
            period_start=start, period_end=NOW, recovered=recovered,
        )["dedup"]  # fmt: skip

    assert len({told("80%", 3), told("100%", 3), told("80%", 4), told("80%", 3, recovered=True)}) == 4
    assert told("80%", 3) == told("80%", 3)
