"""Kept windows are those that a query would give, and cost no query while nothing changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, event

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric, Series, Statistic, UsageSample, WindowSpec
from costguard.store import usage
from costguard.store.database import Database
from costguard.store.window_cache import WindowCache, Windows
from tests.store.things import MINUTE, NOW, ref

SPECS = frozenset({WindowSpec(Metric.GPU_UTIL, timedelta(hours=1)), WindowSpec(Metric.GPU_UTIL, 10 * MINUTE)})
LONG_AGO = NOW - timedelta(days=3)


def sample(number: int, age: int, value: float = 1.0) -> UsageSample:
    return UsageSample(Series(ref(number), Metric.GPU_UTIL, 0, "cms", Statistic.MAX), NOW - age * MINUTE, value, MINUTE)


@dataclass
class Asked:
    """Asks the cache and, beside it, the store; the answers must be one."""

    cache: WindowCache = field(default_factory=WindowCache)

    def same(
        self, conn: Connection, started: Mapping[ResourceRef, datetime | None], now: datetime = NOW
    ) -> Mapping[ResourceRef, Windows]:
        kept = self.cache.windows(conn, SPECS, now, lambda a, m, s: MINUTE, lambda a, m: MINUTE, started)
        asked = usage.windows(conn, SPECS, now, lambda a, m, s: MINUTE, lambda a, m: MINUTE, started, started)
        assert kept == asked
        return kept


def test_whatever_changes_is_seen(database: Database) -> None:
    """New and corrected samples, a restart, a box more, a box less, and time itself."""
    asked = Asked()
    started: dict[ResourceRef, datetime | None] = {ref(1): LONG_AGO, ref(2): None}
    with database.write() as conn:
        assert asked.same(conn, started) == {}
        usage.append(conn, [sample(number, age) for number in (1, 2, 3) for age in range(2, 20)])
        assert asked.same(conn, started).keys() == {ref(1), ref(2)}
        usage.append(conn, [sample(1, 5, value=9.0)])
        assert {one.max for one in asked.same(conn, started)[ref(1)][WindowSpec(Metric.GPU_UTIL, 10 * MINUTE)]} == {9.0}
        assert asked.same(conn, {**started, ref(3): None}).keys() == {ref(1), ref(2), ref(3)}
        assert asked.same(conn, {**started, ref(1): NOW}).keys() == {ref(2)}
        assert asked.same(conn, {ref(2): None}).keys() == {ref(2)}
        assert asked.same(conn, started).keys() == {ref(1), ref(2)}
        assert asked.same(conn, started, NOW + timedelta(days=1)) == {}


def test_nothing_new_asks_only_whether_something_is_new(database: Database) -> None:
    """A cycle between two polls aggregates nothing."""
    cache = WindowCache()
    started: dict[ResourceRef, datetime | None] = {ref(number): LONG_AGO for number in range(1, 30)}
    statements: list[str] = []

    def look(conn: Connection) -> Mapping[ResourceRef, Windows]:
        statements.clear()
        return cache.windows(conn, SPECS, NOW, lambda a, m, s: MINUTE, lambda a, m: MINUTE, started)

    with database.write() as conn:
        usage.append(conn, [sample(number, age) for number in range(1, 30) for age in range(2, 20)])
        event.listen(conn, "before_cursor_execute", lambda *told: statements.append(told[2]))
        first = look(conn)
        assert any("usage" in statement and "GROUP BY" in statement for statement in statements)
        assert look(conn) == first
        assert len(statements) == 1
        assert "FROM kv" in statements[0]


def test_a_metrics_source_that_was_read_again_moves_its_windows(database: Database) -> None:
    """A12: the provider's bounds stay as they are; those of the other source do not, though nothing was appended."""
    cache, late = WindowCache(), {"cms": 2 * MINUTE, "prometheus:dcgm": 5 * MINUTE, "": 2 * MINUTE}
    started: dict[ResourceRef, datetime | None] = {ref(1): LONG_AGO}

    def look(conn: Connection) -> dict[str, datetime]:
        found = cache.windows(
            conn, SPECS, NOW, lambda a, m, s: late[s], lambda a, m: MINUTE, started, ["prometheus:dcgm"]
        )
        return {w.series.source: w.end for windows in found[ref(1)].values() for w in windows}

    with database.write() as conn:
        dcgm = Series(ref(1), Metric.GPU_UTIL, 0, "prometheus:dcgm", Statistic.MAX)
        usage.append(conn, [sample(1, 6), UsageSample(dcgm, NOW - 6 * MINUTE, 1.0, MINUTE)])
        assert look(conn) == {"cms": NOW - 2 * MINUTE, "prometheus:dcgm": NOW - 5 * MINUTE}
        late["prometheus:dcgm"] = timedelta(0)
        assert look(conn) == {"cms": NOW - 2 * MINUTE, "prometheus:dcgm": NOW}
