"""The HTTP API against a strict Prometheus: who asks, what is refused, what is tried again, what nobody gets to see."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

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
from costguard.prometheus.client import Endpoint, Prometheus, TooMuch, basic
from costguard.testing.clock import NOON, FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.prometheus import PrometheusServer
from tests.fakes.server import Answer

MINUTE = timedelta(minutes=1)
SECRET = "s3cr3t-T0ken"


@pytest.fixture
def api(server: PrometheusServer, clock: FakeClock) -> Prometheus:
    return Prometheus(Endpoint("gpus", server.url), clock)


def up(api: Prometheus) -> object:
    return api.range('max by (job) (max_over_time(up{job!=""}[60s]))', NOON - 5 * MINUTE, NOON, MINUTE)


def test_its_clock_is_asked(server: PrometheusServer, api: Prometheus) -> None:
    server.ahead = timedelta(seconds=90, milliseconds=250)
    assert api.clock() - NOON == server.ahead


def test_an_empty_answer_is_no_error(api: Prometheus) -> None:
    """G02: no series is an answer, too."""
    assert up(api).lines == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", ["url", "basic", "bearer", "tenant", "header"])
def test_it_says_who_it_is(server: PrometheusServer, clock: FakeClock, way: str) -> None:
    host = server.url.removeprefix("http://")
    good = {
        "url": Endpoint("gpus", f"http://reader:{SECRET}@{host}/"),
        "basic": Endpoint("gpus", server.url, authorization=basic("reader", SECRET)),
        "bearer": Endpoint("gpus", server.url, authorization=f"Bearer {SECRET}"),
        "tenant": Endpoint("gpus", server.url, headers={"X-Scope-OrgID": SECRET}),
        "header": Endpoint("gpus", server.url, headers={"Authorization": f"Bearer {SECRET}"}),
    }[way]
    if way in ("url", "basic"):
        server.user = ("reader", SECRET)
    elif way == "tenant":
        server.tenant = SECRET
    else:
        server.bearer = SECRET
    assert Prometheus(good, clock).clock() == NOON
    with pytest.raises(AuthFailed):
        Prometheus(Endpoint("gpus", server.url), clock).clock()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.UNAUTHENTICATED, AuthFailed), (Fault.FORBIDDEN, PermissionDenied), (Fault.THROTTLED, Throttled),
        (Fault.SERVER_ERROR, Unavailable), (Fault.RESET, Unavailable), (Fault.HTML, BadResponse),
        (Fault.TRUNCATED, BadResponse),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_its_class(
    server: PrometheusServer, api: Prometheus, fault: Fault, error: type[ProviderError]
) -> None:
    server.fail(fault)
    with pytest.raises(error) as caught:
        up(api)
    assert str(caught.value).startswith("prometheus/gpus: query_range")


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "bad_data", BadResponse), (422, "execution", TooMuch), (503, "timeout", Unavailable),
        (503, "canceled", Unavailable), (500, "internal", Unavailable), (200, "bad_data", BadResponse),
        (200, "timeout", Unavailable), (404, "not_found", BadResponse), (302, "", BadResponse),
    ],
)  # fmt: skip
def test_an_error_inside_any_status_is_an_error(
    server: PrometheusServer, api: Prometheus, status: int, kind: str, error: type[ProviderError]
) -> None:
    """J04's kind: 200 with status error is no success."""
    body = json.dumps({"status": "error", "errorType": kind, "error": "no  such\n thing"}).encode()
    for _ in range(3):
        server.answer_next(Answer(status, body))
    with pytest.raises(error) as caught:
        up(api)
    assert type(caught.value) is error
    assert ("no such thing" in str(caught.value)) is (status != 404)


@pytest.mark.parametrize(
    "data",
    [
        None, [], {"resultType": "vector", "result": []}, {"resultType": "matrix"},
        {"resultType": "matrix", "result": [{"metric": {}, "value": [1, "2"]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1772712000, "many"]]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [["x", "1"]]}]},
        {"resultType": "matrix", "result": [{"metric": None, "values": []}]},
    ],
)  # fmt: skip
def test_another_shape_is_a_bad_response(server: PrometheusServer, api: Prometheus, data: object) -> None:
    server.answer_next(Answer(200, json.dumps({"status": "success", "data": data}).encode()))
    with pytest.raises(BadResponse):
        up(api)


def test_what_may_pass_is_tried_again(server: PrometheusServer, api: Prometheus, clock: FakeClock) -> None:
    """M16: one refusal for too many calls, one broken connection; the third attempt answers."""
    server.fail(Fault.THROTTLED, times=1)
    server.fail(Fault.RESET, times=1)
    up(api)
    assert server.request_count() == 3
    assert len(clock.slept) == 2
    assert clock.slept[0] >= 1


def test_a_refusal_is_not_tried_again(server: PrometheusServer, api: Prometheus) -> None:
    server.fail(Fault.FORBIDDEN)
    with pytest.raises(PermissionDenied):
        up(api)
    assert server.request_count() == 1


def test_no_answer_ends_at_the_deadline(server: PrometheusServer, clock: FakeClock) -> None:
    """A26: a signal that hangs has a bounded time, and then failed."""
    api = Prometheus(Endpoint("gpus", server.url, deadline=timedelta(seconds=0.3)), clock)
    server.fail(Fault.SILENT)
    with pytest.raises(TimedOut, match=r"no answer within 0\.\d+ s"):
        up(api)


@pytest.fixture
def endless() -> Iterator[str]:
    """A server whose answer has no end."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            try:
                while True:
                    connection.sendall(b" " * 65536)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread.join(5)
    listener.close()


def test_an_answer_without_end_is_too_much(endless: str, clock: FakeClock) -> None:
    with pytest.raises(TooMuch, match="too large"):
        up(Prometheus(Endpoint("gpus", endless), clock))


def test_no_secret_is_told(server: PrometheusServer, clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    """K04: not in an error, not in a log, not in what a server echoes, not in a repr."""
    host = server.url.removeprefix("http://")
    endpoint = Endpoint(
        "gpus", f"http://reader:{SECRET}@{host}", headers={"X-Key": "other-s3cret"}, secrets=(SECRET, "other-s3cret")
    )  # fmt: skip
    echo = json.dumps({"status": "error", "errorType": "bad_data", "error": f"for {SECRET} with other-s3cret"}).encode()
    told = [repr(endpoint)]
    for answer in (Answer(400, echo), Answer(302, b"", {"Location": f"http://x/{SECRET}"}), Answer(401, b"")):
        server.answer_next(answer)
        with pytest.raises(ProviderError) as caught:
            up(Prometheus(endpoint, clock))
        told.append(
            repr(caught.value) + str(caught.value) + str(caught.value.__cause__) + str(caught.value.__context__)
        )
    told += [record.getMessage() for record in caplog.records]
    assert SECRET not in "".join(told)
    assert "other-s3cret" not in "".join(told)
    assert "for *** with ***" in told[1]


def test_authorities_of_its_own(tmp_path: Path, clock: FakeClock) -> None:
    """A file that holds no certificate is told at once, not at the first poll."""
    (tmp_path / "ca.pem").write_text("no certificate", "utf-8")
    with pytest.raises(ValueError, match="holds no certificate"):
        Prometheus(Endpoint("gpus", "https://prom", ca_file=tmp_path / "ca.pem"), clock)


def test_the_address_may_have_a_path(server: PrometheusServer, clock: FakeClock) -> None:
    """Behind a gateway, or a cluster of VictoriaMetrics: /select/0/prometheus."""
    with pytest.raises(BadResponse, match="url is the address before /api/v1"):
        Prometheus(Endpoint("gpus", f"{server.url}/select/0/prometheus/"), clock).clock()
    assert server.requests[-1].path == "/select/0/prometheus/api/v1/query"
