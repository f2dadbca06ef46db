"""Market: spot prices that wander every few hours and spike when the scenario says so. A pure function of time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from costguard.domain.money import Money
from costguard_simulated.scenario import CloudSpec, Spike
from costguard_simulated.workload import seed_of

_BLOCK = timedelta(hours=3)
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


class Market:
    """The spot market of one cloud. ``start``: the scenario's start, from which spikes count."""

    def __init__(self, cloud: CloudSpec, seed: int, start: datetime) -> None:
        self._cloud, self._seed, self._start = cloud, seed, start

    def price(self, sku: str, region: str, zone: str, at: datetime) -> Money | None:
        """The price per hour; None for a type without an on-demand price."""
        spec = self._cloud.skus[sku]
        if spec.price is None:
            return None
        for spike in self._spikes(sku, zone):
            if self._start + spike.at <= at < self._start + spike.at + spike.lasts:
                return Money.of(spec.price * spike.share, self._cloud.currency)
        block = (at - _EPOCH) // _BLOCK
        if at < self._moved(sku, zone, block):
            block -= 1
        draw = seed_of(self._seed, "price", region, sku, zone, block)
        # The sum of three uniform draws, centred: a bell between -1.5 and 1.5. Never above the on-demand price.
        bell = Decimal(sum(draw >> shift & 0xFFFF for shift in (0, 16, 32))) / 0xFFFF - Decimal("1.5")
        share = min(Decimal(1), spec.spot * (1 + bell * Decimal("0.16")))
        return Money.of((spec.price * share).quantize(Decimal("0.0001")), self._cloud.currency)

    def changes(
        self, sku: str, region: str, zone: str, since: datetime, until: datetime
    ) -> Iterator[tuple[datetime, Money]]:
        """Change points in (since, until] and the one that holds at ``since``; equal neighbours are left out."""
        moments = {self._last_change(sku, zone, since)}
        block = (since - _EPOCH) // _BLOCK
        while _EPOCH + block * _BLOCK <= until:
            moments.add(self._moved(sku, zone, block))
            block += 1
        for spike in self._spikes(sku, zone):
            moments |= {self._start + spike.at, self._start + spike.at + spike.lasts}
        first = min(moments)
        last: Money | None = None
        for moment in sorted(m for m in moments if first <= m <= until and (m > since or m == first)):
            price = self.price(sku, region, zone, moment)
            if price is not None and price != last:
                yield moment, price
            last = price

    def _spikes(self, sku: str, zone: str) -> Iterator[Spike]:
        return (s for s in self._cloud.spikes if sku in s.skus and (s.zone is None or zone.endswith(f"-{s.zone}")))

    def _moved(self, sku: str, zone: str, block: int) -> datetime:
        """When within its block of three hours the price moves."""
        minutes = seed_of(self._seed, "moment", sku, zone, block) % 120
        return _EPOCH + block * _BLOCK + timedelta(minutes=minutes)

    def _last_change(self, sku: str, zone: str, at: datetime) -> datetime:
        block = (at - _EPOCH) // _BLOCK
        moment = self._moved(sku, zone, block)
        if moment > at:
            moment = self._moved(sku, zone, block - 1)
        for spike in self._spikes(sku, zone):
            for edge in (self._start + spike.at, self._start + spike.at + spike.lasts):
                if moment < edge <= at:
                    moment = edge
        return moment
