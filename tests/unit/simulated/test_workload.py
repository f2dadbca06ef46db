"""Workload: gapless, the same whenever it is asked, and shaped like the traces it was fitted to."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest

from costguard_simulated.fitted import JOB_RUN_TIME, SHARED_UTIL, TRAINING_UTIL, job_seconds, job_util
from costguard_simulated.workload import Segment, Work, minute_of, segments

ZONE = ZoneInfo("Asia/Shanghai")
THURSDAY = datetime(2026, 11, 12, 0, 0, tzinfo=ZONE)


def drawn(do: str, start: datetime, length: timedelta, seed: int = 5) -> list[Segment]:
    first = minute_of(start)
    return list(segments([Work(start, do)], seed, ZONE, first, first + length // timedelta(minutes=1)))


@pytest.mark.parametrize("do", ["developer", "batch", "training"])
def test_segments_leave_no_gap_and_no_overlap(do: str) -> None:
    found = drawn(do, THURSDAY, timedelta(days=6))
    assert found[0].start == minute_of(THURSDAY)
    assert all(a.end == b.start for a, b in pairwise(found))
    assert found[-1].end == minute_of(THURSDAY + timedelta(days=6))
    assert all(segment.start < segment.end for segment in found)


@pytest.mark.parametrize("do", ["developer", "batch"])
def test_a_part_is_the_part_of_the_whole(do: str) -> None:
    """Whatever stretch is asked for, a minute's mode is the same."""
    whole = drawn(do, THURSDAY, timedelta(days=5))
    at = minute_of(THURSDAY + timedelta(hours=37))
    part = list(segments([Work(THURSDAY, do)], 5, ZONE, at, at + 600))

    def mode_at(found: list[Segment], minute: int) -> tuple[str, float | None]:
        (hit,) = [s for s in found if s.start <= minute < s.end]
        return hit.mode.name, hit.level

    assert [mode_at(part, m) for m in range(at, at + 600)] == [mode_at(whole, m) for m in range(at, at + 600)]


def test_a_plan_changes_at_its_moments() -> None:
    plan = [Work(THURSDAY, "training"), Work(THURSDAY + timedelta(hours=1), "idle", cards=2, level=9.0)]
    first = minute_of(THURSDAY)
    found = list(segments(plan, 1, ZONE, first + 30, first + 90))
    assert [(s.start - first, s.end - first, s.mode.name, s.cards) for s in found] == [
        (30, 60, "training", None),
        (60, 90, "idle", 2),
    ]


def test_developers_work_by_day_and_rest_at_weekends() -> None:
    days = timedelta(days=1)
    office, weekend = 0, 0
    for seed in range(40):
        for segment in drawn("developer", THURSDAY + timedelta(hours=9), timedelta(hours=11), seed):
            office += segment.mode.name in ("training", "cpu_only")
        saturday = THURSDAY + 2 * days + timedelta(hours=9)
        weekend += sum(s.mode.name != "loaded" for s in drawn("developer", saturday, timedelta(hours=11), seed))
    assert office > 4 * weekend > 0


def test_evening_jobs_run_into_the_night() -> None:
    """Not every job of the day ends at midnight."""
    midnight = minute_of(THURSDAY + timedelta(days=1))
    running = [
        segment
        for seed in range(60)
        for segment in drawn("developer", THURSDAY + timedelta(days=1), timedelta(hours=8), seed)
        if segment.start == midnight and segment.mode.name != "loaded"
    ]
    assert 0 < len(running) < 60
    assert len({segment.end for segment in running}) > 1


def test_job_lengths_have_the_fitted_quantiles() -> None:
    """Philly, in seconds: p25 131, p50 1,186, p75 3,342, p90 12,858."""
    rng = Random(1)
    drawn_lengths = sorted(job_seconds(rng, 1e9) for _ in range(40_000))
    for share, wanted in ((0.25, 131), (0.5, 1186), (0.75, 3342), (0.9, 12858)):
        assert drawn_lengths[int(share * 40_000)] == pytest.approx(wanted, rel=0.35)
    assert sum(weight for weight, _, _ in JOB_RUN_TIME) == pytest.approx(1)


@pytest.mark.parametrize("shares", [TRAINING_UTIL, SHARED_UTIL])
def test_utilisation_is_bimodal(shares: tuple[float, float, float]) -> None:
    rng = Random(2)
    found = [job_util(rng, shares) for _ in range(20_000)]
    assert sum(u < 5 for u in found) / 20_000 == pytest.approx(shares[0], abs=0.015)
    assert sum(u >= 90 for u in found) / 20_000 == pytest.approx(shares[2], abs=0.015)
    assert sum(shares) == pytest.approx(1)


def test_minutes_count_from_the_epoch() -> None:
    assert minute_of(datetime(1970, 1, 1, 1, 0, 59, tzinfo=UTC)) == 60
