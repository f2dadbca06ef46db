"""On site: what costguard's own look at a machine sees, played from the machine's work.

The script itself is not run; its first line holds the levels, and the machine answers with the words and the exit code
that the script would have: what works in that minute, and what the load averages remember of the hour before.
"""

from datetime import datetime, timedelta
from math import exp
from zoneinfo import ZoneInfo

from costguard.domain.resource import State
from costguard.domain.usage import Metric
from costguard_simulated.fleet import Machine
from costguard_simulated.inventory import gpu_cards
from costguard_simulated.timeline import Timeline
from costguard_simulated.values import host, noise_of, of_one_card
from costguard_simulated.workload import Segment, minute_of, segments

MARK = "# costguard looks at this box:"
ALONE = "exit $costguard_saw\n"
TAKES = timedelta(seconds=12)
_BUSY = 75
_MEMORY = 60  # minutes of which something is left in the slowest load average


def look(machine: Machine, timeline: Timeline, zone: ZoneInfo, command: str, at: datetime) -> tuple[int, str]:
    """The exit code and the output of the look that began at ``at`` (aware)."""
    first, _, _ = command.removeprefix(MARK).partition("\n")
    levels = {
        name: float(level) for name, _, level in (item.partition("=") for item in first.split()) if level != "off"
    }
    now = minute_of(at) + 1
    parts = {
        minute: part
        for part in segments(timeline.plan, machine.seed, zone, now - _MEMORY - 1, now)
        for minute in range(part.start + 1, part.end + 1)
    }
    cores = {minute: _host(machine, Metric.CPU_CORES, part, minute) for minute, part in parts.items()}
    running = timeline.spans(frozenset({State.RUNNING}), at - timedelta(minutes=_MEMORY), at)
    up = {m for m in cores if any(minute_of(start) < m <= minute_of(end) for start, end in running)}
    load1, load15 = (_load([cores[m] if m in up else 0.0 for m in sorted(cores) if m < now], over) for over in (1, 15))
    seen = {
        "disk": _host(machine, Metric.DISK, parts[now], now),
        "network": _host(machine, Metric.NETWORK, parts[now], now),
        "load": (load1 - load15) * 200,
        "cpu": cores[now] * 100,
        "gpu": max((_card(machine, card, parts[now], now) for card in range(gpu_cards(machine))), default=0.0),
    }
    why = "rest"
    for name, value in seen.items():
        level = levels.get("cpu" if name == "load" else name)
        if level is not None and value >= level:
            why = name
    said = (
        f"{why}: gpu={seen['gpu']:.0f} cpu={seen['cpu']:.0f} load={load1 * 100:.0f}/{load15 * 100:.0f} "
        f"network={seen['network']:.0f} disk={seen['disk']:.0f}"
    )
    return (0 if why == "rest" else _BUSY), said


def _host(machine: Machine, metric: Metric, part: Segment, minute: int) -> float:
    return host(metric, part, machine.sku.vcpus, noise_of(machine, metric)(minute))


def _card(machine: Machine, card: int, part: Segment, minute: int) -> float:
    noise = noise_of(machine, Metric.GPU_UTIL, card)(minute)
    return of_one_card(Metric.GPU_UTIL, part, card, minute, noise, mean=False)


def _load(cores: list[float], minutes: int) -> float:
    load, keeps = 0.0, exp(-1 / minutes)
    for busy in cores:
        load = load * keeps + busy * (1 - keeps)
    return load
