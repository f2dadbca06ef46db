"""Usage: each cloud's resolution, nothing invented, and the shapes that fool idle detection."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from costguard.domain.resource import Kind
from costguard.domain.usage import Metric, Statistic
from costguard.errors import PermissionDenied
from tests.unit.simulated.helpers import START, clock_at, machine, named, only, open_up, samples, write

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def test_a_card_is_a_series_and_a_minute_a_sample(tmp_path: Path) -> None:
    """M03."""
    path = write(tmp_path, machine("a", sku="a100x8", work=[{"since": "-20d", "do": "training"}]))
    connection = open_up(path, clock_at(HOUR))
    found = samples(connection, only(connection), Metric.GPU_UTIL, START, START + 30 * MINUTE)
    assert {s.series.gpu_index for s in found} == set(range(8))
    assert [s.at for s in found if s.series.gpu_index == 3] == [START + n * MINUTE for n in range(31)]
    assert {(s.series.statistic, s.series.cards, s.period) for s in found} == {(Statistic.MAX, 1, MINUTE)}
    assert min(s.value for s in found) > 90


def test_one_busy_card_of_eight_hides_in_the_tencent_like_mean(tmp_path: Path) -> None:
    """A30: one card at 39 % reads about 4.9 % in the mean over eight."""
    work = [{"since": "-20d", "do": "training", "cards": 1, "level": 39}]
    path = write(tmp_path, machine("a", sku="a100x8", work=work), personality="tencent")
    connection = open_up(path, clock_at(HOUR))
    found = samples(connection, only(connection), Metric.GPU_UTIL, START, START + 45 * MINUTE)
    assert {(s.series.gpu_index, s.series.statistic, s.series.cards) for s in found} == {(None, Statistic.MEAN, 8)}
    assert all(37 / 8 <= s.value <= 41.1 / 8 for s in found)


def test_a_burst_of_twenty_seconds_is_in_the_maximum(tmp_path: Path) -> None:
    """A06: every window of nine minutes holds one, and its mean would not show it."""
    path = write(tmp_path, machine("a", work=[{"since": "-20d", "do": "bursts"}]))
    connection = open_up(path, clock_at(2 * HOUR))
    found = [s.value for s in samples(connection, only(connection), Metric.GPU_UTIL, START, START + HOUR)]
    assert all(max(found[n : n + 9]) > 80 for n in range(len(found) - 9))
    assert sum(found) / len(found) < 15


def test_a_burst_stays_in_the_maximum_of_old_coarse_samples(tmp_path: Path) -> None:
    """A13: after 15 days a sample covers five minutes."""
    path = write(tmp_path, machine("a", created="-25d", work=[{"since": "-25d", "do": "bursts"}]))
    connection = open_up(path, clock_at())
    since = START - timedelta(days=20)
    found = samples(connection, only(connection), Metric.GPU_UTIL, since, since + 2 * HOUR)
    assert {s.period for s in found} == {5 * MINUTE}
    assert all(b.at - a.at == 5 * MINUTE for a, b in pairwise(found))
    values = [s.value for s in found]
    assert all(max(values[n : n + 2]) > 80 for n in range(len(values) - 2))


def test_offloaded_training_has_a_low_mean_and_a_high_maximum(tmp_path: Path) -> None:
    work = [{"since": "-20d", "do": "offload"}]
    maximum = open_up(write(tmp_path, machine("a", work=work)), clock_at(HOUR))
    high = [s.value for s in samples(maximum, only(maximum), Metric.GPU_UTIL, START, START + 45 * MINUTE)]
    mean = open_up(write(tmp_path, machine("a", work=work), personality="tencent"), clock_at(HOUR))
    low = [s.value for s in samples(mean, only(mean), Metric.GPU_UTIL, START, START + 45 * MINUTE)]
    assert min(high) > 60
    assert max(low) < 17


def test_a_hung_job_is_busy_and_draws_no_power(tmp_path: Path) -> None:
    """A27."""
    connection = open_up(write(tmp_path, machine("a", work=[{"since": "-20d", "do": "hung"}])), clock_at(HOUR))
    box = only(connection)
    assert {s.value for s in samples(connection, box, Metric.GPU_UTIL, START, START + HOUR)} == {100.0}
    assert max(s.value for s in samples(connection, box, Metric.GPU_POWER, START, START + HOUR)) < 40


def test_data_loading_leaves_the_gpu_at_zero_and_the_cpu_busy(tmp_path: Path) -> None:
    """A01."""
    connection = open_up(write(tmp_path, machine("a", work=[{"since": "-20d", "do": "loading"}])), clock_at(HOUR))
    box = only(connection)
    assert max(s.value for s in samples(connection, box, Metric.GPU_UTIL, START, START + HOUR)) == 0
    assert min(s.value for s in samples(connection, box, Metric.CPU_CORES, START, START + HOUR)) > 4


def test_an_idle_box_is_below_every_threshold(tmp_path: Path) -> None:
    """What may be stopped must look it: less than a core, less than 1 MB/s."""
    connection = open_up(write(tmp_path, machine("a", work=[{"since": "-20d", "do": "loaded"}])), clock_at(HOUR))
    box = only(connection)
    for metric, limit in ((Metric.GPU_UTIL, 5), (Metric.CPU_CORES, 1), (Metric.NETWORK, 1e6)):
        found = samples(connection, box, metric, START, START + 45 * MINUTE)
        assert len(found) == 46
        assert max(s.value for s in found) < limit
    assert min(s.value for s in samples(connection, box, Metric.GPU_MEMORY, START, START + HOUR)) > 30


@pytest.mark.parametrize(("personality", "delay"), [("alibaba", 60), ("tencent", 90), ("aws", 120), ("rack", 30)])
def test_samples_arrive_late(tmp_path: Path, personality: str, delay: int) -> None:
    connection = open_up(write(tmp_path, machine("a"), personality=personality), clock_at(10 * MINUTE))
    now = START + 10 * MINUTE
    found = samples(connection, only(connection), Metric.CPU_CORES, START, now)
    assert now - found[-1].at >= timedelta(seconds=delay)
    assert now - found[-1].at < timedelta(seconds=delay + 60)


def test_a_dead_agent_is_silence_and_the_host_still_talks(tmp_path: Path) -> None:
    """A10, A15."""
    connection = open_up(write(tmp_path, machine("a", agent="20m"), machine("b", agent="never")), clock_at(HOUR))
    dies = named(connection, "a")
    found = samples(connection, dies, Metric.GPU_UTIL, START, START + HOUR)
    assert found[-1].at == START + 20 * MINUTE
    never = named(connection, "b")
    assert samples(connection, never, Metric.GPU_UTIL, START, START + HOUR) == ()
    assert samples(connection, never, Metric.CPU_CORES, START, START + HOUR) != ()


def test_a_stopped_machine_has_no_samples(tmp_path: Path) -> None:
    """A04: never zeros, and none from before the last start reach beyond it."""
    path = write(tmp_path, machine("a"), people=[{"at": "10m", "who": "li", "do": "stop", "machine": "a"}])
    connection = open_up(path, clock_at(HOUR))
    found = samples(connection, only(connection), Metric.GPU_UTIL, START, START + HOUR)
    assert found[-1].at <= START + 10 * MINUTE


def test_the_order_of_questions_changes_no_value(tmp_path: Path) -> None:
    """M04."""
    path = write(tmp_path, machine("a", work=[{"since": "-20d", "do": "developer"}]))
    connection = open_up(path, clock_at(5 * HOUR))
    box = only(connection)
    whole = samples(connection, box, Metric.GPU_UTIL, START, START + 4 * HOUR)
    parts = [
        sample
        for hour in (3, 0, 2, 1)
        for sample in samples(connection, box, Metric.GPU_UTIL, START + hour * HOUR, START + (hour + 1) * HOUR)
    ]
    assert {(s.at, s.value) for s in parts} == {(s.at, s.value) for s in whole}


def test_an_endpoint_tells_its_requests(tmp_path: Path) -> None:
    serving = machine("a", kind="endpoint", work=[{"since": "-20d", "do": "serving"}])
    quiet = machine("b", kind="endpoint", work=[{"since": "-20d", "do": "quiet"}])
    connection = open_up(write(tmp_path, serving, quiet), clock_at(HOUR))
    busy = samples(connection, named(connection, "a"), Metric.CONNECTIONS, START, START + HOUR)
    still = samples(connection, named(connection, "b"), Metric.CONNECTIONS, START, START + HOUR)
    assert min(s.value for s in busy) > 1
    assert {s.value for s in still} == {0.0}


def test_denied_metrics_are_raised(tmp_path: Path) -> None:
    """M01."""
    path = write(tmp_path, machine("a"), faults=[{"operation": "usage", "code": "Forbidden"}])
    connection = open_up(path, clock_at(HOUR))
    with pytest.raises(PermissionDenied):
        samples(connection, only(connection), Metric.GPU_UTIL, START, START + HOUR)


def test_a_throttled_batch_fails_alone(tmp_path: Path) -> None:
    """M02: 120 machines are three calls; the third one fails."""
    path = write(tmp_path, machine("a", count=120), faults=[{"operation": "usage", "code": "Throttling", "every": 3}])
    connection = open_up(path, clock_at(HOUR))
    boxes = list(connection.list(Kind.VM, "r1"))
    batch = connection.usage(boxes, frozenset({Metric.GPU_UTIL}), START, START + HOUR)
    assert set(batch.failed) == {box.ref for box in boxes[100:]}
    assert {s.series.ref for s in batch.samples} == {box.ref for box in boxes[:100]}
