"""A few instance types as DescribeInstanceTypes tells them (values as Alibaba Cloud publishes them)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from costguard.testing.cloud import SkuFacts


@dataclass(frozen=True)
class Type:
    """``gpu_gib`` per card, ``watts`` the board's power limit, ``yuan`` the list price per hour in cn-beijing."""

    vcpus: int
    memory_gib: float
    gpu: str = ""
    cards: int = 0
    gpu_gib: float = 0.0
    watts: int = 0
    yuan: str = "1.00"
    local_disks: int = 0
    local_gib: int = 0
    persistent_memory: bool = False


TYPES = {
    "ecs.g7.xlarge": Type(4, 16, yuan="0.96"),
    "ecs.gn6i-c4g1.xlarge": Type(4, 15, "NVIDIA T4", 1, 16, 70, "11.63"),
    "ecs.gn6i-c48g1.12xlarge": Type(48, 186, "NVIDIA T4", 2, 16, 70, "33.80"),
    "ecs.gn7e-c128g1.32xlarge": Type(128, 1000, "NVIDIA A100", 8, 80, 400, "277.92"),
    "ecs.gn5-c8g1.4xlarge": Type(16, 120, "NVIDIA P100", 2, 16, 250, "29.26", local_disks=2, local_gib=440),
    "ecs.vgn6i-m4-vws.xlarge": Type(4, 23, "NVIDIA T4 * 1/4", 1, 4, 70, "4.20"),
    "ecs.re6p.2xlarge": Type(8, 63, yuan="3.90", persistent_memory=True),
}

SKUS = (
    SkuFacts("ecs.g7.xlarge"),
    SkuFacts("ecs.gn6i-c4g1.xlarge", "NVIDIA T4", Decimal(1), 16_384),
    SkuFacts("ecs.gn6i-c48g1.12xlarge", "NVIDIA T4", Decimal(2), 16_384),
    SkuFacts("ecs.gn7e-c128g1.32xlarge", "NVIDIA A100", Decimal(8), 81_920),
)

UNSEEN = Type(8, 32)


def known(name: str) -> Type:
    """The type, or plain figures for one that the catalogue does not hold yet."""
    return TYPES.get(name, UNSEEN)


def family(name: str) -> str:
    return ".".join(name.split(".")[:2]).split("-")[0]


def describe(name: str) -> dict[str, Any]:
    kind = TYPES[name]
    found: dict[str, Any] = {
        "InstanceTypeId": name,
        "InstanceTypeFamily": family(name),
        "CpuCoreCount": kind.vcpus,
        "CpuArchitecture": "X86",
        "MemorySize": kind.memory_gib,
        "GPUAmount": kind.cards,
        "GPUSpec": kind.gpu,
        "GPUMemorySize": kind.gpu_gib,
        "LocalStorageCategory": "local_ssd_pro" if kind.local_disks else "",
    }
    if kind.local_disks:
        found |= {"LocalStorageAmount": kind.local_disks, "LocalStorageCapacity": kind.local_gib}
    return found
