"""``audit``: gathers what the report reads, from a fresh look or from the database alone."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from costguard import assets
from costguard.app.app import App
from costguard.config.load import Config, load
from costguard.daemon.snapshot import intervals
from costguard.domain.budget import Interval
from costguard.domain.resource import Resource, ResourceRef
from costguard.engine.audit import AuditFacts, assumed_intervals, audit, default_month, month_bounds
from costguard.engine.evaluate import evaluate
from costguard.engine.ownership import with_owner
from costguard.errors import UsageError
from costguard.plugins import registry
from costguard.rules.currency import Rates
from costguard.store import actions, inventory, levers, savings, sources

_YAML = """\
version: 1
mode: dry_run
database: sqlite:///audit.db
timezone: {zone}
accounts:
{accounts}
policies: ["${{env:COSTGUARD_STARTER_POLICIES}}"]
"""


def without_config(providers: Sequence[str], folder: Path, zone: str) -> Config:
    """A configuration made of providers and their ambient credentials, with the starter policies, in dry run."""
    known = registry.available()
    if unknown := [p for p in providers if p not in known]:
        raise UsageError(f"no adapter for {', '.join(unknown)}", sorted(known))
    lines = "\n".join(f"  - {{name: {p}, provider: {p}}}" for p in dict.fromkeys(providers))
    path = folder / "costguard.yaml"
    path.write_text(_YAML.format(zone=zone, accounts=lines), "utf-8")
    return load(path, {**os.environ, "COSTGUARD_STARTER_POLICIES": str(assets.policies())})


def run_audit(
    app: App,
    *,
    month: str | None = None,
    offline: bool = False,
    providers: Sequence[str] = (),
    progress: Callable[[str], None] = lambda what: None,
) -> tuple[Mapping[str, object], bool]:
    """(the ``costguard.audit/1`` document, whether every source could be read). Changes nothing at any provider.

    ``offline`` reads the database alone. Raises UsageError for a month that is none or has not begun.
    """
    zone = app.config.settings.timezone
    now = app.clock.now()
    chosen = month or default_month(now, zone)
    try:
        start, end = month_bounds(chosen, zone)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if start > now:
        raise UsageError(f"{chosen} has not begun")
    fine = True if offline else app.poll(progress)
    now = app.clock.now()
    previous_start, _ = month_bounds((start - timedelta(days=1)).astimezone(zone).strftime("%Y-%m"), zone)
    with app.database.read() as conn:
        claims = {ref: claim.owner for ref, claim in levers.claims(conn).items()}
        known = [
            _placed(with_owner(r, app.settings.owners, claims.get(r.ref)), app.config)
            for r in inventory.resources(conn, include_gone=True)
            if not providers or r.ref.provider in providers
        ]
        refs = {r.ref for r in known}
        observed = [i for i in intervals(conn, start, min(now, end), known) if i.ref in refs]
        earlier = [i for i in intervals(conn, previous_start, start, known) if i.ref in refs]
        first = inventory.first_seen(conn, [r.ref for r in known])
        snapshot = app.builder.build(conn, now)
        facts = AuditFacts(
            month=chosen,
            start=start,
            end=end,
            now=now,
            zone=zone,
            rates=Rates(app.config.settings.currency, app.config.settings.rates()),
            resources=known,
            intervals=[*observed, *_before(known, first, start)],
            previous=earlier,
            actions=[a for a in actions.list_actions(conn, since=start) if a.created_at < end],
            savings=savings.savings(conn, start, min(now, end)),
            sources=sources.sources(conn),
        )
    found = [f for f in evaluate(app.policies.values(), snapshot).findings if _of(f.subject.ref, refs)]
    return audit(replace(facts, findings=found)), fine


def _of(ref: ResourceRef | None, refs: set[ResourceRef]) -> bool:
    return ref is None or ref in refs


def _placed(resource: Resource, config: Config) -> Resource:
    """With the account's owner and team where nothing else is known: money has to be somebody's."""
    spec = config.accounts[resource.ref.account].spec if resource.ref.account in config.accounts else None
    if spec is None:
        return resource
    return replace(resource, owner=resource.owner or spec.owner, team=resource.team or spec.team)


def _before(known: Sequence[Resource], first: Mapping[ResourceRef, datetime], start: datetime) -> list[Interval]:
    """The time before costguard first saw a box, assumed from the box's own start."""
    found = []
    for interval in assumed_intervals(known, start):
        seen = first.get(interval.ref)
        if seen is not None and interval.started < seen:
            found.append(replace(interval, ended=seen, assumed=True))
    return found


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for an audit without a configuration; gone afterwards."""
    return tempfile.TemporaryDirectory(prefix="costguard-audit-")
