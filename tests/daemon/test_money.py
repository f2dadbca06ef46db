"""Money as it runs: metering against the simulated bill, attribution, savings and reports on real databases."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.app.app import App
from costguard.app.audit import run_audit
from costguard.app.reports import as_csv, html, markdown
from costguard.app.serve import site_of
from costguard.app.spend import run_spend
from costguard.config.load import load
from costguard.daemon import levers
from costguard.domain.budget import Basis
from costguard.domain.ledger import LedgerKind
from costguard.domain.money import Money
from costguard.engine.budgets import budgets
from costguard.errors import UsageError
from costguard.store import inventory, ledger, savings, states
from costguard.testing.clock import FakeClock
from costguard.web.api import Service
from costguard_simulated.connection import SimulatedConnection
from tests.daemon.rig import Cloud, booked, configure, drive, rows
from tests.fakes.slack import SlackServer
from tests.unit.simulated.helpers import machine, write

pytestmark = pytest.mark.slow

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEVER = datetime(2000, 1, 1, tzinfo=UTC)
HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
NOVEMBER = datetime(2026, 11, 1, tzinfo=SHANGHAI).astimezone(UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=SHANGHAI).astimezone(UTC)

CONFIG = """\
version: 1
database: "{database}"
timezone: Asia/Shanghai
language: {language}
currency: CNY
mode: dry_run
accounts:
  - {{name: acc, provider: simulated, options: {{scenario: "{scenario}"}}, currency: CNY}}
policies: [policies.yaml]
"""
OLD = """\
policies:
  - name: old
    rule: lifetime
    match: all
    when: {max_age: 12h, when_busy: stop, when_unknown: stop}
    respond: [{do: stop, unwarned: true}]
"""
BUDGET = """\
policies:
  - name: month
    rule: budget
    match: all
    when: {amount: "%s CNY", period: month}
    respond: [{do: notify}]
"""


BUDGETS = """\
policies:
  - {name: team, rule: budget, match: {teams: [nlp]}, when: {amount: "9000 CNY"}, respond: [{do: notify}]}
  - name: machines
    rule: budget
    match: all
    when: {amount: "9000 CNY", services: ["Elastic*"]}
    respond: [{do: notify}]
  - {name: all, rule: budget, match: all, when: {amount: "9000 CNY"}, respond: [{do: notify}]}
"""


def opened(folder: Path, scenario: Path, clock: FakeClock, *, budget: str = "90000", language: str = "en") -> App:
    (folder / "policies.yaml").write_text(BUDGET % budget, "utf-8")
    path = folder / "costguard.yaml"
    text = CONFIG.format(database="sqlite:///money.db", scenario=scenario, language=language)
    path.write_text(text, "utf-8")
    return App.open(load(path, {}), clock, migrate=True, threads=1)


def amount(value: Any) -> Money:
    return Money.of(value["amount"], value["currency"])


def scenario(folder: Path, **more: Any) -> Path:
    """Machines of every charge type that come, go, are stopped and started by people, from 1 November on."""
    people = [
        {"who": "li", "do": do, "machine": "dev", "at": f"{24 * day + hour}h{minute}m"}
        for day in range(1, 29, 3)
        for do, hour, minute in (("stop", 12, 7 + day % 40), ("start", 23, 31 + day % 20))
    ]
    return write(
        folder,
        machine("train", sku="a100x8", created="-3d", tags={"owner": "wang"}),
        machine("dev", created="-2d", tags={"owner": "li"}),
        machine("spot", charge="spot", created="-1d"),
        machine("local", sku="local", created="5d", stopped="9d"),
        machine("late", created="12d3h11m"),
        machine("parked", created="-9d", stopped="-2d"),
        start=NOVEMBER.isoformat(),
        people=people,
        cloud={"holdings": [{"name": "old", "kind": "disk", "region": "r1", "size_gib": 500}]},
        **more,
    )


def moments(app: App, end: datetime) -> Iterator[datetime]:
    """When a daemon that polls every five minutes sees something new, and every four hours besides."""
    connection = app.accounts["acc"].connection()
    assert isinstance(connection, SimulatedConnection)
    world, five = connection.world, 5 * MINUTE
    changes = {phase.start for m in world.machines("one") for phase in world.timeline(m).phases}
    seen = {NOVEMBER + -((NOVEMBER - at) // five) * five + five for at in changes if NOVEMBER <= at < end}
    yield from sorted({at for at in seen if at < end} | {NOVEMBER + n * 4 * HOUR for n in range(1, 180)})


def test_a_simulated_month_is_estimated_within_half_a_percent_of_its_bill(tmp_path: Path) -> None:
    """I19 I20 I22: from state intervals and prices alone, machine by machine, against the final bill."""
    clock = FakeClock(NOVEMBER)
    app = opened(tmp_path, scenario(tmp_path), clock)
    try:
        app.identify()
        account = app.accounts["acc"]
        app.inventory(account, all_regions=True)
        for at in moments(app, DECEMBER):
            clock.advance(at - clock.now())
            app.inventory(account)
        clock.advance(DECEMBER + 4 * DAY - clock.now())
        assert app.biller.charges(account)
        document, _ = run_audit(app, month="2026-11", offline=True)
    finally:
        app.close()
    spend = document["spend"]
    assert document["stage"] == "final"
    bill, estimate = amount(spend["billed"]), amount(spend["estimated"])
    assert bill.nanos > 200_000 * 10**9
    assert abs(estimate.nanos - bill.nanos) < bill.nanos * 0.005, (str(bill), str(estimate))
    boxes = {r["subject"]["name"]: r for r in document["resources"]}
    for name in ("train", "dev", "spot", "local", "late", "old"):
        told, ours = amount(boxes[name]["billed"]), amount(boxes[name]["estimated"])
        assert abs(ours.nanos - told.nanos) < told.nanos * 0.015, (name, str(told), str(ours))
    assert amount(spend["amount"]) == bill, "what is final counts as billed"
    assert document["payments"]["not_told" if "not_told" in document["payments"] else "cash"] == spend["billed"]
    assert document["payments"]["invoiced"] == spend["billed"]
    for dimension in ("account", "service", "owner", "team", "day"):
        assert sum(amount(line["amount"]).nanos for line in spend[f"by_{dimension}"]) == bill.nanos, dimension


def test_a_stopped_box_still_costs_its_disks(tmp_path: Path) -> None:
    """C06: its compute bill ends, the system disk goes on; what nobody uses is said as a decision."""
    clock = FakeClock(NOVEMBER + HOUR)
    app = opened(tmp_path, scenario(tmp_path), clock)
    try:
        document, fine = run_audit(app, month="2026-11")
        assert fine
    finally:
        app.close()
    boxes = {r["subject"]["name"]: r for r in document["resources"]}
    parked = boxes["parked"]
    assert parked["state"] == "stopped"
    assert parked["still_costs_per_hour"] == {"amount": "0.14", "currency": "CNY"}, "100 GiB of disk"
    assert parked["estimated"] == {"amount": "0", "currency": "CNY"}
    assert boxes["dev"]["still_costs_per_hour"] is None
    assert any("still cost ¥0.14 per hour" in line for line in document["decisions_needed"])


def test_what_ran_before_the_first_look_is_counted_and_said(tmp_path: Path) -> None:
    """I19: a box that started before costguard did is money from its own start on, as an assumption."""
    clock = FakeClock(NOVEMBER + 10 * HOUR)
    app = opened(tmp_path, scenario(tmp_path), clock)
    try:
        app.poll()
        document = run_spend(app, by="resource")
        clock.advance(MINUTE)
        with app.database.read() as conn:
            (train,) = [r for r in inventory.resources(conn) if r.name == "train"]
            known = states.intervals(conn, NOVEMBER, clock.now(), train.ref)
    finally:
        app.close()
    assert [one.assumed for one in known] == [True, False]
    line = next(line for line in document["lines"] if line["name"] == "train")
    assert amount(line["estimated"]) == Money.of("277.936", "CNY").times(10)
    assert line["assumed"] == line["estimated"]
    assert line["known"] == "estimate"


def test_a_price_that_the_book_learns_late_is_told(tmp_path: Path) -> None:
    clock = FakeClock(NOVEMBER + 10 * HOUR)
    app = opened(tmp_path, scenario(tmp_path), clock)
    try:
        app.poll()
        assert not any("price book" in line for line in run_spend(app)["warnings"])
    finally:
        app.close()
    (tmp_path / "prices.yaml").write_text('- {provider: simulated, sku: a100x8, price: "200 CNY/h"}\n')
    app = App.open(load(tmp_path / "costguard.yaml", {}), clock, threads=1)
    try:
        (told,) = [line for line in run_spend(app)["warnings"] if "price book" in line]
        zh = run_spend(app, language="zh")["warnings"]
    finally:
        app.close()
    assert told.startswith("¥2,779.36 of the estimate (1 resources) was counted before the price book had this price")
    assert "by the book it is ¥2,000.00." in told
    assert any("按现在的价格表是" in line for line in zh)


def test_tags_of_mid_month_are_not_retroactive(tmp_path: Path) -> None:
    """I24: the days before the tag stay unallocated, in the estimate and in the bill."""
    retag = {"who": "he", "do": "retag", "machine": "spot", "at": "5d", "tags": {"owner": "zhao"}}
    clock = FakeClock(NOVEMBER)
    path = write(
        tmp_path, machine("spot", created="-1d"), start=NOVEMBER.isoformat(), people=[retag]
    )  # fmt: skip
    app = opened(tmp_path, path, clock)
    try:
        app.identify()
        for _ in range(9):
            app.inventory(app.accounts["acc"], all_regions=True)
            clock.advance(DAY)
        document = run_spend(app, by="owner")
    finally:
        app.close()
    owners = {line["key"]: amount(line["estimated"]) for line in document["lines"]}
    box_day = Money.of("7.966", "CNY").times(24)
    assert owners["unallocated"].nanos == pytest.approx(5 * (box_day.nanos + 3_360_000_000), rel=0.01)
    assert owners["zhao"].nanos == pytest.approx(4 * box_day.nanos, rel=0.05)


def test_spend_by_every_dimension_has_one_total(tmp_path: Path) -> None:
    """I07 I22: whatever it is summed by, and bills that lag are filled by the estimate."""
    clock = FakeClock(NOVEMBER + 6 * DAY + 11 * HOUR)
    app = opened(tmp_path, scenario(tmp_path), clock, budget="1000")
    try:
        app.poll()
        assert app.biller.charges(app.accounts["acc"])
        documents = [run_spend(app, by=by) for by in ("account", "owner", "team", "service", "day", "resource")]
        with pytest.raises(UsageError, match="spend is summed by account"):
            run_spend(app, by="colour")
        with pytest.raises(UsageError, match="not a month"):
            run_spend(app, month="November")
        with pytest.raises(UsageError, match="has not begun"):
            run_spend(app, month="2027-01")
        since = run_spend(app, by="day", since=clock.now() - 2 * DAY)
        clock.advance(30 * DAY)
        past = run_spend(app, month="2026-11")
    finally:
        app.close()
    for document in documents:
        assert document["schema"] == "costguard.spend/1"
        for side in ("amount", "estimated", "assumed"):
            parts = sum(amount(line[side]).nanos for line in document["lines"])
            assert parts == amount(document["total"][side]).nanos, (document["by"], side)
        assert document["total"] == documents[0]["total"]
    (reach,) = documents[0]["bills"]
    assert reach == {"account": "acc", "through": "2026-11-06", "stage": "provisional"}
    (budget,) = documents[0]["budgets"]
    assert (budget["policy"], budget["state"], budget["reached"]) == ("month", "over", ["50%", "80%", "100%"])
    assert documents[0]["forecast"]["amount"] is not None
    (then,) = past["budgets"]
    assert (then["key"], then["state"]) == ("2026-11", "over"), "the budget of the month that is asked for"
    assert [line["key"] for line in since["lines"]] == ["2026-11-05", "2026-11-06", "2026-11-07"]


def test_a_budget_in_the_daemon_counts_the_bill_where_it_knows_better(tmp_path: Path) -> None:
    """I19: what no estimate sees (traffic, support) is in the bill, and a budget of any basis counts it."""
    path = write(
        tmp_path,
        machine("a", created="-1d"),
        start=NOVEMBER.isoformat(),
        cloud={"bill_lines": [{"day": "1d", "service": "Support", "cost": "500"}], "billing": {"discount": "0.10"}},
    )
    clock = FakeClock(NOVEMBER + 8 * DAY)
    app = opened(tmp_path, path, clock)
    try:
        app.poll()
        assert app.biller.charges(app.accounts["acc"])
        with app.database.read() as conn:
            first = app.builder.build(conn, clock.now())
            again = app.builder.build(conn, clock.now() + MINUTE)
        document = run_spend(app)
        served = Service(site_of(app)).table("spend", {"by": "owner"})
        with pytest.raises(UsageError, match="spend is summed by account"):
            Service(site_of(app)).table("spend", {"by": "colour"})
    finally:
        app.close()
    assert served["total"] == document["total"]
    assert served["by"] == "owner"
    billed = [row for row in first.spend if not row.estimated]
    assert {row.basis for row in billed} == {Basis.PAYABLE}
    assert [row for row in again.spend if not row.estimated] == billed
    assert document["budgets"][0]["spent"] == document["total"]["amount"]
    support = [row.money for row in billed if row.service == "Support"]
    assert support == [Money.of(500, "CNY")]


def test_a_budget_in_the_daemon_is_the_one_that_spend_tells(tmp_path: Path) -> None:
    """I19 I24: what a box of the team cost stays the team's when the box is gone, and days that no bill knows yet
    count in the bill's service."""
    path = write(
        tmp_path,
        machine("a", created="-1d", tags={"team": "nlp"}),
        machine("b", created="-1d", tags={"team": "nlp"}, charge="spot"),
        start=NOVEMBER.isoformat(),
        people=[{"who": "market", "do": "reclaim", "machine": "b", "at": "3d1h"}],
    )
    clock = FakeClock(NOVEMBER)
    opened(tmp_path, path, clock).close()
    (tmp_path / "policies.yaml").write_text(BUDGETS, "utf-8")
    app = App.open(load(tmp_path / "costguard.yaml", {}), clock, migrate=True, threads=1)

    def spent() -> tuple[dict[str, Any], dict[str, Any]]:
        with app.database.read() as conn:
            snapshot = app.builder.build(conn, clock.now())
        ways = (budgets(app.policies.values(), snapshot), run_spend(app)["budgets"])
        ruled, told = ({line["policy"]: line["spent"] for line in lines} for lines in ways)
        return ruled, told

    try:
        app.poll()
        for _ in range(8):
            clock.advance(12 * HOUR)
            app.poll()
        before, told_before = spent()
        assert app.biller.charges(app.accounts["acc"])
        after, told_after = spent()
    finally:
        app.close()
    assert (before, after) == (told_before, told_after)
    assert before["team"] == before["all"]
    assert amount(before["machines"]) == Money.zero("CNY"), "only the bill knows its services"
    disk_days = amount(after["all"]) - amount(after["machines"])
    assert Money.zero("CNY") < disk_days < Money.of(40, "CNY")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_is_one_file_without_scripts(tmp_path: Path, language: str) -> None:
    clock = FakeClock(NOVEMBER + 6 * DAY)
    evil = "<script>alert(1)</script>"
    path = write(tmp_path, machine(evil, created="-1d"), start=NOVEMBER.isoformat())
    app = opened(tmp_path, path, clock, budget="10", language=language)
    try:
        document, _ = run_audit(app)
    finally:
        app.close()
    page = html(document)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace(document["timezone"], "")
    assert 'name="viewport"' in page
    assert ("费用审计" in page) == (language == "zh")
    assert ("没有负责人" in page) == (language == "zh")
    assert ("<td>运行中</td>" in page, "| 运行中 |" in markdown(document)) == (language == "zh",) * 2
    assert "&lt;script" in markdown(document)
    assert "\n| --- | --- | --- | ---: | ---: |\n" in markdown(document), (
        "states and owners are words, the rest amounts"
    )
    assert as_csv(document).splitlines()[1].startswith("acc,simulated,r1,")
    json.dumps(document)


def test_savings_and_ledger_say_the_same(tmp_path: Path, slack: SlackServer) -> None:
    """I20 C07: from the confirmed stop to the restart; a dispute turns it into a loss; the lines add up."""
    clock = FakeClock()
    cloud = Cloud(clock)
    cloud.add("i-1")
    cloud.add("i-2")
    config = configure(tmp_path, slack.webhook_url, policies=OLD)
    app = App.open(config, clock, connect=cloud.connect, migrate=True, threads=1)
    try:
        drive(app, clock, 6 * MINUTE)
        done = {a.subject.id: a for a in rows(app.database) if a.state.value == "done"}
        assert set(done) == {"i-1", "i-2"}
        cloud.restart("i-1")
        drive(app, clock, 6 * MINUTE)
        with app.database.write() as conn:
            levers.dispute(conn, done["i-1"].id, reason="training", person=levers.Person("li"), now=clock.now())
        found = {s.ref.id: s for s in booked(app.database, clock.now())}
        with app.database.read() as conn:
            money = [e.money for e in ledger.list_entries(conn) if e.kind is LedgerKind.SAVING and e.money]
            standing = savings.standing(conn, [found["i-2"].ref], clock.now())
    finally:
        app.close()
    assert found["i-1"].ended_by == "disputed"
    assert found["i-1"].amount(NEVER, clock.now()).nanos < 0
    assert sum(m.nanos for m in money) == found["i-1"].amount(NEVER, clock.now()).nanos
    assert [one.ref.id for one in standing] == ["i-2"]
