"""Jobs and their two drivers: APScheduler in real time, and a stepped one on a virtual clock.

A job is a name, a period and a function. Schedules come from the configuration; due times of actions and
messages live in the database, so a missed or late run loses nothing.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.events import EVENT_JOB_MISSED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from costguard.daemon.health import Beats
from costguard.net.clock import SteppedClock

_log = logging.getLogger(__name__)
_WORKERS = 16
_STAGGER = timedelta(milliseconds=20)
EVERY = "*"


@dataclass(frozen=True, slots=True)
class Job:
    """``run`` comes round every ``every``; jobs with ``wakes`` start the named job when they end, or EVERY other.

    A round that returns False had nothing to do, and wakes nobody.
    """

    name: str
    every: timedelta
    run: Callable[[], bool | None]
    wakes: str | None = None


class Runner:
    """Runs one round of a job: beats, and keeps an unexpected error from killing the other jobs."""

    def __init__(self, beats: Beats) -> None:
        self._beats = beats

    def round(self, job: Job) -> bool:
        """True when it went through and had something to do."""
        try:
            worked = job.run() is not False
        except Exception as error:  # noqa: BLE001
            # The last line of defence of a loop: logged with its traceback, shown by /healthz and counted.
            _log.exception("loop failed", extra={"loop": job.name})
            self._beats.beat(job.name, f"{type(error).__name__}: {error}")
            return False
        self._beats.beat(job.name)
        return worked


class BackgroundDriver:
    """Runs jobs on threads at real intervals, ``rate`` times faster than their period."""

    def __init__(self, jobs: Sequence[Job], beats: Beats, rate: float = 1.0) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._runner = Runner(beats)
        self._beats = beats
        self._rate = rate
        self._woken = threading.Lock()
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(_WORKERS)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._missed, EVENT_JOB_MISSED)

    def start(self) -> None:
        for number, job in enumerate(self._jobs.values()):
            seconds = max(0.05, job.every.total_seconds() / self._rate)
            self._beats.expect(job.name, seconds)
            self._scheduler.add_job(
                self._run,
                "interval",
                seconds=seconds,
                args=[job],
                id=job.name,
                # The first rounds follow the order of the list: polls before the cycle that reads them.
                next_run_time=datetime.now(UTC) + _STAGGER * number,  # noqa: TID251 — APScheduler's own clock
            )
        self._scheduler.start()

    def wake(self, name: str, delay: timedelta = timedelta(0)) -> None:
        """Runs a job now, besides its schedule; several wishes become one round."""
        with self._woken:
            if self._scheduler.running and self._scheduler.get_job(name):
                self._scheduler.modify_job(name, next_run_time=datetime.now(UTC) + delay)  # noqa: TID251 — as above

    def stop(self) -> None:
        """No new rounds; waits for those that run."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def _run(self, job: Job) -> None:
        if self._runner.round(job) and job.wakes:
            for number, name in enumerate(_woken(job, self._jobs)):
                self.wake(name, _STAGGER * number)

    def _missed(self, event: object) -> None:
        _log.warning("a scheduled run was missed; it is made up for", extra={"loop": getattr(event, "job_id", "")})


def _woken(job: Job, names: Iterable[str]) -> list[str]:
    """The jobs that ``job`` wakes, in the order of the list."""
    return [name for name in names if name == job.wakes or (job.wakes == EVERY and name != job.name)]


class SteppedDriver:
    """Runs jobs one after the other on a clock that jumps from due time to due time.

    The order of the list is the order within one instant: polls before the cycle that reads them.
    """

    def __init__(self, jobs: Sequence[Job], clock: SteppedClock) -> None:
        self._jobs = list(jobs)
        self._clock = clock
        self._queue: list[tuple[datetime, int]] = [(clock.now(), number) for number in range(len(jobs))]
        heapq.heapify(self._queue)

    def run_until(self, end: datetime, each: Callable[[datetime], None] | None = None) -> None:
        """All rounds due before ``end`` (aware UTC); ``each`` is told every instant that was worked.

        Raises what a job raised: on a virtual clock an unexpected error is a bug to be seen.
        """
        names = {job.name: number for number, job in enumerate(self._jobs)}
        while self._queue and self._queue[0][0] < end:
            due = self._queue[0][0]
            if due > self._clock.now():
                self._clock.advance(due - self._clock.now())
            ran: set[int] = set()
            woken: set[int] = set()
            while self._queue and self._queue[0][0] <= due:
                _, number = heapq.heappop(self._queue)
                job = self._jobs[number]
                worked = job.run() is not False
                ran.add(number)
                if job.wakes and worked:
                    woken.update(names[name] for name in _woken(job, names))
                heapq.heappush(self._queue, (due + job.every, number))
            for number in sorted(woken - ran):
                self._jobs[number].run()
            if each:
                each(self._clock.now())
        if end > self._clock.now():
            self._clock.advance(end - self._clock.now())
