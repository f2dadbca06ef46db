"""Scheduled reports on a simulated month: what is told, to whom, when, and once."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.app.app import App
from costguard.app.audit import run_audit
from costguard.app.jobs import jobs
from costguard.app.scheduled import ScheduledReports
from costguard.config.load import load
from costguard.daemon.jobs import SteppedDriver
from costguard.domain.action import ActionState
from costguard.domain.money import Money
from costguard.domain.notice import Notice
from costguard.engine.report import LANGUAGES
from costguard.notify.render import render
from costguard.notify.words import words
from costguard.store import actions, inventory, outbox
from costguard.testing.builders import make_action, make_finding
from costguard.testing.clock import FakeClock
from tests.fakes.slack import SlackServer
from tests.fakes.slack_api import BOT_TOKEN, SlackApi
from tests.unit.simulated.helpers import machine, write

pytestmark = pytest.mark.slow

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOVEMBER = datetime(2026, 11, 1, tzinfo=SHANGHAI).astimezone(UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=SHANGHAI).astimezone(UTC)
NINE = timedelta(hours=9)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EVENING = DECEMBER - 12 * HOUR

CONFIG = """\
version: 1
database: sqlite:///reports.db
timezone: Asia/Shanghai
language: zh
mode: dry_run
accounts: [{{name: acc, provider: simulated, options: {{scenario: "{scenario}"}}, currency: CNY}}]
channels:
  - {{name: ops, kind: slack, {slack}, language: en}}
  - {{name: mail, kind: email, smtp: "smtps://a%40b.cn:pw@127.0.0.1", to: [li@example.com]}}
notify: {{default: [ops]}}
owners: [{{name: li, tags: {{owner: [li]}}}}]
reports:
{reports}
policies: [policies.yaml]
"""
POLICY = """\
policies:
  - name: old
    rule: lifetime
    match: all
    when: {max_age: 12h, when_busy: stop, when_unknown: stop}
    respond: [{do: stop, unwarned: true}]
"""
MONTHLY = '  - {name: monthly, day: 1, at: "09:00", to: [ops, mail], format: html, revise: final}'
WEEKLY = '  - {name: weekly, weekday: mon, at: "10:00", to: [ops], format: csv}'


NOWHERE = 'url: "http://127.0.0.1:9/services/T/B/x"'


def opened(folder: Path, clock: FakeClock, reports: str = MONTHLY, slack: str = NOWHERE) -> App:
    scenario = write(
        folder,
        machine("train", sku="a100x8", created="-3d", tags={"owner": "li"}),
        machine("dev", created="-2d", stopped="9d"),
        start=NOVEMBER.isoformat(),
    )
    (folder / "policies.yaml").write_text(POLICY, "utf-8")
    path = folder / "costguard.yaml"
    path.write_text(CONFIG.format(scenario=scenario, reports=reports, slack=slack), "utf-8")
    app = App.open(load(path, {}), clock, migrate=True, threads=1)
    app.lead.round()
    app.identify()
    return app


def to(clock: FakeClock, at: datetime) -> None:
    clock.advance(at - clock.now())


def watched(app: App, clock: FakeClock, until: datetime) -> None:
    """A daemon that looks once a day."""
    account = app.accounts["acc"]
    while clock.now() < until:
        app.inventory(account, all_regions=True)
        app.lead.round()
        app.decide()
        clock.advance(DAY)


def queued(app: App) -> dict[tuple[str, str], Notice]:
    """By channel and stage."""
    with app.database.read() as conn:
        found = [n for n in outbox.list_notices(conn) if n.kind == "report"]
    keyed = {(n.channel, str(n.facts["stage"])): n for n in found}
    assert len(keyed) == len(found), "each is told once"
    return keyed


@pytest.fixture(scope="module")
def november(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a costguard that watched November from its first morning to the evening of the 30th."""
    folder, clock = tmp_path_factory.mktemp("november"), FakeClock(NOVEMBER + 12 * HOUR)
    app = opened(folder, clock)
    ScheduledReports.of(app).round()
    assert queued(app) == {}, "October was before there was a costguard"
    watched(app, clock, EVENING)
    assert app.biller.charges(app.accounts["acc"])
    app.close()
    return folder / "reports.db"


@pytest.fixture
def month(november: Path, tmp_path: Path) -> Iterator[tuple[App, FakeClock]]:
    """A fresh process that goes on from there."""
    shutil.copy(november, tmp_path)
    clock = FakeClock(EVENING)
    app = opened(tmp_path, clock)
    yield app, clock
    app.close()


def test_a_month_is_told_on_its_day_revised_when_final_and_never_twice(month: tuple[App, FakeClock]) -> None:
    app, clock = month
    account = app.accounts["acc"]
    reports = ScheduledReports.of(app)
    to(clock, DECEMBER + NINE - timedelta(minutes=1))
    app.inventory(account, all_regions=True)
    reports.round()
    assert queued(app) == {}
    to(clock, DECEMBER + NINE)
    reports.round()
    drafts = queued(app)
    assert set(drafts) == {("ops", "draft"), ("mail", "draft")}
    for again in (reports, ScheduledReports.of(app)):
        again.round()
    assert queued(app) == drafts, "nor after a restart"

    document, _ = run_audit(app, month="2026-11", offline=True)
    facts = drafts["ops", "draft"].facts
    for key in ("amount", "billed", "estimated", "difference", "previous"):
        assert facts[key] == document["spend"][key], key
    assert facts["saved"] == document["savings"]["booked"]
    assert facts["would_save"] == document["would_have"][0]["saved"]
    assert "attachment" not in facts
    attached = drafts["mail", "draft"].facts["attachment"]
    assert isinstance(attached, dict)
    assert (attached["name"], attached["type"]) == ("costguard-2026-11.html", "text/html")
    assert "费用审计 2026-11 · 初稿" in attached["content"]

    assert reports.unsettled() == NOVEMBER
    clock.advance(HOUR)
    reports.round()
    assert queued(app) == drafts, "the bill is not final yet"
    to(clock, DECEMBER + 4 * DAY)
    assert app.biller.charges(account, reports.unsettled())
    reports.round()
    revised = queued(app)
    assert set(revised) - set(drafts) == {("ops", "revised"), ("mail", "revised")}
    final = revised["ops", "revised"].facts
    assert final["was"] == facts["amount"]
    changed = {one["what"]: one for one in final["changes"]}  # type: ignore[attr-defined]
    assert changed["billed"] == {"what": "billed", "from": facts["billed"], "to": final["billed"]}
    assert final["amount"] == final["billed"]
    assert reports.unsettled() is None
    clock.advance(DAY)
    ScheduledReports.of(app).round()
    assert queued(app) == revised

    told = render(final, fmt="plain", language="en", now=clock.now(), idem_key="k")
    spent, was, billed = (Money.of(one["amount"], "CNY") for one in (final["amount"], facts["billed"], final["billed"]))  # type: ignore[index]
    assert told.title == f"Monthly report, final, Nov 2026: {spent} spent (the total is the draft's)"
    assert told.body.splitlines()[0] == f"What changed: billed {was} → {billed}"


def test_the_eight_lines_say_what_was_wasted_and_what_to_do(month: tuple[App, FakeClock]) -> None:
    app, clock = month
    to(clock, DECEMBER + NINE)
    app.inventory(app.accounts["acc"], all_regions=True)
    ScheduledReports.of(app).round()
    facts = queued(app)["ops", "draft"].facts
    zh = render(facts, fmt="plain", language="zh", now=clock.now(), idem_key="k").body.splitlines()
    en = render(facts, fmt="plain", language="en", now=clock.now(), idem_key="k").body.splitlines()
    assert (len(zh), len(en)) == (8, 8)
    assert [line.split("：")[0] for line in zh] == [
        words("zh").labels[key]
        for key in ("spent", "bill", "saved", "wasted", "owners", "false_stops", "decide", "next")
    ]
    assert zh[3].startswith("浪费最多：train 约 ¥")
    assert "、dev 约 ¥" in zh[3]
    assert "演练里本可关机" in zh[2]
    assert en[4].startswith("Who spent: li ¥")
    assert zh[7].startswith("下一步：策略 old 还在演练；要让它真的关机（这一期约省 ¥")
    assert zh[7].endswith("；完整报告 costguard audit --month 2026-11")


def test_what_was_missed_is_made_up_for_once(month: tuple[App, FakeClock]) -> None:
    """Down from 30 November to 10 February: January is told, November and December are not."""
    app, clock = month
    to(clock, datetime(2027, 2, 10, tzinfo=UTC))
    reports = ScheduledReports.of(app)
    reports.round()
    reports.round()
    (first, _) = queued(app).values()
    assert {notice.idem_key.split("/")[2] for notice in queued(app).values()} == {"2027-01"}
    assert first.not_after == datetime(2027, 3, 1, 9, tzinfo=SHANGHAI)


def test_a_bill_that_changes_nothing_is_not_told_again(month: tuple[App, FakeClock]) -> None:
    app, clock = month
    to(clock, DECEMBER + 4 * DAY)
    assert app.biller.charges(app.accounts["acc"])
    ScheduledReports.of(app).round()
    assert set(queued(app)) == {("ops", "final"), ("mail", "final")}
    assert ScheduledReports.of(app).unsettled() is None


def test_a_bill_that_is_final_after_the_next_edition_is_revised_as_well(month: tuple[App, FakeClock]) -> None:
    """December's draft took the place of November's, which nobody was told of again."""
    app, clock = month
    reports = ScheduledReports.of(app)
    for first in (DECEMBER, DECEMBER + 31 * DAY):
        to(clock, first + NINE)
        reports.round()
    assert reports.unsettled() == NOVEMBER
    assert app.biller.charges(app.accounts["acc"], NOVEMBER)
    clock.advance(HOUR)
    for again in (reports, ScheduledReports.of(app)):
        again.round()
    with app.database.read() as conn:
        told = [n.idem_key for n in outbox.list_notices(conn) if n.kind == "report" and n.channel == "ops"]
    assert sorted(told) == [
        f"report/monthly/{edition}@ops" for edition in ("2026-11/draft", "2026-11/revised", "2026-12/draft")
    ]
    assert reports.unsettled() == DECEMBER


def test_a_week_is_told_on_its_weekday_about_seven_days(tmp_path: Path) -> None:
    clock = FakeClock(NOVEMBER)
    app = opened(tmp_path, clock, WEEKLY)
    try:
        reports = ScheduledReports.of(app)
        reports.round()
        monday = datetime(2026, 11, 16, 10, tzinfo=SHANGHAI).astimezone(UTC)
        watched(app, clock, monday - 12 * HOUR)
        to(clock, monday)
        app.inventory(app.accounts["acc"], all_regions=True)
        reports.round()
        (notice,) = queued(app).values()
        facts = notice.facts
        assert (facts["start"], facts["end"]) == ("2026-11-08T16:00:00.000000Z", "2026-11-15T16:00:00.000000Z")
        # train alone ran the whole week: 277.936 an hour; dev was stopped on the 10th.
        assert Money.of(facts["estimated"]["amount"], "CNY") >= Money.of("46693.248", "CNY")  # type: ignore[index]
        assert reports.unsettled() is None, "a week waits for no final bill"
        # Its ladder came to where it would have stopped before the week, and the box still runs; dev ran for a day.
        (train, dev, *_) = facts["wasted"]  # type: ignore[misc]
        assert (train["name"], train["amount"]["amount"], train["span"]) == ("train", "46693.248", {"seconds": 604800})
        assert (dev["name"], dev["amount"]["amount"]) == ("dev", "191.184")
        assert facts["would_save"] == {"amount": "46884.432", "currency": "CNY"}
        message = render(facts, fmt="plain", language="zh", now=clock.now(), idem_key="k")
        assert message.title.startswith("【周报】11月9日至11月15日 花费 ¥")
        assert "audit --month" not in message.body
    finally:
        app.close()


def test_only_the_leader_reports(month: tuple[App, FakeClock]) -> None:
    app, clock = month
    to(clock, DECEMBER + NINE)
    (job,) = [job for job in jobs(app) if job.name == "reports"]
    app.ready = False
    job.run()
    assert queued(app) == {}
    app.ready = True
    app.lead.round()
    job.run()
    assert len(queued(app)) == 2


def test_two_replicas_that_both_believe_to_lead_tell_it_once(month: tuple[App, FakeClock]) -> None:
    app, clock = month
    to(clock, DECEMBER + NINE)
    other = App.open(app.config, clock, threads=1)
    together = threading.Barrier(2)

    def one(replica: App) -> None:
        reports = ScheduledReports.of(replica)
        together.wait(10)
        reports.round()

    try:
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(one, replica) for replica in (app, other)]:
                done.result()
    finally:
        other.close()
    assert set(queued(app)) == {("ops", "draft"), ("mail", "draft")}


def test_the_daemons_own_loops_deliver_it(tmp_path: Path) -> None:
    """From the minute before to three minutes after, as `costguard run` does it, into a strict Slack."""
    clock = FakeClock(NOVEMBER + 12 * HOUR)
    with SlackServer(clock) as slack:
        app = opened(tmp_path, clock, MONTHLY.replace("[ops, mail]", "[ops]"), f'url: "{slack.webhook_url}"')
        try:
            ScheduledReports.of(app).round()
            to(clock, DECEMBER + NINE - MINUTE)
            SteppedDriver(jobs(app, deliver=MINUTE, act=HOUR), clock).run_until(clock.now() + 4 * MINUTE)  # type: ignore[arg-type]
            reports = [m.delivered for m in slack.posted if m.text.startswith("Monthly report, Nov 2026: ")]
        finally:
            app.close()
    (one,) = reports
    assert one.text.count("\n") >= 8
    assert "Next step" in one.text


def test_each_month_is_a_message_of_its_own(tmp_path: Path) -> None:
    """A Slack bot puts what follows a message into its thread: nobody looks for December's report in November's."""
    clock = FakeClock(NOVEMBER + 12 * HOUR)
    with SlackApi(clock) as slack:
        bot = f'token: "{BOT_TOKEN}", channel: C012AB3CD, endpoint: "{slack.api_url}"'
        app = opened(tmp_path, clock, MONTHLY.replace("[ops, mail]", "[ops]"), bot)
        try:
            reports = ScheduledReports.of(app)
            reports.round()
            for month in (DECEMBER, DECEMBER + 31 * DAY):
                to(clock, month + NINE)
                reports.round()
                clock.advance(MINUTE)
                app.deliver()
        finally:
            app.close()
    assert [m.text.split(":")[0] for m in slack.posted] == ["Monthly report, Nov 2026", "Monthly report, Dec 2026"]
    assert [m.thread_ts for m in slack.posted] == ["", ""]


def test_why_a_stop_failed_is_told_in_the_reports_language(tmp_path: Path) -> None:
    clock = FakeClock(NOVEMBER + 12 * HOUR)
    app = opened(tmp_path, clock)
    try:
        app.inventory(app.accounts["acc"], all_regions=True)
        with app.database.write() as conn:
            box = inventory.find(conn, "train")[0]
            failed = {"state": ActionState.FAILED, "created_at": clock.now(), "ended_at": clock.now()}
            action = make_action(make_finding(box), error="the hook failed: no answer in time", **failed)
            actions.insert(conn, action)
        audits = {one: run_audit(app, month="2026-11", offline=True, language=one)[0] for one in LANGUAGES}
    finally:
        app.close()
    zh, en = (audits[one]["decisions_needed"][0] for one in ("zh", "en"))
    assert zh.endswith("执行失败，等待人工处理：脚本失败：超时未应答")
    assert en.endswith("failed and holds: the hook failed: no answer in time")
