"""``backfill``: pulls what providers and metrics sources still hold of the past: use, prices, starts and stops.

It asks day by day, the newest first, and writes down which days are complete: a run that was cut short goes on where it
stopped, and the same run again asks nothing twice. Each day comes in the finest period that is still held for its age.
Resources that no longer exist cannot be asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.app.app import App
from costguard.app.said import Said
from costguard.daemon.accounts import Account
from costguard.daemon.listing import COMPUTE
from costguard.daemon.monitor import Monitor
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType, Resource, State
from costguard.domain.time import format_duration
from costguard.domain.usage import Metric, monitor_of
from costguard.errors import ProviderError, Unsupported
from costguard.notify.words import words
from costguard.ports import History, SpotPrices, Usage
from costguard.prometheus.client import PROVIDER
from costguard.store import inventory, kv, power, prices, usage

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
# A day of a minute's samples of this many boxes fits into little memory.
_BATCH = 25
_DONE = "backfill/"
_NO_USE = Said("这家云平台不提供用量数据", "this provider tells no use")
_NO_MARKET = Said("这家云平台不提供竞价行情", "this provider tells no market prices")
_NO_POWER = Said(
    "这家云平台不提供开关机记录：有采样的时间算作在运行",
    "this provider tells no starts and stops: a box counts as running where it has samples",
)
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """What one account gave of one source: ``added`` samples, change points of prices, or starts and stops.

    ``boxes`` of ``of`` answered with something; ``oldest`` is the oldest thing that is known now. ``note`` says what
    the provider cannot give, ``error`` what went wrong.
    """

    account: str
    provider: str
    source: str
    added: int = 0
    boxes: int = 0
    of: int = 0
    oldest: datetime | None = None
    note: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Backfilled:
    since: datetime
    until: datetime
    sources: tuple[Source, ...]
    fine: bool


def backfill(app: App, since: timedelta, progress: Progress = lambda what: None) -> Backfilled:
    """Pulls the last ``since``. The inventory is read first; changes nothing at any provider."""
    now = app.clock.now()
    fine = app.identify()
    found: list[Source] = []
    for account in app.accounts.values():
        fine &= app.inventory(account, empty=True, done=progress)
        fine &= app.poller.list_prices(account)
        app.lister.reprice(account)
        with app.database.read() as conn:
            boxes = [r for r in inventory.resources(conn) if r.ref.account == account.name and r.ref.kind in COMPUTE]
        found += [
            _usage(app, account, boxes, now - since, now, progress),
            _spot_prices(app, account, boxes, now - since),
            _power(app, account, boxes, now - since, progress),
        ]
    found += [_monitored(app, monitor, now - since, now, progress) for monitor in app.monitors]
    with app.database.write(durable=False) as conn:
        usage.roll_up(conn, now)
    return Backfilled(now - since, now, tuple(found), fine and all(source.error is None for source in found))


def _usage(
    app: App, account: Account, boxes: Sequence[Resource], since: datetime, now: datetime, progress: Progress
) -> Source:
    connection = account.connection()
    metrics = frozenset(account.bound.manifest.metrics)
    if not isinstance(connection, Usage) or not metrics:
        return Source(account.name, account.provider, "usage", of=len(boxes), note=_NO_USE)
    added, error = 0, None
    for low, high in _days(since, now):
        for batch in _batches(boxes, high):
            key = f"{_DONE}{account.name}/{low:%Y-%m-%dT%H}"
            with app.database.read() as conn:
                done = frozenset((kv.get(conn, key) or {"ids": ()})["ids"])
            todo = [box for box in batch if str(box.ref) not in done]
            if not todo:
                continue
            try:
                answer = connection.usage(todo, metrics, low, high)
            except ProviderError as failure:
                error = error or str(failure)
                continue
            if answer.failed:
                error = error or str(next(iter(answer.failed.values())))
            with app.database.write(durable=False) as conn:
                added += usage.append(conn, answer.samples)
                if high <= now - _HOUR:  # the newest samples may still be on their way
                    complete = {str(box.ref) for box in todo if box.ref not in answer.failed}
                    kv.put(conn, key, {"ids": sorted(done | complete)}, now)
        progress(f"{account.name} {low:%Y-%m-%d}")
    with app.database.read() as conn:
        known = usage.series_of(conn, metrics, [box.ref for box in boxes])
        oldest = usage.oldest(conn, known)
    seen = {series.ref for series in known.values()}
    note = (
        ""
        if oldest is None or oldest - since < _DAY
        else Said(
            f"{words('zh').duration(now - oldest)}之前的已经没有了",
            f"nothing older than {format_duration(now - oldest)} is held",
        )
    )
    return Source(
        account.name, account.provider, "usage", added, len(seen), len(boxes), oldest, note, error
    )  # fmt: skip


def _monitored(app: App, monitor: Monitor, since: datetime, now: datetime, progress: Progress) -> Source:
    """The use that a metrics source holds of the boxes that run now: their label says the same of earlier boxes."""
    place = (monitor.name, PROVIDER, "usage")
    with app.database.read() as conn:
        running = inventory.resources(conn, state=State.RUNNING)
    boxes = [box for box in running if box.ref.kind in COMPUTE and monitor.may_tell_of(box)]
    added, error = 0, None
    try:
        monitor.agree()
        for low, high in _days(since, now):
            for batch in _batches(boxes, high):
                added += _monitored_day(app, monitor, batch, low, high, now)
            progress(f"{monitor.name} {low:%Y-%m-%d}")
    except ProviderError as failure:
        error = str(failure)
    with app.database.read() as conn:
        known = usage.series_of(conn, list(Metric), [box.ref for box in boxes])
        mine = {number: one for number, one in known.items() if monitor_of(one.source) == monitor.name}
        oldest = usage.oldest(conn, mine)
    return Source(*place, added, len({one.ref for one in mine.values()}), len(boxes), oldest, error=error)


def _monitored_day(
    app: App, monitor: Monitor, boxes: Sequence[Resource], low: datetime, high: datetime, now: datetime
) -> int:
    """A day of some boxes, of those that are not yet complete. Raises ProviderError."""
    key = f"{_DONE}{PROVIDER}/{monitor.name}/{low:%Y-%m-%dT%H}"
    with app.database.read() as conn:
        done = frozenset((kv.get(conn, key) or {"ids": ()})["ids"])
    todo = [box for box in boxes if str(box.ref) not in done]
    if not todo:
        return 0
    added = monitor.history(todo, low, high)
    if high <= now - _HOUR:
        with app.database.write(durable=False) as conn:
            kv.put(conn, key, {"ids": sorted(done | {str(box.ref) for box in todo})}, now)
    return added


def _days(since: datetime, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Whole UTC days, the newest first, so that what is most worth is there first."""
    high = now
    low = now.replace(hour=0, minute=0, second=0, microsecond=0)
    while high > since:
        yield max(low, since.replace(minute=0, second=0, microsecond=0)), high
        low, high = low - _DAY, low


def _batches(boxes: Sequence[Resource], until: datetime) -> Iterator[list[Resource]]:
    """Those that were there by ``until``, of one region each."""
    for region in sorted({box.ref.region for box in boxes}):
        here = [b for b in boxes if b.ref.region == region and (b.created_at is None or b.created_at < until)]
        for first in range(0, len(here), _BATCH):
            yield here[first : first + _BATCH]


def _spot_prices(app: App, account: Account, boxes: Sequence[Resource], since: datetime) -> Source:
    connection = account.connection()
    keys = sorted(
        {
            PriceKey(b.ref.provider, b.ref.region, b.sku, b.charge_type)
            for b in boxes
            if b.sku is not None and b.charge_type is ChargeType.SPOT
        },
        key=lambda k: (k.region, k.sku),
    )
    place = (account.name, account.provider, "spot_prices")
    if not isinstance(connection, SpotPrices):
        return Source(*place, of=len(keys), note=_NO_MARKET)
    if not keys:
        return Source(*place, note=Said("没有竞价实例", "no spot boxes"))
    try:
        found = connection.spot_prices(keys, since)
    except Unsupported as none:
        return Source(*place, of=len(keys), note=str(none))
    except ProviderError as failure:
        return Source(*place, of=len(keys), error=str(failure))
    with app.database.write() as conn:
        added = prices.record(conn, found)
    types = {(p.key.region, p.key.sku) for p in found}
    return Source(*place, added, len(types), len(keys), min((p.since for p in found), default=None))


def _power(app: App, account: Account, boxes: Sequence[Resource], since: datetime, progress: Progress) -> Source:
    connection = account.connection()
    place = (account.name, account.provider, "power_events")
    if not isinstance(connection, History):
        return Source(*place, of=len(boxes), note=_NO_POWER)
    added = answered = 0
    oldest: datetime | None = None
    for box in boxes:
        try:
            events = connection.power_events(box.ref, since)
        except Unsupported as none:
            return Source(*place, of=len(boxes), note=str(none))
        except ProviderError as failure:
            return Source(*place, added, answered, len(boxes), oldest, error=str(failure))
        with app.database.write(durable=False) as conn:
            added += power.record(conn, events)
        answered += bool(events)
        oldest = min([at for at in (oldest, *(e.at for e in events)) if at is not None], default=None)
        progress(f"{account.name} {box.name}")
    return Source(*place, added, answered, len(boxes), oldest)
