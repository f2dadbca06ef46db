"""Activity: what every source together says of a box right now. UNKNOWN counts as busy, for every rule.

Asked by the guards before a stop; the rules have their own, longer windows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.rules.kind import ActivityTests, running_since
from costguard.rules.reasons import METRICS, sentence
from costguard.rules.windows import Proof, Reading, cards_of, read_box, windows_of

WINDOW = timedelta(minutes=30)
GPU = WindowSpec(Metric.GPU_UTIL, WINDOW)
CPU = WindowSpec(Metric.CPU_CORES, WINDOW)
NETWORK = WindowSpec(Metric.NETWORK, WINDOW)
DISK = WindowSpec(Metric.DISK, WINDOW)
CONNECTIONS = WindowSpec(Metric.CONNECTIONS, WINDOW)

# The snapshot's builder makes these windows for each resource that a ladder could stop.
ACTIVITY_WINDOWS = frozenset({GPU, CPU, NETWORK, DISK, CONNECTIONS})

USUAL = ActivityTests()


class Activity(StrEnum):
    ACTIVE = "active"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer and the signals that it rests on: (signal, what it says, its maximum).

    ``reason`` is one plain English sentence; ``since`` the start of the window that proves IDLE.
    """

    activity: Activity
    reason: str
    signals: tuple[tuple[str, Proof, float | None], ...] = ()
    since: datetime | None = None


def activity_of(resource: Resource, snapshot: Snapshot, tests: ActivityTests = USUAL) -> Seen:
    """ACTIVE if any source saw work, IDLE if GPU, CPU and network are all proven quiet, else UNKNOWN.

    Disk and connections only ever speak for work: few boxes have them. A test that is None is not asked.
    A heartbeat is work. A box that started inside the window is not proven idle.
    """
    beat = snapshot.heartbeats.get(resource.ref)
    if beat is not None and beat > snapshot.now:
        zone = snapshot.timezone
        until = f"{beat.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
        return Seen(Activity.ACTIVE, f"a job said that it is alive until {until} ({zone})")
    required, optional = _readings(resource, snapshot, tests)
    signals = tuple((name, reading.proof, reading.max) for name, reading in (*required, *optional))
    busy = [name for name, proof, _ in signals if proof is Proof.BUSY]
    if busy:
        named = ", ".join(METRICS[name] for name in busy)
        return Seen(Activity.ACTIVE, f"{named} saw work in the last 30 min", signals)
    for name, reading in required:
        if reading.proof is not Proof.QUIET:
            return Seen(Activity.UNKNOWN, sentence(f"{name}_{reading.reason}"), signals)
    windows: list[UsageWindow] = [w for _, reading in required for w in reading.windows]
    if not windows:
        return Seen(Activity.UNKNOWN, "no source is asked", signals)
    begin = min(w.start for w in windows)
    started = running_since(resource, snapshot)
    if started is None or started > begin:
        return Seen(Activity.UNKNOWN, "it started less than 30 min ago, or nobody knows when", signals)
    return Seen(Activity.IDLE, "every source was quiet for 30 min", signals, begin)


def _readings(
    resource: Resource, snapshot: Snapshot, tests: ActivityTests
) -> tuple[list[tuple[str, Reading]], list[tuple[str, Reading]]]:
    ref, coverage = resource.ref, tests.coverage
    required: list[tuple[str, Reading]] = []
    if resource.gpus is not None or windows_of(snapshot, ref, GPU):
        cards = resource.gpus.cards if resource.gpus else None
        required.append(("gpu_util", cards_of(snapshot, ref, GPU, cards, tests.gpu_util, coverage)))
    for name, spec, below in (("cpu_cores", CPU, tests.cpu_cores), ("network", NETWORK, tests.network)):
        if below is not None:
            required.append((name, read_box(windows_of(snapshot, ref, spec), below, WINDOW, coverage)))
    optional: list[tuple[str, Reading]] = []
    for name, spec, below in (("disk", DISK, tests.disk), ("connections", CONNECTIONS, tests.connections)):
        windows = windows_of(snapshot, ref, spec)
        if below is not None and windows:
            optional.append((name, read_box(windows, below, WINDOW, coverage)))
    return required, optional
