"""DingTalk's newer API for one application: access token, calls, errors.

The token comes from client id and secret, is kept in memory, and is replaced a while before it ends or when a call
says that it is no longer good. A token is never written anywhere; whoever is told of new ones (``learn``) keeps them
out of logs.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.dingtalk.apicodes import TOKEN_REFUSED, meaning
from costguard.ports import Clock

ENDPOINT = "https://api.dingtalk.com"
_EARLY = timedelta(minutes=10)
_CODE = re.compile(r"[\w.:-]{1,80}")


class ApiError(DeliveryError):
    """DingTalk's refusal, or no answer. ``code`` is its code for it."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    fresh_until: datetime


class DingTalkApi:
    """The API as one application sees it; thread-safe. ``name`` is the channel's, for errors."""

    def __init__(
        self,
        name: str,
        client_id: str,
        client_secret: str,
        http: HttpClient,
        clock: Clock,
        *,
        endpoint: str = ENDPOINT,
        learn: Callable[[str], None] = lambda _secret: None,
    ) -> None:
        self.name, self._id, self._secret = name, client_id, client_secret
        self._http, self._clock, self.endpoint = http, clock, endpoint.rstrip("/")
        self.learn = learn
        self._lock = threading.Lock()
        self._token: _Token | None = None

    def __repr__(self) -> str:
        return f"DingTalkApi({self.name!r})"

    def token(self, *, refused: str | None = None) -> str:
        """The access token; a new one when there is none, when it soon ends, or when it is the ``refused`` one.

        Raises ApiError.
        """
        with self._lock:
            held = self._token
            if held is not None and held.text != refused and self._clock.now() < held.fresh_until:
                return held.text
            body = {"appKey": self._id, "appSecret": self._secret}
            answer = self._send("POST", "/v1.0/oauth2/accessToken", body, None, delivers=False)
            text, span = answer.get("accessToken"), answer.get("expireIn")
            if not isinstance(text, str) or not text or not isinstance(span, int) or isinstance(span, bool):
                raise ApiError(self.name, "server", "an answer without accessToken", code="accessToken")
            self.learn(text)
            life = timedelta(seconds=max(0, span))
            self._token = _Token(text, self._clock.now() + life - min(_EARLY, life / 10))
            return text

    def call(self, method: str, path: str, body: Mapping[str, Any], *, delivers: bool = True) -> Mapping[str, Any]:
        """One call with the access token, repeated once with a fresh one when DingTalk refuses it.

        ``delivers``: people see its effect, so a lost answer is a doubt. Raises ApiError.
        """
        token = self.token()
        try:
            return self._send(method, path, body, token, delivers=delivers)
        except ApiError as error:
            if error.code not in TOKEN_REFUSED and error.code != "401":
                raise
        return self._send(method, path, body, self.token(refused=token), delivers=delivers)

    def open_stream(self, subscriptions: tuple[Mapping[str, str], ...], agent: str) -> tuple[str, str]:
        """Where a Stream connects, and the ticket for it: good for 90 seconds and one connection. Raises ApiError."""
        body = {"clientId": self._id, "clientSecret": self._secret, "subscriptions": subscriptions, "ua": agent}
        answer = self._send("POST", "/v1.0/gateway/connections/open", body, None, delivers=False)
        place, ticket = answer.get("endpoint"), answer.get("ticket")
        if not isinstance(place, str) or not isinstance(ticket, str) or not place or not ticket:
            raise ApiError(self.name, "server", "an answer without endpoint and ticket", code="connections/open")
        self.learn(ticket)
        return place, ticket

    def _send(
        self, method: str, path: str, body: Mapping[str, Any], token: str | None, *, delivers: bool
    ) -> Mapping[str, Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            headers["x-acs-dingtalk-access-token"] = token
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            answer = self._http.request(method, self.endpoint + path, headers=headers, content=content)
        except HttpError as error:
            reason: DeliveryReason = "maybe_delivered" if error.written and delivers else "timeout"
            raise ApiError(self.name, reason, str(error)) from None
        return self._judge(answer)

    def _judge(self, answer: HttpResponse) -> Mapping[str, Any]:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or not body:
            what = "DingTalk has a fault" if answer.status >= 500 else _STRANGE
            raise ApiError(self.name, "server", what, code=str(answer.status))
        code = body.get("code") or body.get("errcode")
        if 200 <= answer.status < 300 and not code:
            return body
        word = str(code) if code and _CODE.fullmatch(str(code)) else str(answer.status)
        found = meaning(answer.status, word, _scopes(body))
        retry_at = self._clock.now() + found.wait if found.wait else None
        raise ApiError(self.name, found.reason, found.detail, code=word, retry_at=retry_at, hint=found.hint)


_STRANGE = "not DingTalk's answer: is a proxy or a login page in between?"


def _scopes(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The permissions that the answer says are missing."""
    detail = body.get("accessdenieddetail") or body.get("accessDeniedDetail")
    scopes = detail.get("requiredScopes") if isinstance(detail, Mapping) else None
    return tuple(str(scope) for scope in scopes if _CODE.fullmatch(str(scope))) if isinstance(scopes, list) else ()
