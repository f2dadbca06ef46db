"""Which keys sign."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from costguard.errors import AuthFailed, PermissionDenied, ProviderError
from costguard_aliyun import sessions
from costguard_aliyun.credentials import AliyunCredentials
from tests.fakes.aliyun.rpc import to_seconds
from tests.fakes.aliyun.server import ACCOUNT, KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.signature import Session
from tests.fakes.server import Answer, Request, StrictServer
from tests.unit.aliyun.helpers import api, keys

ROLE = f"acs:ram::{ACCOUNT}:role/costguard"
STATIC = {"access_key_id": KEY_ID, "access_key_secret": SECRET}


class Metadata(StrictServer):
    """The instance's metadata service in its hardened mode: a token by PUT, then the role's keys."""

    role = "costguard-role"

    def respond(self, request: Request) -> Answer:
        if request.method == "PUT":
            asked = request.headers.get("x-aliyun-ecs-metadata-token-ttl-seconds", "")
            return Answer(200 if asked.isdigit() else 400, b"metadata-token")
        path = "/latest/meta-data/ram/security-credentials/"
        if request.headers.get("x-aliyun-ecs-metadata-token") != "metadata-token":
            return Answer(403, b"")
        if request.path == path:
            return Answer(200, self.role.encode())
        if request.path != path + self.role:
            return Answer(404, b"<html>404</html>")
        given = {
            "Code": "Success", "AccessKeyId": KEY_ID, "AccessKeySecret": SECRET, "SecurityToken": "role-token",
            "Expiration": to_seconds(self.clock.now() + timedelta(hours=6)),
        }  # fmt: skip
        return Answer(200, json.dumps(given).encode())


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metadata]:
    with Metadata() as server:
        monkeypatch.setattr(sessions, "METADATA", server.url.removeprefix("http://"))
        yield server


def profile(tmp_path: Path, **fields: Any) -> None:
    file = tmp_path / ".aliyun" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"current": "work", "profiles": [{"name": "work", **fields}, {"name": "other"}]}))


def works(server: AliyunServer, given: AliyunCredentials | None) -> str:
    """Signs a call with what `given` leads to; returns the principal."""
    role = api(server, credentials=given)
    answer = role.read("sts", "GetCallerIdentity", "cn-hangzhou")
    role.close()
    return str(answer["Arn"])


def test_a_session_token_goes_along_whatever_the_environment_says(
    server: AliyunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's own class would let the environment win."""
    monkeypatch.setenv("ALIYUN_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("ALIYUN_ACCESS_KEY_SECRET", "wrong")
    server.gate.sessions["STS.1"] = Session("temporary", "token/+=", principal="assumed-role/x/y")
    given = keys(access_key_id="STS.1", access_key_secret="temporary", security_token=SecretStr("token/+="))
    assert works(server, given).endswith("assumed-role/x/y")


@pytest.mark.parametrize("prefix", ["ALIBABA_CLOUD", "ALIYUN"])
def test_the_environment_comes_first(server: AliyunServer, monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    monkeypatch.setenv(f"{prefix}_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv(f"{prefix}_ACCESS_KEY_SECRET", SECRET)
    assert works(server, None).endswith("user/costguard")


def test_the_clis_current_profile(server: AliyunServer, tmp_path: Path) -> None:
    profile(tmp_path, mode="AK", **STATIC)
    assert works(server, None).endswith("user/costguard")
    assert works(server, AliyunCredentials(profile="work")).endswith("user/costguard")


def test_a_profile_with_a_role(server: AliyunServer, tmp_path: Path) -> None:
    profile(tmp_path, mode="RamRoleArn", ram_role_arn=ROLE, **STATIC)
    assert works(server, None).endswith("assumed-role/costguard/costguard")


@pytest.mark.parametrize("name", ["missing", "other"])
def test_a_profile_that_cannot_be_used_is_told(server: AliyunServer, tmp_path: Path, name: str) -> None:
    profile(tmp_path, mode="AK", **STATIC)
    with pytest.raises(AuthFailed):
        works(server, AliyunCredentials(profile=name))


@pytest.mark.parametrize("text", ["{", "[]", '{"profiles": 3}'])
def test_a_broken_file_is_told(server: AliyunServer, tmp_path: Path, text: str) -> None:
    (tmp_path / ".aliyun").mkdir()
    (tmp_path / ".aliyun/config.json").write_text(text)
    with pytest.raises(AuthFailed):
        works(server, None)


@pytest.mark.parametrize("given", [None, AliyunCredentials(ecs_role="costguard-role")])
def test_the_role_of_the_instance(server: AliyunServer, metadata: Metadata, given: AliyunCredentials | None) -> None:
    server.gate.sessions[KEY_ID].token = "role-token"
    assert works(server, given).endswith("user/costguard")
    assert any(request.method == "PUT" for request in metadata.requests)


def test_an_instance_without_that_role(server: AliyunServer, metadata: Metadata) -> None:
    with pytest.raises(AuthFailed):
        works(server, AliyunCredentials(ecs_role="another"))


def test_a_role_is_assumed_and_renewed_before_it_ends(server: AliyunServer) -> None:
    role = api(server, credentials=keys(role_arn=ROLE, external_id="from-us"))
    for hours in (0, 0.5, 0.9):
        server.clock.advance(timedelta(hours=hours))
        assert role.read("sts", "GetCallerIdentity", "cn-hangzhou")["Arn"].endswith("costguard/costguard")
    assumed = [call.params for call in server.calls if call.action == "AssumeRole"]
    assert len(assumed) == 2
    assert assumed[0]["ExternalId"] == "from-us"
    role.close()


def test_a_role_that_ends_early_is_fetched_again(server: AliyunServer) -> None:
    role = api(server, credentials=keys(role_arn=ROLE))
    role.read("sts", "GetCallerIdentity", "cn-hangzhou")
    for session in server.gate.sessions.values():
        if session.token:
            session.until = server.clock.now()
    with pytest.raises(AuthFailed):
        role.read("sts", "GetCallerIdentity", "cn-hangzhou")
    assert role.read("sts", "GetCallerIdentity", "cn-hangzhou")["AccountId"] == ACCOUNT
    role.close()


def test_a_session_that_is_over_at_once_means_a_wrong_clock(server: AliyunServer) -> None:
    server.sts.session_length = -timedelta(minutes=1)
    with pytest.raises(AuthFailed, match="clock is wrong"):
        works(server, keys(role_arn=ROLE))


def test_a_role_that_may_not_be_assumed_names_the_call(server: AliyunServer) -> None:
    server.denied_actions.add("AssumeRole")
    with pytest.raises(PermissionDenied) as caught:
        works(server, keys(role_arn=ROLE))
    assert (caught.value.operation, caught.value.missing) == ("AssumeRole", "sts:AssumeRole")


def test_a_role_that_does_not_exist(server: AliyunServer) -> None:
    with pytest.raises(ProviderError) as caught:
        works(server, keys(role_arn=f"acs:ram::{ACCOUNT}:role/nobody"))
    assert caught.value.code == "EntityNotExist.Role"
