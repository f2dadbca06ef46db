"""expiry: prepaid things that end soon, so that somebody decides whether to renew them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from pydantic import Field

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.resource import ChargeType, Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.rules.fields import Duration
from costguard.rules.kind import RuleKind, Words, judged
from costguard.rules.policy import When
from costguard.rules.spending import Period

AUTO_RENEW = "auto_renew"
"""Attribute of a prepaid resource: ``yes`` or ``no``; absent where the provider does not tell."""

_PREPAID = frozenset({ChargeType.PREPAID, ChargeType.RESERVED})


class ExpiryWhen(When):
    """The finding says how the cards were used in the last 30 days, as far as that was seen, and whether it renews."""

    prepaid_within: Duration = Field(timedelta(days=15), gt=timedelta(), description="what ends within this time")


def judge(when: ExpiryWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    month = Period.of("month", snapshot.now, ZoneInfo(snapshot.timezone))
    for resource in resources:
        yield _one(when, resource, snapshot, month)


def _one(when: ExpiryWhen, resource: Resource, snapshot: Snapshot, month: Period) -> Judgement:
    if resource.state in (State.GONE, State.DELETING):
        return judged(resource, Outcome.CLEAR, "gone")
    if resource.charge_type not in _PREPAID:
        unknown = resource.charge_type is ChargeType.UNKNOWN
        return judged(
            resource, Outcome.UNKNOWN if unknown else Outcome.CLEAR, "charge_type_unknown" if unknown else "not_prepaid"
        )  # fmt: skip
    if resource.expires_at is None:
        return judged(resource, Outcome.UNKNOWN, "expiry_unknown")
    left = resource.expires_at - snapshot.now
    renews = {"yes": True, "no": False}.get(resource.attributes.get(AUTO_RENEW, ""))
    evidence: dict[str, EvidenceValue] = {"expires_at": resource.expires_at, "left": left, "auto_renew": renews}
    if left > when.prepaid_within:
        return judged(resource, Outcome.CLEAR, "not_soon", evidence=evidence)
    evidence |= {"price": resource.price, "use_mean": snapshot.month_use.get(resource.ref)}
    if resource.price is not None:
        evidence["month_cost"] = resource.price.per_hour_for(month.end - month.start)
    since = resource.expires_at - when.prepaid_within
    return judged(resource, Outcome.FIRES, "expired" if left <= timedelta() else "soon", since=since, evidence=evidence)


EXPIRY = RuleKind(
    name="expiry",
    when=ExpiryWhen,
    judge=judge,
    may_stop=False,
    repeat_after=timedelta(days=3),
    title=Words("Expires soon", "即将到期"),
    summary=Words(
        "Prepaid boxes that end soon, with how they were used in the last 30 days and whether they renew by "
        "themselves. An end that the provider does not tell is unknown.",
        "即将到期的包年包月资源，附最近 30 天的使用情况与自动续费开关。云厂商未提供到期时间时视为未知。",
    ),
    example="""\
policies:
  - name: renewals
    rule: expiry
    match: {charge: [prepaid]}
    when: {prepaid_within: 15d}
    respond:
      - {do: notify, to: [owner, ops]}
""",
)
