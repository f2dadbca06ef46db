"""Findings stay open from the first claim until a rule no longer makes it."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.money import Money
from costguard.store import findings
from costguard.store.database import Database
from tests.store.things import MINUTE, NOW, finding, ref


def test_the_earliest_since_is_kept(database: Database) -> None:
    first, later = finding(), replace(finding(), since=NOW, evidence={"max": 0.5})
    with database.write() as conn:
        assert findings.sync(conn, [first], NOW).opened == (first,)
        delta = findings.sync(conn, [later], NOW + MINUTE)
        assert delta.opened == delta.closed == ()
        assert delta.current == (replace(later, since=first.since),)
        (record,) = findings.open_findings(conn)
        assert (record.finding, record.opened_at, record.seen_at, record.closed_at) == (
            delta.current[0], NOW, NOW + MINUTE, None,
        )  # fmt: skip
        earlier = replace(finding(), since=first.since - timedelta(days=1))
        assert findings.sync(conn, [earlier], NOW + 2 * MINUTE).current[0].since == earlier.since


def test_what_is_no_longer_claimed_is_closed_and_may_open_again(database: Database) -> None:
    with database.write() as conn:
        findings.sync(conn, [finding(1), finding(2)], NOW)
        delta = findings.sync(conn, [finding(2)], NOW + MINUTE)
        assert delta.closed == (finding(1),)
        assert [one.finding for one in findings.open_findings(conn)] == [finding(2)]
        again = replace(finding(1), since=NOW + 2 * MINUTE)
        assert findings.sync(conn, [finding(2), again], NOW + 2 * MINUTE).opened == (again,)
        history = findings.list_findings(conn, ref=ref(1))
        assert [(one.opened_at, one.closed_at) for one in history] == [(NOW + 2 * MINUTE, None), (NOW, NOW + MINUTE)]
        assert len(findings.list_findings(conn, policy="idle-dev", since=NOW + MINUTE, limit=1)) == 1
        assert findings.list_findings(conn, policy="other") == ()


def test_unknown_never_clears(database: Database) -> None:
    """A10, I21: a rule that could not judge leaves its finding as it is."""
    with database.write() as conn:
        findings.sync(conn, [finding(1), finding(2)], NOW)
        delta = findings.sync(conn, [], NOW + MINUTE, unknown={finding(1).fingerprint, "of another"})
        assert delta.current == (finding(1),)
        assert delta.closed == (finding(2),)
        assert findings.open_findings(conn)[0].seen_at == NOW


def test_the_dearest_first(database: Database) -> None:
    cheap, unknown = finding(1, waste_per_hour=Money.of(1, "CNY")), finding(2, waste_per_hour=None)
    with database.write() as conn:
        findings.sync(conn, [cheap, unknown, finding(3)], NOW)
        assert [one.finding for one in findings.open_findings(conn)] == [finding(3), cheap, unknown]


def test_the_same_claim_twice_in_a_cycle_is_one(database: Database) -> None:
    with database.write() as conn:
        assert len(findings.sync(conn, [finding(1), finding(1)], NOW).current) == 1
