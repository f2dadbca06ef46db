"""Evening reminders on a real store: whom, what, once a day, on which days."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.app.settings import evenings
from costguard.config.load import load
from costguard.daemon.reminders import Evening, Reminders
from costguard.domain.finding import Subject
from costguard.domain.notice import Notice
from costguard.domain.resource import ChargeType, Kind, Resource, State
from costguard.domain.time import Calendar, DayKind, TimeRange
from costguard.engine.settings import Owner
from costguard.notify.render import render
from costguard.notify.route import Person, Place, Routing
from costguard.store import actions, inventory, kv, outbox
from costguard.store.database import Database
from costguard.testing.builders import cny, make_action, make_resource
from costguard.testing.clock import FakeClock

SHANGHAI = ZoneInfo("Asia/Shanghai")
# A Thursday, 18:00 in Shanghai.
SIX = datetime(2026, 3, 5, 10, 0, tzinfo=UTC)
OWNERS = (Owner("zhangwei", tags={"owner": ("zhangwei",)}), Owner("lilei", tags={"owner": ("lilei",)}))
PLACES = {"ops": Place("ops", "slack", "zh"), "mail": Place("mail", "email")}
PEOPLE = {"zhangwei": Person("zhangwei", slack="U1"), "lilei": Person("lilei", email="lilei@example.com")}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'costguard.db'}")
    database.upgrade()
    yield database
    database.close()


def box(id: str, owner: str, **fields: object) -> Resource:
    return make_resource(id, name=f"name-{id}", tags={"owner": owner}, observed_at=SIX, price=cny("10"), **fields)


def listed(database: Database, *boxes: Resource, **activity: str) -> None:
    with database.write() as conn:
        first = boxes[0].ref
        inventory.record_listing(conn, first.account, first.region, Kind.VM, boxes, SIX, timedelta(minutes=5))
        kv.put(conn, "fleet/activity", {str(b.ref): [activity.get(b.ref.id, "active"), ""] for b in boxes}, SIX)


def reminders(
    database: Database, clock: FakeClock, to: tuple[str, ...] = ("owner",), days: DayKind = "workdays"
) -> Reminders:
    when = TimeRange(days, clock_time(18, 30), None, SHANGHAI)
    holiday = Calendar(off=frozenset({datetime(2026, 3, 6, tzinfo=UTC).date()}))
    routing = Routing(PLACES, PEOPLE, default=("ops",))
    return Reminders(database, clock, routing, OWNERS, holiday, (Evening(when, to),))


def queued(database: Database) -> tuple[Notice, ...]:
    with database.read() as conn:
        return tuple(outbox.list_notices(conn))


def test_each_owner_hears_of_the_own_boxes_by_the_own_route(database: Database) -> None:
    """Until 09:00 it is 14.5 hours from 18:30."""
    clock = FakeClock(SIX)
    listed(database, box("a", "zhangwei"), box("b", "zhangwei"), box("c", "lilei"), b="idle")
    due = reminders(database, clock)
    due.round()
    assert queued(database) == ()
    clock.advance(timedelta(minutes=30))
    due.round()
    found = {notice.mention: notice for notice in queued(database)}
    assert {who: notice.channel for who, notice in found.items()} == {("zhangwei",): "ops", ("lilei",): "mail"}
    facts = found[("zhangwei",)].facts
    assert found[("zhangwei",)].not_after == datetime(2026, 3, 5, 16, 0, tzinfo=UTC)
    zh, en = (render(facts, fmt="plain", language=lang, now=clock.now(), idem_key="k") for lang in ("zh", "en"))
    assert zh.title == "你还有 2 台在运行，今晚约 ¥290.00"
    assert "name-a 使用中，今晚约 ¥145.00" in zh.body
    assert "name-b 空闲" in zh.body
    assert "¥290.00" in en.title
    assert "name-b is idle" in en.body
    assert "name-c" not in zh.body


def test_once_a_day_and_a_restart_changes_nothing(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(minutes=31))
    listed(database, box("a", "zhangwei"))
    reminders(database, clock).round()
    listed(database, box("a", "zhangwei"), box("c", "lilei"))
    clock.advance(timedelta(hours=1))
    reminders(database, clock).round()
    assert len(queued(database)) == 1
    clock.advance(timedelta(days=1))  # a holiday
    reminders(database, clock).round()
    assert len(queued(database)) == 1
    clock.advance(timedelta(days=3))
    reminders(database, clock).round()
    assert len(queued(database)) == 3


def test_after_midnight_it_is_too_late(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(hours=6))
    listed(database, box("a", "zhangwei"))
    reminders(database, clock, days="daily").round()
    assert queued(database) == ()


def test_what_is_off_or_nobodys_is_not_told(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(minutes=31))
    listed(database, box("a", "zhangwei", state=State.STOPPED), box("b", "a stranger"))
    reminders(database, clock).round()
    assert queued(database) == ()


def test_what_is_paid_in_advance_costs_nothing_more_tonight(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(minutes=30))
    listed(database, box("a", "zhangwei", charge_type=ChargeType.PREPAID))
    reminders(database, clock).round()
    (notice,) = queued(database)
    assert render(notice.facts, fmt="plain", language="zh", now=SIX, idem_key="k").title == "你还有 1 台在运行"


def test_how_long_a_box_is_idle_is_known_from_its_ladder(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(minutes=30))
    idle = box("a", "zhangwei")
    listed(database, idle, a="idle")
    with database.write() as conn:
        actions.insert(
            conn,
            make_action(subject=Subject.of(idle), since=SIX - timedelta(minutes=20), created_at=SIX, updated_at=SIX),
        )
    reminders(database, clock).round()
    (notice,) = queued(database)
    assert "name-a 空闲 50 分钟" in render(notice.facts, fmt="plain", language="zh", now=SIX, idem_key="k").body


def test_the_configuration_says_when(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text("policies: []\n")
    path = tmp_path / "costguard.yaml"
    path.write_text("version: 1\ntimezone: Asia/Tokyo\nreminders: [{at: '18:30', days: mon-fri, to: owner}]\n")
    (entry,) = evenings(load(path, {}))
    assert entry.when == TimeRange(frozenset(range(5)), clock_time(18, 30), None, ZoneInfo("Asia/Tokyo"))
    assert entry.to == ("owner",)


def test_to_a_channel_it_mentions_nobody(database: Database) -> None:
    clock = FakeClock(SIX + timedelta(minutes=30))
    listed(database, box("c", "lilei"))
    reminders(database, clock, to=("ops",)).round()
    (notice,) = queued(database)
    assert (notice.channel, notice.mention) == ("ops", ())
