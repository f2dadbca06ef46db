"""Field types of policies and settings: one spelling for each quantity, always with its unit.

Each accepts the text that a person writes and yields a domain value; a wrong spelling raises ValueError
with a sentence that says how to write it. All carry a JSON Schema of their own.
"""

import re
from dataclasses import dataclass
from datetime import time as clock_time
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from costguard.domain.money import Money
from costguard.domain.time import DAYS, DayKind, TimeRange, parse_duration

_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_MONEY = re.compile(rf"({_NUMBER})\s+([A-Z]{{3}})")
_RATE = re.compile(rf"({_NUMBER})\s+([A-Z]{{3}})\s*/\s*(?:(gpu)\s*/\s*)?(h|hour|day|d)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_CORES = re.compile(r"(\d+(?:\.\d+)?)\s*cores?")
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?i?B)/s")
_CLOCK = re.compile(r"([01]\d|2[0-4]):([0-5]\d)")
_BYTE_UNITS = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip
_ABBREVIATIONS = {
    "cst": "Asia/Shanghai", "bjt": "Asia/Shanghai", "prc": "Asia/Shanghai", "utc+8": "Asia/Shanghai",
    "gmt+8": "Asia/Shanghai", "+08:00": "Asia/Shanghai", "et": "America/New_York",
    "est": "America/New_York", "edt": "America/New_York", "pt": "America/Los_Angeles",
    "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "cet": "Europe/Berlin",
    "bst": "Europe/London", "jst": "Asia/Tokyo", "gmt": "UTC", "z": "UTC", "ist": "Asia/Kolkata",
}  # fmt: skip


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool | int | float):
        raise ValueError(f"a duration needs a unit: write {value}m, {value}h or {value}d")
    return parse_duration(str(value))


def _duration_text(span: timedelta) -> str:
    """Exact, unlike the two units that people are shown: a policy's hash is made of it."""
    days, rest = span.days, span.seconds
    counts = (days, "d"), (rest // 3600, "h"), (rest // 60 % 60, "m"), (rest % 60, "s")
    return "".join(f"{count}{unit}" for count, unit in counts if count) or "0s"


def percent(value: object) -> float:
    """``"5%"`` → 5.0. Raises ValueError for a bare number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        share = f"{value * 100:g}% or " if 0 < value < 1 else ""
        raise ValueError(f"a percentage needs its sign: write {share}{value}%")
    match = _PERCENT.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"not a percentage: {value!r}; write it like 5%")
    return float(match[1])


def _percent_field(value: object) -> object:
    # A plain float only comes from our own defaults and from model copies: what YAML wrote has a type of its own.
    return value if type(value) is float else percent(value)


def parse_money(value: object) -> Money:
    """``"12.50 CNY"`` → Money. Raises ValueError for symbols, thousands separators and floats."""
    if isinstance(value, Money):
        return value
    if isinstance(value, int | float):
        raise ValueError(f'money is text with a currency: write "{value} CNY"')
    match = _MONEY.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f'not an amount: {value!r}; write it like "12.50 CNY"')
    return Money.of(match[1], match[2])


@dataclass(frozen=True, slots=True)
class Rate:
    """A price per hour, of the whole resource or of each GPU."""

    per_hour: Money
    per_gpu: bool = False

    def of(self, gpus: Decimal | None) -> Money | None:
        """The rate for a resource with that many GPUs; None when it is per GPU and none are known."""
        if not self.per_gpu:
            return self.per_hour
        return self.per_hour.times(gpus) if gpus else None

    def __str__(self) -> str:
        return f"{self.per_hour.plain()} {self.per_hour.currency}/{'gpu/' if self.per_gpu else ''}h"


def parse_rate(value: object) -> Rate:
    """``"12 CNY/h"``, ``"1.5 CNY/gpu/h"``, ``"200 CNY/day"`` (÷ 24). Raises ValueError."""
    if isinstance(value, Rate):
        return value
    match = _RATE.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f'not a rate: {value!r}; write it like "12 CNY/h" or "1.5 CNY/gpu/h"')
    amount = Decimal(match[1]) / (24 if match[4] in ("day", "d") else 1)
    return Rate(Money.of(amount, match[2]), match[3] is not None)


def _cores(value: object) -> float | None:
    if value is None or value == "off":
        return None
    if type(value) is float:
        return value
    match = _CORES.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f'not a number of cores: {value!r}; write it like "1 core", or off')
    return float(match[1])


def _byte_rate(value: object) -> float | None:
    if value is None or value == "off":
        return None
    if type(value) is float:
        return value
    match = _BYTES.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"not a data rate: {value!r}; write it like 1MB/s, or off")
    return float(match[1]) * _BYTE_UNITS[match[2]]


def _cores_text(value: float | None) -> str:
    return "off" if value is None else f"{value:g} core{'' if value == 1 else 's'}"


def _byte_rate_text(value: float | None) -> str:
    """In the largest decimal unit that keeps it at or above one, so that it can be read back."""
    if value is None:
        return "off"
    unit = next((u for u in ("GB", "MB", "KB") if value >= _BYTE_UNITS[u]), "B")
    return f"{Decimal(repr(value)) / _BYTE_UNITS[unit]:f}".rstrip("0").rstrip(".") + f"{unit}/s"


# Known to be there as they are written.
_USUAL_ZONES = frozenset(_ABBREVIATIONS.values())


@cache
def _zones() -> frozenset[str]:
    # A walk over the whole zone database: once is enough, and only for a zone that is not a usual one.
    return frozenset(available_timezones())


def parse_zone(value: object) -> ZoneInfo:
    """An IANA zone. Abbreviations are refused with the IANA name to use (CST is four zones)."""
    if isinstance(value, ZoneInfo):
        return value
    text = str(value).strip()
    if text.lower() in _ABBREVIATIONS and text != "UTC":
        name = _ABBREVIATIONS[text.lower()]
        raise ValueError(f"{text!r} is not a time zone name; write the IANA name, like {name}")
    if text not in _USUAL_ZONES and text not in _zones():
        raise ValueError(f"unknown time zone {text!r}; write an IANA name, like Asia/Shanghai")
    return ZoneInfo(text)


def parse_clock(value: object) -> clock_time:
    """``"20:00"`` → 20:00 (``"24:00"`` is the end of the day, 00:00). Raises ValueError."""
    if isinstance(value, clock_time):
        return value
    match = _CLOCK.fullmatch(str(value).strip())
    if not match or (match[1] == "24" and match[2] != "00"):
        raise ValueError(f'not a time of day: {value!r}; write it like "20:00", in quotes')
    return clock_time(int(match[1]) % 24, int(match[2]))


def _text_schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(_duration_text, return_type=str),
    _text_schema(r"^(\d+[smhdw])+$", "45m"),
]
Percent = Annotated[
    float,
    BeforeValidator(_percent_field),
    Field(ge=0),
    PlainSerializer(lambda v: f"{v:g}%", return_type=str),
    _text_schema(r"^\d+(\.\d+)?\s*%$", "5%"),
]
MoneyText = Annotated[
    Money,
    PlainValidator(parse_money),
    PlainSerializer(lambda m: f"{m.plain()} {m.currency}", return_type=str),
    _text_schema(r"^\d+(\.\d+)? [A-Z]{3}$", "12.50 CNY"),
]
RateText = Annotated[
    Rate,
    PlainValidator(parse_rate),
    PlainSerializer(str, return_type=str),
    _text_schema(r"^\d+(\.\d+)? [A-Z]{3}/(gpu/)?(h|day)$", "12 CNY/h"),
]
Cores = Annotated[
    float | None,
    BeforeValidator(_cores),
    PlainSerializer(_cores_text, return_type=str),
    _text_schema(r"^(off|\d+(\.\d+)? cores?)$", "1 core"),
]
ByteRate = Annotated[
    float | None,
    BeforeValidator(_byte_rate),
    PlainSerializer(_byte_rate_text, return_type=str),
    _text_schema(r"^(off|\d+(\.\d+)?\s*[KMG]?i?B/s)$", "1MB/s"),
]
Zone = Annotated[
    ZoneInfo,
    BeforeValidator(parse_zone),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["Asia/Shanghai"]}),
]
ClockText = Annotated[
    clock_time,
    BeforeValidator(parse_clock),
    PlainSerializer(lambda t: t.strftime("%H:%M"), return_type=str),
    _text_schema(r"^([01]\d|2[0-4]):[0-5]\d$", "20:00"),
]


class Strict(BaseModel):
    """Base of everything a person writes: unknown keys are errors, values are frozen."""

    # Built at first use: importing every rule and setting must stay cheap for commands that need a few of them.
    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True, defer_build=True
    )


_DAY_RANGE = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)-(mon|tue|wed|thu|fri|sat|sun)")
DaySpec = Literal["workdays", "restdays", "daily"] | str | list[str]


class TimeGrammar(Strict):
    """``{days: workdays|restdays|daily|mon-fri|[sat, sun], from, to, timezone?}``.

    ``from`` alone runs to midnight, ``to`` alone starts at midnight, neither is the whole day;
    ``to`` ≤ ``from`` runs over midnight and belongs to the day on which it began.
    """

    days: DaySpec = Field("daily", description="workdays, restdays (by the calendar), daily, mon-fri, [sat]")
    start: ClockText | None = Field(None, alias="from", description="when it begins; midnight when left out")
    end: ClockText | None = Field(None, alias="to", description="when it ends; midnight when left out")
    timezone: Zone | None = Field(None, description="IANA zone; the configuration's when left out")

    @model_validator(mode="after")
    def _sensible(self) -> "TimeGrammar":
        _days(self.days)
        if self.start is not None and self.start == self.end:
            raise ValueError("from and to are equal; leave both out for the whole day")
        return self

    def to_range(self, default: ZoneInfo) -> TimeRange:
        return TimeRange(_days(self.days), self.start, self.end, self.timezone or default)


def _days(value: DaySpec) -> DayKind | frozenset[int]:
    match value:
        case "workdays" | "restdays" | "daily":
            return value
        case str():
            if found := _DAY_RANGE.fullmatch(value):
                first, last = DAYS.index(found[1]), DAYS.index(found[2])
                span = (last - first) % 7 + 1
                return frozenset((first + i) % 7 for i in range(span))
            value = [value]
    unknown = [d for d in value if d not in DAYS]
    if unknown or not value:
        raise ValueError(f"unknown days {unknown}; write workdays, restdays, daily, mon-fri or a list like [sat, sun]")
    return frozenset(DAYS.index(d) for d in value)
