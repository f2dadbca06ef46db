"""Charges: the bill, a row per resource, service and local day of the billing time zone.

A row's list cost is exactly its metered intervals at their prices. It appears some hours after its day, provisional; in
its first two days one row of eight is still short by two percent (late metering), then it is exact; from noon of the
third of the next month it is final.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from zoneinfo import ZoneInfo

from costguard.domain.budget import ProviderBudget
from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Kind
from costguard_simulated.client import Client
from costguard_simulated.errors import PROVIDER
from costguard_simulated.fleet import Machine
from costguard_simulated.metering import Meter, sum_up
from costguard_simulated.scenario import Personality
from costguard_simulated.workload import seed_of

_SHORT = Decimal("0.98")
_SETTLED = timedelta(hours=48)
_FINAL_DAY, _FINAL_TIME = 3, clock_time(12)
_COMPUTE: dict[Personality, dict[Kind, str]] = {
    "alibaba": {
        Kind.VM: "Elastic Compute Service", Kind.NOTEBOOK: "PAI-DSW", Kind.JOB: "PAI-DLC", Kind.ENDPOINT: "PAI-EAS",
    },
    "tencent": {
        Kind.VM: "Cloud Virtual Machine", Kind.NOTEBOOK: "TI-ONE", Kind.JOB: "TI-ONE", Kind.ENDPOINT: "TI-ONE",
    },
    "aws": {
        Kind.VM: "Amazon Elastic Compute Cloud", Kind.NOTEBOOK: "Amazon SageMaker", Kind.JOB: "Amazon SageMaker",
        Kind.ENDPOINT: "Amazon SageMaker",
    },
    "rack": {Kind.VM: "Own machines"},
}  # fmt: skip
_STORAGE: dict[Personality, dict[Kind, str]] = {
    "alibaba": {Kind.DISK: "Block Storage", Kind.SNAPSHOT: "Block Storage", Kind.ADDRESS: "Elastic IP Address"},
    "tencent": {Kind.DISK: "Cloud Block Storage", Kind.SNAPSHOT: "Cloud Block Storage", Kind.ADDRESS: "Elastic IP"},
    "aws": {
        Kind.DISK: "Amazon Elastic Block Store", Kind.SNAPSHOT: "Amazon Elastic Block Store",
        Kind.ADDRESS: "Amazon Virtual Private Cloud",
    },
    "rack": {},
}  # fmt: skip
_PRICING = {ChargeType.SPOT: "Dynamic", ChargeType.PREPAID: "Committed"}


class Bill:
    """The bill of one cloud as its account sees it now."""

    def __init__(self, client: Client, meter: Meter) -> None:
        self._client, self._meter = client, meter
        self._cloud = client.cloud
        self._zone = client.spec.billing_timezone or ZoneInfo(self._cloud.billing_timezone)

    def charges(self, start: datetime, end: datetime) -> Iterator[Charge]:
        """Rows whose billing period (month) overlaps [start, end). Raises ProviderError, ValueError for no range."""
        if start >= end:
            raise ValueError("the bill's range ends before it begins")
        if not self._client.read("charges"):
            return
        now = self._client.now()
        first, last = _months(start, end, self._zone)
        day = first
        while day < last and (until := self._midnight(day + timedelta(days=1))) + self._cloud.billing.delay <= now:
            since = self._midnight(day)
            yield from self._machines(day, since, until, now)
            yield from self._holdings(day, since, until, now)
            yield from self._lines(day, since, until, now)
            day += timedelta(days=1)

    def budgets(self) -> list[ProviderBudget]:
        """The scenario's monthly budgets: what the bill tells so far, and the same pace to the month's end."""
        if not self._client.read("budgets") or not self._cloud.budgets:
            return []
        now, currency = self._client.now(), self._cloud.currency
        first, following = _months(now, now + timedelta(microseconds=1), self._zone)
        since, until = self._midnight(first), self._midnight(following)
        rows = [row for row in self.charges(since, until) if row.charge_period_start >= since]
        spent = sum((row.billed_cost for row in rows), Money.zero(currency))
        billed_to = max((row.charge_period_end for row in rows), default=None)
        pace = (
            Decimal((until - since) // timedelta(seconds=1)) / Decimal((billed_to - since) // timedelta(seconds=1))
            if billed_to
            else None
        )
        return [
            ProviderBudget(
                account=self._client.spec.name,
                name=budget.name,
                period="month",
                limit=Money.of(budget.limit, currency),
                actual=spent,
                forecast=None if pace is None else spent.times(pace),
            )
            for budget in self._cloud.budgets
        ]

    def _machines(self, day: date, since: datetime, until: datetime, now: datetime) -> Iterator[Charge]:
        world, currency = self._client.world, self._cloud.currency
        for machine in world.machines(self._client.cloud_name):
            service = _COMPUTE[self._cloud.personality][machine.kind]
            if machine.spec.charge is ChargeType.PREPAID:
                yield from self._prepaid(machine, service, day, since, until, now)
                continue
            intervals = self._meter.compute(machine, since, until)
            if cost := sum_up(intervals, currency):
                hours = sum((i.end - i.start for i in intervals), timedelta()) / timedelta(hours=1)
                yield self._machine_row(machine, service, day, since, until, now, cost, hours)

    def _machine_row(
        self, machine: Machine, service: str, day: date, since: datetime, until: datetime, now: datetime, cost: Money,
        hours: float,
    ) -> Charge:  # fmt: skip
        tags = self._client.world.tags(machine.cloud, machine.id, machine.name, machine.spec.tags, until)
        return self._row(
            f"{machine.id}:compute", day, since, until, now, cost, service,
            description=f"{machine.spec.sku} compute", region=machine.region, resource=machine.id, name=machine.name,
            sku=machine.spec.sku, pricing=_PRICING.get(machine.spec.charge, "Standard"), tags=dict(tags or {}),
            quantity=Decimal(str(round(hours, 6))), unit="Hours",
        )  # fmt: skip

    def _prepaid(
        self, machine: Machine, service: str, day: date, since: datetime, until: datetime, now: datetime
    ) -> Iterator[Charge]:
        """The purchase on the day of the term's begin; each day a usage row that costs nothing more and whose
        effective cost is its share of the term, so that the shares of a term add up to its price exactly."""
        month = self._meter.month_price(machine)
        effective = Money.zero(month.currency)
        for begin, end in self._meter.terms(machine, until):
            if since <= begin < until:
                yield self._row(
                    f"{machine.id}:purchase", day, since, until, now, month, service,
                    description=f"{machine.spec.sku} one month", region=machine.region, resource=machine.id,
                    name=machine.name, sku=machine.spec.sku, pricing="Standard", category=ChargeCategory.PURCHASE,
                    effective=Money.zero(month.currency), short=False,
                )  # fmt: skip
            discounted = self._discounted(month)
            effective += _share(discounted, begin, end, until) - _share(discounted, begin, end, since)
        if effective:
            zero = Money.zero(month.currency)
            yield self._row(
                f"{machine.id}:prepaid", day, since, until, now, zero, service,
                description=f"{machine.spec.sku} prepaid use", region=machine.region, resource=machine.id,
                name=machine.name, sku=machine.spec.sku, pricing="Committed", effective=effective, short=False,
            )  # fmt: skip

    def _holdings(self, day: date, since: datetime, until: datetime, now: datetime) -> Iterator[Charge]:
        for holding in self._client.world.holdings(self._client.cloud_name):
            if cost := sum_up(self._meter.storage(holding, since, until), self._cloud.currency):
                yield self._row(
                    f"{holding.id}:storage", day, since, until, now, cost,
                    _STORAGE[self._cloud.personality][holding.kind],
                    description=f"{holding.kind.value}", region=holding.region, resource=holding.id,
                    name=holding.name, pricing="Standard", tags=dict(holding.tags or {}),
                )  # fmt: skip

    def _lines(self, day: date, since: datetime, until: datetime, now: datetime) -> Iterator[Charge]:
        for number, line in enumerate(self._client.world.bill_lines(self._client.cloud_name)):
            if since <= self._client.world.start + line.day < until:
                cost = Money.of(line.cost, self._cloud.currency)
                yield self._row(
                    f"line:{number}", day, since, until, now, cost, line.service, description=line.service,
                    category=line.category, exact=True, short=False,
                )  # fmt: skip

    def _row(
        self, key: str, day: date, since: datetime, until: datetime, now: datetime, list_cost: Money, service: str, *,
        description: str, region: str | None = None, resource: str | None = None, name: str | None = None,
        sku: str | None = None, pricing: str | None = None, category: ChargeCategory = ChargeCategory.USAGE,
        effective: Money | None = None, tags: dict[str, str] | None = None, quantity: Decimal | None = None,
        unit: str | None = None, exact: bool = False, short: bool = True,
    ) -> Charge:  # fmt: skip
        month, following = day.replace(day=1), (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        closed = datetime.combine(following.replace(day=_FINAL_DAY), _FINAL_TIME, tzinfo=self._zone)
        row_key = f"{key}:{day.isoformat()}"
        if short and now < until + _SETTLED and now < closed and seed_of(row_key) % 8 == 0:
            list_cost = list_cost.times(_SHORT)
        billed = list_cost if exact else self._discounted(list_cost)
        voucher = billed.times(self._cloud.billing.voucher) if billed.nanos > 0 else Money.zero(billed.currency)
        payments = {"cash": billed - voucher, "voucher": voucher} if voucher else {"cash": billed}
        return Charge(
            account=self._client.spec.name, row_key=row_key, billing_period_start=self._midnight(month),
            billing_period_end=self._midnight(following), charge_period_start=since, charge_period_end=until,
            charge_category=category, billed_cost=billed, effective_cost=billed if effective is None else effective,
            list_cost=list_cost, stage=Stage.FINAL if now >= closed else Stage.PROVISIONAL, provider=PROVIDER,
            service_name=service, charge_description=description, region_id=region, resource_id=resource,
            resource_name=name, sku_id=sku, pricing_category=pricing, consumed_quantity=quantity, consumed_unit=unit,
            tags=tags or {}, payments=payments,
        )  # fmt: skip

    def _discounted(self, cost: Money) -> Money:
        return cost.times(1 - self._cloud.billing.discount)

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, clock_time(), tzinfo=self._zone).astimezone(self._client.world.start.tzinfo)


def spent(client: Client, meter: Meter, now: datetime) -> Money:
    """What the account has spent since the scenario's start, after discounts, to the second."""
    world, cloud = client.world, client.cloud
    cost = Money.zero(cloud.currency)
    for machine in world.machines(client.cloud_name):
        cost += sum_up(meter.compute(machine, world.start, now), cloud.currency)
        if machine.spec.charge is ChargeType.PREPAID:
            for begin, _ in meter.terms(machine, now):
                if begin > world.start:
                    cost += meter.month_price(machine)
    for holding in world.holdings(client.cloud_name):
        cost += sum_up(meter.storage(holding, world.start, now), cloud.currency)
    return cost.times(1 - cloud.billing.discount)


def _share(price: Money, begin: datetime, end: datetime, at: datetime) -> Money:
    """How much of a term's price is used up at ``at``."""
    at = min(max(at, begin), end)
    passed, whole = (at - begin) // timedelta(seconds=1), (end - begin) // timedelta(seconds=1)
    return Money(price.nanos * passed // whole, price.currency)


def _months(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[date, date]:
    """The first day of the month of ``start`` and the day after the last month that [start, end) touches."""
    first = start.astimezone(zone).date().replace(day=1)
    last = (end - timedelta(microseconds=1)).astimezone(zone).date().replace(day=1)
    return first, (last + timedelta(days=32)).replace(day=1)
