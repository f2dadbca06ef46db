"""``spend``: estimate and bill side by side, the forecast and the budgets, from what the database knows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from costguard.app.app import App
from costguard.app.settings import shared_costs
from costguard.daemon import facts
from costguard.daemon.snapshot import intervals
from costguard.domain.budget import Basis, Interval, Spend
from costguard.domain.codec import encode, instant
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.engine.attribution import Attribution, Claimed
from costguard.engine.audit import forecast_json, month_bounds
from costguard.engine.billing import Bill, read_bill
from costguard.engine.budgets import budgets, provider_budgets
from costguard.engine.forecast import Forecast, forecast
from costguard.engine.meter import spend
from costguard.engine.pricing import otherwise
from costguard.engine.remarks import Language, remark
from costguard.engine.sharing import Sharing
from costguard.engine.spend import DIMENSIONS, SpendBook, rates_json, reach_json
from costguard.errors import UsageError
from costguard.rules.currency import Rates
from costguard.rules.spending import counted
from costguard.store import charges, inventory, levers

# What forecasts learn from: eight weeks of past errors, each from three days and more before it.
LEARNED_FROM = timedelta(days=70)
_COMPUTE = (Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT)


@dataclass(frozen=True, slots=True)
class Money:
    """The money of [start, until) and of what lies before it back to ``back``, read in one transaction."""

    resources: tuple[Resource, ...]
    intervals: tuple[Interval, ...]
    estimates: tuple[Spend, ...]
    bill: Bill
    rates: Rates
    snapshot: Snapshot
    sharing: Sharing

    @property
    def rows(self) -> tuple[Spend, ...]:
        """Estimates and bill as rules read them."""
        return (*self.estimates, *self.bill.rows)

    def forecast(self) -> Forecast | None:
        """The end of the month that the snapshot lies in."""
        rows = counted(self.rows, Basis.PAYABLE, None)
        running = [r for r in self.resources if r.state is not State.GONE]
        return forecast(rows, running, self.snapshot)


def read_money(
    app: App,
    conn: Connection,
    start: datetime,
    end: datetime,
    now: datetime,
    *,
    back: datetime,
    providers: Sequence[str] = (),
) -> Money:
    """What the database knows of [start, end) and back to ``back``; all are midnights of the configuration's zone."""
    settings = app.config.settings
    until = min(now, end)
    everything = inventory.resources(conn, include_gone=True)
    claims = {ref: Claimed(claim.owner, claim.at) for ref, claim in levers.claims(conn).items()}
    own = {name: (a.spec.owner, a.spec.team) for name, a in app.config.accounts.items()}
    projects = {name: a.spec.project for name, a in app.config.accounts.items()}
    attribution = Attribution(everything, app.settings.owners, claims, facts.tag_history(conn), own, projects)
    known = tuple(_placed(r, attribution, now) for r in everything if not providers or r.ref.provider in providers)
    refs = {r.ref for r in known}
    seen = [i for i in intervals(conn, back, until, known) if i.ref in refs]
    first = inventory.first_seen(conn, [r.ref for r in known])
    accounts = {name for name, a in app.accounts.items() if not providers or a.provider in providers}
    rows = (c for c in charges.by_day(conn, back, until, settings.timezone) if c.account in accounts)
    bill = read_bill(rows, start, end, settings.timezone, attribution)
    cut = attribution.intervals([*seen, *_since_creation(known, seen, first, back, bill)], until)
    estimates = tuple(spend(cut, back, until, settings.timezone, bill.services))
    snapshot = replace(app.builder.build(conn, now), spend=(*estimates, *bill.rows))
    return Money(
        known,
        tuple(cut),
        estimates,
        bill,
        Rates(settings.currency, settings.rates()),
        snapshot,
        Sharing(shared_costs(app.config), attribution),
    )


def run_spend(
    app: App,
    *,
    by: str = "account",
    month: str | None = None,
    since: datetime | None = None,
    language: Language | None = None,
) -> Mapping[str, Any]:
    """The ``costguard.spend/1`` document: the month to date, another month, or since a day. Asks no provider.

    ``language`` is that of its warnings; the configuration's if None.
    Raises UsageError for a dimension or month that is none, or a time that has not begun.
    """
    zone, now = app.config.settings.timezone, app.clock.now()
    if by not in DIMENSIONS:
        raise UsageError(f"spend is summed by {', '.join(DIMENSIONS)}; not by {by!r}")
    if month is not None and since is not None:
        raise UsageError("--month and --since exclude each other")
    try:
        start, end = month_bounds(month or now.astimezone(zone).strftime("%Y-%m"), zone)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if since is not None:
        start, end = local_midnight(since.astimezone(zone).date(), zone), now
    if start > now:
        raise UsageError("that has not begun")
    back = local_midnight((min(start, now - LEARNED_FROM)).astimezone(zone).date(), zone)
    with app.database.read() as conn:
        money = read_money(app, conn, start, end, now, back=back)
        elsewhere = facts.provider_budgets(conn, app.accounts)
    until = min(now, end)
    # What is over is judged as at its last moment; the money of later days was not read.
    at = money.snapshot.at_the_end(end) if end < now else money.snapshot
    book = SpendBook(money.estimates, money.bill, money.rates, zone, now, money.sharing)
    ahead = money.forecast() if end > now or since is not None else None
    names = {str(r.ref): r.name for r in money.resources}
    lines = [line.json() for line in book.by(by, start, until)]
    unbilled = sorted({i.ref.account for i in money.intervals if i.per_hour} - set(money.bill.reach))
    spoken = language or app.config.settings.language
    return {
        "schema": "costguard.spend/1",
        "by": by,
        "from": instant(start),
        "until": instant(until),
        "timezone": zone.key,
        "generated_at": instant(now),
        "currency": book.currency,
        "rates": rates_json(book.rates, zone),
        "total": book.total(start, until).json(),
        "lines": [{**line, "name": names.get(str(line["key"]), line["key"])} for line in lines],
        "bills": reach_json(money.bill, zone),
        "forecast": None if ahead is None else forecast_json(ahead),
        "budgets": budgets(app.policies.values(), at),
        # They tell the period that they are in, whatever is asked for.
        "provider_budgets": provider_budgets(elsewhere) if end >= now else [],
        "currencies": [
            {"amount": encode(own), "converted": encode(money)} for own, money in book.by_currency(start, until)
        ],
        "apart": encode(book.apart),
        "warnings": [
            *(remark(spoken, "no_rate", currency=m.currency, amount=m) for m in book.apart),
            *(remark(spoken, "no_bill", account=name) for name in unbilled),
            *_counted_otherwise(app, money, start, until, spoken),
        ],
    }


def _counted_otherwise(app: App, money: Money, start: datetime, until: datetime, language: Language) -> Iterator[str]:
    """Says that a line of the price book came after the time that it speaks of had been counted."""
    known, billed = (
        {r.ref: r for r in money.resources},
        {name: reach.through for name, reach in money.bill.reach.items()},
    )
    found = list(otherwise(money.intervals, known, app.lister.book, start, until, billed))
    if found:
        counted = money.rates.total((one.counted for one in found), until).money
        booked = money.rates.total((one.booked for one in found), until).money
        yield remark(language, "otherwise", count=len({o.ref for o in found}), counted=counted, booked=booked)


def _placed(resource: Resource, attribution: Attribution, now: datetime) -> Resource:
    """With the owner and team that it has now, the account's own where nothing else is known."""
    owner, team = attribution.at(resource.ref, now)
    return replace(resource, owner=owner, team=team)


def _since_creation(
    known: Sequence[Resource],
    seen: Sequence[Interval],
    first: Mapping[ResourceRef, datetime],
    back: datetime,
    bill: Bill,
) -> list[Interval]:
    """The time before the first look at running boxes of providers that tell no start: assumed since their creation.

    Where a start is told, the store already knows that time; where a bill reaches, it knows better.
    """
    earliest: dict[ResourceRef, Interval] = {}
    for interval in seen:
        known_one = earliest.get(interval.ref)
        if known_one is None or interval.started < known_one.started:
            earliest[interval.ref] = interval
    found = []
    for resource in known:
        one, reach = earliest.get(resource.ref), bill.reach.get(resource.ref.account)
        if one is None or resource.created_at is None:
            continue
        low = max(resource.created_at, back, reach.through if reach is not None else back)
        if (
            resource.ref.kind in _COMPUTE
            and one.state is State.RUNNING
            and one.started == first.get(resource.ref)
            and low < one.started
        ):
            found.append(replace(one, started=low, ended=one.started, assumed=True))
    return found
