"""Prices, disks, addresses, commands, tags and identities on the Tencent Cloud server."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from costguard.testing.cloud import Mutation
from tests.fakes.tencent.fleet import fill
from tests.fakes.tencent.server import OWNER, SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.tat import Script
from tests.unit.fakes.tencent_client import HERE, Client

CPU, GPU = "S5.LARGE8", "GN7.2XLARGE32"


@pytest.fixture
def tencent() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def client(tencent: TencentServer) -> Client:
    return Client(tencent)


class TestCatalog:
    def rows(self, client: Client, **filters: str) -> list[dict[str, Any]]:
        given = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
        return list(client.cvm("DescribeZoneInstanceConfigInfos", Filters=given)["InstanceTypeQuotaSet"])

    def test_hourly_prices(self, tencent: TencentServer, client: Client) -> None:
        tencent.catalog.discount = Decimal("0.8")
        tencent.catalog.sold_out.add(("ap-beijing-6", CPU))
        here, there = self.rows(client, instance_type=CPU)
        assert (here["Zone"], here["Status"], there["Status"], there["StatusCategory"]) == (
            "ap-beijing-3", "SELL", "SOLD_OUT", "WithoutStock",
        )  # fmt: skip
        price = here["Price"]
        assert (price["UnitPrice"], price["UnitPriceDiscount"], price["ChargeUnit"]) == (0.68, 0.544, "HOUR")
        assert (price["UnitPriceSecondStep"], price["UnitPriceThirdStep"]) == (0.55, 0.42)
        assert (price["OriginalPrice"], price["Discount"]) == (0.0, 80.0)
        assert self.rows(client, instance_type="ZZ9.PLURAL") == []

    def test_a_price_of_0_is_none(self, tencent: TencentServer, client: Client) -> None:
        """H02."""
        tencent.catalog.free.add(GPU)
        assert self.rows(client, instance_type=GPU)[0]["Price"]["UnitPriceDiscount"] == 0.0
        prepaid = self.rows(client, instance_type=CPU, instance_charge_type="PREPAID")[0]["Price"]
        assert (prepaid["UnitPrice"], prepaid["DiscountPrice"]) == (0.0, 292.4)

    def test_the_spot_market_is_as_it_is_now(self, tencent: TencentServer, client: Client) -> None:
        now, zone = tencent.clock.now(), "ap-beijing-3"
        tencent.catalog.quote(zone, GPU, now - timedelta(hours=1), "2.604")
        tencent.catalog.quote(zone, GPU, now + timedelta(hours=1), "3.1")
        (row,) = self.rows(client, instance_charge_type="SPOTPAID")
        assert (row["InstanceType"], row["Price"]["UnitPriceDiscount"], row["Price"]["Discount"]) == (GPU, 2.604, 30.0)
        tencent.clock.advance(timedelta(hours=1))
        assert self.rows(client, instance_charge_type="SPOTPAID")[0]["Price"]["UnitPriceDiscount"] == 3.1

    def test_gpus_of_types(self, client: Client) -> None:
        told = client.cvm("DescribeInstanceTypeConfigs", Filters=[{"Name": "instance-family", "Values": ["GN7"]}])
        by_name = {row["InstanceType"]: row for row in told["InstanceTypeConfigSet"]}
        assert set(by_name) == {GPU, "GN7.20XLARGE320", "GN7.LARGE20"}
        assert (by_name["GN7.LARGE20"]["GpuCount"], by_name["GN7.20XLARGE320"]["GpuCount"]) == (0.25, 4)
        assert (by_name[GPU]["GpuType"], by_name[GPU]["GpuMemory"]) == ("NVIDIA T4", 16)
        assert self.rows(client, instance_type="GN7.LARGE20")[0]["GpuCount"] == 0.25

    def test_asking_for_a_price(self, tencent: TencentServer, client: Client) -> None:
        params = {"Placement": {"Zone": "ap-beijing-3"}, "ImageId": "img-487zeit5", "InstanceType": GPU}
        told = client.cvm("InquiryPriceRunInstances", **params)["Price"]
        assert (told["InstancePrice"]["UnitPriceDiscount"], told["BandwidthPrice"]["UnitPrice"]) == (8.68, 0.0)
        params["Placement"] = {"Zone": "ap-shanghai-3"}
        assert client.error("cvm", "InquiryPriceRunInstances", **params) == "InvalidZone.MismatchRegion"
        now = tencent.clock.now()
        pre = tencent.cvm.add(HERE, CPU, charge="PREPAID", expires=now + timedelta(days=15)).id
        (refund,) = client.cvm("InquiryPriceTerminateInstances", InstanceIds=[pre])["InstanceRefundsSet"]
        assert refund["Refunds"] == 146.2

    def test_disks_have_more_digits_in_texts(self, client: Client) -> None:
        params = {"DiskType": "CLOUD_PREMIUM", "DiskSize": 50, "DiskChargeType": "POSTPAID_BY_HOUR"}
        told = client.call("cbs", "InquiryPriceCreateDisks", **params)["DiskPrice"]
        assert (told["UnitPriceDiscount"], told["UnitPriceDiscountHigh"]) == (0.04, "0.035000")
        assert client.error("cbs", "InquiryPriceCreateDisks", **{**params, "DiskSize": 1}) == "InvalidParameterValue"


class TestStorage:
    def test_disks_and_snapshots(self, tencent: TencentServer, client: Client) -> None:
        used = tencent.cbs.add_disk(HERE, instance="ins-00000001", tags={"a": "b"})
        free = tencent.cbs.add_disk(HERE, size=500)
        tencent.cbs.add_disk("ap-shanghai")
        told = client.call("cbs", "DescribeDisks")
        assert [disk["DiskId"] for disk in told["DiskSet"]] == [used, free]
        assert told["DiskSet"][0]["Tags"] == [{"Key": "a", "Value": "b"}]
        assert told["DiskSet"][0]["CreateTime"] == "2026-01-04 20:00:00"
        unattached = [{"Name": "disk-state", "Values": ["UNATTACHED"]}]
        assert client.call("cbs", "DescribeDisks", Filters=unattached)["DiskSet"][0]["DiskSize"] == 500
        snapshot = tencent.cbs.add_snapshot(HERE, disk=free)
        assert client.call("cbs", "DescribeSnapshots")["SnapshotSet"][0]["SnapshotId"] == snapshot
        assert client.call("cbs", "DescribeDisks", Offset=1, Limit=1)["DiskSet"][0]["DiskId"] == free
        assert client.error("cbs", "DescribeDisks", Limit=101) == "InvalidParameterValue.LimitExceeded"
        assert client.error("cbs", "DescribeDisks", DiskIds=[free], Filters=unattached) == "InvalidParameter"

    def test_addresses(self, tencent: TencentServer, client: Client) -> None:
        tencent.vpc.add_address(HERE, instance="ins-00000001")
        idle = tencent.vpc.add_address(HERE)
        filters = [{"Name": "address-status", "Values": ["UNBIND"]}]
        (told,) = client.call("vpc", "DescribeAddresses", Filters=filters)["AddressSet"]
        assert (told["AddressId"], told["InstanceId"], told["CreatedTime"]) == (idle, None, "2026-01-24T12:00:00Z")
        assert client.call("vpc", "DescribeAddresses")["TotalCount"] == 2


class TestCommands:
    def run(self, client: Client, ids: list[str], text: str = "save", **params: Any) -> str:
        content = base64.b64encode(text.encode()).decode()
        return str(client.call("tat", "RunCommand", Content=content, InstanceIds=ids, **params)["InvocationId"])

    def task(self, client: Client, invocation: str, **params: Any) -> Any:
        filters = [{"Name": "invocation-id", "Values": [invocation]}]
        return client.call("tat", "DescribeInvocationTasks", Filters=filters, **params)["InvocationTaskSet"][0]

    def test_it_takes_its_time_and_hides_its_output(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        tencent.tat.scripts[id] = Script(output="saved")
        invocation = self.run(client, [id], Username="ubuntu", WorkingDirectory="/data")
        assert (tencent.tat.runs[0].command, tencent.tat.runs[0].user) == ("save", "ubuntu")
        states = []
        for seconds in (1, 5, 20):
            states.append(self.task(client, invocation)["TaskStatus"])
            tencent.clock.advance(timedelta(seconds=seconds))
        assert states == ["DELIVERING", "DELIVERING", "RUNNING"]
        done = self.task(client, invocation)
        assert (done["TaskStatus"], done["TaskResult"]["ExitCode"], done["TaskResult"]["Output"]) == ("SUCCESS", 0, "")
        shown = self.task(client, invocation, HideOutput=False)["TaskResult"]["Output"]
        assert base64.b64decode(shown) == b"saved"
        assert tencent.mutations() == [Mutation("run_command", id)]

    @pytest.mark.parametrize(
        ("script", "status", "code"),
        [
            (Script(exit_code=3), "FAILED", 3),
            (Script(takes=timedelta(seconds=90)), "TIMEOUT", -1),
        ],
    )
    def test_bad_ends(self, tencent: TencentServer, client: Client, script: Script, status: str, code: int) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        tencent.tat.scripts[id] = script
        invocation = self.run(client, [id], Timeout=60)
        tencent.clock.advance(timedelta(seconds=61))
        told = self.task(client, invocation)
        assert (told["TaskStatus"], told["TaskResult"]["ExitCode"]) == (status, code)

    def test_long_output_is_cut(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        tencent.tat.scripts[id] = Script(output="x" * 25_000)
        invocation = self.run(client, [id])
        tencent.clock.advance(timedelta(seconds=30))
        result = self.task(client, invocation, HideOutput=False)["TaskResult"]
        assert (len(base64.b64decode(result["Output"])), result["Dropped"]) == (24_576, 424)

    def test_it_can_be_cancelled(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        invocation = self.run(client, [id])
        tencent.clock.advance(timedelta(seconds=5))
        client.call("tat", "CancelInvocation", InvocationId=invocation)
        assert self.task(client, invocation)["TaskStatus"] == "CANCELLED"
        assert client.error("tat", "CancelInvocation", InvocationId="inv-x") == "ResourceNotFound.InvocationNotFound"

    def test_guests_that_do_not_listen(self, tencent: TencentServer, client: Client) -> None:
        content = base64.b64encode(b"save").decode()
        for fields, code in (
            ({"state": "STOPPED"}, "ResourceUnavailable.InstanceStateNotRunning"),
            ({"tat": ""}, "ResourceUnavailable.AgentNotInstalled"),
            ({"classic": True}, "ResourceUnavailable.AgentNotInstalled"),
            ({"tat": "Offline"}, "ResourceUnavailable.AgentStatusNotOnline"),
        ):
            id = tencent.cvm.add(HERE, CPU, **fields).id
            assert client.error("tat", "RunCommand", Content=content, InstanceIds=[id]) == code
        online = tencent.cvm.add(HERE, CPU).id
        told = client.call("tat", "DescribeAutomationAgentStatus")["AutomationAgentSet"]
        assert {row["InstanceId"]: row["AgentStatus"] for row in told}[online] == "Online"
        assert [row["AgentStatus"] for row in told].count("Offline") == 2
        for params, code in (
            ({"Content": "not base64!"}, "InvalidParameterValue.CommandContentInvalid"),
            ({"Content": "eA==" * 17_000}, "InvalidParameterValue.CommandContentInvalid"),
            ({"Timeout": 86_401}, "InvalidParameterValue"),
            ({"InstanceIds": ["ins-zzzzzzzz"]}, "ResourceNotFound.InstanceNotFound"),
            ({"Parameters": "{}"}, "InvalidParameterValue.ParameterDisabled"),
            ({"EnableParameter": True, "Parameters": '{"a": 1}'}, "InvalidParameterValue.ParameterInvalidJsonFormat"),
        ):
            given = {"Content": content, "InstanceIds": [online], **params}
            assert client.error("tat", "RunCommand", **given) == code
        assert tencent.tat.runs == []

    def test_parameters_are_filled_in(self, tencent: TencentServer, client: Client) -> None:
        id, text = tencent.cvm.add(HERE, CPU).id, "save {{where}} {{tat-hidden:key}}"
        self.run(client, [id], text, EnableParameter=True, Parameters=json.dumps({"where": "/d", "key": "s"}))
        assert tencent.tat.runs[0].command == "save /d s"


class TestTags:
    def name(self, id: str, region: str = HERE) -> str:
        return f"qcs::cvm:{region}:uin/{OWNER}:instance/{id}"

    def test_tags_are_put_listed_and_taken(self, tencent: TencentServer, client: Client) -> None:
        ids = [tencent.cvm.add(HERE, CPU, tags={"old": "1"}).id for _ in range(3)]
        names = [self.name(id) for id in ids]
        client.call("tag", "TagResources", ResourceList=names[:2], Tags=[{"TagKey": "role", "TagValue": "dev"}])
        assert tencent.cvm.boxes[ids[0]].tags == {"old": "1", "role": "dev"}
        first = client.call("tag", "GetResources", MaxResults=2)
        assert [row["Resource"] for row in first["ResourceTagMappingList"]] == names[:2]
        rest = client.call("tag", "GetResources", MaxResults=2, PaginationToken=first["PaginationToken"])
        assert ([row["Resource"] for row in rest["ResourceTagMappingList"]], rest["PaginationToken"]) == (names[2:], "")
        wanted = [{"TagKey": "role", "TagValue": ["dev"]}]
        assert len(client.call("tag", "GetResources", TagFilters=wanted)["ResourceTagMappingList"]) == 2
        client.call("tag", "UnTagResources", ResourceList=names[:1], TagKeys=["role"])
        assert tencent.cvm.boxes[ids[0]].tags == {"old": "1"}
        assert tencent.mutations() == [Mutation("tag", ids[n]) for n in (0, 1, 0)]

    def test_refusals(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        tag = {"TagKey": "a", "TagValue": "b"}
        for params, code in (
            ({"ResourceList": [id]}, "InvalidParameterValue.ResourceDescriptionError"),
            ({"Tags": [tag, tag]}, "InvalidParameterValue.TagKeyDuplicate"),
            ({"Tags": [{"TagKey": "", "TagValue": "b"}]}, "InvalidParameterValue.TagKeyEmpty"),
            ({"Tags": [{"TagKey": "tencentcloud:x", "TagValue": "b"}]}, "InvalidParameterValue.ReservedTagKey"),
            ({"Tags": [{"Key": "a", "Value": "b"}]}, "UnknownParameter"),
        ):
            given = {"ResourceList": [self.name(id)], "Tags": [tag], **params}
            assert client.error("tag", "TagResources", **given) == code
        failed = client.call("tag", "TagResources", ResourceList=[self.name("ins-zzzzzzzz")], Tags=[tag])
        assert failed["FailedResources"][0]["Code"] == "ResourceNotFound"
        tencent.say_yes = {"TagResources"}
        client.call("tag", "TagResources", ResourceList=[self.name(id)], Tags=[tag])
        assert tencent.cvm.boxes[id].tags == {}


class TestIdentity:
    def test_who_am_i(self, client: Client) -> None:
        told = client.call("sts", "GetCallerIdentity")
        assert (told["AccountId"], told["Type"]) == (OWNER, "CAMUser")
        assert told["Arn"] == f"qcs::cam::uin/{OWNER}:uin/100000000002"

    def test_a_role_is_taken_on_and_ends(self, tencent: TencentServer, client: Client) -> None:
        arn = f"qcs::cam::uin/{OWNER}:roleName/costguard"
        told = client.call("sts", "AssumeRole", RoleArn=arn, RoleSessionName="governor", DurationSeconds=900)
        keys = told["Credentials"]
        role = Client(tencent, keys["TmpSecretId"], keys["TmpSecretKey"], keys["Token"])
        assert role.call("sts", "GetCallerIdentity")["Type"] == "CAMRole"
        assert (told["ExpiredTime"], told["Expiration"]) == (1772712900, "2026-03-05T12:15:00Z")
        for token in ("", "another"):
            bare = Client(tencent, keys["TmpSecretId"], keys["TmpSecretKey"], token)
            assert bare.error("sts", "GetCallerIdentity") == "AuthFailure.TokenFailure"
        tencent.clock.advance(timedelta(minutes=15))
        assert role.error("sts", "GetCallerIdentity") == "AuthFailure.TokenFailure"
        assert client.error("sts", "AssumeRole", RoleArn=arn + "x", RoleSessionName="governor") == (
            "ResourceNotFound.RoleNotFound"
        )

    def test_the_machines_own_role(self, tencent: TencentServer) -> None:
        path = f"{tencent.url}/latest/meta-data/cam/security-credentials/"
        with httpx.Client(trust_env=False, verify=False) as http:
            assert http.get(path).text == "costguard"
            keys = http.get(path + "costguard").json()
            assert http.get(path + "nobody").status_code == 404
        assert keys["Code"] == "Success"
        role = Client(tencent, keys["TmpSecretId"], keys["TmpSecretKey"], keys["Token"])
        assert role.cvm("DescribeInstances")["TotalCount"] == 0


class TestFleet:
    def test_250_in_three_regions(self, tencent: TencentServer, client: Client) -> None:
        filled = fill(tencent, minutes=3)
        totals = {
            region: Client(tencent, region=region).cvm("DescribeInstances")["TotalCount"] for region in tencent.regions
        }
        assert totals == {"ap-beijing": 120, "ap-shanghai": 80, "ap-guangzhou": 50}
        assert min(map(len, (filled.idle, filled.busy, filled.silent, filled.prepaid, filled.spot))) >= 2
        assert set(filled.local) & set(filled.idle)
        here = [id for id in filled.by_region[HERE] if tencent.cvm.boxes[id].state == "RUNNING"]
        for start in range(0, len(here), 100):
            batch = here[start : start + 100]
            client.cvm("StopInstances", InstanceIds=batch, StoppedMode="STOP_CHARGING")
        tencent.cvm.settle()
        ended = {id for id in here if client.instance(id)["StopChargingMode"] == "STOP_CHARGING"}
        assert ended == set(filled.ends) & set(here)
        assert 0 < len(ended) < len(here)

    def test_its_bill_adds_up(self, tencent: TencentServer, client: Client) -> None:
        fill(tencent, minutes=1)
        cost, offset = Decimal(0), 0
        while rows := client.call("billing", "DescribeBillDetail", Month="2026-03", Offset=offset, Limit=300)[
            "DetailSet"
        ]:
            cost += sum(Decimal(part["RealCost"]) for row in rows for part in row["ComponentSet"])
            offset += len(rows)
        assert round(cost, 2) == round(tencent.bills.total("2026-03"), 2)
        assert offset > 600


class TestSdk:
    def test_the_real_common_client_gets_through(self, tencent: TencentServer, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.delenv(name, raising=False)
        common_client = pytest.importorskip("tencentcloud.common.common_client")
        from tencentcloud.common.credential import Credential
        from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
        from tencentcloud.common.profile.client_profile import ClientProfile
        from tencentcloud.common.profile.http_profile import HttpProfile

        endpoint = tencent.url.removeprefix("http://")
        profile = ClientProfile(httpProfile=HttpProfile(protocol="http", endpoint=endpoint))
        sdk = common_client.CommonClient("cvm", "2017-03-12", Credential(SECRET_ID, SECRET_KEY), HERE, profile)
        id = tencent.cvm.add(HERE, GPU, name="训练").id
        told = sdk.call_json("DescribeInstances", {"InstanceIds": [id]})["Response"]
        assert told["InstanceSet"][0]["InstanceName"] == "训练"
        with pytest.raises(TencentCloudSDKException) as caught:
            sdk.call_json("StartInstances", {"InstanceIds": [id]})
        assert caught.value.code == "UnsupportedOperation.InstanceStateRunning"
        tencent.content_type = "application/json; charset=utf-8"
        silent = sdk.call_json("StartInstances", {"InstanceIds": [id]})["Response"]
        assert silent["Error"]["Code"] == "UnsupportedOperation.InstanceStateRunning"
