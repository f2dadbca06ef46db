"""Ladders: which rungs a subject has, and when each of them is due.

``after`` counts from the confirmed delivery of the first warning; without a warning, and up to it, from the
first cycle in which the finding held.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import FORECAST
from costguard.domain.copies import copy_with
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import SubjectType
from costguard.rules.lifetime import LifetimeWhen
from costguard.rules.policy import Policy, Rung

RELEASE_MARGIN = timedelta(hours=24)


def rungs_for(policy: Policy, rule: SubjectType, subject: SubjectType, threshold: str) -> tuple[Rung, ...]:
    """The rungs of one subject's ladder, in order; empty when none is for it.

    ``rule`` is the rule's own subject type. A rung with ``at`` answers its step alone; an acting rung never
    answers a forecast. The rule's own subject, when it is no resource, hears the notices; the resources that
    it speaks of get the warnings and what follows them.
    """
    fitting = [rung for rung in _rungs(policy) if _fits(rung, threshold)]
    acts = any(rung.do.acts for rung in fitting)
    if rule is SubjectType.RESOURCE:
        return tuple(fitting)
    if subject is SubjectType.RESOURCE:
        return tuple(r for r in fitting if r.do.acts or r.do is Response.WARN) if acts else ()
    told = (Response.NOTIFY,) if acts else (Response.NOTIFY, Response.WARN)
    return tuple(rung for rung in fitting if rung.do in told)


def _rungs(policy: Policy) -> tuple[Rung, ...]:
    """``respond``, with the provider-side timer of a lifetime's ``backstop`` right after its first warning."""
    when = policy.when
    if not (isinstance(when, LifetimeWhen) and when.backstop):
        return policy.respond
    timer = Rung.model_validate({"do": "set_release_time", "in": RELEASE_MARGIN})
    first = next((i + 1 for i, rung in enumerate(policy.respond) if rung.do is Response.WARN), 0)
    return (*policy.respond[:first], timer, *policy.respond[first:])


def _fits(rung: Rung, threshold: str) -> bool:
    if rung.at is not None:
        return threshold == f"{rung.at:g}%"
    return not (rung.do.acts and threshold.startswith(FORECAST))


@dataclass(frozen=True)
class Ladder:
    """The rungs of one subject, with the questions that planning asks of them."""

    rungs: tuple[Rung, ...]

    @cached_property
    def _acting(self) -> tuple[int, ...]:
        return tuple(index for index, rung in enumerate(self.rungs) if rung.do.acts)

    @cached_property
    def first_warning(self) -> int | None:
        """The warning whose delivery starts the clock: the first with a rung behind it that acts."""
        for index, rung in enumerate(self.rungs):
            if rung.do is Response.WARN and self.next_acting(index) is not None:
                return index
        return None

    def next_acting(self, start: int) -> int | None:
        """The first rung at or after ``start`` that changes something."""
        return next((index for index in self._acting if index >= start), None)

    def warned_before(self, index: int) -> bool:
        """Whether a warning comes before rung ``index``."""
        first = self.first_warning
        return first is not None and first < index

    def due(self, action: Action, index: int) -> datetime | None:
        """When rung ``index`` is due; None while the warning that it counts from is not delivered.

        What a person asked for at once is due then: that is about what acts, not about what is told.
        """
        start = action.warned_at if self.warned_before(index) else action.held_since
        if start is None:
            return None
        due = start + (self.rungs[index].after or timedelta())
        hastened = action.hastened_at if self.rungs[index].do.acts else None
        return due if hastened is None else min(due, hastened)

    def grace(self, index: int) -> timedelta:
        """From the first warning's delivery to rung ``index``."""
        return self.rungs[index].after or timedelta()

    def response(self, rung: int) -> Response:
        """What the ladder is about at ``rung``: its next acting rung's word, else that it tells."""
        index = self.next_acting(rung)
        if index is not None:
            return self.rungs[index].do
        return self.rungs[-1].do if self.rungs[-1].do.acts else Response.NOTIFY

    def announced(self, start: int) -> int | None:
        """What a warning at ``start`` speaks of: the first rung behind it that acts; a release timer that comes before
        another one that acts is only named beside it."""
        index = self.next_acting(start)
        while index is not None and self.rungs[index].do is Response.SET_RELEASE_TIME:
            later = self.next_acting(index + 1)
            if later is None:
                break
            index = later
        return index

    def release_after(self) -> timedelta | None:
        """How long after the first warning the provider's timer releases the box; None where the ladder sets none."""
        timer = next((rung for rung in self.rungs if rung.do is Response.SET_RELEASE_TIME), None)
        if timer is None:
            return None
        return max(self.grace(index) for index in self._acting) + max(timer.delay or RELEASE_MARGIN, RELEASE_MARGIN)

    def release_at(self, action: Action, index: int, now: datetime) -> datetime:
        """The moment for the provider's timer: ``in`` after the last thing due, at least 24 h."""
        dues = [due for i, rung in enumerate(self.rungs) if rung.do.acts and (due := self.due(action, i))]
        delay = self.rungs[index].delay or RELEASE_MARGIN
        return max([*dues, now]) + max(delay, RELEASE_MARGIN)

    def timer_before(self, rung: int) -> bool:
        """Whether a ladder that has come to ``rung`` has set the provider's release timer."""
        return any(done.do is Response.SET_RELEASE_TIME for done in self.rungs[:rung])

    @property
    def ascends(self) -> bool:
        """Whether no rung is due before the one above it."""
        afters = [rung.after or timedelta() for rung in self.rungs]
        return all(a <= b for a, b in pairwise(afters))


def unheard(action: Action, ladder: Ladder, owner: str | None, life: timedelta, now: datetime) -> bool:
    """Whether the box is ``owner``'s now, and a stop would come without a warning of theirs.

    Who was warned before somebody else had the box is warned again only when that is as old as any warning may be
    (``life`` past its grace): tags that flap between the same people put nothing off for ever.
    """
    if owner is None or action.ended_at is not None or (action.warning_id is None and action.warned_at is None):
        return False
    heard = action.heard.get(owner)
    if heard is None or heard == max(action.heard.values()):
        return heard is None
    acting = ladder.next_acting(action.rung)
    return acting is not None and now > heard + ladder.grace(acting) + life


def reached(action: Action) -> dict[str, datetime]:
    """Whom a warning has reached; the last one may still be on its way."""
    heard = sorted(action.heard.items(), key=lambda one: one[1])
    return dict(heard if action.warned_at is not None else heard[:-1])


def restarted(
    action: Action, now: datetime, *, approved: bool = False, heard: Mapping[str, datetime] | None = None
) -> Action:
    """The ladder from its foot: a new, real warning and the full grace. Failed attempts are remembered.

    ``approved`` keeps a person's yes, for a restart that only the warning's age asks for; ``heard`` whom a warning has
    reached, for one that only another owner asks for.
    """
    return copy_with(
        action,
        state=ActionState.RECORDED if action.dry_run else ActionState.PROPOSED,
        rung=0,
        warned_at=None,
        warning_id=None,
        due_at=None,
        ended_at=None,
        held_since=now,
        approved_by=action.approved_by if approved else None,
        hastened_at=None,
        heard=heard or {},
        code=GuardCode.NOT_WARNED,
        updated_at=now,
    )
