"""At the border of the database: times are aware UTC, amounts exact, text safe, on both engines."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import StatementError

from costguard.domain.money import Money
from costguard.domain.resource import State
from costguard.store import actions, kv, ledger
from costguard.store.database import Database
from costguard.store.tables import resource as resource_table
from costguard.store.tables import usage_hour
from costguard.store.types import Word, from_micros, to_micros
from tests.store.things import NOW, action

EXAMPLES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
INSTANTS = st.datetimes(
    NOW.replace(year=1971, tzinfo=None),
    NOW.replace(year=9000, tzinfo=None),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=8))]),
)


@EXAMPLES
@given(
    at=INSTANTS,
    nanos=st.integers(-(2**63), 2**63 - 1),
    text=st.text(),
    value=st.floats(allow_nan=False, allow_infinity=False),
)
def test_values_come_back_exactly(database: Database, at: datetime, nanos: int, text: str, value: float) -> None:
    """F05: what was written is what is read: instants to the microsecond in UTC, amounts to the nano."""
    given_ = action(
        since=at,
        warned_at=at,
        waste_per_hour=Money(nanos, "CNY"),
        evidence={"at": at, "money": Money(nanos, "USD"), "value": value, "text": "x" + text, "none": None},
        reason=text,
    )
    with database.write() as conn:
        conn.execute(delete(actions.table))
        actions.insert(conn, given_)
        found = actions.get(conn, given_.id)
    assert found is not None
    assert (found.since, found.warned_at, found.waste_per_hour) == (at, at, Money(nanos, "CNY"))
    assert found.since.utcoffset() == timedelta(0)
    assert found.evidence == given_.evidence
    assert found.reason == text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@EXAMPLES
@given(at=INSTANTS)
def test_micros_are_exact(at: datetime) -> None:
    assert from_micros(to_micros(at)) == at


def test_a_naive_time_is_refused(database: Database) -> None:
    """F05: on both engines, in both forms of time, also in a comparison."""
    naive = NOW.replace(tzinfo=None)
    for broken in (action(since=naive), action(evidence={"at": naive})):
        with pytest.raises((StatementError, ValueError), match="naive"), database.write() as conn:
            actions.insert(conn, broken)
    with pytest.raises(StatementError, match="naive"), database.read() as conn:
        actions.executed_since(conn, naive)
    with pytest.raises(StatementError, match="naive"), database.read() as conn:
        conn.execute(select(usage_hour).where(usage_hour.c.hour > naive))


def test_bytes_of_a_hook_do_not_keep_an_action_from_being_saved(database: Database) -> None:
    """C30: a hook may print anything; its action is saved, the unprintable replaced."""
    dirty = action(hook_output="ok\x00\ud800 fin", error="\x00")
    with database.write() as conn:
        actions.insert(conn, dirty)
        found = actions.get(conn, dirty.id)
    assert found is not None
    assert found.hook_output == "ok\ufffd\ufffd fin"
    assert found.error == "\ufffd"


def test_documents_keep_any_text(database: Database) -> None:
    document = {"tag\x00": "\x00", "负责人": "张伟 🚀", "amount": {"amount": "1", "currency": "CNY"}, "z": 1, "a": [1]}
    with database.write() as conn:
        kv.put(conn, "k", document, NOW)
        found = kv.get(conn, "k")
    assert found == document
    assert list(found or {}) == list(document)


def test_a_word_outside_its_vocabulary_raises(database: Database) -> None:
    broken: Any = "levitating"
    with pytest.raises((StatementError, ValueError), match="levitating"), database.write() as conn:
        conn.execute(select(resource_table).where(resource_table.c.state == broken))
    assert Word(State).process_result_value("running", None) is State.RUNNING  # type: ignore[arg-type]


def test_exact_numbers_are_not_floats(database: Database) -> None:
    tenth = Decimal("0.1000000000000000000000000001")
    row = {
        "account": "a", "source": "s", "at": NOW, "row_count": 1, "currency": "CNY", "exact": tenth,
        "rounded_nanos": 100_000_000,
    }  # fmt: skip
    from costguard.store.tables import charge_import

    with database.write() as conn:
        conn.execute(insert(charge_import).values(**row))
        assert conn.execute(select(charge_import.c.exact)).scalar_one() == tenth


def test_money_without_a_value_is_unknown_not_zero(database: Database) -> None:
    with database.write() as conn:
        actions.insert(conn, action(waste_per_hour=None))
        found = actions.get(conn, "act-1")
        assert found is not None
        assert found.waste_per_hour is None
        assert ledger.list_entries(conn) == ()
