"""Resources: complete listings, identity, intervals of state, starts and stops."""

import time
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection

from costguard.domain.action import ActionState
from costguard.domain.finding import Subject
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import (
    RUN,
    UNKNOWN_GPUS,
    ChargeType,
    Ends,
    Gpus,
    Kind,
    Resource,
    State,
    StopEffect,
)
from costguard.domain.snapshot import PowerEvent
from costguard.store import actions, inventory, ledger, power, states
from costguard.store.database import Database
from costguard.store.inventory import ListingDelta
from tests.store.things import MINUTE, NOW, POLL, action, box, ref


def listing(conn: Connection, at: datetime, *boxes: Resource) -> ListingDelta:
    seen = [replace(one, observed_at=at) for one in boxes]
    return inventory.record_listing(conn, "prod", "cn-beijing", Kind.VM, seen, at, POLL)


def spans(conn: Connection) -> list[tuple[str, int, int | None, bool]]:
    """Intervals as (state, minutes from NOW, to, assumed)."""

    def minutes(at: datetime | None) -> int | None:
        return None if at is None else int((at - NOW) / MINUTE)

    found = states.intervals(conn, NOW - timedelta(days=9), NOW + timedelta(days=9))
    return [(one.state.value, minutes(one.started) or 0, minutes(one.ended), one.assumed) for one in found]


def test_every_field_comes_back(database: Database) -> None:
    full = box(
        stopped_at=NOW, expires_at=NOW, auto_release_at=NOW, spot_cap=Money.of("1.5", "USD"), owner="li", team="nlp",
        group="asg-1", protected="deletion", depends_on="i-2", size_gib=100, creator="arn:x", memory_mib=None,
    )  # fmt: skip
    bare = Resource(ref(2), "", State.UNKNOWN, "?", NOW, tags=None)
    with database.write() as conn:
        delta = listing(conn, NOW, full, bare)
        assert delta == ListingDelta(new=(full, bare))
        assert inventory.resource(conn, full.ref) == full
        assert inventory.resource(conn, bare.ref) == bare
        assert inventory.resources(conn) == (full, bare)
        assert inventory.resource(conn, ref("none")) is None
        assert inventory.first_seen(conn, [full.ref, ref("none")]) == {full.ref: NOW}


def test_gpus_of_an_unknown_number_are_not_none(database: Database) -> None:
    """G11: what the provider does not describe stays unknown, which proves no rest."""
    counts: list[Gpus | None] = [UNKNOWN_GPUS, None, Gpus("T4", None, 15_360), Gpus("T4", Decimal("0.25"))]
    with database.write() as conn:
        listing(conn, NOW, *(box(number, gpus=gpus) for number, gpus in enumerate(counts)))
        assert [one.gpus for one in inventory.resources(conn)] == counts


def test_unreadable_tags_are_not_empty_tags(database: Database) -> None:
    """C21: tags that could not be read stay None, which protects the box."""
    with database.write() as conn:
        listing(conn, NOW, box(1, tags=None), box(2, tags={}))
        assert [one.tags for one in inventory.resources(conn)] == [None, {}]


def test_what_a_complete_listing_no_longer_has_is_gone(database: Database) -> None:
    elsewhere = replace(box(9), ref=ref(9, region="cn-shanghai"))
    with database.write() as conn:
        listing(conn, NOW, box(1), box(2))
        inventory.record_listing(conn, "prod", "cn-shanghai", Kind.VM, [elsewhere], NOW, POLL)
        delta = listing(conn, NOW + POLL, box(1))
        assert [one.ref.id for one in delta.gone] == ["i-2"]
        assert delta.gone[0].state is State.GONE
        assert delta.changed == ()
        assert [one.ref.id for one in inventory.resources(conn)] == ["i-1", "i-9"]
        assert len(inventory.resources(conn, include_gone=True)) == 3
        assert listing(conn, NOW + 2 * POLL, box(1)).gone == ()
        back = listing(conn, NOW + 3 * POLL, box(1), box(2))
        assert [one.ref.id for one in back.changed] == ["i-2"]
        assert [one.started - NOW for one in states.intervals(conn, NOW, NOW + 9 * POLL, ref(2))] == [
            timedelta(0), POLL, 3 * POLL,
        ]  # fmt: skip
        assert [one.assumed for one in states.intervals(conn, NOW, NOW + 9 * POLL, ref(2))] == [False, True, False]


def test_a_listing_that_is_older_than_a_live_look_changes_nothing(database: Database) -> None:
    """M12: the listing began before the box was looked at; what it says of that box is the past."""
    with database.write() as conn:
        listing(conn, NOW, box(1, state=State.STOPPED), box(2))
        restarted = box(1, NOW + 4 * MINUTE, started_at=NOW + 3 * MINUTE)
        live = inventory.record_live(conn, restarted, NOW + 4 * MINUTE)
        assert live.changed == (restarted,)
        old = listing(conn, NOW + 2 * MINUTE, box(1, state=State.STOPPED))
        assert old.changed == ()
        assert [one.ref.id for one in old.gone] == ["i-2"]
        assert inventory.resource(conn, ref(1)) == restarted
        new = box(3, NOW + 5 * MINUTE)
        assert inventory.record_live(conn, new, NOW + 5 * MINUTE).new == (new,)
        assert listing(conn, NOW + 3 * MINUTE).gone == ()
        assert [one.ref.id for one in inventory.record_gone(conn, ref(3), NOW + 6 * MINUTE).gone] == ["i-3"]


def test_what_was_seen_in_a_time_that_has_not_come_is_seen_anew(database: Database) -> None:
    """E08: the clock was an hour ahead for a while; listings and looks count again from when it is set right."""
    kept = box(1, tags={"costguard": "keep"})
    with database.write() as conn:
        listing(conn, NOW, box(1), box(2), box(3))
        listing(conn, NOW + 60 * MINUTE, box(1, state=State.STOPPED), box(2), box(3))
        at = NOW + 5 * MINUTE
        seen = [replace(one, observed_at=at) for one in (kept, box(2))]
        late = inventory.record_listing(conn, "prod", "cn-beijing", Kind.VM, seen, at, POLL, at)
        assert [one.ref for one in late.gone] == [ref(3)]
        assert inventory.resource(conn, ref(1)) == seen[0]
        inventory.record_live(conn, replace(seen[1], tags={"a": "b"}, observed_at=at), at)
        assert (one := inventory.resource(conn, ref(2))) is not None
        assert one.tags == {"a": "b"}
        listing(conn, NOW + 10 * MINUTE, box(1, state=State.STOPPED), box(2))
        times = [(i.started, i.ended) for i in states.intervals(conn, NOW, NOW + 90 * MINUTE, ref(1))]
    assert all(ended is None or started <= ended for started, ended in times)
    assert [b[0] for b in times[1:]] == [a[1] for a in times[:-1]], "one state at a time"


def test_an_answer_of_before_the_stop_is_no_restart(database: Database) -> None:
    """G09: reads that lag behind a write: said to run since before it was seen stopped. Believed if it stays so."""
    running = box(started_at=NOW - 9 * MINUTE)
    with database.write() as conn:
        listing(conn, NOW, running)
        stopped = replace(running, state=State.STOPPED, stopped_at=NOW + MINUTE, observed_at=NOW + MINUTE)
        inventory.record_live(conn, stopped, NOW + MINUTE)
        lagging = listing(conn, NOW + 2 * MINUTE, running)
        assert lagging == ListingDelta()
        assert inventory.resource(conn, running.ref) == stopped
        assert spans(conn)[-1] == ("stopped", 1, None, False)
        started = replace(running, started_at=NOW + 2 * MINUTE)
        assert [e.what for e in listing(conn, NOW + 2.5 * MINUTE, started).events] == ["start"]


def test_a_provider_that_keeps_its_times_over_a_restart_is_believed(database: Database) -> None:
    running = box(started_at=NOW - 9 * MINUTE)
    with database.write() as conn:
        listing(conn, NOW, replace(running, state=State.STOPPED))
        assert [e.what for e in listing(conn, NOW + 5 * MINUTE, running).events] == ["start"]


def test_a_start_that_the_provider_tells_is_the_identity(database: Database) -> None:
    with database.write() as conn:
        listing(conn, NOW, box(1))
        again = box(1, started_at=NOW + 2 * MINUTE)
        delta = listing(conn, NOW + POLL, again)
        assert delta.events == (PowerEvent(ref(1), NOW + 2 * MINUTE, "start", False),)
        assert inventory.resources(conn)[0].started_at == NOW + 2 * MINUTE


def test_where_the_provider_tells_no_start_we_keep_one(database: Database) -> None:
    """Tencent: identity is when it was first seen running; a stop that did not come about starts nothing anew."""
    running = box(1, started_at=None, created_at=NOW - timedelta(days=90))
    stopping = replace(running, state=State.STOPPING)
    stopped = replace(running, state=State.STOPPED)
    pending = replace(running, state=State.PENDING)

    def seen(at: int, one: Resource) -> datetime | None:
        listing(conn, NOW + at * MINUTE, one)
        return inventory.resources(conn)[0].started_at

    with database.write() as conn:
        assert seen(0, running) == NOW
        assert seen(5, running) == NOW
        assert seen(10, stopping) == NOW
        assert seen(15, running) == NOW
        assert seen(20, replace(running, state=State.UNKNOWN)) == NOW
        assert seen(25, stopped) is None
        assert seen(30, pending) is None
        assert seen(35, running) == NOW + 35 * MINUTE
        assert seen(40, running) == NOW + 40 * MINUTE - 5 * MINUTE


def test_another_run_is_another_start_even_when_nobody_saw_the_stop(database: Database) -> None:
    """M12: between two looks of two processes somebody stopped it and started it again; only the run's name tells."""
    running = box(1, started_at=None, attributes={})
    again = replace(running, attributes={RUN: "request-2"})

    def seen(at: int, one: Resource) -> datetime | None:
        listing(conn, NOW + at * MINUTE, one)
        return inventory.resources(conn)[0].started_at

    with database.write() as conn:
        assert seen(0, running) == NOW
        assert seen(5, replace(again, state=State.PENDING)) is None
        assert seen(10, again) == NOW + 10 * MINUTE
        assert seen(15, again) == NOW + 10 * MINUTE
        # Its latest operation is another one now, which names no run.
        assert seen(20, running) == NOW + 10 * MINUTE
        assert seen(25, replace(running, attributes={RUN: "request-3"})) == NOW + 25 * MINUTE


def test_intervals(database: Database) -> None:
    """State, price and charge type each begin a new interval; the provider's own time counts when it fits."""
    one = box(1)
    with database.write() as conn:
        listing(conn, NOW, one)
        listing(conn, NOW + 5 * MINUTE, one)
        listing(conn, NOW + 10 * MINUTE, replace(one, price=Money.of("30", "CNY")))
        stopped = replace(one, price=Money.of("30", "CNY"), state=State.STOPPED, stopped_at=NOW + 12 * MINUTE)
        listing(conn, NOW + 15 * MINUTE, stopped)
        listing(conn, NOW + 20 * MINUTE, replace(stopped, charge_type=ChargeType.PREPAID))
        listing(conn, NOW + 25 * MINUTE)
        assert spans(conn) == [
            ("running", 0, 10, False),
            ("running", 10, 12, False),
            ("stopped", 12, 20, False),
            ("stopped", 20, 25, False),
        ]
        found = states.intervals(conn, NOW, NOW + 25 * MINUTE)
        assert [str(one.per_hour) for one in found] == ["¥34.74", "¥30.00", "¥0.00", "¥30.00"]
        assert [str(one.charge_type) for one in found] == ["on_demand", "on_demand", "on_demand", "prepaid"]
        assert states.intervals(conn, NOW + 25 * MINUTE, NOW + 30 * MINUTE) == ()


def test_a_gap_in_polling_is_an_assumed_interval(database: Database) -> None:
    """E01: the machine slept for an hour; that hour is not an observation."""
    with database.write() as conn:
        listing(conn, NOW, box(1))
        listing(conn, NOW + 10 * MINUTE, box(1))
        listing(conn, NOW + 70 * MINUTE, box(1))
        listing(conn, NOW + 75 * MINUTE, box(1))
        assert spans(conn) == [("running", 0, 10, False), ("running", 10, 70, True), ("running", 70, None, False)]


def test_stops_are_ours_when_our_call_lies_between_the_looks(database: Database) -> None:
    """C33: an action of ours never looks like a person's, and a person's never like ours."""
    running, stopped = box(1), replace(box(1), state=State.STOPPED)
    with database.write() as conn:
        listing(conn, NOW, running)
        actions.insert(conn, action(1, state=ActionState.VERIFYING, executed_at=NOW + MINUTE))
        listing(conn, NOW + 2 * MINUTE, replace(running, state=State.STOPPING))
        ours = listing(conn, NOW + 5 * MINUTE, stopped)
        assert ours.events == (PowerEvent(ref(1), NOW + 5 * MINUTE, "stop", True),)
        listing(conn, NOW + 10 * MINUTE, stopped)
        theirs = listing(conn, NOW + 15 * MINUTE, replace(running, started_at=NOW + 13 * MINUTE))
        assert theirs.events == (PowerEvent(ref(1), NOW + 13 * MINUTE, "start", False),)
        by_hand = listing(conn, NOW + 20 * MINUTE, replace(stopped, stopped_at=NOW + 16 * MINUTE))
        assert by_hand.events == (PowerEvent(ref(1), NOW + 16 * MINUTE, "stop", False),)
        undo = LedgerEntry(NOW + 21 * MINUTE, LedgerKind.UNDO, Subject.of(running), "Started again.", actor="cli:li")
        ledger.append(conn, [undo])
        undone = listing(conn, NOW + 25 * MINUTE, replace(running, started_at=NOW + 22 * MINUTE))
        assert undone.events == (PowerEvent(ref(1), NOW + 22 * MINUTE, "start", True),)
        assert power.events_since(conn, NOW + 6 * MINUTE) == {ref(1): (*theirs.events, *by_hand.events, *undone.events)}


def test_the_providers_telling_of_a_start_is_the_same_start(database: Database) -> None:
    told = PowerEvent(ref(1), NOW + 3 * MINUTE, "start", False, "arn:li")
    stopped = replace(box(1), state=State.STOPPED)
    with database.write() as conn:
        listing(conn, NOW, stopped)
        listing(conn, NOW + POLL, box(1))
        assert power.record(conn, [told]) == 0
        assert power.record(conn, [told]) == 0
        assert power.events_since(conn, NOW) == {ref(1): (told,)}
        # A second start so soon after is another one, whoever tells it first.
        second = replace(told, at=NOW + 7 * MINUTE)
        assert power.record(conn, [second]) == 1
        listing(conn, NOW + 8 * MINUTE, stopped)
        listing(conn, NOW + 9 * MINUTE, box(1))
        events = [(one.what, one.at - NOW, one.actor) for one in power.events_since(conn, NOW)[ref(1)]]
        assert events == [
            ("start", 3 * MINUTE, "arn:li"), ("start", 7 * MINUTE, "arn:li"), ("stop", 8 * MINUTE, None),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("i-1", ["prod/i-1", "test/i-1"]),
        ("prod/i-1", ["prod/i-1"]),
        ("aliyun/test/cn-beijing/vm/i-1", ["test/i-1"]),
        ("train-2", ["prod/i-2"]),
        ("twin", ["prod/i-3", "prod/i-4"]),
        ("old", ["prod/i-5"]),
        ("aliyun/test/cn-beijing/spaceship/i-1", []),
        ("nothing", []),
        ("%", []),
    ],
)
def test_what_a_person_may_mean(database: Database, text: str, ids: list[str]) -> None:
    other: Any = replace(box(1), ref=ref(1, account="test"))
    with database.write() as conn:
        listing(conn, NOW, box(1), box(2), box(3, name="twin"), box(4, name="twin"), box(5, name="old"))
        listing(conn, NOW + POLL, box(1), box(2), box(3, name="twin"), box(4, name="twin"))
        inventory.record_listing(conn, "test", "cn-beijing", Kind.VM, [other], NOW, POLL)
        assert [f"{one.ref.account}/{one.ref.id}" for one in inventory.find(conn, text)] == ids


def test_a_changed_effect_is_a_change(database: Database) -> None:
    with database.write() as conn:
        listing(conn, NOW, box(1))
        assert listing(conn, NOW + POLL, box(1)).changed == ()
        delta = listing(conn, NOW + 2 * POLL, box(1, stop_effect=StopEffect(Ends.NO)))
        assert [one.stop_effect for one in delta.changed] == [StopEffect(Ends.NO)]


@pytest.mark.parametrize("count", [0, 1, 100, 101, 1001, 2500])
def test_any_number_of_resources(database: Database, count: int) -> None:
    """G01, M20: no size loses a resource, and none is fetched or written one by one."""
    boxes = [box(n) for n in range(count)]
    with database.write() as conn:
        began = time.process_time()
        assert len(listing(conn, NOW, *boxes).new) == count
        assert listing(conn, NOW + POLL, *boxes) == ListingDelta()
        assert len(listing(conn, NOW + 2 * POLL, *boxes[: count // 2]).gone) == count - count // 2
        assert time.process_time() - began < 20
        assert len(inventory.resources(conn)) == count // 2
