"""``run --once``: poll, decide, deliver, act, verify, deliver, and tell how it went."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from costguard.app.app import App
from costguard.daemon.documents import Document, action_json, notice_json
from costguard.domain.action import ActionState
from costguard.domain.notice import NoticeState, SendReason
from costguard.engine.evaluate import Evaluation
from costguard.errors import LeaseLost, StoreError
from costguard.store import actions, outbox

_log = logging.getLogger(__name__)

# A stop is seen within a minute on most clouds; what takes longer is verified by the next run.
_VERIFY = timedelta(minutes=2)
_DELIVER = timedelta(minutes=1)
_LOOK_EVERY = 2.0
_RENEW_EVERY = 5.0


class Busy(StoreError):
    """A daemon leads this database; it does what a single run would do."""


@dataclass(frozen=True, slots=True)
class OnceResult:
    """``document`` is costguard.cycle/1; the flags say what the exit code is made of."""

    document: Document
    evaluation: Evaluation
    unreadable: bool
    failed: bool
    findings: bool


def run_once(app: App, progress: Callable[[str], None] = lambda what: None) -> OnceResult:
    """One whole run. Raises Busy beside a live daemon."""
    if not app.lead.round():
        raise Busy("a costguard daemon leads this database; stop it first, or ask it with --server")
    with _held(app):
        return _run(app, progress)


def _run(app: App, progress: Callable[[str], None]) -> OnceResult:
    started = app.clock.now()
    fine = app.poll(progress)
    _lead(app)
    # What was sent since the last run starts graces before anything is decided on.
    app.actor.confirm_warnings()
    result = app.decide()
    app.watch.round()
    app.afterwards.round()
    app.reminders.round()
    progress("decided")
    app.drain(_DELIVER)
    _lead(app)
    app.actor.confirm_warnings()
    end = app.clock.monotonic() + _VERIFY.total_seconds()
    while True:
        app.actor.run(lambda: _lead(app))
        with app.database.read() as conn:
            flying = actions.in_flight(conn)
        if not flying or app.clock.monotonic() >= end:
            break
        app.clock.sleep(_LOOK_EVERY)
        _lead(app)
    progress("acted")
    app.drain(_DELIVER)
    with app.database.read() as conn:
        touched = actions.list_actions(conn, since=started)
        notices = outbox.list_notices(conn, since=started)
        dead = outbox.list_notices(conn, states=[NoticeState.DEAD], since=started)
        waiting = outbox.list_notices(conn, states=[NoticeState.PENDING, NoticeState.SENDING])
    document = {
        **result.document,
        "actions": [action_json(a) for a in touched],
        "notices": [notice_json(n) for n in notices],
    }
    # Nobody tries again before the next run: a message that was refused until now has failed for this one.
    unsent = any(n.attempts and n.last_error and n.reason is not SendReason.DIGESTED for n in waiting)
    doubtful = any(a.state is ActionState.IN_DOUBT for a in touched)  # nobody looks again before the next run
    failed = bool(dead) or unsent or doubtful or any(a.attempt > 0 and a.state in _TROUBLE for a in touched)
    return OnceResult(document, result.evaluation, not fine, failed, bool(result.evaluation.findings))


_TROUBLE = frozenset({ActionState.FAILED, ActionState.DEFERRED})


def _lead(app: App) -> None:
    if not app.lead.round():
        raise LeaseLost("another process took over while this one polled")


@contextmanager
def _held(app: App) -> Iterator[None]:
    """Renews the lease while a long poll, a throttled call or many live reads keep this thread busy."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(_RENEW_EVERY):
            try:
                app.lead.round()
            except StoreError as error:
                # The working thread finds out by itself: without a lease it calls nothing.
                _log.warning("the lease could not be renewed: %s", error)

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
