"""Rendering: facts → the message of one channel, in its language, at the moment of sending.

A failure to render never loses a message: a plain one that needs nothing but the facts goes out instead.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from costguard.notify import plain
from costguard.notify.dingtalk import card as dingtalk_app
from costguard.notify.dingtalk import markup as dingtalk
from costguard.notify.doc import Doc
from costguard.notify.email import markup as email
from costguard.notify.feishu import markup as feishu
from costguard.notify.slack import markup as slack
from costguard.notify.stories import Teller
from costguard.notify.story import Story, clean, cut
from costguard.notify.webhook import markup as webhook
from costguard.notify.wecom import markup as wecom
from costguard.notify.words import words
from costguard.ports import Message

log = logging.getLogger(__name__)

FORMATS: Mapping[str, Callable[[Story, str, str], Message]] = {
    "slack": slack.message,
    "slack_bot": slack.pressable,
    "dingtalk": dingtalk.message,
    "wecom": wecom.message,
    "plain": plain.message,
}
# These also show or carry what the words do not: the kind by its colour, the thread, the facts themselves.
FACTUAL: Mapping[str, Callable[[Story, str, str, Mapping[str, Any]], Message]] = {
    "dingtalk_app": dingtalk_app.message,
    "email": email.message,
    "feishu": feishu.message,
    "webhook": webhook.message,
}


def render(
    facts: Mapping[str, Any],
    *,
    fmt: str,
    language: str,
    now: datetime,
    idem_key: str,
    mentions: Mapping[str, str] | None = None,
    repeat: bool = False,
) -> Message:
    """The message for a channel of format ``fmt``.

    ``mentions`` maps owners' names to the platform's handles (empty: nobody is mentioned); ``idem_key`` is the
    notice's, of which a short hash goes to the platform; ``repeat`` marks a message that may have arrived before.
    """
    key = hashlib.sha256(idem_key.encode()).hexdigest()[:32]
    try:
        story = tell(facts, language=language, now=now, mentions=mentions, repeat=repeat)
        if fmt in FACTUAL:
            return FACTUAL[fmt](story, key, plain.short(story), facts)
        return FORMATS[fmt](story, key, plain.short(story))
    except Exception:  # whatever is wrong with a message, people must still get it
        log.exception("a %s message could not be rendered; sending the plain one", facts.get("kind"))
        return replace(last_resort(facts, key), mentions=tuple((mentions or {}).values()) if fmt == "email" else ())


def tell(
    facts: Mapping[str, Any],
    *,
    language: str,
    now: datetime,
    mentions: Mapping[str, str] | None = None,
    repeat: bool = False,
) -> Story:
    """The story in one language, before any markup."""
    speech = words(language)
    story = Teller(Doc(facts), speech, now, mentions or {}).story()
    if not repeat:
        return story
    return replace(story, title=speech.repeat(story.title))


def last_resort(facts: Mapping[str, Any], key: str) -> Message:
    """A message from nothing but the raw facts: kind, name, id, when. It can't fail on any facts."""
    subject = facts.get("subject")
    subject = subject if isinstance(subject, Mapping) else {}
    parts = ["costguard"]
    if facts.get("dry_run") is True:
        parts.append("DRY RUN")
    parts += [str(facts.get(name)) for name in ("kind", "do") if facts.get(name)]
    parts += [str(subject.get(name)) for name in ("name", "id") if subject.get(name)]
    parts += [f"{name} {facts[name]}" for name in ("due_at", "error", "channel", "account") if facts.get(name)]
    text = cut(clean(" · ".join(parts)), 400)
    return Message(title=text, body=text, fallback=text, idem_key=key, plain=True)
