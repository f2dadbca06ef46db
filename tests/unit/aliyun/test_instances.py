"""Instances as resources."""

import tomllib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import costguard_aliyun
from costguard.domain.money import Money
from costguard.domain.resource import UNKNOWN_GPUS, ChargeType, Gpus, State
from costguard.testing.clock import NOON
from costguard_aliyun.instances import GROUP_TAGS, group_of, read_instance
from tests.unit.aliyun.helpers import box, ref, resource


def test_a_running_box_in_all_its_fields() -> None:
    found = resource(
        box(name="train-03", tags={"owner": "张伟"}, public_ip="47.93.0.1", auto_release=NOON + timedelta(days=2))
    )
    assert (found.name, found.state, found.raw_state) == ("train-03", State.RUNNING, "Running")
    assert (found.charge_type, found.sku) == (ChargeType.ON_DEMAND, "ecs.gn6i-c48g1.12xlarge")
    assert found.gpus == Gpus("NVIDIA T4", Decimal(2), 16_384)
    assert (found.vcpus, found.memory_mib) == (48, 186 * 1024)
    assert (found.created_at, found.started_at) == (NOON - timedelta(days=9), NOON - timedelta(hours=5))
    assert (found.expires_at, found.auto_release_at) == (None, NOON + timedelta(days=2))
    assert (found.price, found.spot_cap, found.group, found.protected) == (None, None, None, None)
    assert found.tags == {"owner": "张伟"}
    assert found.attributes["zone"] == "cn-beijing-h"
    assert found.attributes["public_ip"] == "47.93.0.1"
    assert (found.attributes["private_ip"], found.attributes["hostname"]) == ("192.168.0.7", "train-03")


def test_a_box_on_the_classic_network_has_its_address_elsewhere() -> None:
    assert resource(box(network="classic")).attributes["private_ip"] == "10.1.2.3"


def test_an_untagged_box_has_no_tags_member_and_no_tags() -> None:
    assert "Tags" not in box().described()
    assert resource(box()).tags == {}


def test_never_is_no_time() -> None:
    """Pay-as-you-go expires in 2099; no release timer is an empty text."""
    found = resource(box(extra={"StartTime": "", "CreationTime": "2026-03-01T08:00:30Z"}))
    assert (found.expires_at, found.auto_release_at, found.started_at) == (None, None, None)
    assert found.created_at == datetime(2026, 3, 1, 8, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "charge"),
    [
        ({}, ChargeType.ON_DEMAND),
        ({"spot": "SpotWithPriceLimit"}, ChargeType.SPOT),
        ({"spot": "SpotAsPriceGo"}, ChargeType.SPOT),
        ({"charge": "PrePaid"}, ChargeType.PREPAID),
        ({"spot": "SpotOf2027"}, ChargeType.UNKNOWN),
        ({"charge": "PayByTheMoon"}, ChargeType.UNKNOWN),
        ({"extra": {"SpotStrategy": ""}}, ChargeType.ON_DEMAND),
        ({"extra": {"InstanceChargeType": None}}, ChargeType.UNKNOWN),
    ],
)
def test_charge_types(fields: dict[str, Any], charge: ChargeType) -> None:
    """C05: a word that nobody knows is not acted on."""
    assert resource(box(**fields)).charge_type is charge


def test_a_subscription_expires() -> None:
    assert resource(box(charge="PrePaid", expires=NOON + timedelta(days=9))).expires_at == NOON + timedelta(days=9)


def test_a_spot_price_limit_of_zero_is_no_limit() -> None:
    assert resource(box(spot="SpotAsPriceGo")).spot_cap is None
    limited = resource(box(spot="SpotWithPriceLimit", spot_limit=9.5, spot_duration=1))
    assert limited.spot_cap == Money.of("9.5", "CNY")
    assert limited.attributes["spot_duration"] == "1"


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("Pending", State.PENDING),
        ("Starting", State.PENDING),
        ("Running", State.RUNNING),
        ("Stopping", State.STOPPING),
        ("Stopped", State.STOPPED),
        ("Hyperfrozen", State.UNKNOWN),
        ("", State.UNKNOWN),
    ],
)
def test_states(word: str, state: State) -> None:
    assert resource(box(state=word)).state is state


def test_locks_protect_and_deletion_protection_does_not() -> None:
    """C29: DeletionProtection guards a manual release alone."""
    assert resource(box(locks=["security", "Recycling"])).protected == "locked: security, Recycling"
    guarded = resource(box(protected=True))
    assert guarded.protected is None
    assert guarded.attributes["deletion_protection"] == "on"


@pytest.mark.parametrize("key", GROUP_TAGS)
def test_members_of_groups_are_known_by_their_tags(key: str) -> None:
    """C04: a member that is stopped is replaced."""
    assert resource(box(tags={key: "g-1", "role": "dev"})).group == f"{key}=g-1"
    assert group_of({key: ""}) == key


def test_the_manifest_lists_the_same_group_tags() -> None:
    manifest = tomllib.loads((Path(costguard_aliyun.__file__).parent / "manifest.toml").read_text("utf-8"))
    assert tuple(manifest["group_tags"]) == GROUP_TAGS


def test_a_bare_instance_is_all_unknown() -> None:
    """G11: a type that ECS does not describe is still listed, with what the instance itself tells."""
    bare = read_instance({"InstanceId": "i-1"}, ref("i-1"), None, "CNY", NOON)
    assert (bare.state, bare.charge_type, bare.sku, bare.gpus) == (
        State.UNKNOWN, ChargeType.UNKNOWN, None, UNKNOWN_GPUS,
    )  # fmt: skip
    told = read_instance({"GPUAmount": 8, "GPUSpec": "NVIDIA H20", "Cpu": 192}, ref("i-1"), None, "CNY", NOON)
    assert (told.gpus, told.vcpus) == (Gpus("NVIDIA H20", Decimal(8)), 192)
    none = read_instance({"GPUAmount": 0, "GPUSpec": ""}, ref("i-1"), None, "CNY", NOON)
    assert none.gpus == UNKNOWN_GPUS
