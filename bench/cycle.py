"""One warm cycle of the daemon without polling: 20 instances, 10 policies; CPU, and statements for each cycle."""

import statistics
import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import event
from sqlalchemy.engine import Engine

from bench._table import Line, show
from costguard.app.app import App
from costguard.config.load import load
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Gpus, Kind, Resource, ResourceRef, State
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.store import inventory, sources, usage
from costguard.testing.clock import FakeClock

BOXES, POLICIES, CYCLES = 20, 10, 15
MINUTE = timedelta(minutes=1)
REGION = "cn-north"
CONFIG = """\
version: 1
timezone: UTC
language: en
currency: CNY
accounts: [{name: prod, provider: simulated, account_id: "1"}]
channels: [{name: ops, kind: slack, url: "http://127.0.0.1:9/hook"}]
notify: {default: [ops]}
policies: [policies.yaml]
"""


def policies() -> str:
    rules = ("idle, when: {for: 45m}", "lifetime, when: {max_age: 7d}")
    lines = ["policies:"]
    for number in range(POLICIES):
        rule = rules[number % 2]
        lines.append(
            f"  - {{name: p{number}, rule: {rule}, match: {{kinds: [vm], tags: {{role: [dev, r{number}]}}}}, "
            "respond: [{do: warn}, {after: 30m, do: stop}]}"
        )
    return "\n".join(lines) + "\n"


def fill(app: App) -> None:
    """What polls would have brought: running boxes, busy for the last two hours."""
    now = app.clock.now()
    boxes = [
        Resource(
            ref=ResourceRef("simulated", "prod", REGION, Kind.VM, f"i-{number:04d}"), name=f"train-{number}",
            state=State.RUNNING, raw_state="Running", observed_at=now, charge_type=ChargeType.ON_DEMAND,
            sku="gpu.a100", gpus=Gpus("A100", Decimal(1), 81_920), vcpus=16, created_at=now - timedelta(days=1),
            started_at=now - timedelta(days=1), tags={"role": "dev", "owner": "li"}, price=Money.of("34.74", "CNY"),
            price_source="list",
        )
        for number in range(BOXES)
    ]  # fmt: skip
    values = ((Metric.GPU_UTIL, 0, 90.0), (Metric.CPU_CORES, None, 3.0), (Metric.NETWORK, None, 1e5))
    samples = [
        UsageSample(Series(box.ref, metric, card, "cloud", Statistic.MAX), now - age * MINUTE, value, MINUTE)
        for box in boxes
        for metric, card, value in values
        for age in range(120)
    ]
    with app.database.write() as conn:
        inventory.record_listing(conn, "prod", REGION, Kind.VM, boxes, now, 5 * MINUTE)
        usage.append(conn, samples)
        for source in ("inventory", "usage"):
            sources.record_success(conn, "prod", REGION, source, count=BOXES, interval=5 * MINUTE, now=now)


def main() -> None:
    clock = FakeClock()
    statements = 0

    def count(*told: object) -> None:
        nonlocal statements
        statements += 1

    with TemporaryDirectory(prefix="costguard-bench-") as folder:
        (Path(folder) / "policies.yaml").write_text(policies(), "utf-8")
        (Path(folder) / "costguard.yaml").write_text(CONFIG, "utf-8")
        app = App.open(load(Path(folder) / "costguard.yaml", {}), clock, threads=1, lease_ttl=timedelta(hours=8))
        try:
            app.lead.round()
            fill(app)
            for _ in range(3):
                app.decide()
            event.listen(Engine, "before_cursor_execute", count)
            spent = []
            for _ in range(CYCLES):
                clock.advance(5 * timedelta(seconds=1))
                before = time.process_time()
                app.decide()
                spent.append(time.process_time() - before)
            event.remove(Engine, "before_cursor_execute", count)
        finally:
            app.close()
    show(
        [
            Line(f"a warm cycle, {BOXES} instances, {POLICIES} policies", statistics.median(spent) * 1e3, "CPU ms", 50),
            Line("the slowest of them", max(spent) * 1e3, "CPU ms"),
            Line("SQL statements for each cycle", statements / CYCLES, "", 60),
        ]
    )


if __name__ == "__main__":
    main()
