"""DingTalk's newer API against a real server: the token's life, refusals, and what never leaves."""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.dingtalk.api import DingTalkApi
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer

SECRET = "client-secret-0a1b2c3d4e5f"
TOKENS = [f"access-token-{n}-9f8e7d6c" for n in range(9)]


class ApiServer(StrictServer):
    """Tokens in their order, of which only the newest is good; other calls are answered by ``on_call``."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.tokens = 0
        self.revoked = False
        self.life = 7200
        self.on_call: Callable[[Request], tuple[int, Mapping[str, Any]]] = lambda _request: (200, {"success": True})

    def respond(self, request: Request) -> Answer:
        body = json.loads(request.body)
        if request.path == "/v1.0/oauth2/accessToken":
            if body != {"appKey": "dingid", "appSecret": SECRET}:
                return _json(400, {"code": "invalidClientIdOrSecret", "message": "无效的clientId或者clientSecret"})
            self.tokens, self.revoked = self.tokens + 1, False
            return _json(200, {"accessToken": TOKENS[self.tokens], "expireIn": self.life})
        if request.path == "/v1.0/gateway/connections/open":
            return _json(200, {"endpoint": "wss://x/connect", "ticket": "ticket-abcdef"})
        if request.headers.get("x-acs-dingtalk-access-token") != TOKENS[self.tokens] or self.revoked:
            return _json(400, {"code": "InvalidAuthentication", "message": "不合法的access_token"})
        return _json(*self.on_call(request))


def _json(status: int, body: Mapping[str, Any]) -> Answer:
    return Answer(status, json.dumps(body, ensure_ascii=False).encode())


@dataclass
class Rig:
    server: ApiServer
    clock: FakeClock
    learned: list[str] = field(default_factory=list)
    secret: str = SECRET

    @property
    def api(self) -> DingTalkApi:
        http = HttpClient(deadline=timedelta(seconds=2))
        return DingTalkApi(
            "dev", "dingid", self.secret, http, self.clock, endpoint=self.server.url, learn=self.learned.append
        )


@pytest.fixture
def rig() -> Iterator[Rig]:
    clock = FakeClock()
    with ApiServer(clock) as server:
        yield Rig(server, clock)


def paths(rig: Rig) -> list[str]:
    return [request.path.rsplit("/", 1)[-1] for request in rig.server.requests]


def test_a_token_is_fetched_once_and_renewed_before_it_ends(rig: Rig) -> None:
    api = rig.api
    for _ in range(3):
        api.call("PUT", "/v1.0/card/instances", {})
    assert paths(rig) == ["accessToken", "instances", "instances", "instances"]
    rig.clock.advance(timedelta(seconds=7200) - timedelta(minutes=11))
    api.call("PUT", "/v1.0/card/instances", {})
    assert paths(rig)[-1] == "instances"
    rig.clock.advance(timedelta(minutes=2))
    api.call("PUT", "/v1.0/card/instances", {})
    assert paths(rig)[-2:] == ["accessToken", "instances"]


def test_a_short_life_is_used_most_of_the_way(rig: Rig) -> None:
    rig.server.life = 100
    api = rig.api
    api.token()
    rig.clock.advance(timedelta(seconds=80))
    api.token()
    assert rig.server.tokens == 1
    rig.clock.advance(timedelta(seconds=15))
    api.token()
    assert rig.server.tokens == 2


def test_a_refused_token_is_replaced_once(rig: Rig) -> None:
    """Somebody reset the secret, or another process fetched a new one."""
    api = rig.api
    api.token()
    rig.server.revoked = True
    assert api.call("POST", "/v1.0/x", {"a": 1}) == {"success": True}
    assert paths(rig) == ["accessToken", "x", "accessToken", "x"]


@pytest.mark.parametrize("status", [400, 401])
def test_a_token_that_is_never_good_is_an_error_after_one_repeat(rig: Rig, status: int) -> None:
    rig.server.on_call = lambda _request: (status, {"code": "InvalidAuthentication"})
    with pytest.raises(DeliveryError) as caught:
        rig.api.call("POST", "/v1.0/x", {})
    assert (caught.value.reason, caught.value.code) == ("auth", "InvalidAuthentication")
    assert paths(rig) == ["accessToken", "x", "accessToken", "x"]


def test_threads_share_one_token(rig: Rig) -> None:
    api = rig.api
    threads = [threading.Thread(target=api.token) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rig.server.tokens == 1


def test_a_wrong_secret_says_where_to_look(rig: Rig) -> None:
    rig.secret = "wrong"
    with pytest.raises(DeliveryError, match="开发者后台") as caught:
        rig.api.token()
    assert (caught.value.reason, caught.value.channel) == ("auth", "dev")


def test_a_missing_permission_is_named(rig: Rig) -> None:
    denied = {
        "code": "Forbidden.AccessDenied.AccessTokenPermissionDenied",
        "accessdenieddetail": {"requiredScopes": ["Card.Instance.Write"]},
    }
    rig.server.on_call = lambda _request: (403, denied)
    with pytest.raises(DeliveryError, match=r"Card\.Instance\.Write") as caught:
        rig.api.call("POST", "/v1.0/card/instances/createAndDeliver", {})
    assert caught.value.reason == "auth"


def test_too_fast_waits(rig: Rig) -> None:
    rig.server.on_call = lambda _request: (403, {"code": "Forbidden.AccessDenied.QpsLimitForApi"})
    with pytest.raises(DeliveryError) as caught:
        rig.api.call("POST", "/v1.0/x", {})
    assert caught.value.reason == "rate"
    assert caught.value.retry_at is not None
    assert caught.value.retry_at > rig.clock.now()


@pytest.mark.parametrize("body", [{}, {"code": "odd"}, {"errcode": 88, "errmsg": "x"}])
def test_http_200_alone_is_no_success(rig: Rig, body: Mapping[str, Any]) -> None:
    rig.server.on_call = lambda _request: (200, body)
    with pytest.raises(DeliveryError):
        rig.api.call("POST", "/v1.0/x", {})


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.LOST_ANSWER, Fault.SILENT])
def test_a_lost_answer_is_a_doubt_only_where_people_see_the_effect(rig: Rig, fault: Fault) -> None:
    api = rig.api
    api.token()
    for delivers, reason in ((True, "maybe_delivered"), (False, "timeout")):
        rig.server.fail(fault, times=1)
        with pytest.raises(DeliveryError) as caught:
            api.call("POST", "/v1.0/x", {}, delivers=delivers)
        assert caught.value.reason == reason


@pytest.mark.parametrize("fault", [Fault.HTML, Fault.TRUNCATED])
def test_a_portal_is_not_dingtalk(rig: Rig, fault: Fault) -> None:
    rig.server.fail(fault)
    with pytest.raises(DeliveryError, match="proxy or a login page"):
        rig.api.token()


def test_a_stream_needs_endpoint_and_ticket(rig: Rig) -> None:
    assert rig.api.open_stream(({"type": "CALLBACK", "topic": "/x"},), "costguard/1") == (
        "wss://x/connect", "ticket-abcdef",
    )  # fmt: skip
    sent = json.loads(rig.server.requests[-1].body)
    assert sent["subscriptions"] == [{"type": "CALLBACK", "topic": "/x"}]
    assert "accessToken" not in paths(rig)


def test_no_secret_leaves(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """K04: what is fetched is told to who keeps it out of logs, and is in no error, repr or line itself."""
    caplog.set_level(logging.DEBUG)
    api = rig.api
    told = [repr(api)]
    api.call("POST", "/v1.0/x", {})
    api.open_stream((), "a")
    assert rig.learned == [TOKENS[1], "ticket-abcdef"]
    for status, code in ((400, TOKENS[1]), (500, "boom"), (403, SECRET + "!")):
        rig.server.on_call = lambda _request, status=status, code=code: (status, {"code": code, "message": SECRET})  # type: ignore[misc]
        with pytest.raises(DeliveryError) as caught:
            api.call("POST", "/v1.0/x", {})
        told += [str(caught.value), repr(caught.value)]
    everything = "\n".join([*told, *(f"{r.getMessage()} {vars(r)}" for r in caplog.records)])
    assert SECRET not in everything
