"""Walking one ladder by one cycle: which notices are due, and what the guards say to its next acting rung.

Knows one ladder at a time. Limits and other policies on the same resource are the plan's business.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from costguard.domain.action import Action, ActionState
from costguard.domain.copies import copy_with
from costguard.domain.decision import ALLOW, Answer, GuardCode, Response, Verdict
from costguard.domain.finding import Finding
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import format_duration
from costguard.engine.evaluate import Prepared
from costguard.engine.guard import Case, answer_of, defer, deny, guard, opening_of, promised
from costguard.engine.ladder import Ladder, restarted
from costguard.engine.notices import NoticeRequest, refused, request
from costguard.engine.ownership import whose
from costguard.engine.protection import protection_of
from costguard.engine.settings import EngineSettings
from costguard.engine.steps import Passed, is_step, story

NewId = Callable[[], str]

# A stop that one of these forbids is not announced: the warning waits.
HUSH = (
    GuardCode.STALE, GuardCode.PROTECTED, GuardCode.FENCED, GuardCode.SELF, GuardCode.COOLDOWN,
    GuardCode.INVENTORY, GuardCode.PAUSED, GuardCode.LEASE,
)  # fmt: skip
# A stop that one of these forbids will never come: people get advice in place of a warning.
ADVISE = (GuardCode.GROUP_MEMBER, GuardCode.UNSUPPORTED, GuardCode.SAVES_NOTHING, GuardCode.LOSES_DATA)


@dataclass(slots=True)
class Walk:
    """One ladder in one cycle. ``action`` is the row as it is to be stored; ``before`` as it was, None if new.

    ``dry`` is the effective dry run's code. ``verdict`` is the guards' answer to the acting rung ``acting`` (None: the
    ladder only tells), without the limits. ``passed`` are rungs that a higher step of the same budget tells as well.
    """

    finding: Finding
    ready: Prepared
    ladder: Ladder
    action: Action
    before: Action | None
    resource: Resource | None
    dry: GuardCode | None
    snapshot: Snapshot
    settings: EngineSettings
    new_id: NewId
    acting: int | None = None
    due_at: datetime | None = None
    verdict: Verdict = ALLOW
    passed: Passed = field(default_factory=dict)
    notices: list[NoticeRequest] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)

    @property
    def response(self) -> Response:
        return self.ladder.response(self.action.rung)

    @property
    def candidate(self) -> bool:
        """Whether everything but limits and other policies allows the acting rung now."""
        if self.acting is None or (self.dry is not None and self.action.ended_at is not None):
            return False
        return self.verdict.answer is Answer.ALLOW if self.dry is None else self.verdict.code is self.dry

    @property
    def warning_too_old(self) -> bool:
        """Whether the announced time has passed for so long that people no longer expect it."""
        if self.acting is None or self.due_at is None or not self.ladder.warned_before(self.acting):
            return False
        return self.snapshot.now > self.due_at + self.settings.warning_life

    def case(self, index: int) -> Case:
        account = self.snapshot.accounts.get(self.finding.subject.account)
        return Case(
            self.ready, self.finding, self.action, self.ladder.rungs[index], self.ladder.due(self.action, index),
            self.ladder.warned_before(index), self.resource, account, self.snapshot, self.settings, self.dry,
        )  # fmt: skip

    def restart(self) -> None:
        """Because only the warning's age asks for it, an approval stays."""
        self.action = restarted(self.action, self.snapshot.now, approved=True)
        self.step()

    def step(self) -> None:
        """Emits what is due up to the next acting rung and asks the guards about that one."""
        self.acting = self.ladder.next_acting(self.action.rung)
        waits = self._tell()
        self.acting = self.ladder.next_acting(self.action.rung)
        if self.acting is None:
            self.due_at = None
            self.verdict = deny(self.dry, "dry run") if self.dry else ALLOW
            self._repeat()
            return
        self.due_at = self.ladder.due(self.action, self.acting)
        self.verdict = waits or guard(self.case(self.acting))
        if self.dry is None:
            self._tell_of_verdict()

    def _tell(self) -> Verdict | None:
        """Notices up to the next acting rung. A verdict: the first warning waits for the policy's hours."""
        now = self.snapshot.now
        while self.action.rung < len(self.ladder.rungs):
            index = self.action.rung
            rung, due = self.ladder.rungs[index], self.ladder.due(self.action, index)
            if rung.do.acts or due is None or due > now:
                return None
            if rung.do is Response.WARN and self.acting is not None:
                if index == self.ladder.first_warning and self.action.warned_at is None:
                    waits = self._first_warning(index)
                    if self.action.warned_at is None:
                        return waits
                elif index != self.ladder.first_warning:
                    self._warn_again(index)
            elif index in self.passed:
                step = f"{self.ready.policy.name} {self.finding.threshold}"
                what = f"{step} is told with {self.passed[index]}, which was reached at the same time"
                self._line(LedgerKind.SYSTEM, what)
            elif self.dry is not None:
                self._line(LedgerKind.RECORDED, "would notify")
            else:
                self._notice(NoticeKind.NOTIFY, self._about(index), rung=rung, to=rung.to or ())
            self.action = copy_with(self.action, rung=index + 1)
        return None

    def _about(self, index: int) -> str:
        """A budget's step is told once, whatever rung tells it after an edit of the policy."""
        after = self.ladder.rungs[index].after or timedelta()
        return f"after {format_duration(after)}" if is_step(self.finding) else f"rung{index}"

    def _first_warning(self, index: int) -> Verdict | None:
        acting = self.ladder.announced(index)
        assert acting is not None, "a first warning announces something"
        case = self.case(acting)
        if answer_of(case, GuardCode.PAUSED) is not None:
            return None
        grace = self.ladder.grace(acting)
        opening = opening_of(self.ready.policy, self.snapshot, self.settings, self.snapshot.now + grace)
        if opening is None or opening > self.snapshot.now + grace:
            until = None if opening is None else opening - grace
            waits = defer(GuardCode.OUTSIDE_HOURS, "the warning waits for the policy's only_during", until)
            return promised(case, waits, opening)
        if self.dry is not None:
            # A dry run's warning is recorded, and counts as delivered.
            self.action = copy_with(self.action, warned_at=self.snapshot.now, heard=self._heard())
            never = _never(case)
            what = (
                f"would advise: {never.reason}"
                if never
                else f"would warn: {self.response.value} in {format_duration(grace)}"
            )
            self._line(LedgerKind.RECORDED, what)
            return None
        rung = self.ladder.rungs[index]
        if self.action.warning_id is not None or _hushed(case):
            return None
        to = rung.to or ()
        if (never := _never(case)) is not None:
            if self.action.code is not never.code:
                about = f"advice:{never.code.value}"
                self._notice(NoticeKind.NOTIFY, about, rung=rung, to=to, code=never.code, reason=never.reason)
            return None
        do = self.ladder.rungs[acting].do
        timer = self.ladder.release_after()
        told = self._notice(NoticeKind.WARN, f"rung{index}", rung=rung, to=to, due_in=grace, do=do, release_in=timer)
        self.action = copy_with(self.action, warning_id=told.id, heard=self._heard())
        return None

    def _heard(self) -> Mapping[str, datetime]:
        """Who has been warned once this warning is out."""
        owner = whose(self.resource, self.snapshot) if self.resource is not None else None
        return self.action.heard if owner is None else {**self.action.heard, owner: self.snapshot.now}

    def _warn_again(self, index: int) -> None:
        acting, warned_at = self.ladder.announced(index), self.action.warned_at
        assert acting is not None, "called for a ladder that acts"
        assert warned_at is not None, "the first warning was delivered"
        due, timer = self.ladder.due(self.action, acting), self.ladder.release_after()
        rung = self.ladder.rungs[index]
        if self.dry is not None:
            self._line(LedgerKind.RECORDED, "would warn again")
        elif due is not None and due > self.snapshot.now and not _hushed(self.case(acting)):
            self._notice(
                NoticeKind.WARN, f"rung{index}", rung=rung, to=rung.to or (), due_at=due, not_after=due,
                do=self.ladder.rungs[acting].do,
                release_in=None if timer is None else warned_at + timer - self.snapshot.now,
            )  # fmt: skip

    def _repeat(self) -> None:
        """A ladder whose rungs are all told is told again every ``repeat``, for as long as it holds."""
        repeat, now = self._repeats_after(), self.snapshot.now
        if self.dry is not None or self.action.rung < len(self.ladder.rungs):
            return
        if self.action.due_at is None:
            self.action = copy_with(self.action, due_at=None if repeat is None else now + repeat)
        elif repeat is not None and now >= self.action.due_at:
            rung = self.ladder.rungs[-1]
            about = f"repeat:{now:%Y%m%dT%H%M%S}"
            self._notice(NoticeKind.NOTIFY, about, rung=rung, to=rung.to or (), repeat=True)
            self.action = copy_with(self.action, due_at=now + repeat)

    def _repeats_after(self) -> timedelta | None:
        """The longer of what the configuration and the rule say; None is never."""
        least, usual = self.ready.kind.repeat_after, self.settings.repeat
        return None if least is None or usual is None else max(least, usual)

    def _tell_of_verdict(self) -> None:
        """What people must hear because of a guard's answer; once per answer."""
        code = self.verdict.code
        if code is self.action.code or self.acting is None:
            return
        rung = self.ladder.rungs[self.acting]
        first = self.ladder.first_warning
        to = (self.ladder.rungs[first].to if first is not None else rung.to) or ()
        if code is GuardCode.APPROVAL:
            self._notice(NoticeKind.APPROVAL, f"approve{self.acting}", rung=rung, to=to, code=code, due_at=self.due_at)
        elif code is GuardCode.COOLDOWN:
            self._notice(NoticeKind.NOTIFY, "cooldown", rung=rung, to=to, code=code, reason=self.verdict.reason)
        elif code is GuardCode.PROTECTED and self.resource is not None:
            found = protection_of(self.resource, self.snapshot)
            if found is not None and found.malformed:
                about = f"tag:{found.raw}"
                self._notice(NoticeKind.NOTIFY, about, rung=rung, to=("owner", *to), code=code, reason=found.why)

    def _notice(self, kind: NoticeKind, about: str, **fields: object) -> NoticeRequest:
        told = request(
            self.action, self.finding, kind, self.new_id(), about,
            price=self.resource.price if self.resource else None, now=self.snapshot.now,
            story=story(self.ready.policy, self.finding) if is_step(self.finding) else "",
            **{"do": self.response, **fields},
        )  # fmt: skip
        self.notices.append(told)
        return told

    def _line(self, kind: LedgerKind, text: str) -> None:
        action = self.action
        code = self.verdict.code.value if kind in (LedgerKind.REFUSED, LedgerKind.DEFERRED) else None
        self.ledger.append(
            LedgerEntry(
                self.snapshot.now, kind, action.subject, text, "costguard", action.id, action.policy, code,
                self.finding.waste_per_hour if kind in (LedgerKind.FINDING, LedgerKind.RECORDED) else None,
                self.finding.evidence if kind is LedgerKind.FINDING else {},
            )
        )  # fmt: skip

    def passed_on(self, owner: str) -> None:
        """The ledger line of a ladder that starts again for another owner."""
        self._line(LedgerKind.SYSTEM, f"its owner is now {owner}, who was not warned yet: it starts again")

    def opened(self) -> None:
        """The ledger line of a new ladder."""
        self._line(LedgerKind.FINDING, f"found by {self.ready.policy.name} (rule {self.ready.kind.name})")

    def recorded(self) -> None:
        """A dry run has come to where a real ladder would act; told once."""
        self.action = copy_with(self.action, ended_at=self.snapshot.now)
        self._line(LedgerKind.RECORDED, f"would {self.response.value}")

    def settle(self) -> Action:
        """The row with this cycle's verdict, and a ledger line when the answer is another than before."""
        verdict, action = self.verdict, self.action
        if self.acting is not None and verdict.code is not action.code and verdict.answer is not Answer.ALLOW:
            kind = LedgerKind.REFUSED if verdict.answer is Answer.DENY else LedgerKind.DEFERRED
            self._line(kind, verdict.reason)
        self._tell_who_asked()
        self.action = copy_with(
            action,
            state=self._state(),
            response=self.response,
            code=verdict.code,
            reason=verdict.reason,
            due_at=self.due_at if self.acting is not None else action.due_at,
            updated_at=self.snapshot.now,
        )
        return self.action

    def _tell_who_asked(self) -> None:
        """A stop that somebody asked for at once does not come: because of a guard, or as people are warned anew."""
        row, verdict = self.before, self.verdict
        if row is None or row.hastened_at is None or verdict.answer is Answer.ALLOW:
            return
        if self.action.hastened_at is None or verdict.code not in (row.code, GuardCode.NOT_DUE, GuardCode.NOT_WARNED):
            price, now = self.resource.price if self.resource else None, self.snapshot.now
            self.notices.append(refused(row, verdict, self.new_id(), price=price, now=now))

    def _state(self) -> ActionState:
        if self.dry is not None:
            return ActionState.RECORDED
        if self.acting is None:
            return ActionState.WARNED if self.action.rung else ActionState.PROPOSED
        now = self.snapshot.now
        waiting = self.due_at is None or self.due_at > now
        if not waiting or (self.action.retry_at is not None and self.action.retry_at > now):
            return ActionState.DEFERRED
        return ActionState.WARNED if self.action.warned_at is not None else ActionState.PROPOSED


def _never(case: Case) -> Verdict | None:
    """The first guard that will never let this rung act."""
    return next((never for code in ADVISE if (never := answer_of(case, code)) is not None), None)


def _hushed(case: Case) -> bool:
    return any(answer_of(case, code) is not None for code in HUSH)
