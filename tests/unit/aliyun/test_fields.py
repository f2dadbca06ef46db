"""Values as Alibaba Cloud writes them."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.money import Money
from costguard_aliyun.fields import (
    known,
    millis,
    read_amount,
    read_bill_tags,
    read_price,
    read_tags,
    read_time,
    write_time,
)

AT = datetime(2026, 3, 5, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-05T12:30Z", AT),
        ("2026-03-05T12:30:00Z", AT),
        (" 2026-03-05T12:30:07Z\t", AT.replace(second=7)),
        ("2099-12-31T15:59Z", None),
        ("2999-09-08T16:00Z", None),
        ("", None),
        (None, None),
        ("yesterday", None),
        ("2026-03-05 12:30", None),
    ],
)
def test_times_come_in_two_forms_and_never_is_unknown(text: object, at: datetime | None) -> None:
    assert read_time(text) == at


def test_times_go_out_in_utc_and_in_milliseconds() -> None:
    beijing = AT.astimezone(ZoneInfo("Asia/Shanghai"))
    assert write_time(beijing) == "2026-03-05T12:30:00Z"
    assert millis(beijing) == 1_772_713_800_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12,345.67", "12345.67"),
        ("-1,234,567.89", "-1234567.89"),
        ("\t0.10 ", "0.1"),
        (Decimal("0.00000001"), "0.00000001"),
        (Decimal("1E-8"), "0.00000001"),
        (7, "7"),
        ("", "0"),
        (None, "0"),
    ],
)
def test_amounts_are_exact(value: object, text: str) -> None:
    """I06."""
    assert read_amount(value, "CNY") == Money.of(text, "CNY")


@pytest.mark.parametrize("value", ["a lot", 0.1, True, [], "NaN"])
def test_what_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        read_amount(value, "CNY")


def test_a_price_of_zero_or_nonsense_is_unknown() -> None:
    """H02."""
    assert read_price(Decimal("9.5"), "CNY") == Money.of("9.5", "CNY")
    assert [read_price(value, "CNY") for value in (0, Decimal("0.0"), "", None, "free", -1)] == [None] * 6


def test_tags_have_two_spellings_and_may_be_absent() -> None:
    assert read_tags({"Tags": {"Tag": [{"TagKey": "a", "TagValue": "1"}, {"TagKey": "b"}]}}) == {"a": "1", "b": ""}
    assert read_tags({"Tags": {"Tag": [{"Key": "a", "Value": "1"}]}}) == {"a": "1"}
    assert read_tags({}) == read_tags({"Tags": {"Tag": []}}) == {}


def test_a_bills_tags_are_one_text() -> None:
    assert read_bill_tags("key:owner value:张伟; key:acs:autoscaling:scalingGroupId value:asg-1; key:x value:") == {
        "owner": "张伟",
        "acs:autoscaling:scalingGroupId": "asg-1",
        "x": "",
    }
    assert read_bill_tags("") == {}


def test_only_what_is_known_is_kept() -> None:
    assert known({"a": "x", "b": "", "c": None, "d": 0, "e": 3}) == {"a": "x", "e": "3"}
