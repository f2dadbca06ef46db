"""The contract's part on money: exact, in a currency, the same each time, unknown rather than zero."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.charge import Charge
from costguard.domain.money import Money, total
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.domain.time import parse_duration
from costguard.ports import AccountSpec, Balances, Billing, Connection, Prices, SpotPrices
from costguard.testing.cloud import BillLine, CloudFixture
from costguard.testing.contract import Contract, needs
from costguard.testing.manifest import Manifest

# Odd cents, eight decimals, a refund-sized negative is left to the importers' own tests.
_AMOUNTS = ("34.74", "0.1", "0.2", "12.34567891", "0.00000001", "1234.5", "0.005")


def _month(cloud: CloudFixture, spec: AccountSpec, manifest: Manifest) -> tuple[datetime, datetime, ZoneInfo]:
    """The month to date of the account's billing time zone."""
    zone = spec.billing_timezone or ZoneInfo(manifest["billing_timezone"])
    local = cloud.clock.now().astimezone(zone)
    start = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return start, (start + timedelta(days=32)).replace(day=1), zone


def _prices_are_known(prices: list[Price], asked: set[PriceKey], unseen: PriceKey) -> None:
    assert prices
    for price in prices:
        assert price.key in asked
        assert isinstance(price.per_hour, Money)
        assert price.per_hour.nanos > 0, "an unknown price is left out, never 0"
        assert price.since.utcoffset() == timedelta(0)
        assert price.source
    assert unseen not in {price.key for price in prices}


class BillingContract(Contract):
    """Charges, balance, prices."""

    def _bill(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest, amounts: list[str]
    ) -> list[Charge]:
        start, end, _ = _month(cloud, spec, manifest)
        currency = spec.currency or manifest["currency"]
        first: date = start.date()
        cloud.bill(
            [
                BillLine(first + timedelta(days=n // 2), f"service-{n % 2}", Money.of(amount, currency))
                for n, amount in enumerate(amounts)
            ]
        )
        assert isinstance(connection, Billing)
        return list(connection.charges(start, end))

    @needs("charges_daily")
    def test_the_month_adds_up_to_the_cent(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest
    ) -> None:
        """I06, I07: exact sums, days of the billing time zone, aware times, a currency on each row."""
        charges = self._bill(connection, cloud, spec, manifest, list(_AMOUNTS))
        start, end, zone = _month(cloud, spec, manifest)
        currency = spec.currency or manifest["currency"]
        (billed,) = total(charge.billed_cost for charge in charges)
        (wanted,) = total(Money.of(amount, currency) for amount in _AMOUNTS)
        assert billed.currency == currency
        assert abs(billed.nanos - wanted.nanos) < 5_000_000
        for charge in charges:
            assert (charge.account, charge.provider) == (spec.name, manifest["id"])
            assert {charge.effective_cost.currency, charge.list_cost.currency} == {currency}
            assert start <= charge.charge_period_start < charge.charge_period_end <= end
            for at in (
                charge.charge_period_start, charge.charge_period_end,
                charge.billing_period_start, charge.billing_period_end,
            ):  # fmt: skip
                assert at.utcoffset() == timedelta(0)
            assert charge.charge_period_start.astimezone(zone).hour == 0 or manifest["billing"].get("hourly")
            assert (charge.billing_period_start, charge.billing_period_end) == (start, end)

    @needs("charges_daily")
    def test_reading_the_bill_again_gives_the_same_rows(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest
    ) -> None:
        """I06: row keys are unique, and the same the next time, also when an amount is restated."""
        first = self._bill(connection, cloud, spec, manifest, list(_AMOUNTS))
        again = self._bill(connection, cloud, spec, manifest, list(_AMOUNTS))
        keys = [charge.row_key for charge in first]
        assert len(set(keys)) == len(keys)
        assert sorted(keys) == sorted(charge.row_key for charge in again)
        restated = self._bill(connection, cloud, spec, manifest, ["35.00", *_AMOUNTS[1:]])
        assert sorted(keys) == sorted(charge.row_key for charge in restated)
        assert total(c.billed_cost for c in restated) != total(c.billed_cost for c in first)

    @needs("charges_daily")
    def test_an_empty_bill_is_no_rows(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest
    ) -> None:
        """I21: nothing billed yet is no row, not a row of 0."""
        assert self._bill(connection, cloud, spec, manifest, []) == []

    @needs("balance")
    def test_the_balance_is_exact_money(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest
    ) -> None:
        assert isinstance(connection, Balances)
        balance = connection.balance()
        assert balance.account == spec.name
        assert balance.available.currency == (spec.currency or manifest["currency"])
        assert balance.frozen is None or balance.frozen.currency == balance.available.currency
        assert balance.observed_at == cloud.clock.now()

    @needs("price")
    def test_list_prices_are_known_or_left_out(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        """H01, H02, G11."""
        assert isinstance(connection, Prices)
        region, provider = cloud.regions[0], manifest["id"]
        keys = [PriceKey(provider, region, sku.sku, ChargeType.ON_DEMAND) for sku in cloud.skus]
        unseen = PriceKey(provider, region, "zz9.plural-alpha", ChargeType.ON_DEMAND)
        _prices_are_known(list(connection.prices([*keys, unseen])), set(keys), unseen)

    @needs("spot_price")
    def test_spot_prices_are_change_points_with_the_one_before(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        """H01, H07: the price in force at ``since`` is told, and the market is part of the key.

        How far back a market tells is ``spot_history`` of the manifest's [limits]; left out, it is far enough.
        """
        assert isinstance(connection, SpotPrices)
        region, provider = cloud.regions[0], manifest["id"]
        keys = [PriceKey(provider, region, sku.sku, ChargeType.SPOT) for sku in cloud.skus]
        unseen = PriceKey(provider, region, "zz9.plural-alpha", ChargeType.SPOT)
        since = cloud.clock.now() - timedelta(hours=6)
        points = list(connection.spot_prices([*keys, unseen], since))
        assert points
        skus = {key.sku for key in keys}
        for point in points:
            assert (point.key.sku in skus, point.key.charge_type) == (True, ChargeType.SPOT)
            assert point.per_hour.nanos > 0
            assert point.since.utcoffset() == timedelta(0)
            assert point.since <= cloud.clock.now()
        told = parse_duration(manifest["limits"].get("spot_history", "1d"))
        oldest = max(since, cloud.clock.now() - told)
        for key in {point.key for point in points}:
            assert min(point.since for point in points if point.key == key) <= oldest
