"""The contract's cloud fixture for Tencent Cloud: what domain words become on the wire."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.testing.cloud import BillLine, Calls, CloudFixture, Fault, Mutation, VmFacts
from tests.contract.tencent_cloud import TencentCloud, tencent_cloud
from tests.unit.fakes.tencent_client import Client


@pytest.fixture
def cloud() -> Iterator[TencentCloud]:
    with tencent_cloud() as fixture:
        yield fixture


@pytest.fixture
def client(cloud: TencentCloud) -> Client:
    return Client(cloud.server)


def asked(name: str, ids: Sequence[str]) -> dict[str, Any]:
    return {
        "Namespace": "QCE/CVM", "MetricName": name, "Period": 60, "StartTime": "2026-03-05T11:50:00Z",
        "EndTime": "2026-03-05T12:00:00Z",
        "Instances": [{"Dimensions": [{"Name": "InstanceId", "Value": id}]} for id in ids],
    }  # fmt: skip


def value(client: Client, name: str, id: str) -> float:
    (point,) = client.call("monitor", "GetMonitorData", **asked(name, [id]))["DataPoints"]
    (found,) = point["Values"]
    return float(found)


class TestBoxes:
    def test_facts_become_fields(self, cloud: TencentCloud, client: Client) -> None:
        fixture: CloudFixture = cloud
        made = fixture.add(
            VmFacts(name="张伟", tags={"role": "dev"}, sku=cloud.skus[2].sku),
            VmFacts(charge_type=ChargeType.SPOT, group="asg-1"),
            VmFacts(charge_type=ChargeType.PREPAID, state=State.STOPPED),
            VmFacts(charge_type=ChargeType.UNKNOWN, protected=True),
        )
        plain, spot, prepaid, odd = [client.instance(id) for id in made]
        assert (plain["InstanceName"], plain["GPUInfo"]["GPUCount"]) == ("张伟", 4)
        assert plain["Tags"] == [{"Key": "role", "Value": "dev"}]
        assert spot["InstanceChargeType"] == "SPOTPAID"
        assert spot["Tags"] == [{"Key": "tencentcloud:autoscaling:auto-scaling-group-id", "Value": "asg-1"}]
        assert (prepaid["InstanceChargeType"], prepaid["InstanceState"], prepaid["StopChargingMode"]) == (
            "PREPAID", "STOPPED", "NOT_APPLICABLE",
        )  # fmt: skip
        assert prepaid["ExpiredTime"].startswith("2026-03-25T12:00:00")
        assert (odd["InstanceChargeType"], odd["DisableApiTermination"]) == ("PAYBYTHEMOON", True)

    def test_states_both_ways(self, cloud: TencentCloud, client: Client) -> None:
        (id,) = cloud.add(VmFacts())
        client.cvm("StopInstances", InstanceIds=[id])
        assert cloud.state(id) is State.STOPPING
        cloud.settle()
        assert cloud.state(id) is State.STOPPED
        assert cloud.mutations() == [Mutation("stop", id)]
        cloud.set_raw_state(id, "Hyperfrozen")
        assert (client.instance(id)["InstanceState"], cloud.state(id)) == ("Hyperfrozen", State.UNKNOWN)
        cloud.remove(id)
        assert (client.instance(id), cloud.state(id)) == (None, State.GONE)

    def test_every_refused_stop_is_refused(self, cloud: TencentCloud, client: Client) -> None:
        codes = [client.error("cvm", "StopInstances", InstanceIds=[id]) for id in cloud.add(*cloud.refused_stops)]
        assert codes == ["UnsupportedOperation.InstanceStateIsolating", "InvalidInstance.NotSupported"]

    def test_faults_and_denials_heal(self, cloud: TencentCloud, client: Client) -> None:
        cloud.fail(Fault.FORBIDDEN, on=Calls.MUTATION)
        cloud.deny_region(cloud.regions[1])
        (id,) = cloud.add(VmFacts())
        other = Client(cloud.server, region=cloud.regions[1])
        assert client.error("cvm", "StopInstances", InstanceIds=[id]) == "UnauthorizedOperation"
        assert other.error("cvm", "DescribeInstances") == "UnauthorizedOperation"
        cloud.heal()
        client.cvm("StopInstances", InstanceIds=[id])
        other.cvm("DescribeInstances")
        assert len(cloud.signatures()) == 4

    def test_thousands_are_cheap(self, cloud: TencentCloud, client: Client) -> None:
        """M20: one page of many costs one page."""
        cloud.add(*(VmFacts(name=f"box-{n}") for n in range(2_500)))
        told = client.cvm("DescribeInstances", Limit=100)
        assert (len(told["InstanceSet"]), told["TotalCount"]) == (cloud.page_size, 2_500)


class TestSamples:
    def test_units(self, cloud: TencentCloud, client: Client) -> None:
        now = cloud.clock.now()
        (id,) = cloud.add(VmFacts(sku=cloud.skus[1].sku))
        for metric, amount in (
            (Metric.GPU_UTIL, 50.0),
            (Metric.GPU_MEMORY, 25.0),
            (Metric.GPU_POWER, 50.0),
            (Metric.CPU_CORES, 2.0),
            (Metric.NETWORK, 1_000_000.0),
        ):
            cloud.set_samples(id, metric, [(now, amount)])
        assert (value(client, "GpuUtil", id), value(client, "GpuMemUsage", id)) == (50.0, 25.0)
        power = [value(client, name, id) for name in ("GpuPowUsage", "GpuPowDraw", "GpuPowLimit")]
        assert power == [50.0, 35.0, 70.0]
        assert value(client, "BaseCpuUsage", id) == value(client, "CPUUsage", id) == 25.0
        rates = ("LanIntraffic", "LanOuttraffic", "WanIntraffic", "WanOuttraffic")
        assert sum(value(client, name, id) for name in rates) == 8.0

    def test_the_mean_over_the_cards_is_all_there_is(self, cloud: TencentCloud) -> None:
        (id,) = cloud.add(VmFacts(sku=cloud.skus[2].sku))
        with pytest.raises(ValueError, match="mean over the cards"):
            cloud.set_samples(id, Metric.GPU_UTIL, [(cloud.clock.now(), 1.0)], 0)

    def test_a_broken_box_takes_its_batch_with_it(self, cloud: TencentCloud, client: Client) -> None:
        made = cloud.add(*(VmFacts() for _ in range(10)))
        assert cloud.fail_usage([made[7]]) == {made[7]}
        assert client.error("monitor", "GetMonitorData", **asked("GpuUtil", made)) == "InvalidParameterValue"
        assert client.call("monitor", "GetMonitorData", **asked("GpuUtil", made[:7]))["DataPoints"]
        cloud.heal()
        assert client.call("monitor", "GetMonitorData", **asked("GpuUtil", made))["DataPoints"]


class TestMoney:
    def test_the_bill_is_these_lines_and_no_others(self, cloud: TencentCloud, client: Client) -> None:
        for amount in ("34.74", "12.34567891"):
            cloud.bill([BillLine(date(2026, 3, 2), "service-0", Money.of(amount, "CNY"), vm_id="ins-1")])
        told = client.call("billing", "DescribeBillDetail", Month="2026-03", Offset=0, Limit=300)["DetailSet"]
        assert [(r["BusinessCode"], r["ResourceId"], r["ComponentSet"][0]["RealCost"]) for r in told] == [
            ("service-0", "ins-1", "12.34567891")
        ]

    def test_every_type_has_a_price_and_a_market(self, cloud: TencentCloud, client: Client) -> None:
        for sku in cloud.skus:
            for charge in ("POSTPAID_BY_HOUR", "SPOTPAID"):
                filters = [
                    {"Name": "instance-type", "Values": [sku.sku]},
                    {"Name": "instance-charge-type", "Values": [charge]},
                ]
                rows = client.cvm("DescribeZoneInstanceConfigInfos", Filters=filters)["InstanceTypeQuotaSet"]
                assert rows[0]["Price"]["UnitPriceDiscount"] > 0
