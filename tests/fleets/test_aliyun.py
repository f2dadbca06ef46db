"""Alibaba Cloud through the whole product: 250 instances in three regions, one denied, every tenth call a bad one."""

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
from tests.fakes.aliyun.assistant import Script
from tests.fakes.aliyun.bss import Line
from tests.fakes.aliyun.fleet import Filled, fill
from tests.fakes.aliyun.server import ACCOUNT, KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.signature import parameters
from tests.fakes.aliyun.types import SKUS, known
from tests.fakes.slack import SlackServer
from tests.fleets.checks import Checks, off_and_charged
from tests.fleets.rig import MINUTE, MORNING, Desk, Story, flaky, tell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

BEIJING = ZoneInfo("Asia/Shanghai")
_BATCH = 50
_NAMES_OF_CARDS, _NAMES_OF_BOXES = 3, 5  # util, memory, power per card; CPU and four rates per box


@dataclass
class AliyunFleet:
    """The account, with what each box is doing."""

    server: AliyunServer
    filled: Filled
    measured: datetime
    busy: set[str]
    never: frozenset[str]
    provider: str = "aliyun"
    account_id: str = ACCOUNT
    denied: str = "cn-wulanchabu"
    signature: str = r"[A-Za-z0-9+/]{27}="

    @classmethod
    def of(cls, server: AliyunServer) -> "AliyunFleet":
        filled = fill(server, minutes=50)
        for region in server.regions:
            for sku in SKUS:
                price = server.market.list_prices[sku.sku] * Decimal("0.31")
                server.market.quote(f"{region}-h", sku.sku, server.clock.now() - timedelta(hours=30), f"{price:.3f}")
        never = {*filled.busy, *filled.silent, *filled.prepaid, *filled.local, *filled.stopped}
        return cls(server, filled, server.clock.now(), set(filled.busy), frozenset(never))

    @property
    def boxes(self) -> Mapping[str, Sequence[str]]:
        return self.filled.by_region

    @property
    def credentials(self) -> Mapping[str, str]:
        return {"access_key_id": KEY_ID, "access_key_secret": SECRET}

    @property
    def secrets(self) -> tuple[str, ...]:
        return KEY_ID, SECRET

    def signatures(self) -> Iterable[str]:
        return self.server.signatures()

    def feed(self, until: datetime) -> None:
        begin = self.measured.replace(second=0, microsecond=0)
        times = [begin + n * MINUTE for n in range(1, int((until - begin) / MINUTE) + 1)]
        self.measured = max(until, self.measured)
        for (name, id, _), points in self.server.cms.metrics.items():
            value = _level(name, id in self.busy)
            points.update(dict.fromkeys(times, (value, value, value)))

    def candidates(self) -> list[str]:
        boxes = [self.server.ecs.boxes[id] for id in self.filled.idle if id not in self.never]
        fit = [b for b in boxes if b.tags.get("role") == "dev" and b.region != self.denied]
        return [b.id for b in sorted(fit, key=lambda b: (-Decimal(known(b.type).yuan), b.spot != "NoSpot", b.id))]

    def tag(self, id: str, key: str, value: str) -> None:
        self.server.ecs.boxes[id].tags[key] = value

    def join(self, id: str) -> None:
        self.tag(id, "acs:autoscaling:scalingGroupId", "asg-bp1")

    def lock(self, id: str) -> bool:
        self.server.ecs.boxes[id].locks.append("security")
        return True

    def restart(self, id: str) -> None:
        self.server.ecs.boxes[id].started = self.server.clock.now()

    def answer(self, id: str, exit_code: int, output: str) -> bool:
        self.server.assistant.scripts[id] = Script(exit_code=exit_code, output=output)
        return True

    def lie(self, id: str) -> bool:
        box = self.server.ecs.boxes[id]
        box.network, box.extra = "classic", {"InstanceNetworkType": "vpc", "InnerIpAddress": {"IpAddress": []}}
        return True

    def ended(self, id: str) -> bool:
        self.server.ecs.ripen()
        box = self.server.ecs.boxes[id]
        return box.state == "Stopped" and box.stopped_mode == "StopCharging"

    def charged_off(self) -> set[str]:
        self.server.ecs.ripen()
        off = [b for b in self.server.ecs.boxes.values() if b.state == "Stopped" and b.charge != "PrePaid"]
        return {b.id for b in off if b.stopped_mode == "KeepCharging" and b.region != self.denied}

    def stop_of(self, request: Any) -> str | None:
        given = dict(parameters(request))
        stops = given.get("Action") == "StopInstance" and given.get("DryRun") != "true"
        return given["InstanceId"] if stops else None

    def stops(self) -> list[str]:
        calls = [c for c in self.server.calls if c.action == "StopInstance" and not c.params.get("DryRun")]
        return [str(call.params["InstanceId"]) for call in calls]

    def changes(self) -> int:
        return len(self.server.mutations())

    def calls(self) -> list[str]:
        return [
            f"{c.action}{' one' if 'InstanceIds' in c.params else ''} {c.region}".strip() for c in self.server.calls
        ]


def _level(name: str, busy: bool) -> float:
    percent = 88.0 if busy else 0.0
    return {
        "gpu_memory_usedutilization": percent / 2,
        "CPUUtilization": percent / 10,
        "IntranetInRate": percent * 1e5,
        "IntranetOutRate": percent * 1e4,
    }.get(name, percent)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    clock = FakeClock(MORNING)
    with AliyunServer(clock) as server, SlackServer(clock) as slack:
        yield tell(Desk(AliyunFleet.of(server), slack, clock, tmp_path_factory.mktemp("aliyun")))


class TestAliyun(Checks):
    def test_a_run_lists_each_region_once_and_measures_in_batches(self, story: Story) -> None:
        """A12, G10: one listing per region for all rules, fifty instances a call, each price and each market once."""
        calls, cloud = story.quiet.calls, story.cloud
        readable = {region: ids for region, ids in cloud.boxes.items() if region != cloud.denied}
        for region, ids in readable.items():
            assert calls[f"DescribeInstances {region}"] == -(-len(ids) // 100)
            for action in ("DescribeDisks", "DescribeSnapshots", "DescribeEipAddresses"):
                assert calls[f"{action} {region}"] == 1
            # Those who are up to date share their calls; those who were never seen are asked back to the beginning.
            batches = -(-len(ids) // _BATCH) + 1
            assert 0 < calls[f"DescribeMetricList {region}"] <= batches * (_NAMES_OF_CARDS + _NAMES_OF_BOXES) * 2
            assert calls[f"DescribePrice {region}"] <= len(SKUS) * 2
        assert calls["DescribeInstances one cn-beijing"] == 0  # nobody was about to be warned for the first time
        assert calls.total() <= 130


def test_a_box_stopped_in_the_console_is_told_until_it_runs_or_is_stopped_in_economical_mode(tmp_path: Path) -> None:
    """C07: the console's ordinary stop keeps charging; what to do about it is said in the provider's own words."""
    clock = FakeClock(MORNING)
    with AliyunServer(clock) as server, SlackServer(clock) as slack:
        box = server.ecs.add("cn-beijing", "ecs.gn6i-c4g1.xlarge", name="train-a800-03", state="Stopped",
                             stopped_mode="KeepCharging")  # fmt: skip
        desk = Desk(AliyunFleet(server, Filled({}, [], [], [], [], [], [], []), MORNING, set(), frozenset()),
                    slack, clock, tmp_path)  # fmt: skip

        def now(state: str, mode: str) -> None:
            box.state, box.stopped_mode = state, mode

        first = off_and_charged(
            desk, box.id, lambda: now("Running", "Not-applicable"), lambda: now("Stopped", "StopCharging")
        )
        (claim,) = [f for f in first.document["findings"] if f["rule"] == "still_billed"]
        assert claim["waste_per_hour"] == {"amount": known(box.type).yuan, "currency": "CNY"}
        (message,) = [text for post in slack.posted if "已停机仍在计费" in (text := str(post.content))]
        assert "train-a800-03" in message
        assert "请启动后选“节省停机”模式重新停机" in message


def test_the_month_is_billed_to_the_cent_before_and_after_it_is_restated(tmp_path: Path) -> None:
    """I06, I12: stored by the service, read again and again: equal to Alibaba Cloud's own sum to the last digit."""
    clock = FakeClock(MORNING)
    with AliyunServer(clock) as server, SlackServer(clock) as slack:
        fill(server, minutes=1)
        desk = Desk(AliyunFleet(server, Filled({}, [], [], [], [], [], [], []), MORNING, set(), frozenset()),
                    slack, clock, tmp_path)  # fmt: skip
        march = local_midnight(date(2026, 3, 1), BEIJING), local_midnight(date(2026, 4, 1), BEIJING)
        flaky(server, 5)
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")
        lines = len(server.bills.lines)
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")

        # A price is corrected, a row goes, the round-down goes with it, a late row comes.
        server.bills.restate(3, gross=Decimal("123.456789"), discount=Decimal(0))
        del server.bills.lines[7]
        server.bills.round_down.clear()
        server.bills.add(Line(date(2026, 3, 2), "cdn", Decimal("0.019999"), item="Adjustment"))
        assert len(server.bills.lines) == lines
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")

        clock.advance(timedelta(days=29, hours=4))  # past noon of April 3rd in Beijing
        server.bills.round_down["2026-03"] = Decimal("0.01")
        assert desk.bill()
        assert desk.billed(*march).amount == server.bills.total("2026-03")
        assert desk.stages(*march) == {Stage.FINAL}
