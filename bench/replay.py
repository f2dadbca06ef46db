"""Replay of a month × 1,000 resources × 3 policies from SQLite (``--full``; else 100 resources).

Prints a table. Promised (ADR 0020): at most five times the CPU of only reading the same samples with the driver, and
300 MiB."""

import random
import resource as system
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from bench._table import is_full
from costguard.app.app import App
from costguard.app.replay import Version, run_replay
from costguard.config.load import load
from costguard.domain.money import Money
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.store import inventory, usage
from costguard.store.types import to_micros
from costguard.testing.builders import NOW, make_resource
from costguard.testing.clock import FakeClock

DAYS = 30
PERIOD = timedelta(minutes=5)
CARDS = (1, 1, 1, 2, 1, 1, 1, 8, 1, 1)
CONFIG = """\
version: 1
database: sqlite:///bench.db
currency: CNY
limits: {per_hour: 30, share: 25%}
accounts: [{name: prod, provider: simulated, account_id: "1"}]
policies: [policies.yaml]
"""
POLICIES = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: [dev]}}
    when: {for: 45m}
    respond: [{do: warn}, {after: 30m, do: stop}]
  - name: idle-training
    rule: idle
    match: {tags: {role: [train]}}
    when: {for: 2h}
    respond: [{do: warn}, {after: 30m, do: stop}]
  - name: night-off
    rule: schedule
    match: {tags: {role: [dev]}}
    when: {off: [{days: workdays, from: "20:00", to: "08:00"}, {days: restdays}]}
    respond: [{do: warn}, {after: 30m, do: stop}]
"""


def fleet(size: int) -> list[Resource]:
    return [
        make_resource(
            f"i-{i:05d}",
            cards=CARDS[i % 10],
            tags={"role": "train" if i % 3 else "dev"},
            price=Money.of(str(4 * CARDS[i % 10]), "CNY"),
            created_at=NOW - timedelta(days=60),
            started_at=NOW - timedelta(days=40),
            observed_at=NOW,
        )
        for i in range(size)
    ]


def work(rng: random.Random, dev: bool) -> list[bool]:
    """Whether the box works in each period. Development boxes come to rest twice a day, training ones less often."""
    steps, found = DAYS * 288, []
    busy = rng.random() < 0.5
    while len(found) < steps:
        mean = (24 if busy else 48) if dev else (90 if busy else 12)
        found += [busy] * max(1, round(rng.lognormvariate(0, 1.2) * mean))
        busy = not busy
    return found[:steps]


def fill(app: App, boxes: list[Resource]) -> int:
    rng = random.Random(7)
    start = to_micros(NOW) - DAYS * 288 * to_micros_span()
    count = 0
    with app.database.write(durable=False) as conn:
        inventory.record_listing(conn, "prod", boxes[0].ref.region, boxes[0].ref.kind, boxes, NOW, timedelta(minutes=5))
    for number, box in enumerate(boxes):
        series = list(series_of(box.ref, CARDS[number % 10]))
        with app.database.write(durable=False) as conn:
            usage.append(conn, [UsageSample(one, NOW - timedelta(days=DAYS), 0.0, PERIOD) for one in series])
            ids = usage.series_of(conn, list(Metric), [box.ref])
            busy = work(rng, number % 3 == 0)
            rows = []
            for series_id, one in ids.items():
                low, high = {Metric.GPU_UTIL: (0.5, 92.0), Metric.CPU_CORES: (0.2, 9.0)}.get(one.metric, (900.0, 4e6))
                for step, at_work in enumerate(busy, 1):
                    value = (high if at_work else low) * (0.7 + 0.6 * rng.random())
                    rows.append((series_id, start + step * 300_000_000, value, 300_000_000))
            conn.exec_driver_sql("INSERT INTO usage (series_id, at, value, period) VALUES (?, ?, ?, ?)", rows)
            count += len(rows)
    return count


def to_micros_span() -> int:
    return PERIOD // timedelta(microseconds=1)


def series_of(ref: ResourceRef, cards: int) -> Iterator[Series]:
    for card in range(cards):
        yield Series(ref, Metric.GPU_UTIL, card, "bench", Statistic.MAX)
    for metric in (Metric.CPU_CORES, Metric.NETWORK):
        yield Series(ref, metric, None, "bench", Statistic.MEAN)


def opened(folder: Path) -> App:
    return App.open(load(folder / "costguard.yaml", {}), FakeClock(NOW))


def measure(folder: Path) -> None:
    """In a process of its own, so that its memory is its own."""
    app = opened(folder)
    wall, before = time.perf_counter(), time.process_time()
    document = run_replay(app, timedelta(days=DAYS), [Version("bench", app.config.policies)])
    cpu, wall = time.process_time() - before, time.perf_counter() - wall
    (version,), coverage = document["versions"], document["coverage"]
    peak = system.getrusage(system.RUSAGE_SELF).ru_maxrss // 1024
    app.close()
    bare = only_read(folder / "bench.db")
    print(
        f"{coverage['boxes']:>9,} {coverage['samples']:>12,} {version['looks']:>9,} {version['stopped']:>7,} "
        f"{wall:>8.1f} {cpu:>8.1f} {bare:>11.1f} {cpu / bare:>8.2f} {peak:>9}"
    )


def only_read(path: Path) -> float:
    """CPU seconds of taking every sample out of the database by the driver alone, series by series, keeping none."""
    with closing(sqlite3.connect(path)) as conn:
        numbers = [number for (number,) in conn.execute("SELECT DISTINCT series_id FROM usage")]
        before = time.process_time()
        for number in numbers:
            conn.execute("SELECT at, value, period FROM usage WHERE series_id = ? ORDER BY at", (number,)).fetchall()
        return time.process_time() - before


def main(sizes: tuple[int, ...]) -> None:
    print(
        f"{'resources':>9} {'samples':>12} {'looks':>9} {'stops':>7} {'wall s':>8} {'CPU s':>8} "
        f"{'read only s':>11} {'times it':>8} {'peak MiB':>9}"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="costguard-bench-") as name:
            folder = Path(name)
            (folder / "costguard.yaml").write_text(CONFIG, "utf-8")
            (folder / "policies.yaml").write_text(POLICIES, "utf-8")
            app = opened(folder)
            fill(app, fleet(size))
            app.close()
            subprocess.run([sys.executable, "-m", "bench.replay", "--child", name], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure(Path(sys.argv[2]))
    else:
        main((100, 1_000) if is_full() else (20, 100))
