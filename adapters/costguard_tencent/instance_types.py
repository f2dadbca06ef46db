"""Instance types: GPU model and memory per card, which instances do not tell. Asked once per region, unpaged."""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.resource import Gpus
from costguard.errors import PermissionDenied
from costguard_tencent.client import Api
from costguard_tencent.fields import gib_to_mib

# A type that is not among them is looked for again, but not at every listing.
_AGAIN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class InstanceType:
    """What DescribeInstanceTypeConfigs says."""

    vcpus: int | None = None
    memory_mib: int | None = None
    gpus: Gpus | None = None


UNSEEN = InstanceType()

# Families without cards: S5, SA3, M6, C6, CN3, IT5, ITA4, D3 and clusters of them. The others may have some: GPUs
# (GN…, GT…, GI…, PNV…), FPGAs (FX…), and whatever comes next.
_PLAIN = re.compile(r"(HCC)?[SMCID][A-Z]{0,2}\d", re.ASCII)


class InstanceTypes:
    """A cache of the types of each region."""

    def __init__(self, api: Api) -> None:
        self._api, self._lock = api, threading.Lock()
        self._known: dict[str, tuple[datetime, Mapping[str, InstanceType]]] = {}

    def get(self, region: str, name: str) -> InstanceType:
        """The type of that name; UNSEEN when the region does not sell it, or the credentials may not ask."""
        now = self._api.clock.now()
        with self._lock:
            at, known = self._known.get(region, (None, {}))
        if at is None or (name not in known and now - at >= _AGAIN):
            known = self._ask(region)
            with self._lock:
                self._known[region] = (now, known)
        return known.get(name, UNSEEN)

    def _ask(self, region: str) -> Mapping[str, InstanceType]:
        action = "DescribeInstanceTypeConfigs"
        try:
            answer = self._api.read("cvm", action, region)
        except PermissionDenied:  # the instance itself tells model and count; the probe tells what is missing
            return {}
        items = self._api.items(answer, "InstanceTypeConfigSet", self._api.call_of("cvm", region, action))
        return {str(item.get("InstanceType")): read_type(item) for item in items}


def read_type(item: Mapping[str, Any]) -> InstanceType:
    """One element of DescribeInstanceTypeConfigs. Memory is told in GiB, GPU memory in GiB per card."""
    count = item.get("GpuCount") or item.get("GPU") or item.get("FPGA")
    return InstanceType(
        vcpus=item.get("CPU"),
        memory_mib=gib_to_mib(item.get("Memory")),
        gpus=read_gpus(item.get("GpuType"), count, gib_to_mib(item.get("GpuMemory"))),
    )


def is_plain(name: str) -> bool:
    """Whether a type has no cards by its name; an instance that tells of none needs no other proof."""
    return _PLAIN.match(name) is not None


def read_gpus(model: Any, count: Any, memory_mib: int | None = None) -> Gpus | None:
    """Model and count; below 1 a card is shared. None: no GPU."""
    number = Decimal(str(count or 0))
    return Gpus(str(model or "unknown"), number, memory_mib) if number > 0 else None
