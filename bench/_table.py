"""What benchmarks share: tables with goals, memory, and the choice between quick and full."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """One measured number. ``goal``: at most this; None: printed to be compared, not promised."""

    what: str
    measured: float
    unit: str
    goal: float | None = None
    digits: int = 1


def show(lines: Sequence[Line]) -> None:
    """A table of numbers beside their goals."""
    print(f"{'':<58} {'measured':>10} {'goal':>9}  {'':<12}")
    for line in lines:
        goal = "" if line.goal is None else f"≤ {line.goal:g}"
        verdict = "" if line.goal is None else "ok" if line.measured <= line.goal else "MISSED"
        print(f"{line.what:<58} {line.measured:>10.{line.digits}f} {goal:>9}  {line.unit:<12} {verdict}")


def is_full() -> bool:
    """Whether the long variant was asked for with ``--full``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="as long and as large as the promise says")
    return bool(parser.parse_args().full)


def rss_mib() -> float:
    """This process's resident memory now, MiB."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE / 2**20
