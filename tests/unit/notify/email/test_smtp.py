"""The SMTP client: TLS or nothing, one deadline, one try at the login."""

import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.notify.email.config import relay
from costguard.notify.email.smtp import SmtpClient, SmtpFailed, SmtpRefused
from costguard.testing.cloud import Fault
from tests.fakes.smtp import Certificate, SmtpServer, make_certificate

MAIL = (
    b"From: a@example.com\r\nTo: b@example.com\r\nSubject: s\r\nDate: Thu, 05 Mar 2026 12:00:00 +0000\r\n"
    b"Message-ID: <k@example.com>\r\nMIME-Version: 1.0\r\n\r\nbody\r\n"
)
Trust = Callable[[], ssl.SSLContext]


@pytest.fixture(params=[False, True], ids=["STARTTLS", "TLS"])
def server(request: pytest.FixtureRequest, certificate: Certificate) -> Iterator[SmtpServer]:
    with SmtpServer(certificate, implicit=request.param) as server:
        yield server


def post(server: SmtpServer, smtp: SmtpClient, host: str = "127.0.0.1", content: bytes = MAIL) -> None:
    smtp.send(relay(server.mail_url(host)), "a@example.com", ["b@example.com"], content)


def test_login_and_mail_go_under_tls(server: SmtpServer, smtp: SmtpClient) -> None:
    post(server, smtp)
    (session,) = server.sessions
    assert session.tls
    assert len(server.mails) == 1
    before_tls = session.commands[: session.commands.index("STARTTLS")] if not server.implicit else []
    assert before_tls == ([] if server.implicit else ["EHLO example.com"])
    assert session.commands.count("AUTH ***") == 1


def test_a_certificate_of_nobody_is_refused(server: SmtpServer) -> None:
    """The public authorities have not signed it."""
    with pytest.raises(SmtpFailed, match="certificate") as caught:
        post(server, SmtpClient(deadline=timedelta(seconds=2)))
    assert caught.value.insecure
    assert "AUTH ***" not in server.sessions[0].commands


def test_a_certificate_of_another_host_is_refused(tmp_path: Path) -> None:
    other = make_certificate(tmp_path, "mail.example.com")
    smtp = SmtpClient(deadline=timedelta(seconds=2), tls=lambda: ssl.create_default_context(cafile=str(other.cert)))
    for implicit in (False, True):
        with SmtpServer(other, implicit=implicit) as server:
            with pytest.raises(SmtpFailed, match="certificate"):
                post(server, smtp)
            assert server.mails == []


def test_without_starttls_nothing_is_said(certificate: Certificate, smtp: SmtpClient) -> None:
    """A man in the middle takes the offer out: no password goes out in the clear."""
    with SmtpServer(certificate) as server:
        server.starttls = False
        with pytest.raises(SmtpFailed, match="STARTTLS") as caught:
            post(server, smtp)
        assert caught.value.insecure
        assert [command.split(" ")[0] for command in server.sessions[0].commands] == ["EHLO"]


def test_a_dripping_server_does_not_outlast_the_deadline(certificate: Certificate, trusted: Trust) -> None:
    with SmtpServer(certificate) as server:
        server.drip = 0.2
        begun = time.monotonic()
        with pytest.raises(SmtpFailed, match=r"no answer within 0\.5 s"):
            post(server, SmtpClient(deadline=timedelta(seconds=0.5), tls=trusted))
        assert time.monotonic() - begun < 2


def test_a_handshake_that_never_comes_does_not_either(certificate: Certificate, trusted: Trust) -> None:
    with SmtpServer(certificate) as server:
        server.fail(Fault.SILENT, times=1)
        url = server.mail_url().replace("smtp://", "smtps://")
        begun = time.monotonic()
        with pytest.raises(SmtpFailed):
            SmtpClient(deadline=timedelta(seconds=0.5), tls=trusted).send(relay(url), "a@b.cc", ["c@d.ee"], MAIL)
        assert time.monotonic() - begun < 2


def test_nobody_listens(certificate: Certificate, smtp: SmtpClient) -> None:
    with SmtpServer(certificate) as server:
        there = relay(server.mail_url())
    with pytest.raises(SmtpFailed, match="cannot connect") as caught:
        smtp.send(there, "a@example.com", ["b@example.com"], MAIL)
    assert not caught.value.written
    with pytest.raises(SmtpFailed, match="looked up"):
        smtp.send(replace(there, host="no.such.host.invalid"), "a@example.com", ["b@example.com"], MAIL)


@pytest.mark.parametrize("offered", ["AUTH PLAIN", "AUTH LOGIN", "AUTH XOAUTH2 LOGIN"])
def test_either_way_to_log_in(server: SmtpServer, smtp: SmtpClient, offered: str) -> None:
    server.offers = [offered]
    post(server, smtp)
    assert len(server.mails) == 1


def test_a_wrong_password_is_tried_once(server: SmtpServer, smtp: SmtpClient) -> None:
    """Several wrong logins lock accounts."""
    there = replace(relay(server.mail_url()), password="wrong")
    with pytest.raises(SmtpRefused) as caught:
        smtp.send(there, "a@example.com", ["b@example.com"], MAIL)
    assert (caught.value.stage, caught.value.code) == ("AUTH", 535)
    assert server.sessions[0].commands.count("AUTH ***") == 1


def test_no_way_to_log_in(server: SmtpServer, smtp: SmtpClient) -> None:
    server.offers = ["AUTH XOAUTH2"]
    with pytest.raises(SmtpRefused) as caught:
        post(server, smtp)
    assert (caught.value.stage, caught.value.code) == ("AUTH", 504)


def test_a_server_says_how_much_it_takes(server: SmtpServer, smtp: SmtpClient) -> None:
    server.offers = ["AUTH PLAIN", "SIZE 100"]
    with pytest.raises(SmtpRefused) as caught:
        post(server, smtp)
    assert (caught.value.stage, caught.value.code) == ("DATA", 552)
    assert not any(command.startswith("MAIL") for command in server.sessions[0].commands)


def test_a_big_mail_goes_in_pieces(server: SmtpServer, smtp: SmtpClient) -> None:
    content = MAIL + b"0123456789abcdef\r\n" * 30_000
    post(server, smtp, content=content)
    assert server.mails[0].raw == content


def test_the_check_before_a_call_runs(certificate: Certificate, trusted: Trust) -> None:
    def refuse() -> None:
        raise RuntimeError("a write transaction is open")

    with SmtpServer(certificate) as server:
        with pytest.raises(RuntimeError, match="transaction"):
            post(server, SmtpClient(before_call=refuse, tls=trusted))
        assert server.request_count() == 0


def test_no_secret_in_what_is_said_of_a_relay() -> None:
    assert "verysecret" not in repr(relay("smtps://u:verysecret@mail.example.com"))
