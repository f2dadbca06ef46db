"""Calls: retries within the deadline, pages, soft errors, logs."""

import json
import logging
import time
import traceback
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from costguard.errors import (
    AuthFailed,
    BadResponse,
    PermissionDenied,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault
from costguard_aliyun.client import ATTEMPTS, Api, flatten
from tests.fakes.aliyun.server import KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.signature import Session
from tests.fakes.server import Answer
from tests.unit.aliyun.helpers import HOME, api, keys, spec


def test_parameters_are_flat() -> None:
    assert flatten(
        {"A": True, "B": False, "C": None, "D": [1, "x"], "E": [{"Key": "k", "Value": ""}], "F": {"Size": 40}, "G": 0}
    ) == {
        "A": "true", "B": "false", "D.1": "1", "D.2": "x", "E.1.Key": "k", "E.1.Value": "", "F.Size": "40", "G": "0",
    }  # fmt: skip


def test_a_request_is_a_post_with_everything_about_it_in_the_body(server: AliyunServer) -> None:
    """Fifty instances in a query make a URL too long for proxies."""
    client = api(server)
    client.read("ecs", "DescribeInstances", HOME, InstanceIds=json.dumps(["i-1 中文 *~+/"]))
    (request,) = server.requests
    assert request.method == "POST"
    assert request.form == {"InstanceIds": json.dumps(["i-1 中文 *~+/"])}
    assert request.query["RegionId"] == HOME
    assert "costguard" in request.headers["user-agent"]
    client.close()


def test_numbers_are_read_exactly(server: AliyunServer) -> None:
    server.answer_next(Answer(200, b'{"Price": 0.1, "Amount": 12.34567891}'))
    answer = api(server).read("ecs", "DescribePrice", HOME)
    assert (answer["Price"], answer["Amount"]) == (Decimal("0.1"), Decimal("12.34567891"))


def test_a_throttled_read_waits_for_the_next_minute() -> None:
    """M16: calls are counted per minute, so the rest of this one is lost anyway."""
    clock = FakeClock(datetime(2026, 3, 5, 12, 0, 40, tzinfo=UTC))
    with AliyunServer(clock) as server:
        server.limits["DescribeInstances"] = (1, timedelta(minutes=1))
        client = api(server, deadline=timedelta(seconds=30))
        for _ in range(2):
            client.read("ecs", "DescribeInstances", HOME)
        assert len(clock.slept) == 1
        assert clock.now().minute == 1
        client.close()


def test_a_throttle_beyond_the_deadline_is_told_with_the_time_to_wait(server: AliyunServer) -> None:
    server.fail(Fault.THROTTLED)
    with pytest.raises(Throttled) as caught:
        api(server).read("ecs", "DescribeInstances", HOME)
    assert timedelta(seconds=50) < caught.value.after <= timedelta(seconds=62)
    assert 1 < server.request_count() <= ATTEMPTS


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RESET, Fault.LOST_ANSWER, Fault.THROTTLED])
def test_a_read_is_repeated_until_it_works(server: AliyunServer, fault: Fault) -> None:
    server.fail(fault, times=2)
    assert api(server).read("ecs", "DescribeRegions", HOME)["Regions"]
    assert len(server.clock.slept) == 2


@pytest.mark.parametrize("fault", [Fault.UNAUTHENTICATED, Fault.FORBIDDEN, Fault.HTML, Fault.TRUNCATED])
def test_what_another_attempt_cannot_change_is_asked_once(server: AliyunServer, fault: Fault) -> None:
    server.fail(fault)
    with pytest.raises((AuthFailed, PermissionDenied, BadResponse)):
        api(server).read("ecs", "DescribeInstances", HOME)
    assert server.request_count() == 1


def test_a_mutation_is_sent_once_whatever_happens(server: AliyunServer) -> None:
    """C11."""
    box, client = server.ecs.add(HOME, "ecs.g7.xlarge"), api(server)
    for fault in (Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.HTML, Fault.TRUNCATED, Fault.LOST_ANSWER):
        before = len(server.mutations())
        server.fail(fault, on=server.on(Calls.MUTATION), times=1)
        with pytest.raises((Throttled, Unavailable)):
            client.mutate("ecs", "StopInstance", HOME, "t", InstanceId=box.id)
        assert len(server.mutations()) == before + 1
        box.state = "Running"
    assert server.clock.slept == []
    client.close()


def test_a_silent_mutation_is_in_doubt_after_one_deadline(server: AliyunServer) -> None:
    box, begun = server.ecs.add(HOME, "ecs.g7.xlarge"), time.monotonic()
    server.fail(Fault.SILENT)
    with pytest.raises(TimedOut):
        api(server, deadline=timedelta(seconds=1)).mutate("ecs", "StopInstance", HOME, "t", InstanceId=box.id)
    assert time.monotonic() - begun < 3
    assert len(server.mutations()) == 1


def test_a_read_has_a_second_chance_after_a_lost_answer(server: AliyunServer) -> None:
    server.fail(Fault.SILENT, times=1)
    assert api(server, deadline=timedelta(seconds=2)).read("ecs", "DescribeRegions", HOME)["Regions"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"Success": false, "Code": "403"}', PermissionDenied),
        (b'{"Success": "false", "Code": "500"}', Unavailable),
        (b'{"Success": false, "Code": "NotAuthorized"}', PermissionDenied),
        (b'{"Code": "429"}', Throttled),
        (b'{"Success": false}', ProviderError),
        (b"[]", BadResponse),
        (b'"x"', BadResponse),
        (b"", BadResponse),
        (b"\xff\xfe", BadResponse),
    ],
)
def test_a_refusal_inside_http_200_is_one(server: AliyunServer, body: bytes, kind: type[ProviderError]) -> None:
    """CloudMonitor and BSS."""
    for _ in range(ATTEMPTS):
        server.answer_next(Answer(200, body))
    with pytest.raises(ProviderError) as caught:
        api(server).read("cms", "DescribeMetricList", HOME)
    assert type(caught.value) is kind


@pytest.mark.parametrize("body", [b'{"Success": true, "Code": "xyz"}', b'{"Code": "Success"}', b'{"Code": "200"}'])
def test_success_is_what_counts(server: AliyunServer, body: bytes) -> None:
    server.answer_next(Answer(200, body))
    assert api(server).read("bss", "QueryAccountBalance", HOME)["Code"]


def test_pages_end_with_a_repeated_token(server: AliyunServer) -> None:
    """E09."""
    for _ in range(150):
        server.ecs.add(HOME, "ecs.g7.xlarge")
    server.fail(Fault.REPEATED_TOKEN)
    with pytest.raises(BadResponse) as caught:
        list(api(server).pages("ecs", "DescribeInstances", HOME, "Instances.Instance", MaxResults=100))
    assert caught.value.where == "NextToken"
    assert server.request_count() == 2


def test_pages_end_with_the_cap(server: AliyunServer) -> None:
    server.ecs.short_pages = 1
    for _ in range(5):
        server.ecs.add(HOME, "ecs.g7.xlarge")
    with pytest.raises(BadResponse, match="more than 3 pages"):
        list(api(server).pages("ecs", "DescribeInstances", HOME, "Instances.Instance", cap=3, MaxResults=100))


@pytest.mark.parametrize("body", [b"{}", b'{"Instances": []}', b'{"Instances": {"Instance": {}}}'])
def test_a_page_without_its_list_is_no_empty_page(server: AliyunServer, body: bytes) -> None:
    server.answer_next(Answer(200, body))
    with pytest.raises(BadResponse):
        list(api(server).pages("ecs", "DescribeInstances", HOME, "Instances.Instance"))


def test_nothing_of_a_request_is_in_logs_and_errors(server: AliyunServer, caplog: pytest.LogCaptureFixture) -> None:
    """K04: the SDK logs signed URLs at ERROR and puts them into its exceptions."""
    caplog.set_level(logging.DEBUG)
    server.gate.sessions["STS.KEY"] = Session(SECRET, "TOKEN/1+=")
    client = api(server, credentials=keys(access_key_id="STS.KEY", security_token="TOKEN/1+="))
    told = []
    for fault in (None, Fault.RESET, Fault.UNAUTHENTICATED, Fault.SERVER_ERROR, Fault.HTML):
        server.heal()
        if fault:
            server.fail(fault)
        try:
            client.read("ecs", "DescribeRegions", HOME)
        except ProviderError as error:
            told.append("".join(traceback.format_exception(error)) + repr(vars(error)))
    server.heal()
    server.gate.skew = timedelta(days=1)
    with pytest.raises(AuthFailed, match="clock is wrong") as caught:
        client.read("ecs", "DescribeRegions", HOME)
    told += ["".join(traceback.format_exception(caught.value)), *(str(vars(record)) for record in caplog.records)]
    assert server.signatures()
    for secret in ("STS.KEY", SECRET, "TOKEN/1", "TOKEN%2F1", *server.signatures()):
        assert secret not in "\n".join(told)
    client.close()


def test_a_wrong_secret_is_told_as_such(server: AliyunServer) -> None:
    """K05."""
    with pytest.raises(AuthFailed) as caught:
        api(server, credentials=keys(access_key_secret="wrong")).read("ecs", "DescribeRegions", HOME)
    assert caught.value.code in {"SignatureDoesNotMatch", "InvalidAccessKeySecret"}
    assert KEY_ID not in str(caught.value)


def test_a_port_where_nobody_listens_is_unavailable() -> None:
    with AliyunServer() as server:
        gone = spec(server)
    with pytest.raises(Unavailable):
        Api(gone, FakeClock()).read("ecs", "DescribeRegions", HOME)
