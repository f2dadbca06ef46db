"""10,000 EC2 instances in one region: a dry run, listing and storing included, against boto3's bare listing of them."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from bench._table import Line, is_full, show

CONFIG = """\
version: 1
timezone: UTC
language: en
currency: USD
accounts:
  - name: prod
    provider: aws
    account_id: "123456789012"
    regions: [us-east-1]
    endpoint: {url}
    credentials: {{access_key_id: AKIAEXAMPLE, secret_access_key: secret}}
channels: [{{name: ops, kind: slack, url: "http://127.0.0.1:9/hook"}}]
notify: {{default: [ops]}}
policies: [policies.yaml]
"""
ROLES = ("dev", "train", "serve", "ci")


# Who we are, the regions, the types, open reservations, and one for each other kind of the region.
_EXTRA = 9


def policies() -> str:
    """Ten policies without usage rules."""
    lines = ["policies:"]
    for number in range(10):
        match = f"match: {{kinds: [vm], tags: {{role: [{ROLES[number % 4]}]}}, names: ['*-{number}*']}}"
        rule = "lifetime, when: {max_age: 3650d}" if number % 2 else "untagged, when: {require: [cost-center]}"
        respond = "[{do: warn}, {after: 30m, do: stop}]" if number % 2 else "[{do: notify}]"
        lines.append(f"  - {{name: p{number}, rule: {rule}, {match}, respond: {respond}}}")
    return "\n".join(lines) + "\n"


def bare(url: str) -> int:
    """What a script does: every page of the listing, read and forgotten."""
    import boto3

    client = boto3.client(
        "ec2", "us-east-1", endpoint_url=url, aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="secret"
    )
    pages = client.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 1000})
    return sum(len(one["Instances"]) for page in pages for one in page["Reservations"])


def guarded(url: str) -> int:
    """A first run of costguard: identity, every kind of the region, decisions, one transaction of each."""
    from sqlalchemy import func, select

    from costguard.app.app import App
    from costguard.cli.start import collect_rarely
    from costguard.config.load import load
    from costguard.net.clock import SystemClock
    from costguard.store.tables import resource

    collect_rarely()
    with TemporaryDirectory(prefix="costguard-bench-") as folder:
        (Path(folder) / "policies.yaml").write_text(policies(), "utf-8")
        (Path(folder) / "costguard.yaml").write_text(CONFIG.format(url=url), "utf-8")
        app = App.open(load(Path(folder) / "costguard.yaml", {}), SystemClock(), threads=1)
        try:
            app.lead.round()
            app.identify()
            app.inventory(app.accounts["prod"], all_regions=True)
            app.lead.round()
            app.decide()
            with app.database.read() as conn:
                return conn.execute(select(func.count()).select_from(resource)).scalar_one()
        finally:
            app.close()


def in_process(work: Callable[[str], int], url: str) -> dict[str, float]:
    """Runs ``work`` in a process of its own: {count, cpu (seconds, imports included), rss (MiB at most), API calls}."""
    told = subprocess.run(
        [sys.executable, "-m", "bench.ec2", "--child", work.__name__, url],
        check=True,
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
    )
    answer: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    with urlopen(url) as calls:
        return {**answer, "calls": sum(json.load(calls).values())}


def child(name: str, url: str) -> None:
    count = {"bare": bare, "guarded": guarded}[name](url)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"count": count, "cpu": time.process_time(), "rss": peak}))


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    count = 10_000 if is_full() else 4_000
    with subprocess.Popen([sys.executable, "-m", "bench._ec2", str(count)], stdout=subprocess.PIPE, text=True) as cloud:
        try:
            assert cloud.stdout is not None
            url = f"http://127.0.0.1:{cloud.stdout.readline().strip()}"
            listing, run = in_process(bare, url), in_process(guarded, url)
        finally:
            cloud.terminate()
    assert listing["count"] == run["count"] == count, (listing, run)
    show(
        [
            Line(f"boto3 lists {count:,} instances", listing["cpu"], "CPU s", digits=2),
            Line("costguard lists, stores and decides", run["cpu"], "CPU s", digits=2),
            Line("ratio", run["cpu"] / listing["cpu"], "×", 1.3, digits=2),
            Line("memory of the bare listing", listing["rss"], "MiB"),
            Line("memory of costguard", run["rss"], "MiB", 250),
            Line("API calls of the bare listing", listing["calls"], "calls", digits=0),
            Line("API calls of costguard", run["calls"], "calls", listing["calls"] + _EXTRA, digits=0),
        ]
    )


if __name__ == "__main__":
    main()
