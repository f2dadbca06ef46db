"""Prices: the scenario's price table, the spot market, balance and quotas."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from costguard.domain.charge import Balance
from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType, State
from costguard.ports import Quota
from costguard_simulated.charges import spent
from costguard_simulated.client import Client
from costguard_simulated.errors import PROVIDER
from costguard_simulated.inventory import gpu_cards
from costguard_simulated.metering import Meter

ZONES = ("a", "b")
_LIST_SINCE = timedelta(days=365)


class PriceReader:
    """Raises ProviderError; an unknown key answers with nothing."""

    def __init__(self, client: Client, meter: Meter) -> None:
        self._client, self._meter = client, meter

    def prices(self, keys: Sequence[PriceKey]) -> list[Price]:
        """List prices per hour; a prepaid month is spread over 730 hours."""
        self._client.read("price")
        cloud, found = self._client.cloud, []
        since = self._client.world.start - _LIST_SINCE
        for key in keys:
            sku = cloud.skus.get(key.sku)
            if key.provider != PROVIDER or sku is None or key.region not in cloud.regions:
                continue
            if key.charge_type in (ChargeType.ON_DEMAND, ChargeType.OWNED):
                amount = sku.price
            elif key.charge_type is ChargeType.PREPAID:
                amount = None if sku.per_month is None else sku.per_month / 730
            else:
                amount = None
            if amount:
                found.append(Price(key, Money.of(amount, cloud.currency), since, "list"))
        return found

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> list[Price]:
        """Change points from the one that holds at ``since`` on; a key without a zone answers for each zone."""
        if self._client.cloud.personality == "rack":
            raise self._client.unsupported("spot_price", "own machines have no market")
        self._client.read("spot_price")
        found: list[Price] = []
        for key in keys:
            if key.sku not in self._client.cloud.skus or key.region not in self._client.cloud.regions:
                continue
            zones = [key.zone] if key.zone else [f"{key.region}-{zone}" for zone in ZONES]
            for zone in zones:
                exact = PriceKey(PROVIDER, key.region, key.sku, ChargeType.SPOT, zone)
                points = self._meter.market.changes(key.sku, key.region, zone, since, self._client.now())
                found += [Price(exact, price, at, "spot") for at, price in points]
        return found

    def balance(self) -> Balance:
        """What the scenario grants at its start, less what was spent since. Raises Unsupported for a cloud that bills
        in arrears."""
        spec, cloud, now = self._client.cloud.balance, self._client.cloud, self._client.now()
        if spec is None:
            raise self._client.unsupported("balance", "this account pays in arrears")
        self._client.read("balance")
        available = Money.of(spec.available, cloud.currency) - spent(self._client, self._meter, now)
        return Balance(self._client.spec.name, available, Money.of(spec.frozen, cloud.currency), now)

    def quotas(self, region: str) -> list[Quota]:
        """The scenario's quotas with what runs now."""
        self._client.read("quota", region)
        world, now = self._client.world, self._client.now()
        running = [
            machine
            for machine in world.machines(self._client.cloud_name)
            if machine.region == region
            and (phase := world.phase(machine, now)) is not None
            and phase.state in (State.PENDING, State.RUNNING)
        ]
        used = {
            "instances": float(len(running)),
            "gpus": float(sum(gpu_cards(machine) for machine in running)),
            "vcpus": float(sum(machine.sku.vcpus for machine in running)),
        }
        return [
            Quota(quota.name, region, quota.limit, used[quota.counts], quota.counts)
            for quota in self._client.cloud.quotas
            if quota.region == region
        ]
