"""One mail over SMTP, in one deadline: name look-up, connecting, TLS, login, writing, every reply.

smtplib's own limit starts anew with each read: a server that drips one byte a second never runs into it. Here every
socket operation gets only what is left of the whole. TLS is never optional and certificates are always verified.
"""

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import cache

import httpcore
import httpx

from costguard.errors import CostguardError
from costguard.net.clock import SystemClock
from costguard.net.deadline import addresses
from costguard.notify.email.config import Relay

_MACHINE = SystemClock()
_CHUNK = 16 * 1024


class SmtpRefused(CostguardError):
    """The server said no. ``stage`` ∈ greeting, STARTTLS, AUTH, MAIL, RCPT, DATA; ``code`` is its reply (not one of
    SMTP when something else answers); ``address`` is the recipient that was refused, empty when all were."""

    def __init__(self, stage: str, code: int, address: str = "") -> None:
        self.stage, self.code, self.address = stage, code, address
        super().__init__(f"{stage}: {code}")


class SmtpFailed(CostguardError):
    """No whole conversation. ``written``: the message was going out, so it may have been taken. ``insecure``: nothing
    was sent because the connection would not have been safe."""

    def __init__(self, what: str, *, written: bool = False, insecure: bool = False) -> None:
        self.what, self.written, self.insecure = what, written, insecure
        super().__init__(what)


@cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class SmtpClient:
    """Sends mails, each over a connection of its own; thread-safe.

    ``before_call`` runs before each: the composition root passes the check that no write transaction is open. ``tls``
    makes the context that verifies certificates.
    """

    def __init__(
        self,
        *,
        deadline: timedelta = timedelta(seconds=15),
        before_call: Callable[[], None] | None = None,
        tls: Callable[[], ssl.SSLContext] = _trusted,
    ) -> None:
        self._deadline, self._before_call, self._tls = deadline, before_call, tls

    def send(
        self, relay: Relay, sender: str, to: Sequence[str], content: bytes, *, required: Collection[str] = ()
    ) -> tuple[str, ...]:
        """One mail to all of ``to``; returns the recipients that were refused.

        Nothing is sent when one of ``required`` or all are refused, or when one is to be tried again later. Raises
        SmtpRefused, SmtpFailed.
        """
        if self._before_call:
            self._before_call()
        seconds = self._deadline.total_seconds()
        ends = _MACHINE.monotonic() + seconds
        with contextlib.closing(_Session(relay, sender.rpartition("@")[2], ends)) as session:
            try:
                session.open(self._tls())
                refused = session.envelope(sender, to, len(content), required)
                session.post(content)
                return refused
            except ssl.SSLCertVerificationError:
                raise SmtpFailed("the server's certificate is not valid for its name", insecure=True) from None
            except smtplib.SMTPResponseException as error:
                raise SmtpRefused(session.stage, error.smtp_code) from None
            except (OSError, smtplib.SMTPException):
                # From None: smtplib's exceptions may quote what was said, the login included.
                late = _MACHINE.monotonic() >= ends
                what = f"no answer within {seconds:g} s" if late else "the connection broke"
                raise SmtpFailed(what if session.dialled else "cannot connect", written=session.written) from None


class _Reader:
    """What smtplib reads replies from; each read takes at most what is left of the deadline."""

    def __init__(self, sock: socket.socket, left: Callable[[], float]) -> None:
        self._sock, self._left, self._buffer = sock, left, b""

    def readline(self, limit: int) -> bytes:
        while b"\n" not in self._buffer and len(self._buffer) < limit:
            self._sock.settimeout(self._left())
            chunk = self._sock.recv(4096)
            if not chunk:
                break
            self._buffer += chunk
        end = self._buffer.find(b"\n") + 1 or len(self._buffer)
        line, self._buffer = self._buffer[: min(end, limit)], self._buffer[min(end, limit) :]
        return line

    def close(self) -> None:
        """The socket is the session's."""


class _Session(smtplib.SMTP):
    """One conversation. ``ends`` in monotonic seconds; ``domain`` is what we call ourselves (our own name is not known
    to others, and looking it up may take for ever)."""

    def __init__(self, relay: Relay, domain: str, ends: float) -> None:
        super().__init__(local_hostname=domain)
        self._relay, self._ends = relay, ends
        self._host = relay.host  # the name that starttls() verifies
        self.stage = "greeting"
        self.dialled = self.written = False

    def open(self, tls: ssl.SSLContext) -> None:
        """Connects, makes it safe, logs in."""
        sock = self._dial()
        self.sock = tls.wrap_socket(sock, server_hostname=self._host) if self._relay.implicit else sock
        self.dialled = True
        self._expect(220, self.getreply())
        self.ehlo_or_helo_if_needed()
        if not self._relay.implicit:
            self.stage = "STARTTLS"
            if not self.has_extn("starttls"):
                raise SmtpFailed("the server does not offer STARTTLS", insecure=True)
            self.starttls(context=tls)
            self.ehlo_or_helo_if_needed()
        if self._relay.user:
            self._login()

    def envelope(self, sender: str, to: Sequence[str], size: int, required: Collection[str]) -> tuple[str, ...]:
        """Sender and recipients; the refused ones."""
        self.stage = "MAIL"
        most = self.esmtp_features.get("size", "")
        if most.isdigit() and 0 < int(most) < size:
            raise SmtpRefused("DATA", 552)
        self._expect(250, self.mail(sender))
        self.stage = "RCPT"
        refused: dict[str, int] = {}
        for address in to:
            code, _ = self.rcpt(address)
            if code not in (250, 251):
                if not 500 <= code < 600:
                    raise SmtpRefused("RCPT", code, address)
                refused[address] = code
        if len(refused) == len(to):
            raise SmtpRefused("RCPT", refused[to[0]])
        for address in required:
            if address in refused:
                raise SmtpRefused("RCPT", refused[address], address)
        return tuple(refused)

    def post(self, content: bytes) -> None:
        """The message itself."""
        self.stage, self.written = "DATA", True
        self._expect(250, self.data(content))
        with contextlib.suppress(OSError, smtplib.SMTPException):  # it was taken, whatever comes now
            self.putcmd("QUIT")

    def send(self, s: bytes | bytearray | memoryview | str) -> None:  # type: ignore[override]
        raw = s.encode("ascii") if isinstance(s, str) else bytes(s)
        for start in range(0, len(raw), _CHUNK):
            if self.sock is not None:
                self.sock.settimeout(self._left())
            super().send(raw[start : start + _CHUNK])

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Reader(self.sock, self._left)
        return super().getreply()

    def _left(self) -> float:
        left = self._ends - _MACHINE.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline of the call has passed")
        return left

    def _dial(self) -> socket.socket:
        failure: OSError = TimeoutError()
        try:
            found = addresses(self._relay.host, self._relay.port, self._left())
        except (httpcore.ConnectError, httpcore.ConnectTimeout):
            raise SmtpFailed("the server's name cannot be looked up") from None
        for address in found:
            try:
                return socket.create_connection((address, self._relay.port), self._left())
            except OSError as error:
                failure = error
        raise failure

    def _login(self) -> None:
        """One mechanism, one try: several wrong ones lock accounts."""
        self.stage = "AUTH"
        self.user, self.password = self._relay.user, self._relay.password
        offered = self.esmtp_features.get("auth", "").upper().split()
        if "PLAIN" in offered:
            self.auth("PLAIN", self.auth_plain)
        elif "LOGIN" in offered:
            self.auth("LOGIN", self.auth_login)
        else:
            raise SmtpRefused("AUTH", 504)

    def _expect(self, code: int, reply: tuple[int, bytes]) -> None:
        if reply[0] != code:
            raise SmtpRefused(self.stage, reply[0])
