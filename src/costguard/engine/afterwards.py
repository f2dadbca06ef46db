"""Afterwards: what samples that came only after a stop tell of the minutes before it.

Every source tells of a minute some minutes later, so the last look before a call cannot see work that has just begun.
Once the samples are there, they are asked what the busy guard asked: what they show would have forbidden the call.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from costguard.domain.action import Action
from costguard.domain.finding import Evidence, EvidenceValue
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.time import format_duration
from costguard.domain.usage import Metric, UsageSample
from costguard.engine.activity import WINDOW
from costguard.engine.evaluate import Prepared
from costguard.rules.policy import StopWhen
from costguard.rules.reasons import METRICS, amount

_MINUTE = timedelta(minutes=1)
# Some sources are later than they have to be, but nobody waits for them for ever.
_MARGIN = timedelta(minutes=5)
LONGEST_WAIT = timedelta(minutes=20)
# The provider's clock and ours may be apart by so much.
_CLOCKS = timedelta(seconds=15)

Levels = Mapping[Metric, float]


@dataclass(frozen=True, slots=True)
class UnseenWork:
    """Work before a call that was not known when it was made. ``began``: when the first period that shows it did (aware
    UTC); ``before`` the call, in whole minutes rounded up. ``signals``: (metric, its highest value, the value from
    which it is work).
    """

    began: datetime
    before: timedelta
    signals: tuple[tuple[Metric, float, float], ...]

    @property
    def evidence(self) -> Evidence:
        """The numbers by the names that the evidence of a finding has for them, besides when it began."""
        found: dict[str, EvidenceValue] = {"began": self.began, "before": self.before}
        for metric, most, level in self.signals:
            found |= {f"{metric.value}_max": most, f"{metric.value}_below": level}
        return found


def levels_asked(ready: Prepared) -> Levels:
    """From which value on each metric forbids a stop of this policy; none where work does not forbid it."""
    when = ready.policy.when
    if isinstance(when, StopWhen) and when.when_busy == "stop":
        return {}
    return dict(ready.activity.levels)


def wait(
    levels: Levels,
    delays: Mapping[Metric, timedelta],
    periods: Mapping[Metric, timedelta],
    monitors: Iterable[tuple[timedelta, timedelta]] = (),
) -> timedelta:
    """How long after a call the samples of the time before it have surely arrived, by how late the provider tells of
    each metric; ``monitors``: delay and step of each metrics source."""
    told = [delays[metric] + periods.get(metric, _MINUTE) for metric in levels if metric in delays]
    told += [delay + step for delay, step in monitors]
    return min(max(told, default=timedelta()) + _MARGIN, LONGEST_WAIT)


def unseen_work(
    action: Action, ready: Prepared, samples: Iterable[UsageSample], periods: Mapping[Metric, timedelta]
) -> UnseenWork | None:
    """What ``samples`` of the box show of the time before ``action``'s call; None: nothing that anybody knows of.

    The guard was asked of the half hour before the call with all that was known then: what lies in it and shows work
    came later. Samples of another run say nothing. Of the period in which the call was made only GPUs speak, as any
    other load may be the shutdown's; a hook's own load is nobody's work, so with one nothing counts that ends after its
    start. ``periods`` are those of sources that tell none (0).
    """
    call, started, levels = action.executed_at, action.started_at, levels_asked(ready)
    if call is None or started is None or not levels:
        return None
    hooked = ready.ladder(action.subject.type, action.threshold).rungs[action.rung].hook is not None
    end = action.hook_started_at if hooked else call
    if end is None:
        return None
    begins: list[datetime] = []
    most: dict[Metric, float] = {}
    for sample in samples:
        metric, since = sample.series.metric, sample.at - (sample.period or periods.get(sample.series.metric, _MINUTE))
        level = levels.get(metric)
        if level is None or sample.value < level or sample.at <= end - WINDOW or since < started:
            continue
        before = since < end if metric is Metric.GPU_UTIL and not hooked else sample.at + _CLOCKS <= end
        if before:
            begins.append(since)
            most[metric] = max(sample.value, most.get(metric, sample.value))
    if not begins:
        return None
    began = min(begins)
    signals = tuple((metric, most[metric], level) for metric, level in levels.items() if metric in most)
    return UnseenWork(began, ceil((call - began) / _MINUTE) * _MINUTE, signals)


def written_down(action: Action, found: UnseenWork, now: datetime) -> LedgerEntry:
    """The line of the ledger."""
    metric, most, level = found.signals[0]
    text = (
        f"it had begun to work within {format_duration(found.before)} before the {action.response.value}, which only "
        f"later samples show: {METRICS[metric]} reached {amount(metric, most)} (idle is below {amount(metric, level)})"
    )
    return LedgerEntry(
        now, LedgerKind.UNSEEN_WORK, action.subject, text, action_id=action.id, policy=action.policy,
        evidence=found.evidence,
    )  # fmt: skip
