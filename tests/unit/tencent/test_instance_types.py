"""Types: asked once per region."""

from datetime import timedelta
from decimal import Decimal

import pytest

from costguard.domain.resource import Gpus
from costguard.errors import Unavailable
from costguard.testing.cloud import Fault
from costguard_tencent.instance_types import UNSEEN, InstanceTypes, read_gpus, read_type
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import CPU, EIGHT, HOME, api


def test_a_region_is_asked_once(server: TencentServer) -> None:
    types = InstanceTypes(api(server))
    assert types.get(HOME, EIGHT).gpus == Gpus("NVIDIA V100", Decimal(8), 32_768)
    assert (types.get(HOME, CPU).vcpus, types.get(HOME, CPU).gpus) == (4, None)
    assert types.get(HOME, "GN7.LARGE20").gpus == Gpus("NVIDIA T4", Decimal("0.25"), 4_096)
    assert server.actions() == ["DescribeInstanceTypeConfigs"]


def test_a_type_nobody_knows_is_looked_for_again_but_not_at_once(server: TencentServer) -> None:
    """G11."""
    types = InstanceTypes(api(server))
    for _ in range(3):
        assert types.get(HOME, "GN99.HUGE") is UNSEEN
    assert server.request_count() == 1
    server.clock.advance(timedelta(hours=1))
    types.get(HOME, "GN99.HUGE")
    assert server.request_count() == 2


def test_without_the_right_the_instance_tells_enough(server: TencentServer) -> None:
    server.denied_actions.add("DescribeInstanceTypeConfigs")
    assert InstanceTypes(api(server)).get(HOME, EIGHT) is UNSEEN


def test_an_fpga_is_a_card() -> None:
    assert read_type({"InstanceType": "FX4.7XLARGE60", "FPGA": 1}).gpus == Gpus("unknown", Decimal(1))


def test_another_failure_is_told_and_not_remembered(server: TencentServer) -> None:
    types = InstanceTypes(api(server))
    server.fail(Fault.SERVER_ERROR)
    with pytest.raises(Unavailable):
        types.get(HOME, EIGHT)
    server.heal()
    assert types.get(HOME, EIGHT).gpus


def test_nulls_are_unknown() -> None:
    assert read_type({"InstanceType": "x"}).gpus is None
    assert read_gpus(None, 2) == Gpus("unknown", Decimal(2))
    assert read_gpus("T4", Decimal("0.5"), 8_192) == Gpus("T4", Decimal("0.5"), 8_192)
    assert read_gpus("", 0) is None
