"""``replay``: gathers what the database knows of the past and plays policies over it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.app.app import App
from costguard.app.books import balances, known_bills, unrecorded
from costguard.app.samples import pieces
from costguard.config import ladders
from costguard.config import policies as policy_files
from costguard.config.load import Config
from costguard.daemon.listing import COMPUTE
from costguard.daemon.snapshot import intervals, machine_ids
from costguard.domain.budget import Interval
from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType, Resource, ResourceRef, State
from costguard.domain.snapshot import PowerEvent
from costguard.domain.time import format_duration, local_midnight
from costguard.domain.usage import Metric, Series
from costguard.engine.evaluate import windows_needed
from costguard.engine.history import Books, History, Run
from costguard.engine.ownership import with_owner
from costguard.engine.replay import replay
from costguard.engine.replay_money import SPEND_BACK, Note, asks_books
from costguard.engine.replayed import DAY, HOUR, Replayed, document, saved
from costguard.engine.runs import runs_of, seen_spans
from costguard.errors import ConfigErrors, UsageError
from costguard.notify.doc import Doc
from costguard.notify.facts import notify_facts
from costguard.notify.words import words
from costguard.rules.currency import Rates
from costguard.rules.policy import Policy
from costguard.rules.spot_price import ZONE
from costguard.store import inventory, levers, power, prices, usage

_ALL = timedelta(days=4000)
_LATE = timedelta(days=1)
_TICK = timedelta(microseconds=1)
# What a box of any kind has whenever it runs: the host tells it, no agent needed.
_PRESENCE = (Metric.CPU_CORES, Metric.NETWORK)

_Points = tuple[tuple[datetime, Money | None], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A set of policies under a name (a path, or the configuration's)."""

    name: str
    policies: tuple[Policy, ...]


def read_policies(path: Path, config: Config, env: Mapping[str, str]) -> Version:
    """The policies of a file or folder, checked as those of the configuration are. Raises ConfigErrors, UsageError."""
    found = policy_files.Findings([], [])
    paths = policy_files.files(str(path.resolve()), config.folder)
    if not paths:
        raise UsageError(f"{path} is no policy file and no folder with one")
    placed = [one for file in paths for one in policy_files.read_file(file, env, found)[1]]
    for one in placed:
        ladders.check(one.policy, one.document, one.loc, found.errors, found.warnings)
    if found.errors:
        raise ConfigErrors(found.errors)
    return Version(str(path), tuple(one.policy for one in placed))


def run_replay(
    app: App,
    since: timedelta,
    versions: Sequence[Version],
    progress: Callable[[str], None] = lambda what: None,
) -> Mapping[str, object]:
    """The ``costguard.replay/1`` document of the last ``since``, one entry of ``versions`` for each set of policies.

    Reads the database alone and changes nothing.
    """
    until = app.clock.now()
    zone = app.config.settings.timezone
    rates = Rates(app.config.settings.currency, app.config.settings.rates())
    results: list[tuple[Version, Replayed]] = []
    with app.database.read() as conn:
        for version in versions:
            progress(version.name)
            history = gather(app, conn, until - since, until, version.policies, progress)
            results.append((version, replay(version.policies, history, app.settings)))
    first = results[0][1]
    return {
        "schema": "costguard.replay/1",
        "since": instant(first.since),
        "until": instant(first.until),
        "timezone": zone.key,
        "currency": rates.currency,
        "headline": headline(first, since, rates),
        "warnings": warnings(first, since),
        "coverage": {
            "boxes": first.boxes,
            "boxes_with_use": first.boxes_with_use,
            "samples": first.samples,
            "first_sample_at": None if first.first_sample_at is None else instant(first.first_sample_at),
        },
        "versions": [
            {**document(result, version.name, rates, zone), "notes": [note_json(note, zone) for note in result.notes]}
            for version, result in results
        ],
        "assumptions": ASSUMPTIONS,
    }


ASSUMPTIONS = {
    "en": [
        "Every policy counts as enforced and every account as armed; a warning counts as delivered at once.",
        "A stop takes its box out until it is next at work in that run, or really starts again.",
        "Tags, owners and locks are today's; keeps and heartbeats of the time are not known.",
        "Of a bill counts what had arrived by then, at the amounts that it has today; before it, the live estimate.",
    ],
    "zh": [
        "所有策略按执行模式、所有账号按已授权回放；预警视为立即送达。",
        "关机后，机器离开回放，直到它在那次运行中再次工作，或真正重新启动。",
        "标签、负责人与锁取今天的值；当时的保留与心跳未知。",
        "账单只计当时已到的部分（金额取现值）；未到的按实时估算。",
    ],
}


def headline(result: Replayed, since: timedelta, rates: Rates) -> Mapping[str, str]:
    """The one sentence, in both languages: what could have been saved, and how many stops would have hit work.

    A stop hits work when its box is at work again within the hour; those within the day are told besides. Without any
    use recorded there is no such sentence.
    """
    money, hour, day = saved(result.stops, rates)[0], result.hits(HOUR), result.hits(DAY)
    days = since.days if since == timedelta(days=since.days) else None
    en = format_duration(since) if days is None else "day" if days == 1 else f"{days} days"
    zh = format_duration(since) if days is None else f"{days} 天"
    if not result.boxes_with_use:
        return {
            "en": f"the last {en}: nothing can be said yet, no use of any box is recorded",
            "zh": f"最近 {zh}：没有任何机器的使用记录，还无法回放",
        }
    return {
        "en": f"the last {en}: {money} could have been saved, {hour} stops would have hit work"
        + (f" ({day} within a day)" if day else ""),
        "zh": f"最近 {zh}：本可省 {money}，{hour} 次关机会打断工作" + (f"（一天之内 {day} 次）" if day else ""),
    }


def warnings(result: Replayed, since: timedelta) -> Mapping[str, Sequence[str]]:
    """What is missing in the history, and the command that gets it, in both languages."""
    pull = f"costguard backfill --since {format_duration(since)}"
    if not result.boxes_with_use:
        return {
            "en": [f"no use of any box is recorded; `{pull}` pulls what your providers still hold"],
            "zh": [f"没有任何机器的使用记录；先运行 `{pull}`，拉取云厂商仍保留的历史"],
        }
    first = result.first_sample_at
    if first is not None and first - result.since > _LATE:
        day = f"{first:%Y-%m-%d}"
        return {
            "en": [f"use is recorded only since {day}; `{pull}` pulls what your providers still hold"],
            "zh": [f"使用记录从 {day} 才开始；运行 `{pull}`，拉取云厂商仍保留的历史"],
        }
    return {"en": [], "zh": []}


def note_json(note: Note, zone: ZoneInfo) -> Mapping[str, object]:
    """One entry of ``notes``: what people would have been told, and the sentence in both languages."""
    finding = note.finding
    facts = Doc(notify_facts(finding=finding, now=note.at, timezone=zone.key))
    return {
        "policy": finding.policy,
        "rule": finding.rule,
        "subject": subject_json(finding.subject),
        "threshold": finding.threshold,
        "at": instant(note.at),
        "until": None if note.until is None else instant(note.until),
        "text": {name: words(name).evidence(facts, note.at, zone) for name in ("en", "zh")},
        "evidence": encode(finding.evidence),
    }


def gather(
    app: App,
    conn: Connection,
    since: datetime,
    until: datetime,
    policies: Iterable[Policy],
    progress: Callable[[str], None] = lambda what: None,
) -> History:
    """What the database knows of [since, until), as a replay of these policies reads it."""
    policies = tuple(policies)
    claims = {ref: claim.owner for ref, claim in levers.claims(conn).items()}
    everything = [
        with_owner(r, app.settings.owners, claims.get(r.ref))
        for r in inventory.resources(conn, include_gone=True)
        if r.ref.account in app.accounts
    ]
    known = [r for r in everything if r.ref.kind in COMPUTE]
    metrics = {spec.metric for spec in windows_needed(policies)}
    series = usage.series_of(conn, metrics | set(_PRESENCE), [r.ref for r in known])
    wanted = {number: one for number, one in series.items() if one.metric in metrics}
    settings = app.config.settings
    return History(
        since=since,
        until=until,
        accounts={name: account.facts(until) for name, account in app.accounts.items()},
        resources={r.ref: r for r in known},
        runs=recorded_runs(conn, known, since, until, series),
        samples=partial(pieces, conn, wanted, until, progress),
        step=settings.schedule.usage,
        spot_prices=_prices(conn, since, until, ChargeType.SPOT),
        on_demand_prices=_prices(conn, since, until, ChargeType.ON_DEMAND),
        exchange_rates=settings.rates(),
        calendars=app.config.calendars,
        timezone=settings.timezone.key,
        currency=settings.currency,
        self_ids=machine_ids(),
        books=_books(app, conn, since, until, everything, series) if any(map(asks_books, policies)) else Books(),
    )


def _books(
    app: App,
    conn: Connection,
    since: datetime,
    until: datetime,
    everything: Sequence[Resource],
    series: Mapping[int, Series],
) -> Books:
    """What was recorded of money; before costguard first looked at a box, its runs and prices tell what it cost."""
    zone = app.config.settings.timezone
    start = local_midnight((since - SPEND_BACK).astimezone(zone).date(), zone)
    boxes = [r for r in everything if r.ref.kind in COMPUTE]
    recorded = intervals(conn, start, until, everything)
    runs = recorded_runs(conn, boxes, start, until, series)
    bills, services = known_bills(app, conn, start, until, everything)
    return Books(
        intervals=(*recorded, *unrecorded(boxes, runs, recorded)),
        bills=bills,
        services=services,
        balances=balances(app, conn, since),
        others=tuple(r for r in everything if r.ref.kind not in COMPUTE and r.state is not State.GONE),
    )


def recorded_runs(
    conn: Connection, known: Sequence[Resource], since: datetime, until: datetime, series: Mapping[int, Series]
) -> Mapping[ResourceRef, tuple[Run, ...]]:
    """The runs of boxes that overlap [since, until); ``series`` by number are those whose samples may show one."""
    states: dict[ResourceRef, list[Interval]] = defaultdict(list)
    for interval in intervals(conn, until - _ALL, until + _TICK, known):  # what was seen this very moment counts
        states[interval.ref].append(interval)
    events: Mapping[ResourceRef, tuple[PowerEvent, ...]] = power.events_since(conn, until - _ALL)
    presence: dict[ResourceRef, int] = {}
    for number, one in series.items():
        if one.metric in _PRESENCE:
            presence.setdefault(one.ref, number)
    found: dict[ResourceRef, tuple[Run, ...]] = {}
    changes: dict[PriceKey | None, _Points] = {None: ()}
    for box in known:
        mine, told = states.get(box.ref, []), events.get(box.ref, ())
        key = _price_key(box)
        if key not in changes:
            points = prices.history(conn, key, since, until) if key is not None else ()
            # One alone says no more than today's.
            changes[key] = tuple((p.since, p.per_hour) for p in points) if len(points) > 1 else ()
        rates = changes[key]
        runs = runs_of(box, mine, told, (), rates)
        if (not runs or runs[0].started > since) and box.ref in presence:
            number = presence[box.ref]
            first = min(runs[0].started, until) if runs else until
            spans = [
                span
                for track in usage.tracks(conn, {number: series[number]}, since, first)
                for span in seen_spans(track)
            ]
            runs = runs_of(box, mine, told, spans, rates)
        found[box.ref] = tuple(r for r in runs if r.started < until and (r.ended is None or r.ended > since))
    return found


def _price_key(box: Resource) -> PriceKey | None:
    """The key of a box's own price; None when it has none that could change."""
    if box.sku is None or box.charge_type not in (ChargeType.SPOT, ChargeType.ON_DEMAND):
        return None
    zone = box.attributes.get(ZONE) if box.charge_type is ChargeType.SPOT else None
    return PriceKey(box.ref.provider, box.ref.region, box.sku, box.charge_type, zone)


def _prices(conn: Connection, since: datetime, until: datetime, charge_type: ChargeType) -> tuple[Price, ...]:
    """Every change point in [since, until) and those that held at ``since``."""
    return (*prices.in_effect(conn, since, charge_type), *prices.between(conn, charge_type, since, until))
