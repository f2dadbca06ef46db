"""What Slack sends to an app when people press and type: the payloads, and signed deliveries over HTTP."""

import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.fakes.slack_api import APP_ID, SIGNING_SECRET, TEAM, SlackApi
from tests.fakes.slack_message import Posted, shown


def press_payload(
    api: SlackApi, user: str, message: Posted, action_id: str, *, value: str | None = None, option: str | None = None
) -> dict[str, Any]:
    """``block_actions``: ``user`` presses the button, or chooses ``option``, of ``message`` as it is now.

    Raises LookupError when the message has no such element, or several and ``value`` does not tell which.
    """
    found = [
        (index, element)
        for index, element in message.elements
        if element.get("action_id") == action_id and value in (None, element.get("value"))
    ]
    if len(found) != 1:
        have = [element.get("action_id") for _, element in message.elements]
        raise LookupError(f"{len(found)} elements {action_id!r} (value {value!r}) in the message; it has {have}")
    index, element = found[0]
    whole = shown(message)
    action = {
        "action_id": action_id, "block_id": whole["blocks"][index]["block_id"], "type": element["type"],
        "action_ts": f"{time.time():.6f}", **_chosen(element, option),
    }  # fmt: skip
    container = {
        "type": "message", "message_ts": message.ts, "channel_id": message.channel,
        "is_ephemeral": bool(message.seen_by), **({"thread_ts": message.thread_ts} if message.thread_ts else {}),
    }  # fmt: skip
    return {
        "type": "block_actions",
        "user": {**_person(api, user), "team_id": TEAM},
        "api_app_id": APP_ID,
        "token": "deprecated-verification-token",
        "container": container,
        "trigger_id": _trigger(),
        "team": {"id": TEAM, "domain": "example"},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": message.channel, "name": api.name_of(message.channel)},
        **({} if message.seen_by else {"message": whole}),
        "state": {"values": {}},
        "response_url": api.reply_url(message.channel, user, message.ts),
        "actions": [action],
    }


def slash_payload(
    api: SlackApi, user: str, text: str, *, channel: str = "C012AB3CD", command: str = "/costguard"
) -> dict[str, Any]:
    """A slash command as typed: every value a string."""
    person = _person(api, user)
    return {
        "token": "deprecated-verification-token",
        "team_id": TEAM,
        "team_domain": "example",
        "channel_id": channel,
        "channel_name": api.name_of(channel),
        "user_id": user,
        "user_name": person["name"],
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": api.reply_url(channel, user),
        "trigger_id": _trigger(),
    }


@dataclass(frozen=True)
class Heard:
    """What the app answered to a delivery, and after how many seconds."""

    status: int
    body: str
    seconds: float

    @property
    def acked(self) -> bool:
        """Slack shows the person an error otherwise."""
        return self.status == 200 and self.seconds < 3


class SlackDeliveries:
    """Interactivity over HTTP: Slack POSTs to ``url``, signed by the v0 recipe with the time of the api's clock.

    ``skew`` moves the time that is signed, ``secret`` and ``tamper`` (bytes added after signing) spoil the signature.
    """

    def __init__(self, api: SlackApi, url: str, secret: str = SIGNING_SECRET) -> None:
        self.api, self.url, self.secret = api, url, secret
        self.skew = timedelta(0)
        self.tamper = b""

    def press(self, user: str, message: Posted, action_id: str, **which: str | None) -> Heard:
        payload = press_payload(self.api, user, message, action_id, **which)
        return self.deliver(urlencode({"payload": json.dumps(payload, ensure_ascii=False)}).encode())

    def slash(self, user: str, text: str, **where: str) -> Heard:
        return self.deliver(urlencode(slash_payload(self.api, user, text, **where)).encode())

    def deliver(self, body: bytes, headers: dict[str, str] | None = None) -> Heard:
        """``headers`` replace the signed ones."""
        stamp = str(int((self.api.clock.now() + self.skew).timestamp()))
        signed = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(self.secret, stamp, body),
        }
        began = time.monotonic()
        answer = httpx.post(
            self.url, content=body + self.tamper, headers=signed | (headers or {}), trust_env=False, timeout=10
        )
        return Heard(answer.status_code, answer.text, time.monotonic() - began)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """``v0=`` and the hex HMAC-SHA256 of ``v0:timestamp:body``."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()


def _person(api: SlackApi, user: str) -> dict[str, str]:
    name = api.people[user].name
    return {"id": user, "username": name, "name": name}


def _trigger() -> str:
    return f"{secrets.randbelow(10**12)}.{secrets.token_hex(8)}"


def _chosen(element: dict[str, Any], option: str | None) -> dict[str, Any]:
    if element["type"] == "button":
        return {"text": element["text"], **({"value": element["value"]} if "value" in element else {})}
    for candidate in element["options"]:
        if candidate["value"] == option:
            return {"selected_option": candidate}
    raise LookupError(f"no option {option!r} in {element['options']}")
