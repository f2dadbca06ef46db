"""What rules are shown: from the database to one frozen snapshot."""

import shutil
from datetime import timedelta
from pathlib import Path

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.daemon import facts
from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.store import inventory, levers, prices
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, REGION, Cloud, configure, rows, start
from tests.fakes.slack import SlackServer


def test_a_market_that_is_told_of_no_more_has_no_price(app: App) -> None:
    """H01: a price of zero, or none, is left out of the answer; what it was an hour ago is no price of now."""
    now = app.clock.now()
    here, there = (PriceKey("simulated", REGION, "t4", ChargeType.SPOT, zone) for zone in "ab")
    both = [Price(key, Money.of("3", "CNY"), now - HOUR, "spot") for key in (here, there)]
    with app.database.write() as conn:
        prices.record(conn, both)
        assert len(app.builder.build(conn, now).spot_prices) == 2, "nobody was asked"
        facts.note_markets(conn, "prod", "simulated", both, now)
        assert len(app.builder.build(conn, now).spot_prices) == 2
        facts.note_markets(conn, "prod", "simulated", both[:1], now)
        assert [price.key for price in app.builder.build(conn, now).spot_prices] == [here]
        facts.note_markets(conn, "prod", "simulated", [], now)
        assert app.builder.build(conn, now).spot_prices == ()
        facts.note_markets(conn, "other", "simulated", both[1:], now)
        assert [price.key for price in app.builder.build(conn, now).spot_prices] == [there], "told by another account"


def test_a_sign_of_life_counts_for_the_whole_of_a_window_that_ended_a_while_ago(app: App, cloud: Cloud) -> None:
    """The window is of 45 minutes, and ends where its source has told: what came just before them lies in it."""
    run_once(app)
    now = app.clock.now()
    with app.database.write() as conn:
        (box,) = inventory.resources(conn)
        cut = now - app.builder.longest_window - MINUTE
        levers.heartbeat(conn, box.ref, cut, by="job", at=cut - HOUR)
        snapshot = app.builder.build(conn, now)
    (start, *_) = sorted(w.start for windows in snapshot.usage[box.ref].values() for w in windows)
    assert start < cut
    assert snapshot.heartbeats == {box.ref: cut}


DEAR = """\
policies:
  - name: dear-spot
    rule: spot_price
    match: all
    when: {above: "12 CNY/h", for: 2h}
    respond:
      - {do: warn}
      - {after: 30m, do: stop}
"""


def test_a_market_price_that_moves_above_its_limit_is_above_it(
    tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud, slack: SlackServer
) -> None:
    """H09: for three hours above the limit, and never two hours the same."""
    cloud.boxes["a"].charge_type = ChargeType.SPOT
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    app = start(configure(tmp_path, slack.webhook_url, policies=DEAR), cloud, clock)
    key = PriceKey("simulated", REGION, "gpu.a100", ChargeType.SPOT, "a")
    now = clock.now()
    history = (("5", 5 * HOUR), ("36", 3 * HOUR), ("40", HOUR), ("38", 10 * MINUTE))
    with app.database.write() as conn:
        prices.record(conn, [Price(key, Money.of(amount, "CNY"), now - ago, "spot") for amount, ago in history])
    result = run_once(app)
    (finding,) = result.evaluation.findings
    assert finding.evidence["above_for"] == 3 * HOUR
    assert finding.evidence["market_price"] == Money.of("38", "CNY")
    assert [row.since for row in rows(app.database)] == [now - timedelta(hours=3)]
    app.close()
