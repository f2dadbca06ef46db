"""The Budgets role: AWS Budgets as its owner made them, with what AWS counts and forecasts. Reading them is free."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from costguard.domain.budget import ProviderBudget
from costguard.domain.money import Money
from costguard.domain.time import utc
from costguard.errors import BadResponse, NotFound
from costguard_aws.client import Api

_HOME = {"aws": "us-east-1", "aws-cn": "cn-northwest-1"}
_PAGE = 100
PERIODS = {"DAILY": "day", "MONTHLY": "month", "QUARTERLY": "quarter", "ANNUALLY": "year", "CUSTOM": "custom"}

# A budget without an end has this one.
_FOR_EVER = datetime(2087, 6, 15, tzinfo=UTC)


class BudgetsRole:
    """Budgets of one account."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def budgets(self, account_id: str) -> Sequence[ProviderBudget]:
        """Budgets of type COST, by name; those of hours, gigabytes and coverage have no money to tell."""
        home = _HOME.get(self._api.partition, "us-east-1")
        found = []
        pages = self._api.pages(
            "budgets", home, "DescribeBudgets", "Budgets", may_lack=True, AccountId=account_id, MaxResults=_PAGE
        )
        try:
            for page in pages:
                found += [self._read(item) for item in page if item.get("BudgetType") == "COST"]
        except NotFound:  # what some accounts that never had one answer
            return ()
        except (ValueError, KeyError, TypeError) as error:
            call = self._api.call_of("budgets", home, "DescribeBudgets")
            raise call.failed(BadResponse, "a budget of an unknown shape", type(error).__name__) from error
        return sorted(found, key=lambda budget: budget.name)

    def _read(self, item: Mapping[str, Any]) -> ProviderBudget:
        spend, span = item.get("CalculatedSpend") or {}, item.get("TimePeriod") or {}
        until = utc(span["End"]) if span.get("End") else None
        unit = str(item.get("TimeUnit") or "")
        return ProviderBudget(
            account=self._api.account,
            name=item["BudgetName"],
            period=PERIODS.get(unit, unit.lower()),
            limit=_money(item.get("BudgetLimit")),
            actual=_money(spend.get("ActualSpend")),
            forecast=_money(spend.get("ForecastedSpend")),
            since=utc(span["Start"]) if span.get("Start") else None,
            until=until if until and until < _FOR_EVER else None,
        )


def _money(amount: Mapping[str, str] | None) -> Money | None:
    return Money.of(amount["Amount"], amount["Unit"]) if amount else None
