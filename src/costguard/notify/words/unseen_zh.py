"""Work that began unseen before a stop, in Chinese."""

from datetime import datetime
from zoneinfo import ZoneInfo

from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words
from costguard.notify.words.catalogue import joined
from costguard.notify.words.values import signals
from costguard.rules.reasons import METRIC_NAMES


def title(w: Words, doc: Doc) -> str:
    before, name = doc.span("before"), clean(doc.name)
    return f"{name} 开始干活 {w.duration(before)}内被{w.verb(doc)}" if before else f"{name} 在干活时被{w.verb(doc)}"


def lines(w: Words, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[str, str, str]:
    at, began, before, verb = doc.at("done_at"), doc.at("began"), doc.span("before"), w.verb(doc)
    when = f"{w.when(at, now, zone)} {verb}" if at else ""
    if began and before:
        when += f"；开始干活是在此前 {w.duration(before)}内（{w.when(began, now, zone)} 之后）"
    seen = (
        f"{METRIC_NAMES[metric][1]}最高 {_amount(most)}（低于 {joined(_amount(below), '才算空闲')}）"
        for metric, most, below in signals(doc.part("seen"))
    )
    why = f"监控数据会晚几分钟：这些采样在{verb}之后才到，当时看不到它在干活"
    return when, w.comma.join(seen), why


def _amount(amount: str) -> str:
    return amount.replace(" cores", " 核")
