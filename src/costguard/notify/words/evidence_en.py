"""Evidence in English: per rule one sentence in numbers; anything else is listed key by key."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
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
    timer = f"; the provider's own release timer of {v.at('timer_missed')} did not act" if "timer_missed" in v else ""
    return f"{begin} {v.span('age')} ago, allowed {v.span('max_age')}{ttl}, {v.span('over_by')} over{cost}{timer}"


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


def _stuck(v: Values, doc: Doc) -> str:
    if "gpu_util_mean" not in v:
        return ""
    cards, stuck = v.number("cards_expected") or 0, v.number("cards_stuck") or 0
    which = f"{stuck:g} of {cards:g} cards" if cards > 1 else "GPU"
    cost = f", about {v.money('cost')} so far" if "cost" in v else ""
    power = f"power at most {v.percent('gpu_power_max')}"
    return (
        f"{which} at {v.percent('gpu_util_mean')} for {v.span('window')}, yet {power} of its limit "
        f"(a working card draws over {v.percent('gpu_power_below')}), no heartbeat{cost}: "
        "look whether the job waits for a peer"
    )


def _underused(v: Values, doc: Doc) -> str:
    if "advice" not in v:
        return ""
    used = f"{v.span('window')}: cards in use at {v.percent('gpu_util_mean')} on average"
    match v.plain("advice"):
        case "fewer_cards":
            unused, cards = v.plain("cards_unused"), v.plain("cards_expected")
            return f"{unused} of {cards} cards unused for {used}; a box with fewer cards would do"
        case "starved":
            cpu = f", CPU {v.cores('cpu_cores_mean')} of {v.plain('vcpus')} cores" if "cpu_cores_mean" in v else ""
            disk = f", disk {v.rate('disk_mean')}" if "disk_mean" in v else ""
            return f"{used}{cpu}{disk}; the cards wait for data: more loader processes, a faster disk or a cache"
        case _:
            return f"{used} (below {v.percent('gpu_util_below')}); a smaller card or box would do"


def _spot_price(v: Values, doc: Doc) -> str:
    if "market_price" not in v:
        return "no maximum price: the market may take it up to the list price and beyond" if "sku" in v else ""
    zone = f" in {v.plain('zone')}" if "zone" in v else ""
    parts = [f"market price {v.money('market_price')}/h{zone}"]
    if "limit" in v:
        parts.append(f"limit {v.money('limit')}/h")
    if "on_demand_limit" in v:
        parts.append(f"limit by list price {v.money('on_demand_limit')}/h")
    if "above_for" in v:
        parts.append(f"above for {v.span('above_for')}")
    if "cap" in v:
        parts.append(f"your maximum {v.money('cap')}/h")
    if "cheaper_zone" in v:
        parts.append(f"cheaper in {v.plain('cheaper_zone')}: {v.money('cheaper_price')}/h")
    return ", ".join(parts)


def _balance(v: Values, doc: Doc) -> str:
    if "available" not in v:
        return ""
    frozen = f" (frozen {v.money('frozen')} taken off)" if "frozen" in v else ""
    parts = [f"{v.money('available')} left{frozen}"]
    if "burn_per_day" in v:
        parts.append(f"{v.money('burn_per_day')} a day at what runs now")
    if "days_left" in v:
        parts.append(f"lasts {v.span('days_left')}" + (f", until {v.at('empty_at')}" if "empty_at" in v else ""))
    if "amount_below" in v:
        parts.append(f"limit {v.money('amount_below')}")
    if "needed_until" in v:
        parts.append(f"wanted until {v.at('needed_until')}")
    if v.number("unpriced"):
        parts.append(f"{v.plain('unpriced')} running boxes without a price are not counted")
    return ", ".join(parts)


def _anomaly(v: Values, doc: Doc) -> str:
    if "limit" in v:
        creator = f", created by {v.plain('creator')}" if "creator" in v else ""
        return f"new since {v.at('created_at')}: {v.money('price')}/h, limit {v.money('limit')}/h{creator}"
    if "median" not in v:
        return ""
    most = f"; most of it: {v.pairs('drivers')}" if "drivers" in v else ""
    return (
        f"{v.money('spent')} on the day from {v.at('day')}, such days usually {v.money('median')} "
        f"(over {v.plain('days')} days): {v.money('over')} more{most}"
    )


def _waste(v: Values, doc: Doc) -> str:
    if "reason" not in v:
        return ""
    size = f" ({v.plain('size_gib')} GiB)" if "size_gib" in v else ""
    told = {
        "unattached": f"attached to nothing for {v.span('unattached_for')}{size}",
        "orphan": f"its disk {v.plain('source')} is gone, {v.span('age')} old{size}",
        "stopped": f"stopped for {v.span('stopped_for')}",
        "no_requests": f"not one request for {v.span('window')}",
    }.get(v.plain("reason"), "")
    parts = f", still there: {v.listed('parts')}" if "parts" in v else ""
    cost = f", costs {v.money('cost_per_day')} a day, {v.money('cost')} since" if "cost_per_day" in v else ""
    return f"{told}{parts}{cost}"


def _still_billed(v: Values, doc: Doc) -> str:
    if "stop_again" not in v:
        return ""
    off = f"off for {v.span('stopped_for')}, and" if "stopped_for" in v else "off, and"
    cost = f", about {v.money('cost')} since" if "cost" in v else ""
    again, never = _ENDS_BILL.get(v.plain("provider"), _ENDS_BILL[""])
    return f"{off} compute is still billed{cost}; {again if v.evidence.get('stop_again') else never}"


def _unmonitored(v: Values, doc: Doc) -> str:
    if "cards_expected" not in v:
        return ""
    seen, cards = v.number("cards_seen") or 0, v.number("cards_expected") or 0
    what = f"use of {cards - seen:g} of {cards:g} cards" if seen else "GPU use"
    share = f", {v.fraction('share')} of what these GPU boxes cost" if "share" in v else ""
    agent = _AGENTS.get(v.plain("provider"), "export DCGM to Prometheus, or let jobs send `costguard heartbeat`")
    return f"{what} not seen for {v.span('window')}{share}, so idleness can't be told; {agent}"


def _quota(v: Values, doc: Doc) -> str:
    if "share" not in v:
        return ""
    unit = f" {v.plain('unit')}" if "unit" in v else ""
    where = f" in {v.plain('region')}" if "region" in v else ""
    used, limit = v.plain("used") or "0", v.plain("limit")
    return f"{v.plain('quota')}{where}: {used} of {limit}{unit} used ({v.fraction('share')}), {v.plain('free')} free"


def _expiry(v: Values, doc: Doc) -> str:
    if "expires_at" not in v:
        return ""
    over = v.evidence.get("left")
    when = f"ends {v.at('expires_at')}"
    parts = [f"{when}, in {v.span('left')}" if isinstance(over, timedelta) and over > timedelta() else f"{when}, over"]
    renews = v.evidence.get("auto_renew")
    parts.append("renewal unknown" if renews is None else "renews by itself" if renews else "does not renew by itself")
    parts.append(f"cards at {v.percent('use_mean')} over the last 30 days" if "use_mean" in v else "use not seen")
    if "month_cost" in v:
        parts.append(f"{v.money('month_cost')} a month")
    return ", ".join(parts)


# How to end the bill of a box that is off: by another stop, and where no stop can do it.
_ENDS_BILL = {
    "aliyun": (
        "start it and stop it again in economical mode",
        "economical mode does not fit its type or network: save its data and release it, or put it to use",
    ),
    "tencent": (
        "start it and stop it again with 'No charges when shut down'",
        "no stop ends its bill (spot instances and local disks are charged on): save its data and terminate it, "
        "or put it to use",
    ),
    "": (
        "start it and stop it again in the way that ends the bill",
        "no stop ends its bill: save its data and release it, or put it to use",
    ),
}
_AGENTS = {
    "aliyun": "install the NVIDIA driver and the CloudMonitor agent",
    "tencent": "install the GPU driver and the Cloud Monitor agent",
    "aws": "install the CloudWatch agent with nvidia_gpu",
}


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
    "stuck": _stuck,
    "underused": _underused,
    "lifetime": _lifetime,
    "schedule": _schedule,
    "spot_price": _spot_price,
    "budget": _budget,
    "balance": _balance,
    "anomaly": _anomaly,
    "waste": _waste,
    "still_billed": _still_billed,
    "untagged": _untagged,
    "unmonitored": _unmonitored,
    "quota": _quota,
    "expiry": _expiry,
}
