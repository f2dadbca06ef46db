"""What a DingTalk application may do, proved by calls that nobody sees and that change nothing.

A permission is proved by a request that is refused for another reason: the change of a card that does not exist, a
message to nobody. The Stream is opened and closed at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from costguard.net.websocket import WebSocketError, open_websocket
from costguard.notify.dingtalk.api import ApiError, DingTalkApi
from costguard.notify.dingtalk.frames import SUBSCRIPTIONS
from costguard.notify.dingtalk.stream import AGENT, address
from costguard.ports import ChannelProbe

_SECONDS = 10.0
_NOBODY: Mapping[str, Any] = {"userIds": [], "msgKey": "sampleText", "msgParam": '{"content":"costguard"}'}
_NOTHING: Mapping[str, Any] = {"outTrackId": "costguard.doctor", "cardData": {"cardParamMap": {}}}


def probe(api: DingTalkApi, conversation: str | None, *, proxy: str | None, cards: bool) -> Sequence[ChannelProbe]:
    """Everything that can be told; when there is no token, nothing else is asked."""
    try:
        api.token()
    except ApiError as error:
        return [_wrong("no access token", error)]
    found = [ChannelProbe("client_id and client_secret are good", True), _stream(api, proxy)]
    found += _permissions(api, cards)
    if conversation is None:
        hint = "write @ and the robot's name in the group, as one of the owners with a `dingtalk` id"
        found.append(
            ChannelProbe("the group is not known: set `conversation`, or speak to the robot there", False, hint)
        )
    return found


def _stream(api: DingTalkApi, proxy: str | None) -> ChannelProbe:
    try:
        place, ticket = api.open_stream(SUBSCRIPTIONS, AGENT)
        open_websocket(address(place, ticket), seconds=_SECONDS, proxy=proxy).close()
    except ApiError as error:
        return _wrong("the Stream cannot be opened, so no buttons and commands", error)
    except WebSocketError as error:
        hint = "wss on port 443 must get out: wss-open-connection.dingtalk.com"
        return ChannelProbe(f"the Stream cannot be opened, so no buttons and commands: {error}", False, hint)
    return ChannelProbe("the Stream opens: buttons and commands come in", True)


def _permissions(api: DingTalkApi, cards: bool) -> Iterator[ChannelProbe]:
    asked = [("messages", "qyapi_robot_sendmsg", "POST", "/v1.0/robot/oToMessages/batchSend", _NOBODY)]
    if cards:
        asked.append(("cards", "Card.Instance.Write", "PUT", "/v1.0/card/instances", _NOTHING))
    for what, permission, method, path, body in asked:
        try:
            api.call(method, path, body, delivers=False)
        except ApiError as error:
            if error.reason == "auth" and error.code.startswith("Forbidden."):
                yield _wrong(f"{what}: {permission} is missing", error)
                continue
            if error.reason in ("server", "timeout", "rate"):
                yield ChannelProbe(f"{what}: {permission} could not be told: {error.detail}", None)
                continue
        # Refused for what it said, not for who said it.
        yield ChannelProbe(f"{what}: {permission} is granted", True)


def _wrong(text: str, error: ApiError) -> ChannelProbe:
    told = f"{error.code}: {error.detail}" if error.code else error.detail
    return ChannelProbe(f"{text}: {told}", False, error.hint or "")
