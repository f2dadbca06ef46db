"""How a look at a source went, as a fact that every rule and page sees. First failure and recovery are logged."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon import metrics
from costguard.domain.snapshot import SourceState
from costguard.errors import AuthFailed, CostguardError, PermissionDenied, ProviderError, Unsupported
from costguard.store import sources

_log = logging.getLogger(__name__)

INVENTORY = "inventory"
NO_REGION = "-"
# Nobody is there: looked at hourly, and not stale in between.
EMPTY = timedelta(hours=1)
UNREADABLE = timedelta(days=1)


class Partly(CostguardError):
    """Some resources of a batch could not be read; the others were (``count`` samples)."""

    def __init__(self, message: str, count: int) -> None:
        self.count = count
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``error`` beside OK: a part is missing, and the rest stands."""

    state: SourceState
    count: int = 0
    error: str | None = None

    @property
    def fine(self) -> bool:
        return self.state is SourceState.SKIPPED or (self.state is SourceState.OK and self.error is None)


def attempt(look: Callable[[], int]) -> Outcome:
    """Runs one look; ``look`` returns how many items it read."""
    try:
        return Outcome(SourceState.OK, look())
    except Unsupported as error:
        return Outcome(SourceState.SKIPPED, error=str(error))
    except (PermissionDenied, AuthFailed) as error:
        return Outcome(SourceState.DENIED, error=str(error))
    except ProviderError as error:
        return Outcome(SourceState.FAILED, error=str(error))
    except Partly as error:
        return Outcome(SourceState.OK, error.count, str(error))


def record(
    conn: Connection, account: str, region: str, source: str, interval: timedelta, outcome: Outcome, now: datetime
) -> bool:
    """Writes the status; True when all went well."""
    place = (account, region, source)
    if outcome.state is SourceState.OK:
        before = sources.record_success(
            conn, *place, count=outcome.count, interval=interval, now=now, note=outcome.error
        )
    else:
        before = sources.record_failure(
            conn, *place, state=outcome.state, error=outcome.error, interval=interval, now=now
        )
    metrics.PROVIDER_CALLS.labels(account, source, outcome.state.value).inc()
    same = before is not None and before.state is outcome.state and (before.error is None) is (outcome.error is None)
    if not same:
        level = logging.INFO if outcome.fine else logging.WARNING
        text = f": {outcome.error}" if outcome.error else ""
        _log.log(level, "%s of %s/%s is %s%s", source, account, region, outcome.state.value, text)
    return outcome.fine
