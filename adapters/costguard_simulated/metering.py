"""Metering: for which time at which price something is billed. The bill and the balance are sums over this."""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard_simulated.effects import compute_billing_ends
from costguard_simulated.fleet import Holding, Machine
from costguard_simulated.market import Market
from costguard_simulated.world import World

_POWERED = frozenset({State.RUNNING, State.STOPPING})
_EXISTING = frozenset({State.PENDING, State.RUNNING, State.STOPPING, State.STOPPED})


@dataclass(frozen=True, slots=True)
class Interval:
    """[start, end) at one price per hour."""

    start: datetime
    end: datetime
    per_hour: Money

    @property
    def cost(self) -> Money:
        return self.per_hour.per_hour_for(self.end - self.start)


def sum_up(intervals: list[Interval], currency: str) -> Money:
    """The cost: the times at one price are added before they are priced, so that nothing is rounded twice."""
    spans: dict[Money, timedelta] = {}
    for interval in intervals:
        spans[interval.per_hour] = spans.get(interval.per_hour, timedelta()) + interval.end - interval.start
    cost = Money.zero(currency)
    for price, span in spans.items():
        cost += price.per_hour_for(span)
    return cost


class Meter:
    """The meter of one cloud."""

    def __init__(self, world: World, cloud: str) -> None:
        self._world, self._cloud = world, world.cloud(cloud)
        self.market = Market(self._cloud, world.scenario.seed, world.start)

    def price(self, machine: Machine, at: datetime) -> Money | None:
        """The machine's compute price per hour: list, spot, or the month's price spread over its 730 hours."""
        if machine.spec.charge is ChargeType.SPOT:
            return self.market.price(machine.spec.sku, machine.region, machine.zone, at)
        if machine.spec.charge is ChargeType.PREPAID and machine.sku.per_month is not None:
            return Money.of(machine.sku.per_month / 730, self._cloud.currency)
        return Money.of(machine.sku.price, self._cloud.currency) if machine.sku.price else None

    def compute(self, machine: Machine, since: datetime, until: datetime) -> list[Interval]:
        """Billed compute in [since, until) at list or spot prices; nothing for prepaid machines."""
        if machine.spec.charge is ChargeType.PREPAID:
            return []
        ends = compute_billing_ends(
            self._cloud.personality, machine.kind, machine.spec.charge, local_disk=machine.sku.local_disk
        )
        billed = _POWERED if ends is Ends.YES else _EXISTING
        found: list[Interval] = []
        for start, end in self._world.timeline(machine).spans(billed, since, until):
            if machine.spec.charge is ChargeType.SPOT:
                found += self._spot(machine, start, end)
            elif (price := self.price(machine, start)) is not None:
                found.append(Interval(start, end, price))
        return found

    def storage(self, holding: Holding, since: datetime, until: datetime) -> list[Interval]:
        """Billed storage or address time in [since, until)."""
        prices, size = self._cloud.storage, holding.size_gib or 0
        match holding.kind:
            case Kind.DISK:
                rate = prices.disk_gib * size
            case Kind.SNAPSHOT:
                rate = prices.snapshot_gib * size
            case _:
                rate = prices.address
        ended = self._world.holding_ended(holding)
        start, end = max(since, holding.created_at), min(until, ended) if ended else until
        return [Interval(start, end, Money.of(rate, self._cloud.currency))] if start < end and rate else []

    def terms(self, machine: Machine, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The prepaid months that began before ``until``: from birth on; renewed only if ``auto_renew`` says so, and
        otherwise bought again by hand until the term that holds at the scenario's start."""
        zone = ZoneInfo(self._cloud.billing_timezone)
        month = 0
        while (start := add_months(machine.created_at, month, zone)) < until:
            if start > self._world.start and not machine.spec.auto_renew:
                return
            yield start, add_months(machine.created_at, month + 1, zone)
            month += 1

    def month_price(self, machine: Machine) -> Money:
        return Money.of(machine.sku.per_month or Decimal(0), self._cloud.currency)

    def _spot(self, machine: Machine, start: datetime, end: datetime) -> Iterator[Interval]:
        points = list(self.market.changes(machine.spec.sku, machine.region, machine.zone, start, end))
        for index, (at, price) in enumerate(points):
            first = max(start, at)
            last = min(end, points[index + 1][0]) if index + 1 < len(points) else end
            if first < last:
                yield Interval(first, last, price)


def add_months(at: datetime, months: int, zone: ZoneInfo) -> datetime:
    """The same local day and time so many months later; the last day of a shorter month."""
    local = at.astimezone(zone)
    year, month = divmod(local.month - 1 + months, 12)
    year, month = local.year + year, month + 1
    day = min(local.day, calendar.monthrange(year, month)[1])
    return local.replace(year=year, month=month, day=day).astimezone(at.tzinfo)
