"""The robot's answers: errcode → what it means for the channel. All of them come with HTTP 200."""

from dataclasses import dataclass
from datetime import timedelta

from costguard.errors import DeliveryReason

LOCKED_FOR = timedelta(minutes=10)  # above 20 messages a minute the robot is limited for ten minutes


@dataclass(frozen=True, slots=True)
class Meaning:
    """``detail`` in our words (never the platform's text), ``hint`` what a person can do."""

    reason: DeliveryReason
    detail: str
    hint: str | None = None
    wait: timedelta | None = None


ERRCODES = {
    -1: Meaning("server", "DingTalk is busy", wait=timedelta(seconds=30)),
    130101: Meaning("rate", "sent too fast, the robot is limited for ten minutes", wait=LOCKED_FOR),
    410100: Meaning("rate", "sent too fast, the robot is limited for ten minutes", wait=LOCKED_FOR),
    310000: Meaning("auth", "a security setting of the robot refused the message"),
    300001: Meaning("auth", "the access token does not exist", "copy the robot's webhook again"),
    300005: Meaning("auth", "the access token does not exist", "copy the robot's webhook again"),
    400101: Meaning("auth", "the access token does not exist", "copy the robot's webhook again"),
    400013: Meaning("auth", "the group was dissolved", "make a robot in another group"),
    400102: Meaning("auth", "the robot is disabled", "enable it in the group's settings"),
    400106: Meaning("auth", "the robot does not exist any more", "make a new one"),
    40035: Meaning("payload", "a parameter is missing or wrong"),
    43004: Meaning("payload", "the content type was refused"),
    400105: Meaning("payload", "the message type is not supported"),
    430101: Meaning("payload", "a link in the message was rejected"),
    430102: Meaning("payload", "the text was rejected"),
    430103: Meaning("payload", "an image was rejected"),
    430104: Meaning("payload", "the content was rejected"),
    460101: Meaning("payload", "the message is too long"),
    101002: Meaning("payload", "the message is too long"),
}

_CLOCK = "is the clock of this machine right? a signature is valid for an hour; is the secret (SEC…) the robot's?"
# 310000 does not say by code which setting it was. The text is used for nothing but the hint.
_SECURITY = (
    (("keyword", "关键词"), "the robot demands a keyword: set `keyword` of this channel to it"),
    (("timestamp", "过期", "sign", "签名"), _CLOCK),
    (("ip", "IP", "白名单"), "the robot accepts only listed addresses: add this machine's public IP"),
)


def meaning(errcode: int) -> Meaning:
    """What an errcode means; one that nobody knows is retried."""
    return ERRCODES.get(errcode, Meaning("server", "an answer that is not documented"))


def security_hint(errmsg: str) -> str:
    """Which of the robot's security settings refused the message, as far as the text tells."""
    for words, hint in _SECURITY:
        if any(word in errmsg for word in words):
            return hint
    return "keyword, signature or IP list?"
