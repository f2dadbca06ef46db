"""The contract's part on listings and live reads: complete, each once, in our words."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from costguard.domain.money import Money
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.errors import BadResponse, NotFound, PermissionDenied, Throttled
from costguard.ports import AccountSpec, Connection
from costguard.testing.cloud import Calls, CloudFixture, Fault, VmFacts
from costguard.testing.contract import Contract, inventory, needs, one_vm, vms
from costguard.testing.manifest import Manifest

UNSEEN_WORD = "Hyperfrozen"


def assert_well_formed(resource: Resource) -> None:
    """Times are aware UTC, money is Money and never 0, observed and raw state are told."""
    for spot in fields(resource):
        value = getattr(resource, spot.name)
        if isinstance(value, datetime):
            assert value.utcoffset() == timedelta(0), f"{spot.name} is not aware UTC: {value!r}"
    for price in (resource.price, resource.spot_cap):
        assert price is None or price > Money.zero(price.currency), "an unknown price is None, never 0"
    assert resource.raw_state
    if resource.gpus is not None and resource.gpus.count is not None:
        assert resource.gpus.count > 0
        assert type(resource.gpus.count) is Decimal


def ids(resources: Iterable[Resource]) -> list[str]:
    return sorted(resource.ref.id for resource in resources)


class InventoryContract(Contract):
    """Listings, live reads, states, types, charge types."""

    @needs("instances")
    def test_an_empty_account_is_an_empty_listing(self, connection: Connection, cloud: CloudFixture) -> None:
        for kind in sorted(inventory(connection).kinds()):
            assert list(inventory(connection).list(kind, cloud.regions[0])) == [], kind

    @needs("instances")
    @pytest.mark.parametrize("pages", ["one", "page - 1", "page", "page + 1", "3 pages"])
    def test_every_page_is_read(self, connection: Connection, cloud: CloudFixture, pages: str) -> None:
        """G01, G02: the listing follows the token, not a count, and is complete at the borders of pages."""
        size = cloud.page_size
        count = {"one": 1, "page - 1": size - 1, "page": size, "page + 1": size + 1, "3 pages": 3 * size}[pages]
        made = cloud.add(*(VmFacts(name=f"box-{n}") for n in range(count)))
        assert ids(vms(connection, cloud)) == sorted(made)

    @needs("instances")
    def test_thousands_of_boxes(self, connection: Connection, cloud: CloudFixture) -> None:
        """M20: 2,500 resources on one account: all of them, each once."""
        made = cloud.add(*(VmFacts(name=f"box-{n}") for n in range(2_500)))
        assert ids(vms(connection, cloud)) == sorted(made)

    @needs("instances", "bad_answers")
    def test_a_repeated_page_token_ends_with_an_error(self, connection: Connection, cloud: CloudFixture) -> None:
        """E09: the provider names the same next page for ever."""
        cloud.add(*(VmFacts() for _ in range(cloud.page_size + 1)))
        cloud.fail(Fault.REPEATED_TOKEN, on=Calls.INVENTORY)
        with pytest.raises(BadResponse):
            vms(connection, cloud)

    @needs("instances", "bad_answers")
    def test_an_item_on_two_pages_is_one_resource(self, connection: Connection, cloud: CloudFixture) -> None:
        made = cloud.add(*(VmFacts() for _ in range(cloud.page_size + 1)))
        cloud.fail(Fault.DUPLICATED_ITEM, on=Calls.INVENTORY)
        assert ids(vms(connection, cloud)) == sorted(made)

    @needs("instances")
    def test_a_throttled_page_never_shortens_a_listing(self, connection: Connection, cloud: CloudFixture) -> None:
        """M16: either the listing is complete, or it raises and the next one is."""
        made = cloud.add(*(VmFacts() for _ in range(cloud.page_size + 1)))
        vms(connection, cloud)
        cloud.fail(Fault.THROTTLED, on=Calls.INVENTORY, times=1)
        try:
            found = vms(connection, cloud)
        except Throttled:
            found = vms(connection, cloud)
        assert ids(found) == sorted(made)

    @needs("instances")
    def test_what_is_listed_is_well_formed(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec, manifest: Manifest
    ) -> None:
        cloud.add(*(VmFacts(sku=sku.sku, charge_type=charge) for sku in cloud.skus for charge in cloud.charge_types))
        found = vms(connection, cloud)
        assert found
        for resource in found:
            assert_well_formed(resource)
            assert resource.ref == ResourceRef(manifest["id"], spec.name, cloud.regions[0], Kind.VM, resource.ref.id)
            assert resource.observed_at == cloud.clock.now()

    @needs("instances")
    def test_every_listed_ref_can_be_read_live(self, connection: Connection, cloud: CloudFixture) -> None:
        cloud.add(*(VmFacts(name=f"box-{n}", sku=sku.sku) for n, sku in enumerate(cloud.skus)))
        for listed in vms(connection, cloud):
            live = inventory(connection).get(listed.ref)
            assert_well_formed(live)
            assert (live.ref, live.name, live.state, live.sku) == (listed.ref, listed.name, listed.state, listed.sku)
            assert (live.charge_type, live.gpus) == (listed.charge_type, listed.gpus)
            assert (live.created_at, live.started_at) == (listed.created_at, listed.started_at)

    @needs("instances")
    def test_names_and_tags_come_through(self, connection: Connection, cloud: CloudFixture) -> None:
        tags = {"owner": "张伟", "costguard:keep-until": "2026-12-01T09:00+08:00", "role": "dev"}
        (vm_id,) = cloud.add(VmFacts(name="train-a800-03", tags=tags))
        vm = one_vm(connection, cloud, vm_id)
        assert vm.name == "train-a800-03"
        assert vm.tags is not None
        assert {key: vm.tags.get(key) for key in tags} == tags

    @needs("instances")
    def test_regions_are_apart(self, connection: Connection, cloud: CloudFixture) -> None:
        here, *others = cloud.regions
        made = {region: cloud.add(VmFacts(region=region)) for region in (here, *others)}
        for region, expected in made.items():
            found = vms(connection, cloud, region)
            assert ids(found) == expected
            assert {vm.ref.region for vm in found} == {region}

    @needs("instances", "regions_denied")
    def test_a_denied_region_denies_nothing_else(self, connection: Connection, cloud: CloudFixture) -> None:
        here, denied, *_ = cloud.regions
        made = cloud.add(VmFacts(region=here))
        cloud.add(VmFacts(region=denied))
        cloud.deny_region(denied)
        with pytest.raises(PermissionDenied):
            vms(connection, cloud, denied)
        assert ids(vms(connection, cloud, here)) == made

    @needs("instances")
    def test_a_gone_box_is_not_found(self, connection: Connection, cloud: CloudFixture) -> None:
        (vm_id,) = cloud.add(VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        cloud.remove(vm_id)
        assert vms(connection, cloud) == []
        with pytest.raises(NotFound):
            inventory(connection).get(ref)

    @needs("instances")
    def test_running_and_stopped_are_told_apart(self, connection: Connection, cloud: CloudFixture) -> None:
        on, off = cloud.add(VmFacts(state=State.RUNNING), VmFacts(state=State.STOPPED))
        states = {vm.ref.id: vm.state for vm in vms(connection, cloud)}
        assert states == {on: State.RUNNING, off: State.STOPPED}

    @needs("instances")
    def test_a_state_that_nobody_knows_is_unknown(self, connection: Connection, cloud: CloudFixture) -> None:
        (vm_id,) = cloud.add(VmFacts())
        cloud.set_raw_state(vm_id, UNSEEN_WORD)
        vm = one_vm(connection, cloud, vm_id)
        assert (vm.state, vm.raw_state) == (State.UNKNOWN, UNSEEN_WORD)

    @needs("instances")
    def test_charge_types_are_told_apart(self, connection: Connection, cloud: CloudFixture) -> None:
        assert cloud.charge_types
        charges = sorted(cloud.charge_types)
        made = cloud.add(*(VmFacts(charge_type=charge) for charge in charges))
        found = {vm.ref.id: vm.charge_type for vm in vms(connection, cloud)}
        assert found == dict(zip(made, charges, strict=True))

    @needs("instances", "gpu_inventory")
    def test_gpus_of_the_known_types(self, connection: Connection, cloud: CloudFixture) -> None:
        assert any(sku.gpu_count >= 2 for sku in cloud.skus)
        made = cloud.add(*(VmFacts(sku=sku.sku) for sku in cloud.skus))
        found = {vm.ref.id: vm for vm in vms(connection, cloud)}
        for vm_id, sku in zip(made, cloud.skus, strict=True):
            vm = found[vm_id]
            assert vm.sku == sku.sku
            if sku.gpu_model is None:
                assert vm.gpus is None
            else:
                assert vm.gpus is not None
                assert (vm.gpus.model, vm.gpus.count) == (sku.gpu_model, sku.gpu_count)
                if sku.gpu_memory_mib is not None:
                    assert vm.gpus.memory_mib == sku.gpu_memory_mib

    @needs("instances")
    def test_a_type_that_nobody_knows_is_still_governed(self, connection: Connection, cloud: CloudFixture) -> None:
        """G11: listed with its own type; its price is unknown and not 0, and so is whether it has GPUs."""
        (vm_id,) = cloud.add(VmFacts(sku="zz9.plural-alpha"))
        vm = one_vm(connection, cloud, vm_id)
        assert (vm.sku, vm.state, vm.price) == ("zz9.plural-alpha", State.RUNNING, None)
        for seen in (vm, inventory(connection).get(vm.ref)):
            assert seen.gpus is not None
            assert seen.gpus.count is None

    @needs("instances", "groups")
    def test_a_member_of_a_group_says_so_in_a_live_read(self, connection: Connection, cloud: CloudFixture) -> None:
        """C04: a member that is stopped is replaced, so the guards must know."""
        alone, member = cloud.add(VmFacts(), VmFacts(group="workers"))
        read = {vm_id: inventory(connection).get(one_vm(connection, cloud, vm_id).ref) for vm_id in (alone, member)}
        assert read[alone].group is None
        assert read[member].group

    @needs("instances", "stop_lock")
    def test_the_providers_stop_lock_shows_in_a_live_read(self, connection: Connection, cloud: CloudFixture) -> None:
        """C29."""
        free, locked = cloud.add(VmFacts(), VmFacts(protected=True))
        read = {vm_id: inventory(connection).get(one_vm(connection, cloud, vm_id).ref) for vm_id in (free, locked)}
        assert read[free].protected is None
        assert read[locked].protected
