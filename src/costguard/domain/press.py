"""Presses: what a person may press under a message or write in a chat, and what is answered, whichever chat it is.

A button carries nothing but the id of the ladder that its message is about; whose box that is, how long a keep
may last and whether the ladder still runs is looked up when it is pressed (see ``daemon/desk.py``).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Press(StrEnum):
    """The buttons; the value travels in a platform's ``action_id``."""

    KEEP_2H = "keep_2h"
    KEEP_MORNING = "keep_morning"
    WHEN_IDLE = "when_idle"
    STOP_NOW = "stop_now"
    MINE = "mine"
    FALSE_ALARM = "false_alarm"
    APPROVE = "approve"
    START_AGAIN = "start_again"


@dataclass(frozen=True, slots=True)
class Confirm:
    """What is asked before a press counts: a title, a sentence, and the words for yes and no."""

    title: str
    text: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class Button:
    """One button in one language. ``value`` is the action's id."""

    press: Press
    label: str
    value: str
    style: Literal["plain", "primary", "danger"] = "plain"
    confirm: Confirm | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who pressed or wrote. ``kind`` is the platform (a channel's kind), ``handle`` its own id of the person (Slack
    ``U…``, DingTalk ``userId``), ``shown`` the name that people see there. ``owner`` is the owner's name where the
    channel knows the person by something else than a configured handle (an address that it looked up)."""

    kind: str
    handle: str
    shown: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Click:
    """A press under a message of ``channel`` (its configured name). ``value`` is the button's.

    ``event`` names the press for all time on this platform: the same event twice is one press.
    """

    channel: str
    sender: Sender
    press: Press
    value: str
    event: str


@dataclass(frozen=True, slots=True)
class Said:
    """A line of chat that was meant for costguard, as it was written. ``event`` as of a click."""

    channel: str
    sender: Sender
    text: str
    event: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: plain text in the channel's language, to be escaped like any other.

    ``settled``: the buttons of that message mean nothing any more, and ``text`` takes their place for all to read.
    Else ``public``: for everybody in the conversation; else for the one who asked alone (a refusal, a hint).
    """

    text: str
    settled: bool = False
    public: bool = False
