"""Work that began unseen before a stop, in English."""

from datetime import datetime
from zoneinfo import ZoneInfo

from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words
from costguard.notify.words.values import signals
from costguard.rules.reasons import METRIC_NAMES


def title(w: Words, doc: Doc, done: str) -> str:
    before = doc.span("before")
    how = f"within {w.duration(before)} of beginning to work" if before else "while it was at work"
    return f"{done} {how}: {clean(doc.name)}"


def lines(w: Words, doc: Doc, done: str, now: datetime, zone: ZoneInfo) -> tuple[str, str, str]:
    at, began, before = doc.at("done_at"), doc.at("began"), doc.span("before")
    when = f"{done.lower()} {w.when(at, now, zone)}" if at else ""
    if began and before:
        when += f"; it began to work at most {w.duration(before)} before, after {w.when(began, now, zone)}"
    seen = (
        f"{METRIC_NAMES[metric][0]} reached {most} (idle is below {_one(below)})"
        for metric, most, below in signals(doc.part("seen"))
    )
    why = (
        f"metrics are told some minutes late: these samples came only after it was {done.lower()}, so costguard could "
        "not see the work then"
    )
    return when, w.comma.join(seen), why


def _one(amount: str) -> str:
    return "1 core" if amount == "1 cores" else amount
