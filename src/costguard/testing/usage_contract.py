"""The contract's part on usage: what did not arrive is unknown, never zero, and one failure stays alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from costguard.domain.resource import Resource
from costguard.domain.time import parse_duration
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.errors import PermissionDenied, ProviderError
from costguard.ports import Connection
from costguard.testing.cloud import Calls, CloudFixture, Fault, SkuFacts, VmFacts
from costguard.testing.contract import Contract, needs, usage, vms
from costguard.testing.manifest import Manifest

_GPU = frozenset({Metric.GPU_UTIL, Metric.GPU_MEMORY, Metric.GPU_POWER})


def many_cards(cloud: CloudFixture) -> SkuFacts:
    """The known type with the fewest GPUs above one."""
    return min((sku for sku in cloud.skus if sku.gpu_count >= 2), key=lambda sku: sku.gpu_count)


def latest_end(cloud: CloudFixture, manifest: Manifest, metric: Metric) -> tuple[datetime, timedelta]:
    """End of the newest period that must have arrived by now, aligned to the period; and the period."""
    facts = manifest["metrics"][metric.value]
    period, delay = parse_duration(facts["period"]), parse_duration(facts["delay"])
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    ready = cloud.clock.now() - delay - period
    return ready - (ready - epoch) % period, period


def by_series(samples: Sequence[UsageSample]) -> Mapping[Series, list[UsageSample]]:
    grouped: dict[Series, list[UsageSample]] = defaultdict(list)
    for sample in samples:
        grouped[sample.series].append(sample)
    return grouped


class UsageContract(Contract):
    """Samples, windows, cards, failures."""

    @needs("gpu_usage")
    def test_gpu_values_come_as_they_were(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        self._values_come_as_they_were(connection, cloud, manifest, {m for m in _GPU if m.value in manifest["metrics"]})

    @needs("cpu_usage")
    def test_box_values_come_as_they_were(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        metrics = {m for m in Metric if m not in _GPU and m.value in manifest["metrics"]}
        self._values_come_as_they_were(connection, cloud, manifest, metrics)

    def _values_come_as_they_were(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest, metrics: set[Metric]
    ) -> None:
        """Right units and times; inside the asked window; in order; one value per period."""
        assert metrics
        sku = many_cards(cloud).sku if metrics & _GPU else ""
        (vm_id,) = cloud.add(VmFacts(sku=sku, started_at=cloud.clock.now() - timedelta(days=1)))
        boxes = vms(connection, cloud)
        cards = (boxes[0].gpus.cards if boxes[0].gpus else None) or 1
        for metric in sorted(metrics):
            facts = manifest["metrics"][metric.value]
            end, period = latest_end(cloud, manifest, metric)
            scale = 0.125 if metric is Metric.CPU_CORES else 4.0
            wanted = {end - n * period: scale * (n + 1) for n in range(10)}
            indexes = range(cards) if metric in _GPU and facts["cards"] == "each" else [None]
            for index in indexes:
                cloud.set_samples(vm_id, metric, sorted(wanted.items()), index)
            since, until = end - 6 * period, end - 2 * period
            batch = usage(connection).usage(boxes, frozenset({metric}), since, until)
            assert batch.failed == {}
            grouped = by_series(batch.samples)
            assert {series.gpu_index for series in grouped} == set(indexes)
            for series, samples in grouped.items():
                assert (series.ref, series.metric) == (boxes[0].ref, metric)
                assert series.source
                assert series.statistic is Statistic(facts["statistic"])
                times = [sample.at for sample in samples]
                assert all(at.utcoffset() == timedelta(0) for at in times)
                assert times == sorted(set(times))
                assert since <= times[0]
                assert times[-1] <= until
                assert {at for at in wanted if since < at <= until} <= set(times)
                for sample in samples:
                    assert sample.period == period
                    assert sample.value == pytest.approx(wanted[sample.at], rel=1e-6)

    @needs("gpu_usage")
    def test_each_card_is_told_or_the_mean_is_called_one(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        """M03, A24, A30: card 0 idle and card 1 at 99 % never look like an idle box."""
        sku = many_cards(cloud)
        (vm_id,) = cloud.add(VmFacts(sku=sku.sku, started_at=cloud.clock.now() - timedelta(days=1)))
        boxes = vms(connection, cloud)
        cards = int(sku.gpu_count)
        end, period = latest_end(cloud, manifest, Metric.GPU_UTIL)
        if manifest["metrics"]["gpu_util"]["cards"] == "each":
            truth = {index: 99.0 if index == 1 else 0.0 for index in range(cards)}
            for index, value in truth.items():
                cloud.set_samples(vm_id, Metric.GPU_UTIL, [(end, value)], index)
        else:
            cloud.set_samples(vm_id, Metric.GPU_UTIL, [(end, 99.0 / cards)])
        batch = usage(connection).usage(boxes, frozenset({Metric.GPU_UTIL}), end - period, end)
        found = {sample.series: sample.value for sample in batch.samples if sample.at == end}
        if manifest["metrics"]["gpu_util"]["cards"] == "each":
            assert {series.gpu_index: value for series, value in found.items()} == pytest.approx(truth)
            assert {series.cards for series in found} == {1}
        else:
            assert [(series.gpu_index, series.cards) for series in found] == [(None, cards)]

    @needs("gpu_usage")
    def test_what_did_not_arrive_is_missing_and_never_zero(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        """A10: no agent, or no data yet."""
        sku = many_cards(cloud).sku
        cloud.add(VmFacts(sku=sku), VmFacts(sku=sku))
        end, period = latest_end(cloud, manifest, Metric.GPU_UTIL)
        metrics = frozenset(Metric(name) for name in manifest["metrics"])
        batch = usage(connection).usage(vms(connection, cloud), metrics, end - 30 * period, end)
        assert batch.samples == ()
        assert batch.failed == {}

    @needs("gpu_usage")
    def test_a_hole_stays_a_hole(self, connection: Connection, cloud: CloudFixture, manifest: Manifest) -> None:
        """A15: a series that stops and goes on has no invented values in between."""
        (vm_id,) = cloud.add(VmFacts(sku=many_cards(cloud).sku, started_at=cloud.clock.now() - timedelta(days=1)))
        end, period = latest_end(cloud, manifest, Metric.GPU_UTIL)
        each = manifest["metrics"]["gpu_util"]["cards"] == "each"
        points = [(end - n * period, 50.0) for n in (9, 8, 1, 0)]
        cloud.set_samples(vm_id, Metric.GPU_UTIL, points, 0 if each else None)
        boxes = vms(connection, cloud)
        batch = usage(connection).usage(boxes, frozenset({Metric.GPU_UTIL}), end - 10 * period, end)
        assert sorted(sample.at for sample in batch.samples) == sorted(at for at, _ in points)

    @needs("gpu_usage")
    def test_two_of_a_hundred_fail_alone(self, connection: Connection, cloud: CloudFixture, manifest: Manifest) -> None:
        """M02: only those whose call failed are unknown; all others have their values."""
        boxes, end, period = self._fleet(connection, cloud, manifest, 100)
        unlucky = cloud.fail_usage([boxes[7].ref.id, boxes[42].ref.id])
        assert {boxes[7].ref.id, boxes[42].ref.id} <= unlucky
        assert len(unlucky) < 100
        batch = usage(connection).usage(boxes, frozenset({Metric.GPU_UTIL}), end - period, end)
        assert {ref.id for ref in batch.failed} == unlucky
        assert all(isinstance(error, ProviderError) for error in batch.failed.values())
        assert {sample.series.ref.id for sample in batch.samples} == {box.ref.id for box in boxes} - unlucky

    @needs("gpu_usage")
    def test_a_denied_metric_api_is_an_error_and_not_silence(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest
    ) -> None:
        """M01: raised, or told for every single resource."""
        boxes, end, period = self._fleet(connection, cloud, manifest, 3)
        cloud.fail(Fault.FORBIDDEN, on=Calls.USAGE)
        try:
            batch = usage(connection).usage(boxes, frozenset({Metric.GPU_UTIL}), end - period, end)
        except PermissionDenied:
            return
        assert batch.samples == ()
        assert set(batch.failed) == {box.ref for box in boxes}
        assert {type(error) for error in batch.failed.values()} == {PermissionDenied}

    @needs("gpu_usage")
    def test_usage_is_batched(self, connection: Connection, cloud: CloudFixture, manifest: Manifest) -> None:
        """The account pays for calls: a hundred boxes are not a hundred calls."""
        boxes, end, period = self._fleet(connection, cloud, manifest, 100)
        batch = usage(connection).usage(boxes, frozenset({Metric.GPU_UTIL}), end - period, end)
        assert 0 < batch.calls <= 25

    def _fleet(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest, count: int
    ) -> tuple[list[Resource], datetime, timedelta]:
        sku, since = many_cards(cloud).sku, cloud.clock.now() - timedelta(days=1)
        end, period = latest_end(cloud, manifest, Metric.GPU_UTIL)
        each = manifest["metrics"]["gpu_util"]["cards"] == "each"
        for vm_id in cloud.add(*(VmFacts(sku=sku, started_at=since) for _ in range(count))):
            cloud.set_samples(vm_id, Metric.GPU_UTIL, [(end, 40.0)], 0 if each else None)
        boxes = vms(connection, cloud)
        assert len(boxes) == count
        return boxes, end, period
