"""Rows of AWS Cost and Usage Reports as charges."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from costguard.app.bills.cur import Cur, fits, fold
from costguard.app.bills.layout import Owned
from costguard.domain.charge import ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.errors import BillError
from costguard.store.lines import Line
from tests.unit.app.bills.made import cur, said

NOW = datetime(2026, 12, 2, tzinfo=UTC)


def lines(*changes: Mapping[str, object], snake: bool = False) -> list[Line]:
    rows = cur(*changes)
    layout = Cur([fold(name) if snake else name for name in rows[0]], NOW)
    found = [layout.line(said(row), lambda ids: Owned("prod", "aws")) for row in rows]
    return [line for line in found if line is not None]


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("lineItem/UnblendedCost", "line_item_unblended_cost"),
        ("identity/LineItemId", "identity_line_item_id"),
        ("reservation/ReservationARN", "reservation_reservation_a_r_n"),
        ("savingsPlan/SavingsPlanEffectiveCost", "savings_plan_savings_plan_effective_cost"),
        ("pricing/publicOnDemandCost", "pricing_public_on_demand_cost"),
        ("line_item_unblended_cost", "line_item_unblended_cost"),
    ],
)
def test_both_spellings_are_one_name(name: str, folded: str) -> None:
    assert fold(name) == folded


@pytest.mark.parametrize("snake", [False, True])
def test_a_row_becomes_a_charge(snake: bool) -> None:
    (line,) = lines(snake=snake)
    charge = line.charge
    assert line.exact == Decimal("0.8048")
    assert charge.row_key == "cur/li-1/2026-11-05T10:00:00Z/2026-11-05T11:00:00Z"
    assert charge.billed_cost == charge.effective_cost == charge.list_cost == Money.of("0.8048", "USD")
    assert (charge.charge_category, charge.stage) == (ChargeCategory.USAGE, Stage.PROVISIONAL)
    assert (charge.service_name, charge.region_id, charge.resource_id) == (
        "Amazon Elastic Compute Cloud", "us-east-1", "i-1",
    )  # fmt: skip
    assert (charge.pricing_category, charge.charge_period_start.hour) == ("Standard", 10)
    if not snake:
        assert charge.tags == {"team": "vision"}


def test_cur_2_keeps_products_and_tags_in_maps() -> None:
    maps = {
        "resourceTags/user:team": None, "product/ProductName": None, "resource_tags": '{"user_team": "nlp"}',
        "product": [("product_name", "Amazon SageMaker")],
    }  # fmt: skip
    (line,) = lines(maps, snake=True)
    assert (line.charge.tags, line.charge.service_name) == ({"team": "nlp"}, "Amazon SageMaker")


def test_tags_keep_the_case_of_their_names() -> None:
    (line,) = lines(
        {"resourceTags/user:Cost Center": "7", "resourceTags/aws:createdBy": "x", "resourceTags/user:a": ""}
    )
    assert line.charge.tags == {"team": "vision", "Cost Center": "7", "aws:createdBy": "x"}


def test_without_a_product_name_the_code_is_the_service() -> None:
    (line,) = lines({"product/ProductName": ""})
    assert line.charge.service_name == "AmazonEC2"


@pytest.mark.parametrize(
    ("change", "category", "billed", "effective", "listed"),
    [
        ({"lineItem/LineItemType": "DiscountedUsage", "lineItem/UnblendedCost": "0",
          "reservation/EffectiveCost": "0.5"},
         ChargeCategory.USAGE, "0", "0.5", "0.8048"),
        ({"lineItem/LineItemType": "SavingsPlanCoveredUsage", "savingsPlan/SavingsPlanEffectiveCost": "0.6"},
         ChargeCategory.USAGE, "0.8048", "0.6", "0.8048"),
        ({"lineItem/LineItemType": "SavingsPlanNegation", "lineItem/UnblendedCost": "-0.8048"},
         ChargeCategory.ADJUSTMENT, "-0.8048", "0", "0"),
        ({"lineItem/LineItemType": "SavingsPlanRecurringFee", "lineItem/UnblendedCost": "1",
          "savingsPlan/TotalCommitmentToDate": "1", "savingsPlan/UsedCommitment": "0.75"},
         ChargeCategory.PURCHASE, "1", "0.25", "0"),
        ({"lineItem/LineItemType": "RIFee", "lineItem/UnblendedCost": "300", "reservation/UnusedRecurringFee": "20",
          "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod": "10"},
         ChargeCategory.PURCHASE, "300", "30", "0"),
        ({"lineItem/LineItemType": "Fee", "lineItem/UnblendedCost": "900", "reservation/ReservationARN": "arn:1"},
         ChargeCategory.PURCHASE, "900", "0", "0"),
        ({"lineItem/LineItemType": "Fee", "lineItem/UnblendedCost": "29"}, ChargeCategory.PURCHASE, "29", "29", "29"),
        ({"lineItem/LineItemType": "Tax", "lineItem/UnblendedCost": "7"}, ChargeCategory.TAX, "7", "7", "7"),
        ({"lineItem/LineItemType": "Credit", "lineItem/UnblendedCost": "-7"}, ChargeCategory.CREDIT, "-7", "-7", "-7"),
        ({"lineItem/LineItemType": "Refund", "lineItem/UnblendedCost": "-7"},
         ChargeCategory.ADJUSTMENT, "-7", "-7", "-7"),
        ({"lineItem/LineItemType": "EdpDiscount", "lineItem/UnblendedCost": "-1"},
         ChargeCategory.ADJUSTMENT, "-1", "-1", "0"),
    ],
)  # fmt: skip
def test_line_item_types(
    change: Mapping[str, object], category: ChargeCategory, billed: str, effective: str, listed: str
) -> None:
    """I02: billed adds up to the invoice; effective is AWS's amortised cost; list counts covered usage once."""
    charge = lines(change)[0].charge
    assert charge.charge_category is category
    assert [money.plain() for money in (charge.billed_cost, charge.effective_cost, charge.list_cost)] == [
        billed, effective, listed,
    ]  # fmt: skip


def test_what_is_not_told_is_said() -> None:
    rows = cur(
        {"lineItem/LineItemType": "DiscountedUsage", "pricing/publicOnDemandCost": ""},
        {"lineItem/LineItemType": "SomethingNew"},
    )
    layout = Cur(list(rows[0]), NOW)
    found = [layout.line(said(row), lambda ids: Owned("prod", "aws")) for row in rows]
    assert [line.charge.effective_cost.plain() for line in found if line] == ["0.8048", "0.8048"]
    assert layout.notes == {
        "rows of the line item type DiscountedUsage without an amortised cost: taken as billed": 1,
        "rows without pricing/publicOnDemandCost: listed as billed": 1,
        "rows of the line item type SomethingNew: counted as adjustments": 1,
    }


def test_spot_usage_is_dynamic_and_an_invoice_makes_a_row_final() -> None:
    (line,) = lines({"lineItem/UsageType": "SpotUsage:g6.xlarge", "bill/InvoiceId": "7"})
    assert (line.charge.pricing_category, line.charge.stage) == ("Dynamic", Stage.FINAL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lineItem/UnblendedCost": ""}, "lineItem/UnblendedCost: is empty"),
        ({"identity/LineItemId": ""}, "identity/LineItemId: is empty"),
        ({"lineItem/CurrencyCode": "dollar"}, "lineItem/CurrencyCode: 'dollar' is not a currency"),
        ({"lineItem/UsageEndDate": "2026-11-05T09:00:00Z"}, "lineItem/UsageEndDate: ends before it begins"),
        ({"pricing/publicOnDemandCost": "x"}, "pricing/publicOnDemandCost: 'x' is not a number"),
    ],
)
def test_a_mistake_names_its_column_as_the_file_spells_it(change: Mapping[str, object], message: str) -> None:
    with pytest.raises(BillError, match=message):
        lines(change)


def test_missing_columns_are_all_named() -> None:
    with pytest.raises(BillError, match="it has no column bill_payer_account_id, line_item_unblended_cost"):
        lines({"lineItem/UnblendedCost": None, "bill/PayerAccountId": None})
    assert fits(["identity/LineItemId"])
    assert not fits(["BilledCost", "ChargeCategory"])
