"""balance: prepaid money of an account that does not last long at what runs now."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from costguard.domain.charge import Balance
from costguard.domain.finding import EvidenceValue, Judgement, Outcome, Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import Calendar, local_midnight
from costguard.rules.burn import behind, billed_per_hour
from costguard.rules.currency import Rates
from costguard.rules.fields import Duration, MoneyText
from costguard.rules.kind import RuleKind, Words
from costguard.rules.policy import When

FRESH = timedelta(hours=24)
_DAY = timedelta(days=1)
_LONGEST = 31
_FEEDS = ("inventory",)
_DECADE = 3650 * 86_400  # seconds
_PAID = frozenset({ChargeType.PREPAID, ChargeType.RESERVED, ChargeType.OWNED})


def _country(value: object) -> object:
    """``true`` is China, whose clouds are prepaid."""
    return "CN" if value is True else None if value is False else value


Country = Annotated[
    Annotated[str, Field(pattern=r"^[A-Z]{2}$")] | None,
    BeforeValidator(_country),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^[A-Z]{2}$"}, {"type": "null"}]}),
]


class BalanceWhen(When):
    """Today's burn is what everything costs per hour that runs now and is not paid for already."""

    days_left_below: Duration | None = Field(None, gt=timedelta(), description="tell when it lasts less than this")
    amount_below: MoneyText | None = Field(None, description="tell when less than this is left")
    cover_holidays: Country = Field(None, description="true, or a country code: rest days must be covered too")

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.days_left_below is None and self.amount_below is None:
            raise ValueError("balance needs days_left_below or amount_below")
        if self.cover_holidays is not None and self.days_left_below is None:
            raise ValueError("cover_holidays needs days_left_below")
        return self


def judge(when: BalanceWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    running: dict[str, list[Resource]] = {}
    for resource in snapshot.resources.values():
        if resource.charge_type not in _PAID:
            running.setdefault(resource.ref.account, []).append(resource)
    for balance in snapshot.balances:
        yield _one(when, balance, running.get(balance.account, []), snapshot, rates)


def _one(
    when: BalanceWhen, balance: Balance, resources: Sequence[Resource], snapshot: Snapshot, rates: Rates
) -> Judgement:
    now = snapshot.now
    usable = balance.available - balance.frozen if balance.frozen is not None else balance.available
    burns = [burn for r in resources if (burn := billed_per_hour(r))]
    known = [money for burn in burns if (money := rates.into(burn, usable.currency, now)) is not None]
    burn = sum(known, Money.zero(usable.currency))
    lasts = _lasts(usable, burn)
    evidence: dict[str, EvidenceValue] = {
        "available": usable, "frozen": balance.frozen, "burn_per_day": burn.per_hour_for(_DAY), "days_left": lasts,
        "empty_at": now + lasts if lasts is not None else None, "amount_below": when.amount_below,
        "unpriced": sum(1 for r in resources if r.is_running and r.price is None), "observed_at": balance.observed_at,
    }  # fmt: skip
    if now - balance.observed_at > FRESH:
        return _judged(balance, snapshot, Outcome.UNKNOWN, "balance_stale", evidence)
    if when.amount_below is not None:
        least = rates.into(when.amount_below, usable.currency, now)
        if least is None:
            return _judged(balance, snapshot, Outcome.UNKNOWN, "no_rate", evidence)
        if usable < least:
            return _judged(balance, snapshot, Outcome.FIRES, "amount_low", evidence, burn)
    if when.days_left_below is not None:
        until = _covered(now + when.days_left_below, when, snapshot)
        evidence["needed_until"] = until
        if lasts is not None and now + lasts < until:
            return _judged(balance, snapshot, Outcome.FIRES, "days_low", evidence, burn)
        if len(known) < len(burns):
            return _judged(balance, snapshot, Outcome.UNKNOWN, "no_rate", evidence)
        if evidence["unpriced"] or behind(snapshot, {balance.account}, _FEEDS):
            # It burns more than is known of: that it lasts cannot be told.
            return _judged(balance, snapshot, Outcome.UNKNOWN, "burn_unknown", evidence)
    return _judged(balance, snapshot, Outcome.CLEAR, "enough", evidence)


def _lasts(usable: Money, burn: Money) -> timedelta | None:
    """How long it lasts, at most ten years; None when nothing is burnt."""
    if burn.nanos <= 0:
        return None
    seconds = max(0, usable.nanos) * 3600 // burn.nanos
    return timedelta(seconds=min(seconds, _DECADE))


def _covered(until: datetime, when: BalanceWhen, snapshot: Snapshot) -> datetime:
    """``until``, or the end of the rest days that it falls into: nobody tops up then."""
    if when.cover_holidays is None:
        return until
    zone = ZoneInfo(snapshot.timezone)
    calendar: Calendar = snapshot.calendars.get(when.cover_holidays)
    day = until.astimezone(zone).date()
    for _ in range(_LONGEST):
        if calendar.is_workday(day):
            break
        day += _DAY
        until = local_midnight(day, zone)
    return until


def _judged(
    balance: Balance,
    snapshot: Snapshot,
    outcome: Outcome,
    reason: str,
    evidence: dict[str, EvidenceValue],
    burn: Money | None = None,
) -> Judgement:
    facts = snapshot.accounts.get(balance.account)
    provider = facts.provider if facts is not None else ""
    subject = Subject(SubjectType.ACCOUNT, balance.account, balance.account, provider, name=balance.account)
    since = balance.observed_at if outcome is Outcome.FIRES else None
    return Judgement(subject, outcome, reason, since, evidence, burn or None)


BALANCE = RuleKind(
    name="balance",
    when=BalanceWhen,
    judge=judge,
    subject=SubjectType.ACCOUNT,
    may_stop=False,
    repeat_after=timedelta(hours=24),
    capabilities=lambda when: frozenset({"balance"}),
    title=Words("Balance is low", "余额不足"),
    summary=Words(
        "Prepaid money of an account, without what is frozen, that does not last long at what runs now, or through the "
        "rest days that follow. An account that runs dry is stopped by its provider, and may lose its data.",
        "账户余额（扣除冻结金额）按当前消耗撑不了多久，或撑不过接下来的假期。欠费会被云厂商停机，甚至丢失数据。",
    ),
    example="""\
policies:
  - name: top-up
    rule: balance
    when: {days_left_below: 3d, amount_below: "500 CNY", cover_holidays: true}
    respond:
      - {do: notify, to: [ops]}
""",
)
