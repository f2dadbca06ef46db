"""The contract's part on what an adapter says of itself, and what importing it costs."""

import subprocess
import sys
from pathlib import Path

from pydantic import SecretStr

from costguard.domain.resource import Kind
from costguard.ports import (
    AccountSpec,
    Adapter,
    Balances,
    Billing,
    Budgets,
    Commands,
    Connection,
    Inventory,
    Power,
    Prices,
    Probe,
    Quotas,
    Release,
    SpotPrices,
    Tagging,
    Usage,
)
from costguard.testing.cloud import CloudFixture
from costguard.testing.contract import Contract
from costguard.testing.manifest import Manifest, manifest_path, problems

_ROLES: dict[str, type] = {
    "instances": Inventory,
    "gpu_usage": Usage,
    "cpu_usage": Usage,
    "price": Prices,
    "spot_price": SpotPrices,
    "charges_daily": Billing,
    "charges_final": Billing,
    "stop": Power,
    "start": Power,
    "release": Release,
    "set_release_time": Release,
    "tags": Tagging,
    "balance": Balances,
    "quota": Quotas,
    "budgets": Budgets,
    "commands": Commands,
}
_KINDS = {"instances": Kind.VM, "notebooks": Kind.NOTEBOOK, "jobs": Kind.JOB, "endpoints": Kind.ENDPOINT}
_SDKS = ("boto3", "botocore", "aliyunsdkcore", "tencentcloud", "requests", "httpx", "urllib3", "aiohttp")


class ManifestContract(Contract):
    """Manifest, README, import cost, and claims against roles."""

    def test_the_manifest_is_valid(self, manifest: Manifest) -> None:
        assert problems(manifest) == []

    def test_the_folder_is_named_after_the_id_and_has_a_readme(self, adapter: Adapter, manifest: Manifest) -> None:
        folder = manifest_path(adapter.package).parent
        assert adapter.package == folder.name == f"costguard_{manifest['id']}"
        assert (folder / "README.md").stat().st_size > 0

    def test_importing_the_package_imports_no_sdk(self, adapter: Adapter) -> None:
        script = (
            f"import sys; sys.path[:] = {sys.path!r}; import {adapter.package}; "
            f"print(*(m for m in {_SDKS!r} if m in sys.modules))"
        )
        run = subprocess.run(  # noqa: S603 — our own interpreter and our own script
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=Path.cwd()
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.split() == []

    def test_secret_fields_are_secret(self, adapter: Adapter, manifest: Manifest, spec: AccountSpec) -> None:
        """The credentials model knows exactly the manifest's fields, and none of them prints a secret."""
        declared = {*manifest["credentials"]["secret"], *manifest["credentials"]["plain"]}
        assert set(adapter.config.model_fields) == declared
        for name in manifest["credentials"]["secret"]:
            field = adapter.config.model_fields[name]
            assert "Secret" in str(field.annotation), f"{name} must be a SecretStr"

    def test_the_repr_of_spec_and_connection_holds_no_secret(
        self, spec: AccountSpec, cloud: CloudFixture, connection: Connection, manifest: Manifest
    ) -> None:
        shown = repr(spec) + repr(spec.credentials) + repr(connection)
        secret = set(manifest["credentials"]["secret"])
        for name in secret:
            value = getattr(spec.credentials, name, None)
            if isinstance(value, SecretStr):
                assert value.get_secret_value() not in shown

    def test_claims_and_roles_agree(self, connection: Connection, manifest: Manifest) -> None:
        """What the manifest claims the connection has, and what it has the manifest does not deny."""
        claims = {name: str(value) for name, value in manifest["capabilities"].items()}
        claimed = {name for name in _ROLES if claims.get(name, "").startswith(("full", "partial"))}
        missing = {name for name in claimed if not isinstance(connection, _ROLES[name])}
        # Tags may be read with the inventory alone; "partial" says so.
        missing -= {"tags"} if claims["tags"].startswith("partial") else set()
        assert missing == set()
        denied = {
            role.__name__
            for role in set(_ROLES.values())
            if isinstance(connection, role)
            and all(claims.get(n, "").startswith(("impossible", "not_written")) for n, r in _ROLES.items() if r is role)
        }
        assert denied == set()

    def test_claimed_kinds_are_listed(self, connection: Connection, manifest: Manifest) -> None:
        claims = {name: str(value) for name, value in manifest["capabilities"].items()}
        assert isinstance(connection, Inventory)
        listed = connection.kinds()
        for name, kind in _KINDS.items():
            has = claims[name] == "full" or claims[name].startswith("partial")
            assert has == (kind in listed), f"{name} = {claims[name]}, kinds() = {sorted(listed)}"
        assert {Kind(kind) for kind in manifest["stoppable"]} <= listed

    def test_claimed_usage_has_metrics_and_permissions_are_named(self, manifest: Manifest) -> None:
        claims = {name: str(value) for name, value in manifest["capabilities"].items()}
        for name, metric in (("gpu_usage", "gpu_util"), ("cpu_usage", "cpu_cores")):
            has = claims[name] == "full" or claims[name].startswith("partial")
            assert has == (metric in manifest["metrics"]), f"{name} = {claims[name]}, [metrics.{metric}]?"
        for name in ("stop", "start", "release", "set_release_time"):
            if claims[name] == "full" or claims[name].startswith("partial"):
                assert name in manifest["permissions"], f"[permissions] {name}: which rights does it need?"

    def test_the_connection_names_itself_and_its_endpoints(
        self, connection: Connection, cloud: CloudFixture, spec: AccountSpec
    ) -> None:
        identity = connection.identity()
        assert identity.account_id == cloud.account_id
        assert identity.principal
        assert set(cloud.regions) <= set(connection.regions())
        if spec.endpoint:
            assert set(connection.endpoints().values()) == {spec.endpoint}

    def test_the_probe_role_is_there(self, connection: Connection) -> None:
        """``doctor`` proves permissions through it."""
        assert isinstance(connection, Probe)
