"""Which configured texts are secret, for the redactor.

A secret is every SecretStr of the settings and of an adapter's credentials, and the parts of an address that give
access: its password, its token, its last path segment. What is no secret by its type, an account's endpoint above
all, may still be an address with a password in it. They are read again with every reload.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, SecretStr

_TELLING = ("token", "key", "secret", "sign", "password")
_LONG = 8


def collect(*values: Any) -> tuple[str, ...]:
    """Every secret text inside models, mappings and sequences, longest first, each once."""
    found = {secret for value in values for secret in _walk(value)}
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield from _parts(value.get_secret_value())
    elif isinstance(value, str):
        yield from _login(value)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _walk(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _walk(inner)


def _login(address: str) -> Iterator[str]:
    """The password of an address, as it stands there and as it is meant; a long name without one is a token."""
    if "://" not in address or "@" not in address:
        return
    try:
        parts = urlsplit(address)
    except ValueError:
        return  # no address after all
    alone = parts.username if parts.scheme in ("http", "https") and len(parts.username or "") >= _LONG else None
    if word := alone if parts.password is None else parts.password:
        yield word
        yield unquote(word)


def _parts(secret: str) -> Iterator[str]:
    """The secret itself, or of an address only the parts that give access."""
    if "://" not in secret:
        if secret:
            yield secret
        return
    yield from _login(secret)
    parts = urlsplit(secret)
    telling = [text for key, text in parse_qsl(parts.query) if any(word in key.lower() for word in _TELLING)]
    yield from (text for text in telling if text)
    last = parts.path.rstrip("/").rpartition("/")[2]
    if parts.scheme in ("http", "https"):
        if len(last) >= _LONG and any(c.isdigit() or c.isupper() for c in last):
            yield last
        if parts.password or telling or len(last) >= _LONG:
            yield secret
