"""Which keys sign: given ones, the environment's, the aliyun CLI's, the ECS instance's role, and a role on top.

Every temporary key is fetched anew before it ends. The SDK's own classes are not used for this: they prefer the
environment over what they are given, cannot be pointed anywhere, and ask the instance without a timeout.
"""

import http.client
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from costguard.errors import AuthFailed
from costguard.keys import Assume, KeyRing, Keys
from costguard.ports import Clock
from costguard_aliyun.credentials import AliyunCredentials
from costguard_aliyun.errors import Call
from costguard_aliyun.fields import read_time

METADATA = "100.100.100.200"
_SECONDS = 2.0
_ENVIRONMENTS = (
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"),
    ("ALIYUN_ACCESS_KEY_ID", "ALIYUN_ACCESS_KEY_SECRET", "ALIYUN_SECURITY_TOKEN"),
)


class AliyunKeys(KeyRing):
    """The account's keys, from what was given, else from the usual places in their order."""

    def __init__(self, given: AliyunCredentials, clock: Clock, call: Call, assume: Assume) -> None:
        super().__init__(clock)
        self._given, self._call, self._assume = given, call, assume

    def fetch(self) -> Keys:
        base = self._base()
        given = self._given
        return self._assume(base, given.role_arn, given.external_id) if given.role_arn else base

    def _base(self) -> Keys:
        given = self._given
        if given.access_key_id is not None and given.access_key_secret is not None:
            token = given.security_token.get_secret_value() if given.security_token else None
            return Keys(given.access_key_id, given.access_key_secret.get_secret_value(), token)
        if given.ecs_role is not None:
            return self._instance_role(given.ecs_role)
        if given.profile is not None:
            return self._of_cli(given.profile)
        return _of_environment(os.environ) or self._chain()

    def _chain(self) -> Keys:
        if cli_file().is_file():
            return self._of_cli(None)
        return self._instance_role(None)

    def _of_cli(self, name: str | None) -> Keys:
        """The named profile of the CLI's file, or its current one."""
        try:
            file = json.loads(cli_file().read_text("utf-8"))
            wanted = name or file.get("current") or "default"
            profile: Mapping[str, Any] = next(p for p in file.get("profiles") or () if p.get("name") == wanted)
        except (OSError, ValueError, AttributeError, TypeError):
            raise self._call.failed(AuthFailed, "the aliyun CLI's file cannot be read") from None
        except StopIteration:
            raise self._call.failed(AuthFailed, f"the aliyun CLI has no profile {name or 'for now'}") from None
        mode, role = profile.get("mode") or "AK", profile.get("ram_role_arn")
        if mode == "EcsRamRole":
            return self._instance_role(profile.get("ram_role_name") or None)
        keys = _keys(profile, "access_key_id", "access_key_secret", "sts_token")
        if keys is None or mode not in {"AK", "StsToken", "RamRoleArn"}:
            raise self._call.failed(AuthFailed, f"the aliyun CLI's profile has no keys to use (mode {mode})")
        return self._assume(keys, str(role), None) if mode == "RamRoleArn" else keys

    def _instance_role(self, role: str | None) -> Keys:
        """The keys of the RAM role that is attached to the ECS instance on which this runs."""
        path = "/latest/meta-data/ram/security-credentials/"
        try:
            name = role or _metadata(path).strip()
            answer = json.loads(_metadata(path + name))
            keys = _keys(answer, "AccessKeyId", "AccessKeySecret", "SecurityToken") if name else None
        except (OSError, ValueError, http.client.HTTPException):
            keys = None
        if keys is None:
            raise self._call.failed(AuthFailed, "no credentials: none given, none in the environment, no instance role")
        return keys


def cli_file() -> Path:
    return Path.home() / ".aliyun" / "config.json"


def _of_environment(environment: Mapping[str, str]) -> Keys | None:
    for id, secret, token in _ENVIRONMENTS:
        if keys := _keys(environment, id, secret, token):
            return keys
    return None


def _keys(source: Mapping[str, Any], id: str, secret: str, token: str) -> Keys | None:
    if not (source.get(id) and source.get(secret)):
        return None
    return Keys(str(source[id]), str(source[secret]), source.get(token) or None, read_time(source.get("Expiration")))


def _metadata(path: str) -> str:
    """One answer of the instance's metadata service, in its hardened mode. Raises OSError, also for a refusal."""
    connection = http.client.HTTPConnection(METADATA, timeout=_SECONDS)
    try:
        connection.request("PUT", "/latest/api/token", headers={"X-aliyun-ecs-metadata-token-ttl-seconds": "60"})
        granted = connection.getresponse()
        token = granted.read().decode()
        hardened = {"X-aliyun-ecs-metadata-token": token} if granted.status == http.client.OK else {}
        connection.request("GET", path, headers=hardened)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != http.client.OK:
            raise OSError(f"the instance metadata service says {answer.status}")
        return text
    finally:
        connection.close()
