"""E-mail: one mail to everybody of ``to`` and to the owners that it is about.

4xx replies are tried again, 5xx need a person or a shorter message. The Message-ID is the notice's own and stays the
same over all attempts, so servers and programs that look at it show a repeat once; there is no promise of that, so
the channel does not call itself idempotent.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError
from costguard.notify.email.config import EmailConfig, is_address
from costguard.notify.email.smtp import SmtpClient, SmtpFailed, SmtpRefused
from costguard.notify.story import clean, cut
from costguard.ports import Clock, Message

log = logging.getLogger(__name__)

SUBJECT = 255  # what Exchange keeps of a subject, in characters
PER_MINUTE = 30
# Headers folded and encoded for SMTP, bodies in quoted-printable or base64: no server needs 8BITMIME.
_POLICY = policy.SMTP.clone(cte_type="7bit")

_LOGIN = "are user and password in `smtp` right? many providers want an app password (授权码)"
_SENDER = "may this user send from this address? look at `from`"
_NOBODY = "look at the addresses in `to`"
_OWNER = "look at the owner's `email`"
_CERTIFICATE = "is the host's name right? `smtp` takes only servers with a valid certificate"
_STARTTLS = "use smtps:// and port 465, or a server with STARTTLS"
HINTS = (_LOGIN, _SENDER, _NOBODY, _OWNER, _CERTIFICATE, _STARTTLS)


class Email:
    """A mailbox or a list."""

    kind = "email"
    render_format = "email"
    idempotent = False

    def __init__(self, config: EmailConfig, clock: Clock, smtp: SmtpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._config, self._clock, self._smtp = config, clock, smtp

    def __repr__(self) -> str:
        return f"Email({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt. ``mentions`` are addresses that must be accepted, too. Raises DeliveryError."""
        owners = [address for address in message.mentions if address not in self._config.to]
        if any(not is_address(address) for address in owners):
            raise self._owner("the owner's address is not one")
        to = list(dict.fromkeys([*self._config.to, *owners]))
        content = _mail(self._config, message, to, self._clock.now()).as_bytes()
        try:
            refused = self._smtp.send(
                self._config.relay, self._config.sender_address, to, content, required=message.mentions
            )
        except SmtpFailed as error:
            raise self._failed(error) from None
        except SmtpRefused as error:
            raise self._refused(error) from None
        if refused:
            log.warning("channel %s: %d of %d recipients were refused", self.name, len(refused), len(to))
        return Receipt()

    def _failed(self, error: SmtpFailed) -> DeliveryError:
        if error.insecure:
            hint = _STARTTLS if "STARTTLS" in error.what else _CERTIFICATE
            return DeliveryError(self.name, "auth", error.what, code="tls", hint=hint)
        return DeliveryError(self.name, "maybe_delivered" if error.written else "timeout", error.what)

    def _refused(self, error: SmtpRefused) -> DeliveryError:
        code = str(error.code)
        if not 400 <= error.code < 600:
            return DeliveryError(self.name, "server", "this is no mail server's answer", code=code)
        if error.code < 500:
            return DeliveryError(self.name, "server", "the mail server asks to try again later", code=code)
        if error.code == 530 or error.stage == "AUTH":
            return DeliveryError(self.name, "auth", "the mail server refused the login", code=code, hint=_LOGIN)
        match error.stage:
            case "DATA":
                return DeliveryError(self.name, "payload", "the mail server refused the message", code=code)
            case "MAIL":
                return DeliveryError(self.name, "auth", "the mail server refused the sender", code=code, hint=_SENDER)
            case "RCPT" if error.address:
                return self._owner("the mail server refused the owner's address", code)
            case "RCPT":
                detail = "the mail server refused every recipient"
                return DeliveryError(self.name, "auth", detail, code=code, hint=_NOBODY)
        return DeliveryError(self.name, "auth", "the mail server refuses to talk", code=code)

    def _owner(self, detail: str, code: str = "") -> DeliveryError:
        """One wrong address must not break the channel for all, nor may its owner count as warned: it is tried again
        and, for a warning, handed to the fallback."""
        return DeliveryError(self.name, "server", detail, code=code, hint=_OWNER)


def _mail(config: EmailConfig, message: Message, to: list[str], now: datetime) -> EmailMessage:
    domain = config.sender_address.rpartition("@")[2]
    mail = EmailMessage(_POLICY)
    mail["Subject"] = cut(clean(message.title), SUBJECT)
    mail["From"] = config.shown_sender
    mail["To"] = ", ".join(to)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{message.idem_key}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    if thread := message.payload.get("thread"):
        root = f"<alert.{thread}@{domain}>"
        mail["References"] = root
        if message.payload.get("follow_up"):
            mail["In-Reply-To"] = root
    mail.set_content(message.body)
    if (page := message.payload.get("html")) and not message.plain:
        mail.add_alternative(str(page), subtype="html")
    if (attachment := message.payload.get("attachment")) and isinstance(attachment, Mapping) and not message.plain:
        subtype = str(attachment["type"]).removeprefix("text/")
        mail.add_attachment(str(attachment["content"]), subtype=subtype, filename=str(attachment["name"]))
    return mail
