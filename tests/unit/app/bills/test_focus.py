"""FOCUS rows as charges."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from costguard.app.bills.focus import Focus, fits
from costguard.app.bills.layout import Owned
from costguard.domain.charge import ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.errors import BillError
from costguard.store.lines import Line
from tests.unit.app.bills.made import focus, said

NOW = datetime(2026, 12, 2, tzinfo=UTC)
PROD = Owned("prod", "aws")


def lines(*changes: Mapping[str, object], now: datetime = NOW) -> list[Line]:
    rows = focus(*changes)
    layout = Focus(list(rows[0]), now)
    found = [layout.line(said(row), lambda ids: PROD) for row in rows]
    return [line for line in found if line is not None]


def test_a_row_becomes_a_charge() -> None:
    (line,) = lines()
    charge = line.charge
    assert line.exact == Decimal("1.5")
    assert (charge.account, charge.provider, charge.service_name) == ("prod", "aws", "Amazon Elastic Compute Cloud")
    assert charge.billed_cost == Money.of("1.5", "USD")
    assert charge.effective_cost == Money.of("1.4", "USD")
    assert charge.list_cost == Money.of("2", "USD")
    assert charge.billing_period_end == datetime(2026, 12, 1, tzinfo=UTC)
    assert charge.charge_period_end - charge.charge_period_start == timedelta(hours=1)
    assert (charge.resource_id, charge.resource_name, charge.region_id) == ("i-1", None, "us-east-1")
    assert (charge.tags, charge.consumed_quantity) == ({"team": "vision"}, Decimal(1))
    assert charge.charge_class is None


def test_columns_are_found_whatever_their_case_order_and_number() -> None:
    row = focus()[0]
    other = {name.lower(): value for name, value in reversed(row.items())} | {"x_Own": "1", "Id": "9"}
    assert fits(list(other))
    line = Focus(list(other), NOW).line(said(other), lambda ids: PROD)
    assert line is not None
    assert line.charge.billed_cost == Money.of("1.5", "USD")


def test_missing_columns_are_all_named() -> None:
    with pytest.raises(BillError, match="row 1: is no FOCUS bill: it has no column BillingCurrency, ServiceName"):
        lines({"ServiceName": None, "BillingCurrency": None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"BilledCost": ""}, "BilledCost: is empty"),
        ({"BilledCost": "NULL"}, "BilledCost: is empty"),
        ({"BilledCost": "1,5"}, "BilledCost: '1,5' is not a number"),
        ({"EffectiveCost": "x"}, "EffectiveCost: 'x' is not a number"),
        ({"BillingCurrency": "usd"}, "BillingCurrency: 'usd' is not a currency"),
        ({"ChargeCategory": "Wish"}, "ChargeCategory: 'Wish' is none of Usage, Purchase, Tax, Credit, Adjustment"),
        ({"ChargePeriodEnd": "2026-11-05T09:00:00Z"}, "ChargePeriodEnd: ends before it begins"),
        ({"BillingPeriodStart": "soon"}, "BillingPeriodStart: 'soon' is not a time"),
        ({"ServiceName": "NULL"}, "ServiceName: is empty"),
        ({"Tags": "team=nlp"}, "Tags: 'team=nlp' is not a JSON object"),
    ],
)
def test_a_mistake_names_its_column(change: Mapping[str, object], message: str) -> None:
    with pytest.raises(BillError, match=message):
        lines(change)


def test_a_cost_that_is_not_told_is_the_billed_one_and_counted() -> None:
    rows = focus({"ListCost": "", "EffectiveCost": "NULL"}, {"ListCost": ""})
    layout = Focus(list(rows[0]), NOW)
    found = [layout.line(said(row), lambda ids: PROD) for row in rows]
    assert [line.charge.list_cost.plain() for line in found if line] == ["1.5", "1.5"]
    assert layout.notes == {
        "rows without ListCost: taken as billed": 2, "rows without EffectiveCost: taken as billed": 1,
    }  # fmt: skip


def test_credits_refunds_and_corrections() -> None:
    """I02, I12: a credit may come as a category or as a negative row; amounts keep their sign, whatever the shape."""
    credit, refund, correction = lines(
        {"ChargeCategory": "Credit", "BilledCost": "-3", "EffectiveCost": "-3"},
        {"ChargeCategory": "adjustment", "BilledCost": "-2"},
        {"ChargeClass": "Correction", "BilledCost": "-1"},
    )
    assert credit.charge.charge_category is ChargeCategory.CREDIT
    assert refund.charge.charge_category is ChargeCategory.ADJUSTMENT
    assert correction.charge.charge_class == "Correction"
    assert [line.charge.billed_cost.plain() for line in (credit, refund, correction)] == ["-3", "-2", "-1"]


def test_a_commitment_has_no_list_price_beside_the_usage_that_it_covers() -> None:
    commitment, plain = lines(
        {"ChargeCategory": "Purchase", "CommitmentDiscountId": "sp-1", "ListCost": "100"},
        {"ChargeCategory": "Purchase", "CommitmentDiscountId": "", "ListCost": "100"},
    )
    assert commitment.charge.list_cost == Money.zero("USD")
    assert plain.charge.list_cost == Money.of("100", "USD")


def test_a_row_is_final_when_invoiced_or_long_over() -> None:
    open_one, invoiced = lines({"InvoiceId": ""}, {"InvoiceId": "INV-7"})
    assert (open_one.charge.stage, invoiced.charge.stage) == (Stage.PROVISIONAL, Stage.FINAL)
    (later,) = lines({"InvoiceId": ""}, now=NOW + timedelta(days=15))
    assert later.charge.stage is Stage.FINAL


def test_the_key_is_of_all_that_is_not_money_quantity_or_invoice() -> None:
    """I06: the same row of a later export replaces the earlier one, its cost restated and its month closed."""
    same = lines(
        {"InvoiceId": "", "x_Own": "1"},
        {"InvoiceId": "INV-7", "x_Own": "1", "BilledCost": "9", "ListUnitPrice": "3", "ConsumedQuantity": "2"},
        {"InvoiceId": "INV-7", "x_Own": "2"},
        {"InvoiceId": "INV-7", "x_Own": "1", "ChargePeriodStart": "2026-11-05T09:00:00Z"},
    )
    keys = [line.charge.row_key for line in same]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    # A column that says nothing is as good as none.
    assert lines({"x_New": ""})[0].charge.row_key == lines()[0].charge.row_key


def test_keys_never_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """I06: the key of a row is the same in every version, or a bill that is imported again would count twice."""
    typed = {"Tags": [("team", "vision")], "ChargePeriodStart": datetime(2026, 11, 5, 10, tzinfo=UTC)}
    own = {"x_Own": "100%s", "ResourceName": "", **typed}
    keys = [lines(change)[0].charge.row_key for change in ({}, {**own, "x_Zero": -0.0}, {**own, "x_Zero": 0.0})]
    assert keys == [
        "focus/f936fd276a391502542f34856b644d24",
        "focus/f4d4aa1072b73024e8ce08869b516cbe",
        "focus/284c7d970baf77183e6abfe105697594",
    ]
    same = [{"ResourceId": f"i-{n % 3}", "x_Zero": (-0.0, 0.0)[n % 2], **typed} for n in range(12)]
    alone = [lines(change)[0].charge for change in same]
    assert [line.charge for line in lines(*same)] == alone
    assert len({charge.row_key for charge in alone}) == 6
    monkeypatch.setattr("costguard.app.bills.focus._KEPT", 2)  # what is kept of earlier rows is bounded
    assert [line.charge for line in lines(*same)] == alone


def test_a_row_whose_words_are_known_has_its_own_money_time_and_quantity() -> None:
    own = {
        "BilledCost": "-0.0000000025", "EffectiveCost": "7", "ListCost": "8", "ConsumedQuantity": "",
        "ChargePeriodStart": "2026-11-09", "ChargePeriodEnd": "2026-11-10",
    }  # fmt: skip
    first, second, third = lines({"InvoiceId": ""}, {**own, "InvoiceId": ""}, {**own, "InvoiceId": "INV-7"})
    assert first.charge == lines()[0].charge
    assert second.exact == Decimal("-0.0000000025")
    assert second.charge == lines(own)[0].charge
    assert (second.charge.billed_cost.nanos, second.charge.consumed_quantity) == (-2, None)
    assert second.charge.charge_period_start == datetime(2026, 11, 9, tzinfo=UTC)
    assert (second.charge.stage, third.charge.stage) == (Stage.PROVISIONAL, Stage.FINAL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"BilledCost": "", "ListCost": "x"}, "BilledCost: is empty"),
        ({"BilledCost": "1e10"}, "BilledCost: 1E.10 is more than an amount can be"),
        ({"ChargePeriodStart": "soon", "ListCost": "x"}, "ChargePeriodStart: 'soon' is not a time"),
        ({"ChargePeriodEnd": "NULL"}, "ChargePeriodEnd: is empty"),
        ({"ChargePeriodEnd": "2026-11-05T09:00:00Z"}, "ChargePeriodEnd: ends before it begins"),
        ({"EffectiveCost": "x", "ListCost": "y"}, "ListCost: 'y' is not a number"),
        ({"EffectiveCost": "x", "ConsumedQuantity": "y"}, "EffectiveCost: 'x' is not a number"),
        ({"ConsumedQuantity": "y"}, "ConsumedQuantity: 'y' is not a number"),
    ],
)
def test_a_mistake_is_the_same_whether_the_words_are_known(change: Mapping[str, object], message: str) -> None:
    for earlier in ([], [{}]):
        with pytest.raises(BillError, match=message):
            lines(*earlier, change)


def test_rows_that_are_left_out_are_asked_for_each_time() -> None:
    """The accounts that nobody configured are counted where they are looked up."""
    rows = focus({}, {}, {})
    layout = Focus(list(rows[0]), NOW)
    asked: list[object] = []
    assert [layout.line(said(row), lambda ids: asked.append(ids)) for row in rows] == [None] * 3
    assert len(asked) == 3


def test_an_ec2_resource_is_known_by_its_id() -> None:
    arn, other = lines(
        {"ResourceId": "arn:aws:ec2:us-east-1:111:instance/i-0abc"}, {"ResourceId": "arn:aws:s3:::bucket"}
    )
    assert (arn.charge.resource_id, other.charge.resource_id) == ("i-0abc", "arn:aws:s3:::bucket")


def test_account_ids_come_the_most_specific_first() -> None:
    rows = focus({"SubAccountId": "222"}, {"SubAccountId": "NULL"})
    layout = Focus(list(rows[0]), NOW)
    asked: list[list[str | None]] = []
    for row in rows:
        assert layout.line(said(row), lambda ids: asked.append(list(ids))) is None
    assert asked == [["222", "111"], [None, "111"]]
