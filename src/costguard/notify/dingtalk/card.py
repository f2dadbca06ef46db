"""Story → an interactive card, and the markdown that says the same where no card can be sent.

A card is a template with variables, each a string of at most 1 KB. DingTalk's own template of its SDK needs no design:
``title``, ``markdown``, ``tips``, and buttons in ``sys_full_json_obj``. A template of one's own gets the same first
three, and ``btns`` for a button group. A button's id is what it means (``keep_2h``), and so is its parameter, which
comes back unchanged; what the card is about stands in its outTrackId, which is also the key against duplicates.
Source: 创建并投放卡片, 更新卡片, 事件回调 at open.dingtalk.com.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from costguard.domain.press import Button, Press
from costguard.notify.dingtalk.frames import ACTION
from costguard.notify.dingtalk.markup import markdown, written
from costguard.notify.inert import escape
from costguard.notify.story import Line, Span, Story, clean, cut, cut_bytes
from costguard.ports import Message

VALUE_BYTES = 1000  # 1 KB a variable; 1,000 is below it however it is counted
ROBOT_BYTES = 13_500  # msgParam may have 15,000, and is JSON inside JSON
_LABEL = 20
_COLORS = {"plain": "gray", "primary": "blue", "danger": "red"}
_ASK, _BACK = "ask.", "back."
# Where one button names all of them, each is a letter.
_LETTERS = dict(zip("abcdefghijklm", Press, strict=False))
_LETTER = {press: letter for letter, press in _LETTERS.items()}


def message(story: Story, idem_key: str, fallback: str, facts: Mapping[str, Any]) -> Message:
    """``body`` is the whole message as markdown, with words for what could be pressed; ``payload["card"]`` the card's
    variables but for its buttons.

    What has no buttons and does not fit into a card whole has no card. Nobody is mentioned by the text: a card mentions
    by itself, and an application's robot cannot in a group. ``payload["kind"]`` is the notice's kind.
    """
    told = _unmentioned(story)
    worded = replace(told, lines=(*told.lines, Line("", story.spoken))) if story.spoken else told
    at = {handle: clean(name) for name, handle in story.mentions.items()}
    # Buttons say as much as the words do.
    card, whole = _variables(told if story.buttons else worded)
    return Message(
        title=story.title,
        body=markdown(worded, ROBOT_BYTES),
        fallback=fallback,
        idem_key=idem_key,
        payload={"kind": facts.get("kind"), **({"card": card, "at": at} if whole or story.buttons else {})},
        mentions=tuple(story.mentions.values()),
        buttons=story.buttons,
    )


def buttons(shown: Sequence[Button], *, standard: bool) -> dict[str, str]:
    """The card's variable for its buttons; none at all is an empty group."""
    if standard:
        held = [
            {
                "text": cut(b.label, _LABEL), "color": _COLORS[b.style], "id": _id(b, shown), "request": True,
                "params": {ACTION: _id(b, shown)},
            }
            for b in shown
        ]  # fmt: skip
        return {"sys_full_json_obj": _json({"msgButtons": held})}
    group = [
        {
            "text": cut(b.label, _LABEL), "color": _COLORS[b.style], "status": "normal",
            "event": {
                "type": "sendCardRequest", "params": {"actionId": b.press.value, "params": {ACTION: _id(b, shown)}},
            },
        }
        for b in shown
    ]  # fmt: skip
    return {"btns": _json(group)}


def asked(action: str, make: Callable[[Press], Button]) -> tuple[Button, ...] | None:
    """The buttons that a click only changes to, for the one who clicked; None for a click that means something.

    A button that asks first becomes its yes and its no; the no brings all of them back. ``make`` makes a button.
    """
    head, _, rest = action.partition("~")
    if not rest:
        return None
    try:
        shown = tuple(make(_LETTERS[letter]) for letter in rest)
        if head.startswith(_BACK):
            return shown
        if not head.startswith(_ASK):
            return None
        button = make(Press(head.removeprefix(_ASK)))
    except (ValueError, KeyError):
        return None
    yes, no = (button.confirm.yes, button.confirm.no) if button.confirm else (button.label, "")
    back = Button(button.press, no, f"{_BACK}~{rest}")
    return replace(button, label=f"✓ {yes}", confirm=None), back


def _id(button: Button, shown: Sequence[Button]) -> str:
    """What a click says: what is pressed; of a button that asks first, also the buttons to come back to."""
    if button.value.startswith(_BACK):
        return button.value
    if button.confirm is None:
        return button.press.value
    return f"{_ASK}{button.press.value}~{''.join(_LETTER[b.press] for b in shown)}"


def track_id(action_id: str, idem_key: str) -> str:
    """A card's outTrackId: unique for the message, and telling what it is about."""
    return f"costguard.{action_id}.{idem_key[:16]}"


def about(track: str) -> str:
    """The id of the ladder that a card is about; empty for a card that is not ours."""
    head, _, rest = track.partition(".")
    return rest.rpartition(".")[0] if head == "costguard" else ""


def _variables(story: Story) -> tuple[Mapping[str, str], bool]:
    """Title, text, and as tips what no longer fits into the text: the last lines, which buttons say as well.

    And whether nothing was cut.
    """
    texts = [written(line, story) for line in (*story.lines, *story.items)]
    footer = Line("", story.footer)
    rest = [*texts, *([written(footer, story)] if story.footer else [])]
    first: list[str] = []
    while rest and _bytes([*first, rest[0]]) <= VALUE_BYTES:
        first.append(rest.pop(0))
    whole = bool(first or not rest) and _bytes(rest) <= VALUE_BYTES
    if rest and not first:
        first.append(cut_bytes(rest.pop(0), VALUE_BYTES))
    variables = {
        "title": cut_bytes(escape(story.title), VALUE_BYTES),
        "markdown": "\n\n".join(first),
        "tips": cut_bytes("\n\n".join(rest), VALUE_BYTES),
    }
    return variables, whole


def _bytes(parts: Sequence[str]) -> int:
    return len("\n\n".join(parts).encode())


def _unmentioned(story: Story) -> Story:
    return replace(story, lines=tuple(map(_plain, story.lines)), items=tuple(map(_plain, story.items)))


def _plain(line: Line) -> Line:
    return Line(line.label, tuple(Span(s.text) if s.style == "mention" else s for s in line.spans))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
