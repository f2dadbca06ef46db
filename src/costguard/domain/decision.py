"""Decisions and verdicts: what we would do, and what the guards say to it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from costguard.domain.finding import Finding, Subject


class Response(StrEnum):
    """What a rung does (``do:`` in a policy)."""

    NOTIFY = "notify"
    WARN = "warn"
    STOP = "stop"
    RELEASE = "release"
    TAG = "tag"
    SET_RELEASE_TIME = "set_release_time"
    RUN = "run"

    @property
    def acts(self) -> bool:
        """Whether it changes something at the provider (a notice changes nothing)."""
        return self not in (Response.NOTIFY, Response.WARN)

    @property
    def ends_billing(self) -> bool:
        return self in (Response.STOP, Response.RELEASE)

    @property
    def ends_box(self) -> bool:
        """Whether the box ends by it, now or by the provider's timer."""
        return self.ends_billing or self is Response.SET_RELEASE_TIME


class Answer(StrEnum):
    ALLOW = "allow"
    DEFER = "defer"
    DENY = "deny"


class GuardCode(StrEnum):
    """Why a verdict is what it is; also a metric label. The order is the guards' order."""

    OK = "ok"
    STALE = "stale"
    PROTECTED = "protected"
    FENCED = "fenced"
    SELF = "self"
    BUSY = "busy"
    UNKNOWN = "unknown"
    GROUP_MEMBER = "group_member"
    UNSUPPORTED = "unsupported"
    SAVES_NOTHING = "saves_nothing"
    LOSES_DATA = "loses_data"
    TOO_YOUNG = "too_young"
    COOLDOWN = "cooldown"
    OUTSIDE_HOURS = "outside_hours"
    NOT_WARNED = "not_warned"
    NOT_DUE = "not_due"
    LIMIT = "limit"
    INVENTORY = "inventory"
    APPROVAL = "approval"
    PAUSED = "paused"
    LEASE = "lease"
    NOT_ARMED = "not_armed"
    DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The guards' answer. ``until`` is set for a defer that ends at a known time (aware UTC).

    ``reason`` is one plain English sentence for logs, JSON and ``explain``; messages to people are
    rendered from ``code`` in their language. ``never``: the guard that denies it even when its time has come,
    as things are, of a dry run whose answer before that is ``not_due``.
    """

    answer: Answer
    code: GuardCode
    reason: str = ""
    until: datetime | None = None
    never: GuardCode | None = None


ALLOW = Verdict(Answer.ALLOW, GuardCode.OK)


@dataclass(frozen=True, slots=True)
class Decision:
    """What one ladder would do next, with the guards' verdict. ``due_at`` None: not known yet. ``dry_run``: it only
    records."""

    finding: Finding
    action_id: str
    response: Response
    rung: int
    verdict: Verdict
    due_at: datetime | None = None
    dry_run: bool = False

    @property
    def subject(self) -> Subject:
        return self.finding.subject

    @property
    def policy(self) -> str:
        return self.finding.policy
