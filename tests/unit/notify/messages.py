"""Messages that several tests send."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.decision import Response
from costguard.notify.facts import warning_facts
from costguard.notify.render import render
from costguard.notify.samples import SAMPLE_NOW, SAMPLE_ZONE, sample_action, sample_resource
from costguard.ports import Message


def warning_about(name: str, fmt: str, handle: str, language: str = "zh") -> Message:
    """The warning about a box of this name, its owner mentioned by ``handle``; everything hostile that can be is."""
    box = replace(sample_resource(name), sku=name or None, tags={"owner": name})
    facts = warning_facts(
        action=sample_action(box), resource=box, do=Response.STOP, now=SAMPLE_NOW, timezone=SAMPLE_ZONE,
        due_in=timedelta(minutes=30), owner="zhangwei", owner_found_by=f"tag owner={name}", hook=name or None,
        links={"page": "https://costguard.example/a/1"},
    )  # fmt: skip
    return render(facts, fmt=fmt, language=language, now=SAMPLE_NOW, idem_key=name, mentions={"zhangwei": handle})
