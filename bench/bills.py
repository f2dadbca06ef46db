"""`costguard bills import` of a FOCUS bill, and `spend` over it, each as a process of its own.

The full size is a million rows, as CSV and as Parquet.
"""

import csv
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench._table import Line, is_full, show

ACCOUNT = "123456789012"
START = datetime(2026, 11, 1, tzinfo=UTC)
END = datetime(2026, 12, 1, tzinfo=UTC)
QUICK, FULL = 100_000, 1_000_000
# FOCUS 1.2: every mandatory column, and the conditional ones that cloud providers fill in.
COLUMNS = (
    "AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType",
    "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription",
    "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
    "ContractedUnitPrice", "EffectiveCost", "InvoiceId", "InvoiceIssuerName", "ListCost", "ListUnitPrice",
    "PricingCategory", "PricingCurrency", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName",
    "RegionId", "RegionName", "ResourceId", "ResourceName", "ResourceType", "ServiceCategory", "ServiceName",
    "ServiceSubcategory", "SkuId", "SkuMeter", "SkuPriceId", "SubAccountId", "SubAccountName", "Tags",
)  # fmt: skip
_CONFIG = """\
version: 1
language: en
currency: USD
timezone: UTC
accounts: [{{name: prod, provider: simulated, account_id: "{account}", currency: USD}}]
policies: []
"""


def lines(count: int) -> Iterator[tuple[str, ...]]:
    """Hourly lines of a few hundred resources: what a team of some size gets in a month."""
    rng = random.Random(7)
    for number in range(count):
        hour = START + timedelta(hours=number % 720)
        cost = f"{rng.random() * 4:.10f}"
        resource = f"i-{number // 720 % 1500:017x}"
        quantity = f"{rng.random():.9f}"
        yield (
            "us-east-1a", cost, ACCOUNT, "Example", "Standard", "USD", END.isoformat(), START.isoformat(), "Usage", "",
            "$4.00 per On Demand Linux g6.12xlarge Instance Hour", "Usage-Based",
            (hour + timedelta(hours=1)).isoformat(), hour.isoformat(), quantity, "Hours", cost, "4.0", cost, "",
            "Example Inc.", cost, "4.0", "Standard", "USD", quantity, "Hours", "AWS", "AWS", "us-east-1",
            "US East (N. Virginia)", resource, "", "Instance", "Compute", "Amazon Elastic Compute Cloud",
            "Virtual Machines", f"SKU{number % 40}", "Instance Usage", f"SKU{number % 40}.JRTC", ACCOUNT, "Example",
            f'{{"team": "team-{number // 720 % 12}", "owner": "person-{number // 720 % 40}"}}',
        )  # fmt: skip


def write(folder: Path, count: int) -> None:
    """The same bill as CSV and, where pyarrow is installed, as Parquet."""
    with (folder / "focus.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(lines(count))
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        return
    text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pyarrow.string()))
    with (
        pyarrow.csv.open_csv(folder / "focus.csv", convert_options=text) as reader,
        pyarrow.parquet.ParquetWriter(folder / "focus.parquet", reader.schema) as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)


def measured(*words: str, folder: Path) -> tuple[float, float, float]:
    """(seconds, CPU seconds, peak resident MiB) of a costguard command."""
    started = time.perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-m", "costguard", *words], cwd=folder, stdout=subprocess.DEVNULL, env=dict(os.environ)
    )
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise RuntimeError(f"costguard {' '.join(words)}: exit {done.returncode}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    count = FULL if is_full() else QUICK
    share = count / FULL
    table: list[Line] = []
    with TemporaryDirectory(prefix="costguard-bench-") as name:
        folder = Path(name)
        # In a process of its own: a child's memory counts from its parent's.
        subprocess.run([sys.executable, "-c", f"from bench.bills import *; write(Path({name!r}), {count})"], check=True)
        for path in (path for path in (folder / "focus.csv", folder / "focus.parquet") if path.exists()):
            form = {".csv": "CSV", ".parquet": "Parquet"}[path.suffix]
            (folder / "costguard.yaml").write_text(_CONFIG.format(account=ACCOUNT), "utf-8")
            for number, what in enumerate(("import", "the same again")):
                wall, cpu, peak = measured("bills", "import", path.name, folder=folder)
                table += [
                    Line(f"{form}, {count:,} rows: {what}", wall, "s", 60 * share + 3 if not number else None),
                    Line("  CPU", cpu, "CPU s"),
                    Line("  memory at its peak", peak, "MiB", 200),
                ]
            wall, cpu, peak = measured("spend", "--month", "2026-11", "--by", "team", folder=folder)
            table += [Line("  spend --by team over it", wall, "s"), Line("  memory at its peak", peak, "MiB")]
            for left in folder.glob("costguard.db*"):
                left.unlink()
    show(table)


if __name__ == "__main__":
    main()
