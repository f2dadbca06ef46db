"""The suite that every adapter passes: one class to inherit, three fixtures to override.

    class TestAws(AdapterContract):
        @pytest.fixture
        def adapter(self): return costguard_aws.adapter
        @pytest.fixture
        def cloud(self): ...      # a CloudFixture on loopback
        @pytest.fixture
        def spec(self, cloud): return AccountSpec("prod", credentials=…, endpoint=cloud.url)

What the provider cannot do, or nobody has written yet, is said in the manifest, and only there: the tests
about it are then skipped by themselves. Snapshots of the requests sent are the adapter's own tests.
"""

from costguard.testing.billing_contract import BillingContract
from costguard.testing.contract import contract_tests
from costguard.testing.fault_contract import FaultContract
from costguard.testing.inventory_contract import InventoryContract
from costguard.testing.manifest_contract import ManifestContract
from costguard.testing.power_contract import PowerContract
from costguard.testing.usage_contract import UsageContract


class AdapterContract(
    ManifestContract, InventoryContract, UsageContract, PowerContract, FaultContract, BillingContract
):
    """Inherit it; see the module's docstring."""

    def test_nothing_of_the_contract_is_overridden(self) -> None:
        suite = contract_tests(AdapterContract)
        mine = contract_tests(type(self))
        assert {name for name, test in suite.items() if mine[name] is not test} == set()
        marks = [
            mark.name
            for test in (type(self), *suite.values())
            for mark in getattr(test, "pytestmark", ())
            if mark.name in ("skip", "skipif", "xfail")
        ]
        assert marks == []
