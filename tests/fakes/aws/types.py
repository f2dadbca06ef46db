"""A few instance types as DescribeInstanceTypes tells them (values as AWS publishes them)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from costguard.testing.cloud import SkuFacts


@dataclass(frozen=True)
class Type:
    vcpus: int
    memory_mib: int
    model: str | None = None
    count: int = 0
    logical: int = 0
    part: float = 1.0
    gpu_memory_mib: int = 0
    neuron: bool = False
    instance_store: bool = False
    watts: int = 0


TYPES = {
    "c6i.xlarge": Type(4, 8_192),
    "p3.8xlarge": Type(32, 249_856, "V100", 4, 4, 1.0, 16_384, watts=300),
    "g4dn.12xlarge": Type(48, 196_608, "T4", 4, 4, 1.0, 16_384, instance_store=True, watts=70),
    "g6f.large": Type(2, 8_192, "L4", 0, 1, 0.125, 2_861, instance_store=True, watts=72),
    "inf2.xlarge": Type(4, 16_384, "Inferentia2", 1, gpu_memory_mib=32_768, neuron=True),
}

SKUS = (
    SkuFacts("c6i.xlarge"),
    SkuFacts("p3.8xlarge", "V100", Decimal(4), 16_384),
    SkuFacts("g4dn.12xlarge", "T4", Decimal(4), 16_384),
    SkuFacts("g6f.large", "L4", Decimal("0.125"), 2_861),
    SkuFacts("inf2.xlarge", "Inferentia2", Decimal(1), 32_768),
)


def describe(name: str) -> dict[str, Any]:
    kind = TYPES[name]
    found: dict[str, Any] = {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": kind.vcpus},
        "MemoryInfo": {"SizeInMiB": kind.memory_mib},
        "InstanceStorageSupported": kind.instance_store,
    }
    memory = {"SizeInMiB": kind.gpu_memory_mib}
    if kind.neuron:
        device = {"Name": kind.model, "Count": kind.count, "MemoryInfo": memory}
        found["NeuronInfo"] = {"NeuronDevices": [device]}
    elif kind.model:
        gpu = {
            "Name": kind.model,
            "Manufacturer": "NVIDIA",
            "Count": kind.count,
            "LogicalGpuCount": kind.logical,
            "GpuPartitionSize": kind.part,
            "MemoryInfo": memory,
        }
        found["GpuInfo"] = {"Gpus": [gpu]}
    return found
