"""A mail submission server on loopback with real TLS: 465 (TLS from the first byte) and 587 (STARTTLS) behaviour.

Strict where RFC 5321, 5322 and 6409 are: commands in their order, no password and no mail before TLS, bare line feeds,
long lines, unannounced 8-bit bytes and doubled or missing headers refused, dots unstuffed.
"""

import base64
import contextlib
import re
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from costguard.errors import DeliveryReason
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault

USER, PASSWORD = "costguard@example.com", "p@ss:w/rd-Qx7vKm2LsT9"
SUBJECT = 255  # what Exchange keeps of a subject, in characters
SILENCE_S = 60.0


@dataclass(frozen=True)
class Certificate:
    """Files in PEM; ``cert`` is self-signed, so it is also what a client has to trust."""

    cert: Path
    key: Path


def make_certificate(folder: Path, host: str = "127.0.0.1") -> Certificate:
    """A certificate for ``host``, good for two days."""
    cert, key = folder / f"{host}.crt", folder / f"{host}.key"
    name = f"IP:{host}" if re.fullmatch(r"[\d.]+", host) else f"DNS:{host}"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", f"/CN={host}", "-addext", f"subjectAltName={name}", "-keyout", str(key), "-out", str(cert),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return Certificate(cert, key)


_SERVER: frozenset[DeliveryReason] = frozenset({"server"})
_PERSON: frozenset[DeliveryReason] = frozenset({"auth"})
_OURS: frozenset[DeliveryReason] = frozenset({"payload"})

# Where in the session a scripted reply comes; the rest answers the message itself.
_STAGES = {421: "greeting", 454: "AUTH", 534: "AUTH", 535: "AUTH", 530: "MAIL", 553: "MAIL", 450: "RCPT", 550: "RCPT"}

ANSWERS: Mapping[str, PlatformAnswer] = {
    "queued": PlatformAnswer(250, "2.0.0 Ok: queued as 4F1B22C0D1", frozenset()),
    "shutting down": PlatformAnswer(421, "4.3.2 Service shutting down", _SERVER),
    "greylisted": PlatformAnswer(450, "4.2.0 Greylisted, try again", _SERVER),
    "local error": PlatformAnswer(451, "4.3.0 Local error in processing", _SERVER),
    "full": PlatformAnswer(452, "4.3.1 Insufficient system storage", _SERVER),
    "login later": PlatformAnswer(454, "4.7.0 Temporary authentication failure", _SERVER),
    "no login": PlatformAnswer(530, "5.7.0 Authentication required", _PERSON),
    "weak login": PlatformAnswer(534, "5.7.9 Application-specific password required", _PERSON),
    "wrong password": PlatformAnswer(535, "5.7.8 Authentication credentials invalid", _PERSON),
    "no such mailbox": PlatformAnswer(550, "5.1.1 Mailbox unavailable", _PERSON),
    "too large": PlatformAnswer(552, "5.3.4 Message size exceeds fixed limit", _OURS),
    "sender refused": PlatformAnswer(553, "5.7.1 Sender address rejected: not owned by user", _PERSON),
    "spam": PlatformAnswer(554, "5.7.1 Message rejected as spam", _OURS),
}


@dataclass
class Session:
    """One connection: its commands in order (passwords masked), whether they came under TLS."""

    commands: list[str] = field(default_factory=list)
    tls: bool = False


@dataclass(frozen=True)
class Mail:
    """A mail that was taken: envelope, raw bytes, and the parsed message."""

    sender: str
    recipients: tuple[str, ...]
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found

    def part(self, subtype: str) -> str:
        """The text of the plain or HTML part, empty when there is none."""
        body = self.message.get_body((subtype,))
        return str(body.get_content()).replace("\r\n", "\n") if body else ""

    @cached_property
    def delivered(self) -> Delivered:
        html = _Html()
        html.feed(self.part("html"))
        return Delivered(
            str(self.message["Subject"]), self.part("plain") + "\n" + html.text, self.recipients, tuple(html.links)
        )


class SmtpServer:
    """``with SmtpServer(certificate) as server``: ``server.mail_url()`` is what a channel is configured with.

    ``implicit``: TLS from the first byte, else STARTTLS. ``offers``: what EHLO announces after TLS. ``unknown``:
    mailboxes that are refused. ``drip``: seconds between the bytes of the greeting.
    """

    def __init__(self, certificate: Certificate, clock: FakeClock | None = None, *, implicit: bool = False) -> None:
        self.clock, self.implicit = clock or FakeClock(), implicit
        self.lock = threading.RLock()
        self.offers = ["SIZE 1000000", "8BITMIME", "AUTH PLAIN LOGIN"]
        self.starttls = True
        self.unknown: set[str] = set()
        self.drip = 0.0
        self.sessions: list[Session] = []
        self.mails: list[Mail] = []
        self.crashes: list[BaseException] = []
        self._plans: list[tuple[Fault, int | None]] = []
        self._scripted: list[PlatformAnswer] = []
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate.cert, certificate.key)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def mail_url(self, host: str = "127.0.0.1") -> str:
        scheme = "smtps" if self.implicit else "smtp"
        return f"{scheme}://costguard%40example.com:p%40ss%3Aw%2Frd-Qx7vKm2LsT9@{host}:{self.port}"

    # The channel contract's PlatformFixture: the limited part is the subject.

    answers = ANSWERS
    limit = SUBJECT
    unit: Literal["characters"] = "characters"
    signed = False
    secrets: tuple[str, ...] = (PASSWORD,)

    def message(self, text: str) -> Message:
        return make_message(text, body="30 分钟后关机 train-a800-03")

    def measured(self) -> int:
        with self.lock:
            return len(self.mails[-1].delivered.notification)

    def answer(self, answer: PlatformAnswer) -> None:
        with self.lock:
            self._scripted.append(answer)

    def fail(self, fault: Fault, *, times: int | None = None) -> None:
        with self.lock:
            self._plans.append((fault, times))

    def skew(self, span: timedelta) -> None:
        """Nothing is signed, nothing depends on the platform's clock."""

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [mail.delivered for mail in self.mails]

    def request_count(self) -> int:
        with self.lock:
            return len(self.sessions)

    # The wire.

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self.lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)
        for thread in (self._accepting, *self._threads):
            thread.join(timeout=10)
        if self.crashes and error is None:
            raise AssertionError("SmtpServer crashed") from self.crashes[0]

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        session, talk = Session(), None
        with self.lock:
            self.sessions.append(session)
            scripted = self._scripted.pop(0) if self._scripted else None
            fault = None if scripted else self._next_fault()
        try:
            if fault is Fault.RESET:
                _reset(connection)
                return
            if fault is Fault.SILENT:
                self._closing.wait(SILENCE_S)
                return
            if self.implicit:
                connection = self.tls.wrap_socket(connection, server_side=True)
                session.tls = True
            with self.lock:
                self._open.add(connection)
            talk = _Talk(self, connection, session, scripted, fault)
            talk.run()
        except (OSError, ValueError) as error:
            # The client went away or would not talk TLS with us; anything else is a fault of this file.
            if not isinstance(error, OSError):
                self.crashes.append(error)
        finally:
            connection = talk.connection if talk else connection
            with self.lock:
                self._open.discard(connection)
            connection.close()

    def _next_fault(self) -> Fault | None:
        if not self._plans:
            return None
        fault, times = self._plans[0]
        if times is not None:
            self._plans[0] = (fault, times - 1)
            if times <= 1:
                self._plans.pop(0)
        return fault


_FAULTS = {
    Fault.THROTTLED: PlatformAnswer(421, "4.7.0 Too many connections", _SERVER),
    Fault.SERVER_ERROR: PlatformAnswer(451, "4.3.0 Local error in processing", _SERVER),
    Fault.UNAUTHENTICATED: PlatformAnswer(535, "5.7.8 Authentication credentials invalid", _PERSON),
    Fault.FORBIDDEN: PlatformAnswer(553, "5.7.1 Sender address rejected", _PERSON),
}


class _Talk:
    """One conversation."""

    def __init__(
        self,
        server: SmtpServer,
        connection: socket.socket,
        session: Session,
        scripted: PlatformAnswer | None,
        fault: Fault | None,
    ) -> None:
        self.server, self.connection, self.session, self.fault = server, connection, session, fault
        scripted = scripted or _FAULTS.get(fault) if fault else scripted
        # A reply that is none (a portal's page, half an object) comes as it is, in place of the last one.
        known = scripted is None or scripted in (*ANSWERS.values(), *_FAULTS.values())
        self.reply = f"{scripted.status} {scripted.body}" if scripted and known else scripted.body if scripted else None
        self.stage = _STAGES.get(scripted.status, "message") if scripted and known else "message"
        self.reader = connection.makefile("rb")
        self.greeted = self.authorised = False
        self.sender: str | None = None
        self.recipients: list[str] = []
        self.eight_bit = False

    def run(self) -> None:
        try:
            self._run()
        finally:
            self.reader.close()

    def _run(self) -> None:
        if self.fault is Fault.HTML:
            self.connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>portal</html>")
            return
        if self.fault is Fault.TRUNCATED:
            self.connection.sendall(b"22")
            return
        if not self._scripted("greeting"):
            self._say("220 mail.example.com ESMTP", self.server.drip)
        while line := self.reader.readline(2048):
            if not line.endswith(b"\r\n"):
                self._say("500 5.5.2 bare line feed")
                return
            command = line.decode("ascii").rstrip("\r\n")
            verb = command.split(" ", 1)[0].upper()
            self.session.commands.append("AUTH ***" if verb == "AUTH" else verb + command[len(verb) :])
            if verb == "QUIT":
                self._say("221 2.0.0 Bye")
                return
            if not self._scripted(verb) and not self._command(verb, command):
                return

    def _command(self, verb: str, command: str) -> bool:
        """Answers one command; False ends the conversation."""
        match verb:
            case "EHLO":
                self.greeted = True
                self._say_all(["mail.example.com", *self._offers()])
            case "STARTTLS" if self.server.starttls and not self.session.tls and self.greeted:
                self._upgrade()
            case "RSET" | "NOOP":
                self._say("250 2.0.0 Ok")
            case "AUTH" if self.session.tls and self.greeted:
                self._authenticate(command)
            case "MAIL" if not self.authorised:
                self._say("530 5.7.0 Authentication required")
            case "MAIL" if found := re.fullmatch(r"MAIL FROM:<([^<>\s]+)>((?: [A-Z0-9]+(?:=\S+)?)*)", command, re.I):
                self.sender, self.recipients = found[1], []
                self.eight_bit = "BODY=8BITMIME" in found[2].upper()
                self._say("250 2.1.0 Ok")
            case "RCPT" if self.sender and (found := re.fullmatch(r"RCPT TO:<([^<>\s]+@[^<>\s]+)>", command, re.I)):
                if found[1] in self.server.unknown:
                    self._say("550 5.1.1 Mailbox unavailable")
                else:
                    self.recipients.append(found[1])
                    self._say("250 2.1.5 Ok")
            case "DATA" if self.recipients:
                return self._data()
            case "EHLO" | "STARTTLS" | "AUTH" | "MAIL" | "RCPT" | "DATA":
                self._say("503 5.5.1 Bad sequence of commands")
            case _:
                self._say("502 5.5.2 Command not recognized")
        return True

    def _offers(self) -> list[str]:
        if self.session.tls:
            return self.server.offers
        return ["8BITMIME", *(["STARTTLS"] if self.server.starttls else [])]

    def _upgrade(self) -> None:
        self._say("220 2.0.0 Ready to start TLS")
        self.reader.close()
        with self.server.lock:
            self.server._open.discard(self.connection)
            self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
            self.server._open.add(self.connection)
        self.reader = self.connection.makefile("rb")
        self.session.tls, self.greeted = True, False

    def _authenticate(self, command: str) -> None:
        parts = command.split(" ")
        if parts[1].upper() == "PLAIN" and len(parts) == 3:
            given = base64.b64decode(parts[2]).decode().split("\0")[1:]
        elif parts[1].upper() == "LOGIN":
            given = [base64.b64decode(parts[2]).decode()] if len(parts) == 3 else [self._ask("Username:")]
            given.append(self._ask("Password:"))
        else:
            self._say("504 5.5.4 Unrecognized authentication type")
            return
        self.authorised = given == [USER, PASSWORD]
        self._say("235 2.7.0 Ok" if self.authorised else "535 5.7.8 Authentication credentials invalid")

    def _ask(self, what: str) -> str:
        self._say("334 " + base64.b64encode(what.encode()).decode())
        return base64.b64decode(self.reader.readline(2048)).decode()

    def _data(self) -> bool:
        self._say("354 End data with <CR><LF>.<CR><LF>")
        lines = list(self._lines())
        raw = b"".join(line[1:] if line.startswith(b".") else line for line in lines)
        if self._scripted("message"):
            return True
        if complaint := self._complaint(lines, raw):
            self._say(complaint)
            return True
        with self.server.lock:
            self.server.mails.append(Mail(self.sender or "", tuple(self.recipients), raw))
        if self.fault is Fault.LOST_ANSWER:
            _reset(self.connection)
            return False
        self.sender = None
        self._say("250 2.0.0 Ok: queued as 4F1B22C0D1")
        return True

    def _lines(self) -> Iterator[bytes]:
        while (line := self.reader.readline()) != b".\r\n":
            if not line:
                raise ConnectionError("the client went away within its message")
            yield line

    def _complaint(self, lines: list[bytes], raw: bytes) -> str:
        if any(not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line for line in lines):
            return "550 5.6.11 bare line feed or carriage return"
        if any(len(line) > 1000 for line in lines):
            return "500 5.5.2 line too long"
        if not self.eight_bit and any(byte > 127 for byte in raw):
            return "554 5.6.1 8-bit content was not announced"
        head = raw.split(b"\r\n\r\n", 1)[0]
        if any(byte > 127 for byte in head):
            return "554 5.6.7 8-bit header"
        mail = Mail(self.sender or "", tuple(self.recipients), raw).message
        for name in ("From", "To", "Subject", "Date", "Message-ID", "MIME-Version"):
            if len(mail.get_all(name, [])) != 1:
                return f"554 5.6.0 {name} is missing or doubled"
        if not re.fullmatch(r"<[^<>\s@]+@[^<>\s@]+>", str(mail["Message-ID"])):
            return "554 5.6.0 Message-ID"
        if abs(parsedate_to_datetime(str(mail["Date"])) - self.server.clock.now()) > timedelta(minutes=5):
            return "554 5.6.0 Date"
        if len(str(mail["Subject"])) > SUBJECT or "\n" in str(mail["Subject"]):
            return "554 5.6.0 Subject"
        return "554 5.6.0 malformed" if mail.defects else ""

    def _scripted(self, stage: str) -> bool:
        if self.reply is None or self.stage != stage:
            return False
        reply = self.reply
        if stage != "RCPT":  # one mailbox is refused like the other
            self.reply = None
        if reply:
            self._say(reply)
        else:
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)
        return True

    def _say_all(self, lines: list[str]) -> None:
        for line in lines[:-1]:
            self._say(f"250-{line}")
        self._say(f"250 {lines[-1]}")

    def _say(self, line: str, drip: float = 0.0) -> None:
        raw = f"{line}\r\n".encode()
        if not drip:
            self.connection.sendall(raw)
            return
        for byte in raw:
            self.connection.sendall(bytes([byte]))
            if self.server._closing.wait(drip):
                return


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {"html", "head", "meta", "title", "body", "h2", "table", "tr", "td", "th", "p", "b", "code", "a", "br"}
        assert tag in known, f"unexpected element {tag}"
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def _reset(connection: socket.socket) -> None:
    # SO_LINGER 0: the close sends RST instead of FIN.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
