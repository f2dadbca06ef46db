"""An account that gets another name in the configuration: what people said of its boxes still holds."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection

from costguard.app.once import run_once
from costguard.config.load import load
from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import Keep
from costguard.store import inventory, levers
from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, start
from tests.fakes.slack import SlackServer

Say = Callable[[Connection, ResourceRef, datetime], object]


def kept(conn: Connection, ref: ResourceRef, now: datetime) -> None:
    levers.keep(conn, Keep(ref, now + 8 * HOUR, "lin", "a long run", now))


def alive(conn: Connection, ref: ResourceRef, now: datetime) -> None:
    levers.heartbeat(conn, ref, now + 8 * HOUR, by="job", at=now)


@pytest.mark.parametrize(("said", "stops"), [(None, 1), (kept, 0), (alive, 0)])
def test_what_was_said_of_a_box_outlives_the_name_of_its_account(
    tmp_path: Path, clock: FakeClock, slack: SlackServer, said: Say | None, stops: int
) -> None:
    """K02: neither a keep nor a sign of life is lost, so that no stop comes against it."""
    cloud = Cloud(clock)
    cloud.add("a")
    config = configure(tmp_path, slack.webhook_url)
    Database(config.database_url()).upgrade()
    app = start(config, cloud, clock)
    run_once(app)
    with app.database.write() as conn:
        (box,) = inventory.resources(conn)
        if said is not None:
            said(conn, box.ref, clock.now())
    app.close()
    text = config.path.read_text("utf-8")
    config.path.write_text(text.replace("[prod]", "[main]").replace("name: prod", "name: main"), "utf-8")
    app = start(load(config.path, {}), cloud, clock)
    for _ in range(2):
        run_once(app)
        clock.advance(31 * MINUTE)
    app.close()
    assert len(cloud.stops()) == stops
