"""Tencent Cloud through the whole product: 250 instances in three regions, one denied, every tenth call a bad one."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.charge import Stage
from costguard.domain.time import local_midnight
from costguard.testing.clock import FakeClock
from tests.fakes.slack import SlackServer
from tests.fakes.tencent.fleet import Filled, fill
from tests.fakes.tencent.ledger import of_day
from tests.fakes.tencent.server import OWNER, SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.tat import Script
from tests.fakes.tencent.types import known
from tests.fleets.checks import Checks, off_and_charged
from tests.fleets.rig import MINUTE, MORNING, Desk, Story, flaky, tell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

BEIJING = ZoneInfo("Asia/Shanghai")
_PAGE = 100
_LEVELS = {
    "GpuMemUsage": 0.5,
    "CPUUsage": 0.1,
    "BaseCpuUsage": 0.1,
    "LanIntraffic": 1.0,
    "LanOuttraffic": 1.0,
    "GpuUtil": 1.0,
}


@dataclass
class TencentFleet:
    """The account, with what each box is doing."""

    server: TencentServer
    filled: Filled
    measured: datetime
    busy: set[str]
    never: frozenset[str]
    provider: str = "tencent"
    account_id: str = OWNER
    denied: str = "ap-guangzhou"
    signature: str = r"\b[0-9a-f]{64}\b"

    @classmethod
    def of(cls, server: TencentServer) -> "TencentFleet":
        filled = fill(server, minutes=50)
        for box in server.cvm.boxes.values():
            box.created = server.clock.now() - timedelta(days=2)
        for (name, id, _), points in list(server.monitor.samples.items()):
            if name == "LanIntraffic":
                server.monitor.put("LanOuttraffic", id, points)
        never = {*filled.busy, *filled.silent, *filled.prepaid, *filled.local, *filled.stopped, *filled.spot}
        return cls(server, filled, server.clock.now(), set(filled.busy), frozenset(never))

    @property
    def boxes(self) -> Mapping[str, Sequence[str]]:
        return self.filled.by_region

    @property
    def credentials(self) -> Mapping[str, str]:
        return {"secret_id": SECRET_ID, "secret_key": SECRET_KEY}

    @property
    def secrets(self) -> tuple[str, ...]:
        return SECRET_ID, SECRET_KEY

    def signatures(self) -> Iterable[str]:
        return self.server.signatures()

    def feed(self, until: datetime) -> None:
        begin = self.measured.replace(second=0, microsecond=0)
        times = [begin + n * MINUTE for n in range(1, int((until - begin) / MINUTE) + 1)]
        self.measured = max(until, self.measured)
        for (name, id, _), points in self.server.monitor.samples.items():
            percent = 88.0 if id in self.busy else 0.0
            points.update(dict.fromkeys(times, percent * _LEVELS[name] if name in _LEVELS else 10 + percent / 2))

    def candidates(self) -> list[str]:
        boxes = [self.server.cvm.boxes[id] for id in self.filled.idle if id not in self.never]
        fit = [b for b in boxes if b.tags.get("role") == "dev" and b.region != self.denied and b.id in self.filled.ends]
        return [b.id for b in sorted(fit, key=lambda b: (-Decimal(known(b.type).yuan), b.id))]

    def tag(self, id: str, key: str, value: str) -> None:
        self.server.cvm.boxes[id].tags[key] = value

    def join(self, id: str) -> None:
        self.tag(id, "tencentcloud:autoscaling:auto-scaling-group-id", "asg-1")

    def lock(self, id: str) -> bool:
        self.server.cvm.boxes[id].restrict = "PROTECTIVELY_ISOLATED"
        return True

    def restart(self, id: str) -> None:
        box = self.server.cvm.boxes[id]
        box.operation, box.operation_state = "StartInstances", "SUCCESS"
        box.operation_request = "7d3bcbb5-9e6d-4d2a-8b5f-000000000001"

    def answer(self, id: str, exit_code: int, output: str) -> bool:
        self.server.tat.scripts[id] = Script(exit_code=exit_code, output=output)
        return True

    def lie(self, id: str) -> bool:
        box = self.server.cvm.boxes[id]
        box.extra = {"DataDisks": box.described()["DataDisks"]}
        box.local_data_disk = True
        return True

    def ended(self, id: str) -> bool:
        self.server.cvm.ripen()
        box = self.server.cvm.boxes[id]
        return box.state == "STOPPED" and box.stop_charging == "STOP_CHARGING"

    def charged_off(self) -> set[str]:
        self.server.cvm.ripen()
        off = [b for b in self.server.cvm.boxes.values() if b.state == "STOPPED" and b.charge != "PREPAID"]
        return {b.id for b in off if b.stop_charging != "STOP_CHARGING" and b.region != self.denied}

    def stop_of(self, request: Any) -> str | None:
        stops = request.headers.get("x-tc-action") == "StopInstances"
        return str(json.loads(request.body)["InstanceIds"][0]) if stops else None

    def stops(self) -> list[str]:
        calls = [c for c in self.server.calls if c.action == "StopInstances"]
        return [str(id) for call in calls for id in call.params["InstanceIds"]]

    def changes(self) -> int:
        return len(self.server.mutations())

    def calls(self) -> list[str]:
        return [
            f"{c.action}{' one' if 'InstanceIds' in c.params else ''} {c.region}".strip() for c in self.server.calls
        ]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    clock = FakeClock(MORNING)
    with TencentServer(clock) as server, SlackServer(clock) as slack:
        yield tell(Desk(TencentFleet.of(server), slack, clock, tmp_path_factory.mktemp("tencent")))


class TestTencent(Checks):
    def test_a_run_lists_each_region_once_and_measures_in_batches(self, story: Story) -> None:
        """A12, G10: one listing per region for all rules, ten instances a call."""
        calls, cloud = story.quiet.calls, story.cloud
        for region, ids in cloud.boxes.items():
            if region != cloud.denied:
                assert calls[f"DescribeInstances {region}"] <= len(ids) // _PAGE + 1
                assert calls[f"DescribeInstances one {region}"] == 0
                # Six names a box, ten boxes a call; a fifth of the boxes has no card.
                assert 0 < calls[f"GetMonitorData {region}"] <= (-(-len(ids) // 10) + 2) * 9


def test_a_box_stopped_in_the_console_is_told_until_it_runs_or_is_stopped_without_charges(tmp_path: Path) -> None:
    """C07: the console's ordinary stop keeps charging; what to do about it is said in the provider's own words."""
    clock = FakeClock(MORNING)
    with TencentServer(clock) as server, SlackServer(clock) as slack:
        box = server.cvm.add("ap-shanghai", "GN7.2XLARGE32", name="train-t4-03", state="STOPPED")
        assert box.stop_charging == "KEEP_CHARGING"
        desk = Desk(TencentFleet(server, Filled({}), MORNING, set(), frozenset()), slack, clock, tmp_path)

        def now(state: str, mode: str) -> None:
            box.state, box.stop_charging = state, mode

        first = off_and_charged(
            desk, box.id, lambda: now("RUNNING", "NOT_APPLICABLE"), lambda: now("STOPPED", "STOP_CHARGING")
        )
        (claim,) = [f for f in first.document["findings"] if f["rule"] == "still_billed"]
        assert claim["waste_per_hour"] == {"amount": known(box.type).yuan, "currency": "CNY"}
        told = [str(post.content) for post in slack.posted if "已停机仍在计费" in str(post.content)]
        message, *over = told
        assert ["已恢复：已停机仍在计费：train-t4-03" in text for text in over] == [True]
        assert "train-t4-03" in message
        assert "请开机后选“关机不收费”重新关机" in message


def test_the_month_is_billed_to_the_cent_before_and_after_it_is_restated(tmp_path: Path) -> None:
    """I06, I12: stored by the service, read again and again: equal to Tencent Cloud's own sum to the last digit."""
    clock = FakeClock(MORNING)
    with TencentServer(clock) as server, SlackServer(clock) as slack:
        fill(server, minutes=1)
        desk = Desk(TencentFleet(server, Filled({}), MORNING, set(), frozenset()), slack, clock, tmp_path)
        march = local_midnight(date(2026, 3, 1), BEIJING), local_midnight(date(2026, 4, 1), BEIJING)
        flaky(server, 5)
        for _ in range(2):
            assert desk.bill()
            assert desk.billed(*march).amount == server.bills.total("2026-03")

        server.bills.restate(3, real=Decimal("123.45678901"))
        del server.bills.lines[-2]
        server.bills.add(of_day(date(2026, 3, 2), "p_cdn", Decimal("0.01999999")))
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")

        clock.advance(timedelta(days=29, hours=4))  # the month is final from the evening of April 1st
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")
        assert desk.stages(*march) == {Stage.FINAL}
