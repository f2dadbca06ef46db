"""A company's account: 250 instances in three regions, some of each sort, a bill and an hour of metrics."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from tests.fakes.aliyun.bss import BEIJING, Line
from tests.fakes.aliyun.ecs import LOCAL_NAMES
from tests.fakes.aliyun.server import AliyunServer
from tests.fakes.aliyun.types import known

COUNTS = (120, 80, 50)
BUSY_FROM = 3  # of five GPU boxes, so many are idle
_GPU_TYPES = ("ecs.gn6i-c4g1.xlarge", "ecs.gn6i-c48g1.12xlarge", "ecs.gn7e-c128g1.32xlarge", "ecs.gn5-c8g1.4xlarge")


@dataclass(frozen=True)
class Filled:
    """Ids by region, and by what is special about them."""

    by_region: dict[str, list[str]]
    idle: list[str]
    busy: list[str]
    silent: list[str]
    prepaid: list[str]
    spot: list[str]
    local: list[str]
    stopped: list[str]


def fill(server: AliyunServer, minutes: int = 60) -> Filled:
    """Fills the server's first three regions. Every fifth box has no GPU; idle ones are flat at 0 for all minutes."""
    filled = Filled({region: [] for region in server.regions[:3]}, [], [], [], [], [], [], [])
    serial = 0
    for region, count in zip(server.regions, COUNTS, strict=False):
        for _ in range(count):
            id = _add(server, region, serial, filled, minutes)
            filled.by_region[region].append(id)
            serial += 1
        server.storage.add_disk(region, size=500)
        server.storage.add_disk(region, instance=filled.by_region[region][0])
        server.storage.add_eip(region)
        server.storage.add_snapshot(region)
    _bill(server, filled)
    return filled


def _add(server: AliyunServer, region: str, serial: int, filled: Filled, minutes: int) -> str:
    now = server.clock.now()
    type = "ecs.g7.xlarge" if serial % 5 == 0 else _GPU_TYPES[serial % 4]
    fields: dict[str, Any] = {
        "name": f"train-{serial:03}",
        "tags": {} if serial % 7 == 0 else {"role": "dev", "owner": f"user-{serial % 6}", "costguard": "managed"},
        "created": now - timedelta(days=20),
        "started": now - timedelta(days=2),
    }
    if serial % 10 == 3:
        fields |= {"charge": "PrePaid", "expires": now + timedelta(days=9), "renews": serial % 20 == 3}
    elif serial % 10 == 6:
        fields |= {"spot": "SpotWithPriceLimit", "spot_limit": 9.5, "interruption": "Stop"}
    if serial % 25 == 9:
        fields |= {"state": "Stopped", "stopped_mode": "KeepCharging"}
    if serial % 50 == 12:
        fields |= {"agent": ""}
    box = server.ecs.add(region, type, **fields)
    kind = known(type)
    for ids, holds in (
        (filled.prepaid, box.charge == "PrePaid"),
        (filled.spot, box.spot != "NoSpot"),
        (filled.local, kind.local_disks > 0),
        (filled.stopped, box.state == "Stopped"),
    ):
        ids += [box.id] if holds else []
    if box.state == "Running" and kind.cards:
        busy = serial % 5 >= BUSY_FROM
        (filled.silent if not box.agent else filled.busy if busy else filled.idle).append(box.id)
        _measure(server, box.id, kind.cards, 0.0 if not busy else 88.0, minutes)
    return box.id


def _measure(server: AliyunServer, id: str, cards: int, percent: float, minutes: int) -> None:
    now = server.clock.now().replace(second=0, microsecond=0)
    times = [now - timedelta(minutes=n) for n in range(minutes)]
    for card in range(cards):
        server.cms.put("gpu_gpu_usedutilization", id, dict.fromkeys(times, percent), card)
        server.cms.put("gpu_memory_usedutilization", id, dict.fromkeys(times, percent / 2), card)
    rates = {"IntranetInRate": percent * 1e5, "IntranetOutRate": percent * 1e4}
    for name, value in {"CPUUtilization": percent / 10, **rates}.items():
        server.cms.put(name, id, dict.fromkeys(times, value))


def _bill(server: AliyunServer, filled: Filled) -> None:
    """A row a day and box of this month, a refund, a voucher and a round-down among them."""
    today = server.clock.now().astimezone(BEIJING).date()
    days = [date(today.year, today.month, day) for day in range(1, today.day)]
    for region, ids in filled.by_region.items():
        for n, id in enumerate(ids):
            box = server.ecs.boxes[id]
            gross = Decimal(known(box.type).yuan) * 24 + Decimal(n) / 1_000_000
            tag = "; ".join(f"key:{key} value:{value}" for key, value in box.tags.items())
            for day in days:
                server.bills.add(
                    Line(
                        day,
                        "ecs",
                        gross,
                        id,
                        discount=gross / 10,
                        vouchers=Decimal("0.5") if n == 1 else Decimal(0),
                        coupons=Decimal("0.25") if n == 2 else Decimal(0),
                        spec=box.type,
                        nickname=box.name,
                        region=LOCAL_NAMES[region],
                        tag=tag,
                    )
                )
    if days:
        server.bills.add(Line(days[-1], "ecs", Decimal("-12.34"), filled.idle[0], item="Refund"))
        server.bills.round_down[f"{today:%Y-%m}"] = Decimal("0.07")
