"""Types: GPUs, parts of them, local disks; one question per type."""

from decimal import Decimal

import pytest

from costguard.domain.resource import UNKNOWN_GPUS, Gpus
from costguard.errors import NotFound, Throttled
from costguard.testing.cloud import Fault
from costguard_aliyun.instance_types import InstanceTypes, read_gpus, read_type
from tests.fakes.aliyun.rpc import Refused
from tests.fakes.aliyun.server import AliyunServer
from tests.fakes.aliyun.types import TYPES, describe
from tests.unit.aliyun.helpers import HOME, api


@pytest.mark.parametrize(
    ("spec", "amount", "gpus"),
    [
        ("NVIDIA T4", 2, Gpus("NVIDIA T4", Decimal(2))),
        ("NVIDIA T4 * 1/4", 1, Gpus("NVIDIA T4", Decimal("0.25"))),
        ("T4*1/2", 0, Gpus("T4", Decimal("0.5"))),
        ("NVIDIA T4 × 1/4", 0, Gpus("NVIDIA T4", Decimal("0.25"))),
        ("NVIDIA A10/12", 1, Gpus("NVIDIA A10", 1 / Decimal(12))),
        ("", 1, Gpus("unknown", Decimal(1))),
        ("NVIDIA T4", 0, Gpus("NVIDIA T4", None)),
        ("", 0, None),
        ("", None, UNKNOWN_GPUS),
        (None, None, UNKNOWN_GPUS),
        ("odd/0", 1, Gpus("odd/0", Decimal(1))),
    ],
)
def test_gpus_and_parts_of_them(spec: object, amount: object, gpus: Gpus | None) -> None:
    """A24: a quarter of a card is a quarter of a card."""
    assert read_gpus(spec, amount) == gpus


def test_memory_is_told_in_gib() -> None:
    kind = read_type(describe("ecs.gn7e-c128g1.32xlarge"))
    assert (kind.vcpus, kind.memory_mib, kind.local_disk) == (128, 1_024_000, False)
    assert kind.gpus == Gpus("NVIDIA A100", Decimal(8), 81_920)
    assert read_type(describe("ecs.gn5-c8g1.4xlarge")).local_disk
    assert read_type({"MemorySize": Decimal("0.5")}).memory_mib == 512


@pytest.mark.parametrize(
    ("category", "gpus"),
    [
        ("Compute-optimized with FPGA", UNKNOWN_GPUS),
        ("Compute-optimized with NPU", UNKNOWN_GPUS),
        ("Compute-optimized", None),
        (None, None),
    ],
)
def test_cards_that_are_no_gpus_are_not_counted_as_none(category: str | None, gpus: Gpus | None) -> None:
    """A24: its CPUs may rest while an FPGA works."""
    assert read_type({"GPUAmount": 0, "GPUSpec": "", "InstanceCategory": category}).gpus == gpus


def test_each_type_is_asked_for_once_ten_at_a_time(server: AliyunServer) -> None:
    types = InstanceTypes(api(server))
    names = [*TYPES, *(f"ecs.x{n}.large" for n in range(10))]
    assert set(types.get(HOME, names)) == set(TYPES)
    assert [len(call.params["InstanceTypes"]) for call in server.calls] == [10, len(names) - 10]
    types.get("cn-hangzhou", TYPES)
    assert len(server.calls) == 2
    types.get(HOME, ["ecs.x0.large"])
    assert len(server.calls) == 3


def test_a_withdrawn_type_does_not_hide_the_others(server: AliyunServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = server._services["Ecs"][0]
    describes = reads.DescribeInstanceTypes  # type: ignore[attr-defined]

    def strict(call: object, *, InstanceTypes: list[str], NextToken: str = "") -> object:
        if not set(InstanceTypes) <= TYPES.keys():
            raise Refused("InvalidInstanceType.ValueNotSupported")
        return describes(call, InstanceTypes=InstanceTypes)

    monkeypatch.setattr(reads, "DescribeInstanceTypes", strict)
    found = InstanceTypes(api(server)).get(HOME, ["ecs.g7.xlarge", "ecs.gone.large"])
    assert set(found) == {"ecs.g7.xlarge"}


def test_a_failure_is_not_an_unknown_type(server: AliyunServer) -> None:
    server.fail(Fault.THROTTLED)
    with pytest.raises(Throttled):
        InstanceTypes(api(server)).get(HOME, ["ecs.g7.xlarge"])
    assert not issubclass(Throttled, NotFound)
