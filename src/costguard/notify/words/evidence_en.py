"""Evidence in English: per rule one sentence in numbers; anything else is listed key by key."""

from collections.abc import Callable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words
from costguard.notify.words.values import Values


def sentence(words: Words, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
    """Why, in numbers. Never empty when there is any evidence."""
    values = Values(doc.evidence(), words, doc.at("at") or now, zone)
    tell = _RULES.get(doc.text("rule"))
    return (tell(values, doc) if tell else "") or _listed(values)


def _idle(v: Values, doc: Doc) -> str:
    since, told = doc.at("since"), doc.at("at")
    length = v.words.duration(told - since) if since and told else v.span("window")
    if "gpu_util_max" in v:
        mean = f" / mean {v.percent('gpu_util_mean')}" if "gpu_util_mean" in v else ""
        below = f" (limit {v.percent('gpu_util_below')})"
        parts = [f"GPU idle for {length}: max {v.percent('gpu_util_max')}{mean}{below}"]
    else:
        parts = [f"idle for {length}"]
    if "cards_expected" in v:
        idle, cards = v.number("cards_idle"), v.number("cards_expected")
        if cards and cards > 1:
            parts.append(f"all {cards:g} cards idle" if idle == cards else f"{idle or 0:g} of {cards:g} cards idle")
    if "cpu_cores_max" in v:
        parts.append(f"CPU at most {v.cores('cpu_cores_max')} cores")
    if "network_max" in v:
        parts.append(f"network at most {v.rate('network_max')}")
    if "gpu_memory_max" in v:
        parts.append(f"GPU memory at most {v.percent('gpu_memory_max')}")
    if "gpu_power_max" in v:
        parts.append(f"power at most {v.percent('gpu_power_max')}")
    if "samples" in v:
        parts.append(f"{v.plain('samples')} of {v.plain('expected')} samples, the newest {v.ago('last_at')} old")
    return ", ".join(parts)


def _lifetime(v: Values, doc: Doc) -> str:
    if "age" not in v:
        return ""
    begin = "created" if v.evidence.get("since") == "creation" else "started"
    ttl = f" (its tag says {v.plain('ttl')})" if "ttl" in v else ""
    cost = f", about {v.money('cost')} since" if "cost" in v else ""
    return f"{begin} {v.span('age')} ago, allowed {v.span('max_age')}{ttl}, {v.span('over_by')} over{cost}"


def _budget(v: Values, doc: Doc) -> str:
    if "spent" not in v:
        return ""
    limit, step = v.money("amount"), v.plain("threshold")
    ends = v.at("period_end")
    if step.startswith("forecast:"):
        parts = [f"about {v.money('forecast')} expected of {limit} by {ends}, {v.money('spent')} so far"]
    else:
        parts = [f"{v.money('spent')} of {limit} used ({v.percent('used')}), period ends {ends}"]
        if "forecast" in v:
            parts.append(f"about {v.money('forecast')} expected by then")
    if "gone_at" in v:
        parts.append(f"at this rate gone {v.at('gone_at')}")
    if "drivers" in v:
        parts.append(f"most of it: {v.pairs('drivers')}")
    if "apart" in v:
        parts.append(f"{v.any('apart')} not counted: no exchange rate")
    if v.number("unpriced"):
        parts.append(f"{v.plain('unpriced')} running boxes without a price are not counted")
    if "odd_day" in v:
        odd = f"{v.money('odd_amount')} on one day ({v.at('odd_day')}), usually {v.money('usual_day')}"
        parts.append(f"{odd}: looks like a mistake in the bill, so it stops nothing")
    return ", ".join(parts)


def _schedule(v: Values, doc: Doc) -> str:
    if "off_since" not in v:
        return ""
    until = f" until {v.at('off_until')}" if "off_until" in v else ""
    cost = f", {v.money('cost_until_on')} until then" if "cost_until_on" in v else ""
    weekdays = "; the year's public holidays are not known, weekdays count" if "holidays_unknown" in v else ""
    return f"off time since {v.at('off_since')}{until}, running since {v.at('started_at')}{cost}{weekdays}"


def _untagged(v: Values, doc: Doc) -> str:
    if "missing" not in v:
        return ""
    creator = f", created by {v.plain('creator')}" if "creator" in v else ""
    return f"tags missing: {v.listed('missing')}{creator}"


def _listed(v: Values) -> str:
    parts = [f"{clean(key).replace('_', ' ')} {shown}" for key in v.evidence if (shown := _shown(v, key))]
    return ", ".join(parts[:8])


def _shown(v: Values, key: str) -> str:
    value = v.evidence[key]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key in ("coverage", "share") and isinstance(value, float):
        return f"{value:.0%}"
    return v.any(key)


_RULES: Mapping[str, Callable[[Values, Doc], str]] = {
    "idle": _idle,
    "lifetime": _lifetime,
    "schedule": _schedule,
    "budget": _budget,
    "untagged": _untagged,
}
