"""``doctor``: everything that can be proved without side effects, and what to do about what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from costguard.app.app import App
from costguard.app.reports import WORDS, word
from costguard.app.said import Said
from costguard.config.calendar import ending
from costguard.daemon.accounts import Account
from costguard.daemon.listing import COMPUTE
from costguard.daemon.monitor import SOURCE, Monitor
from costguard.daemon.sources import NO_REGION
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric
from costguard.engine.names import SOURCES
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
from costguard.notify.words.sentences import translated
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
    """One thing looked at. ``hint`` says what to do next. What is said of our own is a ``Said`` in both languages."""

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
    yield Check(
        Said("数据库", "database"),
        Finding.OK,
        Said(f"{app.database.address} 的表结构与本版本一致", f"{app.database.address} has this version's schema"),
    )


def _holidays(app: App) -> Iterator[Check]:
    today = app.clock.now().astimezone(app.config.settings.timezone).date()
    ends = ending(app.config.calendars, today)
    area = Said("节假日", "holidays")
    for found in ends:
        hint = Said(
            "升级 costguard，或写一个 holidays_file；没有数据的日子只按星期几算",
            "upgrade costguard, or write a holidays_file; without data only weekdays count",
        )
        text = Said(
            f"{found.country} 的节假日数据到 {found.last} 为止",
            f"the holiday data of {found.country} ends on {found.last}",
        )
        yield Check(area, Finding.WARNING, text, hint)
    if not ends:
        yield Check(area, Finding.OK, Said("节假日数据够用 60 天以上", "holiday data covers the next 60 days"))


def _area(account: Account) -> Said:
    return Said(f"账号 {account.name}", f"account {account.name}")


def _account(app: App, account: Account, metrics: bool) -> Iterator[Check]:
    area = _area(account)
    try:
        identity = account.identify()
    except CostguardError as error:
        yield Check(area, Finding.FAULT, str(error), _remedy(error))
        return
    if account.mismatch:
        yield Check(
            area,
            Finding.FAULT,
            account.mismatch,
            Said("这样的账号，costguard 什么都不会动", "nothing of this account is ever acted on like this"),
        )
    else:
        yield Check(
            area,
            Finding.OK,
            Said(
                f"身份 {identity.principal}，账号 {identity.account_id}",
                f"{identity.principal} of account {identity.account_id}",
            ),
        )
    for name, address in sorted(account.connection().endpoints().items()):
        endpoint = app.redactor.text(address)
        everything = Said(f"调用发往 {endpoint}", f"calls go to {endpoint}")
        one = Said(f"{name} 的调用发往 {endpoint}", f"calls {name} at {endpoint}")
        yield Check(area, Finding.INFO, everything if name == "*" else one)
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
    area = Said(f"指标源 {monitor.name}", f"metrics {monitor.name}")
    try:
        ahead = monitor.agree()
    except ProviderError as error:
        yield Check(
            area,
            Finding.FAULT,
            str(error),
            Said("读不到它的数据，不会据此关机", "no box is stopped on what it would have told"),
        )
        return
    apart = f"{abs(ahead).total_seconds():.0f}"
    text = Said(f"有应答，时钟与本机相差 {apart} 秒以内", f"it answers, and its clock is within {apart} s of ours")
    yield Check(area, Finding.OK, text)
    if not metrics:
        return
    fine = monitor.poll()
    with app.database.read() as conn:
        status = sources.get(conn, monitor.name, NO_REGION, SOURCE)
        seen = monitor.sight(conn)
    if status is not None and status.error:
        finding = Finding.WARNING if status.state is SourceState.OK else Finding.FAULT
        yield Check(area, finding, status.error, Said("见 docs/metrics-sources.md", "see docs/metrics-sources.md"))
    if seen is None or (not fine and status is not None and status.state is not SourceState.OK):
        return
    state = Finding.OK if seen.matched == seen.of else Finding.WARNING
    text = Said(
        f"它能覆盖的 {seen.of} 台运行中的机器里，有 {seen.matched} 台的数据",
        f"it tells of {seen.matched} of {seen.of} running boxes that it could tell of",
    )
    yield Check(area, state, text)
    for ref, why in sorted(seen.ambiguous.items()):
        text = Said(f"{ref} 的数据不采用：{why}", f"{ref} is refused: {why}")
        hint = Said("用量未知，因此不会关它", "its use is unknown, so it is never stopped")
        yield Check(area, Finding.WARNING, text, hint)
    if seen.unmatched:
        label, some = monitor.reader.how.label, ", ".join(seen.unmatched[:_CANDIDATES])
        text = Said(
            f"{label} 的这些值对不上运行中的机器（{len(seen.unmatched)} 个）：{some}",
            f"values of {label} that are no running box ({len(seen.unmatched)}): {some}",
        )
        hint = Said(
            "是别人的机器，或需要设置 join: {to: …, map: …}",
            "machines of nobody here, or join: {to: …, map: …} is needed",
        )
        yield Check(area, Finding.INFO, text, hint)


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
    yield from _usage_seen(account, _area(account), boxes, seen)


def _remedy(error: CostguardError) -> str:
    """What to do when nobody said who we are: an answer that never came says nothing about the credentials."""
    if isinstance(error, Unavailable | TimedOut):
        return Said(
            "连不上云平台，凭据对不对还不知道：检查 DNS、代理、防火墙和账号的 endpoint，再试一次",
            "the provider could not be reached, so nothing is known of the credentials: check DNS, proxy, firewall "
            "and the account's endpoint, then try again",
        )
    if isinstance(error, Throttled):
        return Said("调用过多：等一分钟再试", "too many calls: wait a minute and try again")
    return Said("检查凭据", "check the credentials")


def _sources(app: App, account: Account, area: str) -> Iterator[Check]:
    aside = app.lister.set_aside(account)
    with app.database.read() as conn:
        found = [s for s in sources.sources(conn) if s.account == account.name and s.source != "identity"]
    for status in found:
        source = SOURCES.get(status.source, f" {status.source} ")
        if status.state is SourceState.DENIED:
            text = Said(
                f"{status.region} 没有权限读{source}：{status.error}",
                f"{status.region} {status.source} is denied: {status.error}",
            )
            yield Check(area, Finding.FAULT, text, Said("见 deploy/iam", "see deploy/iam"))
        elif status.state is SourceState.SKIPPED and status.region in aside and status.error:
            hint = Said(
                "授予权限，或用 regions: 写明要看的地域，以后就不再读它",
                "grant it, or name the regions that you use (regions:) to leave it out for good",
            )
            text = Said(f"{status.region} 没有读：{status.error}", f"{status.region} is left out: {status.error}")
            yield Check(area, Finding.WARNING, text, hint)
        elif status.state is SourceState.FAILED:
            text = Said(
                f"{status.region} 读取{source}失败：{status.error}",
                f"{status.region} {status.source} failed: {status.error}",
            )
            yield Check(area, Finding.FAULT, text)
    readable = [s for s in found if s.source == "inventory" and s.state is SourceState.OK]
    count = sum(s.count for s in readable)
    text = Said(
        f"读到 {len(readable)} 个地域，{count} 台云主机", f"{len(readable)} regions read, {count} virtual machines"
    )
    yield Check(area, Finding.OK, text)


def _budgets(account: Account, area: str) -> Iterator[Check]:
    """What is budgeted at the provider itself; costguard acts on its own policies alone."""
    connection = account.connection()
    if not isinstance(connection, Budgets):
        return
    try:
        found = connection.budgets()
    except ProviderError as error:
        missing = error.missing if isinstance(error, PermissionDenied) else ""
        hint = Said(f"授予 {missing}", f"grant {missing}") if missing else ""
        text = Said(f"读不到云厂商侧的预算：{error}", f"the provider's own budgets could not be read: {error}")
        yield Check(area, Finding.INFO, text, hint)
        return
    for budget in found:
        limit = f" of {budget.limit}" if budget.limit is not None else ""
        spent = f"{budget.actual} spent{limit}" if budget.actual is not None else f"spending unknown{limit}"
        more = f", {budget.forecast} forecast" if budget.forecast is not None else ""
        bound = "" if budget.limit is None else f" / {budget.limit}"
        used = f"已用 {budget.actual}{bound}" if budget.actual is not None else f"已用金额未知{bound}"
        ahead = f"，预测 {budget.forecast}" if budget.forecast is not None else ""
        period = f"period_{budget.period}"
        often = word(period, "zh") if period in WORDS else budget.period
        text = Said(
            f"云厂商侧的预算 {budget.name}（{often}）：{used}{ahead}",
            f"budget {budget.name} at the provider ({budget.period}): {spent}{more}",
        )
        yield Check(area, Finding.INFO, text)


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
            text = Said(f"{region}：权限没法检查：{error}", f"{region}: permissions could not be probed: {error}")
            yield Check(area, Finding.FAULT, text)
            continue
        armed = account.bound.enforce and account.bound.listed
        plain = [p for p in probes if p.granted and (armed or p.capability != "stop")]
        if plain:
            names = list(dict.fromkeys(p.capability for p in plain))
            text = Said(f"{region}：已有权限：{'、'.join(names)}", f"{region}: granted: {', '.join(names)}")
            yield Check(area, Finding.OK, text)
        yield from (_permission(area, region, probe, armed) for probe in probes if probe not in plain)


def _candidates(found: list[Resource], account: Account) -> list[Resource]:
    """Running boxes, and one of each kind that is left over where the account may release it."""
    candidates = [r for r in found if r.state is State.RUNNING and r.ref.kind in COMPUTE][:_CANDIDATES]
    if account.bound.spec.allow_release:
        spare = {r.ref.kind: r for r in found if r.ref.kind not in COMPUTE and r.depends_on is None}
        candidates += [spare[kind] for kind in sorted(spare)]
    return candidates


_ACTING = frozenset({"stop", "release", "start", "commands", "set_release_time", "tags"})
_WITHOUT = (
    "没有；关机前不会到机器上看（look），实例里的脚本会失败",
    "none; no look at the box before a stop, and its hooks fail",
)


def _permission(area: str, region: str, probe: PermissionProbe, armed: bool) -> Check:
    """A permission that is missing, not needed, or could not be told. ``armed``: the account is to be acted on."""
    asked = f"{probe.capability} ({probe.permission})"

    def said(zh: str, en: str) -> Said:
        return Said(f"{region}：{probe.capability}（{probe.permission}）：{zh}", f"{region}: {asked}: {en}")

    if probe.granted is None:
        text = said(f"判断不了：{translated(probe.detail, 'zh')}", f"could not be told: {probe.detail}")
        return Check(area, Finding.INFO, text)
    if probe.granted:
        return Check(area, Finding.OK, said("有，尽管这个账号只演练", "granted, though this account only runs dry"))
    if probe.capability in _ACTING and not armed:
        return Check(area, Finding.OK, said("没有，演练时本该如此", "none, as expected in dry run"))
    if probe.capability in _ACTING and probe.capability != "stop":
        zh, en = _WITHOUT if probe.capability == "commands" else ("没有", "none")
        return Check(area, Finding.INFO, said(zh, en))
    hint = Said(
        f"授予 {probe.permission}；权限文件在 deploy/iam", f"grant {probe.permission}; deploy/iam has the files"
    )
    return Check(area, Finding.FAULT, said("缺少", "missing"), hint)


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
    text = Said(
        f"{len(running)} 台运行中的机器里，有 {len(able)} 台关机后停止计费",
        f"a stop would end the compute bill of {len(able)} of {len(running)} running boxes",
    )
    yield Check(area, Finding.INFO, text)
    unpriced = sum(1 for r in running if r.price is None)
    if unpriced:
        hint = Said("写进价格表（costguard.yaml 的 prices:）", "add them to a price book (prices: in costguard.yaml)")
        text = Said(f"{unpriced} 台运行中的机器单价未知", f"{unpriced} running boxes have no known price")
        yield Check(area, Finding.WARNING, text, hint)


def _usage_seen(account: Account, area: str, boxes: list[Resource], seen: set[str]) -> Iterator[Check]:
    running = [r for r in boxes if r.state is State.RUNNING]
    for resource in running:
        if resource.gpus is not None and resource.gpus.count is None:
            text = Said(
                f"不知道 {resource.name}（{resource.ref.id}，{resource.sku or '规格未知'}）有没有 GPU、有几张："
                "不会因空闲关它",
                f"how many GPUs {resource.name} ({resource.ref.id}, {resource.sku or 'of an unknown type'}) has, "
                "if any, is not known: it is never stopped for being idle",
            )
            yield Check(area, Finding.WARNING, text)
    gpus = [r for r in running if r.gpus is not None and r.gpus.count is not None]
    blind = [r for r in gpus if str(r.ref) not in seen]
    state = Finding.WARNING if blind else Finding.OK
    known, whole = len(gpus) - len(blind), len(gpus)
    said = Said(
        f"{whole} 台运行中的 GPU 机器里，{known} 台看得到 GPU 用量",
        f"GPU use seen of {known} of {whole} running GPU boxes",
    )
    yield Check(area, state, said)
    for resource in blind:
        text = Said(
            f"看不到 {resource.name}（{resource.ref.id}）的 GPU 用量：不会因空闲关它",
            f"no GPU use of {resource.name} ({resource.ref.id}): it is never stopped for being idle",
        )
        yield Check(area, Finding.WARNING, text, _install_line(account, resource))


def _install_line(account: Account, resource: Resource) -> str:
    agent = account.bound.manifest.agent
    if agent is None:
        return Said(
            f"安装监控插件，见 docs/providers.md 的 {account.provider}",
            f"install the agent; see docs/providers.md for {account.provider}",
        )
    line = agent.line(resource.ref)
    return Said(f"{line}  # {translated(agent.note, 'zh')}", f"{line}  # {agent.note}") if agent.note else line


def _channels(app: App, send: bool) -> Iterator[Check]:
    if not app.workers:
        yield Check(
            Said("通知渠道", "channels"),
            Finding.WARNING,
            Said("没有能发消息的渠道", "no channel can send"),
            Said("写上 channels: 和 notify.default", "add channels: and notify.default"),
        )
    for worker in app.workers:
        channel = worker.channel
        if isinstance(channel, Probing):
            yield from (_probed(_channel_area(channel.name), probe) for probe in channel.probe())
        if not send:
            text = Said(f"{channel.kind}，没有试发", f"{channel.kind}, not tried")
            hint = Said("加 --send 试发一条", "try it with --send")
            yield Check(_channel_area(channel.name), Finding.INFO, text, hint)
            continue
        yield send_test(app, channel.name)


def _channel_area(name: str) -> Said:
    return Said(f"通知渠道 {name}", f"channel {name}")


def _probed(area: str, probe: ChannelProbe) -> Check:
    return Check(area, {True: Finding.OK, False: Finding.FAULT, None: Finding.INFO}[probe.fine], probe.text, probe.hint)


def send_test(app: App, name: str) -> Check:
    """Sends a real test message to one channel and says how it went."""
    worker = next(w for w in app.workers if w.channel.name == name)
    settings, now = app.config.settings, app.clock.now()
    facts = test_facts(channel=name, now=now, timezone=settings.timezone.key)
    place = next(c for c in settings.channels if c.name == name)
    language = place.language or settings.language
    message = render(
        facts, fmt=worker.channel.render_format, language=language, now=now, idem_key=f"test/{name}/{now.isoformat()}"
    )
    try:
        worker.channel.send(message)
    except DeliveryError as error:
        return Check(_channel_area(name), Finding.FAULT, str(error), error.hint or "")
    return Check(_channel_area(name), Finding.OK, Said("测试消息已被接收", "a test message was accepted"))
