"""``bills import`` on a real database: all or nothing, twice is once, and where the money shows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.audit import run_audit
from costguard.app.bills.importing import import_bills
from costguard.app.spend import run_spend
from costguard.config.load import load
from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.errors import BillErrors, UsageError
from costguard.store import charges, imports
from costguard.testing.builders import make_charge
from costguard.testing.clock import FakeClock
from tests.unit.app.bills.made import cur, focus, text, write

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
CONFIG = """\
version: 1
timezone: UTC
language: en
currency: USD
exchange_rates: {CNY: "0.14"}
accounts:
  - {name: prod, provider: simulated, account_id: "111", currency: USD}
  - {name: lab, provider: simulated, account_id: "222", currency: USD, team: lab}
policies: []
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    path = tmp_path / "costguard.yaml"
    path.write_text(CONFIG, "utf-8")
    app = App.open(load(path, {}), FakeClock(NOW), migrate=True, threads=1)
    yield app
    app.close()


def stored(app: App) -> list[Charge]:
    with app.database.read() as conn:
        return list(charges.list_charges(conn, NOVEMBER - timedelta(days=400), NOVEMBER + timedelta(days=60)))


def billed(app: App) -> str:
    return sum((c.billed_cost for c in stored(app)), Money.zero("USD")).plain()


def hours(count: int, **changes: object) -> list[dict[str, object]]:
    return focus(
        *(
            {
                "ChargePeriodStart": (NOVEMBER + timedelta(hours=n)).isoformat(),
                "ChargePeriodEnd": (NOVEMBER + timedelta(hours=n + 1)).isoformat(),
                **changes,
            }
            for n in range(count)
        )
    )


def by_api(day: int, amount: str) -> Charge:
    """A day's row as a provider's API tells it."""
    start = NOVEMBER + timedelta(days=day)
    return make_charge(
        f"api-{day}", Money.of(amount, "USD"), charge_period_start=start, charge_period_end=start + timedelta(days=1),
        billing_period_start=NOVEMBER, billing_period_end=NOVEMBER + timedelta(days=30),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_the_same_file_again_changes_nothing(app: App, tmp_path: Path, name: str) -> None:
    """I06: row count and sum are the file's; a second import replaces each row by itself."""
    path = write(tmp_path / name, hours(48, BilledCost="0.1234567890123"))
    first = import_bills(app, [path])
    (told,) = first.imports
    assert (told.row_count, told.exact) == (48, Decimal("5.9259258725904"))
    assert told.rounded == Money.of("5.925925872", "USD")  # 48 times 0.123456789
    assert told.difference == Decimal("-0.0000000005904")
    (period,) = first.periods
    assert (period.account, period.rows, period.new, period.removed, period.left) == ("prod", 48, 48, 0, 0)
    before = stored(app)
    (again,) = import_bills(app, [path]).periods
    assert (again.rows, again.new, again.left) == (48, 0, 0)
    assert stored(app) == before
    with app.database.read() as conn:
        assert len(imports.imports(conn, "prod")) == 2


def test_equal_lines_of_a_file_are_two_charges(app: App, tmp_path: Path) -> None:
    rows = focus({"BilledCost": "1"}, {"BilledCost": "2"}, {"BilledCost": "1"})
    path = write(tmp_path / "a.csv", rows)
    import_bills(app, [path])
    import_bills(app, [path])
    assert billed(app) == "4"
    assert [c.row_key.rpartition("#")[2] for c in stored(app)][1:] == ["2", "3"]


def test_a_restated_row_replaces_the_earlier_one(app: App, tmp_path: Path) -> None:
    """A later export of the month: restated, longer, invoiced."""
    import_bills(app, [write(tmp_path / "a.csv", hours(2, BilledCost="1"))])
    (period,) = import_bills(app, [write(tmp_path / "b.csv", hours(3, BilledCost="2", InvoiceId="7"))]).periods
    assert (period.rows, period.new, period.left) == (3, 1, 0)
    assert billed(app) == "6"
    assert {c.stage for c in stored(app)} == {Stage.FINAL}


def test_what_an_earlier_import_leaves_is_told_and_replace_takes_it_out(app: App, tmp_path: Path) -> None:
    """AWS gives a later version of a report other line item ids: without --replace the month would count twice."""
    first = write(tmp_path / "a.csv", cur({}, {"identity/LineItemId": "li-2"}))
    later = write(tmp_path / "b.csv", cur({"identity/LineItemId": "li-3", "lineItem/UnblendedCost": "1"}))
    october = write(tmp_path / "o.csv", cur({"bill/BillingPeriodStartDate": "2026-10-01T00:00:00Z",
                                             "identity/LineItemId": "li-o"}))  # fmt: skip
    import_bills(app, [first, october])
    doubled = import_bills(app, [later])
    assert [p.left for p in doubled.periods] == [2]
    assert any("2 rows of the period from 2026-11-01 are from an earlier import" in w for w in doubled.warnings)
    replaced = import_bills(app, [later], replace=True)
    (period,) = replaced.periods
    assert (period.rows, period.removed, period.left, replaced.warnings) == (1, 3, 0, ())
    assert billed(app) == "1.8048"  # October is another period


def test_what_an_import_tells_is_what_the_database_has(app: App, tmp_path: Path) -> None:
    """I06: a line in two files is one line of the sums as well, as it stands in the later file, to the last digit."""
    first = write(tmp_path / "a.csv", hours(3, BilledCost="0.1234567891234"))
    later = write(tmp_path / "b.csv", hours(2, BilledCost="0.2") + hours(2, BilledCost="0.00000000004", ResourceId="i"))
    (told,) = import_bills(app, [first, later]).imports
    assert (told.row_count, told.exact) == (5, Decimal("0.5234567892034"))
    assert told.rounded.plain() == billed(app) == "0.523456789"
    with app.database.read() as conn:
        assert imports.imports(conn) == (told,)


def test_a_day_in_which_a_file_ends_is_the_providers_once_it_tells_more(app: App, tmp_path: Path) -> None:
    """I06 I19: an export until eight in the morning is not all of that day for ever; until the provider's own bill has
    come so far it is."""
    import_bills(app, [write(tmp_path / "a.csv", hours(2 * 24 + 8, BilledCost="1"))])

    def days(third: str) -> list[str]:
        with app.database.write() as conn:
            charges.put(conn, [by_api(n, third if n == 2 else "20") for n in range(4)])
        lines = run_spend(app, month="2026-11", by="day")["lines"]
        return [line["billed"]["amount"] for line in lines]

    assert days("3") == ["24", "24", "8", "20"], "the file knows more"
    assert days("23") == ["24", "24", "23", "20"]
    import_bills(app, [write(tmp_path / "b.csv", hours(3 * 24, BilledCost="1"))])
    assert days("25") == ["24", "24", "24", "20"], "a day that a file has whole is the file's"


def test_several_files_are_one_import(app: App, tmp_path: Path) -> None:
    """Parts of one export beside each other; what stands in two of them counts once and is told."""
    parts = [write(tmp_path / f"{n}.csv", hours(2, ResourceId=f"i-{n}")) for n in range(2)]
    both = write(tmp_path / "both.csv", hours(2, ResourceId="i-0") + hours(1, ResourceId="i-9"))
    done = import_bills(app, [*parts, both], replace=True)
    assert done.repeated == 2
    assert [f.rows for f in done.files] == [2, 2, 3]
    assert len(stored(app)) == 5
    assert [(one.row_count, one.rounded.plain()) for one in done.imports] == [(5, "7.5")]
    assert any("2 rows stand in more than one of the files" in w for w in done.warnings)


def test_nothing_is_imported_when_one_row_is_wrong(app: App, tmp_path: Path) -> None:
    """Every mistake of every file is told at once, with its place; what was there before stays."""
    import_bills(app, [write(tmp_path / "ok.csv", hours(5))])
    before = stored(app)
    bad = write(tmp_path / "bad.csv", focus({}, {"BilledCost": "1,5"}, {}, {"ChargeCategory": "?"}))
    worse = write(tmp_path / "worse.csv", focus({"ServiceName": None}))
    with pytest.raises(BillErrors) as failure:
        import_bills(app, [write(tmp_path / "good.csv", hours(9, ResourceId="i-2")), bad, worse], replace=True)
    assert [(e.file, e.row, e.column) for e in failure.value.errors] == [
        ("bad.csv", 3, "BilledCost"), ("bad.csv", 5, "ChargeCategory"), ("worse.csv", 1, ""),
    ]  # fmt: skip
    assert stored(app) == before


def test_not_more_than_twenty_mistakes_are_told(app: App, tmp_path: Path) -> None:
    with pytest.raises(BillErrors) as failure:
        import_bills(app, [write(tmp_path / "a.csv", focus(*({"BilledCost": "x"} for _ in range(99))))])
    assert len(failure.value.errors) == 20


def test_a_file_cut_short_leaves_nothing(app: App, tmp_path: Path) -> None:
    whole = write(tmp_path / "a.csv.gz", hours(720)).read_bytes()
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[:-20])
    with pytest.raises(BillErrors, match="cut short"):
        import_bills(app, [path])
    assert stored(app) == []


def test_rows_find_their_account_by_its_id(app: App, tmp_path: Path) -> None:
    """A payer's bill: the sub account first, then the billing account."""
    rows = focus({"SubAccountId": "222"}, {"SubAccountId": "333", "BillingAccountId": "111"}, {"SubAccountId": ""})
    import_bills(app, [write(tmp_path / "a.csv", rows)])
    assert sorted(c.account for c in stored(app)) == ["lab", "prod", "prod"]


def test_an_account_that_nobody_configured(app: App, tmp_path: Path) -> None:
    other = {"SubAccountId": "333", "BillingAccountId": "999"}
    path = write(tmp_path / "a.csv", focus({}, other, other, {"SubAccountId": "", "BillingAccountId": "888"}))
    with pytest.raises(UsageError, match="--account NAME") as failure:
        import_bills(app, [path])
    assert failure.value.candidates == ("333: 2 rows", "888: 1 rows")
    assert stored(app) == []
    import_bills(app, [path], account="lab")
    assert sorted(c.account for c in stored(app)) == ["lab", "lab", "lab", "prod"]
    with pytest.raises(UsageError, match="no account is called 'labb'"):
        import_bills(app, [path], account="labb")


def test_known_only_leaves_the_others_out_and_says_so(app: App, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", focus({}, {"SubAccountId": "333", "BillingAccountId": "999"}))
    done = import_bills(app, [path], known_only=True)
    assert (done.files[0].rows, done.files[0].left_out) == (1, 1)
    assert any("left out: 333 (1)" in w for w in done.warnings)
    with pytest.raises(UsageError, match="exclude each other"):
        import_bills(app, [path], known_only=True, account="lab")


def test_currencies_stay_apart(app: App, tmp_path: Path) -> None:
    rows = focus({}, {"BillingCurrency": "CNY", "ResourceId": "i-2"}, {"BillingCurrency": "NOK", "ResourceId": "i-3"})
    done = import_bills(app, [write(tmp_path / "a.csv", rows)])
    assert [(one.rounded.currency, one.row_count) for one in done.imports] == [("CNY", 1), ("NOK", 1), ("USD", 1)]
    assert any("the bill is in CNY, the account is set to USD" in w for w in done.warnings)
    assert any("no exchange rate for NOK" in w for w in done.warnings)
    document = run_spend(app)
    assert document["total"]["billed"] == {"amount": "1.71", "currency": "USD"}  # 1.5 + 1.5 × 0.14
    assert document["currencies"] == [
        {"amount": {"amount": "1.5", "currency": "CNY"}, "converted": {"amount": "0.21", "currency": "USD"}},
        {"amount": {"amount": "1.5", "currency": "USD"}, "converted": {"amount": "1.5", "currency": "USD"}},
    ]
    assert document["apart"] == [{"amount": "1.5", "currency": "NOK"}]


def test_imported_charges_show_in_spend_and_audit(app: App, tmp_path: Path) -> None:
    """By team as the bill's own tags tell, else the account's; paid means apart from what was payable."""
    rows = [
        *hours(24, BilledCost="2", ListCost="3"),
        *hours(24, BilledCost="1", SubAccountId="222", Tags=""),
        *focus({"ChargeCategory": "Credit", "BilledCost": "-10", "EffectiveCost": "-10", "ListCost": "-10"}),
    ]
    import_bills(app, [write(tmp_path / "a.csv", rows)])
    document = run_spend(app, by="team")
    assert {line["key"]: line["billed"]["amount"] for line in document["lines"]} == {"vision": "48", "lab": "24"}
    assert document["total"]["amount"] == {"amount": "72", "currency": "USD"}
    assert [(b["account"], b["stage"]) for b in document["bills"]] == [("lab", "provisional"), ("prod", "provisional")]
    found, _ = run_audit(app, month="2026-11", offline=True)
    assert found["spend"]["billed"] == {"amount": "72", "currency": "USD"}
    assert found["payments"]["credit"] == {"amount": "10", "currency": "USD"}


def test_a_file_counts_instead_of_what_the_provider_told_of_the_same_days(app: App, tmp_path: Path) -> None:
    """The API and the file bill the same money: it must not be there twice, nor go when the API is read again."""

    def told(day: int) -> Charge:
        low = NOVEMBER + timedelta(days=day - 1)
        return Charge(
            "prod", f"ce:{day}", NOVEMBER, NOVEMBER + timedelta(days=30), low, low + timedelta(days=1),
            ChargeCategory.USAGE, Money.of("30", "USD"), Money.of("30", "USD"), Money.of("30", "USD"),
            Stage.PROVISIONAL, "simulated", "Amazon EC2",
        )  # fmt: skip

    with app.database.write() as conn:
        charges.put(conn, [told(day) for day in (1, 2, 3)])
    import_bills(app, [write(tmp_path / "a.csv", hours(30, BilledCost="1"))])  # to the second day, 06:00
    assert billed(app) == "84"  # the first day of the file, and of the API the second, which it knows whole, and third
    document = run_spend(app, by="day")
    assert [(line["key"][-2:], line["billed"]["amount"]) for line in document["lines"]] == [
        ("01", "24"), ("02", "30"), ("03", "30"),
    ]  # fmt: skip
    with app.database.write() as conn:
        assert charges.keep_only(conn, "prod", NOVEMBER, {"ce:1", "ce:2"}) == 1
    assert billed(app) == "54"


def test_the_ids_that_a_provider_told_count_where_none_is_configured(tmp_path: Path) -> None:
    path = tmp_path / "costguard.yaml"
    path.write_text(CONFIG.replace(', account_id: "111"', ""), "utf-8")
    app = App.open(load(path, {}), FakeClock(NOW), migrate=True, threads=1)
    from costguard.store import accounts

    with app.database.write() as conn:
        accounts.record(conn, accounts.AccountRecord("prod", "simulated", "111", None, False, NOW))
    import_bills(app, [write(tmp_path / "a.csv", focus())])
    assert [c.account for c in stored(app)] == ["prod"]
    app.close()


def test_what_is_no_bill_is_said(app: App, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,price\nx,1\n", "utf-8")
    with pytest.raises(BillErrors, match=r"a\.csv: row 1: is neither FOCUS .* nor an AWS CUR .*name, price"):
        import_bills(app, [path])
    path.write_text(text(focus()).splitlines()[0] + "\n", "utf-8")
    done = import_bills(app, [path])
    assert (done.files[0].rows, done.imports, done.periods) == (0, (), ())


def test_progress_tells_rows_and_bytes(app: App, tmp_path: Path) -> None:
    told: list[tuple[str, int, int, int]] = []
    path = write(tmp_path / "a.csv", focus(*({"ResourceId": f"i-{n}"} for n in range(11_000))))
    import_bills(app, [path], progress=lambda *step: told.append(step))
    assert [step[1] for step in told] == [5_000, 10_000, 11_000]
    assert told[-1] == ("a.csv", 11_000, path.stat().st_size, path.stat().st_size)
    assert 0 < told[0][2] < told[1][2] < told[2][2]


def test_the_daemon_sees_an_import_in_its_next_cycle(tmp_path: Path) -> None:
    """Budgets read the bill from a cache that only a new bill empties."""
    budget = """\
policies:
  - {name: month, rule: budget, match: all, when: {amount: "100 USD", period: month}, respond: [{do: notify}]}
"""
    (tmp_path / "p.yaml").write_text(budget, "utf-8")
    path = tmp_path / "costguard.yaml"
    path.write_text(CONFIG.replace("policies: []", "policies: [p.yaml]"), "utf-8")
    app = App.open(load(path, {}), FakeClock(NOW), migrate=True, threads=1)

    def seen() -> str:
        with app.database.read() as conn:
            rows = app.builder.build(conn, NOW).spend
        return sum((row.money for row in rows if not row.estimated), Money.zero("USD")).plain()

    try:
        assert seen() == "0"
        import_bills(app, [write(tmp_path / "a.csv", hours(24, BilledCost="5"))])
        assert seen() == "120"
        (line,) = run_spend(app)["budgets"]
        assert (line["state"], line["spent"]) == ("over", {"amount": "120", "currency": "USD"})
    finally:
        app.close()
