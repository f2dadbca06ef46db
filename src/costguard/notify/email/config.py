"""The configuration of an e-mail channel: the server, the login, who writes to whom."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import parseaddr
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr, model_validator

from costguard.notify.settings import ChannelConfig

_PORTS = {"smtps": 465, "smtp": 587}
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def is_address(text: str) -> bool:
    """Whether a text is one bare address, ``somebody@example.com``, that every server takes."""
    return _ADDRESS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Relay:
    """The server that takes our mail. ``implicit``: TLS from the first byte, else STARTTLS; never without TLS."""

    host: str
    port: int
    implicit: bool
    user: str = ""
    password: str = field(default="", repr=False)


def relay(url: str) -> Relay:
    """The server of ``smtps://user:password@host:465`` or ``smtp://user:password@host:587``; user and password are
    URL-encoded. Raises ValueError, without any part of the URL in it."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ValueError("not an SMTP address; encode / ? # [ ] in the password as %2F %3F %23 %5B %5D") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("not an SMTP address: smtps://user:password@host:465, or smtp:// and port 587 for STARTTLS")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("nothing follows the port; encode / ? # in the password as %2F %3F %23")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password):
        raise ValueError("a user needs a password, and a password a user")
    if not (user + password).isascii() or not (user + password).isprintable():
        raise ValueError("user and password must be ASCII")
    return Relay(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "smtps", user, password)


def check_mail(smtp: str, to: Sequence[str], sender: str | None) -> None:
    """Raises ValueError, without any secret in it, for what cannot work."""
    user = relay(smtp).user
    if not to:
        raise ValueError("to needs at least one address")
    for text in to:
        if not is_address(text):
            raise ValueError(f"{text!r} is not an e-mail address")
    if sender is None and not is_address(user):
        why = "the SMTP user is no e-mail address" if user else "smtp names no user"
        raise ValueError(f"from is needed, like costguard@example.com: {why}")
    shown = sender or user
    if not is_address(parseaddr(shown)[1]) or not shown.isprintable():
        raise ValueError(f"from must be an e-mail address, perhaps with a name, not {shown!r}")


class EmailConfig(ChannelConfig):
    """``smtp`` holds the password, so it is a secret. ``sender`` may have a display name; the SMTP user is the sender
    when it is left out."""

    kind: Literal["email"] = "email"
    smtp: SecretStr
    to: tuple[str, ...]
    sender: str | None = None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_mail(self.smtp.get_secret_value(), self.to, self.sender)
        return self

    @property
    def relay(self) -> Relay:
        return relay(self.smtp.get_secret_value())

    @property
    def shown_sender(self) -> str:
        """The From header: an address, perhaps with a name."""
        return self.sender or self.relay.user

    @property
    def sender_address(self) -> str:
        """The bare address of the sender."""
        return parseaddr(self.shown_sender)[1]

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the whole address of the server, and the password in it."""
        url = self.smtp.get_secret_value()
        return tuple(part for part in (url, self.relay.password, urlsplit(url.strip()).password or "") if part)
