"""Budgets that are kept at AWS."""

from datetime import UTC, datetime
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.errors import BadResponse, PermissionDenied
from costguard.testing.cloud import Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import ACCOUNT, AwsServer
from tests.unit.aws.helpers import connect

MADE = datetime(2026, 1, 1, tzinfo=UTC)


def budget(name: str, **fields: Any) -> dict[str, Any]:
    known = {
        "BudgetName": name,
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
        "BudgetLimit": {"Amount": "10000.0", "Unit": "USD"},
        "CalculatedSpend": {
            "ActualSpend": {"Amount": "8200.123456789", "Unit": "USD"},
            "ForecastedSpend": {"Amount": "12300", "Unit": "USD"},
        },
        "TimePeriod": {"Start": MADE, "End": datetime(2087, 6, 15, tzinfo=UTC)},
    }
    return {key: value for key, value in {**known, **fields}.items() if value is not None}


def test_a_budget_with_its_spending_and_forecast(aws: AwsConnection, server: AwsServer) -> None:
    server.budgets.made = [budget("ml-team")]
    (found,) = aws.budgets()
    assert (found.account, found.name, found.period) == ("prod", "ml-team", "month")
    assert (found.limit, found.actual, found.forecast) == (
        Money.of("10000", "USD"), Money.of("8200.123456789", "USD"), Money.of("12300", "USD"),
    )  # fmt: skip
    assert (found.since, found.until) == (MADE, None)


def test_all_pages_in_order_of_name_and_only_money(aws: AwsConnection, server: AwsServer) -> None:
    hours = budget("hours", BudgetType="USAGE", BudgetLimit={"Amount": "100", "Unit": "Hrs"})
    server.budgets.made = [hours, *(budget(name) for name in ("d", "b", "a", "c"))]
    assert [b.name for b in aws.budgets()] == ["a", "b", "c", "d"]
    assert server.operations() == ["GetCallerIdentity", *["DescribeBudgets"] * 3]


def test_what_aws_does_not_tell_is_not_zero(aws: AwsConnection, server: AwsServer) -> None:
    """G05: a young budget has no forecast, a planned one may lack a limit."""
    spend = {"ActualSpend": {"Amount": "0", "Unit": "USD"}}
    end = datetime(2026, 12, 31, tzinfo=UTC)
    server.budgets.made = [
        budget("young", BudgetLimit=None, CalculatedSpend=spend, TimeUnit="CUSTOM",
               TimePeriod={"Start": MADE, "End": end}),
        budget("bare", CalculatedSpend=None, TimePeriod=None),
    ]  # fmt: skip
    bare, young = aws.budgets()
    assert (young.limit, young.actual, young.forecast) == (None, Money.zero("USD"), None)
    assert (young.period, young.until) == ("custom", end)
    assert (bare.actual, bare.forecast, bare.since, bare.until) == (None, None, None, None)


def test_an_account_without_budgets(aws: AwsConnection) -> None:
    assert list(aws.budgets()) == []


def test_the_configured_account_is_asked_for_without_another_call(server: AwsServer) -> None:
    server.budgets.made = [budget("x")]
    assert len(connect(server, account_id=ACCOUNT).budgets()) == 1
    assert server.operations() == ["DescribeBudgets"]


def test_a_missing_permission_is_named_as_iam_names_it(aws: AwsConnection, server: AwsServer) -> None:
    server.fail(Fault.FORBIDDEN, on=lambda request: b"AccountId" in request.body)
    with pytest.raises(PermissionDenied) as caught:
        aws.budgets()
    assert caught.value.missing == "budgets:ViewBudget"


def test_an_amount_that_is_none_is_a_bad_response(aws: AwsConnection, server: AwsServer) -> None:
    server.budgets.made = [budget("x", BudgetLimit={"Amount": "-", "Unit": "USD"})]
    with pytest.raises(BadResponse):
        aws.budgets()
