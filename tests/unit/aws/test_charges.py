"""Cost Explorer against the strict account."""

from datetime import UTC, date, datetime, timedelta

import pytest

from costguard.domain.charge import ChargeCategory, Stage
from costguard.domain.money import Money, total
from costguard.errors import BadResponse
from costguard.testing.clock import NOON
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import connect

MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
EC2 = "Amazon Elastic Compute Cloud - Compute"


def asked(server: AwsServer) -> tuple[str, str]:
    period = server.calls[0].params["TimePeriod"]
    return period["Start"], period["End"]


def test_record_types_are_kept_apart(aws: AwsConnection, server: AwsServer) -> None:
    """I02: a credit never hides what was used; tax and refunds are told as such."""
    day = date(2026, 3, 2)
    server.costs.lines = [
        (day, EC2, "Usage", "100.00", "80.00"),
        (day, EC2, "Credit", "-100.00", "-100.00"),
        (day, EC2, "Refund", "-5.00", "-5.00"),
        (day, EC2, "SavingsPlanRecurringFee", "24.00", "0"),
        (day, EC2, "SavingsPlanCoveredUsage", "40.00", "24.00"),
        (day, EC2, "SavingsPlanNegation", "-40.00", "0"),
        (day, "Tax", "Tax", "1.23", "1.23"),
        (day, EC2, "Fee of 2027", "7.00", "7.00"),
        (day, "AWS Support", "Support fee", "29.00", "29.00"),
    ]
    charges = list(aws.charges(MARCH, APRIL))
    assert [(c.charge_description, c.charge_category) for c in charges] == [
        ("Usage", ChargeCategory.USAGE),
        ("Credit", ChargeCategory.CREDIT),
        ("Refund", ChargeCategory.ADJUSTMENT),
        ("SavingsPlanRecurringFee", ChargeCategory.PURCHASE),
        ("SavingsPlanCoveredUsage", ChargeCategory.USAGE),
        ("SavingsPlanNegation", ChargeCategory.ADJUSTMENT),
        ("Tax", ChargeCategory.TAX),
        ("Fee of 2027", ChargeCategory.ADJUSTMENT),
        ("Support fee", ChargeCategory.PURCHASE),
    ]
    assert total(c.billed_cost for c in charges) == (Money.of("56.23", "USD"),)
    assert {c.charge_description: c.list_cost.plain() for c in charges if c.list_cost} == {
        "Usage": "100", "SavingsPlanCoveredUsage": "40", "Tax": "1.23", "Refund": "-5", "Credit": "-100",
        "Support fee": "29",
    }, "a tax or a fee is no negative discount"  # fmt: skip
    usage = charges[0]
    assert (usage.billed_cost, usage.effective_cost) == (Money.of("100", "USD"), Money.of("80", "USD"))
    assert (usage.charge_period_start, usage.charge_period_end) == (
        MARCH + timedelta(days=1),
        MARCH + timedelta(days=2),
    )


def test_open_days_are_estimated(aws: AwsConnection, server: AwsServer) -> None:
    server.costs.lines = [(date(2026, 2, 28), EC2, "Usage", "1", "1"), (date(2026, 3, 1), EC2, "Usage", "2", "2")]
    found = {c.charge_period_start.date(): c.stage for c in aws.charges(MARCH - timedelta(days=1), APRIL)}
    assert found == {date(2026, 2, 28): Stage.FINAL, date(2026, 3, 1): Stage.ESTIMATED}


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (MARCH, APRIL, ("2026-03-01", "2026-03-06")),  # not beyond today
        (NOON - timedelta(hours=1), NOON, ("2026-03-01", "2026-03-06")),  # whole months
        (datetime(2026, 1, 31, 23, 30, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC), ("2026-01-01", "2026-02-01")),
        (datetime(2020, 1, 1, tzinfo=UTC), MARCH, ("2025-03-01", "2026-03-01")),  # thirteen months
    ],
)
def test_what_is_asked_for(
    aws: AwsConnection, server: AwsServer, start: datetime, end: datetime, expected: tuple[str, str]
) -> None:
    """I07: the end is exclusive, days are UTC."""
    list(aws.charges(start, end))
    assert asked(server) == expected


def test_a_month_that_has_not_begun_costs_no_request(aws: AwsConnection, server: AwsServer) -> None:
    assert list(aws.charges(APRIL, APRIL + timedelta(days=30))) == []
    assert server.calls == []


def test_an_inverted_period_is_a_mistake(aws: AwsConnection) -> None:
    """I23."""
    with pytest.raises(ValueError, match="empty period"):
        list(aws.charges(APRIL, MARCH))


def test_a_young_account_has_no_charges(aws: AwsConnection, server: AwsServer) -> None:
    server.costs.young = True
    assert list(aws.charges(MARCH, APRIL)) == []


def test_pages_that_never_end_are_capped(aws: AwsConnection, server: AwsServer) -> None:
    """Every page costs 0.01 USD."""
    server.costs.endless = True
    with pytest.raises(BadResponse):
        list(aws.charges(MARCH, APRIL))
    assert server.request_count() == 20


def test_amounts_that_are_no_numbers_are_a_bad_response(aws: AwsConnection, server: AwsServer) -> None:
    server.costs.lines = [(date(2026, 3, 2), EC2, "Usage", "a lot", "1")]
    with pytest.raises(BadResponse):
        list(aws.charges(MARCH, APRIL))


def test_cost_explorer_is_asked_where_it_is(server: AwsServer) -> None:
    list(connect(server, regions=("eu-central-1",)).charges(MARCH, APRIL))
    assert {call.region for call in server.calls} == {"us-east-1"}
