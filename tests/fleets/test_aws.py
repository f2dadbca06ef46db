"""AWS through the whole product: 250 instances in three regions, one denied, every tenth call a bad one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from costguard.domain.charge import Stage
from costguard.testing.clock import FakeClock
from tests.fakes.aws import signature
from tests.fakes.aws.codec import decode, operation_of
from tests.fakes.aws.server import ACCOUNT, KEY_ID, SECRET, AwsServer
from tests.fakes.aws.types import TYPES
from tests.fakes.slack import SlackServer
from tests.fleets.checks import Checks
from tests.fleets.rig import MINUTE, MORNING, Desk, Story, flaky, tell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

COUNTS = (120, 80, 50)
_DEAR, _CHEAP, _BARE = "p3.8xlarge", "g4dn.12xlarge", "c6i.xlarge"
_PRICES = {_DEAR: "12.2400000000", _CHEAP: "3.9120000000", _BARE: "0.1700000000"}
_FIVE = 5 * MINUTE
_BASIC = ("CPUUtilization", "NetworkIn", "NetworkOut")
_MEASURED = timedelta(minutes=70)


@dataclass
class AwsFleet:
    """The account, with what each box is doing."""

    server: AwsServer
    measured: datetime
    boxes: dict[str, list[str]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    never: frozenset[str] = frozenset()
    idle: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    provider: str = "aws"
    account_id: str = ACCOUNT
    denied: str = "eu-central-1"
    signature: str = r"\b[0-9a-f]{64}\b"

    @classmethod
    def of(cls, server: AwsServer) -> "AwsFleet":
        server.cloudwatch.page_size = 20_000  # as CloudWatch's own: more than a minute goes by on small pages
        fleet = cls(server, server.clock.now() - _MEASURED)
        serial = 0
        never: set[str] = set()
        for region, count in zip(server.regions, COUNTS, strict=True):
            for sku, price in _PRICES.items():
                server.pricing.offers[region, sku] = [(price, "2026-01-01T00:00:00Z")]
            fleet.boxes[region] = [fleet._add(region, serial + n, never) for n in range(count)]
            serial += count
        fleet.never = frozenset(never)
        stop = server.ec2.StopInstances

        def noted(region: str, InstanceIds: Sequence[str], **rest: Any) -> Mapping[str, Any]:
            fleet.asked += InstanceIds
            return stop(region, InstanceIds, **rest)

        # What EC2 would only have tried does not come this far.
        server.ec2.StopInstances = noted  # type: ignore[method-assign, assignment]
        fleet.feed(server.clock.now())
        return fleet

    def _add(self, region: str, serial: int, never: set[str]) -> str:
        """One in five without GPUs; of the others two in five idle. Some are silent, off, one-time spot, or have an
        instance store, which a stop wipes."""
        type = _BARE if serial % 5 == 0 else _DEAR if serial % 2 else _CHEAP
        fields: dict[str, Any] = {}
        if serial % 10 == 6:
            fields = {"lifecycle": "spot", "spot_type": "one-time"}
        if serial % 25 == 9:
            fields = {"state": "stopped"}
        now = self.server.clock.now()
        tags = {"Name": f"train-{serial:03}", **({} if serial % 7 == 0 else {"role": "dev", "owner": "zw"})}
        since = now - timedelta(days=2)
        box = self.server.ec2.add(region, type, tags=tags, created=since, launched=since, **fields)
        at_work, unseen = serial % 5 >= 3, serial % 50 == 12
        if at_work:
            self.busy.add(box.id)
        if unseen or type == _BARE:
            self.silent.add(box.id)
        if at_work or unseen or fields or type != _DEAR:
            never.add(box.id)
        else:
            self.idle.append(box.id)
        return box.id

    @property
    def credentials(self) -> Mapping[str, str]:
        return {"access_key_id": KEY_ID, "secret_access_key": SECRET}

    @property
    def secrets(self) -> tuple[str, ...]:
        return KEY_ID, SECRET

    def signatures(self) -> Iterable[str]:
        return [signature.scope(request)[3] for request in list(self.server.requests)]

    def feed(self, until: datetime) -> None:
        minutes = _times(self.measured, until, MINUTE)
        fives = _times(self.measured, until, _FIVE)
        self.measured = max(until, self.measured)
        for box in self.server.ec2.boxes.values():
            percent = 88.0 if box.id in self.busy else 0.0
            for name in _BASIC:
                value = percent / 10 if name == "CPUUtilization" else percent * 1e6
                self.server.cloudwatch.put("AWS/EC2", name, {"InstanceId": box.id}, dict.fromkeys(fives, value))
            if box.id not in self.silent:
                for card in range(TYPES[box.type].count):
                    dimensions = {"InstanceId": box.id, "InstanceType": box.type, "name": "Tesla", "arch": "Volta",
                                  "index": str(card)}  # fmt: skip
                    points = dict.fromkeys(minutes, percent)
                    self.server.cloudwatch.put("CWAgent", "nvidia_smi_utilization_gpu", dimensions, points)

    def candidates(self) -> list[str]:
        boxes = [self.server.ec2.boxes[id] for id in self.idle]
        fit = [b for b in boxes if b.tags.get("role") == "dev" and b.region != self.denied]
        return [b.id for b in sorted(fit, key=lambda b: (-Decimal(_PRICES[b.type]), b.id))]

    def tag(self, id: str, key: str, value: str) -> None:
        self.server.ec2.boxes[id].tags[key] = value

    def join(self, id: str) -> None:
        self.server.ec2.boxes[id].group = "asg-1"
        self.tag(id, "aws:autoscaling:groupName", "asg-1")

    def lock(self, id: str) -> bool:
        self.server.ec2.boxes[id].protected = True
        return True

    def charged_off(self) -> set[str]:
        return set()  # what is stopped on EC2 is not charged for

    def restart(self, id: str) -> None:
        self.server.ec2.boxes[id].launched = self.server.clock.now()

    def answer(self, id: str, exit_code: int, output: str) -> bool:
        return False

    def lie(self, id: str) -> bool:
        return False

    def ended(self, id: str) -> bool:
        box = self.server.ec2.boxes[id]
        box.ripen(self.server.clock.now())
        return box.state == "stopped"

    def stop_of(self, request: Any) -> str | None:
        service = signature.scope(request)[2]
        if operation_of(service, request) != "StopInstances":
            return None
        _, params = decode(service, request)
        return None if params.get("DryRun") else str(params["InstanceIds"][0])

    def stops(self) -> list[str]:
        return list(self.asked)

    def changes(self) -> int:
        return len(self.server.mutations())

    def calls(self) -> list[str]:
        return [f"{c.operation}{' one' if 'InstanceIds' in c.params else ''} {c.region}" for c in self.server.calls]


def _times(begin: datetime, end: datetime, step: timedelta) -> list[datetime]:
    """The starts of the periods in [begin, end)."""
    first = datetime.fromtimestamp(-(-begin.timestamp() // step.total_seconds()) * step.total_seconds(), UTC)
    return [first + n * step for n in range(max(0, -(-(end - first) // step)))]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    clock = FakeClock(MORNING)
    with AwsServer(clock) as server, SlackServer(clock) as slack:
        yield tell(Desk(AwsFleet.of(server), slack, clock, tmp_path_factory.mktemp("aws")))


class TestAws(Checks):
    def test_a_run_lists_each_region_once_and_measures_in_batches(self, story: Story) -> None:
        """A12, G10: one listing per region for all rules, five hundred metrics a call."""
        calls, cloud = story.quiet.calls, story.cloud
        for region, ids in cloud.boxes.items():
            if region != cloud.denied:
                assert calls[f"DescribeInstances {region}"] == 1
                assert calls[f"DescribeInstances one {region}"] == 0
                assert calls[f"DescribeVolumes {region}"] == 1
                # Four cards, CPU, two of the network, two of the disks each; pages of the answers besides.
                assert 0 < calls[f"GetMetricData {region}"] <= 2 * len(ids)


def test_the_month_is_billed_to_the_cent_before_and_after_it_is_restated(tmp_path: Path) -> None:
    """I06: stored by the service, read again and again: equal to Cost Explorer's own sum to the last digit."""
    clock = FakeClock(MORNING)
    with AwsServer(clock) as server, SlackServer(clock) as slack:
        desk = Desk(AwsFleet(server, MORNING), slack, clock, tmp_path)
        march = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
        for day in range(1, 6):
            for n, kind in enumerate(("Usage", "Tax", "Credit", "Refund")):
                amount = f"{'-' if n > 1 else ''}{day * 137}.{n}23456789"
                server.costs.lines.append((date(2026, 3, day), f"Amazon EC2 {n}", kind, amount, amount))
        flaky(server, 5)

        def total() -> Decimal:
            return sum((Decimal(line[3]) for line in server.costs.lines), Decimal(0))

        for _ in range(2):
            assert desk.bill()
            assert desk.billed(*march).amount == total()
        server.costs.lines[2] = (*server.costs.lines[2][:3], "-0.000000001", "-0.000000001")
        del server.costs.lines[7]
        assert desk.bill()
        assert desk.billed(*march).amount == total()

        clock.advance(timedelta(days=29))
        server.costs.open_from = date(2026, 4, 1)
        assert desk.bill()
        assert desk.billed(*march).amount == total()
        assert desk.stages(*march) == {Stage.FINAL}
