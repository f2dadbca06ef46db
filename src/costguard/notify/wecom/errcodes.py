"""The robot's answers: errcode → what it means for the channel. All of them come with HTTP 200.

Source: developer.work.weixin.qq.com, 全局错误码, 群机器人配置说明.
"""

from dataclasses import dataclass
from datetime import timedelta

from costguard.errors import DeliveryReason

# The limit is 20 messages a minute.
LIMITED_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Meaning:
    """``detail`` in our words (never the platform's text), ``hint`` what a person can do."""

    reason: DeliveryReason
    detail: str
    hint: str | None = None
    wait: timedelta | None = None


ERRCODES = {
    -1: Meaning("server", "WeCom is busy", wait=timedelta(seconds=30)),
    93000: Meaning("auth", "the robot's key is not valid", "is the robot still in the group? copy its webhook again"),
    45009: Meaning("rate", "sent too fast, more than 20 messages a minute", wait=LIMITED_FOR),
    40058: Meaning("payload", "a parameter is wrong or the message is too long"),
    40008: Meaning("payload", "the message type is not supported"),
}


def meaning(errcode: int) -> Meaning:
    """What an errcode means; one that nobody knows is retried."""
    return ERRCODES.get(errcode, Meaning("server", "an answer that is not documented"))
