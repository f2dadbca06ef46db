"""What each button does, for somebody the configuration knows. The state of the ladder decides; it may be late.

A press that comes twice, after the stop, or under a message that is out of date is answered with what is the case.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from costguard.daemon import fleet, levers
from costguard.daemon.visit import FALSE_ALARM_HOLDS, UNTIL_IDLE_AT_MOST, Visit, name_of
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.press import Press, Reply
from costguard.domain.resource import Resource, State
from costguard.engine.activity import Activity
from costguard.notify.document import next_morning
from costguard.notify.story import clean
from costguard.store import power

START = Reply("")
"""The answer of a start that is still to be made."""

# What a hastened stop brings about or waits for by itself; every other answer of the last cycle is an obstacle.
_NO_OBSTACLE = frozenset({GuardCode.OK, GuardCode.NOT_DUE, GuardCode.NOT_WARNED, GuardCode.APPROVAL})


@dataclass(frozen=True, slots=True)
class Pressed:
    """One press on one ladder. ``resource`` is its box as last seen."""

    visit: Visit
    action: Action
    resource: Resource

    def answer(self, press: Press) -> Reply:
        """What came of it. START_AGAIN only says whether it may be: the call is the desk's."""
        if press is not Press.MINE and (refusal := self.visit.refused(self.resource)) is not None:
            return refusal
        return _DOES[press](self)

    def keep(self, span: timedelta) -> Reply:
        return self._late() or self.visit.keep(self.resource, self.visit.now + span, self.visit.speech.reason)

    def keep_until_morning(self) -> Reply:
        until = next_morning(self.visit.now, self.visit.settings.timezone)
        return self._late() or self.visit.keep(self.resource, until, self.visit.speech.reason)

    def when_idle(self) -> Reply:
        until = self.visit.now + min(UNTIL_IDLE_AT_MOST, self.visit.settings.keep_max)
        reason = self.visit.speech.reason
        return self._late() or self.visit.keep(self.resource, until, reason, until_idle=True)

    def stop_now(self) -> Reply:
        if (late := self._late() or self._kept() or self._over()) is not None:
            return late
        action, speech = self.action, self.visit.speech
        if action.dry_run or action.response is not Response.STOP:
            return _settled(speech.over(self._name))
        if not action.state.in_flight and (obstacle := self._obstacle()) is not None:
            return Reply(obstacle)
        if action.hastened_at is not None and action.approved_by is not None:
            return _settled(speech.already_asked(clean(action.approved_by), self._name))
        if action.state.in_flight:
            return _settled(speech.under_way(self._name))
        levers.stop_now(self.visit.conn, action.id, person=self.visit.person, now=self.visit.now)
        return _settled(speech.stopping(self.visit.person.name, self._name))

    def mine(self) -> Reply:
        return self.visit.claim(self.resource)

    def false_alarm(self) -> Reply:
        """A stop that was made is disputed; one that was only announced is called off for a day."""
        visit, action = self.visit, self.action
        if action.state in levers.CALLED:
            return Reply(visit.speech.under_way(self._name))
        if action.state is not ActionState.DONE:
            until = visit.now + min(FALSE_ALARM_HOLDS, visit.settings.keep_max)
            if (covered := visit.covered(self.resource, until)) is not None:
                return covered
            visit.keep(self.resource, until, visit.speech.false_alarm)
            return _settled(visit.speech.alarmed(visit.person.name, self._name, visit.when(until)))
        if action.disputed_by is not None:
            return _settled(visit.speech.already_disputed(clean(action.disputed_by), self._name))
        reason = visit.speech.false_alarm
        levers.dispute(visit.conn, action.id, reason=reason, person=visit.person, now=visit.now)
        return Reply(visit.speech.disputed(visit.person.name, self._name), settled=True, public=True)

    def approve(self) -> Reply:
        if (late := self._late() or self._kept() or self._over()) is not None:
            return late
        action, speech = self.action, self.visit.speech
        if action.approved_by is not None:
            return _settled(speech.already_approved(clean(action.approved_by), self._name))
        if action.code is not GuardCode.APPROVAL:
            return _settled(speech.not_waiting(self._name))
        levers.approve(self.visit.conn, action.id, person=self.visit.person, now=self.visit.now)
        return _settled(speech.approved(self.visit.person.name, self._name))

    def start_again(self) -> Reply:
        """START when the box may be started: it is called for outside of this transaction."""
        speech, action = self.visit.speech, self.action
        if action.state is not ActionState.DONE or action.response is not Response.STOP:
            return _settled(speech.over(self._name))
        since = action.executed_at or action.updated_at
        starts = [e for e in power.events_since(self.visit.conn, since).get(self.resource.ref, ()) if e.what == "start"]
        if starts and starts[-1].actor:
            return _settled(speech.already_started(clean(starts[-1].actor), self._name))
        if self.resource.state in (State.RUNNING, State.PENDING):
            return _settled(speech.runs_again(self._name))
        return START

    @property
    def _name(self) -> str:
        return name_of(self.resource)

    def _late(self) -> Reply | None:
        """The stop has been called, or made: a word against it comes too late."""
        action, speech = self.action, self.visit.speech
        if action.state in levers.CALLED:
            return Reply(speech.under_way(self._name))
        if action.state is ActionState.DONE and action.response.ends_billing:
            at = action.ended_at or action.updated_at
            return _settled(speech.already_stopped(self._name, self.visit.when(at)))
        return None

    def _over(self) -> Reply | None:
        return _settled(self.visit.speech.over(self._name)) if self.action.state.terminal else None

    def _kept(self) -> Reply | None:
        return self.visit.covered(self.resource)

    def _obstacle(self) -> str | None:
        """Why a stop would be refused by what the last cycle saw; the looks before the call ask it all again."""
        speech = self.visit.speech
        activity = fleet.activity(self.visit.conn, self.resource)
        if activity == Activity.ACTIVE or self.action.code is GuardCode.BUSY:
            return speech.busy(self._name)
        if activity == Activity.UNKNOWN and self.action.code is GuardCode.UNKNOWN:
            return speech.no_use_known(self._name)
        if self.action.code not in _NO_OBSTACLE:
            return speech.blocked(self._name, self.action.code.value)
        return None


def _settled(text: str) -> Reply:
    return Reply(text, settled=True, public=True)


_DOES: Mapping[Press, Callable[[Pressed], Reply]] = {
    Press.KEEP_2H: lambda pressed: pressed.keep(timedelta(hours=2)),
    Press.KEEP_MORNING: Pressed.keep_until_morning,
    Press.WHEN_IDLE: Pressed.when_idle,
    Press.STOP_NOW: Pressed.stop_now,
    Press.MINE: Pressed.mine,
    Press.FALSE_ALARM: Pressed.false_alarm,
    Press.APPROVE: Pressed.approve,
    Press.START_AGAIN: Pressed.start_again,
}
