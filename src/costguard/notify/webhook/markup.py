"""Story → the event of a generic webhook: the words for people and the facts for programs.

The event is ``{"type": "costguard.<kind>", "timestamp": when the fact was found, "data": {"title", "text", "facts"}}``;
``facts`` is the notice's own document (see costguard.notify.document). Nothing is escaped beyond JSON: whoever shows
the words in some markup escapes them there.
"""

import json
from collections.abc import Mapping
from typing import Any

from costguard.notify import plain
from costguard.notify.story import Story, cut
from costguard.ports import Message

# Receivers may refuse what is larger than 20 kB.
EVENT_BYTES, TEXT = 19_000, 4000
_OURS = ("dedup", "attachment")  # of no use outside; the attachment is for e-mail


def message(story: Story, idem_key: str, fallback: str, facts: Mapping[str, Any]) -> Message:
    """The message with its event. When the facts are too large, the words go alone and ``facts`` is null."""
    text = plain.body(story)
    document = {key: value for key, value in facts.items() if key not in _OURS}
    data: dict[str, object] = {"title": story.title, "text": text, "facts": document}
    event = {"type": f"costguard.{facts['kind']}", "timestamp": facts["at"], "data": data}
    if len(json.dumps(event, ensure_ascii=False).encode()) > EVENT_BYTES:
        data |= {"title": cut(story.title, 300), "text": cut(text, TEXT), "facts": None}
    return Message(title=story.title, body=text, fallback=fallback, idem_key=idem_key, payload={"event": event})
