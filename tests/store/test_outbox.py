"""The outbox: queued once, claimed by one, sent at least once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from costguard.domain.notice import NoticeKind, NoticeState, SendReason
from costguard.errors import StaleWrite
from costguard.store import outbox
from costguard.store.database import Database
from costguard.store.outbox import SendRecord
from tests.store.things import MINUTE, NOW, notice


def test_every_field_comes_back(database: Database) -> None:
    full = notice(
        action_id="act-1", language="zh", owner_route=True, not_after=NOW, next_at=NOW, attempts=2, sent_at=NOW,
        message_ref="ts.1", last_error="e", fallback_of="note-0", state=NoticeState.SENT, reason=SendReason.FALLBACK,
    )  # fmt: skip
    with database.write() as conn:
        assert outbox.enqueue(conn, [full]) == ("note-1",)
        assert outbox.get(conn, "note-1") == full
        assert outbox.get(conn, "nobody") is None


def test_the_same_fact_is_queued_once(database: Database) -> None:
    """J16: a second notice with the same key is silently the same notice, also from a second process."""
    with database.write() as conn:
        assert outbox.enqueue(conn, [notice(1), notice(2)]) == ("note-1", "note-2")
        assert outbox.enqueue(conn, [notice(3, idem_key="idem-1"), notice(4)]) == ("note-4",)
        assert [one.id for one in outbox.list_notices(conn)] == ["note-1", "note-2", "note-4"]


def test_what_is_urgent_goes_first(database: Database) -> None:
    kinds = [NoticeKind.DIGEST, NoticeKind.RESULT, NoticeKind.FAILED, NoticeKind.WARN, NoticeKind.WARN]
    with database.write() as conn:
        outbox.enqueue(conn, [notice(n, kind=kind, created_at=NOW + (5 - n) * MINUTE) for n, kind in enumerate(kinds)])
        outbox.enqueue(conn, [notice("later", next_at=NOW + 10 * MINUTE), notice("elsewhere", channel="mail")])
        first = outbox.claim(conn, "ops", "w", NOW + 6 * MINUTE, MINUTE, 3)
        assert [one.id for one in first] == ["note-4", "note-3", "note-2"]
        assert {one.state for one in first} == {NoticeState.SENDING}
        assert [one.attempts for one in first] == [1, 1, 1]
        assert [one.id for one in outbox.claim(conn, "ops", "w", NOW + 6 * MINUTE, MINUTE, 9)] == ["note-1", "note-0"]
        assert outbox.claim(conn, "ops", "w", NOW + 6 * MINUTE, MINUTE, 9) == ()


def test_parallel_workers_never_get_the_same_notice(database: Database) -> None:
    """J02: eight workers on two channels drain 200 notices; each is claimed exactly once."""
    with database.write() as conn:
        outbox.enqueue(conn, [notice(n, channel=f"c{n % 2}") for n in range(200)])

    def drain(worker: int) -> list[str]:
        mine: list[str] = []
        while True:
            with database.write() as conn:
                got = outbox.claim(conn, f"c{worker % 2}", f"w{worker}", NOW, MINUTE, 7)
            if not got:
                return mine
            mine.extend(one.id for one in got)

    with ThreadPoolExecutor(8) as pool:
        claimed = [one for batch in pool.map(drain, range(8)) for one in batch]
    assert sorted(claimed) == sorted(f"note-{n}" for n in range(200))


def test_a_sender_that_dies_is_replaced_and_the_doubt_is_told(database: Database) -> None:
    """J03: a kill while sending loses nothing; who takes over knows that it may have been delivered."""
    with database.write() as conn:
        outbox.enqueue(conn, [notice()])
        outbox.claim(conn, "ops", "dead", NOW, MINUTE, 1)
        assert outbox.claim(conn, "ops", "next", NOW + MINUTE, MINUTE, 1) == ()
        (again,) = outbox.claim(conn, "ops", "next", NOW + 2 * MINUTE, MINUTE, 1)
        assert (again.attempts, again.last_error) == (2, outbox.INTERRUPTED)
        with pytest.raises(StaleWrite, match="held by dead"):
            outbox.mark_retry(conn, "note-1", "dead", next_at=NOW, error="x")
        with pytest.raises(StaleWrite):
            outbox.mark_dead(conn, "note-1", "dead", error="x")
        # But an acceptance that the first one still learns of is a fact.
        sent = outbox.mark_sent(conn, "note-1", NOW + 3 * MINUTE, message_ref="m")
        assert (sent.state, sent.sent_at, sent.message_ref) == (NoticeState.SENT, NOW + 3 * MINUTE, "m")
        with pytest.raises(StaleWrite, match="no longer"):
            outbox.mark_sent(conn, "note-1", NOW)


def test_retry_waits_and_dead_is_replayed(database: Database) -> None:
    """J19: what failed comes back when its time is due, and what was given up can be listed and replayed."""
    with database.write() as conn:
        outbox.enqueue(conn, [notice()])
        outbox.claim(conn, "ops", "w", NOW, MINUTE, 1)
        back = outbox.mark_retry(conn, "note-1", "w", next_at=NOW + 5 * MINUTE, error="server", reason=SendReason.RETRY)
        assert (back.state, back.last_error, back.reason) == (NoticeState.PENDING, "server", SendReason.RETRY)
        assert outbox.claim(conn, "ops", "w", NOW + 4 * MINUTE, MINUTE, 1) == ()
        outbox.claim(conn, "ops", "w", NOW + 5 * MINUTE, MINUTE, 1)
        outbox.mark_dead(conn, "note-1", "w", error="gone")
        assert outbox.depth(conn) == {("ops", NoticeState.DEAD): 1}
        assert [one.id for one in outbox.list_notices(conn, states=[NoticeState.DEAD])] == ["note-1"]
        assert outbox.replay(conn, NOW, ["other"]) == ()
        assert outbox.replay(conn, NOW + 6 * MINUTE) == ("note-1",)
        (again,) = outbox.claim(conn, "ops", "w", NOW + 6 * MINUTE, MINUTE, 1)
        assert again.attempts == 1


def test_newer_news_replaces_what_still_waits(database: Database) -> None:
    with database.write() as conn:
        outbox.enqueue(
            conn,
            [
                notice(1, alert_key="a"),
                notice(2, alert_key="a", created_at=NOW + MINUTE),
                notice(3, alert_key="a", channel="mail"),
                notice(4, alert_key="b", not_after=NOW + MINUTE),
            ],
        )
        assert outbox.supersede(conn, "a", "ops", NOW + MINUTE) == ("note-1",)
        assert outbox.expire(conn, NOW + MINUTE) == ()
        assert outbox.expire(conn, NOW + 2 * MINUTE) == ("note-4",)
        old = outbox.get(conn, "note-1")
        late = outbox.get(conn, "note-4")
        assert old is not None
        assert late is not None
        assert (old.state, old.reason) == (NoticeState.SUPERSEDED, SendReason.NEWER)
        assert (late.state, late.reason) == (NoticeState.SUPERSEDED, SendReason.EXPIRED)
        muted = outbox.suppress(conn, "note-2", SendReason.DUPLICATE)
        assert (muted.state, muted.reason) == (NoticeState.SUPPRESSED, SendReason.DUPLICATE)
        with pytest.raises(StaleWrite):
            outbox.suppress(conn, "note-2", SendReason.MUTED)


def test_the_record_of_sends(database: Database) -> None:
    def sent(key: str, at: datetime, facts: str = "h") -> SendRecord:
        return SendRecord(key, "ops", NoticeKind.WARN, facts, at)

    with database.write() as conn:
        for record in (sent("a", NOW, "1"), sent("a", NOW + MINUTE, "2"), sent("b", NOW)):
            outbox.record_send(conn, record)
        assert outbox.last_send(conn, "a", "ops") == sent("a", NOW + MINUTE, "2")
        assert outbox.last_send(conn, "a", "mail") is None
        assert outbox.sends_since(conn, "ops", NOW + MINUTE) == (NOW + MINUTE,)
        assert len(outbox.sends_since(conn, "ops", NOW)) == 3


def test_prune_keeps_what_is_unsent(database: Database) -> None:
    with database.write() as conn:
        outbox.enqueue(conn, [notice(1, state=NoticeState.SENT), notice(2), notice(3, state=NoticeState.DEAD)])
        outbox.record_send(conn, SendRecord("a", "ops", NoticeKind.WARN, "h", NOW))
        assert outbox.prune(conn, NOW) == 0
        assert outbox.prune(conn, NOW + timedelta(days=400)) == 3
        assert outbox.prune(conn, NOW + timedelta(days=400)) == 0
        assert [one.id for one in outbox.list_notices(conn)] == ["note-2"]


def test_where_a_story_began(database: Database) -> None:
    """The first message since the story last ended; a digest's line began none, a failure ends none."""
    told = [
        (NoticeKind.WARN, "C/1", SendReason.FIRST), (NoticeKind.WARN, "C/2", SendReason.CHANGED),
        (NoticeKind.FAILED, "C/3", SendReason.CHANGED), (NoticeKind.RESULT, "C/4", SendReason.CHANGED),
        (NoticeKind.WARN, "C/5", SendReason.DIGESTED), (NoticeKind.WARN, "C/6", SendReason.CHANGED),
    ]  # fmt: skip
    seen = []
    for number, (kind, ref, reason) in enumerate(told):
        with database.write() as conn:
            sent = notice(
                number, kind=kind, alert_key="story", state=NoticeState.SENT, reason=reason, message_ref=ref,
                sent_at=NOW + number * MINUTE,
            )  # fmt: skip
            outbox.enqueue(conn, [sent])
            seen.append(outbox.began(conn, sent))
            assert outbox.began(conn, replace(sent, channel="elsewhere")) is None
    assert seen == ["C/1", "C/1", "C/1", None, None, "C/6"]


def test_what_is_told_after_the_end_follows_the_story_that_ended(database: Database) -> None:
    """It answers what it is about, begins nothing itself, and a next story is another one."""
    told = [
        (NoticeKind.UNSEEN_WORK, "C/0"), (NoticeKind.WARN, "C/1"), (NoticeKind.RESULT, "C/2"),
        (NoticeKind.UNSEEN_WORK, "C/3"), (NoticeKind.RESULT, "C/4"), (NoticeKind.UNSEEN_WORK, "C/5"),
        (NoticeKind.WARN, "C/6"), (NoticeKind.UNSEEN_WORK, "C/7"),
    ]  # fmt: skip
    seen = []
    for number, (kind, ref) in enumerate(told):
        with database.write() as conn:
            sent = notice(
                number, kind=kind, alert_key="story", message_ref=ref, state=NoticeState.SENT,
                sent_at=NOW + number * MINUTE,
            )  # fmt: skip
            follows = outbox.began(conn, sent)
            outbox.enqueue(conn, [sent])
            seen.append(follows)
    assert seen == [None, None, "C/1", "C/1", None, "C/4", None, "C/6"]


def test_a_story_told_to_one_person_is_another_than_the_channels(database: Database) -> None:
    """Who was written to directly gets the rest directly; the channel, and the next person, hear it from its start."""
    mine = notice(
        1, kind=NoticeKind.WARN, alert_key="story", state=NoticeState.SENT, message_ref="D/1", sent_at=NOW,
        personal=True, mention=("zhangwei",),
    )  # fmt: skip
    with database.write() as conn:
        outbox.enqueue(conn, [mine])
        assert outbox.began(conn, mine) == "D/1"
        assert outbox.began(conn, replace(mine, mention=("lilei",))) is None
        assert outbox.began(conn, replace(mine, personal=False)) is None
