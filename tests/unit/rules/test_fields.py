"""Quantities as people write them: one spelling each, with its unit; what is written back can be read again."""

from datetime import time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from costguard.domain.money import Money
from costguard.rules.fields import (
    ByteRate,
    ClockText,
    Cores,
    Duration,
    MoneyText,
    Percent,
    Rate,
    RateText,
    TimeGrammar,
    Zone,
)

ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "duration": TypeAdapter(Duration),
    "percent": TypeAdapter(Percent),
    "money": TypeAdapter(MoneyText),
    "rate": TypeAdapter(RateText),
    "cores": TypeAdapter(Cores),
    "bytes": TypeAdapter(ByteRate),
    "zone": TypeAdapter(Zone),
    "clock": TypeAdapter(ClockText),
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("duration", "45m", timedelta(minutes=45)),
        ("duration", "1h30m", timedelta(minutes=90)),
        ("duration", "7d", timedelta(days=7)),
        ("percent", "5%", 5.0),
        ("percent", "0.5 %", 0.5),
        ("money", "12.50 CNY", Money.of("12.50", "CNY")),
        ("rate", "12 CNY/h", Rate(Money.of("12", "CNY"))),
        ("rate", "1.5 CNY/gpu/h", Rate(Money.of("1.5", "CNY"), per_gpu=True)),
        ("rate", "240 CNY/day", Rate(Money.of("10", "CNY"))),
        ("cores", "1 core", 1.0),
        ("cores", "0.5 cores", 0.5),
        ("cores", "off", None),
        ("bytes", "1MB/s", 1e6),
        ("bytes", "1MiB/s", 2.0**20),
        ("bytes", "off", None),
        ("zone", "Asia/Shanghai", ZoneInfo("Asia/Shanghai")),
        ("zone", "UTC", ZoneInfo("UTC")),
        ("clock", "20:00", time(20)),
        ("clock", "24:00", time(0)),
    ],
)
def test_what_a_person_writes(kind: str, text: str, value: object) -> None:
    assert ADAPTERS[kind].validate_python(text) == value


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        ("duration", 45, "a duration needs a unit: write 45m, 45h or 45d"),
        ("duration", "45", ""),
        ("duration", True, "needs a unit"),
        ("percent", 5, "a percentage needs its sign: write 5%"),
        ("percent", "five", "write it like 5%"),
        ("money", 12.5, 'money is text with a currency: write "12.5 CNY"'),
        ("money", "¥90,000", 'write it like "12.50 CNY"'),
        ("rate", "12", 'write it like "12 CNY/h"'),
        ("cores", 1, "write it like"),
        ("bytes", "1 Mbit", "write it like 1MB/s"),
        ("clock", "25:00", "not a time of day"),
        ("clock", "24:30", "not a time of day"),
    ],
)
def test_quantities_without_a_unit_are_refused(kind: str, wrong: object, told: str) -> None:
    """A22: the unit is part of the value, and the refusal says how to write it."""
    with pytest.raises(ValidationError) as caught:
        ADAPTERS[kind].validate_python(wrong)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["et", "cst", "CST", "utc+8", "GMT+8", "EST", "Asia/Peking", "+08:00"])
def test_zone_abbreviations_are_refused_with_the_name_to_use(text: str) -> None:
    """M06: CST is four zones; costguard asks for an IANA name."""
    with pytest.raises(ValidationError, match=r"IANA name, like \w+(/\w+)?"):
        ADAPTERS["zone"].validate_python(text)


@given(value=st.integers(0, 10**12))
def test_data_rates_are_read_back_as_written(value: int) -> None:
    written = ADAPTERS["bytes"].dump_python(float(value))
    assert ADAPTERS["bytes"].validate_python(written) == pytest.approx(value, rel=1e-12)


@given(seconds=st.integers(1, 10**8))
def test_durations_are_read_back_as_written(seconds: int) -> None:
    """A22: round trip."""
    span = timedelta(seconds=seconds)
    assert ADAPTERS["duration"].validate_python(ADAPTERS["duration"].dump_python(span)) == span


@given(cores=st.decimals(Decimal("0.1"), Decimal(128), places=1))
def test_cores_are_read_back_as_written(cores: Decimal) -> None:
    assert ADAPTERS["cores"].validate_python(ADAPTERS["cores"].dump_python(float(cores))) == float(cores)


def test_a_rate_per_gpu_is_unknown_when_the_gpus_are() -> None:
    rate = Rate(Money.of("1.5", "CNY"), per_gpu=True)
    assert rate.of(Decimal(8)) == Money.of("12", "CNY")
    assert rate.of(Decimal("0.5")) == Money.of("0.75", "CNY")
    assert rate.of(None) is None
    assert Rate(Money.of("12", "CNY")).of(None) == Money.of("12", "CNY")


@pytest.mark.parametrize("days", ["fri-mon", ["sat", "sun"], "workdays", "sun"])
def test_days(days: object) -> None:
    TimeGrammar.model_validate({"days": days, "from": "20:00", "to": "07:00"})


@pytest.mark.parametrize("days", ["weekdays", ["sat", "sunday"], [], "mon-fri-sun"])
def test_unknown_days_are_refused(days: object) -> None:
    with pytest.raises(ValidationError, match="unknown days"):
        TimeGrammar.model_validate({"days": days})


def test_equal_ends_are_refused() -> None:
    """D09: nobody can tell whether that is nothing or the whole day."""
    with pytest.raises(ValidationError, match="leave both out for the whole day"):
        TimeGrammar.model_validate({"from": "20:00", "to": "20:00"})
