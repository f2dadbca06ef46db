"""Modes: what a machine looks like from outside while it does one kind of thing.

Ranges hold for one minute of one card (GPU) or of the whole machine. A card's maximum over the minute and its mean are
told apart, because that difference is what fools idle detection.
"""

from dataclasses import dataclass
from typing import Final

Range = tuple[float, float]

KB: Final = 1_000.0
MB: Final = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Mode:
    """Percent for GPU figures (power: of the card's limit), cores plus a share of all vCPUs for the CPU, bytes per
    second for network and disk, requests per second for connections. ``burst_every``: GPU figures other than memory
    hold for only one minute of so many; in the others the card idles."""

    name: str
    gpu_max: Range
    gpu_mean: Range
    memory: Range
    power: Range
    cores: Range = (0.05, 0.4)
    core_share: Range = (0.0, 0.0)
    network: Range = (2 * KB, 40 * KB)
    disk: Range = (1 * KB, 60 * KB)
    connections: Range = (0.0, 0.0)
    burst_every: int = 0


_ZERO: Final[Range] = (0.0, 0.0)
IDLE_POWER: Final[Range] = (15.0, 17.0)  # 62 W of 400 W: the tenth percentile of A100 samples
LOADED_POWER: Final[Range] = (22.0, 25.0)  # about 92 W of 400 W: a model in memory and nothing to do

MODES: Final = {
    mode.name: mode
    for mode in (
        Mode("idle", _ZERO, _ZERO, (0.0, 0.5), IDLE_POWER),
        Mode("loaded", _ZERO, _ZERO, (38.0, 41.0), LOADED_POWER),
        Mode(
            "training", (96.0, 100.0), (93.0, 99.0), (68.0, 83.0), (70.0, 97.0),
            cores=(1.0, 2.0), core_share=(0.12, 0.25), network=(2 * MB, 9 * MB), disk=(5 * MB, 60 * MB),
        ),
        # Parameters live in host memory: the GPU waits for the bus most of the time, and works in short steps.
        Mode(
            "offload", (61.0, 98.0), (11.0, 16.0), (40.0, 43.0), (25.0, 30.0),
            cores=(1.0, 2.0), core_share=(0.3, 0.5), network=(40 * KB, 300 * KB), disk=(10 * MB, 80 * MB),
        ),
        Mode(
            "loading", _ZERO, _ZERO, (2.0, 4.0), IDLE_POWER,
            cores=(1.0, 2.0), core_share=(0.7, 0.85), network=(60 * MB, 140 * MB), disk=(200 * MB, 480 * MB),
        ),
        # A collective that waits for a peer that is gone spins at 100 % and draws next to nothing.
        Mode(
            "hung", (100.0, 100.0), (100.0, 100.0), (71.0, 71.0), (20.0, 23.0),
            cores=(1.0, 1.1), network=(1 * KB, 5 * KB), disk=(0.0, 4 * KB),
        ),
        # Twenty seconds of work every nine minutes: between two polls of a naive watcher.
        Mode(
            "bursts", (86.0, 97.0), (28.0, 32.0), (30.0, 33.0), (38.0, 46.0),
            cores=(0.2, 0.6), burst_every=9,
        ),
        Mode(
            "serving", (55.0, 92.0), (25.0, 69.0), (80.0, 84.0), (38.0, 52.0),
            cores=(1.5, 3.0), core_share=(0.02, 0.05), network=(1.5 * MB, 6 * MB), connections=(2.0, 8.5),
        ),
        Mode("quiet", _ZERO, _ZERO, (80.0, 84.0), LOADED_POWER),
        # A job that holds a GPU and works on the CPU: a third of all samples of real clusters.
        Mode(
            "cpu_only", _ZERO, _ZERO, (3.0, 9.0), (16.0, 19.0),
            cores=(1.2, 2.0), core_share=(0.05, 0.2), network=(100 * KB, 3 * MB), disk=(1 * MB, 20 * MB),
        ),
        Mode(
            "cpu_box", _ZERO, _ZERO, _ZERO, _ZERO,
            cores=(0.2, 1.5), network=(20 * KB, 900 * KB), disk=(10 * KB, 2 * MB),
        ),
    )
}  # fmt: skip
