"""A few instance types with their figures and prices, as Tencent Cloud publishes such figures."""

from dataclasses import dataclass
from decimal import Decimal

from costguard.testing.cloud import SkuFacts


@dataclass(frozen=True)
class Type:
    """``gpu_gib`` per card, ``watts`` the board's power limit, ``yuan`` the list price per hour.

    ``steps``: the hourly price after 96 and after 360 hours, of types with tiered prices.
    """

    cpu: int
    memory: int
    gpu: str = ""
    cards: str = "0"
    gpu_gib: float = 0.0
    watts: int = 0
    yuan: str = "1.00"
    local_disk: bool = False
    steps: tuple[str, str] | None = None


TYPES = {
    "S5.LARGE8": Type(4, 8, yuan="0.68", steps=("0.55", "0.42")),
    "GN7.2XLARGE32": Type(8, 32, "NVIDIA T4", "1", 16, 70, "8.68"),
    "GN7.20XLARGE320": Type(80, 320, "NVIDIA T4", "4", 16, 70, "43.44"),
    "GN10Xp.20XLARGE320": Type(80, 320, "NVIDIA V100", "8", 32, 300, "120.56"),
    "GT4.41XLARGE948": Type(164, 948, "NVIDIA A100", "8", 40, 400, "188.42"),
    "GN7.LARGE20": Type(4, 20, "NVIDIA T4", "0.25", 4, 70, "3.16"),
    "GN8.LARGE56": Type(6, 56, "NVIDIA P40", "1", 24, 250, "12.06", local_disk=True),
}

SKUS = tuple(
    SkuFacts(name, TYPES[name].gpu or None, Decimal(TYPES[name].cards), int(TYPES[name].gpu_gib * 1024) or None)
    for name in ("S5.LARGE8", "GN7.2XLARGE32", "GN7.20XLARGE320", "GN10Xp.20XLARGE320", "GN7.LARGE20")
)

UNSEEN = Type(8, 32)


def known(name: str) -> Type:
    """The type, or plain figures for one that the catalogue does not hold yet."""
    return TYPES.get(name, UNSEEN)


def family(name: str) -> str:
    return name.split(".")[0]


def number(text: str) -> float | int:
    """A count as JSON says it: whole numbers without a point."""
    value = float(text)
    return int(value) if value.is_integer() else value
