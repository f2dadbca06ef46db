"""Small scenarios and connections for the tests of the simulated adapter."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from costguard.domain.resource import Kind, Resource
from costguard.domain.usage import Metric, UsageSample
from costguard.ports import AccountSpec
from costguard.testing.clock import FakeClock
from costguard_simulated.connection import SimulatedConnection, connect

START = datetime(2026, 11, 12, 10, tzinfo=UTC)
SKUS: dict[str, Any] = {
    "t4": {
        "vcpus": 8, "memory_gib": 31, "price": "7.966", "per_month": "3000.00",
        "gpu": {"model": "T4", "memory_mib": 15360},
    },
    "a100x8": {
        "vcpus": 96, "memory_gib": 768, "price": "277.936", "scarce": True,
        "gpu": {"model": "A100", "count": 8, "memory_mib": 81920},
    },
    "local": {
        "vcpus": 4, "memory_gib": 30, "price": "11.63", "local_disk": True,
        "gpu": {"model": "P100", "memory_mib": 16384},
    },
}  # fmt: skip


def machine(name: str, **facts: Any) -> dict[str, Any]:
    return {"name": name, "sku": "t4", "region": "r1", **facts}


def write(
    folder: Path,
    *machines: Mapping[str, Any],
    personality: str = "alibaba",
    cloud: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Path:
    """A scenario file (YAML reads JSON) with one cloud named ``one``."""
    document = {
        "name": "small", "seed": 3, "start": START.isoformat(),
        "clouds": {
            "one": {
                "personality": personality, "account_id": "1", "currency": "CNY", "regions": ["r1", "r2"],
                "skus": SKUS, "machines": list(machines), **(cloud or {}),
            }
        },
        **rest,
    }  # fmt: skip
    path = folder / "small.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def open_up(path: Path, clock: FakeClock, **options: object) -> SimulatedConnection:
    facts: Any = {"allow_release": options.pop("allow_release", False)}
    return connect(AccountSpec("acc", options={"scenario": str(path), **options}, **facts), clock)


def clock_at(offset: timedelta = timedelta()) -> FakeClock:
    return FakeClock(START + offset)


def only(connection: SimulatedConnection, kind: Kind = Kind.VM, region: str = "r1") -> Resource:
    (resource,) = connection.list(kind, region)
    return resource


def named(connection: SimulatedConnection, name: str) -> Resource:
    """The resource of that name among everything that the account lists."""
    for region in connection.regions():
        for kind in sorted(connection.kinds()):
            for resource in connection.list(kind, region):
                if resource.name == name:
                    return resource
    raise KeyError(name)


def samples(
    connection: SimulatedConnection, resource: Resource, metric: Metric, since: datetime, until: datetime
) -> tuple[UsageSample, ...]:
    return connection.usage([resource], frozenset({metric}), since, until).samples
