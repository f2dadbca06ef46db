"""Savings: projected when a stop is decided, booked when the provider confirms that billing ended.

Nothing is booked for what stays billed, for an unknown price, or on our own word alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from statistics import median_low
from zoneinfo import ZoneInfo

from costguard.domain.action import Action, ActionState
from costguard.domain.codec import encode
from costguard.domain.finding import Subject
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import Ends, Resource, ResourceRef
from costguard.domain.saving import DISPUTED, WOULD_HAVE_STOPPED, Saving
from costguard.domain.snapshot import PowerEvent
from costguard.domain.time import format_duration
from costguard.rules.currency import Rates

DAY_BEGINS = timedelta(hours=4)
HISTORY = timedelta(days=7)
LEAST_STOPS = 3


def saved_per_hour(resource: Resource, still_billed: Money | None = None) -> Money | None:
    """The compute price that ends with a stop, minus what the caller knows to stay billed of it.

    ``resource.price`` is the compute price alone: disks and addresses bill on and are no part of it. Where the
    bill ends only partly, what stays must be known, else None. None also when a stop ends nothing.
    """
    effect = resource.stop_effect
    if resource.price is None or effect is None:
        return None
    match effect.compute_billing_ends:
        case Ends.YES:
            stays = still_billed or Money.zero(resource.price.currency)
        case Ends.PARTLY if still_billed is not None:
            stays = still_billed
        case _:
            return None
    left = resource.price - stays
    return left if left.nanos > 0 else None


def projected(resource: Resource, span: timedelta, still_billed: Money | None = None) -> Money | None:
    """What a stop saves over ``span`` if it is decided now; an estimate, and called one wherever it is shown."""
    per_hour = saved_per_hour(resource, still_billed)
    return per_hour.per_hour_for(span) if per_hour is not None else None


def book(
    action: Action,
    resource: Resource,
    now: datetime,
    still_billed: Money | None = None,
    until: datetime | None = None,
) -> Saving | None:
    """The saving of a confirmed stop, running from ``now`` until something ends it, at most to ``until``.

    ``resource`` is the live read that confirmed the end of billing. None when nothing may be booked: the
    action is not done, was a dry run, or the price is not known.
    """
    per_hour = saved_per_hour(resource, still_billed)
    ref = action.subject.ref
    if per_hour is None or ref is None or action.dry_run or action.state is not ActionState.DONE:
        return None
    return Saving(action.id, ref, action.policy, per_hour, now, until)


def would_stop(resource: Resource, events: Sequence[PowerEvent], now: datetime, zone: ZoneInfo) -> datetime | None:
    """When the box would have stopped without us: the provider's own timer, or the hour at which its people stop it.

    People have an hour when they stopped it on at least three of the last seven days (a day begins at 04:00 local, so
    that a stop after midnight belongs to the evening); the hour is the median. None when nothing tells.
    ``events`` are the box's starts and stops of at least those days.
    """
    timers = [at for at in (resource.auto_release_at, resource.expires_at) if at is not None and now < at]
    return min([*timers, *_usual_stop(events, now, zone)], default=None)


def _usual_stop(events: Sequence[PowerEvent], now: datetime, zone: ZoneInfo) -> list[datetime]:
    def evening(at: datetime) -> datetime:
        return at.astimezone(zone).replace(tzinfo=None) - DAY_BEGINS

    today = evening(now).date()
    stops: dict[date, timedelta] = {}
    for event in events:
        local = evening(event.at)
        if event.what == "stop" and not event.ours and event.at < now and today - HISTORY <= local.date():
            stops[local.date()] = local - datetime.combine(local.date(), clock_time())
    if len(stops) < LEAST_STOPS:
        return []
    usual = median_low(stops.values())
    for day in (today, today + timedelta(days=1)):
        local = datetime.combine(day, clock_time()) + usual + DAY_BEGINS
        at = local.replace(tzinfo=zone).astimezone(UTC)
        if now < at:
            return [at]
    return []


def end(saving: Saving, at: datetime, by: str) -> Saving:
    """The saving, ended (``restarted``, ``released``, ``undone``); one that has ended stays as it is.

    What would have stopped before ``at`` had ended then.
    """
    if not saving.stands:
        return saving
    if saving.until is not None and saving.until <= at:
        return replace(saving, ended_by=WOULD_HAVE_STOPPED)
    return replace(saving, until=max(at, saving.since), ended_by=by)


def dispute(saving: Saving, at: datetime) -> Saving:
    """The saving as a loss, up to where it ended, or to ``at`` when it still stood."""
    until = min(saving.until, max(at, saving.since)) if saving.until is not None else max(at, saving.since)
    return replace(saving, until=until, ended_by=DISPUTED)


def booked_line(saving: Saving, action: Action, now: datetime) -> LedgerEntry:
    """The ledger line of a booking. It is worth nothing yet: the line of the end is."""
    most = "" if saving.until is None else f", at most until {saving.until:%Y-%m-%d %H:%M}Z when it would have stopped"
    return LedgerEntry(
        now, LedgerKind.SAVING, action.subject, f"billing ended: {saving.per_hour} saved per hour from now{most}",
        action_id=action.id, policy=action.policy, evidence={"per_hour": saving.per_hour},
    )  # fmt: skip


def ended_line(before: Saving, now: Saving, subject: Subject | None, at: datetime) -> LedgerEntry:
    """The ledger line of an end or a dispute: its money is what that changes, so that all lines of a saving add up to
    its worth. ``before`` is the saving as the ledger has it so far."""
    assert now.until is not None, "what has ended has an end"
    known = Money.zero(now.per_hour.currency) if before.stands else before.amount(before.since, now.until)
    worth = now.amount(now.since, now.until)
    span = format_duration(now.until - now.since)
    word = "lost" if worth.nanos < 0 else "saved"
    return LedgerEntry(
        at, LedgerKind.SAVING, subject, f"{now.ended_by}: {_size(worth)} {word} in {span}", action_id=now.action_id,
        policy=now.policy, money=worth - known, evidence={"per_hour": now.per_hour, "until": now.until},
    )  # fmt: skip


def _size(money: Money) -> Money:
    return -money if money.nanos < 0 else money


def worth(saving: Saving, rates: Rates, start: datetime, end: datetime) -> Money | None:
    """What a saving was worth in [start, end) in the reporting currency, each part at its own rate; None without."""
    parts = [
        rates.convert(amount, low) for low, high in rates.spans(start, end) if (amount := saving.amount(low, high))
    ]
    known = [money for money in parts if money is not None]
    return sum(known, Money.zero(rates.currency)) if len(known) == len(parts) else None


def savings_json(
    savings: Sequence[Saving], rates: Rates, start: datetime, end: datetime, names: Mapping[ResourceRef, str]
) -> dict[str, object]:
    """What [start, end) saved, line by line. ``booked`` is the sum of the lines, losses off; it may be negative.

    ``back_within_hour`` counts stops whose box people started again within the hour: the likely mistakes.
    """
    lines, gained, lost = [], Money.zero(rates.currency), Money.zero(rates.currency)
    for saving in savings:
        converted = worth(saving, rates, start, end)
        if converted is not None and converted.nanos < 0:
            lost -= converted
        elif converted is not None:
            gained += converted
        lines.append(
            {
                "action_id": saving.action_id,
                "policy": saving.policy,
                "resource": str(saving.ref),
                "name": names.get(saving.ref, saving.ref.id),
                "per_hour": encode(saving.per_hour),
                "since": encode(saving.since),
                "until": encode(saving.until),
                "ended_by": saving.ended_by,
                "amount": encode(converted if converted is not None else saving.amount(start, end)),
            }
        )
    return {
        "booked": encode(gained - lost),
        "gained": encode(gained),
        "lost": encode(lost),
        "standing": sum(1 for s in savings if s.stands),
        "back_within_hour": sum(1 for s in savings if _back_soon(s)),
        "lines": lines,
    }


def _back_soon(saving: Saving) -> bool:
    return (
        saving.ended_by in ("restarted", "undone", DISPUTED)
        and saving.until is not None
        and saving.until - saving.since < timedelta(hours=1)
    )
