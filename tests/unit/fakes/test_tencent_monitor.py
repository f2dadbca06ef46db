"""Monitor on the Tencent Cloud server."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.fakes.tencent.server import TencentServer
from tests.unit.fakes.tencent_client import HERE, Client

GPU = "GN7.2XLARGE32"


@pytest.fixture
def tencent() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def client(tencent: TencentServer) -> Client:
    return Client(tencent)


def asked(ids: Sequence[str], metric: str = "GpuUtil", **params: Any) -> dict[str, Any]:
    """The hour up to the clock's noon."""
    return {
        "Namespace": "QCE/CVM", "MetricName": metric, "Period": 60,
        "StartTime": "2026-03-05T19:00:00+08:00", "EndTime": "2026-03-05T12:00:00Z",
        "Instances": [{"Dimensions": [{"Name": "InstanceId", "Value": id}]} for id in ids], **params,
    }  # fmt: skip


def points(client: Client, id: str, metric: str = "GpuUtil", **params: Any) -> dict[datetime, float]:
    (told,) = client.call("monitor", "GetMonitorData", **asked([id], metric, **params))["DataPoints"]
    assert told["Dimensions"] == [{"Name": "InstanceId", "Value": id}]
    return {
        datetime.fromtimestamp(at).astimezone(): value
        for at, value in zip(told["Timestamps"], told["Values"], strict=True)
    }


class TestPoints:
    def test_a_stamp_opens_its_period(self, tencent: TencentServer, client: Client) -> None:
        now, id = tencent.clock.now(), tencent.cvm.add(HERE, GPU).id
        tencent.monitor.put("GpuUtil", id, {now: 50.0, now - timedelta(minutes=2): 10.0})
        assert points(client, id) == {now - timedelta(minutes=1): 50.0, now - timedelta(minutes=3): 10.0}
        assert points(client, id, Period=300) == {now - timedelta(minutes=5): 30.0}
        tencent.monitor.stamp_ends_period = True
        assert points(client, id) == {now: 50.0, now - timedelta(minutes=2): 10.0}

    def test_no_points_are_no_points(self, tencent: TencentServer, client: Client) -> None:
        """A10: no agent, too new, stopped: an entry with empty lists."""
        now = tencent.clock.now()
        silent, other = tencent.cvm.add(HERE, GPU, agent=False).id, tencent.cvm.add(HERE, GPU).id
        for metric in ("GpuUtil", "BaseCpuUsage"):
            tencent.monitor.put(metric, silent, {now: 5.0})
        assert points(client, silent) == points(client, other) == {}
        assert list(points(client, silent, "BaseCpuUsage").values()) == [5.0]

    def test_the_window_is_aligned_and_told(self, tencent: TencentServer, client: Client) -> None:
        now, id = tencent.clock.now(), tencent.cvm.add(HERE, GPU).id
        tencent.monitor.put("GpuUtil", id, {now - timedelta(minutes=n): float(n) for n in range(60)})
        params = {"StartTime": "2026-03-05T11:52:30Z", "EndTime": "2026-03-05T11:55:30Z"}
        told = client.call("monitor", "GetMonitorData", **asked([id], **params))
        assert (told["StartTime"], told["EndTime"]) == ("2026-03-05T19:52:00+08:00", "2026-03-05T19:55:00+08:00")
        assert told["DataPoints"][0]["Values"] == [7.0, 6.0, 5.0, 4.0]

    def test_statistics_on_wish(self, tencent: TencentServer, client: Client) -> None:
        now, id = tencent.clock.now(), tencent.cvm.add(HERE, GPU).id
        tencent.monitor.put("GpuUtil", id, {now: 90.0, now - timedelta(minutes=1): 10.0})
        (told,) = client.call("monitor", "GetMonitorData", **asked([id], Period=300, SpecifyStatistics=3))["DataPoints"]
        assert (told["Values"], told["AvgValues"], told["MaxValues"], told["MinValues"]) == (
            [50.0],
            [50.0],
            [90.0],
            None,
        )

    def test_old_points_are_thrown_away(self, tencent: TencentServer, client: Client) -> None:
        now, id = tencent.clock.now(), tencent.cvm.add(HERE, GPU).id
        old = now - timedelta(days=16)
        tencent.monitor.put("GpuUtil", id, {old: 5.0})
        window = {"StartTime": f"{old - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", "EndTime": f"{old:%Y-%m-%dT%H:%M:%SZ}"}
        assert points(client, id, **window) == {}
        assert list(points(client, id, Period=300, **window).values()) == [5.0]


class TestRefusals:
    @pytest.mark.parametrize("chinese", [False, True])
    def test_two_spellings(self, tencent: TencentServer, client: Client, chinese: bool) -> None:
        now, id = tencent.clock.now(), tencent.cvm.add(HERE, GPU).id
        tencent.monitor.put("GpuMemUsage", id, {now: 5.0})
        tencent.monitor.chinese = chinese
        right, wrong = ("Gpumemusage", "GpuMemUsage") if chinese else ("GpuMemUsage", "Gpumemusage")
        assert list(points(client, id, right).values()) == [5.0]
        told = client.raw("monitor", "GetMonitorData", asked([id], wrong))
        assert told["Error"]["Code"] == "InvalidParameterValue"
        assert "metric" in told["Error"]["Message"]

    def test_one_destroyed_id_fails_the_batch(self, tencent: TencentServer, client: Client) -> None:
        """M02."""
        ids = [tencent.cvm.add(HERE, GPU).id for _ in range(3)]
        elsewhere = tencent.cvm.add("ap-shanghai", GPU).id
        for bad in ("ins-zzzzzzzz", elsewhere):
            told = client.raw("monitor", "GetMonitorData", asked([*ids, bad]))
            assert told["Error"]["Message"].startswith("Unauthorized operation or the instance has been destroyed")
        tencent.monitor.destroyed.add(ids[1])
        assert client.error("monitor", "GetMonitorData", **asked(ids)) == "InvalidParameterValue"
        assert points(client, ids[0]) == {}

    def test_limits(self, tencent: TencentServer, client: Client) -> None:
        ids = [tencent.cvm.add(HERE, GPU).id for _ in range(11)]
        assert client.error("monitor", "GetMonitorData", **asked(ids)) == "InvalidParameterValue"
        assert len(client.call("monitor", "GetMonitorData", **asked(ids[:10]))["DataPoints"]) == 10
        day = {"StartTime": "2026-03-04T12:00:00Z"}
        assert client.error("monitor", "GetMonitorData", **asked(ids[:1], **day)) == "InvalidParameterValue"
        client.call("monitor", "GetMonitorData", **asked(ids[:1], **day, Period=300))

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({"Period": 120}, "InvalidParameterValue"),
            ({"Namespace": "QCE/TEA"}, "InvalidParameterValue"),
            ({"StartTime": "2026-03-05 19:00:00"}, "InvalidParameterValue"),
            ({"StartTime": "2026-03-05T19:00:00"}, "InvalidParameterValue"),
            ({"StartTime": "2026-03-05T12:00:01Z"}, "InvalidParameterValue"),
            ({"MetricName": ["GpuUtil"]}, "InvalidParameter"),
            ({"Instances": [{"Dimensions": [{"Name": "unInstanceId", "Value": "x"}]}]}, "InvalidParameterValue"),
            ({"Instances": [{"Dimension": []}]}, "UnknownParameter"),
            ({"Instances": []}, "MissingParameter"),
        ],
    )
    def test_parameters(self, tencent: TencentServer, client: Client, params: dict[str, Any], code: str) -> None:
        id = tencent.cvm.add(HERE, GPU).id
        assert client.error("monitor", "GetMonitorData", **asked([id], **params)) == code

    def test_calls_are_metered(self, tencent: TencentServer, client: Client) -> None:
        id = tencent.cvm.add(HERE, GPU).id
        tencent.monitor.free_calls = 2
        for _ in range(2):
            points(client, id)
        assert client.error("monitor", "GetMonitorData", **asked([id])) == "FailedOperation.ErrNotOpen"
        assert tencent.monitor.calls == {"2026-03": 3}
        tencent.monitor.open = True
        points(client, id)
        tencent.monitor.owed = True
        assert client.error("monitor", "GetMonitorData", **asked([id])) == "FailedOperation.ErrOwed"
