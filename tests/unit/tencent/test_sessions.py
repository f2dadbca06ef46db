"""Which keys sign."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from costguard.errors import AuthFailed, PermissionDenied, ProviderError
from costguard_tencent import sessions
from costguard_tencent.credentials import TencentCredentials
from tests.fakes.tencent.server import OWNER, SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.tc3 import Session
from tests.unit.tencent.helpers import HOME, api, keys

ROLE = f"qcs::cam::uin/{OWNER}:roleName/costguard"
ENVIRONMENT = {"TENCENTCLOUD_SECRET_ID": SECRET_ID, "TENCENTCLOUD_SECRET_KEY": SECRET_KEY}


@pytest.fixture
def machine(server: TencentServer, monkeypatch: pytest.MonkeyPatch) -> TencentServer:
    """The CVM on which costguard runs: its metadata service is on the account's server."""
    monkeypatch.setattr(sessions, "METADATA", server.url.removeprefix("http://"))
    return server


def profile(tmp_path: Path, name: str = "default", **fields: Any) -> None:
    file = tmp_path / ".tccli" / f"{name}.credential"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(fields))


def works(server: TencentServer, given: TencentCredentials | None) -> str:
    """Signs a call with what `given` leads to; returns the principal."""
    role = api(server, credentials=given)
    answer = role.read("sts", "GetCallerIdentity", HOME)
    role.close()
    return str(answer["Arn"])


def test_a_session_token_goes_along_whatever_the_environment_says(
    server: TencentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENCENTCLOUD_SECRET_ID", "wrong")
    monkeypatch.setenv("TENCENTCLOUD_SECRET_KEY", "wrong")
    server.gate.sessions["AKID1"] = Session("temporary", "token/+=", principal="assumed-role/x/y")
    given = keys(secret_id="AKID1", secret_key="temporary", token=SecretStr("token/+="))
    assert works(server, given).endswith("assumed-role/x/y")


def test_the_environment_comes_first(server: TencentServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile(tmp_path, secretId="wrong", secretKey="wrong")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert works(server, None).endswith("uin/100000000002")


def test_tcclis_profiles(server: TencentServer, tmp_path: Path) -> None:
    profile(tmp_path, secretId=SECRET_ID, secretKey=SECRET_KEY)
    profile(tmp_path, "work", secretId=SECRET_ID, secretKey=SECRET_KEY, **{"role-arn": ROLE})
    assert works(server, None).endswith("uin/100000000002")
    assert works(server, TencentCredentials(profile="work")).endswith("assumed-role/costguard/costguard")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"secretId": "only"}'])
def test_a_profile_that_cannot_be_used_is_told(server: TencentServer, tmp_path: Path, text: str) -> None:
    profile(tmp_path)
    (tmp_path / ".tccli/default.credential").write_text(text)
    with pytest.raises(AuthFailed, match="tccli"):
        works(server, None)


def test_a_profile_that_is_not_there_is_told(server: TencentServer) -> None:
    with pytest.raises(AuthFailed, match="missing"):
        works(server, TencentCredentials(profile="missing"))


def test_the_sdks_own_file(server: TencentServer, tmp_path: Path) -> None:
    folder = tmp_path / ".tencentcloud"
    folder.mkdir()
    (folder / "credentials").write_text(f"[default]\nsecret_id = {SECRET_ID}\nsecret_key={SECRET_KEY}\n")
    assert works(server, None).endswith("uin/100000000002")
    (folder / "credentials").write_text("no section")
    with pytest.raises(AuthFailed, match="cannot be read"):
        works(server, None)


@pytest.mark.parametrize("given", [None, TencentCredentials(role="costguard")])
def test_the_role_of_the_machine(machine: TencentServer, given: TencentCredentials | None) -> None:
    assert works(machine, given).endswith("assumed-role/costguard/cvm")


def test_a_machine_without_that_role(machine: TencentServer) -> None:
    """The SDK's own class would sign with the key "None"."""
    with pytest.raises(AuthFailed, match="no role"):
        works(machine, TencentCredentials(role="another"))


def test_a_role_is_assumed_and_renewed_before_it_ends(server: TencentServer) -> None:
    """E10."""
    role = api(server, credentials=keys(role_arn=ROLE, external_id="from-us"))
    for hours in (0, 1, 0.9):
        server.clock.advance(timedelta(hours=hours))
        assert role.read("sts", "GetCallerIdentity", HOME)["Arn"].endswith("costguard/costguard")
    assumed = [call.params for call in server.calls if call.action == "AssumeRole"]
    assert len(assumed) == 2
    assert assumed[0]["ExternalId"] == "from-us"
    assert len(role._clients) == 2
    role.close()


def test_keys_that_end_early_are_fetched_again(server: TencentServer) -> None:
    role = api(server, credentials=keys(role_arn=ROLE))
    role.read("sts", "GetCallerIdentity", HOME)
    for session in server.gate.sessions.values():
        if session.token:
            session.until = server.clock.now()
    with pytest.raises(AuthFailed):
        role.read("sts", "GetCallerIdentity", HOME)
    assert role.read("sts", "GetCallerIdentity", HOME)["AccountId"] == OWNER
    role.close()


def test_a_session_that_is_over_at_once_means_a_wrong_clock(server: TencentServer) -> None:
    server.sts.session_length = -timedelta(minutes=1)
    with pytest.raises(AuthFailed, match="clock is wrong"):
        works(server, keys(role_arn=ROLE))


def test_a_role_that_may_not_be_assumed_names_the_call(server: TencentServer) -> None:
    server.denied_actions.add("AssumeRole")
    with pytest.raises(PermissionDenied) as caught:
        works(server, keys(role_arn=ROLE))
    assert (caught.value.operation, caught.value.missing) == ("AssumeRole", "sts:AssumeRole")


def test_a_role_that_does_not_exist(server: TencentServer) -> None:
    with pytest.raises(ProviderError) as caught:
        works(server, keys(role_arn=f"qcs::cam::uin/{OWNER}:roleName/nobody"))
    assert caught.value.code == "ResourceNotFound.RoleNotFound"
