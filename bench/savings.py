"""Savings of the starter pack on the simulated fleet, against an oracle with the same delays that knows the future.

The scenario knows what each box really did, so a stop of a working box is a false one, whatever the samples said.
Prints a table. ``--full`` for thirty days, BENCH_DAYS=7 for a week; else three days.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from bench._table import is_full
from costguard import assets
from costguard.app.app import App
from costguard.app.backfill import backfill
from costguard.app.replay import gather
from costguard.config.load import load
from costguard.domain.money import Money
from costguard.domain.resource import Ends, Resource
from costguard.domain.snapshot import Snapshot
from costguard.engine.guard import fence
from costguard.engine.history import Run, micros, moment
from costguard.engine.protection import protection_of
from costguard.engine.replay import replay
from costguard.engine.replayed import Stop, saved
from costguard.rules.currency import Rates
from costguard.rules.idle import IdleWhen
from costguard.rules.match import compile_match
from costguard.rules.policy import Policy
from costguard.rules.registry import kind_of
from costguard.testing.clock import FakeClock
from costguard_simulated.workload import segments

END = datetime.fromisoformat("2026-11-20T12:00:00+08:00")
CONFIG = """\
version: 1
database: sqlite:///savings.db
currency: CNY
exchange_rates: {USD: "7.10"}
limits: {per_hour: 12, share: 50%}
accounts:
  - {name: aliyun, provider: simulated, account_id: "1298345600017701", options: {cloud: alibaba}, currency: CNY}
  - {name: tencent, provider: simulated, account_id: "100028745510", options: {cloud: tencent}, currency: CNY}
  - {name: aws, provider: simulated, account_id: "420017300551", options: {cloud: aws}, currency: USD}
policies: ["POLICIES"]
"""
REST = frozenset({"idle", "loaded"})
ZONE = ZoneInfo("Asia/Shanghai")


@dataclass(frozen=True)
class Rest:
    """A stretch in which a box ran and did nothing, by the scenario's own word."""

    box: Resource
    run: Run
    start: datetime
    end: datetime


def rests(app: App, box: Resource, runs: tuple[Run, ...], since: datetime, until: datetime) -> Iterator[Rest]:
    """The rests of a box within its runs."""
    connection = app.accounts[box.ref.account].connection()
    world, cloud = connection.world, app.accounts[box.ref.account].bound.spec.options["cloud"]  # type: ignore[attr-defined]
    machine = world.machine(cloud, box.ref.id)
    plan = world.timeline(machine).plan
    for run in runs:
        low, high = max(run.started, since), min(run.ended or until, until)
        marks: list[tuple[datetime, datetime]] = []
        for part in segments(plan, machine.seed, ZONE, micros(low) // 60_000_000, micros(high) // 60_000_000):
            if part.mode.name in REST:
                begin, end = moment(part.start * 60_000_000), moment(part.end * 60_000_000)
                if marks and marks[-1][1] == begin:
                    marks[-1] = (marks[-1][0], end)
                else:
                    marks.append((begin, end))
        yield from (Rest(box, run, begin, end) for begin, end in marks)


def oracle(rest: Rest, policies: list[Policy], app: App) -> Money | None:
    """What stopping this rest as early as an idle policy of its own allows would save; None when none speaks of it."""
    delays = [
        policy.when.length + (policy.respond[-1].after or timedelta())
        for policy in policies
        if isinstance(policy.when, IdleWhen) and policy.can_end
    ]
    at = rest.start + min(delays) + delay(app, rest.box) if delays else rest.end
    return sum_of(rest.run.cost(at, rest.end)) if at < rest.end else None


def delay(app: App, box: Resource) -> timedelta:
    """How late its metrics are told."""
    return max(app.accounts[box.ref.account].facts(END).metric_delay.values(), default=timedelta())


def may_be_stopped(box: Resource, app: App) -> bool:
    """Whether no guard forbids it for good: kept, fenced, in a group, or billed on; the oracle obeys people, too."""
    ends = box.stop_effect is not None and box.stop_effect.compute_billing_ends is Ends.YES
    kept = protection_of(box, Snapshot(now=END)) is not None or fence(box, app.settings) is not None
    return ends and not kept and box.group is None


def sum_of(amounts: tuple[Money, ...]) -> Money | None:
    rates = Rates("CNY", {"USD": [(datetime.min.replace(tzinfo=ZONE), "7.10")]})
    return rates.total(amounts, END).money if amounts else None


def works(app: App, box: Resource, at: datetime) -> bool:
    """Whether the box really worked in the minute before ``at``."""
    connection = app.accounts[box.ref.account].connection()
    world, cloud = connection.world, app.accounts[box.ref.account].bound.spec.options["cloud"]  # type: ignore[attr-defined]
    machine, minute = world.machine(cloud, box.ref.id), micros(at) // 60_000_000
    parts = list(segments(world.timeline(machine).plan, machine.seed, ZONE, minute - 1, minute))
    return any(part.mode.name not in REST for part in parts)


@dataclass(frozen=True)
class Measured:
    """What the starter pack saves of the idle money, beside the oracle. ``false``: stops of working boxes, by rule;
    ``untold`` of them are of boxes that began to work so late that no source could have told of it yet."""

    boxes: int
    stops: list[Stop]
    idle: Money
    oracle: Money
    saved: Money
    false: Counter[str]
    untold: int
    rules: list[str]

    @property
    def of_oracle(self) -> float:
        return self.saved.nanos / self.oracle.nanos

    @property
    def of_idle(self) -> float:
        return self.saved.nanos / self.idle.nanos


def measure(days: int, folder: Path) -> Measured:
    """Pulls so many days of the simulated fleet's past into ``folder`` and replays the starter pack over them."""
    (folder / "costguard.yaml").write_text(CONFIG.replace("POLICIES", str(assets.policies())), "utf-8")
    app = App.open(load(folder / "costguard.yaml", {}), FakeClock(END))
    try:
        backfill(app, timedelta(days=days))
        since, policies = END - timedelta(days=days), app.config.policies
        with app.database.read() as conn:
            history = gather(app, conn, since, END, policies)
            result = replay(policies, history, app.settings)
        boxes = {str(ref): box for ref, box in history.resources.items()}
        matchers = {p.name: compile_match(p.match) for p in policies}
        whole, best = Money.zero("CNY"), Money.zero("CNY")
        for ref, box in history.resources.items():
            facts = history.accounts[ref.account]
            mine = [p for p in policies if matchers[p.name].decide(box, facts) is True]
            for rest in rests(app, box, history.runs[ref], since, END):
                whole += sum_of(rest.run.cost(rest.start, rest.end)) or Money.zero("CNY")
                if may_be_stopped(box, app):
                    best += oracle(rest, mine, app) or Money.zero("CNY")
        rates = Rates("CNY", {"USD": [(datetime.min.replace(tzinfo=ZONE), "7.10")]})
        false = [s for s in result.stops if works(app, boxes[s.subject.key], s.at)]
        return Measured(
            boxes=result.boxes,
            stops=list(result.stops),
            idle=whole,
            oracle=best,
            saved=saved(result.stops, rates)[0],
            false=Counter(s.rule for s in false),
            untold=sum(not works(app, boxes[s.subject.key], s.at - delay(app, boxes[s.subject.key])) for s in false),
            rules=sorted({kind_of(p).name for p in policies if p.can_end}),
        )
    finally:
        app.close()


def main(days: int) -> None:
    with tempfile.TemporaryDirectory(prefix="costguard-bench-") as name:
        found = measure(days, Path(name))
    false = sum(found.false.values())
    print(
        f"{days} days, {found.boxes} boxes, {len(found.stops)} stops, {false} of working boxes"
        + (f" ({found.untold} of which began to work within their metrics' delay)" if false else "")
    )
    print(f"{'idle money':>24} {found.idle}")
    print(
        f"{'oracle, same delays':>24} {found.oracle}  ({found.oracle.nanos / found.idle.nanos:.0%} of the idle money)"
    )
    print(f"{'starter pack':>24} {found.saved}  ({found.of_oracle:.0%} of the oracle, {found.of_idle:.0%} of it all)")
    for rule in found.rules:
        count = sum(stop.rule == rule for stop in found.stops)
        print(f"{rule:>24} {count} stops, {found.false[rule]} of working boxes")


if __name__ == "__main__":
    main(int(os.environ.get("BENCH_DAYS") or (30 if is_full() else 3)))
