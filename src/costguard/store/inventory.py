"""Resources: what listings and live looks saw, kept with identity, intervals of state, starts and stops.

A listing is complete or it is not recorded: what a recorded one no longer contains is gone. What is older than what
is already known changes nothing (a live look may have overtaken a listing), unless that is known of a time that has not
come yet: then the clock was ahead, and what is told now is believed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, select, update

from costguard.domain.resource import RUN, ChargeType, Gpus, Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import PowerEvent
from costguard.store import power, states
from costguard.store.rows import Rows
from costguard.store.sql import chunks, upsert
from costguard.store.tables import resource as table

_ROWS = Rows(Resource, without=("gpus",))
_SETTLED = (State.RUNNING, State.STOPPED)
# How far behind itself a provider may answer: its own reads after a write are not always of the write.
_LAG = timedelta(minutes=2)
# How far ahead of us another thread's look may be, which was written while we waited.
_AHEAD = timedelta(minutes=1)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListingDelta:
    """What a listing changed. Resources are as stored, so with the identity that we keep.

    ``retagged`` holds those with other tags than before, as they were before.
    """

    new: tuple[Resource, ...] = ()
    changed: tuple[Resource, ...] = ()
    gone: tuple[Resource, ...] = ()
    events: tuple[PowerEvent, ...] = ()
    retagged: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """A stored resource, with what the store alone knows of it."""

    resource: Resource
    first_seen_at: datetime
    settled_state: State | None
    settled_at: datetime | None
    gone_at: datetime | None


def record_listing(
    conn: Connection,
    account: str,
    region: str,
    kind: Kind,
    resources: Iterable[Resource],
    now: datetime,
    poll_interval: timedelta,
    ended: datetime | None = None,
) -> ListingDelta:
    """Records a complete listing of one kind in one account and region. ``now`` is when it began, ``ended`` when it
    was over (None is not known, and nothing then seems to be of a time that has not come).

    A gap of more than two ``poll_interval`` since the last look makes the time between an assumed interval.
    """
    place = (table.c.account == account, table.c.region == region, table.c.kind == kind)
    known = {one.resource.ref: one for one in _known(conn.execute(select(table).where(*place)))}
    seen = {resource.ref: resource for resource in resources}
    latest = _NEVER if ended is None else ended + _AHEAD
    delta = _record(conn, known, seen, 2 * poll_interval, latest)
    lost = [
        one
        for ref, one in known.items()
        if ref not in seen and one.gone_at is None and not now < one.resource.observed_at <= latest
    ]
    return replace(delta, gone=_bury(conn, lost, now))


def record_live(conn: Connection, resource: Resource, now: datetime) -> ListingDelta:
    """Records one live look. Nothing else is touched, and no interval is called assumed for it.

    ``now`` is the time of the look; the resource's own ``observed_at`` is what counts.
    """
    query = select(table).where(table.c.ref == resource.ref)
    known = {one.resource.ref: one for one in _known(conn.execute(query))}
    seen = resource if resource.observed_at >= now else replace(resource, observed_at=now)
    return _record(conn, known, {resource.ref: seen}, None, now + _AHEAD)


def record_gone(conn: Connection, ref: ResourceRef, now: datetime) -> ListingDelta:
    """Records that the provider says a resource does not exist."""
    query = select(table).where(table.c.ref == ref, table.c.gone_at.is_(None))
    return ListingDelta(gone=_bury(conn, list(_known(conn.execute(query))), now))


def resources(
    conn: Connection,
    *,
    include_gone: bool = False,
    account: str | None = None,
    state: State | None = None,
    charge_type: ChargeType | None = None,
) -> tuple[Resource, ...]:
    """Every resource, by account, region, kind and id; those that are gone have the state GONE.

    ``account``, ``state``, ``charge_type``: only those; a resource that is gone keeps its last state here.
    """
    query = select(table).order_by(table.c.account, table.c.region, table.c.kind, table.c.id)
    for where, wanted in ((table.c.account, account), (table.c.state, state), (table.c.charge_type, charge_type)):
        if wanted is not None:
            query = query.where(where == wanted)
    if not include_gone:
        query = query.where(table.c.gone_at.is_(None))
    return tuple(_shown(one) for one in _known(conn.execute(query)))


def gone_since(conn: Connection, at: datetime) -> tuple[Resource, ...]:
    """The resources that were found gone at ``at`` or later, in no order."""
    return tuple(_shown(one) for one in _known(conn.execute(select(table).where(table.c.gone_at >= at))))


def resource(conn: Connection, ref: ResourceRef) -> Resource | None:
    """One resource by its ref, also when it is gone."""
    return next((_shown(one) for one in _known(conn.execute(select(table).where(table.c.ref == ref)))), None)


def find(conn: Connection, text: str) -> tuple[Resource, ...]:
    """What a person may mean by ``text``: a full ref, an id, account/id, or a name; the first of these that is found.

    More than one candidate is ambiguous. Resources that are gone are found only when nothing else is.
    """
    account, _, rest = text.partition("/")
    meanings = [table.c.id == text, table.c.name == text]
    if rest:
        meanings.insert(0, (table.c.account == account) & (table.c.id == rest))
    if text.count("/") >= 4:
        with suppress(ValueError):
            meanings.insert(0, table.c.ref == ResourceRef.parse(text))
    for alive in (table.c.gone_at.is_(None), table.c.gone_at.is_not(None)):
        for meaning in meanings:
            query = select(table).where(alive, meaning).order_by(table.c.ref)
            if found := tuple(_shown(one) for one in _known(conn.execute(query))):
                return found
    return ()


def first_seen(conn: Connection, refs: Collection[ResourceRef]) -> Mapping[ResourceRef, datetime]:
    """When each resource was seen first."""
    found: dict[ResourceRef, datetime] = {}
    for chunk in chunks(refs):
        query = select(table.c.ref, table.c.first_seen_at).where(table.c.ref.in_(chunk))
        found.update({row.ref: row.first_seen_at for row in conn.execute(query)})
    return found


def _record(
    conn: Connection,
    known: Mapping[ResourceRef, _Known],
    seen: Mapping[ResourceRef, Resource],
    gap: timedelta | None,
    latest: datetime,
) -> ListingDelta:
    """``latest``: nothing that is known can be of later, unless the clock was ahead."""
    new: list[Resource] = []
    changed: list[Resource] = []
    same: list[Resource] = []
    rows: list[dict[str, Any]] = []
    moves: list[states.Move] = []
    transitions: list[power.Transition] = []
    retagged: list[Resource] = []
    untimely: list[ResourceRef] = []
    for ref, told in seen.items():
        before = known.get(ref)
        if before is None:
            stored = _with_identity(told, None)
            new.append(stored)
            rows.append(_row(stored, stored.observed_at, None))
            moves.append(states.Move(stored, None, None))
            continue
        if before.resource.observed_at > latest:
            untimely.append(ref)
        elif told.observed_at < before.resource.observed_at or _lags(told, before):
            continue
        stored = _with_identity(told, before)
        if before.gone_at is None and replace(before.resource, observed_at=stored.observed_at) == stored:
            same.append(stored)
        else:
            changed.append(stored)
            if before.resource.tags != stored.tags:
                retagged.append(before.resource)
            rows.append(_row(stored, before.first_seen_at, before))
        moves.append(states.Move(stored, before.resource, before.gone_at))
        if (event := _transition(before, stored)) is not None:
            transitions.append(event)
    upsert(conn, table, rows, ["ref"])
    _touch(conn, same)
    states.rewind(conn, untimely, latest)
    states.record(conn, moves, gap)
    events = power.derive(conn, transitions)
    return ListingDelta(tuple(new), tuple(changed), (), events, tuple(retagged))


def _lags(told: Resource, before: _Known) -> bool:
    """Whether it is said to run since before it was seen stopped just now: an answer of before the stop.

    Were it believed, a stop would look undone, its saving would end, and a person would seem to have started the box.
    A provider that keeps to it is believed after a while.
    """
    stopped_at = before.settled_at if before.settled_state is State.STOPPED else None
    return (
        told.state is State.RUNNING
        and told.started_at is not None
        and stopped_at is not None
        and told.started_at < stopped_at
        and told.observed_at - stopped_at < _LAG
    )


def _with_identity(told: Resource, before: _Known | None) -> Resource:
    """The resource with the start that we keep where the provider tells none.

    It is the time at which it was first seen running: after a stop that is a new one, and where the provider names
    another run, while a stop that did not come about (stopping, then running again) is none.
    """
    if told.started_at is not None:
        return told
    if told.state is State.STOPPED:
        return told
    run = told.attributes.get(RUN)
    same = before is not None and (run is None or run == before.resource.attributes.get(RUN))
    kept = before.resource.started_at if before is not None and same else None
    if told.state is State.RUNNING and kept is None:
        kept = told.observed_at
    return replace(told, started_at=kept)


def _transition(before: _Known, now: Resource) -> power.Transition | None:
    """A start or stop between the last settled look and this one."""
    old = before.resource
    if before.settled_at is None:
        return None
    if now.state is State.RUNNING:
        restarted = (
            before.settled_state is State.RUNNING
            and old.started_at is not None
            and now.started_at is not None
            and now.started_at > old.started_at
        )
        if before.settled_state is State.STOPPED or restarted:
            return power.Transition(now.ref, "start", _within(now.started_at, before, now), before.settled_at)
    elif now.state is State.STOPPED and before.settled_state is State.RUNNING:
        return power.Transition(now.ref, "stop", _within(now.stopped_at, before, now), before.settled_at)
    return None


def _within(told: datetime | None, before: _Known, now: Resource) -> datetime:
    """The provider's time of a change if it lies between the two looks, else the time of the second."""
    if told is not None and before.settled_at is not None and before.settled_at < told <= now.observed_at:
        return told
    return now.observed_at


def _bury(conn: Connection, lost: Sequence[_Known], now: datetime) -> tuple[Resource, ...]:
    refs = [one.resource.ref for one in lost]
    for chunk in chunks(refs):
        conn.execute(update(table).where(table.c.ref.in_(chunk)).values(gone_at=now))
    states.close(conn, refs, now)
    return tuple(_shown(replace(one, gone_at=now)) for one in lost)


def _touch(conn: Connection, same: Sequence[Resource]) -> None:
    """What looks as before was still looked at."""
    batches: dict[tuple[datetime, bool], list[ResourceRef]] = {}
    for one in same:
        batches.setdefault((one.observed_at, one.state in _SETTLED), []).append(one.ref)
    for (at, settled), refs in batches.items():
        change = {"observed_at": at, "settled_at": at} if settled else {"observed_at": at}
        for chunk in chunks(refs):
            conn.execute(update(table).where(table.c.ref.in_(chunk)).values(change))


def _row(stored: Resource, first_seen_at: datetime, before: _Known | None) -> dict[str, Any]:
    ref, gpus = stored.ref, stored.gpus
    settled = stored.state in _SETTLED
    return _ROWS.row(stored) | {
        "provider": ref.provider,
        "account": ref.account,
        "region": ref.region,
        "kind": ref.kind,
        "id": ref.id,
        "gpu_model": gpus.model if gpus else None,
        "gpu_count": gpus.count if gpus else None,
        "gpu_memory_mib": gpus.memory_mib if gpus else None,
        "first_seen_at": first_seen_at,
        "settled_state": stored.state if settled else before.settled_state if before else None,
        "settled_at": stored.observed_at if settled else before.settled_at if before else None,
        "gone_at": None,
    }


def _known(rows: Iterable[Row[*tuple[Any, ...]]]) -> Iterable[_Known]:
    for row in rows:
        gpus = None if row.gpu_model is None else Gpus(row.gpu_model, row.gpu_count, row.gpu_memory_mib)
        yield _Known(_ROWS.load(row, gpus=gpus), row.first_seen_at, row.settled_state, row.settled_at, row.gone_at)


def _shown(one: _Known) -> Resource:
    return one.resource if one.gone_at is None else replace(one.resource, state=State.GONE)
