"""Disks, snapshots and elastic IPs."""

from datetime import timedelta

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard.errors import NotFound
from costguard.testing.clock import NOON
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME, ref


def test_disks(aliyun: AliyunConnection, server: AliyunServer) -> None:
    idle = server.storage.add_disk(HOME, size=500, tags={"team": "cv"}, DiskName="data")
    used = server.storage.add_disk(HOME, instance="i-1", DiskChargeType="PrePaid", ExpiredTime="2026-05-01T16:00Z")
    odd = server.storage.add_disk(HOME, Status="Melting", Size="big")
    found = {disk.ref.id: disk for disk in aliyun.list(Kind.DISK, HOME)}
    first = found[idle]
    assert (first.name, first.state, first.raw_state) == ("data", State.RUNNING, "Available")
    assert (first.size_gib, first.sku, first.depends_on, first.tags) == (500, "cloud_essd", None, {"team": "cv"})
    assert (first.charge_type, first.expires_at) == (ChargeType.ON_DEMAND, None)
    assert first.created_at == first.started_at == NOON - timedelta(days=60)
    assert first.attributes["detached_at"].startswith("2026-02-03")
    assert first.stop_effect is not None
    assert first.stop_effect.compute_billing_ends is Ends.NO
    assert (found[used].depends_on, found[used].charge_type) == ("i-1", ChargeType.PREPAID)
    assert found[used].expires_at is not None
    assert (found[odd].state, found[odd].raw_state, found[odd].size_gib) == (State.UNKNOWN, "Melting", None)


def test_snapshots(aliyun: AliyunConnection, server: AliyunServer) -> None:
    id = server.storage.add_snapshot(HOME, disk="d-9", size=40, SnapshotName="before")
    (found,) = aliyun.list(Kind.SNAPSHOT, HOME)
    assert (found.ref.id, found.name, found.state, found.size_gib) == (id, "before", State.RUNNING, 40)
    assert found.attributes["disk"] == "d-9"


def test_addresses(aliyun: AliyunConnection, server: AliyunServer) -> None:
    idle = server.storage.add_eip(HOME, tags={"team": "cv"})
    used = server.storage.add_eip(HOME, instance="i-1")
    found = {address.ref.id: address for address in aliyun.list(Kind.ADDRESS, HOME)}
    assert (found[idle].depends_on, found[idle].tags, found[idle].raw_state) == (None, {"team": "cv"}, "Available")
    assert (found[used].depends_on, found[used].raw_state) == ("i-1", "InUse")
    assert found[idle].attributes["bandwidth_mbps"] == "5"


def test_every_page_is_read(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """G01."""
    disks = {server.storage.add_disk(HOME) for _ in range(501)}
    snapshots = {server.storage.add_snapshot(HOME) for _ in range(200)}
    addresses = {server.storage.add_eip(HOME) for _ in range(201)}
    for kind, made in ((Kind.DISK, disks), (Kind.SNAPSHOT, snapshots), (Kind.ADDRESS, addresses)):
        assert {resource.ref.id for resource in aliyun.list(kind, HOME)} == made


def test_a_live_read_of_each_kind(aliyun: AliyunConnection, server: AliyunServer) -> None:
    made = {
        Kind.DISK: server.storage.add_disk(HOME),
        Kind.SNAPSHOT: server.storage.add_snapshot(HOME),
        Kind.ADDRESS: server.storage.add_eip(HOME),
    }
    for kind, id in made.items():
        assert aliyun.get(ref(id, kind)).ref == ref(id, kind)
        with pytest.raises(NotFound):
            aliyun.get(ref("x-1", kind))
    with pytest.raises(NotFound):
        aliyun.get(ref("b-1", Kind.BUCKET))
