"""CVM on the Tencent Cloud server: listings, states, money, refusals, timers."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from costguard.testing.cloud import Calls, Fault
from tests.fakes.tencent.server import TencentServer
from tests.unit.fakes.tencent_client import HERE, Client

CPU, GPU, LOCAL, VGPU = "S5.LARGE8", "GN7.2XLARGE32", "GN8.LARGE56", "GN7.LARGE20"


@pytest.fixture
def tencent() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def client(tencent: TencentServer) -> Client:
    return Client(tencent)


def pages(client: Client, limit: int = 100, **params: Any) -> tuple[list[list[str]], list[int]]:
    """The ids of all pages by offset, and what TotalCount said each time."""
    found: list[list[str]] = []
    totals: list[int] = []
    while True:
        told = client.cvm("DescribeInstances", Offset=len(found) * limit, Limit=limit, **params)
        found.append([i["InstanceId"] for i in told["InstanceSet"]])
        totals.append(told["TotalCount"])
        if len(found[-1]) < limit:
            return found, totals


class TestListing:
    @pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
    def test_pages_by_offset_newest_first(self, tencent: TencentServer, client: Client, count: int) -> None:
        """G01."""
        made = [tencent.cvm.add(HERE, CPU).id for _ in range(count)]
        found, totals = pages(client)
        assert [id for page in found for id in page] == made[::-1]
        assert set(totals) == {count}

    def test_twenty_unless_asked(self, tencent: TencentServer, client: Client) -> None:
        for _ in range(21):
            tencent.cvm.add(HERE, CPU)
        told = client.cvm("DescribeInstances")
        assert (len(told["InstanceSet"]), told["TotalCount"]) == (20, 21)

    def test_a_new_box_shifts_the_pages(self, tencent: TencentServer, client: Client) -> None:
        """G02: the last of a page comes again, and TotalCount has changed."""
        for _ in range(20):
            tencent.cvm.add(HERE, CPU)
        tencent.cvm.after_page.append(lambda: tencent.cvm.add(HERE, CPU))
        found, totals = pages(client, limit=10)
        assert found[1][0] == found[0][-1]
        assert totals == [20, 21, 21]

    def test_a_gone_box_leaves_a_hole(self, tencent: TencentServer, client: Client) -> None:
        made = [tencent.cvm.add(HERE, CPU).id for _ in range(20)]
        tencent.cvm.after_page.append(lambda: tencent.cvm.boxes.pop(made[-1]))
        found, totals = pages(client, limit=10)
        told = {id for page in found for id in page}
        assert (set(made) - told, totals[:2]) == ({made[9]}, [20, 19])

    def test_faults_of_paging(self, tencent: TencentServer, client: Client) -> None:
        """E09."""
        for _ in range(25):
            tencent.cvm.add(HERE, CPU)
        tencent.fail(Fault.REPEATED_TOKEN, on=tencent.on(Calls.INVENTORY))
        first, again = (client.cvm("DescribeInstances", Offset=n, Limit=10)["InstanceSet"] for n in (0, 10))
        assert first == again
        tencent.heal()
        tencent.fail(Fault.DUPLICATED_ITEM, on=tencent.on(Calls.INVENTORY))
        first, again = (client.cvm("DescribeInstances", Offset=n, Limit=10)["InstanceSet"] for n in (0, 10))
        assert first[-1] == again[0]
        tencent.heal()
        tencent.cvm.total_off = 3
        assert client.cvm("DescribeInstances")["TotalCount"] == 28

    def test_unknown_ids_are_left_out(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        told = client.cvm("DescribeInstances", InstanceIds=[id, "ins-zzzzzzzz"])
        assert ([i["InstanceId"] for i in told["InstanceSet"]], told["TotalCount"]) == ([id], 1)
        ids = [f"ins-{n:08}" for n in range(101)]
        assert client.error("cvm", "DescribeInstances", InstanceIds=ids) == "InvalidParameterValue.LimitExceeded"
        both = {"InstanceIds": [id], "Filters": [{"Name": "zone", "Values": ["ap-beijing-3"]}]}
        assert client.error("cvm", "DescribeInstances", **both) == "InvalidParameter"

    def test_regions_are_apart(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add("ap-shanghai", CPU).id
        assert client.instance(id) is None
        assert Client(tencent, region="ap-shanghai").instance(id)["Placement"]["Zone"] == "ap-shanghai-3"
        assert client.error("cvm", "StopInstances", InstanceIds=[id]) == "InvalidInstanceId.NotFound"

    def test_filters(self, tencent: TencentServer, client: Client) -> None:
        one = tencent.cvm.add(HERE, GPU, tags={"role": "dev"}, name="a")
        two = tencent.cvm.add(HERE, CPU, tags={"role": "prod"}, charge="PREPAID", state="STOPPED", name="b")
        for name, value, box in (
            ("instance-state", "STOPPED", two),
            ("instance-charge-type", "POSTPAID_BY_HOUR", one),
            ("instance-name", "b", two),
            ("tag:role", "dev", one),
            ("tag-value", "prod", two),
        ):
            assert pages(client, Filters=[{"Name": name, "Values": [value]}])[0] == [[box.id]]

    def test_regions_and_zones_both_ways(self, tencent: TencentServer, client: Client) -> None:
        old = client.cvm("DescribeRegions")
        assert client.call("region", "DescribeRegions", Product="cvm")["RegionSet"] == old["RegionSet"]
        assert [r["Region"] for r in old["RegionSet"]] == list(tencent.regions)
        assert [z["Zone"] for z in client.cvm("DescribeZones")["ZoneSet"]] == ["ap-beijing-3", "ap-beijing-6"]
        assert client.error("region", "DescribeRegions", Product="tea") == "InvalidParameter.ParameterError"


class TestFields:
    def test_plain_and_running(self, tencent: TencentServer, client: Client) -> None:
        told = client.instance(tencent.cvm.add(HERE, GPU, tags={"owner": "张伟"}).id)
        expected = {
            "InstanceState": "RUNNING", "StopChargingMode": "NOT_APPLICABLE", "InstanceChargeType": "POSTPAID_BY_HOUR",
            "RestrictState": "NORMAL", "IsolatedSource": "NOTISOLATED", "ExpiredTime": None, "RenewFlag": None,
            "CreatedTime": "2026-03-05T07:00:00Z", "CPU": 8, "Memory": 32, "PublicIpAddresses": None,
            "GPUInfo": {"GPUCount": 1, "GPUId": ["0x0a"], "GPUType": "NVIDIA T4"}, "DisableApiTermination": False,
            "Tags": [{"Key": "owner", "Value": "张伟"}],
        }  # fmt: skip
        assert {name: told[name] for name in expected} == expected

    def test_special_ones(self, tencent: TencentServer, client: Client) -> None:
        tencent.cvm.add(HERE, CPU)
        tencent.cvm.add(HERE, CPU)
        box = tencent.cvm.add(
            HERE, VGPU, charge="PREPAID", expires=tencent.clock.now(), protected=True, public_ip="1.2.3.4",
            local_data_disk=True, extra={"InstanceState": "HYPERFROZEN"},
        )  # fmt: skip
        told = client.instance(box.id)
        assert (told["CreatedTime"], told["ExpiredTime"]) == ("2026-03-05T07:00:00+00:00", "2026-03-05T12:00:00+00:00")
        assert (told["RenewFlag"], told["GPUInfo"]["GPUCount"]) == ("NOTIFY_AND_MANUAL_RENEW", 0.25)
        assert (told["DisableApiTermination"], told["PublicIpAddresses"]) == (True, ["1.2.3.4"])
        assert (told["DataDisks"][0]["DiskType"], told["InstanceState"]) == ("LOCAL_NVME", "HYPERFROZEN")
        assert "GPUInfo" not in client.instance(tencent.cvm.add(HERE, CPU).id)

    def test_quotas(self, client: Client) -> None:
        told = client.cvm("DescribeAccountQuota", Filters=[{"Name": "quota-type", "Values": ["SpotPaidQuotaSet"]}])
        quota = told["AccountQuotaOverview"]["AccountQuota"]
        assert quota["SpotPaidQuotaSet"][0] == {
            "UsedQuota": 96, "RemainingQuota": 304, "TotalQuota": 400, "Zone": "ap-beijing-3",
        }  # fmt: skip
        assert quota["PostPaidQuotaSet"] is None


class TestStopping:
    @pytest.mark.parametrize(
        ("fields", "mode"),
        [
            ({}, "STOP_CHARGING"),
            ({"type": GPU}, "STOP_CHARGING"),
            ({"type": LOCAL}, "NOT_APPLICABLE"),
            ({"local_data_disk": True}, "NOT_APPLICABLE"),
            ({"charge": "SPOTPAID"}, "NOT_APPLICABLE"),
            ({"charge": "PREPAID"}, "NOT_APPLICABLE"),
        ],
    )
    def test_what_ends_the_bill_is_seen_afterwards_only(
        self, tencent: TencentServer, client: Client, fields: dict[str, Any], mode: str
    ) -> None:
        """C07: in one batch with a fit one, the unfit one stops without a word and goes on charging."""
        fit, other = tencent.cvm.add(HERE, CPU), tencent.cvm.add(HERE, **{"type": CPU, **fields})
        client.cvm("StopInstances", InstanceIds=[fit.id, other.id], StoppedMode="STOP_CHARGING")
        told = client.instance(other.id)
        assert (told["InstanceState"], told["LatestOperation"], told["LatestOperationState"]) == (
            "STOPPING", "StopInstances", "OPERATING",
        )  # fmt: skip
        tencent.cvm.settle()
        told = client.instance(other.id)
        assert (told["InstanceState"], told["StopChargingMode"]) == ("STOPPED", mode)
        assert told["LatestOperationState"] == "SUCCESS"
        assert client.instance(fit.id)["StopChargingMode"] == "STOP_CHARGING"

    def test_the_default_keeps_charging(self, tencent: TencentServer, client: Client) -> None:
        box = tencent.cvm.add(HERE, CPU, public_ip="1.2.3.4")
        client.cvm("StopInstances", InstanceIds=[box.id])
        tencent.cvm.settle()
        told = client.instance(box.id)
        assert (told["StopChargingMode"], told["PublicIpAddresses"]) == ("KEEP_CHARGING", ["1.2.3.4"])

    def test_the_public_ip_goes_and_an_elastic_one_stays(self, tencent: TencentServer, client: Client) -> None:
        boxes = [tencent.cvm.add(HERE, CPU, public_ip="1.2.3.4", eip=eip) for eip in (False, True)]
        ids = [box.id for box in boxes]
        client.cvm("StopInstances", InstanceIds=ids, StoppedMode="STOP_CHARGING")
        tencent.cvm.settle()
        assert [client.instance(id)["PublicIpAddresses"] for id in ids] == [None, ["1.2.3.4"]]
        assert client.error("cvm", "ModifyInstancesAttribute", InstanceIds=ids, InstanceName="x") == (
            "UnsupportedOperation.StoppedModeStopCharging"
        )
        client.cvm("StartInstances", InstanceIds=ids)
        tencent.cvm.settle()
        told = client.instance(ids[0])
        assert told["PublicIpAddresses"] not in (None, ["1.2.3.4"])
        assert (told["StopChargingMode"], told["CreatedTime"]) == ("NOT_APPLICABLE", "2026-03-05T07:00:00Z")

    def test_a_deaf_guest(self, tencent: TencentServer, client: Client) -> None:
        box = tencent.cvm.add(HERE, CPU, deaf=True)
        client.cvm("StopInstances", InstanceIds=[box.id], StopType="SOFT")
        tencent.cvm.settle()
        told = client.instance(box.id)
        assert (told["InstanceState"], told["LatestOperationState"]) == ("RUNNING", "FAILED")
        assert told["LatestOperationErrorMsg"]
        client.cvm("StopInstances", InstanceIds=[box.id], StopType="SOFT_FIRST")
        tencent.cvm.settle()
        assert client.instance(box.id)["InstanceState"] == "STOPPED"

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"state": "STOPPED"}, "UnsupportedOperation.InstanceStateStopped"),
            ({"state": "STOPPING"}, "UnsupportedOperation.InstanceStateStopping"),
            ({"state": "STARTING"}, "UnsupportedOperation.InstanceStateStarting"),
            ({"state": "PENDING"}, "UnsupportedOperation.InstanceStatePending"),
            ({"state": "SHUTDOWN"}, "UnsupportedOperation.InstanceStateShutdown"),
            ({"state": "RESCUE_MODE"}, "UnsupportedOperation.InstanceStateRescueMode"),
            ({"operation_state": "OPERATING"}, "OperationDenied.InstanceOperationInProgress"),
            ({"restrict": "PROTECTIVELY_ISOLATED"}, "UnsupportedOperation.InstanceStateIsolating"),
            ({"supported": False}, "InvalidInstance.NotSupported"),
        ],
    )
    def test_illegal_states(self, tencent: TencentServer, client: Client, fields: dict[str, Any], code: str) -> None:
        """C05: and one of them refuses the whole batch."""
        fine, bad = tencent.cvm.add(HERE, CPU), tencent.cvm.add(HERE, CPU, **fields)
        assert client.error("cvm", "StopInstances", InstanceIds=[fine.id, bad.id]) == code
        assert fine.state == "RUNNING"

    def test_parameters(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU).id
        for params, code in (
            ({"ForceStop": True, "StopType": "SOFT"}, "InvalidParameterCombination"),
            ({"StopType": "GENTLE"}, "InvalidParameterValue"),
            ({"StoppedMode": "StopCharging"}, "InvalidParameterValue"),
            ({"InstanceIds": [f"ins-{n:08}" for n in range(101)]}, "InvalidParameterValue.LimitExceeded"),
            ({"InstanceIds": ["i-bp1"]}, "InvalidInstanceId.Malformed"),
            ({"InstanceIds": [id, "ins-zzzzzzzz"]}, "InvalidInstanceId.NotFound"),
        ):
            assert client.error("cvm", "StopInstances", **{"InstanceIds": [id], **params}) == code
        tencent.cvm.busy.add(id)
        assert client.error("cvm", "StopInstances", InstanceIds=[id]) == "MutexOperation.TaskRunning"
        assert tencent.cvm.boxes[id].state == "RUNNING"

    def test_yes_and_nothing_happens(self, tencent: TencentServer, client: Client) -> None:
        """C12."""
        id = tencent.cvm.add(HERE, CPU).id
        tencent.say_yes = {"StopInstances"}
        client.cvm("StopInstances", InstanceIds=[id])
        tencent.cvm.settle()
        assert client.instance(id)["InstanceState"] == "RUNNING"

    def test_it_stops_over_the_clock(self, tencent: TencentServer, client: Client) -> None:
        ids = [tencent.cvm.add(HERE, CPU).id for _ in range(30)]
        client.cvm("StopInstances", InstanceIds=ids)
        stopped = []
        for _ in range(4):
            told = client.cvm("DescribeInstancesStatus", InstanceIds=ids, Limit=100)["InstanceStatusSet"]
            stopped.append(sum(row["InstanceState"] == "STOPPED" for row in told))
            tencent.clock.advance(timedelta(seconds=20))
        assert stopped[0] == 0 < stopped[2] < stopped[3] == 30


class TestOtherChanges:
    def test_a_start_may_find_no_stock(self, tencent: TencentServer, client: Client) -> None:
        tencent.cvm.sold_out.add(GPU)
        kept, freed = (tencent.cvm.add(HERE, GPU, state="STOPPED", stop_charging=mode).id
                       for mode in ("KEEP_CHARGING", "STOP_CHARGING"))  # fmt: skip
        assert client.error("cvm", "StartInstances", InstanceIds=[freed]) == "ResourcesSoldOut.SpecifiedInstanceType"
        client.cvm("StartInstances", InstanceIds=[kept])
        assert client.error("cvm", "StartInstances", InstanceIds=[kept]) == "UnsupportedOperation.InstanceStateStarting"
        tencent.cvm.settle()
        assert client.error("cvm", "StartInstances", InstanceIds=[kept]) == "UnsupportedOperation.InstanceStateRunning"

    def test_postpaid_is_destroyed_and_prepaid_binned_first(self, tencent: TencentServer, client: Client) -> None:
        post, pre = tencent.cvm.add(HERE, CPU).id, tencent.cvm.add(HERE, CPU, charge="PREPAID").id
        assert client.error("cvm", "TerminateInstances", InstanceIds=[post, pre]) == (
            "UnsupportedOperation.InstanceMixedPricingModel"
        )
        client.cvm("TerminateInstances", InstanceIds=[post])
        assert client.instance(post)["InstanceState"] == "TERMINATING"
        tencent.cvm.settle()
        assert client.instance(post) is None
        client.cvm("TerminateInstances", InstanceIds=[pre])
        told = client.instance(pre)
        assert (told["InstanceState"], told["RestrictState"], told["IsolatedSource"]) == (
            "SHUTDOWN", "EXPIRED", "MANMADE",
        )  # fmt: skip
        client.cvm("TerminateInstances", InstanceIds=[pre])
        tencent.cvm.settle()
        assert client.instance(pre) is None

    def test_the_lock_guards_destruction_only(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, CPU, protected=True).id
        assert client.error("cvm", "TerminateInstances", InstanceIds=[id]) == "UnsupportedOperation.InstancesProtected"
        client.cvm("ModifyInstancesAttribute", InstanceIds=[id], DisableApiTermination=False)
        assert client.instance(id)["DisableApiTermination"] is False
        client.cvm("StopInstances", InstanceIds=[id])

    def test_renewal_is_of_prepaid_alone(self, tencent: TencentServer, client: Client) -> None:
        post, pre = tencent.cvm.add(HERE, CPU).id, tencent.cvm.add(HERE, CPU, charge="PREPAID").id
        flag = "NOTIFY_AND_AUTO_RENEW"
        assert client.error("cvm", "ModifyInstancesRenewFlag", InstanceIds=[post], RenewFlag=flag) == (
            "InvalidInstance.NotSupported"
        )
        assert client.error("cvm", "ModifyInstancesRenewFlag", InstanceIds=[pre], RenewFlag="YES") == (
            "InvalidParameterValue"
        )
        client.cvm("ModifyInstancesRenewFlag", InstanceIds=[pre], RenewFlag=flag)
        assert client.instance(pre)["RenewFlag"] == flag

    def test_timers_destroy_and_nothing_else(self, tencent: TencentServer, client: Client) -> None:
        id, pre = tencent.cvm.add(HERE, CPU).id, tencent.cvm.add(HERE, CPU, charge="PREPAID").id

        def book(ids: list[str], action: str, at: str) -> dict[str, Any]:
            return {"InstanceIds": ids, "ActionTimer": {"TimerAction": action, "ActionTime": at}}

        name, at = "ImportInstancesActionTimer", "2026-03-05T13:00:00Z"
        for params, code in (
            (book([id], "StopInstances", at), "InvalidParameterValue"),
            (book([id], "TerminateInstances", "2026-03-05T12:05:00Z"), "InvalidParameterValue"),
            (book([id], "TerminateInstances", "2026-03-05 13:00:00"), "InvalidParameterValue"),
            (book([pre], "TerminateInstances", at), "UnsupportedOperation.NotSupportImportInstancesActionTimer"),
        ):
            assert client.error("cvm", name, **params) == code
        (timer,) = client.cvm(name, **book([id], "TerminateInstances", at))["ActionTimerIds"]
        assert (
            client.error("cvm", name, **book([id], "TerminateInstances", at)) == "FailedOperation.MutActionTimerExist"
        )
        (told,) = client.cvm("DescribeInstancesActionTimer", InstanceIds=[id])["ActionTimers"]
        assert (told["ActionTime"], told["Status"]) == (at, "UNDO")
        client.cvm("DeleteInstancesActionTimer", ActionTimerIds=[timer])
        client.cvm(name, **book([id], "TerminateInstances", at))
        tencent.clock.advance(timedelta(hours=1))
        assert client.instance(id) is None
        assert client.error("cvm", "DeleteInstancesActionTimer", ActionTimerIds=[timer]) == "InvalidParameterValue"
        since = {"StartActionTime": "2026-03-05 12:59:59", "EndActionTime": "2026-03-05 13:00:01"}
        assert client.cvm("DescribeInstancesActionTimer", **since)["ActionTimers"][0]["Status"] == "DONE"
        assert client.error("cvm", "DescribeInstancesActionTimer", StartActionTime=at) == "InvalidParameterValue"

    def test_a_reclaimed_spot_box_is_simply_gone(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, GPU, charge="SPOTPAID").id
        tencent.cvm.reclaim(id)
        assert client.instance(id)["InstanceState"] == "RUNNING"
        tencent.clock.advance(timedelta(minutes=2))
        assert client.instance(id) is None
