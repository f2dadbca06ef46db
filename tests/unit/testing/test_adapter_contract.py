"""The adapter contract passes for a right adapter and fails for each kind of wrong one."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from costguard.ports import AccountSpec, Adapter, Connection
from costguard.testing.adapter_contract import AdapterContract
from costguard.testing.cloud import CloudFixture, Fault
from costguard.testing.contract import contract_tests, expected_skips
from costguard.testing.manifest import Manifest, load_manifest
from tests.unit.testing.reference_adapter import ReferenceCloud

PACKAGES = Path(__file__).parent / "packages"


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Adapter:
    monkeypatch.syspath_prepend(str(PACKAGES))
    found: Adapter = importlib.import_module("costguard_reference").adapter
    return found


def make_spec(adapter: Adapter, cloud: ReferenceCloud) -> AccountSpec:
    return AccountSpec("prod", adapter.config(key_id="id", secret_key="hush-hush"), options={"cloud": cloud})


class TestReference(AdapterContract):
    @pytest.fixture
    def adapter(self, adapter: Adapter) -> Adapter:
        return adapter

    @pytest.fixture
    def cloud(self) -> CloudFixture:
        return ReferenceCloud()

    @pytest.fixture
    def spec(self, adapter: Adapter, cloud: ReferenceCloud) -> AccountSpec:
        return make_spec(adapter, cloud)


Check = Callable[[Any, Connection, ReferenceCloud, AccountSpec, Manifest], None]
WRONG: dict[str, Check] = {
    "reads one page": lambda t, c, f, s, m: t.test_every_page_is_read(c, f, "page + 1"),
    "a full page is the last but one": lambda t, c, f, s, m: t.test_every_page_is_read(c, f, "page + 1"),
    "a failure ends the listing": lambda t, c, f, s, m: t.test_a_throttled_page_never_shortens_a_listing(c, f),
    "swallows denials": lambda t, c, f, s, m: t.test_a_denied_region_denies_nothing_else(c, f),
    "vendor errors leak": lambda t, c, f, s, m: t.test_a_failed_read_is_the_right_error_in_time(
        c, f, s, m, Fault.RESET
    ),
    "gone is a KeyError": lambda t, c, f, s, m: t.test_a_gone_box_is_not_found(c, f),
    "unknown is running": lambda t, c, f, s, m: t.test_a_state_that_nobody_knows_is_unknown(c, f),
    "naive times": lambda t, c, f, s, m: t.test_what_is_listed_is_well_formed(c, f, s, m),
    "unknown price is zero": lambda t, c, f, s, m: t.test_what_is_listed_is_well_formed(c, f, s, m),
    "one charge type": lambda t, c, f, s, m: t.test_charge_types_are_told_apart(c, f),
    "threads share an answer": lambda t, c, f, s, m: t.test_sixteen_threads_never_mix_their_answers(c, f),
    "nothing is zero": lambda t, c, f, s, m: t.test_what_did_not_arrive_is_missing_and_never_zero(c, f, m),
    "one card stands for all": lambda t, c, f, s, m: t.test_each_card_is_told_or_the_mean_is_called_one(c, f, m),
    "newest first": lambda t, c, f, s, m: t.test_gpu_values_come_as_they_were(c, f, m),
    "more than was asked": lambda t, c, f, s, m: t.test_gpu_values_come_as_they_were(c, f, m),
    "one failure fails all": lambda t, c, f, s, m: t.test_two_of_a_hundred_fail_alone(c, f, m),
    "denied usage is silence": lambda t, c, f, s, m: t.test_a_denied_metric_api_is_an_error_and_not_silence(c, f, m),
    "a call for each box": lambda t, c, f, s, m: t.test_usage_is_batched(c, f, m),
    "repeats a stop": lambda t, c, f, s, m: t.test_a_lost_answer_is_in_doubt_and_not_repeated(c, f),
    "already is an error": lambda t, c, f, s, m: t.test_stopping_what_is_stopped_is_already(c, f),
    "locks are ignored": lambda t, c, f, s, m: t.test_a_refused_stop_is_our_error_and_changes_nothing(c, f),
    "prepaid saves money": lambda t, c, f, s, m: t.test_the_effect_of_a_stop_is_told_from_the_resource_alone(c, f),
    "the clock does not restart": lambda t, c, f, s, m: t.test_a_start_restarts_the_clocks(c, f),
    "the probe stops a box": lambda t, c, f, s, m: t.test_the_probe_changes_nothing(c, f),
    "the probe always says yes": lambda t, c, f, s, m: t.test_the_probe_reports_a_missing_permission(c, f),
    "rounds": lambda t, c, f, s, m: t.test_the_month_adds_up_to_the_cent(c, f, s, m),
    "keys repeat": lambda t, c, f, s, m: t.test_reading_the_bill_again_gives_the_same_rows(c, f, s, m),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_each_mistake_is_caught(wrong: str, adapter: Adapter) -> None:
    cloud = ReferenceCloud(wrong)
    spec = make_spec(adapter, cloud)
    connection = adapter.connect(spec, cloud.clock)
    with pytest.raises((Exception, pytest.fail.Exception)):
        WRONG[wrong](AdapterContract(), connection, cloud, spec, load_manifest(adapter.package))


@pytest.mark.parametrize("wrong", WRONG)
def test_the_same_check_passes_without_the_mistake(wrong: str, adapter: Adapter) -> None:
    cloud = ReferenceCloud()
    spec = make_spec(adapter, cloud)
    connection = adapter.connect(spec, cloud.clock)
    WRONG[wrong](AdapterContract(), connection, cloud, spec, load_manifest(adapter.package))


def test_a_claim_without_its_role_is_caught(adapter: Adapter) -> None:
    cloud = ReferenceCloud()
    connection = adapter.connect(make_spec(adapter, cloud), cloud.clock)
    manifest = load_manifest(adapter.package)
    for name, value in (("price", "full"), ("balance", "partial: sometimes"), ("stop", "not_written")):
        boast = {**manifest, "capabilities": {**manifest["capabilities"], "start": "not_written", name: value}}
        with pytest.raises(AssertionError):
            AdapterContract().test_claims_and_roles_agree(connection, boast)


def test_only_the_manifest_skips(adapter: Adapter) -> None:
    """What is claimed must run: the skips follow from the manifest, test by test."""
    manifest = load_manifest(adapter.package)
    skips = expected_skips(AdapterContract, manifest)
    assert skips["test_box_values_come_as_they_were"] == "cpu_usage = not_written"
    assert skips["test_no_secret_leaves_in_logs_or_errors"] == "secrets = exempt: nothing is signed"
    assert "test_gpu_values_come_as_they_were" not in skips
    claimed = {**manifest, "capabilities": {**manifest["capabilities"], "cpu_usage": "unknown"}}
    assert "test_box_values_come_as_they_were" not in expected_skips(AdapterContract, claimed)


def test_a_test_that_is_overridden_or_skipped_is_caught() -> None:
    class Overrides(AdapterContract):
        def test_stop_is_safe_twice(self) -> None:  # type: ignore[override]
            """Nothing to see."""

    @pytest.mark.skip(reason="later")
    class Skips(AdapterContract):
        pass

    for suite in (Overrides, Skips):
        with pytest.raises(AssertionError):
            suite().test_nothing_of_the_contract_is_overridden()
    AdapterContract().test_nothing_of_the_contract_is_overridden()


def test_every_test_says_what_it_proves_in_its_name() -> None:
    assert len(contract_tests(AdapterContract)) >= 50
