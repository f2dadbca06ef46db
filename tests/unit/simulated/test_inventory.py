"""Inventory: what each personality tells in its listing, and what only a live read tells."""

from datetime import timedelta
from pathlib import Path

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, ResourceRef, State
from costguard.errors import InvalidState, NotFound
from tests.unit.simulated.helpers import START, clock_at, machine, named, only, open_up, write

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("personality", "word", "started"),
    [("alibaba", "Running", True), ("tencent", "RUNNING", False), ("aws", "running", True), ("rack", "up", True)],
)
def test_states_have_the_clouds_own_words(tmp_path: Path, personality: str, word: str, started: bool) -> None:
    """The Tencent-like listing has no start time at all."""
    box = only(open_up(write(tmp_path, machine("a", started="-3h"), personality=personality), clock_at()))
    assert (box.state, box.raw_state) == (State.RUNNING, word)
    assert box.started_at == (START - 3 * HOUR if started else None)
    assert box.created_at == START - timedelta(days=20)


def test_a_restart_moves_the_launch_time(tmp_path: Path) -> None:
    """M12, A04: the AWS-like launch time is the last start's."""
    people = [{"at": "10m", "who": "liu", "do": "restart", "machine": "a"}]
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a"), personality="aws", people=people), clock)
    before = only(connection).started_at
    clock.advance(HOUR)
    after = only(connection).started_at
    assert before == START - timedelta(days=20)
    assert after is not None
    assert timedelta(minutes=10) < after - START < timedelta(minutes=12)


def test_the_aws_like_lock_shows_only_in_a_live_read(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", protected=True), personality="aws"), clock_at())
    box = only(connection)
    assert box.protected is None
    assert connection.get(box.ref).protected == "disableApiStop"


def test_a_stopped_machine_says_whether_it_is_still_charged(tmp_path: Path) -> None:
    """C07: after the stop, read back what the provider says."""
    machines = [machine("ends", stopped="-2h"), machine("goes-on", sku="local", stopped="-2h")]
    connection = open_up(write(tmp_path, *machines), clock_at())
    modes = {box.name: box.attributes["stopped_mode"] for box in connection.list(Kind.VM, "r1")}
    assert modes == {"ends": "StopCharging", "goes-on": "KeepCharging"}


def test_unreadable_tags_are_none(tmp_path: Path) -> None:
    """C21."""
    assert only(open_up(write(tmp_path, machine("a", tags=None)), clock_at())).tags is None


def test_retags_and_our_tags_show_from_their_moment(tmp_path: Path) -> None:
    people = [{"at": "10m", "who": "xu", "do": "retag", "machine": "a", "tags": {"costguard": None, "x": "1"}}]
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a", tags={"costguard": "keep"}), people=people), clock)
    assert only(connection).tags == {"costguard": "keep"}
    clock.advance(timedelta(minutes=11))
    connection.tag(only(connection).ref, {"seen": "yes"})
    assert only(connection).tags == {"x": "1", "seen": "yes"}


def test_disks_addresses_and_snapshots_are_listed(tmp_path: Path) -> None:
    holdings = [
        {"name": "old", "kind": "disk", "region": "r1", "size_gib": 10, "detached": "-9d"},
        {"name": "eip", "kind": "address", "region": "r1"},
        {"name": "snap", "kind": "snapshot", "region": "r1", "size_gib": 5},
    ]
    connection = open_up(write(tmp_path, machine("a"), cloud={"holdings": holdings}), clock_at())
    disks = {disk.name: disk for disk in connection.list(Kind.DISK, "r1")}
    assert disks["a-system"].depends_on == only(connection).ref.id
    assert disks["old"].depends_on is None
    assert disks["old"].attributes["detached_at"] == (START - timedelta(days=9)).isoformat()
    assert [only(connection, kind).name for kind in (Kind.ADDRESS, Kind.SNAPSHOT)] == ["eip", "snap"]
    for held in disks.values():
        assert connection.get(held.ref) == held


def test_a_prepaid_machine_expires_and_stopping_it_saves_nothing(tmp_path: Path) -> None:
    box = only(open_up(write(tmp_path, machine("a", charge="prepaid", created="-18d")), clock_at()))
    assert box.expires_at == START - timedelta(days=18) + timedelta(days=31)  # 25 October to 25 November
    assert box.stop_effect is not None
    assert box.stop_effect.compute_billing_ends is Ends.NO


def test_spot_prices_are_the_markets(tmp_path: Path) -> None:
    path = write(tmp_path, machine("a", charge="spot", spot_cap="6.00"))
    box = only(open_up(path, clock_at()))
    assert (box.charge_type, box.price_source) == (ChargeType.SPOT, "spot")
    assert box.price is not None
    assert box.spot_cap is not None
    assert 0 < box.price.nanos < 7_966_000_000
    hidden = only(
        open_up(write(tmp_path, machine("a", charge="spot", spot_cap="6.00"), personality="tencent"), clock_at())
    )
    assert hidden.spot_cap is None


def test_a_machine_that_is_not_born_or_gone_is_not_found(tmp_path: Path) -> None:
    people = [{"at": "30m", "who": "market", "do": "reclaim", "machine": "gone"}]
    path = write(tmp_path, machine("gone", charge="spot"), machine("later", created="1h"), people=people)
    clock = clock_at()
    connection = open_up(path, clock)
    ref = named(connection, "gone").ref
    assert [box.name for box in connection.list(Kind.VM, "r1")] == ["gone"]
    clock.advance(2 * HOUR)
    assert [box.name for box in connection.list(Kind.VM, "r1")] == ["later"]
    with pytest.raises(NotFound):
        connection.get(ref)
    assert [disk.name for disk in connection.list(Kind.DISK, "r1")] == ["later-system"]


def test_a_ref_of_another_kind_or_region_is_not_found(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a")), clock_at())
    ref = only(connection).ref
    for wrong in (
        ResourceRef(ref.provider, ref.account, "r2", ref.kind, ref.id),
        ResourceRef(ref.provider, ref.account, ref.region, Kind.JOB, ref.id),
        ResourceRef(ref.provider, ref.account, ref.region, Kind.DISK, ref.id),
    ):
        with pytest.raises(NotFound):
            connection.get(wrong)


def test_an_unknown_region_is_an_error_and_not_empty(tmp_path: Path) -> None:
    """G06."""
    with pytest.raises(InvalidState):
        list(open_up(write(tmp_path, machine("a")), clock_at()).list(Kind.VM, "us-east-99"))


def test_an_emptied_listing_can_be_ordered(tmp_path: Path) -> None:
    faults = [{"operation": "instances", "empty": True, "since": "10m", "until": "20m"}]
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a"), faults=faults), clock)
    seen = []
    for _ in range(3):
        seen.append(len(list(connection.list(Kind.VM, "r1"))))
        clock.advance(timedelta(minutes=10))
    assert seen == [1, 0, 1]
