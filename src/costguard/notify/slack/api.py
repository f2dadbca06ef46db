"""Slack's Web API as one app sees it: calls with the bot's or the app's token, answers judged, people looked up.

HTTP 200 is no success: ``ok: true`` is. The token is in a header; no error, log line or repr shows it.
"""

import json
import re
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.slack.words import meaning
from costguard.ports import Clock

ENDPOINT = "https://slack.com/api/"
DEFAULT_WAIT = timedelta(seconds=30)
_KNOWN_FOR, _UNKNOWN_FOR = timedelta(hours=12), timedelta(minutes=30)
_WORD = re.compile(r"[\w.:-]{1,80}")
_SCOPES = re.compile(r"[\w.:,-]{1,200}")
_JSON = "application/json; charset=utf-8"


class SlackError(DeliveryError):
    """Slack's refusal, or no answer. ``code`` is Slack's word, or the HTTP status."""


class SlackApi:
    """Thread-safe. ``name`` is the channel's, for errors."""

    def __init__(self, name: str, token: str, http: HttpClient, clock: Clock, endpoint: str = ENDPOINT) -> None:
        self.name, self._token, self._http, self._clock = name, token, http, clock
        self._endpoint = endpoint.rstrip("/") + "/"
        self._lock = threading.Lock()
        self._people: dict[str, tuple[str | None, datetime]] = {}

    def __repr__(self) -> str:
        return f"SlackApi({self.name!r})"

    def call(
        self, method: str, arguments: Mapping[str, Any], *, delivers: bool = False, token: str | None = None
    ) -> Mapping[str, Any]:
        """One call; the answer's object. ``delivers``: people see its effect, so a lost answer is a doubt.

        Raises SlackError.
        """
        return self._request(method, json.dumps(arguments, ensure_ascii=False).encode(), _JSON, delivers, token)[0]

    def scopes(self) -> tuple[str, ...]:
        """The rights that the bot's token has, as Slack says beside any answer. Raises SlackError."""
        _, headers = self._request("auth.test", b"{}", _JSON, False, None)
        return tuple(scope.strip() for scope in headers.get("x-oauth-scopes", "").split(",") if scope.strip())

    def find(self, email: str) -> str | None:
        """The member id behind an address, None when the workspace has none; remembered for hours."""
        now, key = self._clock.now(), email.strip().lower()
        with self._lock:
            known = self._people.get(key)
        if known is not None and now < known[1]:
            return known[0]
        found: str | None = None
        try:
            # Its page takes no JSON.
            content = urlencode({"email": key}).encode()
            answer, _ = self._request("users.lookupByEmail", content, "application/x-www-form-urlencoded", False, None)
            user = answer.get("user")
            found = str(user["id"]) if isinstance(user, Mapping) and user.get("id") else None
        except SlackError as error:
            if error.code != "users_not_found" and error.reason != "auth":
                raise
        with self._lock:
            self._people[key] = (found, now + (_KNOWN_FOR if found else _UNKNOWN_FOR))
        return found

    def open_socket(self, app_token: str) -> str:
        """A one-time address for Socket Mode; it is a secret. Raises SlackError."""
        answer, _ = self._request("apps.connections.open", b"", "application/x-www-form-urlencoded", False, app_token)
        url = answer.get("url")
        if not isinstance(url, str) or not url:
            raise SlackError(self.name, "server", "an answer without url", code="apps.connections.open")
        return url

    def respond(self, url: str, body: Mapping[str, Any]) -> None:
        """Answers a press or command at its ``response_url``, which is a secret. Raises SlackError."""
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            answer = self._http.request("POST", url, headers={"Content-Type": _JSON}, content=content)
        except HttpError as error:
            raise SlackError(self.name, "timeout", str(error)) from None
        if not 200 <= answer.status < 300:
            raise SlackError(self.name, "server", "Slack did not take an answer", code=str(answer.status))

    def _request(
        self, method: str, content: bytes, kind: str, delivers: bool, token: str | None
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        headers = {"Content-Type": kind, "Authorization": f"Bearer {token or self._token}"}
        try:
            answer = self._http.request("POST", self._endpoint + method, headers=headers, content=content)
        except HttpError as error:
            reason: DeliveryReason = "maybe_delivered" if error.written and delivers else "timeout"
            raise SlackError(self.name, reason, str(error)) from None
        return self._judge(answer), answer.headers

    def _judge(self, answer: HttpResponse) -> Mapping[str, Any]:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if answer.status == 429:
            wait = _seconds(answer.headers.get("retry-after")) or DEFAULT_WAIT
            raise SlackError(self.name, "rate", "Slack asks to wait", code="429", retry_at=self._clock.now() + wait)
        if not isinstance(body, dict) or "ok" not in body or answer.status != 200:
            what = "Slack has a fault" if answer.status >= 500 else _STRANGE
            raise SlackError(self.name, "server", what, code=str(answer.status))
        if body["ok"] is True:
            return body
        word = str(body.get("error", ""))
        word = word if _WORD.fullmatch(word) else "?"
        found = meaning(word)
        hint = found.hint
        if word == "missing_scope" and _SCOPES.fullmatch(needed := str(body.get("needed", ""))):
            hint = f"add the scope {needed} to the app and install it again"
        retry_at = self._clock.now() + DEFAULT_WAIT if found.reason == "rate" else None
        raise SlackError(self.name, found.reason, found.detail, code=word, hint=hint, retry_at=retry_at)


_STRANGE = "not Slack's answer: is a proxy or a login page in between?"


def _seconds(value: str | None) -> timedelta | None:
    return timedelta(seconds=int(value)) if value and value.isdigit() else None
