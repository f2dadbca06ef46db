"""Prices, bills, balances and savings, exact to the nano."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.charge import Balance, Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.domain.saving import Saving
from costguard.domain.time import local_midnight
from costguard.store import charges, prices, savings
from costguard.store.database import Database
from tests.store.things import NOW, ref

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
KEY = PriceKey("aliyun", "cn-beijing", "gn7i", ChargeType.SPOT, "cn-beijing-h")
MONTH = NOW.replace(day=1, hour=0)


def price(amount: str, since: datetime, source: str = "spot", key: PriceKey = KEY) -> Price:
    return Price(key, Money.of(amount, "CNY"), since, source)


def charge(number: int = 1, **changes: Any) -> Charge:
    values: dict[str, Any] = {
        "account": "prod",
        "row_key": f"row-{number}",
        "billing_period_start": MONTH,
        "billing_period_end": MONTH + 31 * DAY,
        "charge_period_start": MONTH + DAY,
        "charge_period_end": MONTH + 2 * DAY,
        "charge_category": ChargeCategory.USAGE,
        "billed_cost": Money(1, "CNY"),
        "effective_cost": Money(2, "CNY"),
        "list_cost": Money(3, "CNY"),
        "stage": Stage.PROVISIONAL,
        "provider": "aliyun",
        "service_name": "云服务器 ECS",
        "resource_id": "i-1",
        "consumed_quantity": Decimal("24.000000001"),
        "tags": {"team": "nlp"},
        "payments": {"cash": Money(1, "CNY"), "voucher": Money(0, "CNY")},
    }
    return Charge(**(values | changes))


def test_a_price_holds_until_the_next(database: Database) -> None:
    with database.write() as conn:
        assert prices.record(conn, [price("3", NOW + HOUR), price("2", NOW), price("2", NOW + HOUR / 2)]) == 2
        assert prices.at(conn, KEY, NOW - HOUR) is None
        assert prices.at(conn, KEY, NOW + HOUR / 2) == price("2", NOW)
        assert prices.at(conn, KEY, NOW + 9 * HOUR) == price("3", NOW + HOUR)
        assert prices.history(conn, KEY, NOW + HOUR / 2, NOW + DAY) == (price("2", NOW), price("3", NOW + HOUR))
        assert prices.history(conn, KEY, NOW, NOW + HOUR) == (price("2", NOW),)
        # H07: another market or zone is another price.
        elsewhere = replace(KEY, zone=None)
        assert prices.at(conn, elsewhere, NOW) is None
        assert prices.record(conn, [price("9", NOW, key=elsewhere)]) == 1
        assert set(prices.in_effect(conn, NOW + HOUR)) == {price("3", NOW + HOUR), price("9", NOW, key=elsewhere)}
        assert prices.in_effect(conn, NOW + HOUR, ChargeType.ON_DEMAND) == ()


def test_zero_is_not_a_price(database: Database) -> None:
    """H01, H02, I12: zero and less are left out, and what held before goes on."""
    with database.write() as conn:
        prices.record(conn, [price("2", NOW)])
        assert prices.record(conn, [price("0", NOW + HOUR), price("-1", NOW + HOUR)]) == 0
        assert prices.in_effect(conn, NOW + DAY) == (price("2", NOW),)


def test_the_price_book_beats_the_list(database: Database) -> None:
    with database.write() as conn:
        prices.record(conn, [price("8", NOW, "book"), price("10", NOW + HOUR, "list")])
        assert prices.at(conn, KEY, NOW + DAY) == price("8", NOW, "book")
        assert prices.in_effect(conn, NOW + DAY) == (price("8", NOW, "book"),)
        assert prices.record(conn, [price("7", NOW, "book")]) == 1
        assert prices.at(conn, KEY, NOW + DAY) == price("7", NOW, "book")


def test_importing_the_same_bill_twice_is_importing_it_once(database: Database) -> None:
    """I06: rows have keys; a second import replaces and neither doubles nor loses anything."""
    rows = [charge(n) for n in range(5000)]
    with database.write() as conn:
        assert charges.put(conn, rows) == 5000
        assert charges.put(conn, rows) == 5000
        charges.put(conn, [charge(1, billed_cost=Money(7, "CNY")), charge(1, billed_cost=Money(8, "CNY"))])
        stored = list(charges.by_day(conn, MONTH, MONTH + 31 * DAY, ZoneInfo("UTC")))
        assert sum(one.billed_cost.nanos for one in stored) == 4999 + 8
        assert sum(one.effective_cost.nanos for one in stored) == 10_000
        assert sum(1 for _ in charges.list_charges(conn, MONTH, MONTH + 31 * DAY)) == 5000
        assert next(charges.list_charges(conn, MONTH, MONTH + 31 * DAY, account="prod")) == charge(0)
        assert list(charges.list_charges(conn, MONTH, MONTH + 31 * DAY, account="test")) == []


def test_a_whole_reading_takes_away_what_the_bill_no_longer_has(database: Database) -> None:
    """I06: a line that a restated bill dropped is not added up for ever."""
    earlier = charge(3, billing_period_start=MONTH - 28 * DAY)
    with database.write() as conn:
        charges.put(conn, [charge(1), charge(2), charge(4, account="lab"), earlier])
        assert charges.keep_only(conn, "prod", MONTH, {"row-2", "row-9"}) == 1
        assert {c.row_key for c in charges.list_charges(conn, MONTH, MONTH + 9 * DAY)} == {"row-2", "row-3", "row-4"}


def test_a_day_keeps_what_must_not_be_added_apart(database: Database) -> None:
    rows = [
        charge(1, payments={}),
        charge(2, payments={}, billed_cost=Money(5, "USD"), effective_cost=Money(5, "USD"), list_cost=Money(5, "USD")),
        charge(3, payments={}, charge_category=ChargeCategory.CREDIT, billed_cost=Money(-9, "CNY")),
        charge(4, payments={}, stage=Stage.FINAL, billed_cost=Money(2**62, "CNY")),
        charge(5, payments={}, resource_id=None),
    ]
    with database.write() as conn:
        charges.put(conn, rows)
        found = list(charges.by_day(conn, MONTH, MONTH + 31 * DAY, ZoneInfo("UTC")))
    assert sorted(str(one.billed_cost.nanos) + one.billed_cost.currency for one in found) == sorted(
        ["1CNY", "5USD", "-9CNY", f"{2**62}CNY", "1CNY"]
    )


def test_a_day_of_another_zone_belongs_to_the_local_day_that_has_most_of_it(database: Database) -> None:
    """I07: of AWS's days of UTC that touch the first of March in New York, it is the first that is read, not the last
    of February."""
    zone, utc_day = ZoneInfo("America/New_York"), datetime(2026, 2, 28, tzinfo=UTC)
    rows = [
        charge(n, charge_period_start=utc_day + n * DAY, charge_period_end=utc_day + (n + 1) * DAY) for n in range(4)
    ]
    first = local_midnight(date(2026, 3, 1), zone)
    with database.write() as conn:
        charges.put(conn, rows)
        found = charges.by_day(conn, first, first + DAY, zone)
        assert [one.charge_period_start.day for one in found] == [1, 2], "the second has begun by the end"
        short = charge(9, charge_period_start=first - HOUR, charge_period_end=first)
        charges.put(conn, [short, charge(8, charge_period_start=first, charge_period_end=first + HOUR)])
        assert len(list(charges.by_day(conn, first, first + DAY, zone))) == 3


def test_balances(database: Database) -> None:
    old = Balance("prod", Money.of("100", "CNY"), Money.of("5", "CNY"), NOW)
    new = Balance("prod", Money.of("-3.5", "CNY"), None, NOW + DAY)
    other = Balance("test", Money.of("1", "USD"), None, NOW)
    with database.write() as conn:
        for balance in (old, new, new, other):
            charges.record_balance(conn, balance)
        assert charges.balances(conn) == (new, other)
        assert charges.balance_history(conn, "prod", NOW) == (old, new)
        assert charges.balance_history(conn, "prod", NOW + HOUR) == (new,)


def test_savings_end_when_the_box_runs_again(database: Database) -> None:
    """I20: nothing is saved before the confirmed stop or after what ended it; what still stands can be asked for."""

    def saving(number: int, since: datetime) -> Saving:
        return Saving(f"act-{number}", ref(number), "idle", Money.of("10", "CNY"), since)

    with database.write() as conn:
        planned = replace(saving(2, NOW + HOUR), until=NOW + 2 * HOUR)
        for one in (saving(1, NOW), planned, saving(3, NOW + 5 * HOUR)):
            savings.book(conn, one)
        assert savings.standing(conn, [ref(1), ref(3)], NOW + 2 * HOUR) == (saving(1, NOW),)
        assert savings.overdue(conn, NOW + 2 * HOUR) == (planned,)
        assert savings.overdue(conn, NOW + 2 * HOUR - timedelta(seconds=1)) == ()
        ended = replace(saving(1, NOW), until=NOW + 2 * HOUR, ended_by="restarted")
        savings.book(conn, ended)
        assert savings.get(conn, "act-1") == ended
        assert savings.get(conn, "nothing") is None
        assert savings.standing(conn, [ref(1)], NOW + 3 * HOUR) == ()
        savings.book(conn, replace(planned, ended_by="disputed"))
        found = savings.savings(conn, NOW, NOW + 6 * HOUR)
        assert [one.amount(NOW, NOW + 6 * HOUR).plain() for one in found] == ["20", "-10", "10"]
        assert savings.savings(conn, NOW + 2 * HOUR, NOW + 3 * HOUR) == ()
