"""quota: what an account may have of something, nearly used up: the next job would not start."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome, Subject, SubjectType
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.rules.fields import Percent
from costguard.rules.globs import glob
from costguard.rules.kind import RuleKind, Words
from costguard.rules.policy import Texts, When

FRESH = timedelta(hours=24)


class QuotaWhen(When):
    """Each quota of each region is told by itself. Unknown use is not zero use."""

    used_above: Percent | None = Field(None, le=100, description="tell when more of it is used")
    free_below: float | None = Field(None, gt=0, description="tell when less of it is free, in the quota's own unit")
    names: Texts | None = Field(None, description="only these quotas; globs on the provider's names")

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.used_above is None and self.free_below is None:
            raise ValueError("quota needs used_above or free_below")
        return self


def judge(when: QuotaWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    fits = glob(when.names, fold=True).match if when.names is not None else None
    for quota in snapshot.quotas:
        if fits is None or fits(quota.name) is not None:
            yield _one(when, quota, snapshot)


def _one(when: QuotaWhen, quota: QuotaFact, snapshot: Snapshot) -> Judgement:
    facts = snapshot.accounts.get(quota.account)
    subject = Subject(
        SubjectType.SERVICE, f"{quota.region}/{quota.name}", quota.account, facts.provider if facts else "",
        quota.region, name=quota.name,
    )  # fmt: skip
    evidence: dict[str, EvidenceValue] = {
        "quota": quota.name, "region": quota.region, "limit": quota.limit, "used": quota.used, "unit": quota.unit,
        "observed_at": quota.observed_at,
    }  # fmt: skip
    if snapshot.now - quota.observed_at > FRESH:
        return Judgement(subject, Outcome.UNKNOWN, "quota_stale", None, evidence)
    if quota.used is None:
        return Judgement(subject, Outcome.UNKNOWN, "use_unknown", None, evidence)
    if quota.limit <= 0:
        return Judgement(subject, Outcome.CLEAR, "nothing_granted", None, evidence)
    share, free = quota.used / quota.limit, quota.limit - quota.used
    evidence |= {"share": round(share, 4), "free": free}
    if when.used_above is not None and share * 100 > when.used_above:
        return Judgement(subject, Outcome.FIRES, "used_above", quota.observed_at, evidence)
    if when.free_below is not None and free < when.free_below:
        return Judgement(subject, Outcome.FIRES, "free_below", quota.observed_at, evidence)
    return Judgement(subject, Outcome.CLEAR, "enough", None, evidence)


QUOTA = RuleKind(
    name="quota",
    when=QuotaWhen,
    judge=judge,
    subject=SubjectType.SERVICE,
    may_stop=False,
    repeat_after=timedelta(hours=24),
    capabilities=lambda when: frozenset({"quota"}),
    title=Words("Quota is nearly used up", "配额将满"),
    summary=Words(
        "A quota of which more than a share is used, or less than an amount is free. Use that the provider does not "
        "tell is unknown.",
        "配额使用超过一定比例，或剩余低于一定数量。云厂商未提供已用量时视为未知。",
    ),
    example="""\
policies:
  - name: room-for-the-next-job
    rule: quota
    when: {used_above: 80%, free_below: 8, names: ["*gpu*", "*P instances*"]}
    respond:
      - {do: notify, to: [ops]}
""",
)
