"""The fake is as strict as Prometheus: what it refuses, how it looks back, what it tells as text."""

import json
import math
from collections.abc import Iterator
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest

from costguard.net.http import HttpClient
from costguard.testing.clock import NOON, FakeClock
from tests.fakes.prometheus import PrometheusServer
from tests.fakes.promql import BadQuery, Query

MINUTE = timedelta(minutes=1)
AT = NOON.timestamp()


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    with PrometheusServer(FakeClock()) as made:
        yield made


def ask(server: PrometheusServer, path: str, **params: str) -> tuple[int, dict[str, object]]:
    answer = HttpClient().request("GET", f"{server.url}/api/v1/{path}", params=params)
    return answer.status, json.loads(answer.body) if answer.body.startswith(b"{") else {}


@pytest.mark.parametrize(
    "text",
    [
        "", "up{", "up[5m]", "max by (a (up)", "max(up)", "max by (a, a) (up)", "rate(up)", "nope(up[1m])", "up up",
        'up{a=~"("}', 'up{a="\\."}', 'up{a=~"\\\\ "}', "max_over_time(up[60])", "up{a=b}", "1 +", "time(", "up @ 5",
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused(server: PrometheusServer, text: str) -> None:
    if text:
        with pytest.raises(BadQuery):
            Query(text)
    status, body = ask(server, "query", query=text)
    assert (status, body["errorType"]) == (400, "bad_data")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"start": "1", "end": "2", "step": "1", "lookback": "1"}, "unknown parameters"),
        ({"start": "x", "end": "2", "step": "1"}, "start"),
        ({"end": "2", "step": "1"}, "start"),
        ({"start": "3", "end": "2", "step": "1"}, "must not be before start"),
        ({"start": "1", "end": "2", "step": "0"}, "zero or negative"),
        ({"start": "0", "end": "660061", "step": "60"}, "11,000 points"),
        ({"start": "1", "end": "2", "step": "1", "timeout": "soon"}, "duration"),
    ],
)
def test_parameters_are_checked(server: PrometheusServer, params: dict[str, str], words: str) -> None:
    status, body = ask(server, "query_range", query="up", **params)
    assert (status, body["errorType"]) == (400, "bad_data")
    assert words in str(body["error"])


def test_only_reading_is_possible(server: PrometheusServer) -> None:
    assert ask(server, "admin/tsdb/delete_series")[0] == 404
    request = Request(f"{server.url}/api/v1/query", b"query=up", method="POST")
    with pytest.raises(Exception, match="405"):
        urlopen(request)


def test_an_instant_selector_looks_back_five_minutes_unless_the_target_went_away(server: PrometheusServer) -> None:
    for name, last in (("seen", 1.0), ("gone", None)):
        server.scrape("up", {"job": name}, NOON, 1.0)
        server.scrape("up", {"job": name}, NOON + MINUTE, last)
    stored = server.stored.values()
    alive = {dict(labels)["job"] for labels in Query("up").at(stored, AT + 90)}  # type: ignore[union-attr]
    assert alive == {"seen"}
    assert Query("up").at(stored, AT + 60 + 299)
    assert Query("up").at(stored, AT + 60 + 300) == {}
    assert Query("max_over_time(up[60s])").at(stored, AT + 130) == {}


def test_ranges_are_left_open(server: PrometheusServer) -> None:
    for second in (0, 30, 60):
        server.scrape("load", {}, NOON + timedelta(seconds=second), float(second))
    assert Query("min_over_time(load[60s])").at(server.stored.values(), AT + 60) == {frozenset(): 30.0}
    assert Query("count_over_time(load[60s])").at(server.stored.values(), AT + 60) == {frozenset(): 2.0}


def test_a_rate_survives_a_restart_of_its_counter(server: PrometheusServer) -> None:
    for second, value in ((0, 100.0), (15, 130.0), (30, 10.0), (45, 40.0), (60, 70.0)):
        server.scrape("seconds_total", {}, NOON + timedelta(seconds=second), value)
    (found,) = Query("rate(seconds_total[1m])").at(server.stored.values(), AT + 60).values()  # type: ignore[union-attr]
    assert found == pytest.approx((10 + 30 + 30) / 45, rel=0.35)


def test_no_number_is_told_as_text(server: PrometheusServer) -> None:
    for job, value in (("a", math.nan), ("b", math.inf), ("c", -math.inf), ("d", 0.5)):
        server.scrape("load", {"job": job}, NOON, value)
    _, body = ask(server, "query", query="load", time=str(AT))
    rows = body["data"]["result"]  # type: ignore[index]
    assert {row["metric"]["job"]: row["value"][1] for row in rows} == {"a": "NaN", "b": "+Inf", "c": "-Inf", "d": "0.5"}


def test_a_query_that_touches_too_much_is_not_executed(server: PrometheusServer) -> None:
    server.scrape("a", {"job": "x"}, NOON, 1.0)
    server.scrape("a", {"job": "x", "pod": "p"}, NOON, 2.0)
    server.max_samples = 1
    status, body = ask(
        server, "query_range", query="a", start=str(AT), end=str(AT), step="60"
    )  # fmt: skip
    assert (status, body["errorType"]) == (422, "execution")
