"""Small facts by key."""

from concurrent.futures import ThreadPoolExecutor

from costguard.store import kv
from costguard.store.database import Database
from tests.store.things import MINUTE, NOW


def test_a_key_is_added_once_however_many_try(database: Database) -> None:
    """An event that a chat delivers twice, to two replicas at once: one works on it, the other is told so."""

    def add(number: int) -> bool:
        with database.write() as conn:
            return kv.add(conn, "press/slack/1", {"by": number}, NOW)

    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(add, range(8)))
    assert sorted(added) == [False] * 7 + [True]
    with database.read() as conn:
        assert kv.get(conn, "press/slack/1") == {"by": added.index(True)}


def test_old_keys_of_a_prefix_are_forgotten(database: Database) -> None:
    with database.write() as conn:
        kv.put(conn, "press/a", {}, NOW - MINUTE)
        kv.put(conn, "press/b", {}, NOW)
        kv.put(conn, "press_c", {}, NOW - MINUTE)
        assert kv.prune(conn, "press/", NOW) == 1
        assert set(kv.by_prefix(conn, "press")) == {"press/b", "press_c"}
