"""Which regions are looked at how often."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from costguard.daemon.accounts import Account
from costguard.daemon.listing import Lister, never_readable
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import SourceState
from costguard.engine.pricing import PriceTable
from costguard.errors import PermissionDenied
from costguard.net.clock import SteppedClock
from costguard.store import inventory, sources
from costguard.store.database import Database
from tests.store.databases import migrated_sqlite, sqlite_database  # noqa: F401 — fixtures

NOW = datetime(2026, 3, 5, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Cloud:
    """One region whose listings a test sets."""

    def __init__(self) -> None:
        self.found: dict[Kind, list[Resource]] = {Kind.VM: [], Kind.NOTEBOOK: [], Kind.DISK: []}
        self.denied = False

    def kinds(self) -> frozenset[Kind]:
        return frozenset(self.found)

    def list(self, kind: Kind, region: str) -> Iterable[Resource]:
        if self.denied:
            raise PermissionDenied("no", provider="aliyun")
        return self.found[kind]

    def get(self, ref: ResourceRef) -> Resource:
        return next(r for r in self.found[ref.kind] if r.ref == ref)


def thing(kind: Kind, number: int, clock: SteppedClock) -> Resource:
    ref = ResourceRef("aliyun", "prod", "cn-beijing", kind, f"{kind.value}-{number}")
    return Resource(ref, ref.id, State.RUNNING, "Running", clock.now(), started_at=NOW - timedelta(days=1))


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock(NOW)


@pytest.fixture
def lister(sqlite_database: Database, clock: SteppedClock) -> Lister:  # noqa: F811
    return Lister(sqlite_database, clock, 2 * MINUTE, PriceTable([]))


def account(cloud: Cloud, regions: tuple[str, ...] = ()) -> Account:
    bound = SimpleNamespace(spec=SimpleNamespace(regions=regions))
    return cast(
        Account, SimpleNamespace(name="prod", provider="aliyun", bound=bound, connection=lambda: cast(Any, cloud))
    )


def states(lister: Lister) -> Sequence[bool]:
    with lister.database.read() as conn:
        return [s.fresh(lister.clock.now()) for s in sources.sources(conn)]


def test_a_region_where_nothing_works_is_looked_at_hourly_and_is_not_stale_meanwhile(
    lister: Lister, clock: SteppedClock
) -> None:
    cloud = Cloud()
    cloud.found[Kind.DISK] = [thing(Kind.DISK, 1, clock)]
    prod = account(cloud)
    assert lister.due(prod, "cn-beijing")
    assert lister.region(prod, "cn-beijing")
    clock.advance(59 * MINUTE)
    assert not lister.due(prod, "cn-beijing")
    assert all(states(lister))
    clock.advance(MINUTE)
    assert lister.due(prod, "cn-beijing")


def test_a_notebook_alone_keeps_its_region_watched(lister: Lister, clock: SteppedClock) -> None:
    cloud = Cloud()
    cloud.found[Kind.NOTEBOOK] = [thing(Kind.NOTEBOOK, 1, clock)]
    prod = account(cloud)
    lister.region(prod, "cn-beijing")
    clock.advance(2 * MINUTE)
    assert lister.due(prod, "cn-beijing")
    clock.advance(3 * MINUTE)
    assert not any(states(lister))


def test_a_region_that_was_never_readable_is_tried_daily(lister: Lister, clock: SteppedClock) -> None:
    """M01"""
    cloud = Cloud()
    cloud.denied = True
    prod = account(cloud)
    assert not lister.region(prod, "cn-beijing")
    clock.advance(timedelta(hours=23))
    assert not lister.due(prod, "cn-beijing")
    clock.advance(timedelta(hours=1))
    assert lister.due(prod, "cn-beijing")


def test_a_region_that_was_never_readable_is_left_out_where_others_can_be_read(
    lister: Lister, clock: SteppedClock
) -> None:
    """Nobody named it: it says skipped and why, fails no run, and is tried daily until it can be read."""
    here, there = Cloud(), Cloud()
    here.found[Kind.VM], there.denied = [thing(Kind.VM, 1, clock)], True
    near, far = account(here), account(there)
    assert not lister.region(far, "cn-far")
    assert lister.set_aside(far) == frozenset(), "no region at all can be read: it is the account that may not look"
    assert lister.region(near, "cn-beijing")
    assert lister.set_aside(far) == {"cn-far"}
    with lister.database.read() as conn:
        (left,) = never_readable(conn)
        assert {s.state for s in sources.sources(conn) if s.region == "cn-far"} == {SourceState.SKIPPED}
    assert left.error is not None
    assert left.error.startswith("never readable, tried again daily: ")
    for empty in (False, True):
        assert not lister.due(far, "cn-far", empty=empty)
    clock.advance(timedelta(days=1))
    assert lister.due(far, "cn-far", empty=True)
    assert not lister.region(far, "cn-far")
    assert lister.set_aside(far) == {"cn-far"}, "still not, so another day"
    assert not lister.due(far, "cn-far", empty=True)
    there.denied = False
    assert lister.region(far, "cn-far")
    assert lister.set_aside(far) == frozenset()
    with lister.database.read() as conn:
        assert never_readable(conn) == ()


def test_a_region_that_was_named_or_once_read_is_never_left_out(lister: Lister, clock: SteppedClock) -> None:
    cloud, other = Cloud(), Cloud()
    other.found[Kind.VM] = [thing(Kind.VM, 1, clock)]
    assert lister.region(account(other), "cn-beijing")
    assert lister.region(account(cloud), "cn-once")
    cloud.denied = True
    assert not lister.region(account(cloud), "cn-once")
    assert not lister.region(account(cloud), "cn-named")
    assert lister.set_aside(account(cloud, regions=("cn-named",))) == frozenset()
    assert lister.set_aside(account(cloud)) == {"cn-named"}


def test_a_listing_that_lost_most_is_doubted_before_it_is_believed(lister: Lister, clock: SteppedClock) -> None:
    """G06"""
    cloud = Cloud()
    prod = account(cloud)
    cloud.found[Kind.VM] = [thing(Kind.VM, n, clock) for n in range(10)]
    lister.region(prod, "cn-beijing")
    cloud.found[Kind.VM] = []
    alive = []
    for _ in range(3):
        clock.advance(2 * MINUTE)
        lister.region(prod, "cn-beijing")
        with lister.database.read() as conn:
            alive.append(len(inventory.resources(conn)))
    assert alive == [10, 10, 0]
