"""Adapters: found without being imported, loaded on demand; what is missing is said with the line to install it."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from costguard.errors import ConfigError
from costguard.net.clock import SystemClock
from costguard.plugins import registry
from costguard.plugins.registry import Plugin
from costguard.ports import AccountSpec, Adapter


def test_manifests_are_read_without_importing_any_adapter() -> None:
    code = (
        "import sys, json; from costguard.plugins import registry; "
        "found = registry.capability_table(); "
        "print(json.dumps([sorted(found), sorted(n for n in sys.modules if n.startswith('costguard_'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    providers, imported = json.loads(done.stdout)
    assert {"simulated", "aws"} <= set(providers)
    assert imported == []


def test_loading_an_adapter_imports_no_sdk() -> None:
    code = (
        "import sys; from costguard.plugins import registry; registry.load('aws'); "
        "print(sorted({n.split('.')[0] for n in sys.modules} & {'boto3', 'botocore'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("provider", sorted(registry.available()))
def test_every_adapter_with_a_manifest_can_be_loaded(provider: str) -> None:
    adapter = registry.load(provider)
    assert adapter.package == f"costguard_{provider}"
    manifest = registry.available()[provider]
    fields = {field.alias or name for name, field in adapter.config.model_fields.items()}
    assert set(manifest.credentials.secret) | set(manifest.credentials.plain) == fields


def test_an_unknown_provider_names_the_installed_ones() -> None:
    with pytest.raises(ConfigError, match=r"no adapter is installed for provider 'azure'; installed: .*simulated"):
        registry.load("azure")


def entry(value: str, name: str = "x") -> metadata.EntryPoint:
    return metadata.EntryPoint(name, value, registry.GROUP)


def use(monkeypatch: pytest.MonkeyPatch, point: metadata.EntryPoint) -> None:
    manifest = registry.available()["simulated"]
    monkeypatch.setattr(registry, "discover", lambda: {point.name: Plugin(point.name, point, manifest)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("costguard_nowhere:adapter", "cannot be loaded"),
        ("costguard.errors:adapter", "cannot be loaded"),
        ("costguard.errors:ConfigError", "is not an Adapter"),
    ],
)
def test_a_broken_entry_point_is_a_configuration_error(
    value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, entry(value))
    with pytest.raises(ConfigError, match=message):
        registry.load("x")


def test_an_sdk_that_is_not_installed_is_said_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(spec: object, clock: object) -> object:
        raise ModuleNotFoundError("No module named 'boto3'", name="boto3")

    broken = Adapter("costguard_aws", registry.load("aws").config, connect)  # type: ignore[arg-type]
    monkeypatch.setattr(registry, "load", lambda provider: broken)
    with pytest.raises(ConfigError, match=r"needs boto3: pip install 'costguard\[aws\]'"):
        registry.connect("aws", AccountSpec("a"), SystemClock())


def test_what_the_extra_lacks_is_known_without_importing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.missing_sdk("aws") is None
    real = metadata.distribution

    def distribution(name: str) -> metadata.Distribution:
        if name == "boto3":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(registry.metadata, "distribution", distribution)
    assert registry.missing_sdk("aws") == "provider 'aws' needs boto3: pip install 'costguard[aws]'"
    assert registry.missing_sdk("simulated") is None


def test_facts_of_an_account_come_from_the_manifest() -> None:
    manifest = registry.available()["aws"]
    facts = registry.account_facts(manifest, AccountSpec("a", allow_release=True), enforce=True)
    assert (facts.name, facts.provider, facts.currency, facts.enforce, facts.armed) == ("a", "aws", "USD", True, False)
    assert facts.capabilities["set_release_time"] == "impossible"
    assert facts.group_tags == manifest.group_tags
