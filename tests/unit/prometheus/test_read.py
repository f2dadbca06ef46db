"""Reading against a strict Prometheus: every profile's names and units, short bursts, gaps, MIG, pods, refusals."""

import math
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import pytest

from costguard.domain.usage import Metric, Statistic, UsageSample
from costguard.errors import TimedOut
from costguard.prometheus.join import Join
from costguard.prometheus.read import Reader, floor
from costguard.testing.builders import make_resource
from costguard.testing.clock import NOON, FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.prometheus import PrometheusServer

MINUTE = timedelta(minutes=1)
SINCE = NOON - 10 * MINUTE
BOX = make_resource("i-1", name="train-1", cards=2, started_at=NOON - timedelta(days=1))
OTHER = make_resource("i-2", name="train-2", cards=2, started_at=NOON - timedelta(days=1))

Make = Callable[..., Reader]


def labels(card: int = 0, id: str = "i-1", **more: str) -> dict[str, str]:
    return {"instance_id": id, "instance": f"{id}:9400", "gpu": str(card), "UUID": f"GPU-{id}-{card}", **more}


def values(samples: Iterable[UsageSample], metric: Metric = Metric.GPU_UTIL, card: int | None = 0) -> list[float]:
    return [s.value for s in samples if s.series.metric is metric and s.series.gpu_index == card]


@pytest.mark.parametrize(
    ("profile", "card_labels", "scraped", "expected"),
    [
        (
            "dcgm", {"gpu": "1", "UUID": "GPU-1"},
            {
                "DCGM_FI_DEV_GPU_UTIL": 37, "DCGM_FI_DEV_FB_USED": 20_480, "DCGM_FI_DEV_FB_FREE": 61_440,
                "DCGM_FI_DEV_POWER_USAGE": 120, "DCGM_FI_DEV_POWER_MGMT_LIMIT": 400,
            },
            {Metric.GPU_UTIL: 37.0, Metric.GPU_MEMORY: 25.0, Metric.GPU_POWER: 30.0},
        ),
        (
            "nvidia_gpu_exporter", {"uuid": "GPU-1"},
            {
                "nvidia_smi_utilization_gpu_ratio": 0.009, "nvidia_smi_index": 1,
                "nvidia_smi_memory_used_bytes": 2_147_483_648, "nvidia_smi_memory_total_bytes": 8_589_934_592,
                "nvidia_smi_power_draw_watts": 75, "nvidia_smi_power_limit_watts": 300,
            },
            {Metric.GPU_UTIL: 0.9, Metric.GPU_MEMORY: 25.0, Metric.GPU_POWER: 25.0},
        ),
        (
            "telegraf", {"index": "1", "uuid": "GPU-1", "host": "train-1"},
            {
                "nvidia_smi_utilization_gpu": 0.9, "nvidia_smi_memory_used": 4_096, "nvidia_smi_memory_total": 16_384,
                "nvidia_smi_power_draw": 60.5, "nvidia_smi_power_limit": 242,
            },
            {Metric.GPU_UTIL: 0.9, Metric.GPU_MEMORY: 25.0, Metric.GPU_POWER: 25.0},
        ),
        (
            "ascend", {"id": "1", "vdie_id": "V-1", "model_name": "910B", "pod_name": "p"},
            {
                "npu_chip_info_utilization": 88, "npu_chip_info_hbm_used_memory": 16_384,
                "npu_chip_info_hbm_total_memory": 65_536,
            },
            {Metric.GPU_UTIL: 88.0, Metric.GPU_MEMORY: 25.0},
        ),
    ],
)  # fmt: skip
def test_every_profile_knows_its_names_units_and_cards(
    server: PrometheusServer, reader: Make, profile: str, card_labels: dict[str, str],
    scraped: dict[str, float], expected: dict[Metric, float],
) -> None:  # fmt: skip
    """0.9 % and 90 % are told apart by the profile, never by the value."""
    for name, value in scraped.items():
        server.scrapes(name, {"instance_id": "i-1", "instance": "x", **card_labels}, SINCE - MINUTE, NOON, value)
    found = reader(profile).read([BOX], SINCE, NOON)
    assert found.notes == ()
    assert found.matched == {BOX.ref}
    assert {s.series.metric: s.value for s in found.samples} == pytest.approx(expected)
    assert {s.series.gpu_index for s in found.samples} == {1}
    assert {(s.series.source, s.series.statistic, s.period) for s in found.samples} == {
        ("prometheus:gpus", Statistic.MAX, MINUTE)
    }
    assert len(values(found.samples, card=1)) == 10


def test_node_exporter_tells_of_whole_machines(server: PrometheusServer, reader: Make) -> None:
    """Counters: cores that are busy, bytes in and out; idle and iowait are no work, nor is the loopback."""

    def counter(rate: float) -> Callable[[datetime], float]:
        return lambda at: 1_000 + rate * (at - SINCE).total_seconds() + rate * 3600

    on = {"instance_id": "i-1", "instance": "i-1:9100"}
    start = SINCE - 5 * MINUTE
    for cpu in ("0", "1"):
        for mode, rate in (("user", 0.5), ("system", 0.25), ("idle", 0.2), ("iowait", 0.05)):
            server.scrapes("node_cpu_seconds_total", {**on, "cpu": cpu, "mode": mode}, start, NOON, counter(rate))
    for device, rate in (("eth0", 1_000.0), ("lo", 1e9)):
        server.scrapes("node_network_receive_bytes_total", {**on, "device": device}, start, NOON, counter(rate))
        server.scrapes("node_network_transmit_bytes_total", {**on, "device": device}, start, NOON, counter(rate))
    found = reader("node_exporter").read([BOX], SINCE, NOON)
    assert values(found.samples, Metric.CPU_CORES, None) == pytest.approx([1.5] * 10)
    assert values(found.samples, Metric.NETWORK, None) == pytest.approx([2_000.0] * 10)
    assert {s.series.statistic for s in found.samples} == {Statistic.MEAN}


def test_a_counter_that_is_no_longer_scraped_has_no_rate(server: PrometheusServer, reader: Make) -> None:
    on = {"instance_id": "i-1", "instance": "i-1:9100", "cpu": "0", "mode": "user"}
    died = NOON - 5 * MINUTE
    server.scrapes("node_cpu_seconds_total", on, SINCE - 5 * MINUTE, died, lambda at: at.timestamp())
    found = reader("node_exporter").read([BOX], SINCE, NOON)
    assert max(s.at for s in found.samples) == died


def test_a_burst_between_two_points_is_seen(server: PrometheusServer, reader: Make) -> None:
    """A06: one scrape of four in a minute saw 90 %."""
    burst = NOON - 3 * MINUTE - timedelta(seconds=30)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON, lambda at: 90.0 if at == burst else 0.0)
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples) == [0, 0, 0, 0, 0, 0, 90.0, 0, 0, 0]


def test_a_target_that_went_away_has_no_fresh_samples(server: PrometheusServer, reader: Make) -> None:
    """A15: an instant query would carry the last value on for five minutes."""
    died = NOON - 6 * MINUTE
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, died)
    found = reader().read([BOX], SINCE, NOON)
    assert [s.at for s in found.samples] == [SINCE + n * MINUTE for n in (1, 2, 3, 4)]


def test_reading_again_gives_the_same_samples(server: PrometheusServer, reader: Make) -> None:
    """Whenever it is asked, points lie on whole minutes, and a span that overlaps has the same ones."""
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON, 5)
    whole = reader().read([BOX], SINCE, NOON).samples
    odd = reader().read([BOX], SINCE + timedelta(seconds=77), NOON - timedelta(seconds=13)).samples
    assert set(odd) == set(whole[1:])
    assert all(s.at == floor(s.at, MINUTE) and SINCE < s.at <= NOON for s in whole)


def test_one_query_a_metric_for_any_number_partlyes(server: PrometheusServer, reader: Make) -> None:
    boxes = [make_resource(f"i-{n}", cards=2) for n in range(40)]
    for box in boxes:
        for card in (0, 1):
            server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(card, box.ref.id), SINCE, NOON, card)
    found = reader().read(boxes, SINCE, NOON)
    assert len(found.matched) == 40
    assert len(server.queries) == 6
    assert len(found.samples) == 40 * 2 * 10


def test_only_some_boxes_are_asked_for_by_name(server: PrometheusServer, reader: Make) -> None:
    for id in ("i-1", "i-2", "i-1x"):
        server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, id), SINCE, NOON)
    found = reader().read([BOX, OTHER], SINCE, NOON, only=[BOX])
    assert {s.series.ref for s in found.samples} == {BOX.ref}
    assert found.unmatched == ()
    assert all("i-1|train-1" in query for query in server.queries)


def test_samples_from_before_the_start_are_left_out(server: PrometheusServer, reader: Make) -> None:
    """A04: the label said the same of the run before."""
    fresh = make_resource("i-1", cards=1, started_at=NOON - 3 * MINUTE)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON)
    assert len(reader().read([fresh], SINCE, NOON).samples) == 3


def test_a_machine_that_was_replaced_is_no_second_one(server: PrometheusServer, reader: Make) -> None:
    """A stop and a start bring other cards under the same numbers; only what overlaps is two machines."""
    fresh = make_resource("i-1", cards=1, started_at=NOON - 4 * MINUTE)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(UUID="old"), SINCE, NOON - 2 * MINUTE)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(UUID="new"), NOON - 3 * MINUTE, NOON)
    assert reader().read([fresh], SINCE, NOON).ambiguous == {}
    assert reader().read([BOX], SINCE, NOON - 5 * MINUTE).ambiguous == {}


def test_two_hosts_of_one_label_value_are_refused(server: PrometheusServer, reader: Make) -> None:
    """An idle and a busy machine both say i-1: whose use it is cannot be known. The other box is read as ever."""
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(UUID="GPU-a", instance="a:9400"), SINCE, NOON, 0)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(UUID="GPU-b", instance="b:9400"), SINCE, NOON, 95)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, "i-2"), SINCE, NOON)
    found = reader().read([BOX, OTHER], SINCE, NOON)
    assert found.ambiguous == {BOX.ref: "two cards with the number 0 tell of it at once: GPU-a, GPU-b"}
    assert {s.series.ref for s in found.samples} == {OTHER.ref}
    assert found.matched == {OTHER.ref}


def test_one_value_that_fits_two_boxes_is_refused(server: PrometheusServer, reader: Make) -> None:
    twins = [make_resource("i-1", name="train"), make_resource("i-2", name="train")]
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, "train"), SINCE, NOON)
    found = reader().read(twins, SINCE, NOON)
    assert found.samples == ()
    assert set(found.ambiguous.values()) == {"instance_id='train' fits 2 boxes: i-1, i-2"}


def test_replicas_and_a_second_exporter_are_one_machine(server: PrometheusServer, reader: Make) -> None:
    """The same card, told by two Prometheus replicas and on two ports: the highest counts."""
    for more in ({"replica": "a"}, {"replica": "b"}, {"instance": "i-1:9401"}):
        server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(**more), SINCE, NOON, 7 if more.get("replica") == "b" else 3)
    found = reader().read([BOX], SINCE, NOON)
    assert found.ambiguous == {}
    assert values(found.samples) == [7.0] * 10


def test_pods_come_and_go_on_one_card(server: PrometheusServer, reader: Make) -> None:
    """On Kubernetes a card's series changes its labels with each pod; the card is one all the while."""
    half = NOON - 5 * MINUTE
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(pod="", namespace=""), SINCE, half, 0)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(pod="job-1", namespace="ml"), half, NOON, 80)
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples) == [0.0] * 5 + [80.0] * 5
    assert found.ambiguous == {}


def test_zeros_of_a_card_that_is_cut_say_nothing(server: PrometheusServer, reader: Make) -> None:
    """dcgm-exporter tells 0 for every slice whatever runs; what the profiling metrics tell of slices counts."""
    for part in ("1", "2"):
        server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, GPU_I_ID=part, GPU_I_PROFILE="3g.40gb"), SINCE, NOON, 0)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(1), SINCE, NOON, 0)
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples, card=0) == []
    assert values(found.samples, card=1) == [0.0] * 10
    server.scrapes("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels(0, GPU_I_ID="1"), SINCE, NOON, 0.0)
    server.scrapes("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels(0, GPU_I_ID="2"), SINCE, NOON, 0.62)
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples, card=0) == pytest.approx([62.0] * 10)
    assert {s.series.source for s in found.samples if s.series.gpu_index == 0} == {"prometheus:gpus/prof"}


@pytest.mark.parametrize(
    ("profile", "util", "mode", "on"),
    [
        ("dcgm", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MIG_MODE", {"gpu": "0", "UUID": "GPU-0"}),
        ("nvidia_gpu_exporter", "nvidia_smi_utilization_gpu_ratio", "nvidia_smi_mig_mode_current", {"uuid": "GPU-0"}),
    ],
)
def test_mig_is_known_by_its_mode_as_well(
    server: PrometheusServer, reader: Make, profile: str, util: str, mode: str, on: dict[str, str]
) -> None:
    for name, value in ((util, 0), (mode, 1), ("nvidia_smi_index", 0)):
        server.scrapes(name, {"instance_id": "i-1", **on}, SINCE, NOON, value)
    found = reader(profile).read([BOX], SINCE, NOON)
    assert found.samples == ()
    assert found.matched == found.cut == {BOX.ref}


ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def sliced(samples: Iterable[UsageSample]) -> tuple[list[datetime], list[tuple[datetime, float]]]:
    """When card 0 as a whole was told of, and what a part of it was seen to do."""
    first = [s for s in samples if s.series.gpu_index == 0]
    return [s.at for s in first if s.series.cards], [(s.at, s.value) for s in first if not s.series.cards]


@pytest.mark.parametrize("ago", [5, 30, 23 * 60])
def test_a_slice_that_is_told_of_no_more_leaves_its_card_unknown(
    server: PrometheusServer, reader: Make, ago: int
) -> None:
    """A15, A10: the other slice is at rest, and nobody sees whether the job goes on. It may have vanished long before
    what is read."""
    died = NOON - ago * MINUTE
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="1"), SINCE, NOON, 0.0)
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="2"), died - 5 * MINUTE, died, 0.9)
    server.scrapes(ACTIVE, labels(1), SINCE, NOON, 0.0)
    found = reader().read([BOX], SINCE, NOON)
    whole, partly = sliced(found.samples)
    assert whole == [SINCE + n * MINUTE for n in range(1, 11) if SINCE + n * MINUTE <= died]
    assert partly == [(SINCE + n * MINUTE, 0.0) for n in range(1, 11) if SINCE + n * MINUTE > died]
    assert len(values(found.samples, card=1)) == 10, "the other card is seen as ever"
    assert found.notes == ("not every slice of card 0 of i-1 is told of",)


def test_work_on_the_slices_that_are_seen_counts_all_the_same(server: PrometheusServer, reader: Make) -> None:
    half = NOON - 5 * MINUTE
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="1"), SINCE, NOON, lambda at: 0.6 if at > half else 0.0)
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="2"), SINCE, half, 0.0)
    server.scrapes(ACTIVE, labels(1, GPU_I_ID="1"), SINCE, NOON, 0.1)
    server.scrapes(ACTIVE, labels(1, GPU_I_ID="2"), SINCE, half, 0.0)
    found = reader().read([BOX], SINCE, NOON).samples
    assert sliced(found)[1] == [(half + n * MINUTE, pytest.approx(60.0)) for n in range(1, 6)]
    assert {s.series.gpu_index for s in found if not s.series.cards} == {0, 1}


def test_slices_may_be_made_and_their_card_may_be_replaced(server: PrometheusServer, reader: Make) -> None:
    """What was not there yet hid no work, nor does what went with another card, or a day ago."""
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="9"), NOON - 1600 * MINUTE, NOON - 1500 * MINUTE, 0.9)
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="8", UUID="old"), NOON - 90 * MINUTE, NOON - 60 * MINUTE, 0.9)
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="1"), SINCE, NOON, 0.0)
    server.scrapes(ACTIVE, labels(0, GPU_I_ID="2"), NOON - 5 * MINUTE, NOON, 0.0)
    found = reader().read([BOX], SINCE, NOON)
    assert sliced(found.samples) == ([SINCE + n * MINUTE for n in range(1, 11)], [])
    assert found.notes == ()


def test_zeros_say_nothing_when_the_slices_themselves_are_told_of_no_more(
    server: PrometheusServer, reader: Make
) -> None:
    """Nothing of this hour says that the card is cut; what was told before does."""
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON, 0)
    server.scrapes(ACTIVE, labels(GPU_I_ID="1"), NOON - 90 * MINUTE, NOON - 60 * MINUTE, 0.9)
    assert reader().read([BOX], SINCE, NOON).samples == ()


def test_vector_cores_show_work_and_prove_no_rest(server: PrometheusServer, reader: Make) -> None:
    """Ascend tells of AI cores and of vector cores apart; a job on the latter alone reads 0 % of the former."""
    on = {"instance_id": "i-1", "id": "1", "vdie_id": "V-1"}
    server.scrapes("npu_chip_info_utilization", on, SINCE, NOON, 0)
    server.scrapes("npu_chip_info_vector_utilization", on, SINCE, NOON, 71)
    found = reader("ascend").read([BOX], SINCE, NOON).samples
    told = {(s.series.source, s.series.gpu_index, s.series.cards, s.value) for s in found}
    assert told == {("prometheus:gpus", 1, 1, 0.0), ("prometheus:gpus/vector", 1, 0, 71.0)}


def test_numbers_that_are_none_and_values_that_cannot_be(server: PrometheusServer, reader: Make) -> None:
    """NaN and infinities are no samples; -1 is a failed reading; 8,700 % is another exporter's unit."""
    told = iter([math.nan, math.inf, -math.inf, -1.0, 8_700.0, 12.0])
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), NOON - 6 * MINUTE, NOON, lambda at: next(told), MINUTE)
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples) == [12.0]
    assert found.notes == (
        "gpu_util of i-1 was -1: no measurement, or not this profile",
        "gpu_util of i-1 was 8700: no measurement, or not this profile",
    )


def test_a_partial_answer_is_told(server: PrometheusServer, reader: Make) -> None:
    """Thanos warns with status 200, VictoriaMetrics says isPartial: what came may show work, and proves no rest."""
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON, 3)
    server.warnings, server.partial = ["fetch series for store-1: no such host"], True
    found = reader().read([BOX], SINCE, NOON)
    assert values(found.samples) == [3.0] * 10
    assert {sample.series.cards for sample in found.samples} == {0}
    assert found.partial
    assert found.notes == (
        "a part may be missing: fetch series for store-1: no such host",
        "a part may be missing: the answer is partial",
    )


def test_one_failed_query_fails_the_read(server: PrometheusServer, reader: Make) -> None:
    """M01: use without the memory that a policy vetoes by would be half an answer."""
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(), SINCE, NOON)
    server.fail(Fault.RESET, on=lambda request: "FB_USED" in request.query.get("query", ""))
    with pytest.raises(Exception, match="the connection") as caught:
        reader().read([BOX], SINCE, NOON)
    assert not isinstance(caught.value, TimedOut)


def test_where_narrows_and_values_are_quoted(server: PrometheusServer, reader: Make, clock: FakeClock) -> None:
    odd = make_resource('x "y"\\z.*', name="a+b (1)")
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, odd.ref.id, cluster='g"1\\'), SINCE, NOON, 4)
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", labels(0, odd.ref.id, cluster="other", UUID="b"), SINCE, NOON, 99)
    found = reader(how=Join("instance_id", "id"), cluster='g"1\\').read([odd], SINCE, NOON, only=[odd])
    assert values(found.samples) == [4.0] * 10
    assert found.ambiguous == {}


def test_the_target_of_a_scrape_is_joined_by_its_host(server: PrometheusServer, reader: Make) -> None:
    box = make_resource("i-9", attributes={"private_ip": "10.0.0.5,10.0.1.5", "hostname": "ip-10-0-0-5"})
    server.scrapes("DCGM_FI_DEV_GPU_UTIL", {"instance": "10.0.1.5:9400", "gpu": "0", "UUID": "u"}, SINCE, NOON, 1)
    how = Join("instance", "private_ip")
    assert reader(how=how).read([box], SINCE, NOON).matched == {box.ref}
    assert reader(how=how).read([box], SINCE, NOON, only=[box]).matched == {box.ref}
