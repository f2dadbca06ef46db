"""A company's account: 250 instances in three regions, some of each sort, a bill and an hour of metrics."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tests.fakes.tencent.ledger import REFUND, RENEWAL, Line, of_day
from tests.fakes.tencent.server import TencentServer
from tests.fakes.tencent.types import TYPES, known
from tests.fakes.tencent.wire import BEIJING

COUNTS = (120, 80, 50)
BUSY_FROM = 3  # of five GPU boxes, so many are idle
_GPU_TYPES = ("GN7.2XLARGE32", "GN7.20XLARGE320", "GN10Xp.20XLARGE320", "GN8.LARGE56")
_REGION_IDS = (8, 4, 1)


@dataclass(frozen=True)
class Filled:
    """Ids by region, and by what is special about them.

    ``ends``: running boxes whose stop in STOP_CHARGING mode really ends the compute bill; of the other running ones
    (prepaid, spot, local disks) it does not.
    """

    by_region: dict[str, list[str]]
    idle: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    prepaid: list[str] = field(default_factory=list)
    spot: list[str] = field(default_factory=list)
    local: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


def fill(server: TencentServer, minutes: int = 60) -> Filled:
    """Fills the server's first three regions. Every fifth box has no GPU; idle ones are flat at 0 for all minutes."""
    filled = Filled({region: [] for region in server.regions[:3]})
    serial = 0
    for region, count in zip(server.regions, COUNTS, strict=False):
        for _ in range(count):
            filled.by_region[region].append(_add(server, region, serial, filled, minutes))
            serial += 1
        server.cbs.add_disk(region, size=500)
        server.cbs.add_disk(region, instance=filled.by_region[region][0])
        server.cbs.add_snapshot(region)
        server.vpc.add_address(region)
        for name in TYPES:
            price = server.catalog.list_prices[name] * Decimal("0.31")
            server.catalog.quote(f"{region}-3", name, server.clock.now() - timedelta(hours=9), f"{price:.4f}")
    _bill(server, filled)
    return filled


def _add(server: TencentServer, region: str, serial: int, filled: Filled, minutes: int) -> str:
    now = server.clock.now()
    type = "S5.LARGE8" if serial % 5 == 0 else _GPU_TYPES[serial % 4]
    fields: dict[str, Any] = {
        "name": f"train-{serial:03}",
        "tags": {} if serial % 7 == 0 else {"role": "dev", "owner": f"user-{serial % 6}", "costguard": "managed"},
        "created": now - timedelta(days=20),
        "public_ip": f"43.130.1.{serial}" if serial % 3 == 0 else "",
    }
    if serial % 10 == 3:
        fields |= {"charge": "PREPAID", "expires": now + timedelta(days=9)}
        fields |= {"renew": "NOTIFY_AND_AUTO_RENEW"} if serial % 20 == 3 else {}
    elif serial % 10 == 6:
        fields |= {"charge": "SPOTPAID"}
    if serial % 25 == 9:
        fields |= {"state": "STOPPED"}
    if serial % 50 == 12:
        fields |= {"agent": False}
    box = server.cvm.add(region, type, **fields)
    kind = known(type)
    for ids, holds in (
        (filled.prepaid, box.charge == "PREPAID"),
        (filled.spot, box.charge == "SPOTPAID"),
        (filled.local, kind.local_disk),
        (filled.stopped, box.state == "STOPPED"),
        (filled.ends, box.state == "RUNNING" and box.may_stop_charging()),
    ):
        ids += [box.id] if holds else []
    if box.state == "RUNNING" and kind.gpu:
        busy = serial % 5 >= BUSY_FROM
        (filled.silent if not box.agent else filled.busy if busy else filled.idle).append(box.id)
        _measure(server, box.id, 88.0 if busy else 0.0, minutes)
    return box.id


def _measure(server: TencentServer, id: str, percent: float, minutes: int) -> None:
    now = server.clock.now().replace(second=0, microsecond=0)
    times = [now - timedelta(minutes=n) for n in range(minutes)]
    for name, value in (
        ("GpuUtil", percent),
        ("GpuMemUsage", percent / 2),
        ("GpuPowUsage", 10 + percent / 2),
        ("CPUUsage", percent / 10),
        ("BaseCpuUsage", percent / 10),
        ("LanIntraffic", percent),
    ):
        server.monitor.put(name, id, dict.fromkeys(times, value))


def _bill(server: TencentServer, filled: Filled) -> None:
    """This month so far: a row a day and postpaid box, terms of prepaid ones booked whole, a refund, vouchers."""
    today = server.clock.now().astimezone(BEIJING).date()
    first = datetime.combine(today.replace(day=1), time(), BEIJING)
    days = [date(today.year, today.month, day) for day in range(1, today.day)]
    for ids, number in zip(filled.by_region.values(), _REGION_IDS, strict=False):
        for n, id in enumerate(ids):
            box = server.cvm.boxes[id]
            listed = Decimal(known(box.type).yuan) * 24 + Decimal(n) / 1_000_000
            facts: dict[str, Any] = {"name": box.name, "region": number, "tags": box.tags}
            if box.charge == "PREPAID":
                term: dict[str, Any] = {
                    "mode": "prePay",
                    "action": RENEWAL,
                    "paid": first + timedelta(hours=9, minutes=n),
                }
                end, month = first + timedelta(days=30), listed * 18
                server.bills.add(Line(first, end, "p_cvm", month, id, listed=month * 2, **term, **facts))
                continue
            for day in days:
                vouchers = Decimal("0.5") if n == 1 else Decimal(0)
                incentive = Decimal("0.25000001") if n == 2 else Decimal(0)
                means: dict[str, Any] = {"vouchers": vouchers, "incentive": incentive, "parts": 1 + n % 2}
                server.bills.add(
                    of_day(day, "p_cvm", listed * Decimal("0.9"), id, **{**facts, **means, "listed": listed})
                )
    if days:
        refund: dict[str, Any] = {"listed": None, "action": REFUND, "mode": "prePay"}
        server.bills.add(of_day(days[-1], "p_cvm", Decimal("-12.34000001"), filled.prepaid[0], **refund))
