"""Forecast of the month's end against the run rate: steady, ramping and bursty teams. Prints a table."""

import random
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from statistics import mean
from zoneinfo import ZoneInfo

from costguard.domain.budget import Spend
from costguard.domain.money import Money
from costguard.domain.time import local_midnight
from costguard.engine.forecast import forecast
from costguard.rules.spending import Period
from costguard.testing.builders import make_snapshot, make_spend

ZONE = ZoneInfo("Asia/Shanghai")
FIRST, DAYS = date(2025, 1, 1), 420
ORIGINS = (5, 10, 15, 20, 25)
TEAMS = 12
_DAY = timedelta(days=1)

Team = Callable[[random.Random], Iterator[float]]


def steady(rng: random.Random) -> Iterator[float]:
    """A cluster that is always about as full, a little less at weekends."""
    for n in range(DAYS):
        weekday = (FIRST + n * _DAY).weekday()
        yield 1_000 * (0.85 if weekday > 4 else 1.0) * rng.gauss(1, 0.12)


def ramping(rng: random.Random) -> Iterator[float]:
    """A team that grows from a box to a room full within the year, in steps, and stays there for a while."""
    level = 100.0
    for n in range(DAYS):
        if rng.random() < 0.08:
            level *= rng.uniform(1.05, 1.35) if level < 6_000 else rng.uniform(0.75, 1.1)
        weekday = (FIRST + n * _DAY).weekday()
        yield level * (0.7 if weekday > 4 else 1.0) * rng.gauss(1, 0.15)


def bursty(rng: random.Random) -> Iterator[float]:
    """Little for most days, and training runs of some days that cost ten times as much."""
    left = 0
    for _ in range(DAYS):
        if left == 0 and rng.random() < 0.07:
            left = rng.randint(2, 9)
        left = max(0, left - 1)
        yield (2_500 if left else 250) * rng.gauss(1, 0.2)


def history(team: Team, seed: int) -> dict[date, Money]:
    found = team(random.Random(seed))
    return {FIRST + n * _DAY: Money.of(f"{max(0.0, amount):.4f}", "CNY") for n, amount in enumerate(found)}


def rows(days: dict[date, Money], until: date) -> list[Spend]:
    """The last ten weeks before ``until``."""
    return [
        make_spend(days[day], start=local_midnight(day, ZONE), end=local_midnight(day + _DAY, ZONE))
        for day in (until - n * _DAY for n in range(70, 0, -1))
        if day in days
    ]


def backtest(team: Team, origin: int) -> tuple[list[float], list[float], list[bool], list[float]]:
    """(errors of the method, errors of the run rate, whether the interval held the truth, its width), shares of it."""
    ours, theirs, held, width = [], [], [], []
    for seed in range(TEAMS):
        days = history(team, seed)
        for month in range(4, 13):
            today = date(2025, month, origin) + _DAY
            now = local_midnight(today, ZONE)
            period = Period.of("month", now - _DAY, ZONE)
            actual = sum(days[period.first + n * _DAY].nanos for n in range((period.after - period.first).days))
            found = forecast(rows(days, today), (), make_snapshot(now=now, timezone=ZONE.key))
            assert found is not None
            assert found.run_rate is not None
            ours.append(abs(found.amount.nanos - actual) / actual)
            theirs.append(abs(found.run_rate.nanos - actual) / actual)
            if found.low is not None and found.high is not None:
                held.append(found.low.nanos <= actual <= found.high.nanos)
                width.append((found.high.nanos - found.low.nanos) / actual)
    return ours, theirs, held, width


def main() -> int:
    started = datetime.now(UTC)
    print(f"{TEAMS} teams x 9 months each; mean absolute error of the month's total; interval meant to hold 80 %")
    print(f"{'team':<9}{'day':>4}{'forecast':>10}{'run rate':>10}{'skill':>8}{'held':>7}{'width':>8}")
    for team in (steady, ramping, bursty):
        for origin in ORIGINS:
            ours, theirs, held, width = backtest(team, origin)
            print(
                f"{team.__name__:<9}{origin:>4}{mean(ours):>10.1%}{mean(theirs):>10.1%}"
                f"{1 - mean(ours) / mean(theirs):>+8.2f}{mean(held):>7.0%}{mean(width):>8.0%}"
            )
    print(f"{(datetime.now(UTC) - started).total_seconds():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
