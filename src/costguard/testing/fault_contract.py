"""The contract's part on bad days: the vendor's failures in our error tree, in time, and without secrets."""

import logging
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric
from costguard.errors import (
    AuthFailed,
    BadResponse,
    PermissionDenied,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from costguard.ports import AccountSpec, Connection, Power, Probe, Usage
from costguard.testing.cloud import Calls, CloudFixture, Fault, VmFacts
from costguard.testing.contract import DEADLINE, SLACK, Contract, inventory, needs, power, vms
from costguard.testing.manifest import Manifest

_EXPECTED: dict[Fault, tuple[type[ProviderError], ...]] = {
    Fault.THROTTLED: (Throttled,),
    Fault.UNAUTHENTICATED: (AuthFailed,),
    Fault.FORBIDDEN: (PermissionDenied,),
    Fault.SERVER_ERROR: (Unavailable,),
    Fault.RESET: (Unavailable, TimedOut),
    Fault.SILENT: (TimedOut,),
}
_GARBLED: dict[Fault, tuple[type[ProviderError], ...]] = {
    Fault.HTML: (BadResponse,),
    Fault.TRUNCATED: (BadResponse,),
}
# The fake servers' own logs are not the adapter's.
_SERVERS = ("werkzeug", "moto", "pytest_httpserver", "tests")


def _wrong(spec: AccountSpec, error: ProviderError, manifest: Manifest) -> list[str]:
    """What an error lacks: whose account it was, the provider, and a sentence."""
    return [
        name
        for name, wanted, found in (
            ("provider", manifest["id"], error.provider),
            ("account", spec.name, error.account),
            ("operation", True, bool(error.operation)),
            ("detail", True, bool(error.detail.strip())),
        )
        if wanted != found
    ]


class FaultContract(Contract):
    """Error classes, deadlines, secrets, threads."""

    @needs("instances")
    @pytest.mark.parametrize("fault", _EXPECTED)
    def test_a_failed_read_is_the_right_error_in_time(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest, fault: Fault
    ) -> None:
        """An error inside HTTP 200 is an error; a listing that fails is never an empty one."""
        cloud.add(VmFacts())
        ref = vms(connection, cloud)[0].ref
        cloud.fail(fault, on=Calls.INVENTORY)
        for read in (lambda: vms(connection, cloud), lambda: inventory(connection).get(ref)):
            self._fails(read, _EXPECTED[fault], spec, manifest)

    @needs("instances", "bad_answers")
    @pytest.mark.parametrize("fault", _GARBLED)
    def test_an_answer_without_the_documented_shape_is_a_bad_response(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest, fault: Fault
    ) -> None:
        """A proxy's page or half an answer is neither an empty listing nor the vendor's exception."""
        cloud.add(VmFacts())
        ref = vms(connection, cloud)[0].ref
        cloud.fail(fault, on=Calls.INVENTORY)
        for read in (lambda: vms(connection, cloud), lambda: inventory(connection).get(ref)):
            self._fails(read, _GARBLED[fault], spec, manifest)

    @needs("gpu_usage")
    @pytest.mark.parametrize("fault", _EXPECTED)
    def test_failed_usage_is_an_error_and_never_silence(
        self, connection: Connection, cloud: CloudFixture, manifest: Manifest, fault: Fault
    ) -> None:
        cloud.add(VmFacts(sku=max(cloud.skus, key=lambda sku: sku.gpu_count).sku))
        boxes = vms(connection, cloud)
        cloud.fail(fault, on=Calls.USAGE)
        assert isinstance(connection, Usage)
        now = cloud.clock.now()
        try:
            batch = connection.usage(boxes, frozenset({Metric.GPU_UTIL}), now - timedelta(hours=1), now)
        except _EXPECTED[fault]:
            return
        assert batch.samples == ()
        assert set(batch.failed) == {box.ref for box in boxes}
        assert all(isinstance(error, _EXPECTED[fault]) for error in batch.failed.values())

    @needs("instances")
    @pytest.mark.parametrize("fault", [Fault.UNAUTHENTICATED, Fault.SERVER_ERROR])
    def test_identity_and_regions_fail_in_our_words(
        self, connection: Connection, cloud: CloudFixture, fault: Fault
    ) -> None:
        """K05: wrong keys are known at the first call."""
        cloud.fail(fault)
        for call in (connection.identity, lambda: list(connection.regions())):
            with pytest.raises(_EXPECTED[fault]):
                call()

    @needs("instances")
    def test_it_works_again_after_a_failure(self, connection: Connection, cloud: CloudFixture) -> None:
        """E13: no failure is remembered."""
        made = cloud.add(VmFacts())
        for fault in (Fault.SERVER_ERROR, Fault.THROTTLED, Fault.UNAUTHENTICATED, Fault.RESET):
            cloud.fail(fault)
            with pytest.raises(ProviderError):
                vms(connection, cloud)
            cloud.heal()
            assert [vm.ref.id for vm in vms(connection, cloud)] == made

    def _fails(
        self,
        read: Callable[[], object],
        expected: tuple[type[ProviderError], ...],
        spec: AccountSpec,
        manifest: Manifest,
    ) -> None:
        begun = time.monotonic()
        with pytest.raises(ProviderError) as caught:
            read()
        took = timedelta(seconds=time.monotonic() - begun)
        assert type(caught.value) in expected
        assert _wrong(spec, caught.value, manifest) == []
        assert took < DEADLINE + SLACK, f"{took} is beyond the deadline of {DEADLINE}"

    @needs("instances", "secrets")
    @pytest.mark.parametrize("fault", [None, *_EXPECTED, *_GARBLED])
    def test_no_secret_leaves_in_logs_or_errors(
        self, connection: Connection, cloud: CloudFixture, fault: Fault | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """K04: neither key ids, tokens nor signatures, at DEBUG, in the error and in everything it is chained to."""
        assert cloud.secrets
        caplog.set_level(logging.DEBUG)
        cloud.add(VmFacts())
        boxes = vms(connection, cloud)
        told: list[str] = []
        if fault:
            cloud.fail(fault)
        calls = self._everything(connection, cloud, boxes[0].ref)
        # One silent call takes a whole deadline and says as much as all of them would.
        for call in calls[:1] if fault is Fault.SILENT else calls:
            try:
                call()
            except ProviderError as error:
                told += [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error))]
        told += [
            f"{logging.Formatter().format(record)} {vars(record)}"
            for record in caplog.records
            if not record.name.startswith(_SERVERS)
        ]
        signatures = cloud.signatures()
        assert signatures
        everything = "\n".join(told)
        for secret in (*cloud.secrets, *signatures):
            assert secret not in everything

    def _everything(self, connection: Connection, cloud: CloudFixture, ref: ResourceRef) -> list[Callable[[], object]]:
        calls: list[Callable[[], object]] = [
            connection.identity,
            connection.regions,
            lambda: vms(connection, cloud),
            lambda: inventory(connection).get(ref),
        ]
        if isinstance(connection, Power):
            calls.append(lambda: power(connection).stop(ref, "token-1"))
        if isinstance(connection, Probe):
            calls.append(lambda: connection.probe(cloud.regions[0], []))
        return calls

    @needs("instances")
    def test_sixteen_threads_never_mix_their_answers(self, connection: Connection, cloud: CloudFixture) -> None:
        made = cloud.add(*(VmFacts(name=f"box-{n}") for n in range(16)))
        refs = {vm.ref.id: vm.ref for vm in vms(connection, cloud)}
        together = threading.Barrier(16)

        def hammer(number: int) -> list[str]:
            mine = made[number]
            together.wait(timeout=30)
            wrong: list[str] = []
            for turn in range(6):
                if turn % 3 == 2:
                    found = sorted(vm.ref.id for vm in vms(connection, cloud))
                    wrong += [] if found == sorted(made) else [f"thread {number} listed {found}"]
                else:
                    live = inventory(connection).get(refs[mine])
                    wrong += [] if (live.ref.id, live.name) == (mine, f"box-{number}") else [f"{mine} got {live.name}"]
            return wrong

        with ThreadPoolExecutor(16) as pool:
            assert [fault for faults in pool.map(hammer, range(16)) for fault in faults] == []
