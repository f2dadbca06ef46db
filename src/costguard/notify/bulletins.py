"""Facts of messages that are not about one resource: sources, channels, budgets, digests, reminders, reports."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.codec import encode
from costguard.domain.decision import Response
from costguard.domain.finding import Finding, Subject
from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.domain.snapshot import SourceStatus
from costguard.notify.document import Facts, document, named, next_morning


def source_facts(
    *,
    status: SourceStatus,
    now: datetime,
    timezone: str,
    missing: str = "",
    recovered: bool = False,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """A source cannot be read (or can again). ``missing`` names the permission that would help."""
    return document(
        NoticeKind.SOURCE, now, timezone, False, links,
        dedup="ok" if recovered else f"{status.state.value}",
        what="source", account=status.account, region=status.region, source=status.source,
        state=status.state, last_ok=status.fetched_at, error=status.error or "", missing=missing,
        count=status.count, previous_count=status.previous_count, recovered=recovered,
    )  # fmt: skip


def channel_facts(
    *,
    channel: str,
    reason: str,
    detail: str,
    now: datetime,
    timezone: str,
    hint: str | None = None,
    waiting: int = 0,
    recovered: bool = False,
) -> Facts:
    """A channel is broken: said on another one. ``reason`` is a DeliveryReason; ``waiting`` unsent messages."""
    return document(
        NoticeKind.SOURCE, now, timezone, False, None,
        dedup="ok" if recovered else reason,
        what="channel", channel=channel, reason=reason, detail=detail, hint=hint, waiting=waiting,
        recovered=recovered,
    )  # fmt: skip


def budget_facts(
    *,
    name: str,
    now: datetime,
    timezone: str,
    spent: Money,
    amount: Money,
    threshold: str,
    period: str,
    period_start: datetime,
    period_end: datetime,
    basis: str = "payable",
    forecast: Money | None = None,
    gone_at: datetime | None = None,
    estimated: bool = True,
    recovered: bool = False,
    drivers: Sequence[tuple[str, Money]] = (),
    dry_run: bool = False,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """A budget passed ``threshold`` (``80%``, ``forecast 100%``). ``period`` ∈ month, week, day. ``gone_at``:
    when it is used up at this rate. ``drivers``: what costs most, largest first."""
    return document(
        NoticeKind.BUDGET, now, timezone, dry_run, links,
        dedup=f"{period_start.isoformat()} {threshold}{' ok' if recovered else ''}",
        name=name, spent=spent, amount=amount, threshold=threshold, period=period,
        period_start=period_start, period_end=period_end, basis=basis, forecast=forecast,
        gone_at=gone_at, estimated=estimated, recovered=recovered,
        drivers=[{"key": key, "money": money} for key, money in drivers],
    )  # fmt: skip


def budget_step_facts(
    *,
    finding: Finding,
    now: datetime,
    timezone: str,
    dry_run: bool = False,
    recovered: bool = False,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """The same from a finding of the rule ``budget`` on its budget. Raises KeyError for a finding of another shape."""
    evidence = finding.evidence
    numbers = ("spent", "amount", "period", "period_start", "period_end", "basis", "forecast", "gone_at", "estimated")
    drivers = evidence.get("drivers")
    return document(
        NoticeKind.BUDGET, now, timezone, dry_run, links,
        dedup=f"{encode(evidence['period_start'])} {finding.threshold}{' ok' if recovered else ''}",
        name=finding.policy, threshold=finding.threshold, recovered=recovered,
        drivers=[{"key": pair[0], "money": pair[1]} for pair in drivers or () if isinstance(pair, tuple)]
        if isinstance(drivers, tuple)
        else [],
        **{key: evidence[key] for key in numbers},
    )  # fmt: skip


def digest_item(
    *,
    subject: Subject,
    do: Response,
    policy: str,
    price: Money | None = None,
    owner: str | None = None,
    since: datetime | None = None,
    code: str = "",
) -> Facts:
    """One line of a dry-run digest."""
    item: Facts = encode(
        {
            "subject": named(subject),
            "do": do,
            "policy": policy,
            "price": price,
            "owner": owner,
            "since": since,
            "code": code,
        }
    )
    return item


def dry_run_digest_facts(
    *,
    items: Sequence[Facts],
    now: datetime,
    timezone: str,
    per_night: Sequence[Money] = (),
    links: Mapping[str, str] | None = None,
) -> Facts:
    """What would have been done since the last digest. ``per_night``: what it would save a night, per currency."""
    return document(
        NoticeKind.DIGEST, now, timezone, True, links,
        dedup=now.astimezone(ZoneInfo(timezone)).date().isoformat(),
        what="dry_run", items=list(items), per_night=list(per_night),
    )  # fmt: skip


def reminder_facts(
    *,
    owner: str,
    now: datetime,
    timezone: str,
    boxes: Sequence[Facts],
    tonight: Sequence[Money] = (),
    links: Mapping[str, str] | None = None,
) -> Facts:
    """The evening reminder of one owner; ``boxes`` come from :func:`reminder_box`."""
    return document(
        NoticeKind.REMINDER, now, timezone, False, links,
        dedup=now.astimezone(ZoneInfo(timezone)).date().isoformat(),
        owner=owner, boxes=list(boxes), tonight=list(tonight), morning=next_morning(now, timezone),
    )  # fmt: skip


def reminder_box(
    *,
    subject: Subject,
    activity: str,
    idle_for: timedelta | None = None,
    price: Money | None = None,
    tonight: Money | None = None,
) -> Facts:
    """One box of a reminder. ``activity`` ∈ active, idle, unknown; ``tonight``: its cost until the morning."""
    item: Facts = encode(
        {
            "subject": named(subject),
            "activity": activity,
            "idle_for": idle_for,
            "price": price,
            "tonight": tonight,
        }
    )
    return item


def report_facts(
    *,
    name: str,
    period: str,
    start: datetime,
    end: datetime,
    now: datetime,
    timezone: str,
    numbers: Mapping[str, object],
    command: str = "",
    changes: Sequence[Mapping[str, object]] | None = None,
    was: object = None,
    attachment: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """A report in eight lines. ``period`` ∈ month, week; ``numbers`` and ``changes`` as :mod:`costguard.engine.report`
    gives them; ``changes`` are told by the final one that revises a draft, whose amount ``was``. ``command`` shows the
    whole report. ``attachment`` (``name``, ``type``, ``content``) goes with e-mail only."""
    stage = "revised" if changes is not None else str(numbers["stage"])
    return document(
        NoticeKind.REPORT, now, timezone, False, links,
        dedup=f"{name} {start.isoformat()} {stage}",
        name=name, period=period, start=start, end=end, stage=stage, command=command, was=was,
        changes=None if changes is None else list(changes), attachment=attachment,
        **{key: value for key, value in numbers.items() if key != "stage"},
    )  # fmt: skip


def test_facts(*, channel: str, now: datetime, timezone: str) -> Facts:
    """What ``costguard notify test`` sends."""
    return document(NoticeKind.TEST, now, timezone, False, None, dedup=now.isoformat(), channel=channel)
