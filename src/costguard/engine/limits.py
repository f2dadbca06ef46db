"""Limits: how much may be stopped in an hour, per policy and over all, and who goes first.

Calls of the last 60 minutes count, failed ones too, and so does everything in flight. A dry run has a
budget of the same size, which real calls use up as well, and never uses up a real one.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cached_property

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Answer, GuardCode, Response, Verdict
from costguard.domain.snapshot import Snapshot
from costguard.engine.evaluate import Evaluation
from costguard.engine.settings import EngineSettings

HOUR = timedelta(minutes=60)
_COUNTED = frozenset({Response.STOP, Response.RELEASE})


def counted(action: Action, now: datetime) -> bool:
    """Whether a ladder uses up a place: in flight, called within the hour, or a dry run that would have been."""
    if action.response not in _COUNTED:
        return False
    if action.state is ActionState.RECORDED:
        return action.ended_at is not None and action.ended_at > now - HOUR
    return action.state.in_flight or (action.executed_at is not None and action.executed_at > now - HOUR)


class _Places:
    """What is used up, by (policy, account, dry run), and since when; what was stopped, by (policy, account)."""

    def __init__(self) -> None:
        self.used: Counter[tuple[str, str, bool]] = Counter()
        self.oldest: dict[tuple[str, str, bool], datetime] = {}
        self.stopped: Counter[tuple[str, str]] = Counter()

    def take(self, action: Action, at: datetime) -> None:
        account = action.subject.account
        for key in ((action.policy, ""), (action.policy, account), ("", ""), ("", account)):
            for dry in (True,) if action.dry_run else (False, True):
                slot = (*key, dry)
                self.used[slot] += 1
                self.oldest[slot] = min(at, self.oldest.get(slot, at))


class Limits:
    """The places that are left, in one cycle. ``ask`` looks, ``take`` uses one up.

    ``evaluation`` is the last one of the whole fleet: its counts are what shares are shares of.
    """

    def __init__(
        self, evaluation: Evaluation, snapshot: Snapshot, settings: EngineSettings, actions: Iterable[Action]
    ) -> None:
        self._evaluation, self._snapshot, self._settings = evaluation, snapshot, settings
        self._actions = {a.id: a for a in actions}.values()

    @cached_property
    def _places(self) -> _Places:
        """Made when they are first asked for: in most cycles nothing is due."""
        now, places = self._snapshot.now, _Places()
        for action in self._actions:
            if counted(action, now):
                places.take(action, action.executed_at or action.ended_at or now)
                if action.state is ActionState.DONE:
                    places.stopped.update(((action.policy, action.subject.account), ("", action.subject.account)))
        return places

    def ask(self, policy: str, account: str, dry: bool) -> Verdict | None:
        """LIMIT (with the moment at which a place gets free) when none is left; None when there is one."""
        ready = self._evaluation.policies[policy]
        own = ready.policy.limits
        checks = (
            ((policy, ""), own.per_hour, f"per_hour of {policy}"),
            ((policy, account), self._share(own.share, policy, account), f"share of {policy} in {account}"),
            (("", ""), self._settings.per_hour, "per_hour over all policies"),
            (("", account), self._share(self._settings.share, "", account), f"share of all boxes in {account}"),
        )
        for (name, where), most, what in checks:
            if most is not None and self._places.used[name, where, dry] >= most:
                since = self._places.oldest.get((name, where, dry), self._snapshot.now)
                reason = f"limit reached: {what} is {most}"
                return Verdict(Answer.DEFER, GuardCode.LIMIT, reason, since + HOUR)
        return None

    def take(self, action: Action) -> None:
        """One more on its way now."""
        if action.response in _COUNTED:
            self._places.take(action, self._snapshot.now)

    def _share(self, percent: float | None, policy: str, account: str) -> int | None:
        """max(1, floor(share × running resources matched)); what was stopped within the hour ran when it began,
        so that the first stop of a plan does not take away the place of its last."""
        if percent is None:
            return None
        base = self._evaluation.running.get((policy, account), 0) + self._places.stopped[policy, account]
        return max(1, int(percent * base / 100 + 1e-9))
