"""DingTalk's open platform on loopback: one internal app with its access token, cards and robot messages.

How sure each thing is:

- Paths, fields and which of them must be there: the official Python SDKs (alibabacloud-dingtalk 2.2, dingtalk-stream
  0.24), as are the answers of success and the strings in ``cardParamMap``.
- ``authFailed`` with HTTP 401, ``InvalidAuthentication`` with HTTP 400, ``Missingbody``, HTTP 403 above 40 calls a
  second and for a missing permission: seen by users. The words of the two 403s: from memory.
- The ``param.*`` and ``invalidParameter.*`` words and 15,000 bytes of ``msgParam``: the pages of the methods.
- XML for callers that do not ask for JSON: a comment in the Node.js SDK. A session webhook that lives for 20 minutes:
  the sample in its source; others say 90. It is in the frame, nobody has to know.
- Inferred only: a card created again under its ``outTrackId`` is the same card; ``param.outTrackIdNotExist``; an
  update without ``updateCardDataByKey`` replaces all values.
"""

import json
import secrets as random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk import RobotMessage, bad_shape, mentions
from tests.fakes.dingtalk_reference import (
    API_ANSWERS,
    CLIENT_ID,
    CLIENT_SECRET,
    CREATE,
    CREATE_FIELDS,
    GROUP,
    GROUP_SEND,
    MOST_USERS,
    MSG_PARAM_BYTES,
    PER_SECOND,
    PERSON_SEND,
    SENDING,
    SESSION,
    SESSION_LIFE,
    TEMPLATE,
    TOKEN_LIFE,
    UPDATE,
    bad_sample,
    card_params,
    card_space,
    error,
    ok,
)
from tests.fakes.server import Answer, Request, StrictServer


@dataclass(frozen=True)
class Staff:
    id: str
    nick: str
    admin: bool = False


@dataclass
class Card:
    """A card in a group or with a person. ``updates`` is what its ``params`` were before each change."""

    out_track_id: str
    template: str
    params: dict[str, str]
    space: str
    at: datetime
    pinged: tuple[str, ...] = ()
    private: dict[str, dict[str, str]] = field(default_factory=dict)
    updates: list[dict[str, str]] = field(default_factory=list)

    def change(self, params: Mapping[str, str], *, by_key: bool) -> None:
        self.updates.append(self.params)
        self.params = {**(self.params if by_key else {}), **params}

    @property
    def delivered(self) -> Delivered:
        text = "\n".join(self.params.values())
        return Delivered(self.params.get("title", text.split("\n", 1)[0]), text, self.pinged)


@dataclass(frozen=True)
class Sent:
    """A robot's message by the API or a session webhook. ``to``: conversation or staff ids."""

    to: tuple[str, ...]
    msgtype: str
    content: Mapping[str, Any]
    at: datetime
    pinged: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return str(self.content.get("content") or self.content.get("text") or "")

    @property
    def delivered(self) -> Delivered:
        return RobotMessage(self.msgtype, self.content, self.pinged, None, self.at).delivered


class Gateway(Protocol):
    """Where gateway/connections/open gets its tickets."""

    @property
    def endpoint(self) -> str: ...

    def admit(self, topics: frozenset[str]) -> str: ...


class DingTalkApi(StrictServer):
    """``url`` stands for api.dingtalk.com and, for session webhooks, oapi.dingtalk.com.

    ``cards`` by outTrackId and ``sent`` hold what people see, ``staff`` who they are. ``permissions`` are the app's.
    ``forbidden``: staff ids and groups where nothing can be delivered, told inside HTTP 200.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.staff = {
            person.id: person
            for person in (Staff("zw01", "张伟"), Staff("li02", "李雷"), Staff("admin03", "管理员", admin=True))
        }
        self.groups = {GROUP: "GPU 费用群"}
        self.templates = {TEMPLATE}
        self.permissions = {"Card.Instance.Write", "qyapi_robot_sendmsg"}
        self.forbidden: set[str] = set()
        self.cards: dict[str, Card] = {}
        self.sent: list[Sent] = []
        self.gateway: Gateway | None = None
        self._token, self._token_until = "", self.clock.now()
        self._sessions: dict[str, tuple[str, datetime]] = {}
        self._calls: list[tuple[str, datetime]] = []

    # The channel contract's PlatformFixture: what is scripted hits the calls that send, not those for a token.

    answers = API_ANSWERS
    limit = MSG_PARAM_BYTES
    unit: Literal["bytes"] = "bytes"
    signed = False

    def message(self, text: str) -> Message:
        return make_message("30 分钟后关机 train-a800-03", body=text)

    def measured(self) -> int:
        with self.lock:
            body = json.loads(self._sends()[-1].body)
        return len(str(body["msgParam"]).encode()) if "msgParam" in body else len(json.dumps(body["cardData"]).encode())

    def fail(
        self,
        fault: Fault,
        *,
        on: Callable[[Request], bool] = lambda request: request.path in SENDING,
        times: int | None = None,
    ) -> None:
        super().fail(fault, on=on, times=times)

    def answer(self, answer: PlatformAnswer) -> None:
        with self.lock:
            self._planned = Answer(answer.status, answer.body.encode(), answer.headers)

    _planned: Answer | None = None

    def request_count(self) -> int:
        with self.lock:
            return len(self._sends())

    def skew(self, span: timedelta) -> None:
        """Nothing is signed."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, (CLIENT_SECRET, self._token, *self._sessions)))

    def delivered(self) -> list[Delivered]:
        with self.lock:
            seen = [(card.at, card.delivered) for card in self.cards.values()]
            return [what for _, what in sorted(seen + [(sent.at, sent.delivered) for sent in self.sent], key=_first)]

    # What tests use.

    def calls(self, path: str) -> int:
        with self.lock:
            return sum(request.path == path for request in self.requests)

    def expire_token(self) -> None:
        """As after a reset of the secret: the token that was given is not known any more."""
        with self.lock:
            self._token = ""

    def session_webhook(self, to: str) -> tuple[str, int]:
        """A fresh webhook into a conversation and when it ends, in milliseconds."""
        with self.lock:
            key, until = random.token_hex(16), self.clock.now() + SESSION_LIFE
            self._sessions[key] = (to, until)
            return f"{self.url}{SESSION}?session={key}", int(until.timestamp() * 1000)

    def _sends(self) -> list[Request]:
        return [request for request in self.requests if request.path in SENDING]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if request.path in SENDING and self._planned:
            planned, self._planned = self._planned, None
            return planned
        if request.path == SESSION:
            return self._by_session(request)
        route = _ROUTES.get((request.method, request.path))
        if route is None:
            return error(404, "InvalidAction.NotFound", "Specified api is not found, please check your url and method.")
        handler, permission = route
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        if not isinstance(body, dict) or kind != "application/json":
            return error(400, "Missingbody", "body is mandatory for this action.")
        if permission and (refused := self._not_allowed(request, permission)):
            return refused
        answer: Answer = getattr(self, handler)(request, body)
        return answer

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return error(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", "请求次数超过限制")
        if fault is Fault.SERVER_ERROR:
            return error(503, "ServiceUnavailable", "系统繁忙")
        if fault is Fault.UNAUTHENTICATED:
            return error(400, "InvalidAuthentication", "不合法的access_token")
        if fault is Fault.FORBIDDEN:
            return error(403, "Forbidden.AccessDenied.AccessTokenPermissionDenied", "应用尚未开通所需的权限")
        return super().refuse(fault, request)

    def _not_allowed(self, request: Request, permission: str) -> Answer | None:
        token = request.headers.get("x-acs-dingtalk-access-token", "")
        if not token or token != self._token or self.clock.now() >= self._token_until:
            return error(400, "InvalidAuthentication", "不合法的access_token")
        if permission not in self.permissions:
            return error(
                403,
                "Forbidden.AccessDenied.AccessTokenPermissionDenied",
                f"应用尚未开通所需的权限：[{permission}]",
                accessdenieddetail={"requiredScopes": [permission]},
            )
        now = self.clock.now()
        self._calls = [(path, at) for path, at in self._calls if now - at < timedelta(seconds=1)]
        if sum(path == request.path for path, _ in self._calls) >= PER_SECOND:
            return error(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", "请求次数超过限制")
        self._calls.append((request.path, now))
        return None

    # The app

    def _access_token(self, request: Request, body: dict[str, Any]) -> Answer:
        if body != {"appKey": CLIENT_ID, "appSecret": CLIENT_SECRET}:
            return error(400, "invalidClientIdOrSecret", "无效的clientId或者clientSecret")
        now = self.clock.now()
        if not self._token or now >= self._token_until:
            self._token, self._token_until = random.token_hex(16), now + TOKEN_LIFE
        return ok({"accessToken": self._token, "expireIn": int((self._token_until - now).total_seconds())})

    def _open(self, request: Request, body: dict[str, Any]) -> Answer:
        if "application/json" not in request.headers.get("accept", ""):
            return Answer(200, b"<OpenConnectionResponse/>", {"Content-Type": "text/xml"})
        wanted = body.get("subscriptions")
        known = {"clientId", "clientSecret", "subscriptions", "ua", "localIp", "extras"}
        if not set(body) <= known or not isinstance(wanted, list) or not wanted:
            return error(400, "invalidParameter", "subscriptions")
        if not all(isinstance(one, dict) and set(one) == {"type", "topic"} for one in wanted):
            return error(400, "invalidParameter", "subscriptions")
        if not {one["type"] for one in wanted} <= {"EVENT", "CALLBACK"}:
            return error(400, "invalidParameter", "type")
        if (body.get("clientId"), body.get("clientSecret")) != (CLIENT_ID, CLIENT_SECRET):
            return error(401, "authFailed", "鉴权失败")
        if self.gateway is None:
            return error(503, "ServiceUnavailable", "系统繁忙")
        topics = frozenset(str(one["topic"]) for one in wanted)
        return ok({"endpoint": self.gateway.endpoint, "ticket": self.gateway.admit(topics)})

    # Cards

    def _create(self, request: Request, body: dict[str, Any]) -> Answer:
        for key, word in (("cardTemplateId", "cardTemplateIdEmpty"), ("outTrackId", "outTrackIdEmpty")):
            if not isinstance(body.get(key), str) or not body[key]:
                return error(400, f"param.{word}", word)
        params = card_params(body)
        if params is None:
            return error(400, "param.cardPublicDataEmpty", "cardParamMap: a map of strings")
        space = card_space(body)
        if space is None or not set(body) <= CREATE_FIELDS or body.get("callbackType") not in ("STREAM", "HTTP"):
            return error(400, "param.openSpaceModelInvalid", "openSpaceId, its models or the callback do not fit")
        if body["cardTemplateId"] not in self.templates:
            return error(400, "param.cardTemplateNotExist", "the template is not there or not published")
        kind, where = space
        track = body["outTrackId"]
        reachable = where not in self.forbidden and where in (self.groups if kind == "IM_GROUP" else self.staff)
        if reachable and track not in self.cards:
            ping = body.get("imGroupOpenDeliverModel", {}).get("atUserIds") or {}
            pinged = tuple("@all" if who == "@ALL" else who for who in ping)
            self.cards[track] = Card(track, body["cardTemplateId"], params, where, self.clock.now(), pinged)
        result = {"spaceType": kind, "spaceId": where, "success": reachable}
        if not reachable:
            result["errorMsg"] = "chatbot.notInSpace"
        return ok({"success": True, "result": {"outTrackId": track, "deliverResults": [result]}})

    def _update(self, request: Request, body: dict[str, Any]) -> Answer:
        if not set(body) <= {"outTrackId", "cardData", "privateData", "cardUpdateOptions", "userIdType"}:
            return error(400, "param.invalid", "an unknown field")
        if not body.get("outTrackId"):
            return error(400, "param.outTrackIdEmpty", "outTrackIdEmpty")
        params = card_params(body) if "cardData" in body else {}
        if params is None:
            return error(400, "param.cardPublicDataEmpty", "cardParamMap: a map of strings")
        card = self.cards.get(str(body["outTrackId"]))
        if card is None:
            return error(400, "param.outTrackIdNotExist", "no card under this outTrackId")
        if params:
            card.change(params, by_key=body.get("cardUpdateOptions", {}).get("updateCardDataByKey") is True)
        for who, data in body.get("privateData", {}).items():
            card.private[who] = {**card.private.get(who, {}), **data["cardParamMap"]}
        return ok({"success": True, "result": True})

    # Messages of the robot

    def _group_send(self, request: Request, body: dict[str, Any]) -> Answer:
        if not set(body) <= {"msgKey", "msgParam", "openConversationId", "robotCode", "token", "coolAppCode"}:
            return error(400, "invalidParameter.param.invalid", "an unknown field")
        if refused := bad_sample(body):
            return refused
        where = body.get("openConversationId")
        if where not in self.groups:
            return error(400, "invalid.openConversationId", "无效的openConversationId")
        if where in self.forbidden:
            return error(400, "bot.stopped", "群机器人已经停用")
        self.sent.append(Sent((where,), body["msgKey"], json.loads(body["msgParam"]), self.clock.now()))
        return ok({"processQueryKey": random.token_hex(8)})

    def _person_send(self, request: Request, body: dict[str, Any]) -> Answer:
        users = body.get("userIds")
        if not set(body) <= {"msgKey", "msgParam", "userIds", "robotCode"}:
            return error(400, "invalidParameter.param.invalid", "an unknown field")
        if not isinstance(users, list) or not users:
            return error(400, "invalidParameter.userIds.empty", "The user userId list is empty.")
        if len(users) > MOST_USERS:
            return error(400, "invalidParameter.userIds.overMax", "The user userId list exceeds the maximum limit.")
        if refused := bad_sample(body):
            return refused
        strangers = [who for who in users if who not in self.staff]
        throttled = [who for who in users if who in self.forbidden]
        reached = tuple(who for who in users if who not in (*strangers, *throttled))
        if reached:
            self.sent.append(Sent(reached, body["msgKey"], json.loads(body["msgParam"]), self.clock.now()))
        return ok(
            {
                "processQueryKey": random.token_hex(8),
                "invalidStaffIdList": strangers,
                "flowControlledStaffIdList": throttled,
            }
        )

    def _by_session(self, request: Request) -> Answer:
        """Codes inside HTTP 200, as the custom robot has them; no token, the address is the secret."""
        to, until = self._sessions.get(request.query.get("session", ""), ("", self.clock.now()))
        if self.clock.now() >= until:
            return ok({"errcode": 300001, "errmsg": "session 不存在"})
        try:
            message = json.loads(request.body)
        except ValueError:
            return ok({"errcode": 40035, "errmsg": "缺少参数 json"})
        if complaint := bad_shape(message):
            return ok({"errcode": 40035, "errmsg": f"不合法的参数 {complaint}"})
        kind = message["msgtype"]
        pinged = mentions(kind, message[kind], message.get("at", {}))
        self.sent.append(Sent((to,), kind, message[kind], self.clock.now(), pinged))
        return ok({"errcode": 0, "errmsg": "ok"})


_ROUTES = {
    ("POST", "/v1.0/oauth2/accessToken"): ("_access_token", ""),
    ("POST", "/v1.0/gateway/connections/open"): ("_open", ""),
    ("POST", CREATE): ("_create", "Card.Instance.Write"),
    ("PUT", UPDATE): ("_update", "Card.Instance.Write"),
    ("POST", GROUP_SEND): ("_group_send", "qyapi_robot_sendmsg"),
    ("POST", PERSON_SEND): ("_person_send", "qyapi_robot_sendmsg"),
}


def _first(pair: tuple[datetime, Delivered]) -> datetime:
    return pair[0]
