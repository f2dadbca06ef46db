"""``audit``: gathers what the report reads, from a fresh look or from the database alone."""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from costguard import assets
from costguard.app.app import App
from costguard.app.spend import LEARNED_FROM, read_money
from costguard.config.load import Config, load
from costguard.daemon import facts
from costguard.domain.action import Action
from costguard.domain.finding import SubjectType
from costguard.domain.resource import ResourceRef
from costguard.domain.time import local_midnight
from costguard.engine.audit import AuditFacts, audit, default_month, month_before, month_bounds
from costguard.engine.budgets import budgets, provider_budgets
from costguard.engine.evaluate import evaluate
from costguard.engine.remarks import Language, remark
from costguard.errors import UsageError
from costguard.notify.words.sentences import translated
from costguard.plugins import registry
from costguard.rules.registry import kind_of
from costguard.store import actions, charges, savings, sources

_YAML = """\
version: 1
mode: dry_run
database: sqlite:///audit.db
timezone: {zone}
language: {language}
accounts:
{accounts}
policies: ["${{env:COSTGUARD_STARTER_POLICIES}}"]
"""


def without_config(providers: Sequence[str], folder: Path, zone: str, language: str) -> Config:
    """A configuration made of providers and their ambient credentials, with the starter policies, in dry run.

    Without the starter's budgets: their amounts are examples, and nobody here has set one.
    """
    known = registry.available()
    if unknown := [p for p in providers if p not in known]:
        raise UsageError(f"no adapter for {', '.join(unknown)}", sorted(known))
    lines = "\n".join(f"  - {{name: {p}, provider: {p}}}" for p in dict.fromkeys(providers))
    path = folder / "costguard.yaml"
    path.write_text(_YAML.format(zone=zone, language=language, accounts=lines), "utf-8")
    config = load(path, {**os.environ, "COSTGUARD_STARTER_POLICIES": str(assets.policies())})
    return replace(config, policies=tuple(p for p in config.policies if kind_of(p).subject is not SubjectType.BUDGET))


def no_budgets(language: Language) -> str:
    """What is said of budgets where there is no configuration."""
    return remark(language, "no_budgets")


def run_audit(
    app: App,
    *,
    month: str | None = None,
    offline: bool = False,
    providers: Sequence[str] = (),
    language: Language | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> tuple[Mapping[str, Any], bool]:
    """(the ``costguard.audit/1`` document, whether every source could be read). Changes nothing at any provider.

    ``offline`` reads the database alone. ``language`` is the report's, the configuration's if None. Raises
    UsageError for a month that is none or has not begun.
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
    before, _ = month_bounds(month_before(chosen), zone)
    fine, metered = True, list[str]()
    if not offline:
        fine, metered = app.poll(progress), metered_calls(app, providers)
        fine &= _bills(app, before, providers, progress, whole=end <= now)
    facts = gather(app, chosen, start, end, before=before, providers=providers, language=language)
    return audit(replace(facts, metered=metered)), fine


def gather(
    app: App,
    name: str,
    start: datetime,
    end: datetime,
    *,
    before: datetime,
    period: Literal["month", "week"] = "month",
    providers: Sequence[str] = (),
    language: Language | None = None,
) -> AuditFacts:
    """What the database knows of [start, end) and of what it is compared with, from ``before`` on."""
    zone, now = app.config.settings.timezone, app.clock.now()
    over = end <= now
    back = before if over else min(before, now - LEARNED_FROM)
    with app.database.read() as conn:
        money = read_money(
            app, conn, start, end, now, back=local_midnight(back.astimezone(zone).date(), zone), providers=providers
        )
        done = [a for a in actions.list_actions(conn) if _touches(a, start, end)]
        booked = savings.savings(conn, start, min(now, end))
        statuses = sources.sources(conn)
        elsewhere = facts.provider_budgets(conn, [n for n in app.accounts if _asked(app, n, providers)])
    refs = {r.ref for r in money.resources}
    found = [f for f in evaluate(app.policies.values(), money.snapshot).findings if _of(f.subject.ref, refs)]
    # What is over is judged as at its last moment.
    at = money.snapshot.at_the_end(end) if over else money.snapshot
    return AuditFacts(
        month=name,
        start=start,
        end=end,
        now=now,
        zone=zone,
        rates=money.rates,
        resources=money.resources,
        intervals=[i for i in money.intervals if (i.ended or now) > start],
        previous=[i for i in money.intervals if i.started < start],
        bill=money.bill,
        sharing=money.sharing,
        findings=found,
        actions=[a for a in done if _of(a.subject.ref, refs)],
        savings=[s for s in booked if s.ref in refs],
        budgets=budgets(app.policies.values(), at),
        # They tell the period that they are in, whatever is asked for.
        provider_budgets=() if over else provider_budgets(elsewhere),
        forecast=None if over else money.forecast(),
        sources=[s for s in statuses if _asked(app, s.account, providers)],
        language=language or app.config.settings.language,
        period=period,
        translated=translated,
    )


def metered_calls(app: App, providers: Sequence[str] = ()) -> list[str]:
    """The API calls of an audit that the provider bills for, one sentence each, from the manifests' limits."""
    found = []
    for account in app.accounts.values():
        if providers and account.provider not in providers:
            continue
        for name, price in sorted(account.bound.manifest.limits.items()):
            if match := re.fullmatch(r"(\w+?)_([a-z]{3})_per_(\w+)", name):
                call, currency, unit = match.groups()
                found.append(
                    f"{account.name}: {call.replace('_', ' ')}: {price} {currency.upper()} per {unit.replace('_', ' ')}"
                )
    return found


def _bills(
    app: App, since: datetime, providers: Sequence[str], progress: Callable[[str], None], *, whole: bool
) -> bool:
    """Reads the bills that are not as fresh as the daemon keeps them; False when one could not be read.

    ``whole``: a month that is over also needs what was charged since ``since``.
    """
    fine, now = True, app.clock.now()
    with app.database.read() as conn:
        statuses = {(s.account, s.source): s for s in sources.sources(conn)}
        oldest = {name: charges.first_day(conn, name) for name in app.accounts}
    for account in app.accounts.values():
        if not _asked(app, account.name, providers):
            continue
        status, reaches = statuses.get((account.name, "charges")), oldest[account.name]
        far_enough = not whole or (reaches is not None and reaches <= since + timedelta(days=1))
        if status is None or not status.fresh(now) or not far_enough:
            fine &= app.biller.charges(account, since)
            progress(f"{account.name} bills")
        kept = statuses.get((account.name, "budgets"))
        if kept is None or not kept.fresh(now):
            fine &= app.biller.budgets(account)
    return fine


def _touches(action: Action, start: datetime, end: datetime) -> bool:
    """Whether a ladder stood in [start, end). A dry run's that would have acted has an ``ended_at`` and stands on."""
    ended = action.ended_at if action.state.terminal else None
    return action.created_at < end and (ended is None or start <= ended)


def _asked(app: App, account: str, providers: Sequence[str]) -> bool:
    return not providers or _provider(app, account) in providers


def _provider(app: App, account: str) -> str | None:
    return app.accounts[account].provider if account in app.accounts else None


def _of(ref: ResourceRef | None, refs: set[ResourceRef]) -> bool:
    return ref is None or ref in refs


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for an audit without a configuration; gone afterwards."""
    return tempfile.TemporaryDirectory(prefix="costguard-audit-")
