"""``metrics`` of costguard.yaml: every mistake at its place, and what policies may ask for because of it."""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.monitors import endpoint
from costguard.config.load import Config, load
from costguard.config.metrics import tellers
from costguard.errors import ConfigErrors
from costguard.plugins import registry
from costguard.plugins.registry import Plugin
from costguard.prometheus.profiles import PROFILES

GOOD = "name: dcgm, kind: prometheus, url: 'http://prom:9090', join: {label: instance_id}"
SECRET = "s3cr3t-T0ken"


def config(tmp_path: Path, source: str, env: dict[str, str] | None = None) -> Config:
    path = tmp_path / "costguard.yaml"
    path.write_text(
        f"version: 1\npolicies: []\naccounts: [{{name: prod, provider: simulated}}]\nmetrics:\n  - {{{source}}}\n"
    )
    return load(path, env or {})


def mistakes(tmp_path: Path, source: str) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        config(tmp_path, source)
    return [str(error).removeprefix(f"{tmp_path}/costguard.yaml:") for error in caught.value.errors]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (f"{GOOD}, profil: dcgm", "metrics[0].profil: unknown key (did you mean profile?)"),
        (f"{GOOD}, profile: gpu", "metrics[0].profile: "),
        (f"{GOOD}, step: 5s", "metrics[0].step: whole seconds, from 10s to 10m"),
        (f"{GOOD}, step: 60", "metrics[0].step: "),
        (f"{GOOD}, delay: 2h", "metrics[0].delay: at most 30m"),
        (f"{GOOD}, accounts: [prd]", "metrics[0].accounts[0]: unknown account 'prd' (did you mean prod?)"),
        (f"{GOOD}, username: u", "username and password go together"),
        (f"{GOOD}, username: u, password: p, bearer_token: t", "one of username, bearer_token, or a user in the url"),
        (f"{GOOD}, ca_file: ca.pem", "metrics[0].ca_file: no such file: ca.pem"),
        (f"{GOOD}, ca_file: costguard.yaml", "metrics[0].ca_file: costguard.yaml holds no certificate (PEM)"),
        (GOOD.replace("instance_id", "'instance-id'"), "metrics[0].join.label: 'instance-id' is no label"),
        (GOOD.replace("instance_id", "l, to: ip"), "metrics[0].join.to: "),
        (GOOD.replace("9090", "9090/graph"), "metrics[0].url: the address before /api/v1, without /graph"),
        (GOOD.replace("9090", "9090/x/api/v1"), "metrics[0].url: the address before /api/v1, without /x/api/v1"),
        (GOOD.replace("9090", "9090/?a=b"), "metrics[0].url: the address before /api/v1, without ? or #"),
        (GOOD.replace("http://prom:9090", "prom:9090"), "metrics[0].url: not an address"),
        (GOOD.replace("kind: prometheus", "kind: influx"), "metrics[0].kind: "),
    ],
)
def test_a_mistake_is_told_at_its_place(tmp_path: Path, source: str, said: str) -> None:
    (told,) = mistakes(tmp_path, source)
    assert told.startswith("5:")
    assert said in told


def test_who_asks_and_where_with_secrets_from_outside(tmp_path: Path) -> None:
    env = {"TOKEN": SECRET, "KEY": "another-s3cret"}
    subprocess.run(  # a real certificate, as openssl writes it
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", tmp_path / "key.pem", "-out", tmp_path / "ca.pem", "-subj", "/CN=ca", "-days", "1"],
        check=True, capture_output=True,
    )  # fmt: skip
    more = 'bearer_token: "${env:TOKEN}", headers: {X-Key: "${env:KEY}"}, tenant: ml, ca_file: ca.pem, step: 30s'
    found = config(tmp_path, f"{GOOD}, {more}", env)
    (source,) = found.settings.metrics
    asked = endpoint(source, found)
    assert asked.authorization == f"Bearer {SECRET}"
    assert asked.headers == {"X-Scope-OrgID": "ml", "X-Key": "another-s3cret"}
    assert asked.ca_file == tmp_path / "ca.pem"
    assert (source.step, source.delay) == (timedelta(seconds=30), timedelta(seconds=30))
    assert {SECRET, "another-s3cret"} <= set(found.secrets)
    assert SECRET not in repr(source) + repr(asked) + repr(found)


def test_a_password_in_the_url_is_a_secret(tmp_path: Path) -> None:
    found = config(tmp_path, GOOD.replace("http://", f"http://reader:{SECRET}@"))
    assert SECRET in found.secrets
    assert SECRET in endpoint(found.settings.metrics[0], found).secrets


def test_the_accounts_that_it_tells_of(tmp_path: Path) -> None:
    (source,) = config(tmp_path, f"{GOOD}, accounts: [pro*]").settings.metrics
    assert [source.covers()(name) for name in ("prod", "dev")] == [True, False]


def test_every_profile_that_can_be_chosen_exists(tmp_path: Path) -> None:
    for name in PROFILES:
        assert config(tmp_path, f"{GOOD}, profile: {name}").settings.metrics[0].profile == name


POLICY = """\
policies:
  - {name: idle-gpus, rule: idle, match: {gpus: {min: 1}}, when: {for: 1h}, respond: [{do: notify}]}
"""


@pytest.mark.parametrize(
    ("metrics", "fine"),
    [
        ("[]", False),
        (f"[{{{GOOD}}}]", True),
        (f"[{{{GOOD}, profile: node_exporter}}]", False),
        (f"[{{{GOOD}, accounts: [other]}}]", False),
    ],
)
def test_a_policy_on_gpu_use_needs_a_provider_or_a_metrics_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: str, fine: bool
) -> None:
    """A provider that tells no GPU use is enough where a Prometheus does."""
    accounts = "[{name: prod, provider: blind}, {name: other, provider: simulated}]"
    policy = POLICY.replace("gpus: {min: 1}", "accounts: [prod]")
    (tmp_path / "p.yaml").write_text(policy)
    path = tmp_path / "costguard.yaml"
    path.write_text(f"version: 1\npolicies: [p.yaml]\naccounts: {accounts}\nmetrics: {metrics}\n")
    plugin = registry.find("simulated")
    assert plugin.manifest is not None
    told = {**plugin.manifest.capabilities, "gpu_usage": "not_written"}
    blind = plugin.manifest.model_copy(update={"id": "blind", "capabilities": told})
    known = {**registry.discover(), "blind": Plugin("blind", plugin.entry_point, blind)}
    monkeypatch.setattr(registry, "discover", lambda: known)
    if fine:
        assert load(path, {}).warnings == ()
        return
    with pytest.raises(ConfigErrors, match="policy idle-gpus needs gpu_usage; blind says not_written"):
        load(path, {})


def test_who_tells_of_the_cards_of_an_account(tmp_path: Path) -> None:
    """Exporters of cards alone, of the accounts that they cover."""
    one = "kind: prometheus, url: 'http://prom:9090', join: {label: instance_id}"
    sources = (
        f"name: everywhere, {one}",
        f"name: elsewhere, {one}, accounts: [other]",
        f"name: machines, {one}, profile: node_exporter",
    )
    path = tmp_path / "costguard.yaml"
    accounts = "[{name: prod, provider: simulated}, {name: other, provider: simulated}]"
    path.write_text(
        f"version: 1\npolicies: []\naccounts: {accounts}\nmetrics: [{', '.join(f'{{{s}}}' for s in sources)}]\n"
    )
    assert tellers(load(path, {}).settings.metrics, ["prod", "other"]) == {
        "prod": {"everywhere"}, "other": {"everywhere", "elsewhere"},
    }  # fmt: skip
