"""Backfill against the simulated clouds: what is held, resumed, and said."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.backfill import Source, backfill
from costguard.config.load import load
from costguard.domain.resource import Resource
from costguard.domain.usage import Metric
from costguard.errors import Unavailable
from costguard.ports import UsageBatch
from costguard.store import inventory, usage
from costguard.testing.clock import FakeClock

CONFIG = """\
version: 1
database: sqlite:///past.db
timezone: UTC
currency: CNY
accounts: [{name: prod, provider: simulated, account_id: "1298345600017701", options: {cloud: alibaba}}]
policies: [policies.yaml]
"""
POLICY = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: [dev, notebook]}}
    when: {for: 45m}
    respond: [{do: warn}, {after: 30m, do: stop}]
"""
SPAN = timedelta(hours=8)
AT = datetime(2026, 11, 14, 4, 30, tzinfo=UTC)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "costguard.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "policies.yaml").write_text(POLICY, "utf-8")
    opened = App.open(load(tmp_path / "costguard.yaml", {}), FakeClock(AT), threads=1)
    yield opened
    opened.close()


def by_source(sources: Sequence[Source]) -> dict[str, Source]:
    return {source.source: source for source in sources}


def held(app: App) -> int:
    """How many samples of GPU use the database holds."""
    with app.database.read() as conn:
        known = usage.series_of(conn, {Metric.GPU_UTIL}, [r.ref for r in inventory.resources(conn)])
        until = app.clock.now()
        return sum(len(track.at) for track in usage.tracks(conn, known, until - 5 * SPAN, until))


def test_it_pulls_use_and_starts_of_every_box_that_is_there(app: App) -> None:
    found = backfill(app, SPAN)
    told = by_source(found.sources)
    assert found.fine
    assert told["usage"].added > 1000
    assert told["usage"].boxes <= told["usage"].of
    oldest = told["usage"].oldest
    assert oldest is not None
    assert oldest - found.since < timedelta(hours=2)
    assert (told["power_events"].of, told["power_events"].note) == (told["usage"].of, "")


def test_a_second_run_asks_for_nothing_that_is_complete(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    backfill(app, SPAN)
    before, asked = held(app), []
    connection = type(app.accounts["prod"].connection())
    real = connection.usage

    def watched(self: object, resources: Sequence[Resource], metrics: object, since: object, until: object) -> object:
        asked.append((since, until))
        return real(self, resources, metrics, since, until)

    monkeypatch.setattr(connection, "usage", watched)
    again = backfill(app, SPAN)
    assert held(app) == before
    assert len({since for since, _ in asked}) == 1, "only the day that is not over"
    assert again.fine


def test_a_day_that_failed_is_asked_for_again(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = type(app.accounts["prod"].connection())
    real = connection.usage
    yesterday = app.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)

    def broken(self: object, resources: object, metrics: object, since: object, until: object) -> UsageBatch:
        if since < yesterday:  # type: ignore[operator]
            raise Unavailable("not now", provider="simulated", account="prod", operation="usage")
        return real(self, resources, metrics, since, until)

    monkeypatch.setattr(connection, "usage", broken)
    first = backfill(app, SPAN)
    assert not first.fine
    assert "not now" in (by_source(first.sources)["usage"].error or "")
    some = held(app)
    monkeypatch.setattr(connection, "usage", real)
    second = backfill(app, SPAN)
    assert second.fine
    assert held(app) > some
