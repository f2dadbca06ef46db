"""Which buttons a message has. Channels that can be clicked show them; every message also has its command line."""

from collections.abc import Mapping
from typing import Literal

from costguard.domain.notice import NoticeKind
from costguard.domain.press import Button, Press
from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words

_STYLES: Mapping[Press, Literal["primary", "danger"]] = {
    Press.KEEP_2H: "primary", Press.APPROVE: "primary", Press.STOP_NOW: "danger",
}  # fmt: skip


def presses(doc: Doc) -> tuple[Press, ...]:
    """The buttons of a facts document, in their order; none in a dry run, where nothing is to be decided."""
    if doc.flag("dry_run") or not doc.text("action_id") or doc.part("subject").text("type") != "resource":
        return ()
    stop = doc.text("do") == "stop"
    mine = () if doc.text("owner") else (Press.MINE,)
    match doc.text("kind"):
        case NoticeKind.WARN:
            now = (Press.STOP_NOW,) if stop else ()
            return (Press.KEEP_2H, Press.KEEP_MORNING, Press.WHEN_IDLE, *now, *mine, Press.FALSE_ALARM)
        case NoticeKind.APPROVAL:
            return (Press.APPROVE, Press.KEEP_2H, Press.KEEP_MORNING, *mine, Press.FALSE_ALARM)
        case NoticeKind.RESULT | NoticeKind.UNSEEN_WORK if stop:
            return (Press.START_AGAIN, Press.FALSE_ALARM)
        case NoticeKind.NOTIFY:
            return mine
        case _:
            return ()


def buttons(doc: Doc, words: Words) -> tuple[Button, ...]:
    """The buttons in one language."""
    return tuple(button(press, doc.text("action_id"), clean(doc.name), words) for press in presses(doc))


def button(press: Press, value: str, name: str, words: Words) -> Button:
    """One button in one language. ``value`` is the id of the ladder, ``name`` what people call its box."""
    confirm = words.confirm_stop(name) if press is Press.STOP_NOW else None
    return Button(press, words.buttons[press], value, _STYLES.get(press, "plain"), confirm)
