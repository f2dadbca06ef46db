"""CloudMonitor against the strict account."""

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from costguard.domain.resource import Kind, Resource
from costguard.domain.usage import Metric, Statistic
from costguard.errors import BadResponse, PermissionDenied, Throttled
from costguard.ports import UsageBatch
from costguard.testing.clock import NOON
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.fakes.server import Answer
from tests.unit.aliyun.helpers import HOME, connect

TYPE = "ecs.gn6i-c48g1.12xlarge"  # two T4
GPU = frozenset({Metric.GPU_UTIL})
MINUTE = timedelta(minutes=1)
UTIL = "gpu_gpu_usedutilization"


def ends(count: int, until: datetime = NOON) -> list[datetime]:
    return [until - n * MINUTE for n in range(count)][::-1]


def boxes(aliyun: AliyunConnection) -> list[Resource]:
    return list(aliyun.list(Kind.VM, HOME))


def read(
    aliyun: AliyunConnection, metrics: frozenset[Metric] = GPU, since: timedelta = timedelta(hours=1)
) -> UsageBatch:
    return aliyun.usage(boxes(aliyun), metrics, NOON - since, NOON)


def asked(server: AliyunServer) -> list[Mapping[str, Any]]:
    return [call.params for call in server.calls if call.action == "DescribeMetricList"]


def test_the_question_is_one_for_fifty_boxes_in_milliseconds(aliyun: AliyunConnection, server: AliyunServer) -> None:
    for _ in range(51):
        server.ecs.add(HOME, TYPE)
    read(aliyun)
    first, second = asked(server)
    assert (first["Namespace"], first["MetricName"], first["Period"]) == ("acs_ecs_dashboard", UTIL, "60")
    assert (first["StartTime"], first["EndTime"]) == ("1772708399999", "1772712000000")
    assert (len(first["Dimensions"]), len(second["Dimensions"])) == (50, 1)
    assert set(first["Dimensions"][0]) == {"instanceId"}


@pytest.mark.parametrize("as_array", [False, True])
def test_rows_come_as_a_text_or_an_array_on_many_pages(
    aliyun: AliyunConnection, server: AliyunServer, as_array: bool
) -> None:
    server.cms.as_array = as_array
    made = [server.ecs.add(HOME, TYPE) for _ in range(3)]
    for box in made:
        for card in (0, 1):
            server.cms.put(UTIL, box.id, {at: (1.0, 2.0, float(card)) for at in ends(700)}, card)
    batch = read(aliyun, since=timedelta(hours=12))
    assert len(batch.samples) == 3 * 2 * 700
    assert {(s.series.gpu_index, s.value) for s in batch.samples} == {(0, 0.0), (1, 1.0)}
    assert {(s.series.statistic, s.series.cards, s.period) for s in batch.samples} == {(Statistic.MAX, 1, MINUTE)}
    assert batch.calls == batch.metered == len(asked(server)) == 3
    times = [s.at for s in batch.samples if s.series == batch.samples[0].series]
    assert times == ends(700)


def test_without_names_per_card_the_maximum_over_the_cards_is_called_one(
    aliyun: AliyunConnection, server: AliyunServer
) -> None:
    """A24."""
    server.cms.hidden.add(UTIL)
    box = server.ecs.add(HOME, TYPE)
    server.cms.put("instance_gpu_gpu_usedutilization", box.id, {NOON: (0.0, 49.5, 99.0)})
    (sample,) = read(aliyun).samples
    assert (sample.series.gpu_index, sample.series.cards, sample.value) == (None, 2, 99.0)


def test_of_several_rows_of_one_time_the_highest_counts(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """M03: rows that cannot be told apart may be of different cards, and the last one may be of one that rests."""
    server.cms.hidden.add(UTIL)
    box = server.ecs.add(HOME, TYPE)
    for card, value in enumerate((99.0, 0.0)):
        server.cms.put("instance_gpu_gpu_usedutilization", box.id, {NOON: value}, card)
    assert [sample.value for sample in read(aliyun).samples] == [99.0]


def test_cards_with_long_names_are_numbered(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.cms.gpu_id = lambda card: f"GPU-{'ba'[card]}"
    box = server.ecs.add(HOME, TYPE)
    for card in (0, 1):
        server.cms.put(UTIL, box.id, {NOON: float(card)}, card)
    assert {s.series.gpu_index: s.value for s in read(aliyun).samples} == {0: 1.0, 1: 0.0}


def test_no_agent_is_unknown_and_no_error(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """A10."""
    box = server.ecs.add(HOME, TYPE, agent="")
    server.cms.put(UTIL, box.id, {NOON: 0.0}, 0)
    batch = read(aliyun)
    assert (batch.samples, batch.failed) == ((), {})


def test_traffic_is_a_sum_and_half_of_it_is_nothing(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, TYPE)
    server.cms.put("IntranetInRate", box.id, {NOON - MINUTE: 800.0, NOON: 800.0})
    server.cms.put("IntranetOutRate", box.id, {NOON: 80.0})
    server.cms.put("InternetInRate", box.id, {NOON: 8.0})
    (sample,) = read(aliyun, frozenset({Metric.NETWORK})).samples
    assert (sample.value, sample.at, sample.series.statistic) == (111.0, NOON, Statistic.MEAN)


def test_a_box_without_gpus_is_not_asked_for_them(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.add(HOME, "ecs.g7.xlarge")
    read(aliyun)
    assert asked(server) == []


def test_thirty_days_are_read_in_coarse_periods(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, TYPE)
    old, middle = NOON - timedelta(days=20), NOON - timedelta(days=3)
    server.cms.put("CPUUtilization", box.id, {old: 10.0, old - MINUTE: 50.0, middle: 20.0, NOON: 30.0})
    batch = aliyun.usage(boxes(aliyun), frozenset({Metric.CPU_CORES}), NOON - timedelta(days=30), NOON)
    assert [(s.at, s.value, int(s.period.total_seconds())) for s in batch.samples] == [
        (old, 24.0, 3_600),
        (middle, 9.6, 300),
        (NOON, pytest.approx(14.4), 60),
    ]
    assert [params["Period"] for params in asked(server)] == ["60", "300", "3600"]


def test_names_are_confirmed_once(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.add(HOME, TYPE)
    for _ in range(3):
        read(aliyun)
    assert server.actions().count("DescribeMetricMetaList") == 1


def test_a_metric_that_the_account_does_not_have_is_told(
    aliyun: AliyunConnection, server: AliyunServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.cms.hidden |= {UTIL, "instance_gpu_gpu_usedutilization"}
    server.ecs.add(HOME, TYPE)
    assert read(aliyun).samples == ()
    assert "lists no metric for gpu_util" in caplog.text


def test_names_may_be_configured(server: AliyunServer) -> None:
    aliyun = connect(server, options={"metric_names": {"gpu_util": "gpu_encoder_utilization"}})
    box = server.ecs.add(HOME, TYPE)
    server.cms.put("gpu_encoder_utilization", box.id, {NOON: 7.0}, 0)
    assert [s.value for s in read(aliyun).samples] == [7.0]
    aliyun.close()


def test_a_failing_batch_fails_alone(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """M02."""
    made = [server.ecs.add(HOME, TYPE).id for _ in range(51)]
    for id in made:
        server.cms.put(UTIL, id, {NOON: 1.0}, 0)
    server.cms.broken.add(made[0])
    batch = read(aliyun)
    assert {ref.id for ref in batch.failed} == set(made[:50])
    assert [s.series.ref.id for s in batch.samples] == made[50:]


def test_when_all_fail_the_error_is_raised(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """M01."""
    server.ecs.add(HOME, TYPE)
    server.denied_actions.add("DescribeMetricList")
    with pytest.raises(PermissionDenied) as caught:
        read(aliyun)
    assert caught.value.missing == "cms:QueryMetricList"


def test_the_free_calls_are_counted_and_shown(
    aliyun: AliyunConnection, server: AliyunServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What costguard itself uses up."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("costguard_aliyun.usage.FREE_CALLS", 2)
    server.ecs.add(HOME, TYPE)
    read(aliyun)
    read(aliyun)
    assert "1 of 2 free CloudMonitor calls of 2026-03" in caplog.text
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING and "free" in r.getMessage()]
    assert warned == ["account prod: 2 of 2 free CloudMonitor calls of 2026-03"]
    server.clock.jump(timedelta(days=30))
    read(aliyun)
    assert "1 of 2 free CloudMonitor calls of 2026-04" in caplog.text


def test_when_they_are_used_up_usage_is_unknown(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.add(HOME, TYPE)
    server.cms.free_calls = 0
    with pytest.raises(Throttled):
        read(aliyun)


@pytest.mark.parametrize("points", [None, "{", '{"a": 1}', 3])
def test_rows_of_another_shape_are_a_bad_response(
    aliyun: AliyunConnection, server: AliyunServer, points: object
) -> None:
    server.ecs.add(HOME, TYPE)
    read(aliyun)
    found = boxes(aliyun)
    server.answer_next(Answer(200, json.dumps({"Code": "200", "Success": True, "Datapoints": points}).encode()))
    with pytest.raises(BadResponse):
        aliyun.usage(found, GPU, NOON - timedelta(hours=1), NOON)


def test_an_empty_text_is_no_rows_and_odd_rows_are_left_out(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, TYPE)
    read(aliyun)
    found = boxes(aliyun)
    stamp = int(NOON.timestamp() * 1_000)
    row = {"timestamp": stamp, "instanceId": box.id, "gpuId": "0", "Maximum": 5}
    odd = [{**row, "Maximum": -1}, {**row, "Maximum": "n/a"}, {**row, "timestamp": "now"}, {**row, "Maximum": None}, 3]
    for points, values in (("", []), (json.dumps([*odd, row]), [5.0])):
        server.answer_next(Answer(200, json.dumps({"Datapoints": points}).encode()))
        batch = aliyun.usage(found, GPU, NOON - timedelta(hours=1), NOON)
        assert [s.value for s in batch.samples] == values


def test_a_repeated_token_ends(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """E09."""
    server.ecs.add(HOME, TYPE)
    read(aliyun)
    found = boxes(aliyun)
    for _ in range(2):
        server.answer_next(Answer(200, b'{"Datapoints": "[]", "NextToken": "same"}'))
    with pytest.raises(BadResponse):
        aliyun.usage(found, GPU, NOON - timedelta(hours=1), NOON)


def test_other_kinds_have_no_usage(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.storage.add_disk(HOME)
    batch = aliyun.usage(list(aliyun.list(Kind.DISK, HOME)), GPU, NOON - MINUTE, NOON)
    assert (batch.samples, batch.calls) == ((), 0)
