"""spot_price: a spot box whose market price has been above its limit for a while.

The market is a provider's, a region's, a zone's and a type's own. A price of zero, a missing one and a cap that nobody
tells are unknown, and unknown never fires.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.price import Price
from costguard.domain.resource import ChargeType, Ends, Resource
from costguard.domain.snapshot import Snapshot
from costguard.rules.currency import Rates
from costguard.rules.fields import Duration, Percent, RateText
from costguard.rules.kind import RuleKind, Words, judged, not_running
from costguard.rules.policy import StopWhen

ZONE = "zone"
"""Attribute of a box: its zone within the region."""
CAP = "spot_cap"
"""Attribute of a spot box: ``none`` where the provider tells that it was asked for without a maximum price."""

Market = tuple[str, str, str]  # provider, region, sku


class SpotPriceWhen(StopWhen):
    """At least one of ``above``, ``above_on_demand`` and ``require_cap``; each fires on its own."""

    above: RateText | None = Field(None, description="the market price, of the box or of each GPU")
    above_on_demand: Percent | None = Field(None, gt=0, description="the market price as a share of the list price")
    length: Duration = Field(timedelta(), alias="for", description="for how long it must have been above")
    require_cap: bool = Field(False, description="also tell of boxes that have no maximum price")

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.above is None and self.above_on_demand is None and not self.require_cap:
            raise ValueError("spot_price needs above, above_on_demand or require_cap")
        if self.above is not None and self.above.per_hour.nanos <= 0:
            raise ValueError("above is a price of more than zero")
        return self


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit in money; ``unknown`` says why there is none."""

    name: str
    money: Money | None
    unknown: str = ""


def judge(when: SpotPriceWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    markets, lists = _by_market(snapshot.spot_prices), _by_market(snapshot.on_demand_prices)
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    for resource in resources:
        if resource.charge_type is not ChargeType.SPOT:
            outcome = Outcome.UNKNOWN if resource.charge_type is ChargeType.UNKNOWN else Outcome.CLEAR
            yield judged(resource, outcome, "not_spot" if outcome is Outcome.CLEAR else "charge_type_unknown")
        else:
            yield not_running(resource) or _one(when, resource, snapshot, markets, lists, rates)


def _by_market(prices: Sequence[Price]) -> Mapping[Market, list[Price]]:
    """Oldest first; a price of zero is none."""
    found: dict[Market, list[Price]] = {}
    for price in sorted(prices, key=lambda p: p.since):
        if price.per_hour.nanos > 0:
            found.setdefault((price.key.provider, price.key.region, price.key.sku), []).append(price)
    return found


def _one(
    when: SpotPriceWhen,
    resource: Resource,
    snapshot: Snapshot,
    markets: Mapping[Market, list[Price]],
    lists: Mapping[Market, list[Price]],
    rates: Rates,
) -> Judgement:
    now, zone = snapshot.now, resource.attributes.get(ZONE)
    market = (resource.ref.provider, resource.ref.region, resource.sku or "")
    zones = _zones(markets.get(market, ()), now)
    points = _points(zones, zone)
    if points and _stale(snapshot, resource.ref.account):
        # What held when it was last asked for is no price of now.
        return judged(resource, Outcome.UNKNOWN, "market_price_stale", evidence={"zone": zone, "sku": resource.sku})
    evidence: dict[str, EvidenceValue] = {"zone": zone, "cap": resource.spot_cap, "sku": resource.sku}
    unknown: list[str] = []
    if points:
        price = points[-1].per_hour
        evidence |= {"market_price": price, **_cheaper(zones, zone, price, rates, now)}
    for limit in _limits(when, resource, lists.get(market, ()), now):
        evidence[limit.name] = limit.money
        money = rates.into(limit.money, points[-1].per_hour.currency, now) if points and limit.money else None
        if money is None:
            unknown.append(
                "market_price_unknown" if not points else limit.unknown if limit.money is None else "no_rate"
            )
            continue
        above = _above_since(points, money)
        if above is not None and now - above >= when.length:
            evidence |= {"above_since": above, "above_for": now - above}
            return judged(
                resource, Outcome.FIRES, f"{limit.name}_passed", since=above, evidence=evidence,
                waste=_waste(resource, points[-1].per_hour),
            )  # fmt: skip
    if when.require_cap and resource.spot_cap is None:
        if resource.attributes.get(CAP) == "none":
            since = resource.started_at or now
            return judged(resource, Outcome.FIRES, "no_cap", since=since, evidence=evidence)
        unknown.append("cap_unknown")
    if unknown:
        return judged(resource, Outcome.UNKNOWN, unknown[0], evidence=evidence)
    return judged(resource, Outcome.CLEAR, "below_limit", evidence=evidence)


def _stale(snapshot: Snapshot, account: str) -> bool:
    """Whether market prices are asked for, and no answer came lately."""
    asked = [s for s in snapshot.sources if s.account == account and s.source == "spot_prices"]
    return bool(asked) and not any(status.fresh(snapshot.now) for status in asked)


def _zones(prices: Sequence[Price], now: datetime) -> Mapping[str | None, list[Price]]:
    """The change points of each zone up to ``now``, oldest first."""
    zones: dict[str | None, list[Price]] = {}
    for price in prices:
        if price.since <= now:
            zones.setdefault(price.key.zone, []).append(price)
    return zones


def _points(zones: Mapping[str | None, list[Price]], zone: str | None) -> list[Price]:
    """Those of the box's own zone, or of a market that has no zones; none when it cannot be told which hold."""
    return (
        zones.get(zone) or zones.get(None) or (next(iter(zones.values())) if zone is None and len(zones) == 1 else [])
    )


def _limits(when: SpotPriceWhen, resource: Resource, listed: Sequence[Price], now: datetime) -> Iterator[_Limit]:
    if when.above is not None:
        yield _Limit("limit", when.above.of(resource.gpus.count if resource.gpus else None), "gpus_unknown")
    if when.above_on_demand is not None:
        valid = [p for p in listed if p.since <= now]
        share = Decimal(repr(when.above_on_demand)) / 100
        money = valid[-1].per_hour.times(share) if valid else None
        yield _Limit("on_demand_limit", money, "on_demand_price_unknown")


def _above_since(points: Sequence[Price], limit: Money) -> datetime | None:
    """Since when the price has been above ``limit`` without a break; None when it is not."""
    since: datetime | None = None
    for point in reversed(points):
        if point.per_hour.currency != limit.currency or point.per_hour <= limit:
            break
        since = point.since
    return since


def _cheaper(
    zones: Mapping[str | None, list[Price]], mine: str | None, price: Money, rates: Rates, now: datetime
) -> dict[str, EvidenceValue]:
    """The cheapest other zone of the same market, when it is cheaper."""
    others = [
        (money, zone)
        for zone, points in zones.items()
        if zone is not None and zone != mine and (money := rates.into(points[-1].per_hour, price.currency, now))
    ]
    best = min(others, key=lambda pair: (pair[0].nanos, pair[1]), default=None)
    return {"cheaper_zone": best[1], "cheaper_price": best[0]} if best is not None and best[0] < price else {}


def _waste(resource: Resource, price: Money) -> Money | None:
    """A stop saves the market price, unless the provider says that it ends nothing."""
    effect = resource.stop_effect
    return None if effect is not None and effect.compute_billing_ends is Ends.NO else price


SPOT_PRICE = RuleKind(
    name="spot_price",
    when=SpotPriceWhen,
    judge=judge,
    capabilities=lambda when: frozenset({"spot_price"}),
    title=Words("Spot price above the limit", "竞价价格超过上限"),
    summary=Words(
        "A spot box whose market price has been above a price, or above a share of the list price, for a while; names "
        "the cheaper zone. A market price that is missing or zero is unknown, and so is a cap that nobody tells.",
        "抢占式/竞价实例的市场价持续高于限价，或高于按量价的某个比例；并指出更便宜的可用区。市场价缺失或为 0 视为未知，"
        "云厂商不提供的出价上限也视为未知。",
    ),
    example="""\
policies:
  - name: dear-spot
    rule: spot_price
    match: {charge: [spot]}
    when: {above: "1.5 CNY/gpu/h", above_on_demand: 80%, for: 2h, require_cap: true}
    respond:
      - {do: warn, to: [owner]}
      - {after: 1h, do: stop}
""",
)
