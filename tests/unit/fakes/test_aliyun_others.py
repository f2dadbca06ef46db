"""Disks, snapshots, addresses, prices, Cloud Assistant and the filled account on the Alibaba Cloud server."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes.aliyun.assistant import Script
from tests.fakes.aliyun.fleet import COUNTS, fill
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.fakes.aliyun_client import HERE, Client

CPU, GPU = "ecs.g7.xlarge", "ecs.gn6i-c4g1.xlarge"


@pytest.fixture
def aliyun() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def client(aliyun: AliyunServer) -> Client:
    return Client(aliyun)


class TestStorage:
    def test_disks(self, aliyun: AliyunServer, client: Client) -> None:
        free = aliyun.storage.add_disk(HERE, size=500, tags={"owner": "zw"})
        used = aliyun.storage.add_disk(HERE, instance="i-1")
        aliyun.storage.add_disk("cn-hangzhou")
        told = {disk["DiskId"]: disk for disk in client.ecs("DescribeDisks", MaxResults=500)["Disks"]["Disk"]}
        assert set(told) == {free, used}
        assert (told[free]["Status"], told[free]["Size"], told[free]["InstanceId"]) == ("Available", 500, "")
        assert (told[free]["DetachedTime"], told[free]["ExpiredTime"]) == ("2026-02-03T12:00:00Z", "2999-09-08T16:00Z")
        assert told[free]["Tags"]["Tag"] == [{"TagKey": "owner", "TagValue": "zw"}]
        assert (told[used]["Status"], told[used]["DetachedTime"], "Tags" in told[used]) == ("In_use", "", False)

    @pytest.mark.parametrize("action", ["DescribeDisks", "DescribeSnapshots"])
    def test_pages(self, aliyun: AliyunServer, client: Client, action: str) -> None:
        kind = action.removeprefix("Describe")
        for _ in range(25):
            aliyun.storage.add_disk(HERE)
            aliyun.storage.add_snapshot(HERE)
        found, token = 0, ""
        while True:
            told = client.ecs(action, MaxResults=10, NextToken=token)
            found += len(told[kind][kind[:-1]])
            token = told["NextToken"]
            if not token:
                break
        assert found == 25
        numbered = client.ecs(action, PageNumber=3)
        assert (len(numbered[kind][kind[:-1]]), numbered["TotalCount"]) == (5, 25)

    def test_filters(self, aliyun: AliyunServer, client: Client) -> None:
        free, used = aliyun.storage.add_disk(HERE), aliyun.storage.add_disk(HERE, instance="i-1")
        for params, expected in (
            ({"Status": "Available"}, [free]),
            ({"InstanceId": "i-1"}, [used]),
            ({"DiskIds": json.dumps([used])}, [used]),
        ):
            told = client.ecs("DescribeDisks", **params)["Disks"]["Disk"]
            assert [disk["DiskId"] for disk in told] == expected
        assert client.error("Ecs", "DescribeDisks", Status="Lost")[0] == "InvalidParameter"
        assert client.error("Ecs", "DescribeDisks", MaxResults=501)[0] == "InvalidParameter"

    def test_snapshot_sizes_are_texts(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.storage.add_snapshot(HERE, size=200)
        (told,) = client.ecs("DescribeSnapshots")["Snapshots"]["Snapshot"]
        assert (told["SourceDiskSize"], told["CreationTime"]) == ("200", "2025-08-17T12:00:00Z")

    def test_addresses_have_tags_at_vpc_only(self, aliyun: AliyunServer, client: Client) -> None:
        free = aliyun.storage.add_eip(HERE, tags={"owner": "zw"})
        aliyun.storage.add_eip(HERE, instance="i-1")
        for product, tagged in (("Vpc", True), ("Ecs", False)):
            told = client.call(product, "DescribeEipAddresses", Status="Available")["EipAddresses"]["EipAddress"]
            assert [(eip["AllocationId"], eip["Bandwidth"], "Tags" in eip) for eip in told] == [(free, "5", tagged)]
        assert client.call("Vpc", "DescribeEipAddresses", PageSize=100)["TotalCount"] == 2
        assert client.error("Vpc", "DescribeEipAddresses", PageSize=101)[0] == "InvalidParameter"

    def test_only_what_is_free_can_be_released(self, aliyun: AliyunServer, client: Client) -> None:
        disk, snapshot = aliyun.storage.add_disk(HERE), aliyun.storage.add_snapshot(HERE)
        eip = aliyun.storage.add_eip(HERE)
        used_disk = aliyun.storage.add_disk(HERE, instance="i-1")
        used_eip = aliyun.storage.add_eip(HERE, instance="i-1")
        assert client.error("Ecs", "DeleteDisk", DiskId=used_disk) == ("IncorrectDiskStatus", 403)
        assert client.error("Vpc", "ReleaseEipAddress", AllocationId=used_eip) == ("IncorrectEipStatus", 400)
        for product, action, params, code in (
            ("Ecs", "DeleteDisk", {"DiskId": disk}, "InvalidDiskId.NotFound"),
            ("Ecs", "DeleteSnapshot", {"SnapshotId": snapshot}, "InvalidSnapshotId.NotFound"),
            ("Vpc", "ReleaseEipAddress", {"AllocationId": eip}, "InvalidAllocationId.NotFound"),
        ):
            client.call(product, action, **params)
            assert client.error(product, action, **params) == (code, 404)
        assert [m.vm_id for m in aliyun.mutations()][2::2] == [disk, snapshot, eip]


class TestPrices:
    def test_the_total_holds_the_system_disk(self, client: Client) -> None:
        told = client.ecs("DescribePrice", InstanceType=GPU)["PriceInfo"]["Price"]
        details = {detail["Resource"]: detail["TradePrice"] for detail in told["DetailInfos"]["DetailInfo"]}
        assert (details["instanceType"], told["Currency"]) == (11.63, "CNY")
        assert told["TradePrice"] == pytest.approx(sum(details.values()))
        assert details["systemDisk"] > 0

    def test_units_and_refusals(self, client: Client) -> None:
        def price(**params: Any) -> float:
            told = client.ecs("DescribePrice", InstanceType=CPU, **params)["PriceInfo"]["Price"]
            return float(told["TradePrice"])

        assert price(PriceUnit="Month") == pytest.approx(price() * 720)
        for params, code in (
            ({"InstanceType": "zz9.plural-alpha"}, "InvalidInstanceType.ValueNotSupported"),
            ({"InstanceType": CPU, "SpotStrategy": "SpotAsPriceGo", "PriceUnit": "Month"}, "InvalidParameter"),
            ({"InstanceType": CPU, "Amount": 1_001}, "InvalidParameter"),
            ({}, "MissingParameter"),
        ):
            assert client.error("Ecs", "DescribePrice", **params) == (code, 400)

    def test_discounts(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.market.discount = aliyun.market.discount * 8 / 10
        told = client.ecs("DescribePrice", InstanceType=GPU)["PriceInfo"]["Price"]["DetailInfos"]["DetailInfo"][0]
        assert (told["OriginalPrice"], told["TradePrice"]) == (11.63, pytest.approx(9.304))

    def test_spot_history_by_the_hour_and_page(self, aliyun: AliyunServer, client: Client) -> None:
        now = aliyun.clock.now()
        for hours, price in ((300, "3.1"), (9, "4.2"), (2, "3.9")):
            aliyun.market.quote(f"{HERE}-h", GPU, now - timedelta(hours=hours), price)
        params = {"InstanceType": GPU, "NetworkType": "vpc"}
        told = client.ecs("DescribeSpotPriceHistory", **params)
        prices = [row["SpotPrice"] for row in told["SpotPrices"]["SpotPriceType"]]
        assert (prices, told["NextOffset"], told["Currency"]) == ([4.2, 3.9, 3.9, 3.9], 0, "CNY")
        rows: list[Any] = []
        offset = 0
        while True:
            start = (now - timedelta(hours=200)).strftime("%Y-%m-%dT%H:%M:%SZ")
            told = client.ecs("DescribeSpotPriceHistory", StartTime=start, Offset=offset, **params)
            rows += told["SpotPrices"]["SpotPriceType"]
            offset = told["NextOffset"]
            if not offset:
                break
        assert len(rows) == len({row["Timestamp"] for row in rows}) == 201
        assert {row["OriginPrice"] for row in rows} == {11.63}
        spot = client.ecs("DescribePrice", InstanceType=GPU, SpotStrategy="SpotAsPriceGo")["PriceInfo"]["Price"]
        assert spot["DetailInfos"]["DetailInfo"][0]["TradePrice"] == 3.9

    def test_spot_history_of_other_places_and_times(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.market.quote(f"{HERE}-h", GPU, aliyun.clock.now() - timedelta(hours=9), "4.2")
        params = {"InstanceType": GPU, "NetworkType": "vpc"}
        for more in ({"RegionId": "cn-hangzhou"}, {"ZoneId": f"{HERE}-k"}):
            assert client.ecs("DescribeSpotPriceHistory", **params, **more)["SpotPrices"]["SpotPriceType"] == []
        for wrong in ({"StartTime": "2026-01-01T00:00:00Z"}, {"NetworkType": "tube"}):
            assert client.error("Ecs", "DescribeSpotPriceHistory", **{**params, **wrong})[0] == "InvalidParameter"
        assert client.error("Ecs", "DescribeSpotPriceHistory", InstanceType=GPU)[0] == "MissingNetworkType"


class TestCloudAssistant:
    def run(self, client: Client, id: str, **more: Any) -> str:
        params = {"Type": "RunShellScript", "CommandContent": "/opt/ckpt.sh", "InstanceId": [id], **more}
        return str(client.ecs("RunCommand", **params)["InvokeId"])

    def result(self, client: Client, run: str, **more: Any) -> dict[str, Any]:
        told = client.ecs("DescribeInvocationResults", InvokeId=run, **more)
        (one,) = told["Invocation"]["InvocationResults"]["InvocationResult"]
        return dict(one)

    @pytest.mark.parametrize(
        ("script", "status", "code", "exit_code"),
        [
            (Script(output="gerettet 保存\n"), "Success", "", 0),
            (Script(exit_code=75, output="busy"), "Failed", "ExitCodeNonzero", 75),
            (Script(takes=timedelta(hours=2)), "Timeout", "ExecutionTimeout", None),
        ],
    )
    def test_how_commands_end(
        self, aliyun: AliyunServer, client: Client, script: Script, status: str, code: str, exit_code: int | None
    ) -> None:
        """C30."""
        box = aliyun.ecs.add(HERE, GPU)
        aliyun.assistant.scripts[box.id] = script
        run = self.run(client, box.id, Timeout=600)
        assert self.result(client, run)["InvocationStatus"] == "Running"
        aliyun.clock.advance(timedelta(seconds=600))
        told = self.result(client, run)
        assert (told["InvocationStatus"], told["ErrorCode"], told.get("ExitCode")) == (status, code, exit_code)
        assert base64.b64decode(told["Output"]).decode() == script.output
        assert self.result(client, run, ContentEncoding="PlainText")["Output"] == script.output

    def test_guests_that_do_not_listen_or_are_gone(self, aliyun: AliyunServer, client: Client) -> None:
        deaf, doomed = aliyun.ecs.add(HERE, GPU, assistant=False), aliyun.ecs.add(HERE, GPU)
        told = client.ecs("DescribeCloudAssistantStatus", InstanceId=[deaf.id, doomed.id])
        statuses = told["InstanceCloudAssistantStatusSet"]["InstanceCloudAssistantStatus"]
        assert [one["CloudAssistantStatus"] for one in statuses] == ["false", "true"]
        first, second = self.run(client, deaf.id), self.run(client, doomed.id)
        assert self.result(client, first)["InvocationStatus"] == "Pending"
        client.ecs("DeleteInstance", InstanceId=doomed.id, Force=True)
        aliyun.clock.advance(timedelta(seconds=61))
        assert self.result(client, first)["ErrorCode"] == "DeliveryTimeout"
        assert self.result(client, second)["ErrorCode"] == "InstanceReleased"

    def test_a_token_is_one_run(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, GPU)
        assert self.run(client, box.id, ClientToken="t") == self.run(client, box.id, ClientToken="t")
        assert len(aliyun.assistant.runs) == 1
        error = client.error(
            "Ecs", "RunCommand", Type="RunShellScript", CommandContent="rm", InstanceId=[box.id], ClientToken="t"
        )
        assert error == ("IdempotentParameterMismatch", 400)

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"Type": "RunBatScript"}, "InvalidCmdType.NotFound"),
            ({"InstanceId": ["i-nobody"]}, "InvalidInstance.NotFound"),
            ({"CommandContent": "%%", "ContentEncoding": "Base64"}, "InvalidParameter"),
            ({"CommandContent": "x" * 20_000}, "InvalidParameter"),
            ({"ContentEncoding": "Morse"}, "InvalidParameter"),
            ({"InstanceId": [f"i-{n}" for n in range(101)]}, "InvalidParameter"),
        ],
    )
    def test_refused(self, aliyun: AliyunServer, client: Client, change: dict[str, Any], code: str) -> None:
        box = aliyun.ecs.add(HERE, GPU)
        params = {"Type": "RunShellScript", "CommandContent": "true", "InstanceId": [box.id]}
        assert client.error("Ecs", "RunCommand", **{**params, **change})[0] == code
        assert aliyun.assistant.runs == []

    def test_base64_and_stopped_guests(self, aliyun: AliyunServer, client: Client) -> None:
        box = aliyun.ecs.add(HERE, GPU)
        self.run(
            client, box.id, CommandContent=base64.b64encode("echo 张伟".encode()).decode(), ContentEncoding="Base64"
        )
        assert aliyun.assistant.runs[0].command == "echo 张伟"
        box.enter("Stopped", aliyun.clock.now())
        error = client.error("Ecs", "RunCommand", Type="RunShellScript", CommandContent="true", InstanceId=[box.id])
        assert error == ("InvalidInstance.NotMatch", 403)


class TestFilledAccount:
    def test_250_instances_in_three_regions(self, aliyun: AliyunServer, client: Client) -> None:
        filled = fill(aliyun, minutes=2)
        found = {}
        for region in aliyun.regions:
            ids, token = [], ""
            while True:
                told = client.ecs("DescribeInstances", RegionId=region, MaxResults=100, NextToken=token)
                ids += [i["InstanceId"] for i in told["Instances"]["Instance"]]
                token = told["NextToken"]
                if not token:
                    break
            found[region] = ids
        assert found == filled.by_region
        assert tuple(len(ids) for ids in found.values()) == COUNTS
        for some in (
            filled.idle,
            filled.busy,
            filled.silent,
            filled.prepaid,
            filled.spot,
            filled.local,
            filled.stopped,
        ):
            assert some
        assert not set(filled.idle) & set(filled.busy)
