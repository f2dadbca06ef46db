"""Calls: retries within the deadline, listings that shift, errors inside good answers, logs."""

import json
import logging
import time
import traceback
import warnings
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import pytest

from costguard.errors import (
    AuthFailed,
    BadResponse,
    NotFound,
    PermissionDenied,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault
from costguard_tencent.client import ATTEMPTS, PASSES, Api, divided
from tests.fakes.server import Answer
from tests.fakes.tencent.server import SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.tc3 import Session
from tests.unit.tencent.helpers import CALL, CPU, HOME, api, keys, spec


def listed(client: Api) -> list[str]:
    return [
        item["InstanceId"] for item in client.listing("cvm", "DescribeInstances", HOME, "InstanceSet", "InstanceId")
    ]


def test_a_request_is_signed_json_to_the_region(server: TencentServer) -> None:
    client = api(server)
    client.read("cvm", "DescribeInstances", HOME, InstanceIds=["ins-0000000a"], Filters=None)
    (request,) = server.requests
    assert json.loads(request.body) == {"InstanceIds": ["ins-0000000a"]}
    assert (request.headers["x-tc-region"], request.headers["x-tc-version"]) == (HOME, "2017-03-12")
    assert request.headers["authorization"].startswith("TC3-HMAC-SHA256 ")
    assert "costguard" in request.headers["x-tc-requestclient"]
    client.close()


def test_billing_is_asked_without_a_region(server: TencentServer) -> None:
    client = api(server)
    client.read("billing", "DescribeAccountBalance", HOME)
    assert "x-tc-region" not in server.requests[0].headers
    client.close()


def test_numbers_are_read_exactly(server: TencentServer) -> None:
    """The SDK's own reading makes floats of them."""
    server.answer_next(Answer(200, b'{"Response": {"Price": 0.1, "Amount": 12.34567891, "RequestId": "r"}}'))
    answer = api(server).read("cvm", "DescribeInstances", HOME)
    assert (answer["Price"], answer["Amount"]) == (Decimal("0.1"), Decimal("12.34567891"))


def test_a_throttled_read_waits_for_the_next_second(server: TencentServer) -> None:
    """M16: limits are per second, account and action."""
    server.limits["DescribeInstances"] = (2, timedelta(seconds=1))
    client = api(server)
    for _ in range(3):
        client.read("cvm", "DescribeInstances", HOME)
    assert 0.5 <= sum(server.clock.slept) <= 3
    client.close()


def test_a_throttle_that_lasts_is_told_with_the_time_to_wait(server: TencentServer) -> None:
    server.fail(Fault.THROTTLED)
    with pytest.raises(Throttled) as caught:
        api(server).read("cvm", "DescribeInstances", HOME)
    assert caught.value.after == timedelta(seconds=1)
    assert 1 < server.request_count() <= ATTEMPTS


@pytest.mark.parametrize("status", [200, 502])
@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RESET, Fault.LOST_ANSWER, Fault.THROTTLED])
def test_a_read_is_repeated_until_it_works(server: TencentServer, fault: Fault, status: int) -> None:
    """The SDK's retryer would raise the first error in spite of the success that followed it."""
    server.server_status = status
    server.fail(fault, times=2)
    assert api(server).read("cvm", "DescribeRegions", HOME)["RegionSet"]
    assert len(server.clock.slept) == 2


@pytest.mark.parametrize("fault", [Fault.UNAUTHENTICATED, Fault.FORBIDDEN, Fault.HTML, Fault.TRUNCATED])
def test_what_another_attempt_cannot_change_is_asked_once(server: TencentServer, fault: Fault) -> None:
    server.fail(fault)
    with pytest.raises((AuthFailed, PermissionDenied, BadResponse)):
        api(server).read("cvm", "DescribeInstances", HOME)
    assert server.request_count() == 1


def test_a_mutation_is_sent_once_whatever_happens(server: TencentServer) -> None:
    """C11."""
    box, client = server.cvm.add(HOME, CPU), api(server)
    for fault in (Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.HTML, Fault.TRUNCATED, Fault.LOST_ANSWER):
        before = len(server.mutations())
        server.fail(fault, on=server.on(Calls.MUTATION), times=1)
        with pytest.raises((Throttled, Unavailable)):
            client.mutate("cvm", "StopInstances", HOME, "t", InstanceIds=[box.id])
        assert len(server.mutations()) == before + 1
        box.state, box.operation_state = "RUNNING", "SUCCESS"
    assert server.clock.slept == []
    client.close()


def test_a_silent_mutation_is_in_doubt_after_one_deadline(server: TencentServer) -> None:
    box, begun = server.cvm.add(HOME, CPU), time.monotonic()
    server.fail(Fault.SILENT)
    with pytest.raises(TimedOut):
        api(server, deadline=timedelta(seconds=1)).mutate("cvm", "StopInstances", HOME, "t", InstanceIds=[box.id])
    assert time.monotonic() - begun < 3
    assert len(server.mutations()) == 1


def test_a_read_has_a_second_chance_after_a_lost_answer(server: TencentServer) -> None:
    server.fail(Fault.SILENT, times=1)
    assert api(server, deadline=timedelta(seconds=2)).read("cvm", "DescribeRegions", HOME)["RegionSet"]


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "text/html"])
@pytest.mark.parametrize("fault", [Fault.FORBIDDEN, Fault.UNAUTHENTICATED, Fault.THROTTLED])
def test_a_refusal_is_one_whatever_a_proxy_calls_its_type(
    server: TencentServer, content_type: str, fault: Fault
) -> None:
    """The SDK looks for an error in two content types only: the others read as an answer without instances."""
    server.content_type = content_type
    server.fail(fault)
    with pytest.raises((PermissionDenied, AuthFailed, Throttled)):
        listed(api(server))


@pytest.mark.parametrize(
    "body", [b"[]", b'"x"', b"", b"\xff\xfe", b"{}", b'{"Response": []}', b'{"Response": null}', b"<html>"]
)
def test_an_answer_without_its_shape_is_a_bad_one(server: TencentServer, body: bytes) -> None:
    server.answer_next(Answer(200, body))
    with pytest.raises(BadResponse):
        api(server).read("cvm", "DescribeInstances", HOME)


@pytest.mark.parametrize("body", [b'{"Response": {"Error": {}}}', b'{"Response": {"Error": "x", "InstanceSet": []}}'])
def test_an_error_of_another_shape_is_still_an_error(server: TencentServer, body: bytes) -> None:
    server.answer_next(Answer(200, body))
    with pytest.raises(ProviderError):
        api(server).read("cvm", "DescribeInstances", HOME)


@pytest.mark.parametrize("switch", ["hollow", "nulls"])
def test_a_good_answer_without_its_set_is_no_empty_listing(server: TencentServer, switch: str) -> None:
    getattr(server, switch).add("DescribeInstances")
    with pytest.raises(BadResponse) as caught:
        listed(api(server))
    assert caught.value.where == "InstanceSet"


def test_a_fleet_that_changes_between_pages_is_read_again(server: TencentServer) -> None:
    """Offsets have no token: a box that is made shifts the rows down, one that goes shifts them up, out of sight."""
    made = [server.cvm.add(HOME, CPU).id for _ in range(250)]
    server.cvm.after_page += [lambda: made.append(server.cvm.add(HOME, CPU).id)]
    client = api(server)
    assert sorted(listed(client)) == sorted(made)
    server.cvm.after_page += [lambda: server.cvm.boxes.pop(made[-1])]
    found = listed(client)
    assert set(made[:-1]) <= set(found)
    assert len(found) == len(set(found))
    client.close()


def test_a_listing_that_never_settles_is_an_error_and_no_shrunken_fleet(server: TencentServer) -> None:
    server.cvm.add(HOME, CPU)
    server.cvm.total_off = 1
    with pytest.raises(BadResponse) as caught:
        listed(api(server))
    assert caught.value.where == "TotalCount"
    assert server.request_count() == 2 * PASSES


def test_the_same_page_for_ever_ends_with_an_error(server: TencentServer) -> None:
    """E09."""
    for _ in range(101):
        server.cvm.add(HOME, CPU)
    server.fail(Fault.REPEATED_TOKEN)
    with pytest.raises(BadResponse):
        listed(api(server))


def test_an_item_without_an_id_is_a_bad_answer(server: TencentServer) -> None:
    server.cvm.add(HOME, CPU, extra={"InstanceId": None})
    with pytest.raises(BadResponse) as caught:
        listed(api(server))
    assert caught.value.where == "InstanceId"


def test_one_item_is_found_by_halves() -> None:
    asked: list[list[int]] = []
    failed: list[int] = []

    def ask(some: Sequence[int]) -> None:
        asked.append(list(some))
        if 7 in some:
            raise CALL.failed(NotFound, "gone", "InvalidInstanceId.NotFound")

    divided(list(range(16)), ask, lambda item, error: failed.append(item))
    assert failed == [7]
    assert len(asked) == 9
    assert sorted(n for some in asked if 7 not in some for n in some) == [n for n in range(16) if n != 7]


def test_what_is_nobodys_fault_is_not_divided() -> None:
    failed: list[int] = []

    def ask(some: object) -> None:
        raise CALL.failed(PermissionDenied, "no")

    divided([1, 2, 3], ask, lambda item, error: failed.append(item))
    assert failed == [1, 2, 3]


def test_one_client_per_product_and_region(server: TencentServer) -> None:
    """A client for each call would be a connection for each call."""
    client = api(server)
    for _ in range(3):
        for region in (HOME, "ap-shanghai"):
            client.read("cvm", "DescribeInstances", region)
    assert len(client._clients) == 2
    client.close()
    assert client._clients == {}


def test_the_processs_warnings_stay_as_they_are(server: TencentServer) -> None:
    """A DeprecatedWarning inside an answer makes the SDK change the filters of the whole process."""
    client = api(server)
    client.read("cvm", "DescribeInstances", HOME)
    before = list(warnings.filters)
    body = b'{"Response": {"TotalCount": 0, "InstanceSet": [], "DeprecatedWarning": "old", "RequestId": "r"}}'
    server.answer_next(Answer(200, body))
    assert listed(client) == []
    assert list(warnings.filters) == before
    client.close()


def test_nothing_of_a_request_is_in_logs_and_errors(server: TencentServer, caplog: pytest.LogCaptureFixture) -> None:
    """K04: at DEBUG the SDK logs whole requests, tokens among them."""
    caplog.set_level(logging.DEBUG)
    server.gate.sessions["AKIDtemporary"] = Session(SECRET_KEY, "TOKEN/1+=")
    client = api(server, credentials=keys(secret_id="AKIDtemporary", token="TOKEN/1+="))
    told = []
    for fault in (None, Fault.RESET, Fault.UNAUTHENTICATED, Fault.SERVER_ERROR, Fault.HTML):
        server.heal()
        if fault:
            server.fail(fault)
        try:
            client.read("cvm", "DescribeRegions", HOME)
        except ProviderError as error:
            told.append("".join(traceback.format_exception(error)) + repr(vars(error)))
    server.heal()
    server.gate.skew = timedelta(days=1)
    with pytest.raises(AuthFailed, match="clock is wrong") as caught:
        client.read("cvm", "DescribeRegions", HOME)
    told += ["".join(traceback.format_exception(caught.value)), *(str(vars(record)) for record in caplog.records)]
    assert server.signatures()
    for secret in ("AKIDtemporary", SECRET_KEY, "TOKEN/1", *server.signatures()):
        assert secret not in "\n".join(told)
    client.close()


def test_a_wrong_secret_is_told_as_such(server: TencentServer) -> None:
    """K05."""
    with pytest.raises(AuthFailed) as caught:
        api(server, credentials=keys(secret_key="wrong")).read("cvm", "DescribeRegions", HOME)
    assert caught.value.code == "AuthFailure.SignatureFailure"
    assert SECRET_ID not in str(caught.value)


def test_a_key_with_a_blank_is_wrong_credentials_too(server: TencentServer) -> None:
    with pytest.raises(AuthFailed):
        api(server, credentials=keys(secret_id=" AKID")).read("cvm", "DescribeRegions", HOME)


def test_a_port_where_nobody_listens_is_unavailable() -> None:
    with TencentServer() as server:
        gone = spec(server)
    with pytest.raises(Unavailable):
        Api(gone, FakeClock()).read("cvm", "DescribeRegions", HOME)
