"""Leadership: whoever waits for the lease says for whom, and until when."""

import logging

import pytest

from costguard.daemon.lead import TTL, Leadership
from costguard.store.database import Database
from costguard.testing.clock import FakeClock


def test_who_waits_says_once_for_whom_and_until_when(
    database: Database, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """After a kill -9 the lease of the dead process runs on: a restart must not look as if it hung."""
    dead, fresh = (Leadership(database, clock, holder) for holder in ("host:1:dead", "host:2:fresh"))
    clock.advance(TTL)  # the application of the fixture holds it until then
    assert dead.round()
    ends = clock.now() + TTL
    with caplog.at_level(logging.INFO, logger="costguard.daemon.lead"):
        assert not fresh.round()
        assert not fresh.round()
        (line,) = [r.getMessage() for r in caplog.records]
        assert "host:1:dead leads" in line
        assert ends.isoformat(timespec="seconds") in line
        clock.advance(TTL)
        assert fresh.round()
        assert "this process leads" in caplog.records[-1].getMessage()
        assert not dead.round()
        assert "host:2:fresh leads" in caplog.records[-1].getMessage()
        assert caplog.records[-1].levelno == logging.WARNING
