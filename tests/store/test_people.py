"""Levers: who, when, why, and for how long."""

from datetime import timedelta

from costguard.domain.snapshot import Keep
from costguard.store import levers
from costguard.store.database import Database
from costguard.store.levers import Dispute
from tests.store.things import NOW, ref

HOUR = timedelta(hours=1)


def test_keep_ends_by_itself(database: Database) -> None:
    """K02: a promise is boxed in time, bears its owner, and runs out without anyone doing anything."""
    short = Keep(ref(1), NOW + HOUR, "slack:U012", "模型在跑", NOW)
    longer = Keep(ref(1), NOW + 4 * HOUR, "cli:li", "demo", NOW, until_idle=True)
    with database.write() as conn:
        levers.keep(conn, short)
        assert levers.keeps(conn, NOW) == {ref(1): short}
        assert levers.keeps(conn, NOW + HOUR) == {}
        levers.keep(conn, longer)
        assert levers.keeps(conn, NOW + HOUR) == {ref(1): longer}
        assert levers.unkeep(conn, ref(1)) == longer
        assert levers.unkeep(conn, ref(1)) is None
        assert levers.keeps(conn, NOW) == {}


def test_claims(database: Database) -> None:
    with database.write() as conn:
        levers.claim(conn, ref(1), "zhangwei", by="cli:root", at=NOW)
        levers.claim(conn, ref(1), "li", by="slack:U1", at=NOW + HOUR)
        assert levers.claims(conn) == {ref(1): levers.Claim(ref(1), "li", "slack:U1", NOW + HOUR)}


def test_a_shorter_heartbeat_never_shortens_a_longer_one(database: Database) -> None:
    with database.write() as conn:
        assert levers.heartbeat(conn, ref(1), NOW + 2 * HOUR, by="token:ci", at=NOW) == NOW + 2 * HOUR
        assert levers.heartbeat(conn, ref(1), NOW + HOUR, by="token:ci", at=NOW) == NOW + 2 * HOUR
        assert levers.heartbeat(conn, ref(1), NOW + 3 * HOUR, by="token:ci", at=NOW) == NOW + 3 * HOUR
        assert levers.heartbeats(conn, NOW) == {ref(1): NOW + 3 * HOUR}
        assert levers.heartbeats(conn, NOW + 3 * HOUR) == {}


def test_disputes(database: Database) -> None:
    week = timedelta(days=7)
    first = Dispute("act-1", ref(1), "li", "was training", NOW, NOW + week)
    second = Dispute("act-2", ref(1), "li", "again", NOW + HOUR, NOW + HOUR + week)
    with database.write() as conn:
        for word in (first, second, second):
            levers.dispute(conn, word)
        assert levers.disputes(conn, NOW, NOW + 2 * HOUR) == (first, second)
        assert levers.disputes(conn, NOW, NOW + HOUR) == (first,)
        assert levers.disputed_until(conn, NOW + 2 * HOUR) == {ref(1): NOW + HOUR + week}
        assert levers.disputed_until(conn, NOW + HOUR + week) == {}


def test_the_kill_switch(database: Database) -> None:
    with database.write() as conn:
        assert levers.paused_until(conn, NOW) is None
        levers.pause(conn, by="cli:root", reason="release", at=NOW, until=NOW + HOUR)
        assert levers.paused_until(conn, NOW) == NOW + HOUR
        assert levers.paused_until(conn, NOW + HOUR) is None
        levers.pause(conn, by="slack:U1", reason="incident", at=NOW)
        assert levers.paused_until(conn, NOW + 100 * HOUR) == levers.FOREVER
        held = levers.paused(conn, NOW)
        assert held is not None
        assert (held.by, held.reason, held.until) == ("slack:U1", "incident", None)
        ended = levers.resume(conn, by="cli:root", at=NOW + 2 * HOUR)
        assert [(one.reason, one.resumed_by, one.resumed_at) for one in ended] == [
            ("incident", "cli:root", NOW + 2 * HOUR)
        ]
        assert levers.resume(conn, by="cli:root", at=NOW + 2 * HOUR) == ()
        assert levers.paused_until(conn, NOW + 2 * HOUR) is None
        # Ladders restart after a pause, so what ended since is asked for.
        assert [one.reason for one in levers.pauses(conn, NOW + 2 * HOUR)] == ["incident"]
        assert [one.reason for one in levers.pauses(conn, NOW + HOUR)] == ["release", "incident"]
        assert levers.pauses(conn, NOW + 3 * HOUR) == ()
