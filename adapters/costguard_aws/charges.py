"""The Billing role: Cost Explorer, by day, service and record type.

Every page costs 0.01 USD, the data is refreshed about three times a day and is 8 to 24 h late: pull it every 6 h, not
every minute. It is not the invoice; a closed month is what Cost Explorer no longer calls estimated.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.errors import BadResponse, NotFound
from costguard_aws.client import Api

log = logging.getLogger("costguard_aws")

PAGES_PER_MONTH = 20  # 0.20 USD: more than a month of days × services × record types takes
HISTORY_MONTHS = 13
_HOME = {"aws": "us-east-1", "aws-cn": "cn-northwest-1"}

CATEGORIES = {
    "Usage": ChargeCategory.USAGE,
    "DiscountedUsage": ChargeCategory.USAGE,
    "SavingsPlanCoveredUsage": ChargeCategory.USAGE,
    "SavingsPlanNegation": ChargeCategory.ADJUSTMENT,
    "Fee": ChargeCategory.PURCHASE,
    "RIFee": ChargeCategory.PURCHASE,
    "Recurring": ChargeCategory.PURCHASE,
    "Upfront": ChargeCategory.PURCHASE,
    "Support fee": ChargeCategory.PURCHASE,
    "SavingsPlanRecurringFee": ChargeCategory.PURCHASE,
    "SavingsPlanUpfrontFee": ChargeCategory.PURCHASE,
    "Tax": ChargeCategory.TAX,
    "Credit": ChargeCategory.CREDIT,
    "Refund": ChargeCategory.ADJUSTMENT,
}


# No discount of anything: what is asked for them is their list price, as in a CUR. A commitment has none, because the
# usage that it covers has; discounts have none, because they reduce one.
_LISTED = frozenset({"Tax", "Support fee", "Refund", "Credit"})


class BillingRole:
    """Charges of one account. `pages_read` counts what Cost Explorer bills for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.pages_read = 0

    def charges(self, start: datetime, end: datetime) -> Iterator[Charge]:
        """Charges of the months that [start, end) touches, up to today; days and months are UTC."""
        if start >= end:
            raise ValueError(f"an empty period: {start.isoformat()} to {end.isoformat()}")
        today = self._api.clock.now().astimezone(UTC).date()
        first = _month(start.astimezone(UTC).date())
        last = (end - timedelta(microseconds=1)).astimezone(UTC).date()
        first = max(first, _months_before(_month(today), HISTORY_MONTHS - 1))
        stop = min(_next_month(_month(last)), today + timedelta(days=1))
        if first < stop:
            yield from self._days(first, stop)

    def _days(self, first: date, stop: date) -> Iterator[Charge]:
        home = _HOME.get(self._api.partition, "us-east-1")
        try:
            for page in self._api.pages(
                "ce",
                home,
                "GetCostAndUsage",
                "ResultsByTime",
                next_key="NextPageToken",
                cap=PAGES_PER_MONTH * (1 + (stop - first).days // 31),
                TimePeriod={"Start": first.isoformat(), "End": stop.isoformat()},
                Granularity="DAILY",
                Metrics=["UnblendedCost", "AmortizedCost"],
                GroupBy=[{"Type": "DIMENSION", "Key": "SERVICE"}, {"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
            ):
                self.pages_read += 1
                for day in page:
                    yield from self._charges_of(day, home)
        except NotFound:  # DataUnavailableException: a young account has no costs yet
            log.info("account %s: Cost Explorer has no data yet", self._api.account)
        log.info("account %s: %d Cost Explorer pages so far, 0.01 USD each", self._api.account, self.pages_read)

    def _charges_of(self, day: Mapping[str, Any], home: str) -> Iterator[Charge]:
        try:
            date_of = date.fromisoformat(day["TimePeriod"]["Start"][:10])
            for group in day.get("Groups") or ():
                service, record_type = group["Keys"]
                unblended = _money(group["Metrics"]["UnblendedCost"])
                amortized = _money(group["Metrics"]["AmortizedCost"])
                yield self._charge(date_of, service, record_type, unblended, amortized, bool(day.get("Estimated")))
        except (ValueError, KeyError, TypeError) as error:
            call = self._api.call_of("ce", home, "GetCostAndUsage")
            raise call.failed(BadResponse, "a day of an unknown shape", type(error).__name__) from error

    def _charge(
        self, day: date, service: str, record_type: str, billed: Money, effective: Money, estimated: bool
    ) -> Charge:
        category, zero = CATEGORIES.get(record_type, ChargeCategory.ADJUSTMENT), Money.zero(billed.currency)
        return Charge(
            account=self._api.account,
            row_key=f"ce:{day.isoformat()}:{service}:{record_type}",
            billing_period_start=_utc(_month(day)),
            billing_period_end=_utc(_next_month(_month(day))),
            charge_period_start=_utc(day),
            charge_period_end=_utc(day + timedelta(days=1)),
            charge_category=category,
            billed_cost=billed,
            effective_cost=effective,
            list_cost=billed if category is ChargeCategory.USAGE or record_type in _LISTED else zero,
            stage=Stage.ESTIMATED if estimated else Stage.FINAL,
            provider="aws",
            service_name=service,
            charge_description=record_type,
            charge_class="Correction" if record_type == "Refund" else None,
        )


def _money(metric: Mapping[str, str]) -> Money:
    return Money.of(metric["Amount"], metric["Unit"])


def _month(day: date) -> date:
    return day.replace(day=1)


def _next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _months_before(first: date, count: int) -> date:
    months = first.year * 12 + first.month - 1 - count
    return date(months // 12, months % 12 + 1, 1)


def _utc(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
