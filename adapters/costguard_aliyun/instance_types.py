"""Instance types: vCPUs, memory, GPUs (fractions of a card too) and local disks, asked once per type."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from costguard.domain.resource import UNKNOWN_GPUS, Gpus
from costguard.errors import NotFound
from costguard_aliyun.client import Api

_PER_CALL = 10  # the most names that one call takes

# "NVIDIA T4 * 1/4", "T4*1/4", "NVIDIA T4/4": a part of a card.
_PART = re.compile(r"^(?P<model>.*?)\s*(?:[*×x]\s*(?P<parts>\d+)\s*)?/\s*(?P<of>\d+)\s*$")


@dataclass(frozen=True, slots=True)
class InstanceType:
    """What DescribeInstanceTypes says. `local_disk`: economical mode does not fit it."""

    vcpus: int | None = None
    memory_mib: int | None = None
    gpus: Gpus | None = None
    local_disk: bool = False


UNSEEN = InstanceType(gpus=UNKNOWN_GPUS)

# InstanceCategory of types with accelerators of any sort, should they tell none: their CPUs may rest while those work.
_ACCELERATED = frozenset(
    {
        "Compute-optimized with GPU",
        "Visual Compute-optimized",
        "Heterogeneous Service",
        "Compute-optimized with FPGA",
        "Compute-optimized with NPU",
    }
)


class InstanceTypes:
    """A cache. A type that ECS does not describe is asked for again at the next listing."""

    def __init__(self, api: Api) -> None:
        self._api, self._lock = api, threading.Lock()
        self._known: dict[str, InstanceType] = {}

    def get(self, region: str, names: Iterable[str]) -> Mapping[str, InstanceType]:
        """The types among `names` that ECS describes."""
        with self._lock:
            known = dict(self._known)
        wanted = sorted(set(names) - known.keys())
        for start in range(0, len(wanted), _PER_CALL):
            for item in self._ask(region, wanted[start : start + _PER_CALL]):
                known[str(item.get("InstanceTypeId"))] = read_type(item)
        if wanted:
            with self._lock:
                self._known.update(known)
        return known

    def _ask(self, region: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        path = "InstanceTypes.InstanceType"
        try:
            for page in self._api.pages("ecs", "DescribeInstanceTypes", region, path, InstanceTypes=list(names)):
                yield from page
        except NotFound:  # one withdrawn type must not hide the nine others
            if len(names) > 1:
                for name in names:
                    yield from self._ask(region, [name])


def read_type(item: Mapping[str, Any]) -> InstanceType:
    """One element of DescribeInstanceTypes. Memory is told in GiB, GPU memory in GiB per card."""
    memory, card = item.get("MemorySize"), item.get("GPUMemorySize")
    gpus = read_gpus(item.get("GPUSpec"), item.get("GPUAmount"), _mib(card))
    return InstanceType(
        vcpus=item.get("CpuCoreCount"),
        memory_mib=_mib(memory),
        gpus=gpus or (UNKNOWN_GPUS if item.get("InstanceCategory") in _ACCELERATED else None),
        local_disk=bool(item.get("LocalStorageAmount") or item.get("LocalStorageCategory")),
    )


def read_gpus(spec: Any, amount: Any, memory_mib: int | None = None) -> Gpus | None:
    """Model and count from GPUSpec and GPUAmount, which both the instance and its type tell. None: no GPU.

    A model without a count, and no word of either, are GPUs of an unknown number.
    """
    text = str(spec or "").strip()
    count = Decimal(str(amount or 0))
    part = _PART.match(text)
    if part and int(part["of"]):
        text = part["model"].rstrip()
        count = (count or 1) * int(part["parts"] or 1) / Decimal(part["of"])
    if count > 0:
        return Gpus(text or "unknown", count, memory_mib)
    if text:
        return Gpus(text, None, memory_mib)
    return UNKNOWN_GPUS if amount is None else None


def _mib(gib: Any) -> int | None:
    return int(Decimal(str(gib)) * 1024) if gib else None
