"""Evaluation with windows ready: 10,000 resources × 20 policies, and how it grows. Prints a table."""

import gc
import time
from typing import Any

from bench._table import Line, is_full, show
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.engine.evaluate import evaluate
from costguard.rules.policy import Policy
from costguard.rules.registry import parse_policy
from costguard.testing.builders import HOUR, NOW, make_resource, make_snapshot, make_windows

ROLES = ("dev", "train", "serve", "ci", "none")
TEAMS = ("vision", "speech", "search", "ads")


def fleet(size: int) -> list[Resource]:
    return [
        make_resource(
            f"i-{i:06d}",
            name=f"{TEAMS[i % 4]}-box-{i}",
            cards=(1, 8, 0, 4)[i % 4],
            region=("cn-north", "cn-south", "us-east-1")[i % 3],
            tags={"role": ROLES[i % 5], "team": TEAMS[i % 4]} | ({"owner": f"dev{i % 9}"} if i % 8 else {}),
            started_at=NOW - (i % 13 + 1) * HOUR,
            team=TEAMS[i % 4],
        )
        for i in range(size)
    ]


def policies(count: int = 20) -> list[Policy]:
    """Ten rules on use and ten on tags and age, on overlapping parts of the fleet, as a company writes them."""
    made: list[Policy] = []
    for i in range(count):
        match: dict[str, Any] = {"tags": {"role": [ROLES[i % 5]], "team": [TEAMS[i % 4]]}, "kinds": ["vm"]}
        document: dict[str, Any] = {"name": f"p{i}", "respond": [{"do": "warn"}, {"after": "30m", "do": "stop"}]}
        if i % 2:
            document |= {"rule": "idle", "when": {"for": "2h"}, "match": {**match, "gpus": {"min": 1}}}
        elif i % 4:
            document |= {"rule": "lifetime", "when": {"max_age": "12h"}, "match": {**match, "not": {"names": ["*-7"]}}}
        else:
            document |= {"rule": "untagged", "match": {"names": [f"{TEAMS[i % 4]}-*"]}, "respond": [{"do": "notify"}]}
        made.append(parse_policy(document))
    return made


def snapshot(size: int) -> Snapshot:
    boxes = fleet(size)
    usage: dict[ResourceRef, dict[WindowSpec, tuple[UsageWindow, ...]]] = {}
    for i, box in enumerate(boxes):
        cards = box.gpus.cards if box.gpus else 0
        value = 0.5 if i % 7 == 1 else 80.0  # one box in seven is idle
        usage[box.ref] = make_windows(
            box, {Metric.GPU_UTIL: [value] * cards, Metric.CPU_CORES: 0.1, Metric.NETWORK: 100.0}, length=2 * HOUR
        )
    return make_snapshot(*boxes, usage=usage)


def measure(size: int, rounds: int = 3) -> tuple[float, int, int]:
    """(best CPU seconds, judgements, findings)."""
    facts, rules = snapshot(size), policies()
    gc.collect()
    best, judged, found = float("inf"), 0, 0
    for _ in range(rounds):
        before = time.process_time()
        result = evaluate(rules, facts)
        best = min(best, time.process_time() - before)
        judged, found = sum(len(j) for j in result.judgements.values()), len(result.findings)
    return best, judged, found


def main() -> None:
    sizes = (1_000, 10_000, 100_000) if is_full() else (1_000, 10_000, 30_000)
    spent: dict[int, float] = {}
    print(f"{'resources':>10} {'policies':>9} {'judgements':>11} {'findings':>9} {'CPU s':>8} {'µs per resource':>16}")
    for size in sizes:
        spent[size], judged, found = measure(size)
        print(f"{size:>10,} {20:>9} {judged:>11,} {found:>9,} {spent[size]:>8.3f} {spent[size] / size * 1e6:>16.1f}")
    largest = sizes[-1]
    growth = spent[largest] / spent[10_000] / (largest / 10_000)
    show(
        [
            Line("10,000 resources × 20 policies", spent[10_000], "CPU s", 0.5, digits=2),
            Line(f"{largest:,} resources against 10,000, for each resource", growth, "×", 1.5, digits=2),
        ]
    )


if __name__ == "__main__":
    main()
