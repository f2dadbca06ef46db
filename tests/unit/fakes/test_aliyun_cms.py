"""CloudMonitor on the Alibaba Cloud server."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fakes.aliyun.box import Box
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.fakes.aliyun_client import HERE, Client

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
UTIL, CPU = "gpu_gpu_usedutilization", "CPUUtilization"
TYPE = "ecs.gn6i-c48g1.12xlarge"


@pytest.fixture
def aliyun() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def client(aliyun: AliyunServer) -> Client:
    return Client(aliyun)


@pytest.fixture
def box(aliyun: AliyunServer) -> Box:
    return aliyun.ecs.add(HERE, TYPE)


def ms(at: datetime) -> str:
    return str(int(at.timestamp() * 1_000))


def dimensions(*ids: str) -> str:
    return json.dumps([{"instanceId": id} for id in ids])


def query(name: str, *ids: str, minutes: int = 10, until: datetime = NOON, **more: Any) -> dict[str, Any]:
    return {
        "Namespace": "acs_ecs_dashboard", "MetricName": name, "Dimensions": dimensions(*ids),
        "StartTime": ms(until - timedelta(minutes=minutes)), "EndTime": ms(until), **more,
    }  # fmt: skip


def rows(client: Client, params: dict[str, Any], action: str = "DescribeMetricList") -> list[dict[str, Any]]:
    """Of all pages."""
    found, token = [], ""
    while True:
        told = client.call("Cms", action, **params, **({"NextToken": token} if token else {}))
        assert (told["Code"], told["Success"]) == ("200", True)
        found += json.loads(told["Datapoints"])
        token = told.get("NextToken", "")
        if not token:
            return found


def minutes(count: int, until: datetime = NOON) -> list[datetime]:
    return [until - timedelta(minutes=n) for n in range(count)]


class TestRows:
    def test_each_card_tells_its_own(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        """M03."""
        for card, value in ((0, 0.0), (1, 99.0)):
            aliyun.cms.put(UTIL, box.id, {NOON: value}, card)
        told = rows(client, query(UTIL, box.id))
        assert [(row["gpuId"], row["Maximum"]) for row in told] == [("0", 0.0), ("1", 99.0)]
        assert {(row["timestamp"], row["instanceId"]) for row in told} == {(int(ms(NOON)), box.id)}

    def test_the_window_is_open_on_the_left(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        aliyun.cms.put(CPU, box.id, dict.fromkeys(minutes(20), 5.0))
        told = rows(client, query(CPU, box.id, minutes=3))
        assert [row["timestamp"] for row in told] == [int(ms(at)) for at in sorted(minutes(3))]

    def test_nothing_measured_is_success_and_an_empty_list(
        self, aliyun: AliyunServer, client: Client, box: Box
    ) -> None:
        """A10: no agent, or a name that the docs misspell."""
        assert client.call("Cms", "DescribeMetricList", **query(UTIL, box.id))["Datapoints"] == "[]"
        aliyun.cms.put(UTIL, box.id, {NOON: 50.0}, 0)
        assert len(rows(client, query(UTIL, box.id))) == 1
        assert rows(client, query("gpu_memory_useutilization", box.id)) == []
        aliyun.cms.hidden.add(UTIL)
        assert rows(client, query(UTIL, box.id)) == []
        aliyun.cms.hidden.clear()
        box.agent = ""
        assert rows(client, query(UTIL, box.id)) == []

    def test_what_needs_no_agent(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        box.agent = ""
        aliyun.cms.put(CPU, box.id, {NOON: 50.0})
        assert len(rows(client, query(CPU, box.id))) == 1

    def test_an_array_instead_of_a_text(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        aliyun.cms.as_array = True
        aliyun.cms.put(CPU, box.id, {NOON: (1.0, 2.0, 3.0)})
        (row,) = client.call("Cms", "DescribeMetricList", **query(CPU, box.id))["Datapoints"]
        assert (row["Minimum"], row["Average"], row["Maximum"]) == (1.0, 2.0, 3.0)

    def test_the_future_is_not_known(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        late = NOON + timedelta(minutes=1)
        aliyun.cms.put(CPU, box.id, {late: 1.0})
        assert rows(client, query(CPU, box.id, until=late)) == []

    def test_wider_periods(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        aliyun.cms.put(CPU, box.id, {at: float(n) for n, at in enumerate(minutes(10))})
        told = rows(client, query(CPU, box.id, Period="300"))
        assert [(row["timestamp"], row["Minimum"], row["Average"], row["Maximum"]) for row in told] == [
            (int(ms(NOON - timedelta(minutes=5))), 5.0, 7.0, 9.0),
            (int(ms(NOON)), 0.0, 2.0, 4.0),
        ]

    def test_regions_are_apart(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        aliyun.cms.put(CPU, box.id, {NOON: 1.0})
        assert rows(client, {**query(CPU, box.id), "RegionId": "cn-hangzhou"}) == []

    @pytest.mark.parametrize("length", [1, 7, 20, 1_440])
    def test_pages(self, aliyun: AliyunServer, client: Client, box: Box, length: int) -> None:
        aliyun.cms.put(CPU, box.id, dict.fromkeys(minutes(20), 5.0))
        assert len(rows(client, query(CPU, box.id, minutes=60, Length=length))) == 20

    def test_the_newest_of_each_series(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        for card in (0, 1):
            aliyun.cms.put(UTIL, box.id, {at: float(n) for n, at in enumerate(minutes(5))}, card)
        params = {"Namespace": "acs_ecs_dashboard", "MetricName": UTIL, "Dimensions": dimensions(box.id)}
        told = rows(client, params, "DescribeMetricLast")
        assert [(row["gpuId"], row["timestamp"]) for row in told] == [("0", int(ms(NOON))), ("1", int(ms(NOON)))]

    def test_old_points_are_kept_by_their_period(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        """A13."""
        then = NOON - timedelta(days=60)
        aliyun.cms.put(CPU, box.id, {then: 5.0})
        for period, count in (("60", 0), ("300", 1)):
            assert len(rows(client, query(CPU, box.id, until=then, Period=period))) == count


class TestRefusals:
    @pytest.mark.parametrize(
        "change",
        [
            {"Period": "61"},
            {"Period": "1m"},
            {"Length": 1_441},
            {"Dimensions": json.dumps([{"instanceId": f"i-{n}"} for n in range(51)])},
            {"Dimensions": '[{"instance": "i-1"}]'},
            {"StartTime": ms(NOON)},
            {"StartTime": ms(NOON - timedelta(days=32))},
            {"StartTime": "2026-03-05 10:00:00"},
            {"NextToken": "made-up"},
        ],
    )
    def test_errors_come_with_http_200(self, client: Client, box: Box, change: dict[str, Any]) -> None:
        status, body = client.raw("Cms", "DescribeMetricList", **{**query(CPU, box.id), **change})
        assert (status, body["Code"], body["Success"], body["Datapoints"]) == (200, "400", False, "")

    def test_fifty_instances_fit(self, aliyun: AliyunServer, client: Client) -> None:
        """G10."""
        boxes = [aliyun.ecs.add(HERE, TYPE) for _ in range(50)]
        for box in boxes:
            aliyun.cms.put(CPU, box.id, {NOON: 1.0})
        assert len(rows(client, query(CPU, *(box.id for box in boxes)))) == 50

    def test_a_broken_one_breaks_its_call(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        other = aliyun.ecs.add(HERE, TYPE)
        aliyun.cms.broken.add(other.id)
        assert client.error("Cms", "DescribeMetricList", **query(CPU, box.id, other.id)) == ("500", 200)
        assert rows(client, query(CPU, box.id)) == []

    def test_the_free_calls_end_with_the_month_in_beijing(self, aliyun: AliyunServer, client: Client, box: Box) -> None:
        aliyun.cms.free_calls = 2
        params = query(CPU, box.id)
        for _ in range(2):
            client.call("Cms", "DescribeMetricList", **params)
        client.call("Cms", "DescribeMetricMetaList")
        assert client.error("Cms", "DescribeMetricLast", **params) == ("Throttling.User", 400)
        aliyun.cms.pay_as_you_go = True
        client.call("Cms", "DescribeMetricList", **params)
        assert aliyun.cms.calls == {"2026-03": 4}
        aliyun.clock.advance(datetime(2026, 3, 31, 16, tzinfo=UTC) - NOON)
        client.call("Cms", "DescribeMetricList", **params)
        assert aliyun.cms.calls["2026-04"] == 1


class TestNamesAndAgents:
    def test_names_are_listed_in_pages(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.cms.hidden.add("gpu_memory_usedutilization")
        told = [
            client.call("Cms", "DescribeMetricMetaList", Namespace="acs_ecs_dashboard", PageSize=15, PageNumber=n)
            for n in (1, 2)
        ]
        names = [meta["MetricName"] for page in told for meta in page["Resources"]["Resource"]]
        assert len(names) == len(set(names)) == int(told[0]["TotalCount"])
        assert (UTIL in names, "gpu_memory_usedutilization" in names) == (True, False)
        (meta,) = client.call("Cms", "DescribeMetricMetaList", MetricName=UTIL)["Resources"]["Resource"]
        assert (meta["Dimensions"], meta["Unit"]) == ("userId,instanceId,gpuId", "%")

    def test_agents(self, aliyun: AliyunServer, client: Client) -> None:
        boxes = [aliyun.ecs.add(HERE, TYPE, agent=agent) for agent in ("running", "stopped", "")]
        ids = ",".join(box.id for box in boxes)
        told = client.call("Cms", "DescribeMonitoringAgentStatuses", InstanceIds=ids)["NodeStatusList"]["NodeStatus"]
        assert [node["Status"] for node in told] == ["running", "stopped", "not_installed"]
