"""The bot's answers: code → what it means for the channel. They come with HTTP 200 or 400.

Source: open.feishu.cn, 自定义机器人使用指南, 常见问题; 19036 was seen by users for cards that are too long.
"""

from dataclasses import dataclass
from datetime import timedelta

from costguard.errors import DeliveryReason

# How long a limited bot stays limited is not documented; its limit is counted by the minute.
LIMITED_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Meaning:
    """``detail`` in our words (never the platform's text), ``hint`` what a person can do."""

    reason: DeliveryReason
    detail: str
    hint: str | None = None
    wait: timedelta | None = None


_CLOCK = "is the clock of this machine right? a signature is valid for an hour; is the secret the bot's?"
_KEYWORD = "the bot demands a keyword: set `keyword` of this channel to it"

CODES = {
    19001: Meaning("auth", "the bot's token is not valid", "copy the bot's webhook again"),
    19021: Meaning("auth", "the signature was refused", _CLOCK),
    19022: Meaning("auth", "this machine's address is not allowed", "add this machine's public IP to the bot's list"),
    19024: Meaning("auth", "the bot's keyword is missing", _KEYWORD),
    9499: Meaning("payload", "the message was refused or is too long"),
    19036: Meaning("payload", "the card is too long"),
    11232: Meaning("rate", "sent too fast, or Feishu is busy at the full hour", wait=LIMITED_FOR),
}


def meaning(code: int) -> Meaning:
    """What a code means; one that nobody knows is retried."""
    return CODES.get(code, Meaning("server", "an answer that is not documented"))
