"""Disks, snapshots and addresses as resources."""

from datetime import UTC, datetime, timedelta

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard.testing.clock import NOON
from costguard_tencent.connection import TencentConnection
from costguard_tencent.storage import ADDRESS_STATES, DISK_STATES, SNAPSHOT_STATES
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import HOME


def test_a_disk(server: TencentServer, tencent: TencentConnection) -> None:
    """B04. CBS writes Beijing's time and no word of it."""
    server.cbs.add_disk(HOME, size=500, tags={"owner": "zw"}, LastAttachInsId="ins-1", SnapshotCount=2)
    server.cbs.add_disk(HOME, instance="ins-2", DiskChargeType="PREPAID", DeadlineTime="2026-04-01 08:00:00")
    free, used = tencent.list(Kind.DISK, HOME)
    assert (free.state, free.raw_state, free.depends_on, free.size_gib) == (State.RUNNING, "UNATTACHED", None, 500)
    assert (free.sku, free.charge_type, free.tags) == ("CLOUD_PREMIUM", ChargeType.ON_DEMAND, {"owner": "zw"})
    assert free.created_at == NOON - timedelta(days=60)
    assert (free.attributes["last_instance"], free.attributes["snapshots"]) == ("ins-1", "2")
    assert free.stop_effect is not None
    assert free.stop_effect.compute_billing_ends is Ends.NO
    assert (used.depends_on, used.charge_type) == ("ins-2", ChargeType.PREPAID)
    assert used.expires_at == datetime(2026, 4, 1, tzinfo=UTC)
    assert tencent.get(free.ref) == free


def test_a_snapshot(server: TencentServer, tencent: TencentConnection) -> None:
    server.cbs.add_snapshot(HOME, disk="disk-7", size=100)
    server.cbs.add_snapshot(HOME, IsPermanent=False, DeadlineTime="2026-03-06 20:00:00")
    kept, short = tencent.list(Kind.SNAPSHOT, HOME)
    assert (kept.state, kept.size_gib, kept.attributes["volume"], kept.expires_at) == (
        State.RUNNING, 100, "disk-7", None,
    )  # fmt: skip
    assert short.expires_at == datetime(2026, 3, 6, 12, tzinfo=UTC)


def test_an_address(server: TencentServer, tencent: TencentConnection) -> None:
    """VPC writes UTC. An ordinary address of an instance is no elastic one."""
    server.vpc.add_address(HOME)
    server.vpc.add_address(HOME, instance="ins-1", InternetChargeType="BANDWIDTH_PREPAID_BY_MONTH")
    server.vpc.add_address(HOME, instance="ins-2", AddressType="WanIP")
    idle, bound = tencent.list(Kind.ADDRESS, HOME)
    assert (idle.state, idle.raw_state, idle.depends_on) == (State.RUNNING, "UNBIND", None)
    assert (idle.attributes["ip"], idle.charge_type) == ("119.28.0.1", ChargeType.ON_DEMAND)
    assert idle.created_at == NOON - timedelta(days=40)
    assert (bound.depends_on, bound.charge_type) == ("ins-1", ChargeType.PREPAID)


@pytest.mark.parametrize(
    ("kind", "field", "states"),
    [
        (Kind.DISK, "DiskState", DISK_STATES),
        (Kind.SNAPSHOT, "SnapshotState", SNAPSHOT_STATES),
        (Kind.ADDRESS, "AddressStatus", ADDRESS_STATES),
    ],
)
def test_states(
    server: TencentServer, tencent: TencentConnection, kind: Kind, field: str, states: dict[str, State]
) -> None:
    words = [*states, "HYPERFROZEN"]
    for word in words:
        given = {field: word}
        if kind is Kind.DISK:
            server.cbs.add_disk(HOME, **given)
        elif kind is Kind.SNAPSHOT:
            server.cbs.add_snapshot(HOME, **given)
        else:
            server.vpc.add_address(HOME, **given)
    found = {one.raw_state: one.state for one in tencent.list(kind, HOME)}
    assert found == {**states, "HYPERFROZEN": State.UNKNOWN}
