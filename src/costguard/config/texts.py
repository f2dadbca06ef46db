"""Small text types that the settings share: names, languages, currencies, exact decimals."""

import re
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_NOT_CURRENCIES = {
    "RMB": "CNY",
    "YUAN": "CNY",
    "人民币": "CNY",
    "元": "CNY",
    "¥": "CNY",
    "$": "USD",
    "美元": "USD",
    "CNH": "CNY",
}

Language = Literal["zh", "en"]
Mode = Literal["dry_run", "enforce"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


def _currency(text: str) -> str:
    if text.upper() in _NOT_CURRENCIES:
        raise ValueError(f"{text!r} is not an ISO 4217 currency; write {_NOT_CURRENCIES[text.upper()]}")
    if not re.fullmatch(r"[A-Z]{3}", text):
        raise ValueError(f"{text!r} is not an ISO 4217 currency; write three capital letters, like CNY")
    return text


def _rate(value: object) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, float):
        raise ValueError(f'a rate is exact text: write "{value}", in quotes')
    if isinstance(value, bool) or not _DECIMAL.fullmatch(str(value).strip()) or not Decimal(str(value)):
        raise ValueError('not a rate: write a positive decimal number in quotes, like "7.10"')
    return Decimal(str(value).strip())


Currency = Annotated[str, AfterValidator(_currency)]
ExactRate = Annotated[
    Decimal,
    BeforeValidator(_rate),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?$", "examples": ["7.10"]}),
]
