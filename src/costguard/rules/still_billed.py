"""still_billed: a box that is off while its compute bill goes on, whoever stopped it. Advice only.

A stop that keeps charging looks like a saving and is none. What a stop was never to end (a subscription, a reservation,
an own machine) is not of this kind.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.resource import Ends, Kind, Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.rules.burn import ALWAYS_BILLED, billed_per_hour
from costguard.rules.kind import RuleKind, Words, cost_since, judged
from costguard.rules.policy import When

_BOXES = frozenset({Kind.VM, Kind.NOTEBOOK})
_RESERVATION = "reservation"


class StillBilledWhen(When):
    """It fires in the first round that sees it; a later word to somebody is a rung with ``after``."""


def judge(when: StillBilledWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    for resource in resources:
        yield _one(resource, snapshot)


def _one(resource: Resource, snapshot: Snapshot) -> Judgement:
    if resource.ref.kind not in _BOXES:
        return judged(resource, Outcome.CLEAR, "another_kind")
    if resource.state in (State.PENDING, State.UNKNOWN):
        return judged(resource, Outcome.UNKNOWN, "state_unknown", evidence={"state": resource.raw_state})
    if resource.state is not State.STOPPED:
        return judged(resource, Outcome.CLEAR, "not_stopped", evidence={"state": resource.raw_state})
    effect = resource.stop_effect
    if resource.charge_type in ALWAYS_BILLED or (effect is not None and _RESERVATION in effect.still_billed):
        return judged(resource, Outcome.CLEAR, "paid_anyway")
    if effect is None or effect.compute_billing_ends is Ends.UNKNOWN:
        return judged(resource, Outcome.UNKNOWN, "billing_unknown")
    if effect.compute_billing_ends is not Ends.NO:
        return judged(resource, Outcome.CLEAR, "billing_ended")
    since, waste = _off_since(resource, snapshot), billed_per_hour(resource)
    evidence: dict[str, EvidenceValue] = {
        "provider": resource.ref.provider,
        "price": waste,
        "still_billed": effect.still_billed,
        "stop_again": effect.stop_again,
    }
    if since is not None and since < snapshot.now:
        evidence |= {"stopped_for": snapshot.now - since, "cost": cost_since(resource, since, snapshot.now)}
    since = since or snapshot.now
    return judged(resource, Outcome.FIRES, "still_billed", since=since, evidence=evidence, waste=waste)


def _off_since(resource: Resource, snapshot: Snapshot) -> datetime | None:
    """When it was stopped: as its provider tells, else as somebody saw it; None when it was off at the first look."""
    if resource.stopped_at is not None:
        return min(resource.stopped_at, snapshot.now)
    events = [event for event in snapshot.power_events.get(resource.ref, ()) if event.at <= snapshot.now]
    last = max(events, key=lambda event: event.at, default=None)
    return last.at if last is not None and last.what == "stop" else None


STILL_BILLED = RuleKind(
    name="still_billed",
    when=StillBilledWhen,
    judge=judge,
    may_stop=False,
    repeat_after=timedelta(hours=24),
    title=Words("Stopped but still charged", "已停机仍在计费"),
    summary=Words(
        "Boxes that are off while compute is still billed, whoever stopped them: what it costs, and how to end "
        "it (stop it again in the provider's saving mode; where there is none, save its data and release it). Advice.",
        "已经停机、计算费用却还在收的机器，不论是谁停的：列出花费，并说明怎么停止计费"
        "（启动后用平台的省钱方式重新停机；不支持的，备份数据后释放）。只提醒，不操作。",
    ),
    example="""\
policies:
  - name: still-billed
    rule: still_billed
    match: all
    respond:
      - {do: notify, to: [owner]}
""",
)
