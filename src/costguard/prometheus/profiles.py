"""Profiles: what each exporter calls its metrics, in which unit, and how it numbers cards.

The unit is part of the profile and never guessed from values: 0.9 may be 0.9 % or 90 %. Every query takes the maximum
over each step of what was really scraped within it (``max_over_time``), so a short burst is not lost between two
points, and a target that went away has no value: an instant selector would carry its last sample on for five minutes.

Facts. dcgm-exporter (NVIDIA, its default counter list and README): ``DCGM_FI_DEV_GPU_UTIL`` percent, ``FB_USED`` and
``FB_FREE`` MiB, ``POWER_USAGE`` W, ``DCGM_FI_PROF_*`` ratios 0–1 that may be missing; labels ``gpu``, ``UUID``, and
``GPU_I_ID`` on a slice. Its issue 216: with MIG, ``DCGM_FI_DEV_GPU_UTIL`` is 0 whatever runs;
``DCGM_FI_PROF_GR_ENGINE_ACTIVE`` is told for each slice. nvidia_gpu_exporter (utkuozdemir, docs/METRICS.md): the unit
is in the name (``_ratio``, ``_bytes``, ``_watts``), series carry ``uuid`` alone, the card's number is the value of
``nvidia_smi_index``, two-state fields are 1 and 0. Telegraf (inputs.nvidia_smi): percent, MiB, W; tags ``index``,
``uuid``. npu-exporter (Huawei Ascend): AI core and, apart from it, vector core percent, MB; labels ``id``,
``vdie_id``; a reading that failed is -1. node_exporter (Prometheus): counters of seconds and bytes, so the mean over a
step is exact.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from costguard.domain.usage import Metric, Statistic


@dataclass(frozen=True, slots=True)
class Selection:
    """What a query is made for: ``by`` the labels that stay, ``matchers`` inside the braces, ``step`` in seconds."""

    by: tuple[str, ...]
    matchers: str
    step: int


Expression = Callable[[Selection], str]


def peak(name: str, function: str = "max") -> Expression:
    """The highest (or, with ``min``, the lowest) sample of each step, of whatever series the labels put together."""

    def text(asked: Selection) -> str:
        by = ", ".join(asked.by)
        return f"{function} by ({by}) ({function}_over_time({name}{{{asked.matchers}}}[{asked.step}s]))"

    return text


def share(part: str, whole: str) -> Expression:
    """A part of a whole, in percent."""
    return lambda asked: f"100 * {peak(part)(asked)} / {peak(whole)(asked)}"


def share_of_sum(used: str, free: str) -> Expression:
    """The same where the exporter tells what is used and what is free: the most used is when the least is free."""
    return lambda asked: (
        f"100 * {peak(used)(asked)} / ({peak(used)(asked)} + {peak(free, 'min')(asked)})"
    )  # fmt: skip


def rates(*counters: str, where: str = "") -> Expression:
    """Per second, of counters that are added up. Two steps hold two scrapes even where a step holds one; a counter
    that was not scraped within the last step has no rate."""

    def one(name: str, asked: Selection) -> str:
        selector = f"{name}{{{', '.join(filter(None, (asked.matchers, where)))}}}"
        now = f"count_over_time({selector}[{asked.step}s])"
        return f"sum by ({', '.join(asked.by)}) (rate({selector}[{2 * asked.step}s]) and {now})"

    return lambda asked: " + ".join(one(name, asked) for name in counters)


@dataclass(frozen=True, slots=True)
class Query:
    """One expression and what it tells. ``scale`` turns its unit into the metric's own; a value below 0 or above
    ``top`` (in that unit) is no measurement. ``facet`` sets apart what measures the same thing in another way: it is a
    source of its own. ``blind_under_mig``: its zeros say nothing of a card that is cut into slices. ``slices``: the
    metric that is told for each slice; one that is no longer told of may be the one that works. ``partial``: it
    measures a part of a card's engines, so it may show work and proves no rest."""

    metric: Metric
    expression: Expression
    scale: float = 1.0
    top: float | None = 100.0
    facet: str = ""
    statistic: Statistic = Statistic.MAX
    blind_under_mig: bool = False
    slices: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """One exporter. ``card`` is the label that holds a card's number, or ``numbers`` the metric whose value it is;
    neither: it tells of whole machines. ``unit`` is the label of the physical card. ``slice`` is set on a part of a
    card, and ``mig_mode`` is the metric that is 1 for a card that is cut. ``capabilities``: what a policy may ask for.
    """

    queries: tuple[Query, ...]
    capabilities: frozenset[str]
    card: str | None = None
    numbers: str | None = None
    unit: str | None = None
    slice: str | None = None
    mig_mode: str | None = None

    @property
    def of_cards(self) -> bool:
        return self.card is not None or self.numbers is not None


_GPU = frozenset({"gpu_usage"})
_DEVICES = 'device!~"lo|veth.*|docker.*|br-.*|virbr.*|cni.*|cali.*|flannel.*|tunl.*"'
_POWER_TOP = 150.0  # a card may draw more than its limit for a moment

PROFILES: Mapping[str, Profile] = {
    "dcgm": Profile(
        (
            Query(Metric.GPU_UTIL, peak("DCGM_FI_DEV_GPU_UTIL"), blind_under_mig=True),
            Query(
                Metric.GPU_UTIL, peak("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), scale=100.0, facet="prof",
                slices="DCGM_FI_PROF_GR_ENGINE_ACTIVE",
            ),
            Query(Metric.GPU_MEMORY, share_of_sum("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE")),
            Query(
                Metric.GPU_POWER, share("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_MGMT_LIMIT"), top=_POWER_TOP
            ),
        ),
        _GPU, card="gpu", unit="UUID", slice="GPU_I_ID", mig_mode="DCGM_FI_DEV_MIG_MODE",
    ),
    "nvidia_gpu_exporter": Profile(
        (
            Query(Metric.GPU_UTIL, peak("nvidia_smi_utilization_gpu_ratio"), scale=100.0, blind_under_mig=True),
            Query(
                Metric.GPU_UTIL, peak("nvidia_smi_mig_graphics_activity_ratio"), scale=100.0, facet="mig",
                slices="nvidia_smi_mig_graphics_activity_ratio",
            ),
            Query(Metric.GPU_MEMORY, share("nvidia_smi_memory_used_bytes", "nvidia_smi_memory_total_bytes")),
            Query(
                Metric.GPU_POWER, share("nvidia_smi_power_draw_watts", "nvidia_smi_power_limit_watts"), top=_POWER_TOP
            ),
        ),
        _GPU, numbers="nvidia_smi_index", unit="uuid", slice="gpu_instance_id", mig_mode="nvidia_smi_mig_mode_current",
    ),
    "telegraf": Profile(
        (
            Query(Metric.GPU_UTIL, peak("nvidia_smi_utilization_gpu")),
            Query(Metric.GPU_MEMORY, share("nvidia_smi_memory_used", "nvidia_smi_memory_total")),
            Query(Metric.GPU_POWER, share("nvidia_smi_power_draw", "nvidia_smi_power_limit"), top=_POWER_TOP),
        ),
        _GPU, card="index", unit="uuid",
    ),
    "ascend": Profile(
        (
            Query(Metric.GPU_UTIL, peak("npu_chip_info_utilization")),
            Query(Metric.GPU_UTIL, peak("npu_chip_info_vector_utilization"), facet="vector", partial=True),
            Query(Metric.GPU_MEMORY, share("npu_chip_info_hbm_used_memory", "npu_chip_info_hbm_total_memory")),
        ),
        _GPU, card="id", unit="vdie_id",
    ),
    "node_exporter": Profile(
        (
            Query(
                Metric.CPU_CORES, rates("node_cpu_seconds_total", where='mode!~"idle|iowait|steal"'), top=None,
                statistic=Statistic.MEAN,
            ),
            Query(
                Metric.NETWORK,
                rates("node_network_receive_bytes_total", "node_network_transmit_bytes_total", where=_DEVICES),
                top=None, statistic=Statistic.MEAN,
            ),
            Query(
                Metric.DISK, rates("node_disk_read_bytes_total", "node_disk_written_bytes_total"), top=None,
                statistic=Statistic.MEAN,
            ),
        ),
        frozenset({"cpu_usage"}),
    ),
}  # fmt: skip
"""By the names that ``metrics[].profile`` takes."""
