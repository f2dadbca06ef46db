"""The contract's cloud fixture for Alibaba Cloud: what domain words become on the wire."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, VmFacts
from tests.contract.aliyun_cloud import AliyunCloud, aliyun_cloud
from tests.unit.fakes.aliyun_client import Client


@pytest.fixture
def cloud() -> Iterator[AliyunCloud]:
    with aliyun_cloud() as fixture:
        yield fixture


@pytest.fixture
def client(cloud: AliyunCloud) -> Client:
    return Client(cloud.server)


def rows(cloud: AliyunCloud, client: Client, name: str, *ids: str) -> list[dict[str, Any]]:
    end = int(cloud.clock.now().timestamp() * 1_000)
    told = client.call(
        "Cms", "DescribeMetricList", Namespace="acs_ecs_dashboard", MetricName=name, StartTime=end - 3_600_000,
        EndTime=end, Dimensions=json.dumps([{"instanceId": id} for id in ids]),
    )  # fmt: skip
    return list(json.loads(told["Datapoints"]))


class TestBoxes:
    def test_facts_become_fields(self, cloud: AliyunCloud, client: Client) -> None:
        made = cloud.add(
            VmFacts(name="张伟", tags={"role": "dev"}, sku=cloud.skus[2].sku),
            VmFacts(charge_type=ChargeType.SPOT, group="asg-1"),
            VmFacts(charge_type=ChargeType.PREPAID, state=State.STOPPED),
            VmFacts(charge_type=ChargeType.UNKNOWN, protected=True),
        )
        plain, spot, prepaid, odd = [client.instance(id) for id in made]
        assert (plain["InstanceName"], plain["InstanceType"]) == ("张伟", cloud.skus[2].sku)
        assert plain["Tags"] == {"Tag": [{"TagKey": "role", "TagValue": "dev"}]}
        assert (spot["SpotStrategy"], spot["SpotPriceLimit"]) == ("SpotWithPriceLimit", 9.5)
        assert spot["Tags"] == {"Tag": [{"TagKey": "acs:autoscaling:scalingGroupId", "TagValue": "asg-1"}]}
        assert (prepaid["InstanceChargeType"], prepaid["Status"], prepaid["ExpiredTime"]) == (
            "PrePaid", "Stopped", "2026-03-25T12:00Z",
        )  # fmt: skip
        assert odd["InstanceChargeType"] == "PayByTheMoon"
        assert odd["OperationLocks"]["LockReason"] == [{"LockReason": "security"}]

    def test_states_both_ways(self, cloud: AliyunCloud, client: Client) -> None:
        (id,) = cloud.add(VmFacts())
        client.ecs("StopInstance", InstanceId=id)
        assert cloud.state(id) is State.STOPPING
        cloud.settle()
        assert cloud.state(id) is State.STOPPED
        assert cloud.mutations() == [Mutation("stop", id)]
        cloud.set_raw_state(id, "Hyperfrozen")
        assert (client.instance(id)["Status"], cloud.state(id)) == ("Hyperfrozen", State.UNKNOWN)
        cloud.remove(id)
        assert (client.instance(id), cloud.state(id)) == (None, State.GONE)

    def test_every_refused_stop_is_refused(self, cloud: AliyunCloud, client: Client) -> None:
        for id in cloud.add(*cloud.refused_stops):
            assert client.error("Ecs", "StopInstance", InstanceId=id)[1] == 403
            assert cloud.state(id) is State.RUNNING

    def test_faults_and_denials_heal(self, cloud: AliyunCloud, client: Client) -> None:
        cloud.fail(Fault.FORBIDDEN, on=Calls.MUTATION)
        cloud.deny_region(cloud.regions[1])
        (id,) = cloud.add(VmFacts())
        assert client.error("Ecs", "StopInstance", InstanceId=id)[0] == "Forbidden.RAM"
        assert client.error("Ecs", "DescribeInstances", RegionId=cloud.regions[1])[0] == "Forbidden.RAM"
        cloud.heal()
        client.ecs("StopInstance", InstanceId=id)
        client.ecs("DescribeInstances", RegionId=cloud.regions[1])
        assert len(cloud.signatures()) == 4

    def test_thousands_are_cheap(self, cloud: AliyunCloud, client: Client) -> None:
        """M20: one page of many costs one page."""
        cloud.add(*(VmFacts(name=f"box-{n}") for n in range(2_500)))
        assert len(client.ecs("DescribeInstances", MaxResults=100)["Instances"]["Instance"]) == cloud.page_size


class TestSamples:
    def test_units(self, cloud: AliyunCloud, client: Client) -> None:
        now, sku = cloud.clock.now(), cloud.skus[2]
        (id,) = cloud.add(VmFacts(sku=sku.sku))
        for metric in (Metric.GPU_UTIL, Metric.GPU_POWER):
            cloud.set_samples(id, metric, [(now, 50.0)], 1)
        cloud.set_samples(id, Metric.GPU_MEMORY, [(now, 25.0)])
        for metric, value in ((Metric.CPU_CORES, 12.0), (Metric.NETWORK, 1_000.0), (Metric.DISK, 400.0)):
            cloud.set_samples(id, metric, [(now, value)])

        def value(name: str) -> float:
            (row,) = rows(cloud, client, name, id)
            return float(row["Average"])

        assert rows(cloud, client, "gpu_gpu_usedutilization", id)[0]["gpuId"] == "1"
        assert value("gpu_power_readings_power_draw") == 35.0
        assert value("instance_gpu_memory_usedutilization") == 25.0
        assert value("CPUUtilization") == 25.0
        assert sum(map(value, ("IntranetInRate", "IntranetOutRate", "InternetInRate", "InternetOutRate"))) == 8_000.0
        assert value("DiskReadBPS") + value("DiskWriteBPS") == 400.0

    def test_a_broken_box_takes_its_batch_with_it(self, cloud: AliyunCloud, client: Client) -> None:
        made = cloud.add(*(VmFacts() for _ in range(100)))
        unlucky = cloud.fail_usage([made[7], made[42]])
        assert unlucky == set(made[:50])
        with pytest.raises(json.JSONDecodeError):
            rows(cloud, client, "CPUUtilization", made[0])
        assert rows(cloud, client, "CPUUtilization", *made[50:]) == []


class TestMoney:
    def test_the_bill_is_these_lines_and_no_others(self, cloud: AliyunCloud, client: Client) -> None:
        for amount in ("34.74", "12.34567891"):
            cloud.bill([BillLine(date(2026, 3, 2), "service-0", Money.of(amount, "CNY"), vm_id="i-1")])
        told = client.call("Bss", "DescribeInstanceBill", BillingCycle="2026-03")["Data"]["Items"]
        assert [(row["ProductCode"], row["InstanceID"], row["PretaxAmount"]) for row in told] == [
            ("service-0", "i-1", 12.34567891)
        ]

    def test_every_type_has_a_price_and_a_market(self, cloud: AliyunCloud, client: Client) -> None:
        since = (cloud.clock.now() - timedelta(hours=12)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for sku in cloud.skus:
            assert client.ecs("DescribePrice", InstanceType=sku.sku)["PriceInfo"]["Price"]["TradePrice"] > 0
            told = client.ecs("DescribeSpotPriceHistory", InstanceType=sku.sku, NetworkType="vpc", StartTime=since)
            prices = [row["SpotPrice"] for row in told["SpotPrices"]["SpotPriceType"]]
            assert (len(prices), len(set(prices)), min(prices) > 0) == (13, 3, True)
