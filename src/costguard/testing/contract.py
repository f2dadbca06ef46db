"""The ground under the adapter contract: its fixtures, and the only way a test of it is skipped.

A test says with :func:`needs` which capability it is about. The manifest alone decides whether it runs,
so that nobody can claim in one place what they skip in another.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast

import pytest

from costguard.domain.resource import Kind, Resource
from costguard.ports import AccountSpec, Adapter, Connection, Inventory, Power, Usage
from costguard.testing.cloud import CloudFixture, Fault
from costguard.testing.manifest import Manifest, excuse, load_manifest

# What one API call may take where the provider is silent and elsewhere, and what a busy machine may add to the former.
DEADLINE, _PATIENCE = timedelta(seconds=2), timedelta(seconds=30)
SLACK = timedelta(seconds=5)

_Test = TypeVar("_Test", bound=Callable[..., None])


def needs(*requirements: str) -> Callable[[_Test], _Test]:
    """Marks a test as being about these capabilities or exemptible quality rules."""

    def mark(test: _Test) -> _Test:
        cast(Any, test).contract_needs = requirements
        return test

    return mark


class Contract:
    """Fixtures. An adapter's author overrides ``adapter``, ``cloud`` and ``spec``; nothing else."""

    @pytest.fixture
    def adapter(self) -> Adapter:
        """The entry point's value."""
        raise NotImplementedError("override the fixture `adapter`")

    @pytest.fixture
    def cloud(self) -> CloudFixture:
        """A fresh, empty fake account."""
        raise NotImplementedError("override the fixture `cloud`")

    @pytest.fixture
    def spec(self, cloud: CloudFixture) -> AccountSpec:
        """The account as configured, its endpoint pointing at ``cloud``."""
        raise NotImplementedError("override the fixture `spec`")

    @pytest.fixture
    def manifest(self, adapter: Adapter) -> Manifest:
        return load_manifest(adapter.package)

    @pytest.fixture(autouse=True)
    def _skip_what_is_not_claimed(self, request: pytest.FixtureRequest, manifest: Manifest) -> None:
        for requirement in getattr(request.function, "contract_needs", ()):
            if why := excuse(manifest, requirement):
                request.node.user_properties.append(("contract_skip", why))
                pytest.skip(f"contract: {why}")

    @pytest.fixture
    def connection(
        self, adapter: Adapter, spec: AccountSpec, cloud: CloudFixture, request: pytest.FixtureRequest
    ) -> Iterator[Connection]:
        """Its deadline is short only where the provider is silent (``fault``): else a busy machine would look it."""
        asked = getattr(request.node, "callspec", None)
        silent = asked is not None and asked.params.get("fault") is Fault.SILENT
        connection = adapter.connect(replace(spec, deadline=DEADLINE if silent else _PATIENCE), cloud.clock)
        yield connection
        connection.close()


def contract_tests(suite: type[Contract]) -> Mapping[str, Callable[..., None]]:
    """The suite's tests by name."""
    return {name: getattr(suite, name) for name in sorted(dir(suite)) if name.startswith("test_")}


def expected_skips(suite: type[Contract], manifest: Manifest) -> dict[str, str]:
    """Which tests of the suite this manifest excuses, and why; every other one must run and pass."""
    skips: dict[str, str] = {}
    for name, test in contract_tests(suite).items():
        reasons = [why for need in getattr(test, "contract_needs", ()) if (why := excuse(manifest, need))]
        if reasons:
            skips[name] = reasons[0]
    return skips


def inventory(connection: Connection) -> Inventory:
    assert isinstance(connection, Inventory), "the manifest claims instances, the connection has no Inventory"
    return connection


def power(connection: Connection) -> Power:
    assert isinstance(connection, Power), "the manifest claims stop or start, the connection has no Power"
    return connection


def usage(connection: Connection) -> Usage:
    assert isinstance(connection, Usage), "the manifest claims usage, the connection has no Usage"
    return connection


def vms(connection: Connection, cloud: CloudFixture, region: str | None = None) -> list[Resource]:
    """All vms of the region (the cloud's first)."""
    return list(inventory(connection).list(Kind.VM, region or cloud.regions[0]))


def one_vm(connection: Connection, cloud: CloudFixture, vm_id: str) -> Resource:
    """The listed vm with this id; its ref is what live reads and actions take."""
    found = [vm for vm in vms(connection, cloud) if vm.ref.id == vm_id]
    assert len(found) == 1, f"{vm_id} is listed {len(found)} times"
    return found[0]
