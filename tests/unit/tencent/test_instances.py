"""CVM instances as resources."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from costguard.domain.resource import RUN, UNKNOWN_GPUS, ChargeType, Gpus, State
from costguard.testing.clock import NOON
from costguard_tencent.instance_types import UNSEEN, InstanceType
from costguard_tencent.instances import CHARGES, STATES, Beside, read_instance
from tests.unit.tencent.helpers import CPU, EIGHT, box, ref, resource

SCALING = "tencentcloud:autoscaling:auto-scaling-group-id"
V100 = InstanceType(80, 327_680, Gpus("NVIDIA V100", Decimal(8), 32_768))


def test_every_field_comes_through() -> None:
    found = resource(
        box(
            name="train-03", tags={"owner": "张伟"}, charge="PREPAID", renew="NOTIFY_AND_AUTO_RENEW", protected=True,
            expires=datetime(2026, 4, 1, tzinfo=UTC), serial=1,
        ),
        Beside(V100, NOON - timedelta(hours=3), release_at=NOON + timedelta(days=1)),
    )  # fmt: skip
    assert (found.name, found.state, found.raw_state, found.sku) == ("train-03", State.RUNNING, "RUNNING", EIGHT)
    assert (found.gpus, found.vcpus, found.memory_mib) == (Gpus("NVIDIA V100", Decimal(8), 32_768), 80, 327_680)
    assert (found.created_at, found.started_at) == (NOON - timedelta(days=9), NOON - timedelta(hours=3))
    assert (found.expires_at, found.auto_release_at) == (datetime(2026, 4, 1, tzinfo=UTC), NOON + timedelta(days=1))
    assert found.tags == {"owner": "张伟"}
    assert found.protected is None
    facts = found.attributes
    assert (facts["zone"], facts["auto_renew"], facts["deletion_protection"]) == ("ap-beijing-3", "yes", "on")
    assert facts["project"] == "0"
    assert facts["private_ip"] == "10.0.0.3"


@pytest.mark.parametrize("serial", [3, 4])
def test_both_spellings_of_times_are_utc(serial: int) -> None:
    assert resource(box(serial=serial)).created_at == NOON - timedelta(days=9)


@pytest.mark.parametrize(("word", "state"), [*STATES.items(), ("RESCUE_MODE", State.UNKNOWN), ("", State.UNKNOWN)])
def test_states(word: str, state: State) -> None:
    assert resource(box(state=word)).state is state


@pytest.mark.parametrize(("word", "charge"), [*CHARGES.items(), ("PAYBYTHEMOON", ChargeType.UNKNOWN)])
def test_charge_types(word: str, charge: ChargeType) -> None:
    assert resource(box(charge=word)).charge_type is charge


def test_a_part_of_a_card_is_a_fraction() -> None:
    assert resource(box(type="GN7.LARGE20")).gpus == Gpus("NVIDIA T4", Decimal("0.25"), None)
    assert resource(box(type=CPU)).gpus is None


@pytest.mark.parametrize(
    ("type", "info", "kind", "gpus"),
    [
        ("S5.LARGE8", None, UNSEEN, None),
        ("HCCIC5.48XLARGE384", None, UNSEEN, None),
        ("GN7.LARGE20", None, UNSEEN, UNKNOWN_GPUS),
        ("PNV4.7XLARGE116", None, UNSEEN, UNKNOWN_GPUS),
        ("FX4.7XLARGE60", None, UNSEEN, UNKNOWN_GPUS),
        (None, None, UNSEEN, UNKNOWN_GPUS),
        ("XX1.LARGE", None, UNSEEN, UNKNOWN_GPUS),
        ("XX1.LARGE", None, InstanceType(4), None),
        ("S5.LARGE8", {"GPUId": ["a"]}, UNSEEN, UNKNOWN_GPUS),
        ("GN7.LARGE20", {"GPUType": "T4", "GPUCount": 1}, UNSEEN, Gpus("T4", Decimal(1))),
    ],
)
def test_a_box_that_may_have_cards_is_none_without_them(
    type: str | None, info: object, kind: InstanceType, gpus: Gpus | None
) -> None:
    """G11: neither the instance nor its type tells, and the name does not speak for a plain one."""
    item = {"InstanceType": type, "GPUInfo": info}
    assert read_instance(item, ref("ins-00000001"), Beside(kind), NOON).gpus == gpus


@pytest.mark.parametrize(
    ("operation", "run"), [("StartInstances", "id-1"), ("RebootInstances", "id-1"), ("ModifyInstancesAttribute", None)]
)
def test_a_run_is_named_by_the_request_that_began_it(operation: str, run: str | None) -> None:
    """M12: who looks for the first time cannot date the start, but can tell it from the one before."""
    assert resource(box(operation=operation, operation_request="id-1")).attributes.get(RUN) == run


def test_a_stopped_box_has_no_run() -> None:
    assert resource(box(state="STOPPED"), Beside(started_at=NOON)).started_at is None


@pytest.mark.parametrize(
    ("tags", "group"),
    [
        ({SCALING: "asg-1"}, f"{SCALING}=asg-1"),
        ({"tke-clusterId": "cls-1", "a": "b"}, "tke-clusterId=cls-1"),
        ({"k8s.io/cluster-autoscaler": ""}, "k8s.io/cluster-autoscaler"),
        ({"role": "dev"}, None),
    ],
)  # fmt: skip
def test_members_of_groups_and_clusters(tags: dict[str, str], group: str | None) -> None:
    """C04."""
    assert resource(box(tags=tags)).group == group


@pytest.mark.parametrize(
    ("fields", "lock"),
    [
        ({"isolated_source": "ARREAR", "restrict": "EXPIRED"}, "isolated: ARREAR"),
        ({"restrict": "PROTECTIVELY_ISOLATED"}, "restricted: PROTECTIVELY_ISOLATED"),
        ({"protected": True}, None),
        ({}, None),
    ],
)
def test_isolated_boxes_are_protected(fields: dict[str, Any], lock: str | None) -> None:
    """C29: destruction protection guards no stop."""
    assert resource(box(**fields)).protected == lock


@pytest.mark.parametrize("field", sorted(box().described()))
@pytest.mark.parametrize("gone", ["null", "absent"])
def test_any_field_may_be_missing(field: str, gone: str) -> None:
    """G09: unknown, never a guess and never an exception."""
    item = box(public_ip="1.2.3.4", expires=NOON).described()
    if gone == "null":
        item[field] = None
    else:
        del item[field]
    found = read_instance(item, ref("ins-00000001"), Beside(V100), NOON)
    if field == "InstanceState":
        assert (found.state, found.raw_state) == (State.UNKNOWN, "")
    if field == "InstanceChargeType":
        assert found.charge_type is ChargeType.UNKNOWN
    if field == "GPUInfo":
        assert found.gpus == V100.gpus
    if field == "Tags":
        assert found.tags == {}
