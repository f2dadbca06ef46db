"""The event of a webhook: type, time, words and facts, within its size."""

import json

from costguard.notify.render import render
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.webhook.markup import EVENT_BYTES


def event_of(facts: dict[str, object]) -> dict[str, dict[str, object]]:
    found = render(facts, fmt="webhook", language="zh", now=SAMPLE_NOW, idem_key="k").payload["event"]
    assert isinstance(found, dict)
    return found


def test_words_for_people_and_facts_for_programs() -> None:
    event = event_of(dict(sample_facts()["warning"]))
    assert event["type"] == "costguard.warn"
    assert event["timestamp"] == "2026-03-05T13:00:00.000000Z"
    data = event["data"]
    assert data["title"] == "30 分钟后关机 train-a800-03 ¥34.74/h"
    assert "i-bp1a2b3c4d5e" in str(data["text"])
    facts = data["facts"]
    assert isinstance(facts, dict)
    assert facts["price"] == {"amount": "34.74", "currency": "CNY"}
    assert "dedup" not in facts


def test_the_words_go_alone_when_the_facts_are_too_large() -> None:
    """J12: a digest of everything that runs."""
    one = dict(sample_facts()["dry_run_digest"])
    items = one["items"]
    assert isinstance(items, list)
    event = event_of({**one, "items": items * 100})
    assert event["data"]["facts"] is None
    assert str(event["data"]["text"]).endswith("…")
    assert len(json.dumps(event, ensure_ascii=False).encode()) <= EVENT_BYTES
