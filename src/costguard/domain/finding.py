"""Findings: what a rule claims about a subject, with the evidence that people are shown."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.money import Money
from costguard.domain.resource import Resource, ResourceRef

# What JSON can hold, plus Money, aware datetimes and timedeltas.
EvidenceValue = str | int | float | bool | None | Money | datetime | timedelta | tuple["EvidenceValue", ...]
Evidence = Mapping[str, EvidenceValue]


class SubjectType(StrEnum):
    RESOURCE = "resource"
    ACCOUNT = "account"
    BUDGET = "budget"
    SERVICE = "service"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a finding is about. For a resource all fields are set; otherwise ``id`` names it."""

    type: SubjectType
    id: str
    account: str = ""
    provider: str = ""
    region: str = ""
    kind: str = ""
    name: str = field(default="", compare=False)

    @classmethod
    def of(cls, resource: Resource) -> "Subject":
        ref = resource.ref
        return cls(
            SubjectType.RESOURCE,
            ref.id,
            ref.account,
            ref.provider,
            ref.region,
            ref.kind.value,
            resource.name,
        )

    @property
    def key(self) -> str:
        """A stable text key, unique over all subjects."""
        if self.type is SubjectType.RESOURCE:
            return f"{self.provider}/{self.account}/{self.region}/{self.kind}/{self.id}"
        return f"{self.type.value}:{self.account}:{self.id}"

    @property
    def ref(self) -> ResourceRef | None:
        """The resource's ref; None for anything that is not a resource."""
        return ResourceRef.parse(self.key) if self.type is SubjectType.RESOURCE else None


class Outcome(StrEnum):
    """A rule's answer for one subject. UNKNOWN never fires and never clears."""

    FIRES = "fires"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A rule's whole answer for one subject, also when it does not fire (``explain`` shows it).

    ``reason`` is a stable code (``gpu_busy``, ``no_samples``, ``low_coverage`` …), ``since`` the start
    of what is claimed, ``waste_per_hour`` None when the price is unknown.
    ``threshold`` distinguishes the steps of one subject (budget 50 %, 80 %); empty otherwise.
    """

    subject: Subject
    outcome: Outcome
    reason: str
    since: datetime | None = None
    evidence: Evidence = field(default_factory=dict)
    waste_per_hour: Money | None = None
    started_at: datetime | None = None
    threshold: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A judgement that fires, bound to its policy.

    ``started_at`` is the resource's (its clocks restart there); ``fingerprint`` is the identity of the
    ladder: policy, policy hash, subject, threshold, started_at.
    """

    policy: str
    policy_hash: str
    rule: str
    subject: Subject
    since: datetime
    evidence: Evidence
    waste_per_hour: Money | None
    started_at: datetime | None
    threshold: str = ""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.policy, self.policy_hash, self.subject, self.threshold, self.started_at)


def fingerprint(policy: str, policy_hash: str, subject: Subject, threshold: str, started_at: datetime | None) -> str:
    """The identity of a ladder (24 hexadecimal digits)."""
    started = started_at.isoformat() if started_at else ""
    text = "\x1f".join((policy, policy_hash, subject.key, threshold, started))
    return hashlib.sha256(text.encode()).hexdigest()[:24]
