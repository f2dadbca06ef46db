"""``doctor``: everything that can be proved without side effects, and what to do about what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from costguard.app.app import App
from costguard.config.calendar import ending
from costguard.daemon.accounts import Account
from costguard.daemon.listing import COMPUTE
from costguard.daemon.monitor import SOURCE, Monitor
from costguard.daemon.sources import NO_REGION
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric
from costguard.errors import (
    CostguardError,
    DeliveryError,
    PermissionDenied,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from costguard.notify.bulletins import test_facts
from costguard.notify.render import render
from costguard.ports import Budgets, ChannelProbe, Inventory, PermissionProbe, Probe, Probing
from costguard.store import inventory, sources, usage

_CANDIDATES = 5
_FRESH = timedelta(minutes=30)


class Finding(StrEnum):
    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``hint`` says what to do next."""

    area: str
    finding: Finding
    text: str
    hint: str = ""


def examine(app: App, *, only: str | None = None, metrics: bool = False, send: bool = False) -> Iterator[Check]:
    """Every check, as it is made. ``only`` limits it to one account; ``send`` sends a real test message.

    Polls the inventory (and, with ``metrics``, usage) into the database; changes nothing at any provider.
    """
    yield from _database(app)
    yield from _holidays(app)
    chosen = [account for account in app.accounts.values() if only is None or account.name == only]
    for account in chosen:
        yield from _account(app, account, metrics)
    for monitor in app.monitors:
        if any(monitor.covers(account.name) for account in chosen):
            yield from _monitor(app, monitor, metrics)
    for account in chosen if metrics else ():
        yield from _seen(app, account)
    if only is None:
        yield from _channels(app, send)


def _database(app: App) -> Iterator[Check]:
    yield Check("database", Finding.OK, f"{app.database.address} has this version's schema")


def _holidays(app: App) -> Iterator[Check]:
    today = app.clock.now().astimezone(app.config.settings.timezone).date()
    ends = ending(app.config.calendars, today)
    for found in ends:
        hint = "upgrade costguard, or write a holidays_file; without data only weekdays count"
        yield Check("holidays", Finding.WARNING, f"the holiday data of {found.country} ends on {found.last}", hint)
    if not ends:
        yield Check("holidays", Finding.OK, "holiday data covers the next 60 days")


def _account(app: App, account: Account, metrics: bool) -> Iterator[Check]:
    area = f"account {account.name}"
    try:
        identity = account.identify()
    except CostguardError as error:
        yield Check(area, Finding.FAULT, str(error), _remedy(error))
        return
    if account.mismatch:
        yield Check(area, Finding.FAULT, account.mismatch, "nothing of this account is ever acted on like this")
    else:
        yield Check(area, Finding.OK, f"{identity.principal} of account {identity.account_id}")
    for name, endpoint in sorted(account.connection().endpoints().items()):
        yield Check(area, Finding.INFO, f"calls go to {endpoint}" if name == "*" else f"calls {name} at {endpoint}")
    fine = app.inventory(account, all_regions=True)
    if metrics or not fine:
        app.poller.usage(account)
    yield from _sources(app, account, area)
    yield from _budgets(account, area)
    with app.database.read() as conn:
        boxes = [r for r in inventory.resources(conn) if r.ref.account == account.name]
    yield from _permissions(app, account, area, boxes)
    yield from _stoppable(app, account, area, boxes)


def _monitor(app: App, monitor: Monitor, metrics: bool) -> Iterator[Check]:
    """Whether a metrics source answers and its clock is ours; with ``metrics``, which boxes it tells of."""
    area = f"metrics {monitor.name}"
    try:
        ahead = monitor.agree()
    except ProviderError as error:
        yield Check(area, Finding.FAULT, str(error), "no box is stopped on what it would have told")
        return
    yield Check(area, Finding.OK, f"it answers, and its clock is within {abs(ahead).total_seconds():.0f} s of ours")
    if not metrics:
        return
    fine = monitor.poll()
    with app.database.read() as conn:
        status = sources.get(conn, monitor.name, NO_REGION, SOURCE)
        seen = monitor.sight(conn)
    if status is not None and status.error:
        finding = Finding.WARNING if status.state is SourceState.OK else Finding.FAULT
        yield Check(area, finding, status.error, "see docs/metrics-sources.md")
    if seen is None or (not fine and status is not None and status.state is not SourceState.OK):
        return
    state = Finding.OK if seen.matched == seen.of else Finding.WARNING
    yield Check(area, state, f"it tells of {seen.matched} of {seen.of} running boxes that it could tell of")
    for ref, why in sorted(seen.ambiguous.items()):
        yield Check(area, Finding.WARNING, f"{ref} is refused: {why}", "its use is unknown, so it is never stopped")
    if seen.unmatched:
        label, some = monitor.reader.how.label, ", ".join(seen.unmatched[:_CANDIDATES])
        text = f"values of {label} that are no running box ({len(seen.unmatched)}): {some}"
        yield Check(area, Finding.INFO, text, "machines of nobody here, or join: {to: …, map: …} is needed")


def _seen(app: App, account: Account) -> Iterator[Check]:
    """Of how many running GPU boxes use arrives, from whichever source."""
    with app.database.read() as conn:
        boxes = [r for r in inventory.resources(conn) if r.ref.account == account.name]
        newest = [usage.newest(conn, account.name, name) for name in (None, *(m.name for m in app.monitors))]
    now = app.clock.now()
    seen = {
        str(ref)
        for one in newest
        for (ref, metric), at in one.items()
        if metric is Metric.GPU_UTIL and now - at < _FRESH
    }
    yield from _usage_seen(account, f"account {account.name}", boxes, seen)


def _remedy(error: CostguardError) -> str:
    """What to do when nobody said who we are: an answer that never came says nothing about the credentials."""
    if isinstance(error, Unavailable | TimedOut):
        return (
            "the provider could not be reached, so nothing is known of the credentials: check DNS, proxy, firewall "
            "and the account's endpoint, then try again"
        )
    if isinstance(error, Throttled):
        return "too many calls: wait a minute and try again"
    return "check the credentials"


def _sources(app: App, account: Account, area: str) -> Iterator[Check]:
    aside = app.lister.set_aside(account)
    with app.database.read() as conn:
        found = [s for s in sources.sources(conn) if s.account == account.name and s.source != "identity"]
    for status in found:
        if status.state is SourceState.DENIED:
            yield Check(
                area, Finding.FAULT, f"{status.region} {status.source} is denied: {status.error}", "see deploy/iam"
            )
        elif status.state is SourceState.SKIPPED and status.region in aside and status.error:
            hint = "grant it, or name the regions that you use (regions:) to leave it out for good"
            yield Check(area, Finding.WARNING, f"{status.region} is left out: {status.error}", hint)
        elif status.state is SourceState.FAILED:
            yield Check(area, Finding.FAULT, f"{status.region} {status.source} failed: {status.error}")
    readable = [s for s in found if s.source == "inventory" and s.state is SourceState.OK]
    yield Check(area, Finding.OK, f"{len(readable)} regions read, {sum(s.count for s in readable)} instances")


def _budgets(account: Account, area: str) -> Iterator[Check]:
    """What is budgeted at the provider itself; costguard acts on its own policies alone."""
    connection = account.connection()
    if not isinstance(connection, Budgets):
        return
    try:
        found = connection.budgets()
    except ProviderError as error:
        hint = f"grant {error.missing}" if isinstance(error, PermissionDenied) and error.missing else ""
        yield Check(area, Finding.INFO, f"the provider's own budgets could not be read: {error}", hint)
        return
    for budget in found:
        limit = f" of {budget.limit}" if budget.limit is not None else ""
        spent = f"{budget.actual} spent{limit}" if budget.actual is not None else f"spending unknown{limit}"
        more = f", {budget.forecast} forecast" if budget.forecast is not None else ""
        yield Check(area, Finding.INFO, f"budget {budget.name} at the provider ({budget.period}): {spent}{more}")


def _permissions(app: App, account: Account, area: str, boxes: list[Resource]) -> Iterator[Check]:
    connection = account.connection()
    if not isinstance(connection, Probe) or not isinstance(connection, Inventory):
        return
    regions = sorted({r.ref.region for r in boxes}) or list(account.bound.spec.regions[:1])
    for region in regions[:3]:
        candidates = _candidates([r for r in boxes if r.ref.region == region], account)
        try:
            probes = connection.probe(region, candidates)
        except ProviderError as error:
            yield Check(area, Finding.FAULT, f"{region}: permissions could not be probed: {error}")
            continue
        armed = account.bound.enforce and account.bound.listed
        plain = [p for p in probes if p.granted and (armed or p.capability != "stop")]
        if plain:
            yield Check(area, Finding.OK, f"{region}: granted: {', '.join(dict.fromkeys(p.capability for p in plain))}")
        yield from (_permission(area, region, probe, armed) for probe in probes if probe not in plain)


def _candidates(found: list[Resource], account: Account) -> list[Resource]:
    """Running boxes, and one of each kind that is left over where the account may release it."""
    candidates = [r for r in found if r.state is State.RUNNING and r.ref.kind in COMPUTE][:_CANDIDATES]
    if account.bound.spec.allow_release:
        spare = {r.ref.kind: r for r in found if r.ref.kind not in COMPUTE and r.depends_on is None}
        candidates += [spare[kind] for kind in sorted(spare)]
    return candidates


_ACTING = frozenset({"stop", "release", "start", "hook", "set_release_time", "tags"})


def _permission(area: str, region: str, probe: PermissionProbe, armed: bool) -> Check:
    """A permission that is missing, not needed, or could not be told. ``armed``: the account is to be acted on."""
    what = f"{region}: {probe.capability} ({probe.permission})"
    if probe.granted is None:
        return Check(area, Finding.INFO, f"{what}: could not be told: {probe.detail}")
    if probe.granted:
        return Check(area, Finding.OK, f"{what}: granted, though this account only runs dry")
    if probe.capability in _ACTING and not armed:
        return Check(area, Finding.OK, f"{what}: none, as expected in dry run")
    if probe.capability in _ACTING and probe.capability != "stop":
        return Check(area, Finding.INFO, f"{what}: none")
    return Check(area, Finding.FAULT, f"{what}: missing", f"grant {probe.permission}; deploy/iam has the files")


def _stoppable(app: App, account: Account, area: str, boxes: list[Resource]) -> Iterator[Check]:
    running = [r for r in boxes if r.state is State.RUNNING and r.ref.kind in COMPUTE]
    if not running:
        return
    kinds = account.bound.facts().stoppable
    able = [
        r
        for r in running
        if r.ref.kind in kinds
        and r.stop_effect is not None
        and r.stop_effect.compute_billing_ends.value in ("yes", "partly")
    ]
    yield Check(area, Finding.INFO, f"a stop would end the compute bill of {len(able)} of {len(running)} running boxes")
    unpriced = sum(1 for r in running if r.price is None)
    if unpriced:
        hint = "add them to a price book (prices: in costguard.yaml)"
        yield Check(area, Finding.WARNING, f"{unpriced} running boxes have no known price", hint)


def _usage_seen(account: Account, area: str, boxes: list[Resource], seen: set[str]) -> Iterator[Check]:
    gpus = [r for r in boxes if r.state is State.RUNNING and r.gpus is not None]
    blind = [r for r in gpus if str(r.ref) not in seen]
    state = Finding.WARNING if blind else Finding.OK
    yield Check(area, state, f"GPU use seen of {len(gpus) - len(blind)} of {len(gpus)} running GPU boxes")
    for resource in blind:
        text = f"no GPU use of {resource.name} ({resource.ref.id}): it is never stopped for being idle"
        yield Check(area, Finding.WARNING, text, _install_line(account, resource))


def _install_line(account: Account, resource: Resource) -> str:
    agent = account.bound.manifest.agent
    if agent is None:
        return f"install the agent; see docs/providers.md for {account.provider}"
    return f"{agent.line(resource.ref)}{f'  # {agent.note}' if agent.note else ''}"


def _channels(app: App, send: bool) -> Iterator[Check]:
    if not app.workers:
        yield Check("channels", Finding.WARNING, "no channel can send", "add channels: and notify.default")
    for worker in app.workers:
        channel = worker.channel
        if isinstance(channel, Probing):
            yield from (_probed(f"channel {channel.name}", probe) for probe in channel.probe())
        if not send:
            yield Check(f"channel {channel.name}", Finding.INFO, f"{channel.kind}, not tried", "try it with --send")
            continue
        yield send_test(app, channel.name)


def _probed(area: str, probe: ChannelProbe) -> Check:
    finding = {True: Finding.OK, False: Finding.FAULT, None: Finding.INFO}[probe.fine]
    return Check(area, finding, probe.text, probe.hint)


def send_test(app: App, name: str) -> Check:
    """Sends a real test message to one channel and says how it went."""
    worker = next(w for w in app.workers if w.channel.name == name)
    settings = app.config.settings
    now = app.clock.now()
    facts = test_facts(channel=name, now=now, timezone=settings.timezone.key)
    place = next(c for c in settings.channels if c.name == name)
    language = place.language or settings.language
    message = render(
        facts, fmt=worker.channel.render_format, language=language, now=now, idem_key=f"test/{name}/{now.isoformat()}"
    )
    try:
        worker.channel.send(message)
    except DeliveryError as error:
        return Check(f"channel {name}", Finding.FAULT, str(error), error.hint or "")
    return Check(f"channel {name}", Finding.OK, "a test message was accepted")
