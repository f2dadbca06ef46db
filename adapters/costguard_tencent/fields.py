"""Values as Tencent Cloud writes them: three forms of times, amounts with "-", fen, two shapes of tags. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.money import Money

BEIJING = ZoneInfo("Asia/Shanghai")


def read_time(text: Any) -> datetime | None:
    """Aware UTC, from `…Z` or `…+00:00`, or from `YYYY-MM-DD hh:mm:ss`, which is Beijing's time.

    Empty, `0000-00-00 00:00:00` and nonsense are None: unknown.
    """
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=BEIJING)).astimezone(UTC)


def write_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def read_amount(value: Any, currency: str) -> Money | None:
    """A bill's amount, exact: yuan as text with up to eight decimals, maybe negative. `-`, empty, absent: not told.

    Raises ValueError for anything else.
    """
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().replace(",", "")
        return Money.of(text, currency) if text not in {"", "-"} else None
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Money.of(value, currency)
    raise ValueError("an amount of an unknown type")


def read_fen(value: Any, currency: str) -> Money | None:
    """An amount of hundredths, as balances are."""
    amount = read_amount(value, currency)
    return amount.times(Decimal("0.01")) if amount is not None else None


def read_price(value: Any, currency: str) -> Money | None:
    """A price; zero (a field that is not used), absent and nonsense are unknown."""
    try:
        price = read_amount(value, currency)
    except ValueError:
        return None
    return price if price is not None and price.nanos > 0 else None


def read_tags(tags: Iterable[Mapping[str, Any]] | None) -> dict[str, str]:
    """`Key`/`Value` on resources, `TagKey`/`TagValue` on bills. An untagged resource has none or null."""
    found = {}
    for tag in tags or ():
        key = tag.get("Key") or tag.get("TagKey")
        if key:
            found[str(key)] = str(tag.get("Value") or tag.get("TagValue") or "")
    return found


def gib_to_mib(gib: Any) -> int | None:
    return int(Decimal(str(gib)) * 1024) if gib else None


def known(facts: Mapping[str, Any]) -> dict[str, str]:
    """As texts; what is empty, 0 or absent is left out."""
    return {key: str(value) for key, value in facts.items() if value}
