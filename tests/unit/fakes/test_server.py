"""The server under the fakes: what it records, and how it breaks."""

import http.client
import threading
import time
from datetime import timedelta

import httpx
import pytest

from costguard.testing.clock import NOON
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer


class Echo(StrictServer):
    """Counts its work and answers with the body."""

    def __init__(self) -> None:
        super().__init__()
        self.work = 0

    def respond(self, request: Request) -> Answer:
        if request.path == "/crash":
            raise RuntimeError("a mistake of the fake")
        self.work += 1
        return Answer(200, request.body or b"0123456789")

    def refuse(self, fault: Fault, request: Request) -> Answer:
        return Answer(429, b"slow down") if fault is Fault.THROTTLED else super().refuse(fault, request)


def get(server: StrictServer, path: str = "/", timeout: float = 5) -> httpx.Response:
    return httpx.get(server.url + path, timeout=timeout, trust_env=False)


def test_requests_are_recorded_as_they_came() -> None:
    with Echo() as server:
        httpx.post(f"{server.url}/a%20b?x=1&y=%2B", content=b"body", headers={"X-Mine": "v"}, trust_env=False)
        server.clock.advance(timedelta(hours=1))
        get(server)
        first, second = server.requests
    assert (first.method, first.path, first.raw_query, first.query) == (
        "POST",
        "/a%20b",
        "x=1&y=%2B",
        {"x": "1", "y": "+"},
    )
    assert (first.body, first.headers["x-mine"]) == (b"body", "v")
    assert (first.at, second.at) == (NOON, NOON + timedelta(hours=1))


@pytest.mark.parametrize(("fault", "work"), [(Fault.RESET, 0), (Fault.LOST_ANSWER, 1)])
def test_a_reset_comes_before_or_after_the_work(fault: Fault, work: int) -> None:
    with Echo() as server:
        server.fail(fault, times=1)
        with pytest.raises(httpx.TransportError):
            get(server)
        assert (server.work, server.request_count()) == (work, 1)
        assert get(server).status_code == 200


def test_silence_lasts_longer_than_any_deadline_and_ends_with_the_server() -> None:
    begun = time.monotonic()
    with Echo() as server:
        server.fail(Fault.SILENT)
        with pytest.raises(httpx.ReadTimeout):
            get(server, timeout=0.3)
        assert server.work == 0
    assert time.monotonic() - begun < 10


def test_a_portal_page_a_cut_answer_and_the_platforms_own_refusal() -> None:
    with Echo() as server:
        server.fail(Fault.HTML, times=1)
        server.fail(Fault.TRUNCATED, times=1)
        server.fail(Fault.THROTTLED, times=1)
        page, cut, refused, well = (get(server) for _ in range(4))
    assert page.headers["content-type"] == "text/html"
    assert (cut.status_code, cut.content, cut.headers["content-length"]) == (200, b"01234", "5")
    assert (refused.status_code, well.content) == (429, b"0123456789")


def test_faults_hit_what_they_are_for_and_are_taken_back() -> None:
    with Echo() as server:
        server.fail(Fault.THROTTLED, on=lambda request: request.path == "/a")
        assert [get(server, path).status_code for path in ("/a", "/b", "/a")] == [429, 200, 429]
        server.heal()
        assert get(server, "/a").status_code == 200


def test_a_scripted_answer_is_given_once() -> None:
    with Echo() as server:
        server.answer_next(Answer(418, b"teapot"))
        assert [get(server).status_code for _ in range(2)] == [418, 200]
        assert server.work == 1


def test_a_mistake_of_the_fake_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="Echo crashed"), Echo() as server, pytest.raises(httpx.TransportError):
        get(server, "/crash")


def test_connections_are_kept_alive_and_closed_at_the_end() -> None:
    with Echo() as server:
        connection = http.client.HTTPConnection(*server.url.removeprefix("http://").split(":"))
        for _ in range(3):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"0123456789"
        connection.close()
        assert server.work == 3


def test_many_threads_are_served_at_once() -> None:
    with Echo() as server:
        threads = [threading.Thread(target=get, args=(server,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.work == server.request_count() == 16
