"""From the deciding sample's arrival to the stop call, beyond the ladder's own times, on a virtual clock."""

from datetime import datetime, timedelta

from bench._simulated import fleet
from bench._table import Line, is_full, show
from costguard.domain.decision import Response
from costguard.store import actions, sources

SECOND = timedelta(seconds=1)


def prompt(text: str) -> str:
    """The demo's configuration at the daemon's own pace, and with limits that make nothing wait."""
    lines = [line for line in text.splitlines() if not line.startswith(("limits:", "schedule:"))]
    return "\n".join([*lines, "limits: {per_hour: 1000, share: 100%}", ""])


def main() -> None:
    polls: dict[str, list[datetime]] = {}

    with fleet(change=prompt) as one:

        def watch(now: datetime) -> None:
            with one.app.database.read() as conn:
                for status in sources.sources(conn):
                    if status.source == "usage" and status.fetched_at is not None:
                        polls.setdefault(status.account, [])
                        if status.fetched_at not in polls[status.account][-8:]:
                            polls[status.account].append(status.fetched_at)

        one.driver.run_until(one.clock.now() + timedelta(hours=8 if is_full() else 1), watch)
        with one.app.database.read() as conn:
            found = [a for a in actions.list_actions(conn) if a.rule == "idle" and a.response is Response.STOP]
    decided, told, acted = [], [], []
    for action in found:
        if action.warned_at is None or action.due_at is None or action.executed_at is None:
            continue
        arrived = max(at for at in polls[action.subject.account or ""] if at <= action.created_at)
        decided.append((action.created_at - arrived) / SECOND)
        told.append((action.warned_at - action.created_at) / SECOND)
        acted.append((action.executed_at - action.due_at) / SECOND)
    beyond = [sum(parts) for parts in zip(decided, told, acted, strict=True)]
    show(
        [
            Line("stops of idle boxes", len(beyond), "", digits=0),
            Line("the longest: from the sample's arrival to the decision", max(decided), "s"),
            Line("the longest: from the decision to the delivered warning", max(told), "s"),
            Line("the longest: from the due time to the call", max(acted), "s"),
            Line("the longest: all of it", max(beyond), "s", 30),
        ]
    )


if __name__ == "__main__":
    main()
