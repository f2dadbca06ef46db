"""Small facts that have no table of their own: gaps between cycles, what is unattached, quotas, providers' own budgets,
month's use.

Each is written where it is noticed and read into the snapshot; all are rows of ``kv``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from costguard.domain.budget import ProviderBudget
from costguard.domain.codec import decode, encode
from costguard.domain.price import Price
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef
from costguard.domain.usage import Metric
from costguard.ports import Quota
from costguard.store import kv, usage

_GAPS = "cycle/gaps"
_GAP = timedelta(minutes=10)
_KEPT = timedelta(days=16)
_MONTH = timedelta(days=30)
_FREE = "unattached/"
_QUOTA = "quota/"
_BUDGETS = "budgets/"
_MARKETS = "markets/"
_AMOUNTS = ("limit", "actual", "forecast", "since", "until")
_TAGS = "tags/"
_SPANS = 100
ATTACHABLE = frozenset({Kind.DISK, Kind.ADDRESS})
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

Span = tuple[datetime, datetime]


def note_cycle(conn: Connection, last: datetime | None, now: datetime) -> None:
    """Writes down that nobody decided between the last cycle and this one, if that was long."""
    began = last or _BEGINNING
    if last is not None and now - last <= _GAP:
        return
    known = [span for span in gaps(conn) if now - span[1] < _KEPT]
    spans = [*known, (began, now)]
    kv.put(conn, _GAPS, {"spans": [[low.isoformat(), high.isoformat()] for low, high in spans]}, now)


def gaps(conn: Connection) -> tuple[Span, ...]:
    """The stretches without a cycle, oldest first."""
    known = kv.get(conn, _GAPS)
    spans = known["spans"] if known else []
    return tuple((datetime.fromisoformat(low), datetime.fromisoformat(high)) for low, high in spans)


def note_attachment(conn: Connection, found: Iterable[Resource], prefix: str, now: datetime) -> None:
    """Remembers since when disks and addresses belong to nothing; ``prefix`` is where these were listed."""
    known = kv.by_prefix(conn, f"{_FREE}{prefix}")
    free = {f"{_FREE}{r.ref}" for r in found if r.ref.kind in ATTACHABLE and r.depends_on is None}
    for key in free - known.keys():
        kv.put(conn, key, {"since": now.isoformat()}, now)
    for key in known.keys() - free:
        kv.remove(conn, key)


def unattached(conn: Connection) -> Mapping[ResourceRef, datetime]:
    found = kv.by_prefix(conn, _FREE)
    return {
        ResourceRef.parse(key.removeprefix(_FREE)): datetime.fromisoformat(value["since"])
        for key, value in found.items()
    }


def note_quotas(conn: Connection, account: str, region: str, found: Sequence[Quota], now: datetime) -> None:
    rows = [{"name": q.name, "limit": q.limit, "used": q.used, "unit": q.unit} for q in found]
    kv.put(conn, f"{_QUOTA}{account}/{region}", {"at": now.isoformat(), "rows": rows}, now)


def quotas(conn: Connection) -> tuple[QuotaFact, ...]:
    facts = []
    for key, value in kv.by_prefix(conn, _QUOTA).items():
        account, region = key.removeprefix(_QUOTA).split("/", 1)
        at = datetime.fromisoformat(value["at"])
        facts += [
            QuotaFact(account, region, row["name"], row["limit"], row["used"], row["unit"], at) for row in value["rows"]
        ]
    return tuple(facts)


def note_markets(conn: Connection, account: str, provider: str, found: Iterable[Price], now: datetime) -> None:
    """Remembers of which markets the last answer told: what another one was once is no price of now."""
    markets = {(p.key.region, p.key.sku, p.key.zone or "") for p in found}
    kv.put(conn, f"{_MARKETS}{account}", {"provider": provider, "markets": sorted(markets)}, now)


def told_of(conn: Connection, prices: Iterable[Price]) -> tuple[Price, ...]:
    """Those whose market some account was told of lately; all of a provider that was never asked."""
    told: dict[str, set[tuple[str, str, str]]] = {}
    for value in kv.by_prefix(conn, _MARKETS).values():
        told.setdefault(value["provider"], set()).update((region, sku, zone) for region, sku, zone in value["markets"])
    return tuple(
        price
        for price in prices
        if (markets := told.get((key := price.key).provider)) is None
        or (key.region, key.sku, key.zone or "") in markets
    )


def note_budgets(conn: Connection, account: str, found: Sequence[ProviderBudget], now: datetime) -> None:
    """Keeps the budgets that an account has at its provider, as read at ``now``; those of the read before go."""
    rows = [{"name": b.name, "period": b.period} | {name: encode(getattr(b, name)) for name in _AMOUNTS} for b in found]
    kv.put(conn, f"{_BUDGETS}{account}", {"at": now.isoformat(), "rows": rows}, now)


def provider_budgets(conn: Connection, accounts: Collection[str]) -> tuple[tuple[ProviderBudget, datetime], ...]:
    """Each budget that these accounts have at their provider, and when it was read."""
    return tuple(
        (
            ProviderBudget(
                key.removeprefix(_BUDGETS), row["name"], row["period"], **{name: decode(row[name]) for name in _AMOUNTS}
            ),
            datetime.fromisoformat(value["at"]),
        )
        for key, value in kv.by_prefix(conn, _BUDGETS).items()
        if key.removeprefix(_BUDGETS) in accounts
        for row in value["rows"]
    )


def note_tags(conn: Connection, before: Iterable[Resource], now: datetime) -> None:
    """Writes down which tags resources had until ``now``: money spent by then is still whose it was.

    Tags that are costguard's own levers say nothing of that.
    """
    for resource in before:
        key = f"{_TAGS}{resource.ref}"
        known = kv.get(conn, key)
        spans = [*(known["spans"] if known else []), {"until": now.isoformat(), "tags": _telling(resource.tags)}]
        kv.put(conn, key, {"spans": spans[-_SPANS:]}, now)


def tag_history(conn: Connection) -> Mapping[ResourceRef, Sequence[tuple[datetime, Mapping[str, str] | None]]]:
    """What the tags of resources were until when, oldest first; nothing for those whose tags never changed."""
    return {
        ResourceRef.parse(key.removeprefix(_TAGS)): [
            (datetime.fromisoformat(span["until"]), span["tags"]) for span in value["spans"]
        ]
        for key, value in kv.by_prefix(conn, _TAGS).items()
    }


def _telling(tags: Mapping[str, str] | None) -> Mapping[str, str] | None:
    return None if tags is None else {k: v for k, v in tags.items() if not k.lower().startswith("costguard")}


def month_use(conn: Connection, resources: Iterable[Resource], now: datetime) -> Mapping[ResourceRef, float]:
    """Mean GPU use of prepaid boxes over the last 30 days, of what was seen."""
    found: dict[ResourceRef, float] = {}
    for resource in resources:
        if resource.charge_type is ChargeType.PREPAID and resource.gpus is not None:
            hours = usage.hours(conn, resource.ref, Metric.GPU_UTIL, now - _MONTH, now)
            samples = sum(h.samples for h in hours)
            if samples:
                found[resource.ref] = sum(h.mean * h.samples for h in hours) / samples
    return found
