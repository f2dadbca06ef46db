"""Spending: calendar periods, exact sums, bills against estimates, currencies apart, and days that look wrong."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, permutations
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Basis, Spend
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.spending import Period, PeriodName, Spending, counted, drivers, outliers, spending
from costguard.testing.builders import cny, make_resource, make_snapshot, usd

SHANGHAI = ZoneInfo("Asia/Shanghai")
ZONES = ("Asia/Shanghai", "Europe/London", "America/New_York", "Pacific/Kiritimati", "UTC")
DAY = timedelta(days=1)
NOW = datetime(2026, 6, 20, 4, 0, tzinfo=UTC)
MOMENTS = st.integers(0, 9 * 365 * 1440).map(lambda m: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=m))


def row(day: int, amount: str, *, currency: str = "CNY", **fields: object) -> Spend:
    """One Shanghai day of June 2026."""
    start = local_midnight(date(2026, 6, day), SHANGHAI)
    money = cny(amount) if currency == "CNY" else usd(amount)
    defaults = {"account": "prod", "ref": None, "service": "compute", "estimated": False}
    return Spend(start=start, end=start + DAY, money=money, **{**defaults, **fields})  # type: ignore[arg-type]


def at(now: datetime = NOW, **fields: object) -> Snapshot:
    return make_snapshot(now=now, timezone="Asia/Shanghai", **fields)


def test_periods_are_calendar_periods_of_the_zone() -> None:
    """D04, I07: late on 31 January in Shanghai is January, whatever UTC says."""
    late = datetime(2026, 1, 31, 15, 30, tzinfo=UTC)
    month = Period.of("month", late, SHANGHAI)
    assert (month.key, month.first) == ("2026-01", date(2026, 1, 1))
    assert month.end == datetime(2026, 1, 31, 16, 0, tzinfo=UTC)
    assert Period.of("month", month.end, SHANGHAI).key == "2026-02"
    assert Period.of("week", datetime(2027, 1, 2, tzinfo=UTC), SHANGHAI).key == "2026-W53"
    assert Period.of("day", late, SHANGHAI).key == "2026-01-31"


def test_march_in_new_york_has_743_hours() -> None:
    """D04."""
    march = Period.of("month", datetime(2026, 3, 15, tzinfo=UTC), ZoneInfo("America/New_York"))
    assert march.end - march.start == timedelta(hours=743)


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from(["month", "week", "day"]))
def test_periods_tile_time(now: datetime, zone: str, name: PeriodName) -> None:
    """Over 2024–2032, days 29 to 31 included: every moment lies in one period, and the next begins where it ends."""
    period = Period.of(name, now, ZoneInfo(zone))
    assert period.start <= now < period.end
    assert Period.of(name, period.start, ZoneInfo(zone)) == period
    following = Period.of(name, period.end, ZoneInfo(zone))
    assert following.start == period.end
    assert following.key > period.key


def test_every_month_from_2024_to_2032_has_its_own_days() -> None:
    starts = [
        Period.of("month", datetime(y, m, 15, tzinfo=UTC), SHANGHAI) for y in range(2024, 2033) for m in range(1, 13)
    ]
    for one, following in pairwise(starts):
        assert one.end == following.start
        assert 28 <= (following.first - one.first).days <= 31


def test_a_row_belongs_to_the_day_in_which_it_begins_and_order_changes_nothing() -> None:
    rows = (row(1, "1.5"), row(2, "2"), row(2, "3"))
    expected = {date(2026, 6, 1): cny("1.5"), date(2026, 6, 2): cny("5")}
    for shuffled in permutations(rows):
        assert spending(shuffled, at(), SHANGHAI, "CNY").days == expected


def test_the_larger_of_bill_and_estimate_counts_until_the_bill_is_settled() -> None:
    """I19: eight cards start and the bill lags; the live estimate drives the budget, the bill reconciles later."""
    rows = (row(19, "10"), row(19, "800", estimated=True), row(1, "500"), row(1, "800", estimated=True))
    found = spending(rows, at(), SHANGHAI, "CNY")
    assert found.days == {date(2026, 6, 1): cny("500"), date(2026, 6, 19): cny("800")}
    assert found.estimated
    assert not spending(rows[2:], at(), SHANGHAI, "CNY").estimated


def test_accounts_are_reconciled_each_on_its_own() -> None:
    rows = (row(1, "500"), row(1, "90", estimated=True, account="other"))
    assert spending(rows, at(), SHANGHAI, "CNY").days == {date(2026, 6, 1): cny("590")}


def test_currencies_join_by_the_rate_of_their_day_or_stay_apart() -> None:
    rates = {"USD": ((datetime(2020, 1, 1, tzinfo=UTC), "7"), (local_midnight(date(2026, 6, 10), SHANGHAI), "8"))}
    rows = (row(9, "10", currency="USD"), row(10, "10", currency="USD"), row(10, "1"))
    found = spending(rows, at(exchange_rates=rates), SHANGHAI, "CNY")
    assert found.days == {date(2026, 6, 9): cny("70"), date(2026, 6, 10): cny("81")}
    without = spending(rows, at(), SHANGHAI, "CNY")
    assert without.days == {date(2026, 6, 10): cny("1")}
    assert without.apart == (usd("20"),)
    assert spending(rows, at(exchange_rates=rates), SHANGHAI, "USD").days[date(2026, 6, 10)] == usd("10.125")


def test_rows_of_another_basis_or_service_do_not_count() -> None:
    rows = (
        row(1, "1", basis=Basis.LIST), row(1, "2", basis=Basis.PAYABLE), row(1, "4", basis=Basis.CASH),
        row(1, "8", estimated=True), row(1, "16", service="Amazon S3"),
    )  # fmt: skip
    assert [r.money for r in counted(rows, Basis.PAYABLE, None)] == [cny("2"), cny("8"), cny("16")]
    assert [r.money for r in counted(rows, Basis.LIST, ["COMP*"])] == [cny("1"), cny("8")]


def days(*amounts: str) -> Spending:
    return Spending("CNY", {date(2026, 6, n): cny(a) for n, a in enumerate(amounts, 1)})


def test_the_day_on_which_a_limit_was_reached() -> None:
    found = days("10", "20", "30")
    june, may = (Period.of("month", NOW - n * DAY, SHANGHAI) for n in (0, 30))
    assert found.of(june) == cny("60")
    assert found.of(may) == cny("0")
    assert found.of(Period.of("day", NOW - 18 * DAY, SHANGHAI)) == cny("20")
    assert found.reached(june, cny("30")) == date(2026, 6, 2)
    assert found.reached(june, cny("31")) == date(2026, 6, 3)
    assert found.reached(june, cny("99")) == date(2026, 6, 3)


@pytest.mark.parametrize(
    ("amounts", "odd"),
    [
        (("100", "110", "90", "100", "1000"), {}),
        (("100", "110", "90", "100", "1000.01"), {5: "100"}),
        (("100", "110", "5000"), {}),
        (("0", "0", "0", "5000"), {}),
        (("100", "100", "100", "9999", "100", "100", "100"), {4: "100"}),
    ],
    ids=["ten times", "more", "two days are no habit", "from nothing", "one odd day"],
)
def test_a_day_over_ten_times_the_median_is_odd(amounts: tuple[str, ...], odd: dict[int, str]) -> None:
    """I13."""
    expected = {date(2026, 6, day): cny(usual) for day, usual in odd.items()}
    assert outliers(days(*amounts).days, date(2026, 6, 1)) == expected
    assert outliers(days(*amounts).days, date(2026, 7, 1)) == {}


def test_drivers_add_up_to_what_was_spent() -> None:
    """I19: of a day that has both, the bill or the estimate counts, and not their sum; each at its day's rate."""
    box = make_resource("i-1", name="train")
    rows = [
        row(1, "100", ref=box.ref, estimated=True), row(1, "90", ref=box.ref, basis=Basis.PAYABLE),
        row(19, "100", ref=box.ref, estimated=True), row(19, "2", basis=Basis.PAYABLE, service="Support"),
        row(2, "1", currency="USD", account="us", service="EC2"),
    ]  # fmt: skip
    rates = {"USD": ((datetime(2020, 1, 1, tzinfo=UTC), "7"), (local_midnight(date(2026, 6, 10), SHANGHAI), "8"))}
    snapshot = make_snapshot(box, now=NOW, timezone="Asia/Shanghai", exchange_rates=rates)
    spent = sum(m.nanos for m in spending(rows, snapshot, SHANGHAI, "CNY").days.values())
    found = drivers(rows, snapshot, SHANGHAI, rows[0].start)
    assert found == (("train", cny("190")), ("EC2", cny("7")))
    assert sum(money.nanos for _, money in found) == spent


def test_a_bill_that_names_nobody_leaves_the_driver_to_the_estimate() -> None:
    box = make_resource("i-1", name="train")
    rows = [
        row(1, "80", ref=box.ref, estimated=True), row(1, "90", service="EC2"), row(1, "15", service="Support"),
    ]  # fmt: skip
    found = drivers(rows, make_snapshot(box, now=NOW), SHANGHAI, rows[0].start)
    assert found == (("train", cny("80")), ("Support", cny("15")), ("EC2", cny("10")))


def test_drivers_name_the_dearest() -> None:
    box = make_resource("i-1", name="train")
    rows = [row(1, "5", ref=box.ref), row(2, "5", ref=box.ref), row(2, "7"), row(2, "1", service="storage")]
    found = drivers(rows, make_snapshot(box, now=NOW), SHANGHAI, rows[0].start, most=2)
    assert found == (("train", cny("10")), ("compute", cny("7")))
    assert drivers(rows, make_snapshot(box, now=NOW), SHANGHAI, rows[2].start)[0] == ("compute", cny("7"))
