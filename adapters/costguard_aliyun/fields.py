"""Values as Alibaba Cloud writes them: two forms of times, sentinels, commas in amounts, three shapes of tags. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from costguard.domain.money import Money

# "Never" is 2099-12-31T15:59Z on instances and 2999-09-08T16:00Z on disks.
_NEVER = 2099
_TAG = re.compile(r"key:(.*?) value:(.*?)(?:; |;?\s*$)", re.DOTALL)


def read_time(text: Any) -> datetime | None:
    """Aware UTC, from a form with or without seconds. Empty, a sentinel and nonsense are None: unknown."""
    if not isinstance(text, str):
        return None
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"):
        try:
            at = datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return at if at.year < _NEVER else None
    return None


def write_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def millis(at: datetime) -> int:
    """Epoch milliseconds."""
    return int(at.timestamp() * 1000)


def read_amount(value: Any, currency: str) -> Money:
    """A bill's amount, exact: a number, or a text with thousands commas, maybe negative; absent and empty are 0.

    Raises ValueError for anything else.
    """
    if value is None:
        return Money.zero(currency)
    if isinstance(value, str):
        text = value.strip().replace(",", "")
        return Money.of(text, currency) if text else Money.zero(currency)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Money.of(value, currency)
    raise ValueError("an amount of an unknown type")


def read_price(value: Any, currency: str) -> Money | None:
    """A price; zero, absent and nonsense are unknown."""
    try:
        price = read_amount(value, currency)
    except ValueError:
        return None
    return price if price.nanos > 0 else None


def read_tags(item: Mapping[str, Any]) -> dict[str, str]:
    """`Tags.Tag[]` with TagKey/TagValue (ECS) or Key/Value (VPC). An untagged resource has no `Tags` at all."""
    found = {}
    for tag in (item.get("Tags") or {}).get("Tag") or ():
        key = tag.get("TagKey") or tag.get("Key")
        if key:
            found[str(key)] = str(tag.get("TagValue") or tag.get("Value") or "")
    return found


def read_bill_tags(text: str) -> dict[str, str]:
    """A bill's tag column: `key:k1 value:v1; key:k2 value:v2`."""
    return {match[1].strip(): match[2].strip() for match in _TAG.finditer(text) if match[1].strip()}


def known(facts: Mapping[str, Any]) -> dict[str, str]:
    """As texts; what is empty, 0 or absent is left out."""
    return {key: str(value) for key, value in facts.items() if value}
