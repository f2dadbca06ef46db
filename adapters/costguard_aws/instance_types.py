"""Instance types: vCPUs, memory, GPUs and Neuron devices, asked once per region and type."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from costguard.domain.resource import UNKNOWN_GPUS, Gpus
from costguard_aws.client import Api

_PER_CALL = 100  # values of one filter: 200 at most; a page holds 100

# What holds the accelerators that are no GPUs, and its list.
_ACCELERATORS = (
    ("NeuronInfo", "NeuronDevices"),
    ("InferenceAcceleratorInfo", "Accelerators"),
    ("FpgaInfo", "Fpgas"),
    ("MediaAcceleratorInfo", "Accelerators"),
)


@dataclass(frozen=True, slots=True)
class InstanceType:
    """What DescribeInstanceTypes says. `gpus` are accelerators of any sort: each may work while the CPUs rest.
    `local_disk`: it has an instance store, which every stop wipes."""

    vcpus: int | None = None
    memory_mib: int | None = None
    gpus: Gpus | None = None
    local_disk: bool = False


UNSEEN = InstanceType(gpus=UNKNOWN_GPUS)


class InstanceTypes:
    """A cache per region. A type that AWS does not describe is asked for again at the next listing."""

    def __init__(self, api: Api) -> None:
        self._api, self._lock = api, threading.Lock()
        self._known: dict[str, dict[str, InstanceType]] = {}

    def get(self, region: str, names: Iterable[str]) -> Mapping[str, InstanceType]:
        """The types of a region among `names`; unknown ones are absent."""
        with self._lock:
            known = dict(self._known.get(region, {}))
        wanted = sorted(set(names) - known.keys())
        for start in range(0, len(wanted), _PER_CALL):
            # A filter, because InstanceTypes=[…] fails as a whole for one type that the region does not know.
            asked = [{"Name": "instance-type", "Values": wanted[start : start + _PER_CALL]}]
            for page in self._api.pages(
                "ec2", region, "DescribeInstanceTypes", "InstanceTypes", Filters=asked, MaxResults=_PER_CALL
            ):
                known.update((item["InstanceType"], read_type(item)) for item in page if item.get("InstanceType"))
        if wanted:
            with self._lock:
                self._known.setdefault(region, {}).update(known)
        return known


def read_type(item: Mapping[str, Any]) -> InstanceType:
    """One element of DescribeInstanceTypes."""
    return InstanceType(
        vcpus=(item.get("VCpuInfo") or {}).get("DefaultVCpus"),
        memory_mib=(item.get("MemoryInfo") or {}).get("SizeInMiB"),
        gpus=_gpus(item) or _others(item),
        local_disk=bool(item.get("InstanceStorageSupported")),
    )


def _gpus(item: Mapping[str, Any]) -> Gpus | None:
    """LogicalGpuCount × GpuPartitionSize, so that a g6f.large has an eighth of an L4 (its Count says 0)."""
    devices = (item.get("GpuInfo") or {}).get("Gpus") or []
    count = Decimal(0)
    for device in devices:
        logical, part = device.get("LogicalGpuCount"), device.get("GpuPartitionSize")
        if logical is not None and part is not None:
            count += Decimal(str(logical)) * Decimal(str(part))
        else:
            count += Decimal(device.get("Count") or 0)
    return _as_gpus(devices, count)


def _others(item: Mapping[str, Any]) -> Gpus | None:
    """Of the first sort that it has: an inf1 tells its chips twice."""
    for info, key in _ACCELERATORS:
        devices = (item.get(info) or {}).get(key) or []
        if devices:
            return _as_gpus(devices, sum((Decimal(device.get("Count") or 0) for device in devices), Decimal(0)))
    return None


def _as_gpus(devices: list[Mapping[str, Any]], count: Decimal) -> Gpus | None:
    if not devices:
        return None
    first = devices[0]
    model = first.get("Name") or first.get("Manufacturer") or "unknown"
    plain = count.to_integral_value() if count == count.to_integral_value() else count.normalize()
    return Gpus(model, plain if count > 0 else None, (first.get("MemoryInfo") or {}).get("SizeInMiB"))
