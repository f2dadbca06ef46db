"""What operators hear besides the ladders: regions that are left out, daily."""

from datetime import timedelta

from costguard.app.app import App
from costguard.daemon.sources import INVENTORY
from costguard.domain.notice import NoticeKind
from costguard.domain.snapshot import SourceState
from costguard.store import kv, sources
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, told

DAY = timedelta(days=1)


def leave_out(app: App, region: str) -> None:
    now = app.clock.now()
    with app.database.write() as conn:
        sources.record_failure(
            conn, "prod", region, INVENTORY, state=SourceState.SKIPPED, error="never readable, tried again daily: no",
            interval=MINUTE, now=now,
        )  # fmt: skip
        kv.put(conn, f"tried/prod/{region}", {"at": now.isoformat(), "empty": True, "aside": True}, now)


def test_regions_that_were_never_readable_are_told_daily_and_when_there_are_others(app: App, clock: FakeClock) -> None:
    app.watch.round()
    assert told(app.database) == ()
    leave_out(app, "cn-far")
    for _ in range(2):
        app.watch.round()
        clock.advance(MINUTE)
    (first,) = told(app.database)
    assert (first.kind, first.facts["region"], first.facts["state"]) == (NoticeKind.SOURCE, "cn-far", "denied")
    leave_out(app, "cn-farther")
    app.watch.round()
    app.watch.round()
    assert [n.facts["region"] for n in told(app.database)] == ["cn-far", "cn-far, cn-farther"]
    clock.advance(DAY)
    app.watch.round()
    assert len(told(app.database)) == 3
