"""Effective mode: what may really act is the lowest of the configuration's, the account's and the policy's."""

from costguard.domain.decision import GuardCode
from costguard.domain.finding import Subject
from costguard.domain.snapshot import Snapshot
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy


def dry_run_code(policy: Policy, subject: Subject, snapshot: Snapshot, settings: EngineSettings) -> GuardCode | None:
    """DRY_RUN or NOT_ARMED when this ladder only records, None when it is real.

    A disputed resource is in dry run until its dispute ends. An account that is not known is not armed.
    """
    if policy.mode != "enforce" or not settings.enforce:
        return GuardCode.DRY_RUN
    ref = subject.ref
    if ref is None and not subject.account:
        return None
    account = snapshot.accounts.get(subject.account)
    if account is None:
        return GuardCode.NOT_ARMED
    if not account.enforce:
        return GuardCode.DRY_RUN
    if ref is not None and (until := snapshot.disputed_until.get(ref)) and until > snapshot.now:
        return GuardCode.DRY_RUN
    return None if account.armed else GuardCode.NOT_ARMED
