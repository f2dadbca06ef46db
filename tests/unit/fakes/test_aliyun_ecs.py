"""ECS on the Alibaba Cloud server: listings, states, money, refusals, timers."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from costguard.testing.cloud import Calls, Fault
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.fakes.aliyun_client import HERE, Client

CPU, GPU, LOCAL = "ecs.g7.xlarge", "ecs.gn6i-c4g1.xlarge", "ecs.gn5-c8g1.4xlarge"


@pytest.fixture
def aliyun() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def client(aliyun: AliyunServer) -> Client:
    return Client(aliyun)


def pages(client: Client, **params: Any) -> list[list[str]]:
    """The ids of all pages, by token."""
    found, token = [], ""
    while True:
        told = client.ecs("DescribeInstances", NextToken=token, **params)
        found.append([i["InstanceId"] for i in told["Instances"]["Instance"]])
        token = told["NextToken"]
        if not token:
            return found


class TestListing:
    @pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
    def test_pages_by_token(self, aliyun: AliyunServer, client: Client, count: int) -> None:
        """G01."""
        made = [aliyun.ecs.add(HERE, CPU).id for _ in range(count)]
        found = pages(client, MaxResults=100)
        assert [id for page in found for id in page] == made
        assert len(found) == max(1, -(-count // 100))

    @pytest.mark.parametrize(("asked", "given"), [(1, 10), (10, 10), (50, 50), (100, 100), (1_000, 100)])
    def test_sizes_are_bent_into_their_limits(
        self, aliyun: AliyunServer, client: Client, asked: int, given: int
    ) -> None:
        for _ in range(120):
            aliyun.ecs.add(HERE, CPU)
        told = client.ecs("DescribeInstances", MaxResults=asked)
        assert (len(told["Instances"]["Instance"]), told["TotalCount"]) == (given, 0)

    def test_a_short_page_is_not_the_last(self, aliyun: AliyunServer, client: Client) -> None:
        """G02."""
        made = [aliyun.ecs.add(HERE, CPU).id for _ in range(7)]
        aliyun.ecs.short_pages = 3
        assert [len(page) for page in pages(client, MaxResults=100)] == [3, 3, 1]
        assert sorted(id for page in pages(client, MaxResults=100) for id in page) == made

    def test_pages_by_number(self, aliyun: AliyunServer, client: Client) -> None:
        for _ in range(12):
            aliyun.ecs.add(HERE, CPU)
        told = client.ecs("DescribeInstances", PageNumber=2)
        assert (len(told["Instances"]["Instance"]), told["TotalCount"], told["NextToken"]) == (2, 12, "")

    def test_faults_of_paging(self, aliyun: AliyunServer, client: Client) -> None:
        """E09."""
        for _ in range(25):
            aliyun.ecs.add(HERE, CPU)
        aliyun.fail(Fault.REPEATED_TOKEN, on=aliyun.on(Calls.INVENTORY))
        first = client.ecs("DescribeInstances", MaxResults=10)["NextToken"]
        assert client.ecs("DescribeInstances", MaxResults=10, NextToken=first)["NextToken"] == first
        aliyun.heal()
        aliyun.fail(Fault.DUPLICATED_ITEM, on=aliyun.on(Calls.INVENTORY))
        found = pages(client, MaxResults=10)
        assert [page[0] for page in found[1:]] == [page[-1] for page in found[:-1]]

    def test_ids_are_paged_too_and_unknown_ones_left_out(self, aliyun: AliyunServer, client: Client) -> None:
        made = [aliyun.ecs.add(HERE, CPU).id for _ in range(15)]
        asked = json.dumps([*made, "i-nobody"])
        assert len(client.ecs("DescribeInstances", InstanceIds=asked)["Instances"]["Instance"]) == 10
        assert pages(client, InstanceIds=asked, MaxResults=100) == [made]

    def test_regions_are_apart(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add("cn-wulanchabu", CPU)
        assert client.instance(box.id) is None
        assert client.instance(box.id, RegionId="cn-wulanchabu")["RegionId"] == "cn-wulanchabu"
        assert client.error("Ecs", "StopInstance", InstanceId=box.id) == ("InvalidInstanceId.NotFound", 404)

    def test_regions_and_their_endpoints(self, client: Client) -> None:
        told = client.ecs("DescribeRegions", RegionId="")["Regions"]["Region"]
        assert {r["RegionId"]: r["RegionEndpoint"] for r in told} == {
            "cn-beijing": "ecs.cn-beijing.aliyuncs.com",
            "cn-hangzhou": "ecs.aliyuncs.com",
            "cn-wulanchabu": "ecs.cn-wulanchabu.aliyuncs.com",
        }

    def test_filters(self, aliyun: AliyunServer, client: Client) -> None:
        one = aliyun.ecs.add(HERE, GPU, tags={"role": "dev"}, locks=["Recycling"])
        two = aliyun.ecs.add(HERE, CPU, tags={"role": "prod"}, charge="PrePaid", state="Stopped")
        for params, box in (
            ({"Status": "Stopped"}, two),
            ({"InstanceChargeType": "PostPaid"}, one),
            ({"InstanceType": GPU}, one),
            ({"LockReason": "Recycling"}, one),
            ({"Tag": [{"Key": "role", "Value": "prod"}]}, two),
        ):
            assert pages(client, **params) == [[box.id]]


class TestFields:
    def test_plain_and_running(self, aliyun: AliyunServer, client: Client) -> None:
        told = client.instance(aliyun.ecs.add(HERE, GPU).id)
        expected = {
            "Status": "Running", "StoppedMode": "Not-applicable", "InstanceChargeType": "PostPaid",
            "SpotStrategy": "NoSpot", "SpotPriceLimit": 0.0, "ExpiredTime": "2099-12-31T15:59Z", "AutoReleaseTime": "",
            "CreationTime": "2026-03-05T07:00Z", "StartTime": "2026-03-05T07:00Z", "GPUAmount": 1,
            "GPUSpec": "NVIDIA T4", "Memory": 15_360, "Cpu": 4, "OperationLocks": {"LockReason": []},
        }  # fmt: skip
        assert {name: told[name] for name in expected} == expected
        assert "Tags" not in told
        assert "LocalStorageAmount" not in told
        assert None not in told.values()

    def test_special_ones(self, aliyun: AliyunServer, client: Client) -> None:
        now = aliyun.clock.now()
        spot = aliyun.ecs.add(
            HERE,
            LOCAL,
            spot="SpotWithPriceLimit",
            spot_limit=1.25,
            auto_release=now + timedelta(days=1),
            tags={"owner": "张伟"},
            locks=["financial"],
            network="classic",
            extra={"StartTime": "2026-03-05T07:00:09Z", "HostName": None},
        )
        told = client.instance(spot.id)
        assert (told["SpotStrategy"], told["SpotPriceLimit"]) == ("SpotWithPriceLimit", 1.25)
        assert told["AutoReleaseTime"] == "2026-03-06T12:00Z"
        assert told["Tags"] == {"Tag": [{"TagKey": "owner", "TagValue": "张伟"}]}
        assert told["OperationLocks"] == {"LockReason": [{"LockReason": "financial"}]}
        assert (told["LocalStorageAmount"], told["LocalStorageCapacity"]) == (2, 440)
        assert (told["InstanceNetworkType"], told["VpcAttributes"]["VpcId"]) == ("classic", "")
        assert told["StartTime"] == "2026-03-05T07:00:09Z"
        assert "HostName" not in told

    def test_types(self, client: Client) -> None:
        told = client.ecs("DescribeInstanceTypes", InstanceTypes=[GPU, LOCAL, "ecs.zz9.large"])
        by_name = {kind["InstanceTypeId"]: kind for kind in told["InstanceTypes"]["InstanceType"]}
        assert set(by_name) == {GPU, LOCAL}
        assert (by_name[GPU]["GPUMemorySize"], by_name[LOCAL]["LocalStorageAmount"]) == (16, 2)
        assert client.error("Ecs", "DescribeInstanceTypes", InstanceTypes=[GPU] * 11)[0] == "InvalidParameter"
        assert len(client.ecs("DescribeInstanceTypes", MinimumGPUAmount=1)["InstanceTypes"]["InstanceType"]) == 5

    def test_renewal_is_told_of_subscriptions_alone(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.ecs.add(HERE, CPU)
        paid = aliyun.ecs.add(HERE, CPU, charge="PrePaid", renews=True)
        told = client.ecs("DescribeInstanceAutoRenewAttribute")["InstanceRenewAttributes"]["InstanceRenewAttribute"]
        assert [(i["InstanceId"], i["AutoRenewEnabled"], i["RenewalStatus"]) for i in told] == [
            (paid.id, True, "AutoRenewal")
        ]

    def test_quotas(self, client: Client) -> None:
        told = client.ecs("DescribeAccountAttributes", AttributeName=["max-spot-instance-vcpu-count"])
        assert told["AccountAttributeItems"]["AccountAttributeItem"] == [
            {
                "AttributeName": "max-spot-instance-vcpu-count",
                "AttributeValues": {"ValueItem": [{"Value": "2000"}]},
            }
        ]


class TestStopping:
    def stop(self, aliyun: AliyunServer, client: Client, **fields: Any) -> str:
        """Stops in economical mode; returns the StoppedMode read back."""
        type = fields.pop("type", CPU)
        box = aliyun.ecs.add(HERE, type, **fields)
        client.ecs("StopInstance", InstanceId=box.id, StoppedMode="StopCharging")
        assert client.instance(box.id)["Status"] == "Stopping"
        aliyun.ecs.settle()
        told = client.instance(box.id)
        assert told["Status"] == "Stopped"
        return str(told["StoppedMode"])

    @pytest.mark.parametrize(
        ("fields", "mode"),
        [
            ({}, "StopCharging"),
            ({"type": GPU}, "StopCharging"),
            ({"type": LOCAL}, "KeepCharging"),
            ({"type": "ecs.re6p.2xlarge"}, "KeepCharging"),
            ({"network": "classic"}, "KeepCharging"),
            ({"spot": "SpotAsPriceGo"}, "StopCharging"),
            ({"charge": "PrePaid"}, "Not-applicable"),
        ],
    )
    def test_what_ends_the_bill_is_seen_afterwards_only(
        self, aliyun: AliyunServer, client: Client, fields: dict[str, Any], mode: str
    ) -> None:
        """C07: an unfit one stops without an error and goes on charging."""
        assert self.stop(aliyun, client, **fields) == mode

    def test_spot_may_not_fit(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.ecs.spot_stop_charging = False
        assert self.stop(aliyun, client, spot="SpotAsPriceGo") == "KeepCharging"

    def test_the_older_behaviour_is_a_refusal(self, aliyun: AliyunServer, client: Client) -> None:
        """C08."""
        aliyun.ecs.refuses_unfit = True
        box = aliyun.ecs.add(HERE, LOCAL)
        error = client.error("Ecs", "StopInstance", InstanceId=box.id, StoppedMode="StopCharging")
        assert (error, box.state) == (("InvalidInstanceId.NotSupport", 403), "Running")

    @pytest.mark.parametrize(("default", "mode"), [(False, "KeepCharging"), (True, "StopCharging")])
    def test_without_a_mode_the_accounts_own_counts(
        self, aliyun: AliyunServer, client: Client, default: bool, mode: str
    ) -> None:
        aliyun.ecs.economical_default = default
        box = aliyun.ecs.add(HERE, CPU)
        client.ecs("StopInstance", InstanceId=box.id)
        aliyun.ecs.settle()
        assert client.instance(box.id)["StoppedMode"] == mode

    def test_a_stop_takes_half_a_minute_to_a_minute(self, aliyun: AliyunServer, client: Client) -> None:
        boxes = [aliyun.ecs.add(HERE, CPU) for _ in range(40)]
        client.ecs("StopInstances", InstanceId=[box.id for box in boxes])
        states = []
        for seconds in (29, 16, 16):
            aliyun.clock.advance(timedelta(seconds=seconds))
            aliyun.ecs.ripen()
            states.append(sum(box.state == "Stopped" for box in boxes))
        assert states[0] == 0 < states[1] < states[2] == 40

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"state": "Starting"}, "IncorrectInstanceStatus"),
            ({"state": "Stopping"}, "IncorrectInstanceStatus"),
            ({"state": "Stopped"}, "IncorrectInstanceStatus"),
            ({"state": "Pending"}, "IncorrectInstanceStatus.Initializing"),
            ({"locks": ["security"]}, "InstanceLockedForSecurity"),
            ({"locks": ["financial"]}, "InstanceExpiredOrInArrears"),
            ({"locks": ["Recycling"], "spot": "SpotAsPriceGo"}, "IncorrectInstanceStatus"),
        ],
    )
    def test_illegal_states(self, aliyun: AliyunServer, client: Client, fields: dict[str, Any], code: str) -> None:
        box = aliyun.ecs.add(HERE, CPU, **fields)
        before = box.state
        assert client.error("Ecs", "StopInstance", InstanceId=box.id) == (code, 403)
        assert client.error("Ecs", "StopInstance", InstanceId=box.id, DryRun=True) == (code, 403)
        assert box.state == before

    def test_the_first_minute_of_life(self, aliyun: AliyunServer, client: Client) -> None:
        now = aliyun.clock.now()
        box = aliyun.ecs.add(HERE, CPU, created=now, started=now)
        assert client.error("Ecs", "StopInstance", InstanceId=box.id)[0] == "IncorrectInstanceStatus.Initializing"
        aliyun.clock.advance(timedelta(minutes=1))
        client.ecs("StopInstance", InstanceId=box.id)

    def test_a_dry_run_passes_with_an_error(self, aliyun: AliyunServer, client: Client) -> None:
        """C32."""
        box = aliyun.ecs.add(HERE, CPU)
        assert client.error("Ecs", "StopInstance", InstanceId=box.id, DryRun=True) == ("DryRunOperation", 400)
        assert client.error("Ecs", "StopInstances", InstanceId=[box.id], DryRun=True) == ("DRYRUN.SUCCESS", 400)
        assert client.error("Ecs", "DeleteInstance", InstanceId=box.id, DryRun=True, Force=True)[0] == "DryRunOperation"
        assert (box.state, len(aliyun.ecs.boxes)) == ("Running", 1)

    def test_one_bad_id_of_many(self, aliyun: AliyunServer, client: Client) -> None:
        """M10."""
        boxes = [aliyun.ecs.add(HERE, CPU, state=state) for state in ("Running", "Stopped", "Running")]
        ids = [box.id for box in boxes]
        assert client.error("Ecs", "StopInstances", InstanceId=ids)[0] == "IncorrectInstanceStatus"
        assert boxes[0].state == "Running"
        told = client.ecs("StopInstances", InstanceId=ids, BatchOptimization="SuccessFirst")
        codes = [one["Code"] for one in told["InstanceResponses"]["InstanceResponse"]]
        assert codes == ["200", "IncorrectInstanceStatus", "200"]
        assert [box.state for box in boxes] == ["Stopping", "Stopped", "Stopping"]


class TestStarting:
    def test_a_start_is_a_new_start_time(self, aliyun: AliyunServer, client: Client) -> None:
        """A04."""
        box = aliyun.ecs.add(HERE, CPU, state="Stopped", public_ip="39.1.1.1")
        before = client.instance(box.id)
        aliyun.clock.advance(timedelta(hours=9))
        client.ecs("StartInstance", InstanceId=box.id)
        assert client.instance(box.id)["Status"] == "Starting"
        aliyun.ecs.settle()
        after = client.instance(box.id)
        assert (after["Status"], after["CreationTime"]) == ("Running", before["CreationTime"])
        assert (before["StartTime"], after["StartTime"]) == ("2026-03-05T07:00Z", "2026-03-05T21:00Z")

    def test_economical_mode_costs_the_address_and_perhaps_the_place(
        self, aliyun: AliyunServer, client: Client
    ) -> None:
        """C12."""
        box = aliyun.ecs.add(HERE, GPU, public_ip="39.1.1.1")
        client.ecs("StopInstance", InstanceId=box.id, StoppedMode="StopCharging")
        aliyun.ecs.settle()
        assert client.instance(box.id)["PublicIpAddress"] == {"IpAddress": []}
        aliyun.ecs.sold_out.add(GPU)
        assert client.error("Ecs", "StartInstance", InstanceId=box.id) == ("OperationDenied.NoStock", 403)
        aliyun.ecs.sold_out.clear()
        client.ecs("StartInstance", InstanceId=box.id)
        (address,) = client.instance(box.id)["PublicIpAddress"]["IpAddress"]
        assert address != "39.1.1.1"

    @pytest.mark.parametrize("state", ["Running", "Stopping", "Starting"])
    def test_only_the_stopped_can_be_started(self, aliyun: AliyunServer, client: Client, state: str) -> None:
        box = aliyun.ecs.add(HERE, CPU, state=state)
        assert client.error("Ecs", "StartInstance", InstanceId=box.id) == ("IncorrectInstanceStatus", 403)


class TestReleasing:
    @pytest.mark.parametrize(
        ("fields", "params", "code"),
        [
            ({}, {}, "IncorrectInstanceStatus"),
            ({"protected": True, "state": "Stopped"}, {}, "InvalidOperation.DeletionProtection"),
            ({"charge": "PrePaid", "state": "Stopped"}, {}, "ChargeTypeViolation"),
            ({"state": "Starting"}, {"Force": True}, "IncorrectInstanceStatus"),
            ({"locks": ["security"], "state": "Stopped"}, {}, "InstanceLockedForSecurity"),
        ],
    )
    def test_refused(
        self, aliyun: AliyunServer, client: Client, fields: dict[str, Any], params: dict[str, Any], code: str
    ) -> None:
        box = aliyun.ecs.add(HERE, CPU, **fields)
        assert client.error("Ecs", "DeleteInstance", InstanceId=box.id, **params) == (code, 403)
        assert box.id in aliyun.ecs.boxes

    def test_gone_at_once(self, aliyun: AliyunServer, client: Client) -> None:
        running, stopped = aliyun.ecs.add(HERE, CPU), aliyun.ecs.add(HERE, CPU, state="Stopped")
        client.ecs("DeleteInstance", InstanceId=running.id, Force=True)
        client.ecs("DeleteInstance", InstanceId=stopped.id)
        assert pages(client) == [[]]
        assert client.error("Ecs", "DeleteInstance", InstanceId=stopped.id) == ("InvalidInstanceId.NotFound", 404)

    def test_an_expired_subscription_can_be_given_up(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, CPU, charge="PrePaid", expires=aliyun.clock.now(), state="Stopped")
        client.ecs("DeleteInstance", InstanceId=box.id, TerminateSubscription=True)
        assert box.id not in aliyun.ecs.boxes

    def test_the_timer_destroys_the_protected_too(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, CPU, protected=True)
        client.ecs("ModifyInstanceAutoReleaseTime", InstanceId=box.id, AutoReleaseTime="2026-03-06T12:00:59Z")
        assert client.instance(box.id)["AutoReleaseTime"] == "2026-03-06T12:00Z"
        client.ecs("ModifyInstanceAutoReleaseTime", InstanceId=box.id)
        assert client.instance(box.id)["AutoReleaseTime"] == ""
        client.ecs("ModifyInstanceAutoReleaseTime", InstanceId=box.id, AutoReleaseTime="2026-03-06T12:00:00Z")
        aliyun.clock.advance(timedelta(days=1))
        assert client.instance(box.id) is None

    @pytest.mark.parametrize("time", ["2026-03-05T12:29:00Z", "2030-03-05T12:00:00Z", "tomorrow"])
    def test_times_that_the_timer_does_not_take(self, aliyun: AliyunServer, client: Client, time: str) -> None:
        box = aliyun.ecs.add(HERE, CPU)
        error = client.error("Ecs", "ModifyInstanceAutoReleaseTime", InstanceId=box.id, AutoReleaseTime=time)
        assert error == ("InvalidAutoReleaseTime.Malformed", 400)

    def test_a_subscription_has_no_timer(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, CPU, charge="PrePaid")
        error = client.error(
            "Ecs", "ModifyInstanceAutoReleaseTime", InstanceId=box.id, AutoReleaseTime="2026-03-06T12:00:00Z"
        )
        assert error == ("ChargeTypeViolation", 403)


class TestSpot:
    @pytest.mark.parametrize(("behaviour", "after"), [("Terminate", None), ("Stop", "StopCharging")])
    def test_the_market_takes_it_back(
        self, aliyun: AliyunServer, client: Client, behaviour: str, after: str | None
    ) -> None:
        box = aliyun.ecs.add(HERE, CPU, spot="SpotAsPriceGo", interruption=behaviour, protected=True)
        aliyun.ecs.reclaim(box.id)
        assert client.instance(box.id)["OperationLocks"] == {"LockReason": [{"LockReason": "Recycling"}]}
        told = client.ecs("DescribeInstanceHistoryEvents", InstanceId=box.id)
        (event,) = told["InstanceSystemEventSet"]["InstanceSystemEventType"]
        assert (event["InstanceId"], event["NotBefore"]) == (box.id, "2026-03-05T12:05:00Z")
        aliyun.clock.advance(timedelta(minutes=5))
        found = client.instance(box.id)
        assert (found and found["StoppedMode"]) == after


class TestTags:
    @pytest.mark.parametrize(
        ("tags", "code"),
        [
            ([{"Key": "acs:x", "Value": "1"}], "InvalidTagKey.Malformed"),
            ([{"Key": "aliyun", "Value": "1"}], "InvalidTagKey.Malformed"),
            ([{"Key": "k" * 129, "Value": "1"}], "InvalidTagKey.Malformed"),
            ([{"Key": "see http://x", "Value": "1"}], "InvalidTagKey.Malformed"),
            ([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}], "Duplicate.TagKey"),
            ([{"Key": f"k{n}", "Value": "1"} for n in range(21)], "NumberExceed.Tags"),
            ([{"Key": f"k{n}", "Value": "1"} for n in range(20)], "NumberExceed.Tags"),
        ],
    )
    def test_refused(self, aliyun: AliyunServer, client: Client, tags: list[dict[str, str]], code: str) -> None:
        box = aliyun.ecs.add(HERE, CPU, tags={"there": "already"})
        params = {"ResourceType": "instance", "ResourceId": [box.id], "Tag": tags}
        assert client.error("Ecs", "TagResources", **params) == (code, 400)
        assert box.tags == {"there": "already"}

    def test_added_and_written_over(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, CPU, tags={"a": "1", "b": "2"})
        params = {"ResourceType": "instance", "Tag": [{"Key": "b", "Value": "3"}]}
        client.ecs("TagResources", ResourceId=[box.id], **params)
        assert box.tags == {"a": "1", "b": "3"}
        assert client.error("Ecs", "TagResources", ResourceId=["i-none"], **params)[0] == "InvalidResourceId.NotFound"
