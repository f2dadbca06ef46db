"""Redaction: the last net under every log line, error and stored sentence.

Code does not log secrets in the first place; this catches what a library or a vendor's answer echoes.
A secret is masked as it is, JSON-escaped, URL-encoded, and inside base64 (as in Basic authorization), the
longest first, so that a short secret that is part of a long one does not leave the rest readable.
"""

import base64
import json
import logging
import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping, MutableMapping
from urllib.parse import quote, quote_plus

MASK = "***"
_PASSING = 64
_SHORT = 4


class Redactor:
    """Masks registered secrets. Thread-safe; an empty secret is ignored.

    A secret of fewer than four characters is masked only where it stands as a word of its own: anything
    else would blank out ordinary text.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._secrets: set[str] = set()
        self._passing: deque[str] = deque(maxlen=_PASSING)
        self._pattern: re.Pattern[str] | None = None
        self.register(*secrets)

    def register(self, *secrets: str) -> None:
        """Adds secrets; the old ones stay masked (a rotated key is still a key in yesterday's log)."""
        with self._lock:
            self._secrets.update(s for s in secrets if s)
            self._compile()

    def passing(self, secret: str) -> None:
        """Adds a secret that is good for a while only (a token, a ticket); the last few dozen of them are masked."""
        with self._lock:
            if secret and secret not in self._passing:
                self._passing.append(secret)
                self._compile()

    def _compile(self) -> None:
        forms = {form for secret in (*self._secrets, *self._passing) for form in _forms(secret)}
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(_expression, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """The text with every form of every secret replaced by ``***``."""
        pattern = self._pattern
        return pattern.sub(MASK, text) if pattern else text

    def value(self, value: object) -> object:
        """The same for strings inside mappings and sequences; other values come back as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "backslashreplace"))
        if isinstance(value, Mapping):
            return {self.value(k): self.value(v) for k, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(v) for v in value]
        if isinstance(value, BaseException):
            return self.text(str(value))
        return value

    def __call__(self, logger: object, method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
        """A structlog processor: put it last before the renderer."""
        return {key: self.value(item) if key != "exc_info" else item for key, item in event.items()}

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"


class RedactingFilter(logging.Filter):
    """Masks a record's message, arguments, exception and stack. Goes on handlers: a filter on a logger
    does not see the records of its children."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor
        self._formatter = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg, record.args = self._redactor.text(record.getMessage()), ()
        else:
            record.msg = self._redactor.value(record.msg)
        if record.exc_info and not record.exc_text:
            record.exc_text = self._formatter.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._redactor.text(record.exc_text)
        if record.stack_info:
            record.stack_info = self._redactor.text(record.stack_info)
        return True


def _forms(secret: str) -> Iterable[str]:
    yield secret
    if len(secret) < _SHORT:
        return
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    raw = secret.encode()
    if len(raw) >= 8:
        # Inside "user:secret" the secret begins at any of three places of a base64 group; the characters
        # that also depend on a neighbour are cut off.
        for lead in range(3):
            encoded = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
            first = -(-lead * 8 // 6)
            last = (lead + len(raw)) * 8 // 6
            yield encoded[first:last]
            yield encoded[first:last].replace("+", "-").replace("/", "_")


def _expression(form: str) -> str:
    if len(form) < _SHORT:
        return rf"(?<!\w){re.escape(form)}(?!\w)"
    return re.escape(form)
