"""GPUs per type: whole, fractional, Neuron, none; asked once per region."""

from decimal import Decimal
from typing import Any

import pytest

from costguard.domain.resource import Gpus
from costguard_aws.connection import AwsConnection
from costguard_aws.instance_types import InstanceTypes, read_type
from tests.fakes.aws.server import AwsServer
from tests.fakes.aws.types import describe
from tests.unit.aws.helpers import HOME


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("c6i.xlarge", None),
        ("p3.8xlarge", Gpus("V100", Decimal(4), 16_384)),
        ("g6f.large", Gpus("L4", Decimal("0.125"), 2_861)),
        ("inf2.xlarge", Gpus("Inferentia2", Decimal(1), 32_768)),
    ],
)
def test_gpus_of_a_type(name: str, gpus: Gpus | None) -> None:
    assert read_type(describe(name)).gpus == gpus


@pytest.mark.parametrize(
    ("info", "key"),
    [
        ("NeuronInfo", "NeuronDevices"),
        ("InferenceAcceleratorInfo", "Accelerators"),
        ("FpgaInfo", "Fpgas"),
        ("MediaAcceleratorInfo", "Accelerators"),
    ],
)
def test_cards_that_are_no_gpus_are_cards(info: str, key: str) -> None:
    """A24: trn, inf, f and vt: their CPUs may rest while the cards work."""
    item: dict[str, Any] = {**describe("c6i.xlarge"), info: {key: [{"Name": "X", "Count": 8}]}}
    assert read_type(item).gpus == Gpus("X", Decimal(8))
    item[info][key][0].pop("Count")
    assert read_type(item).gpus == Gpus("X", None)


def test_an_old_answer_has_only_a_count() -> None:
    item = {"GpuInfo": {"Gpus": [{"Name": "K80", "Count": 8}]}}
    assert read_type(item).gpus == Gpus("K80", Decimal(8), None)


@pytest.mark.parametrize("field", [*describe("g4dn.12xlarge"), "NeuronInfo"])
def test_any_field_may_be_missing(field: str) -> None:
    """G09: one field at a time, absent and null."""
    item: dict[str, Any] = describe("g4dn.12xlarge")
    read_type({**item, field: None})
    read_type({key: value for key, value in item.items() if key != field})


@pytest.mark.parametrize(
    "field", ["Name", "Manufacturer", "Count", "LogicalGpuCount", "GpuPartitionSize", "MemoryInfo"]
)
def test_any_field_of_a_gpu_may_be_missing(field: str) -> None:
    """G09."""
    item: dict[str, Any] = describe("g4dn.12xlarge")
    gpu = {key: value for key, value in item["GpuInfo"]["Gpus"][0].items() if key != field}
    found = read_type({**item, "GpuInfo": {"Gpus": [gpu]}}).gpus
    assert found is not None
    assert found.count == 4


def test_a_type_is_asked_for_once_per_region(aws: AwsConnection, server: AwsServer) -> None:
    types = InstanceTypes(aws.api)
    for _ in range(3):
        assert types.get(HOME, ["p3.8xlarge", "c6i.xlarge"])["p3.8xlarge"].vcpus == 32
    assert server.operations() == ["DescribeInstanceTypes"]
    types.get("us-west-2", ["p3.8xlarge"])
    assert server.operations() == ["DescribeInstanceTypes"] * 2


def test_an_unseen_type_spoils_nothing_and_is_asked_for_again(aws: AwsConnection, server: AwsServer) -> None:
    """G11."""
    types = InstanceTypes(aws.api)
    for _ in range(2):
        found = types.get(HOME, ["p3.8xlarge", "zz9.plural-alpha"])
        assert "zz9.plural-alpha" not in found
        assert found["p3.8xlarge"].gpus
    assert len(server.operations()) == 2


def test_many_types_go_in_batches(aws: AwsConnection, server: AwsServer) -> None:
    """G10."""
    InstanceTypes(aws.api).get(HOME, [f"x{n}.large" for n in range(250)])
    assert [len(call.params["Filters"][0]["Values"]) for call in server.calls] == [100, 100, 50]
