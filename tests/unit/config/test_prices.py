"""Price books."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from costguard.config.prices import price_book
from costguard.domain.money import Money
from costguard.domain.price import Price
from costguard.domain.resource import ChargeType
from costguard.errors import ConfigError

SHANGHAI = ZoneInfo("Asia/Shanghai")


def read(tmp_path: Path, text: str) -> tuple[tuple[Price, ...], list[str]]:
    errors: list[ConfigError] = []
    (tmp_path / "book.yaml").write_text(text)
    prices = price_book(tmp_path / "book.yaml", "book.yaml", SHANGHAI, {"aliyun", "simulated"}, errors)
    return prices, [str(error) for error in errors]


def test_a_price_book_becomes_dated_prices(tmp_path: Path) -> None:
    prices, errors = read(
        tmp_path,
        """\
- {provider: aliyun, region: cn-beijing, sku: ecs.gn7i, price: "8.00 CNY/h", from: 2026-03-01}
- {provider: simulated, sku: rack.8xA800, price: "240 CNY/day", charge: owned}
""",
    )
    assert errors == []
    first, second = prices
    assert first.per_hour == Money.of("8", "CNY")
    assert first.since == datetime(2026, 2, 28, 16, tzinfo=UTC), "the local day begins in the configured zone"
    assert first.key.charge_type is ChargeType.UNKNOWN, "for every charge type"
    assert (first.source, second.key.region) == ("book", "*")
    assert second.per_hour == Money.of("10", "CNY")
    assert second.key.charge_type is ChargeType.OWNED


def test_mistakes_are_told_at_their_place(tmp_path: Path) -> None:
    """H01, I12: neither 0 nor a negative amount is a price; a float is no money."""
    _, errors = read(
        tmp_path,
        """\
- {provider: aliyun, sku: a, price: 8.0}
- {provider: aliyun, sku: a, price: "0 CNY/h"}
- {provider: aliyun, sku: a, price: "-1 CNY/h"}
- {provider: aliyun, sku: a, price: "1.5 CNY/gpu/h"}
- {provider: alyun, sku: a, price: "1 CNY/h"}
- {provider: aliyun, sku: a, price: "¥8/时", zone: b}
""",
    )
    assert errors == [
        'book.yaml:1:37: [0].price: not a rate: 8.0; write it like "12 CNY/h" or "1.5 CNY/gpu/h"',
        "book.yaml:2:37: [1].price: a price is more than 0; leave the line out when it is not known",
        "book.yaml:3:37: [2].price: a price is more than 0; leave the line out when it is not known",
        'book.yaml:4:37: [3].price: write the price of the whole machine, like "8.00 CNY/h"',
        "book.yaml:5:14: [4].provider: unknown provider 'alyun' (did you mean aliyun?)",
        'book.yaml:6:37: [5].price: not a rate: \'¥8/时\'; write it like "12 CNY/h" or "1.5 CNY/gpu/h" '
        '(write "8 CNY/h")',
        "book.yaml:6:45: [5].zone: unknown key",
    ]
    assert "a price book is a list" in read(tmp_path, "a: 1")[1][0]
