"""What the pages need of the configuration."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from costguard.engine.settings import Owner
from costguard.rules.currency import Rates


@dataclass(frozen=True, slots=True)
class PageSettings:
    """``currency`` is the reporting currency, ``demo_speed`` how many times faster than life (0: not the demo)."""

    zone: ZoneInfo
    currency: str
    mode: str
    rates: Rates
    owners: tuple[Owner, ...]
    demo_speed: int = 0
