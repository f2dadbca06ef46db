"""Actions: one row per ladder, persisted, from the first warning to the confirmed stop.

A ladder belongs to (policy, its content hash, subject, threshold, started_at). The row is the truth:
a process that dies anywhere finds here what it was about to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Evidence, Finding, Subject, fingerprint
from costguard.domain.money import Money


class ActionState(StrEnum):
    PROPOSED = "proposed"
    WARNED = "warned"
    DEFERRED = "deferred"
    VALIDATING = "validating"
    PREPARING = "preparing"
    REVALIDATING = "revalidating"
    EXECUTING = "executing"
    IN_DOUBT = "in_doubt"
    VERIFYING = "verifying"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    RECORDED = "recorded"

    @property
    def terminal(self) -> bool:
        """Never left again. RECORDED is a dry run's resting state: updated, never executed."""
        return self in _TERMINAL

    @property
    def in_flight(self) -> bool:
        """Holds the resource's slot (one per resource) and counts against limits."""
        return self in IN_FLIGHT


_TERMINAL = frozenset({ActionState.DONE, ActionState.FAILED, ActionState.CANCELLED, ActionState.SUPERSEDED})
IN_FLIGHT = frozenset(
    {
        ActionState.VALIDATING, ActionState.PREPARING, ActionState.REVALIDATING,
        ActionState.EXECUTING, ActionState.IN_DOUBT, ActionState.VERIFYING,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """The ladder of one finding. All times aware UTC.

    ``held_since`` first cycle in which the finding held · ``warned_at`` confirmed delivery of the
    ladder's first warning (dry run: the recorded time) · ``rung`` index of the next rung in the
    policy's ``respond`` · ``due_at`` when the next acting rung is due · ``retry_at`` after a failure ·
    ``deadline`` of the state it is in (hook, verification) · ``token`` request token of the call,
    set when executing is committed · ``lease_token`` fencing token of the leader that executes ·
    ``clear_count`` consecutive cycles with new data in which the finding no longer held ·
    ``version`` compare-and-swap · ``dry_run`` whether this ladder only records.
    ``warning_id`` is the notice whose delivery starts the grace. ``hastened_at`` when a person asked for it at once.
    ``heard`` are the owners who were warned since the ladder (re)started, and when each of them was; the last is the
    one whose warning the grace counts from.
    """

    id: str
    policy: str
    policy_hash: str
    rule: str
    subject: Subject
    threshold: str
    started_at: datetime | None
    response: Response
    state: ActionState
    dry_run: bool
    since: datetime
    held_since: datetime
    created_at: datetime
    updated_at: datetime
    evidence: Evidence = field(default_factory=dict)
    waste_per_hour: Money | None = None
    rung: int = 0
    warned_at: datetime | None = None
    warning_id: str | None = None
    due_at: datetime | None = None
    retry_at: datetime | None = None
    deadline: datetime | None = None
    attempt: int = 0
    token: str | None = None
    lease_token: int | None = None
    executed_at: datetime | None = None
    ended_at: datetime | None = None
    clear_count: int = 0
    last_sample_at: datetime | None = None
    code: GuardCode = GuardCode.NOT_DUE
    reason: str = ""
    error: str | None = None
    hook_run: str | None = None
    hook_started_at: datetime | None = None
    hook_output: str | None = None
    approved_by: str | None = None
    hastened_at: datetime | None = None
    disputed_by: str | None = None
    heard: Mapping[str, datetime] = field(default_factory=dict)
    version: int = 0

    @property
    def fingerprint(self) -> str:
        """Equal to the fingerprint of the finding that it answers."""
        return fingerprint(self.policy, self.policy_hash, self.subject, self.threshold, self.started_at)

    def finding(self) -> Finding:
        """The finding as last seen."""
        return Finding(
            self.policy, self.policy_hash, self.rule, self.subject, self.since, self.evidence,
            self.waste_per_hour, self.started_at, self.threshold,
        )  # fmt: skip
