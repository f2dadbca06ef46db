"""Accounts and their adapters."""

from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr, field_validator

from costguard.config.load import load
from costguard.errors import ConfigErrors
from costguard.plugins import registry
from costguard.ports import Adapter


def write(tmp_path: Path, account: str) -> Path:
    (tmp_path / "policies").mkdir(exist_ok=True)
    (tmp_path / "policies" / "p.yaml").write_text("policies: []\n")
    path = tmp_path / "costguard.yaml"
    path.write_text(f'version: 1\nexchange_rates: {{USD: "7"}}\naccounts:\n  - {account}\n')
    return path


def test_an_account_becomes_what_its_adapter_needs(tmp_path: Path) -> None:
    account = (
        "{name: a, provider: aws, account_id: '1', regions: us-east-1, endpoint: 'http://127.0.0.1:5000', "
        "proxy: 'http://u:p@127.0.0.1:3128', owner: null, team: ml, allow_release: true, "
        "credentials: {access_key_id: AKIA, secret_access_key: s3cr}}"
    )
    spec = load(write(tmp_path, account), {}).accounts["a"].spec
    assert (spec.name, spec.account_id, spec.regions, spec.team) == ("a", "1", ("us-east-1",), "ml")
    assert (spec.endpoint, spec.proxy) == ("http://127.0.0.1:5000", "http://u:p@127.0.0.1:3128")
    assert (spec.currency, str(spec.billing_timezone), spec.allow_release) == ("USD", "UTC", True)
    assert spec.credentials is not None
    assert spec.credentials.model_dump()["access_key_id"] == "AKIA"


def test_without_credentials_the_default_chain_is_used(tmp_path: Path) -> None:
    """An account needs no keys in the file: the machine's role or profile is the better place."""
    assert load(write(tmp_path, "{name: a, provider: aws}"), {}).accounts["a"].spec.credentials is None


def test_a_region_has_no_spaces(tmp_path: Path) -> None:
    """G06: a region with a blank would match nothing and look like an empty account."""
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, "{name: a, provider: aws, regions: [' us-west-2', us-east-1]}"), {})
    assert "' us-west-2' is not a region" in str(caught.value)


def test_an_adapters_own_message_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Talkative(BaseModel):
        access_key_id: str | None = None
        secret_access_key: SecretStr

        @field_validator("secret_access_key")
        @classmethod
        def _repeat(cls, value: SecretStr) -> SecretStr:
            raise ValueError(f"{value.get_secret_value()} is not a key")

    real = registry.load("aws")
    monkeypatch.setattr(registry, "load", lambda provider: Adapter("costguard_aws", Talkative, real.connect))
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, "{name: a, provider: aws, credentials: {secret_access_key: s3cretKey}}"), {})
    assert "*** is not a key" in str(caught.value)
    assert "s3cretKey" not in str(caught.value)
    with pytest.raises(ConfigErrors, match=r"accounts\[0\].credentials.secret_access_key: this key is required"):
        load(write(tmp_path, "{name: a, provider: aws, credentials: {access_key_id: x}}"), {})


def test_what_is_no_secret_is_quoted_and_masks_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, "{name: a, provider: simulated, credentials: {scenario: nosuch, scale: x}}"), {})
    assert "4:60: accounts[0].credentials.scenario: there is no scenario 'nosuch': write startup" in str(caught.value)
    assert "accounts[0].credentials.scale: a whole number is expected" in str(caught.value)


@pytest.mark.parametrize(
    ("account", "told"),
    [
        ("provider: simulated, options: {scenario: nosuch}", "options.scenario: there is no scenario 'nosuch'"),
        ("provider: simulated, options: {start: yesterday}", "options.start: not an ISO 8601 time with a zone"),
        ("provider: simulated, options: {scal: 2}", "options.scal: unknown key (did you mean scale?)"),
        ("provider: aws, options: {hibernate: 'yes'}", "options.hibernate: true or false is expected"),
    ],
)
def test_the_settings_of_an_adapter_are_checked_at_their_place(tmp_path: Path, account: str, told: str) -> None:
    """A scenario that does not exist was a file of line 0 to `run`, and fine to `check`."""
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, f"{{name: a, {account}}}"), {})
    (error,) = caught.value.errors
    assert (error.line, error.path.split(".")[0]) == (4, "accounts[0]")
    assert f"accounts[0].{told}" in str(error)


def test_an_sdk_that_is_missing_is_an_error_at_the_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "missing_sdk", lambda provider: "provider 'aws' needs boto3: pip install …")
    with pytest.raises(ConfigErrors, match=r"4:25: accounts\[0\].provider: provider 'aws' needs boto3"):
        load(write(tmp_path, "{name: a, provider: aws}"), {})
