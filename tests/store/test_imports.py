"""Imports on both engines: staged rows, moved in one transaction."""

from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.charge import Charge
from costguard.domain.money import Money
from costguard.errors import StoreError
from costguard.store import charges, imports
from costguard.store.database import Database
from costguard.store.imports import ChargeImport, Period, Repeated, Staged
from costguard.store.lines import Line
from tests.store.test_money import DAY, MONTH, charge
from tests.store.things import NOW


def line(charge: Charge) -> Line:
    return Line.of(charge, charge.billed_cost.amount)


def told(rows: int, nanos: int, currency: str = "CNY") -> ChargeImport:
    return ChargeImport("prod", "a.csv", NOW, rows, Decimal(nanos).scaleb(-9), Money(nanos, currency))


def test_staged_rows_are_stored_as_they_were(database: Database) -> None:
    """Past the column types, and yet the same values on both engines: times, decimals, tags, a NUL in a name."""
    one = charge(1, payments={}, resource_name="nul\x00", charge_period_start=MONTH + timedelta(microseconds=1))
    repeated: list[Repeated] = []
    with Staged(several=True) as staged:
        staged.add(0, line(one))
        staged.seal(repeated.append)
        assert repeated == []
        assert staged.move(database, [told(1, 1)], replace=False) == (Period("prod", MONTH, 1, 1, 0, 0),)
    with database.read() as conn:
        (found,) = charges.list_charges(conn, MONTH, MONTH + DAY)
        assert found == charge(
            1, payments={}, resource_name="nul\ufffd", charge_period_start=MONTH + timedelta(microseconds=1)
        )
        assert imports.imports(conn) == (told(1, 1),)
        assert imports.imports(conn, "test") == ()
        assert imports.newest(conn) == 1


def test_a_line_like_another_is_stored_as_if_it_stood_alone(database: Database) -> None:
    """What lines share is put into columns once; each keeps its own key, time, money and quantity."""
    first = line(charge(1, payments={}))
    hour = timedelta(hours=1)
    second = first._replace(
        row_key="row-2", start=MONTH + 2 * hour, end=MONTH + 3 * hour, billed=Money(-7, "CNY"),
        effective=Money(8, "CNY"), listed=Money(9, "CNY"), quantity=None,
    )  # fmt: skip
    repeated: list[Repeated] = []
    with Staged(several=True) as staged:
        staged.add(0, first)
        staged.add(0, second)
        staged.seal(repeated.append)
        staged.move(database, [told(2, -6)], replace=False)
    with database.read() as conn:
        found = {one.row_key: one for one in charges.list_charges(conn, MONTH, MONTH + 2 * DAY)}
    assert found == {"row-1": first.charge, "row-2": second.charge}
    assert first.charge == charge(1, payments={})
    assert second.charge == charge(
        2, payments={}, charge_period_start=MONTH + 2 * hour, charge_period_end=MONTH + 3 * hour,
        billed_cost=Money(-7, "CNY"), effective_cost=Money(8, "CNY"), list_cost=Money(9, "CNY"),
        consumed_quantity=None,
    )  # fmt: skip


def test_rows_that_do_not_add_up_are_not_stored(database: Database) -> None:
    repeated: list[Repeated] = []
    with Staged(several=True) as staged:
        staged.add(0, line(charge(1, payments={})))
        staged.seal(repeated.append)
        with pytest.raises(StoreError, match="add up to"):
            staged.move(database, [told(1, 2)], replace=False)
    with database.read() as conn:
        assert list(charges.list_charges(conn, MONTH, MONTH + 9 * DAY)) == []
        assert imports.newest(conn) == 0


def test_several_currencies_and_replacing(database: Database) -> None:
    dollars = Money(5, "USD")
    for replace in (False, True):
        repeated: list[Repeated] = []
        with Staged(several=True) as staged:
            for number in range(3):
                staged.add(number, line(charge(1, payments={}, row_key=f"r{number}-{replace}")))
            staged.add(0, line(charge(1, payments={}, row_key="usd", billed_cost=dollars)))
            staged.add(1, line(charge(1, payments={}, row_key="usd", billed_cost=dollars)))
            staged.seal(repeated.append)
            assert len(repeated) == 1
            (period,) = staged.move(database, [told(3, 3), told(1, 5, "USD")], replace=replace)
        assert (period.rows, period.removed, period.left) == (4, 4 if replace else 0, 0)


def test_the_day_has_one_row_for_what_differs_in_money_alone(database: Database) -> None:
    """A month of hourly lines is read as one row per resource, day, tag and stage; nothing of the money is lost."""
    hour = timedelta(hours=1)
    rows = [
        charge(n, payments={}, charge_period_start=MONTH + n * hour, charge_period_end=MONTH + (n + 1) * hour)
        for n in range(48)
    ]
    long = charge(90, payments={}, charge_period_start=MONTH, charge_period_end=MONTH + 31 * DAY)
    paid = [charge(91), charge(92)]
    with database.write() as conn:
        charges.put(conn, [*rows, long, *paid])
        found = list(charges.by_day(conn, MONTH, MONTH + 2 * DAY, ZoneInfo("UTC")))
    unpaid = [c for c in found if not c.payments]
    assert sorted((c.charge_period_start, c.charge_period_end, c.billed_cost.nanos) for c in unpaid) == [
        (MONTH, MONTH + DAY, 24), (MONTH, MONTH + 31 * DAY, 1), (MONTH + DAY, MONTH + 2 * DAY, 24),
    ]  # fmt: skip
    assert [c.payments for c in found if c.payments] == [paid[0].payments] * 2
    assert {c.tags["team"] for c in found} == {"nlp"}
