"""Windows that are still true: kept as long as neither their bounds nor the samples of their account changed.

Between two polls of use no window moves, while cycles come round every minute. What is kept is what a query would
give: the edition of an account's samples is read from the database, so that another process's appends are seen.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import UsageWindow, WindowSpec
from costguard.store import usage
from costguard.store.usage import DelayOf, PeriodOf

Windows = Mapping[WindowSpec, tuple[UsageWindow, ...]]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The windows of one account's boxes. ``basis``: what they all depend on; ``begun``: each box's own start."""

    basis: object
    begun: Mapping[ResourceRef, datetime | None]
    windows: Mapping[ResourceRef, Windows]


@dataclass(frozen=True, slots=True)
class WindowCache:
    """Answers as :func:`costguard.store.usage.windows` does. Thread-safe: an entry is only ever replaced whole."""

    _accounts: dict[str, _Kept] = field(default_factory=dict)

    def windows(
        self,
        conn: Connection,
        specs: Collection[WindowSpec],
        now: datetime,
        delay_of: DelayOf,
        period_of: PeriodOf,
        started_at: Mapping[ResourceRef, datetime | None],
        sources: Collection[str] = (),
    ) -> Mapping[ResourceRef, Windows]:
        """The windows of every resource of ``started_at``; ``sources`` are those with a delay of their own."""
        by_account: dict[str, dict[ResourceRef, datetime | None]] = {}
        for ref, at in started_at.items():
            by_account.setdefault(ref.account, {})[ref] = at
        editions = usage.editions(conn)
        metrics = sorted({spec.metric for spec in specs})
        found: dict[ResourceRef, Windows] = {}
        for account, begun in by_account.items():
            bounds = tuple(
                (*(now - delay_of(account, metric, source) for source in ("", *sources)), period_of(account, metric))
                for metric in metrics
            )
            basis = (frozenset(specs), bounds, editions.get(account))
            kept = self._accounts.get(account)
            if kept is None or kept.basis != basis:
                kept = _Kept(basis, {}, {})
            moved = {ref for ref, at in begun.items() if ref not in kept.begun or kept.begun[ref] != at}
            windows = {ref: kept.windows[ref] for ref in begun if ref in kept.windows and ref not in moved}
            if moved:
                windows |= usage.windows(conn, specs, now, delay_of, period_of, moved, begun)
            self._accounts[account] = _Kept(basis, begun, windows)
            found |= windows
        return found
