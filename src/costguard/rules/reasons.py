"""Reasons: what the code of a judgement means, as a plain English sentence without a full stop.

Codes are for programs: they stay in JSON and in policy tests. People read these. What a rule that fires rests on is
told in numbers elsewhere, in both languages (``costguard.notify.words``).
"""

from collections.abc import Mapping
from datetime import timedelta

from costguard.domain.finding import Evidence, EvidenceValue
from costguard.domain.time import format_duration

METRICS: Mapping[str, str] = {
    "gpu_util": "GPU use", "gpu_memory": "GPU memory", "gpu_power": "GPU power", "cpu_cores": "CPU use",
    "network": "network traffic", "disk": "disk traffic", "connections": "connections", "requests": "requests",
}  # fmt: skip

# What may be wrong with the samples of one metric; the placeholder is its name.
_GAPS: Mapping[str, str] = {
    "no_samples": "no samples of {} arrive",
    "short_window": "{} is known for too short a time",
    "stale_samples": "the newest sample of {} is too old",
    "low_coverage": "too many samples of {} are missing",
    "mean_over_cards": "of {} only the mean over all cards is known, and it may hide a card that works",
    "cards_unknown": "of {} it is not known how many cards there should be",
    "card_without_samples": "a card sends no samples of {}",
}

_SOURCES: Mapping[str, str] = {
    "denied": "may not be read", "failed": "could not be read", "stale": "is old", "skipped": "is not read",
    "ok": "is older than two polls",
}  # fmt: skip

_SENTENCES: Mapping[str, str] = {
    "age_unknown": "nobody knows how old it is",
    "amount_low": "the balance is low",
    "another_kind": "the rule does not look at this kind of resource",
    "attached": "it is attached to something",
    "balance_stale": "the balance was not read lately",
    "below_limit": "the market price is below the limit",
    "below_step": "spending is below this step",
    "billing_ended": "it is off and its compute bill has ended",
    "billing_unknown": "it is off, and whether it is still billed is not known",
    "burn_unknown": "what some of its boxes cost is not known, so neither is how long the balance lasts",
    "cap_unknown": "its provider does not tell its maximum price",
    "cards_undecided": "how many cards are idle at the same time cannot be told",
    "cards_unused": "some of its cards are never used",
    "charge_type_unknown": "how it is paid for is not known",
    "cheap_enough": "it costs less than the limit",
    "day_quarantined": "a day far above the usual looks like a mistake in the bill and is left out",
    "days_low": "the balance does not last long enough",
    "disks_not_listed": "the disks are not listed, so whether its disk still exists is not known",
    "edge_missed": "it should have been off, but nobody looked in time (catch_up), so it is left until the next edge",
    "enough": "there is enough left",
    "expired": "it has run out",
    "expiry_unknown": "nobody knows when it ends",
    "far_above_usual": "spending is far above the usual",
    "forecast_reached": "at this pace the step is reached",
    "free_below": "little of the quota is free",
    "gone": "it is gone",
    "gpu_not_busy": "its GPUs are not busy all the time",
    "gpu_power_drawn": "its GPUs draw the power of work",
    "gpus_unknown": "how many GPUs it has is not known, and the limit is per GPU",
    "heartbeat": "a job said that it is alive",
    "idle": "it is idle",
    "just_started": "it started too recently to be judged",
    "limit_passed": "the market price is above the limit",
    "low_mean": "its cards are little used",
    "market_price_stale": "its market price was not read lately",
    "market_price_unknown": "no market price is known for its type and zone",
    "new_and_dear": "it is new, and it costs more than the limit",
    "no_cap": "it has no maximum price",
    "no_gpu": "it has no GPU that the rule could judge",
    "no_history": "too few days are known for a forecast",
    "no_rate": "an exchange rate is missing",
    "no_requests": "nobody asks it anything",
    "no_spend": "nothing is known of what was spent",
    "no_ttl": "no tag says how long it may run",
    "not_long_enough": "not for long enough yet",
    "not_prepaid": "it is not prepaid",
    "not_running": "it does not run",
    "not_soon": "it does not end soon",
    "not_spot": "it is no spot machine",
    "not_stopped": "it is not stopped",
    "nothing_granted": "the quota is zero, so nothing of it can be used",
    "off_time": "it runs in off time",
    "on_demand_limit_passed": "the market price is near the list price or above it",
    "on_demand_price_unknown": "its list price is not known",
    "on_time": "now is no off time",
    "orphan": "what it was made from is gone",
    "paid_anyway": "it is off, and what is paid for it no stop would end",
    "price_unknown": "its price is not known",
    "quota_stale": "the quota was not read lately",
    "requests": "it is asked things",
    "seen": "the use of each card is seen",
    "short_history": "too few days are known to say what is usual",
    "some_cards_unseen": "the use of some cards is not seen",
    "soon": "it ends soon",
    "source_unknown": "what it was made from is not known",
    "spend_stale": "what was spent is not up to date",
    "start_unknown": "nobody knows when it started",
    "started_after": "somebody started it after the off time had begun",
    "state_unknown": "whether it runs is not known now",
    "step_reached": "spending has reached this step",
    "still_billed": "it is off, and its compute is still billed",
    "stopped": "it has been off for long",
    "stopped_since_unknown": "nobody knows since when it is off",
    "stuck": "its GPUs are busy on paper and draw no power",
    "tagged": "it has the tags that it must have",
    "tags_missing": "tags that it must have are missing",
    "tags_unreadable": "its tags cannot be read",
    "too_old": "it is older than allowed",
    "ttl_malformed": "the tag that says how long it may run makes no sense",
    "unattached": "it is attached to nothing",
    "unattached_since_unknown": "nobody knows since when it is attached to nothing",
    "unseen": "its GPU use is not seen",
    "use_unknown": "how much of the quota is used is not known",
    "used_above": "much of the quota is used",
    "usual": "spending is as usual",
    "well_used": "it is well used",
    "young_enough": "it is younger than allowed",
}


def sentence(reason: str, evidence: Evidence | None = None) -> str:
    """What ``reason`` means, with the numbers that the evidence has for it. A code from elsewhere is told as it is."""
    if reason in _SENTENCES:
        return _SENTENCES[reason]
    for metric, name in METRICS.items():
        code = reason.removeprefix(f"{metric}_") if reason.startswith(metric) else ""
        if code == "busy":
            return _busy(metric, name, evidence or {})
        if code in _GAPS:
            return _GAPS[code].format(name)
    source, _, state = reason.rpartition("_")
    if state in _SOURCES:
        return f"{_PLAIN_SOURCES.get(source, source)} {_SOURCES[state]}"
    return reason


_PLAIN_SOURCES = {"usage": "the usage of its account and region"}


def _busy(metric: str, name: str, evidence: Evidence) -> str:
    """``GPU use reached 99.9% in the last 45m (idle is below 5%)``."""
    most, below, window = evidence.get(f"{metric}_max"), evidence.get(f"{metric}_below"), evidence.get("window")
    if not _number(most) or not _number(below):
        return f"{name} saw work"
    lately = f" in the last {format_duration(window)}" if isinstance(window, timedelta) else ""
    return f"{name} reached {amount(metric, most)}{lately} (idle is below {amount(metric, below)})"


def _number(value: EvidenceValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def amount(metric: str, value: object) -> str:
    """A value of a metric with its unit: ``3.0%``, ``0.4 cores``, ``39.6 KB/s``."""
    assert isinstance(value, int | float), "a metric is a number"
    if metric in ("network", "disk"):
        for unit in ("B/s", "KB/s", "MB/s"):
            if value < 1000:
                return f"{value:.1f} {unit}"
            value /= 1000
        return f"{value:.1f} GB/s"
    return f"{value:.1f}{_UNITS.get(metric, '%')}"


_UNITS = {"cpu_cores": " cores", "connections": "/s", "requests": "/s"}
