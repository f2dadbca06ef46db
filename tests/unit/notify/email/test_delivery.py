"""Mails through the whole delivery: the owner is reached by address, at night and by the plain mail as well."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import time as clock_time
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.notice import NoticeState
from costguard.domain.time import TimeRange
from costguard.notify.email.channel import Email
from costguard.notify.email.config import EmailConfig
from costguard.notify.email.smtp import SmtpClient
from costguard.notify.mute import QuietHours
from costguard.notify.pipeline import ChannelWorker
from costguard.notify.route import Person, Place, Routing
from tests.fakes.smtp import Certificate, SmtpServer
from tests.unit.notify.rig import Rig, rig

OPS, OWNER = "ops@example.com", "zw@example.com"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def r(tmp_path: Path) -> Iterator[Rig]:
    """``mail`` is the only place that reaches the owner; it falls back to ``team``."""
    with rig(tmp_path) as found:
        places = {"mail": Place("mail", "email", "zh", "team"), "team": Place("team", "slack", "en")}
        people = {"zhangwei": Person("zhangwei", email=OWNER)}
        found.delivery = replace(found.delivery, routing=Routing(places, people, default=("team",)))
        yield found


@pytest.fixture
def server(r: Rig, certificate: Certificate) -> Iterator[SmtpServer]:
    with SmtpServer(certificate, r.clock) as server:
        yield server


def worker(r: Rig, server: SmtpServer, smtp: SmtpClient) -> ChannelWorker:
    config = EmailConfig(name="mail", smtp=server.mail_url(), to=(OPS,))  # type: ignore[arg-type]
    channel = Email(config, r.clock, smtp)
    return ChannelWorker(channel, r.outbox, lambda: r.delivery, r.clock, "w1", jitter=lambda: 0.999)


def test_the_owners_route_is_the_owners_address(r: Rig, server: SmtpServer, smtp: SmtpClient) -> None:
    (warning,) = r.queue(1, to=("owner",), owner="zhangwei")
    assert (warning.channel, warning.owner_route) == ("mail", True)
    r.run(worker(r, server, smtp), 2 * MINUTE)
    assert server.mails[0].recipients == (OPS, OWNER)
    assert r.row(warning).state is NoticeState.SENT


def test_a_warning_reaches_its_owner_at_night(r: Rig, server: SmtpServer, smtp: SmtpClient) -> None:
    """Quiet hours hush mentions; a mail without the address would tell the owner nothing and count as told."""
    night = TimeRange("daily", clock_time(20), clock_time(8), ZoneInfo("Asia/Shanghai"))
    r.delivery = replace(r.delivery, quiet=QuietHours(night))
    r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, server, smtp), 2 * MINUTE)
    assert server.mails[0].recipients == (OPS, OWNER)


def test_the_plain_mail_goes_to_the_owner_as_well(r: Rig, server: SmtpServer, smtp: SmtpClient) -> None:
    server.answer(server.answers["spam"])
    r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, server, smtp), 2 * MINUTE)
    (mail,) = server.mails
    assert mail.recipients == (OPS, OWNER)
    assert mail.message.get_content_type() == "text/plain"


def test_a_refused_owner_is_not_warned_until_the_fallback_has_it(r: Rig, server: SmtpServer, smtp: SmtpClient) -> None:
    """J07: a warning that only others got promises the owner nothing."""
    server.unknown = {OWNER}
    (warning,) = r.queue(1, to=("owner",), owner="zhangwei")
    r.run(worker(r, server, smtp), 5 * MINUTE)
    assert server.mails == []
    assert r.row(warning).state is NoticeState.PENDING
    (copy,) = (row for row in r.rows() if row.fallback_of == warning.id)
    assert (copy.channel, copy.owner_route) == ("team", True)
    r.run(r.worker("team"), MINUTE)
    assert len(r.slack.delivered()) == 1
    assert r.row(copy).state is NoticeState.SENT
