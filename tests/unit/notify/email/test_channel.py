"""E-mail against a strict mail server with TLS: the contract every channel passes, and what is a mail's own."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import time as clock_time
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.notice import NoticeState
from costguard.domain.time import TimeRange
from costguard.errors import DeliveryError
from costguard.notify.email.channel import Email
from costguard.notify.email.config import EmailConfig
from costguard.notify.email.smtp import SmtpClient
from costguard.notify.mute import QuietHours
from costguard.notify.pipeline import ChannelWorker
from costguard.notify.render import render as render_facts
from costguard.notify.route import Person, Place, Routing
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from tests.fakes.smtp import USER, Certificate, SmtpServer
from tests.unit.notify.messages import warning_about
from tests.unit.notify.rig import Rig, rig

OPS, OWNER = "ops@example.com", "zw@example.com"
MINUTE = timedelta(minutes=1)


def email(server: SmtpServer, smtp: SmtpClient, to: tuple[str, ...] = (OPS,), **fields: object) -> Email:
    config = EmailConfig(name="mail", smtp=server.mail_url(), to=to, **fields)  # type: ignore[arg-type]
    return Email(config, server.clock, smtp)


class TestEmail(ChannelContract):
    @pytest.fixture(params=["STARTTLS", "TLS"])
    def platform(self, request: pytest.FixtureRequest, certificate: Certificate) -> Iterator[SmtpServer]:  # type: ignore[override]
        with SmtpServer(certificate, FakeClock(SAMPLE_NOW), implicit=request.param == "TLS") as server:
            yield server

    @pytest.fixture
    def channel(self, platform: SmtpServer, smtp: SmtpClient) -> Email:  # type: ignore[override]
        return email(platform, smtp)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "email", OWNER)


@pytest.fixture
def server(certificate: Certificate) -> Iterator[SmtpServer]:
    with SmtpServer(certificate, FakeClock(SAMPLE_NOW)) as server:
        yield server


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_kind_of_message_is_taken(server: SmtpServer, smtp: SmtpClient, language: str) -> None:
    channel = email(server, smtp)
    for name, facts in sample_facts().items():
        message = render_facts(facts, fmt="email", language=language, now=SAMPLE_NOW, idem_key=name)
        channel.send(message)
        mail = server.mails[-1]
        assert mail.message["Subject"] == message.title
        assert mail.part("plain").strip() == message.body.strip()
        assert message.title in mail.part("html") or "&" in mail.part("html")
    assert len(server.mails) == len(sample_facts())


def test_the_owner_gets_what_is_about_the_owners_boxes(server: SmtpServer, smtp: SmtpClient) -> None:
    email(server, smtp).send(warning_about("train-a800-03", "email", OWNER))
    assert server.mails[0].recipients == (OPS, OWNER)
    assert server.mails[0].message["To"] == f"{OPS}, {OWNER}"


def test_an_owner_who_is_in_the_list_gets_one_mail(server: SmtpServer, smtp: SmtpClient) -> None:
    email(server, smtp, to=(OPS, OWNER)).send(warning_about("train-a800-03", "email", OWNER))
    assert server.mails[0].recipients == (OPS, OWNER)


def test_an_owner_who_cannot_be_reached_does_not_count_as_warned(server: SmtpServer, smtp: SmtpClient) -> None:
    """Nobody gets the mail, so the outbox tries again and hands a warning to the fallback; others still work."""
    server.unknown = {OWNER}
    with pytest.raises(DeliveryError, match="owner's `email`") as caught:
        email(server, smtp).send(warning_about("train-a800-03", "email", OWNER))
    assert caught.value.reason == "server"
    assert server.mails == []
    with pytest.raises(DeliveryError, match="owner's `email`"):
        email(server, smtp).send(warning_about("train-a800-03", "email", "zw@example.com>\r\nRCPT TO:<x@y"))
    email(server, smtp).send(make_message())
    assert len(server.mails) == 1


def test_one_dead_address_of_the_list_stops_no_mail(
    server: SmtpServer, smtp: SmtpClient, caplog: pytest.LogCaptureFixture
) -> None:
    server.unknown = {"gone@example.com"}
    with caplog.at_level(logging.WARNING):
        email(server, smtp, to=(OPS, "gone@example.com")).send(make_message())
    assert server.mails[0].recipients == (OPS,)
    assert "1 of 2 recipients" in caplog.text


def test_when_all_are_refused_a_person_is_needed(server: SmtpServer, smtp: SmtpClient) -> None:
    server.unknown = {OPS}
    with pytest.raises(DeliveryError) as caught:
        email(server, smtp).send(make_message())
    assert (caught.value.reason, caught.value.code) == ("auth", "550")


def test_mails_about_one_finding_are_one_thread(server: SmtpServer, smtp: SmtpClient) -> None:
    """The first mail refers to the thread, what follows it is an answer."""
    channel, facts = email(server, smtp), sample_facts()
    for name in ("warning", "result", "failed", "test"):
        channel.send(render_facts(facts[name], fmt="email", language="zh", now=SAMPLE_NOW, idem_key=name))
    warning, result, failed, test = (mail.message for mail in server.mails)
    root = warning["References"]
    assert root.endswith("@example.com>")
    assert warning["In-Reply-To"] is None
    assert result["In-Reply-To"] == result["References"] == failed["In-Reply-To"] == root
    assert test["References"] is None
    assert len({mail["Message-ID"] for mail in (warning, result, failed, test)}) == 4


def test_the_message_id_stays_over_attempts(server: SmtpServer, smtp: SmtpClient) -> None:
    """J16."""
    channel = email(server, smtp)
    channel.send(make_message(idem_key="abc"))
    server.clock.advance(timedelta(minutes=3))
    channel.send(make_message(idem_key="abc"))
    first, second = (mail.message for mail in server.mails)
    assert first["Message-ID"] == second["Message-ID"] == "<abc@example.com>"
    assert first["Date"] != second["Date"]


def test_it_says_that_a_machine_wrote_it(server: SmtpServer, smtp: SmtpClient) -> None:
    """So that holiday notices do not answer."""
    email(server, smtp).send(make_message())
    mail = server.mails[0].message
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["From"] == USER
    assert server.mails[0].sender == USER


def test_a_sender_with_a_name(server: SmtpServer, smtp: SmtpClient) -> None:
    email(server, smtp, sender="成本值守 <guard@example.org>").send(make_message(idem_key="k"))
    mail = server.mails[0]
    assert mail.sender == "guard@example.org"
    assert mail.message["From"].addresses[0].display_name == "成本值守"
    assert mail.message["Message-ID"] == "<k@example.org>"


def test_no_title_can_add_a_header(server: SmtpServer, smtp: SmtpClient) -> None:
    email(server, smtp).send(make_message("Stopping\r\nBcc: evil@example.net\r\n\r\nbody\u2028x", plain=True))
    mail = server.mails[0]
    assert mail.message["Subject"] == "Stopping Bcc: evil@example.net body x"
    assert mail.message["Bcc"] is None
    assert mail.recipients == (OPS,)


def test_any_body_survives_the_way(server: SmtpServer, smtp: SmtpClient) -> None:
    """Dots at the start of lines, long lines, bare returns, Chinese."""
    body = ".\n..x\nFrom here\n" + "很长" * 2000 + "\n" + "x" * 5000 + "\n😀 ¥34.74"
    email(server, smtp).send(make_message("t", body=body, plain=True))
    assert server.mails[0].part("plain").rstrip("\n") == body


def test_a_plain_mail_has_no_html(server: SmtpServer, smtp: SmtpClient) -> None:
    email(server, smtp).send(replace(warning_about("a", "email", OWNER), plain=True))
    assert server.mails[0].message.get_content_type() == "text/plain"


@pytest.mark.parametrize(
    ("answer", "reason", "hint"),
    [
        ("wrong password", "auth", "app password"), ("no login", "auth", "app password"),
        ("sender refused", "auth", "`from`"), ("no such mailbox", "auth", "`to`"), ("greylisted", "server", None),
        ("spam", "payload", None),
    ],
)  # fmt: skip
def test_each_refusal_says_what_to_do(
    server: SmtpServer, smtp: SmtpClient, answer: str, reason: str, hint: str | None
) -> None:
    """J05: what `notify test` shows."""
    server.answer(server.answers[answer])
    with pytest.raises(DeliveryError) as caught:
        email(server, smtp).send(make_message())
    assert caught.value.reason == reason
    assert (hint in (caught.value.hint or "")) if hint else caught.value.hint is None


# Through the whole delivery: the owner is reached by address, at night and by the plain mail as well.


@pytest.fixture
def r(tmp_path: Path) -> Iterator[Rig]:
    """``mail`` is the only place that reaches the owner; it falls back to ``team``."""
    with rig(tmp_path) as found:
        places = {"mail": Place("mail", "email", "zh", "team"), "team": Place("team", "slack", "en")}
        people = {"zhangwei": Person("zhangwei", email=OWNER)}
        found.delivery = replace(found.delivery, routing=Routing(places, people, default=("team",)))
        yield found


@pytest.fixture
def post(r: Rig, certificate: Certificate) -> Iterator[SmtpServer]:
    with SmtpServer(certificate, r.clock) as server:
        yield server


def worker(r: Rig, post: SmtpServer, smtp: SmtpClient) -> ChannelWorker:
    config = EmailConfig(name="mail", smtp=post.mail_url(), to=(OPS,))  # type: ignore[arg-type]
    channel = Email(config, r.clock, smtp)
    return ChannelWorker(channel, r.outbox, lambda: r.delivery, r.clock, "w1", jitter=lambda: 0.999)


def test_the_owners_route_is_the_owners_address(r: Rig, post: SmtpServer, smtp: SmtpClient) -> None:
    (warning,) = r.queue(1, to=("owner",), owner="zhangwei")
    assert (warning.channel, warning.owner_route) == ("mail", True)
    r.run(worker(r, post, smtp), 2 * MINUTE)
    assert post.mails[0].recipients == (OPS, OWNER)
    assert r.row(warning).state is NoticeState.SENT


def test_a_warning_reaches_its_owner_at_night(r: Rig, post: SmtpServer, smtp: SmtpClient) -> None:
    """Quiet hours hush mentions; a mail without the address would tell the owner nothing and count as told."""
    night = TimeRange("daily", clock_time(20), clock_time(8), ZoneInfo("Asia/Shanghai"))
    r.delivery = replace(r.delivery, quiet=QuietHours(night))
    r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, post, smtp), 2 * MINUTE)
    assert post.mails[0].recipients == (OPS, OWNER)


def test_the_plain_mail_goes_to_the_owner_as_well(r: Rig, post: SmtpServer, smtp: SmtpClient) -> None:
    post.answer(post.answers["spam"])
    r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, post, smtp), 2 * MINUTE)
    (mail,) = post.mails
    assert mail.recipients == (OPS, OWNER)
    assert mail.message.get_content_type() == "text/plain"


def test_a_refused_owner_is_not_warned_until_the_fallback_has_it(r: Rig, post: SmtpServer, smtp: SmtpClient) -> None:
    """A warning that only others got promises the owner nothing."""
    post.unknown = {OWNER}
    (warning,) = r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, post, smtp), 5 * MINUTE)
    assert post.mails == []
    assert r.row(warning).state is NoticeState.PENDING
    (copy,) = (row for row in r.rows() if row.fallback_of == warning.id)
    assert (copy.channel, copy.owner_route) == ("team", True)
    r.run(r.worker("team"), MINUTE)
    assert len(r.slack.delivered()) == 1
    assert r.row(copy).state is NoticeState.SENT


def test_a_report_carries_its_file_and_the_plain_fallback_does_not(server: SmtpServer, smtp: SmtpClient) -> None:
    content = "<!doctype html><p>¥16,412.00 张伟</p>\n"
    attachment = {"name": "costguard-2026-02.html", "type": "text/html", "content": content}
    message = render_facts(
        {**sample_facts()["report"], "attachment": attachment}, fmt="email", language="zh", now=SAMPLE_NOW, idem_key="r"
    )
    assert message.body.splitlines()[-1].endswith("；完整报告见附件 costguard-2026-02.html")
    channel = email(server, smtp)
    channel.send(message)
    channel.send(replace(message, plain=True, idem_key="r2"))
    first, second = (mail.message for mail in server.mails)
    (part,) = first.iter_attachments()
    assert (part.get_filename(), part.get_content_type()) == ("costguard-2026-02.html", "text/html")
    assert part.get_content().splitlines() == content.splitlines()
    assert list(second.iter_attachments()) == []
