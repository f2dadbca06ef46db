"""Savings are price times the hours in which the box really did not run."""

from datetime import UTC, datetime, timedelta

from costguard.domain.money import Money
from costguard.domain.resource import Kind, ResourceRef
from costguard.domain.saving import Saving

AT = datetime(2026, 3, 5, 10, 0, tzinfo=UTC)
REF = ResourceRef("aliyun", "prod", "cn-beijing", Kind.VM, "i-1")


def test_only_what_lies_in_the_period_counts() -> None:
    """I20: it counts from the confirmed stop until the box runs again, and no further."""
    hour = timedelta(hours=1)
    saving = Saving("a", REF, "idle", Money.of("10", "CNY"), AT, AT + 3 * hour)
    assert saving.amount(AT - hour, AT + hour) == Money.of("10", "CNY")
    assert saving.amount(AT + hour, AT + 24 * hour) == Money.of("20", "CNY")
    assert saving.amount(AT + 3 * hour, AT + 24 * hour) == Money.zero("CNY")
    still = Saving("a", REF, "idle", Money.of("10", "CNY"), AT)
    assert still.amount(AT, AT + timedelta(minutes=90)) == Money.of("15", "CNY")
