"""The answers of DingTalk's newer API (api.dingtalk.com): code → what it means for the channel.

Unlike the group robot's, they come with an HTTP status of 400 and above, and as words.
Source: 全局错误码 and the tables below each method at open.dingtalk.com.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from costguard.notify.dingtalk.errcodes import Meaning

PAUSE = timedelta(seconds=10)  # the limits are per second and per method

TOKEN_REFUSED = frozenset({"InvalidAuthentication", "InvalidAccessToken", "40014", "42001"})
"""The access token is not (or no longer) good: a fresh one is fetched once."""

_DENIED = "Forbidden.AccessDenied."
_GROUP = "is `conversation` the group's openConversationId (cid…), and is the robot still in that group?"
_TEMPLATE = "is `card_template` the id of a published template? leave it out for DingTalk's own"

CODES: Mapping[str, Meaning] = MappingProxyType({
    "invalidClientIdOrSecret": Meaning(
        "auth", "client_id and client_secret do not belong together", "copy both again: 开发者后台 · 凭证与基础信息"),
    "authFailed": Meaning(
        "auth", "client_id and client_secret are not known", "copy both again: 开发者后台 · 凭证与基础信息"),
    "InvalidAuthentication": Meaning("auth", "the access token was refused", "is the application still there?"),
    _DENIED + "AccessTokenPermissionDenied": Meaning("auth", "the application lacks a permission"),
    _DENIED + "IpNotInWhiteList": Meaning(
        "auth", "this machine's address is not listed", "add it: 开发者后台 · 安全设置 · 服务器出口 IP"),
    _DENIED + "QpsLimitForApi": Meaning("rate", "too many calls a second", wait=PAUSE),
    _DENIED + "QpsLimitForAppkeyAndApi": Meaning("rate", "too many calls a second", wait=PAUSE),
    "param.contentUnsafe": Meaning("payload", "the content was rejected"),
    "param.templateNotExist": Meaning("auth", "the card's template does not exist", _TEMPLATE),
    "param.cardTemplateNotExist": Meaning("auth", "the card's template does not exist", _TEMPLATE),
    "param.templateUnpublished": Meaning("auth", "the card's template is not published", _TEMPLATE),
    "param.openSpaceIdInvalid": Meaning("auth", "the place for the card is refused", _GROUP),
    "param.userIdNotExist": Meaning("payload", "the person's user id does not exist"),
    "param.invalid": Meaning("payload", "a parameter is refused"),
    "param.cardNotExist": Meaning("payload", "the card does not exist"),
    "param.outTrackIdNotExist": Meaning("payload", "the card does not exist"),
    "system.busy": Meaning("server", "DingTalk is busy", wait=timedelta(seconds=30)),
    "resource.not.found": Meaning(
        "auth", "the robot does not exist", "is the robot switched on and published? is `robot_code` right?"),
    "staffId.notExisted": Meaning("payload", "the person's user id does not exist"),
    "invalidParameter.openConversationId": Meaning("auth", "the group is refused", _GROUP),
    "invalid.openConversationId": Meaning("auth", "the group is refused", _GROUP),
    "bot.stopped": Meaning("auth", "the robot is disabled in the group", "enable it in the group's settings"),
})  # fmt: skip


def meaning(status: int, code: str, scopes: tuple[str, ...] = ()) -> Meaning:
    """What an answer means. ``scopes`` are the permissions that DingTalk says are missing."""
    found = CODES.get(code)
    if code == _DENIED + "AccessTokenPermissionDenied":
        named = f" ({', '.join(scopes)})" if scopes else ""
        hint = f"grant it to the application: 开发者后台 · 权限管理{named}"
        return Meaning("auth", f"the application lacks a permission{named}", hint)
    if found is not None:
        return found
    if status == 429 or "QpsLimit" in code:
        return Meaning("rate", "too many calls", wait=PAUSE)
    if status in (401, 403):
        return Meaning("auth", "DingTalk refused the application", "see the application's permissions and its release")
    if status == 404:
        return Meaning("auth", "DingTalk does not know what was asked for")
    if status >= 500:
        return Meaning("server", "DingTalk has a fault")
    return Meaning("payload", "DingTalk refused the request")
