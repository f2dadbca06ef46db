"""One leader, with a token that only rises."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from costguard.errors import LeaseLost
from costguard.store import lease
from costguard.store.database import Database
from tests.store.things import NOW

TTL = timedelta(seconds=15)
SECOND = timedelta(seconds=1)


def test_take_over_raises_the_token(database: Database) -> None:
    """A holds, B is refused; when A's time has run out B takes over with a higher token, and A's is worth nothing."""
    with database.write() as conn:
        assert lease.acquire(conn, "leader", "a", TTL, NOW) == 1
        assert lease.acquire(conn, "leader", "b", TTL, NOW + 14 * SECOND) is None
        assert lease.acquire(conn, "leader", "a", TTL, NOW + 14 * SECOND) == 1
        assert lease.acquire(conn, "leader", "b", TTL, NOW + 28 * SECOND) is None
        assert lease.acquire(conn, "leader", "b", TTL, NOW + 29 * SECOND) == 2
        assert not lease.holds(conn, "leader", "a", 1, NOW + 29 * SECOND)
        assert lease.holds(conn, "leader", "b", 2, NOW + 29 * SECOND)
        with pytest.raises(LeaseLost, match="a no longer"):
            lease.renew(conn, "leader", "a", 1, TTL, NOW + 29 * SECOND)
        lease.release(conn, "leader", "a", 1, NOW + 29 * SECOND)
        assert lease.holds(conn, "leader", "b", 2, NOW + 30 * SECOND)


def test_renewing(database: Database) -> None:
    with database.write() as conn:
        token = lease.acquire(conn, "leader", "a", TTL, NOW)
        assert token is not None
        lease.renew(conn, "leader", "a", token, TTL, NOW + 10 * SECOND)
        assert lease.holds(conn, "leader", "a", token, NOW + 24 * SECOND)
        with pytest.raises(LeaseLost):
            lease.renew(conn, "leader", "a", token, TTL, NOW + 25 * SECOND)
        # It ran out while nobody looked: what was begun under the old token must not go on under the new one.
        assert lease.acquire(conn, "leader", "a", TTL, NOW + 60 * SECOND) == 2


def test_releasing_lets_the_next_in_at_once(database: Database) -> None:
    with database.write() as conn:
        token = lease.acquire(conn, "leader", "a", TTL, NOW)
        assert token is not None
        lease.release(conn, "leader", "a", token, NOW + SECOND)
        assert lease.acquire(conn, "leader", "b", TTL, NOW + SECOND) == 2
        assert lease.acquire(conn, "other", "c", TTL, NOW) == 1
        held = lease.current(conn, "leader")
        assert held == lease.Lease("leader", "b", 2, NOW + SECOND + TTL)
        assert [one.name for one in lease.all_leases(conn)] == ["leader", "other"]
        assert lease.current(conn, "nothing") is None


def test_of_many_that_ask_at_once_one_leads(database: Database) -> None:
    def ask(number: int) -> int | None:
        with database.write() as conn:
            return lease.acquire(conn, "leader", f"replica-{number}", TTL, NOW)

    with ThreadPoolExecutor(12) as pool:
        tokens = list(pool.map(ask, range(12)))
    assert sorted(token for token in tokens if token is not None) == [1]
