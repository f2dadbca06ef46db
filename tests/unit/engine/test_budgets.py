"""Budgets in reports: as the rule itself sees them."""

from datetime import timedelta

import pytest

from costguard.domain.budget import ProviderBudget
from costguard.domain.money import Money
from costguard.engine.budgets import budgets, provider_budgets
from costguard.engine.evaluate import prepare
from costguard.rules.registry import parse_policy
from costguard.testing.builders import NOW, cny, make_snapshot, make_spend

DAY = timedelta(days=1)


def lines(spent: str, *, amount: str = "1000", now_days: int = 0) -> dict[str, object]:
    policy = parse_policy(
        {
            "name": "team", "rule": "budget", "match": "all", "when": {"amount": f"{amount} CNY"},
            "respond": [{"do": "notify"}],
        }
    )  # fmt: skip
    other = parse_policy({"name": "tags", "rule": "untagged", "match": "all", "respond": [{"do": "notify"}]})
    rows = tuple(make_spend(cny(spent), day=NOW - n * DAY) for n in range(1, 5))
    snapshot = make_snapshot(spend=rows, timezone="UTC")
    (line,) = budgets([prepare(other), prepare(policy)], snapshot)
    return line


@pytest.mark.parametrize(
    ("spent", "state", "reached"),
    [("300", "over", ["50%", "80%", "100%"]), ("130", "at_risk", ["50%"]), ("1", "ok", [])],
)
def test_each_budget_says_where_it_stands(spent: str, state: str, reached: list[str]) -> None:
    """J01: one line for a budget and period, however many steps were reached."""
    line = lines(spent)
    assert (line["policy"], line["key"], line["state"], line["reached"]) == ("team", "2026-03", state, reached)
    assert line["amount"] == {"amount": "1000", "currency": "CNY"}
    assert line["unknown"] is None


def test_a_month_that_is_over_counts_the_bills_that_came_since() -> None:
    """An audit of last month says one sum, as its spend and as its budget's."""
    policy = parse_policy(
        {"name": "b", "rule": "budget", "match": "all", "when": {"amount": "900 CNY"}, "respond": [{"do": "notify"}]}
    )
    end = NOW.replace(hour=0, minute=0, second=0, microsecond=0) - 3 * DAY
    rows = (
        make_spend(cny("800"), day=end - DAY),
        make_spend(cny("1000"), day=end - DAY, estimated=True),
    )
    snapshot = make_snapshot(now=NOW, spend=rows, timezone="UTC")
    (line,) = budgets([prepare(policy)], snapshot.at_the_end(end))
    assert line["spent"] == {"amount": "800", "currency": "CNY"}
    (line,) = budgets([prepare(policy)], make_snapshot(now=end - DAY / 24, spend=rows, timezone="UTC"))
    assert line["spent"] == {"amount": "1000", "currency": "CNY"}, "the bill is not settled yet"


def test_missing_money_is_unknown_and_never_well() -> None:
    """I21"""
    policy = parse_policy(
        {"name": "b", "rule": "budget", "match": "all", "when": {"amount": "9 CNY"}, "respond": [{"do": "notify"}]}
    )
    (line,) = budgets([prepare(policy)], make_snapshot(timezone="UTC"))
    assert (line["state"], line["unknown"], line["forecast"]) == ("unknown", "no_spend", None)


@pytest.mark.parametrize(
    ("limit", "actual", "forecast", "state", "used"),
    [
        ("10 USD", "9.99 USD", None, "ok", 99),
        ("10 USD", "10 USD", "8 USD", "over", 100),
        ("10 USD", "1 USD", "10 USD", "at_risk", 10),
        ("10 USD", None, None, "unknown", None),
        (None, "10 USD", None, "unknown", None),
        ("10 USD", "99 CNY", "99 CNY", "ok", None),
        ("0 USD", "0 USD", None, "over", None),
    ],
)
def test_a_budget_at_the_provider(
    limit: str | None, actual: str | None, forecast: str | None, state: str, used: int | None
) -> None:
    """What the provider does not tell is unknown, and amounts of two currencies are not compared."""

    def money(text: str | None) -> Money | None:
        return Money.of(*text.split()) if text else None

    kept = ProviderBudget("prod", "ml", "month", money(limit), money(actual), money(forecast))
    (line,) = provider_budgets([(kept, NOW)])
    assert (line["state"], line["used"]) == (state, used)
