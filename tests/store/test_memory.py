"""The ledger and the daemon's own memory: sources, accounts, cycles, small facts."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.finding import Subject
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.store import accounts, cycles, kv, ledger, sources
from costguard.store.database import Database
from tests.store.things import MINUTE, NOW, POLL, box, ref


def test_the_ledger_keeps_everything_in_its_order(database: Database) -> None:
    full = LedgerEntry(
        NOW, LedgerKind.EXECUTED, Subject.of(box(1)), "Stopped train-1.", "slack:U1", "act-1", "idle-dev", "ok",
        Money.of("34.74", "CNY"), {"window": timedelta(minutes=45), "at": NOW, "cards": (0, 1)},
    )  # fmt: skip
    bare = LedgerEntry(NOW + MINUTE, LedgerKind.SYSTEM, None, "Started.")
    with database.write() as conn:
        first, second = ledger.append(conn, [full, bare])
        assert first < second
        assert ledger.list_entries(conn) == (replace(bare, id=second), replace(full, id=first))
        for found in (
            ledger.list_entries(conn, ref=ref(1)),
            ledger.list_entries(conn, kinds=[LedgerKind.EXECUTED]),
            ledger.list_entries(conn, action_id="act-1"),
            ledger.list_entries(conn, account="prod", policy="idle-dev"),
            ledger.list_entries(conn, until=NOW + MINUTE),
        ):
            assert [one.id for one in found] == [first]
        assert [one.id for one in ledger.list_entries(conn, since=NOW + MINUTE)] == [second]
        assert [one.id for one in ledger.list_entries(conn, limit=1)] == [second]


def test_a_failed_poll_keeps_what_the_last_success_said(database: Database) -> None:
    """G05, M01: no answer is a state, never a count of zero; the count before is there to see an emptied inventory."""

    def success(count: int, minutes: int) -> SourceStatus | None:
        return sources.record_success(
            conn, "prod", "cn-beijing", "inventory", count=count, interval=POLL, now=NOW + minutes * MINUTE
        )

    with database.write() as conn:
        assert success(12, 0) is None
        first = SourceStatus("prod", "cn-beijing", "inventory", SourceState.OK, NOW, POLL, 12)
        assert sources.sources(conn) == (first,)
        assert success(10, 5) == first
        before = sources.record_failure(
            conn, "prod", "cn-beijing", "inventory",
            state=SourceState.DENIED, error="ecs:DescribeInstances is denied", interval=POLL, now=NOW + 10 * MINUTE,
        )  # fmt: skip
        assert before is not None
        assert before.state is SourceState.OK
        denied = sources.get(conn, "prod", "cn-beijing", "inventory")
        assert denied == SourceStatus(
            "prod", "cn-beijing", "inventory", SourceState.DENIED, NOW + 5 * MINUTE, POLL, 10, 12,
            "ecs:DescribeInstances is denied",
        )  # fmt: skip
        assert sources.changed_at(conn, "prod", "cn-beijing", "inventory") == NOW + 10 * MINUTE
        recovered = success(0, 15)
        assert recovered == denied
        assert success(0, 20) == SourceStatus(
            "prod", "cn-beijing", "inventory", SourceState.OK, NOW + 15 * MINUTE, POLL, 0, 10
        )
        assert sources.changed_at(conn, "prod", "cn-beijing", "inventory") == NOW + 15 * MINUTE
        sources.forget(conn, "prod", "cn-beijing", "inventory")
        assert sources.sources(conn) == ()


def test_a_source_that_never_answered_has_no_count_before(database: Database) -> None:
    with database.write() as conn:
        failed = {"state": SourceState.FAILED, "error": "timeout", "interval": POLL, "now": NOW}
        assert sources.record_failure(conn, "prod", "r", "usage", **failed) is None  # type: ignore[arg-type]
        sources.record_success(conn, "prod", "r", "usage", count=5, interval=POLL, now=NOW + POLL)
        status = sources.get(conn, "prod", "r", "usage")
        assert status is not None
        assert (status.count, status.previous_count) == (5, None)


def test_accounts(database: Database) -> None:
    known = accounts.AccountRecord("prod", "aliyun", "123456", "acs:ram::123456:user/costguard", True, NOW)
    with database.write() as conn:
        accounts.record(conn, known)
        accounts.record(conn, replace(known, verified=False, error="the account is 654321"))
        assert accounts.accounts(conn) == {"prod": replace(known, verified=False, error="the account is 654321")}


def test_cycles(database: Database) -> None:
    def cycle(number: int) -> cycles.CycleRecord:
        document = {"schema": "costguard.cycle/1", "findings": [{"amount": "1", "currency": "CNY"}], "n": number}
        return cycles.CycleRecord(f"c{number}", NOW + number * MINUTE, NOW + number * MINUTE, document)

    with database.write() as conn:
        assert cycles.latest(conn) is None
        assert cycles.last_run(conn) is None
        for number in range(3):
            cycles.record(conn, cycle(number))
        assert cycles.latest(conn) == cycle(2)
        assert cycles.last_run(conn) == NOW + 2 * MINUTE
        assert cycles.prune(conn, NOW + timedelta(days=9)) == 2
        assert cycles.latest(conn) == cycle(2)


def test_small_facts(database: Database) -> None:
    with database.write() as conn:
        for key in ("due.poll", "due.act", "due%", "other"):
            kv.put(conn, key, {"key": key}, NOW)
        kv.put(conn, "due.act", {"at": 2}, NOW)
        assert kv.by_prefix(conn, "due.") == {"due.act": {"at": 2}, "due.poll": {"key": "due.poll"}}
        assert list(kv.by_prefix(conn, "due%")) == ["due%"]
        kv.remove(conn, "due.act")
        assert kv.get(conn, "due.act") is None


def test_an_answer_that_lacks_a_part_says_so(database: Database) -> None:
    """M02: two of a hundred calls failed; the source answered, and its status names what is missing."""
    with database.write() as conn:
        sources.record_success(conn, "prod", "r", "usage", count=98, interval=POLL, now=NOW, note="2 of 100 unread")
        status = sources.get(conn, "prod", "r", "usage")
        assert status is not None
        assert (status.state, status.count, status.error) == (SourceState.OK, 98, "2 of 100 unread")
