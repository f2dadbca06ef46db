"""Which keys sign: given ones, the environment's, tccli's, the SDK's file, the CVM's role, and a role on top.

Every temporary key is fetched anew before it ends. The SDK's own classes are not used for this: they cannot be pointed
at another endpoint, ask the machine without a timeout, swallow its refusals and then sign with the key "None".
"""

import configparser
import http.client
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from costguard.errors import AuthFailed
from costguard.keys import Assume, KeyRing, Keys
from costguard.ports import Clock
from costguard_tencent.credentials import TencentCredentials
from costguard_tencent.errors import Call

METADATA = "metadata.tencentyun.com"
_SECONDS = 2.0
_PATH = "/latest/meta-data/cam/security-credentials/"


class TencentKeys(KeyRing):
    """The account's keys, from what was given, else from the usual places in their order."""

    def __init__(self, given: TencentCredentials, clock: Clock, call: Call, assume: Assume) -> None:
        super().__init__(clock)
        self._given, self._call, self._assume = given, call, assume

    def fetch(self) -> Keys:
        base = self._base()
        given = self._given
        return self._assume(base, given.role_arn, given.external_id) if given.role_arn else base

    def _base(self) -> Keys:
        given = self._given
        if given.secret_id is not None and given.secret_key is not None:
            token = given.token.get_secret_value() if given.token else None
            return Keys(given.secret_id, given.secret_key.get_secret_value(), token)
        if given.role is not None:
            return self._machine_role(given.role)
        if given.profile is not None:
            return self._of_cli(given.profile)
        environment = _keys(
            os.environ, "TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "TENCENTCLOUD_TOKEN", until=None
        )
        return environment or self._chain()

    def _chain(self) -> Keys:
        if cli_file("default").is_file():
            return self._of_cli("default")
        return self._of_sdk() or self._machine_role(None)

    def _of_cli(self, profile: str) -> Keys:
        """A profile of tccli: keys, with a session token or a role to assume where it says so."""
        try:
            file = json.loads(cli_file(profile).read_text("utf-8"))
            keys = _keys(file, "secretId", "secretKey", "token", until=None)
            role = file.get("role-arn")
        except (OSError, ValueError, AttributeError):
            raise self._call.failed(AuthFailed, f"tccli's profile {profile} cannot be read") from None
        if keys is None:
            raise self._call.failed(AuthFailed, f"tccli's profile {profile} holds no keys")
        return self._assume(keys, str(role), None) if role else keys

    def _of_sdk(self) -> Keys | None:
        """`[default]` of the file that the SDKs share."""
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(Path.home() / ".tencentcloud" / "credentials", "utf-8")
        except (configparser.Error, UnicodeDecodeError):
            raise self._call.failed(AuthFailed, "the file .tencentcloud/credentials cannot be read") from None
        section = parser["default"] if parser.has_section("default") else {}
        return _keys(section, "secret_id", "secret_key", "token", until=None)

    def _machine_role(self, role: str | None) -> Keys:
        """The keys of the CAM role that is bound to the CVM on which this runs."""
        try:
            name = role or _metadata(_PATH).strip()
            answer = json.loads(_metadata(_PATH + name)) if name else {}
            until = datetime.fromtimestamp(int(answer.get("ExpiredTime") or 0), UTC)
            keys = _keys(answer, "TmpSecretId", "TmpSecretKey", "Token", until=until)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            keys = None
        if keys is None:
            raise self._call.failed(AuthFailed, "no credentials: none given, none in the environment, no role of a CVM")
        return keys


def cli_file(profile: str) -> Path:
    return Path.home() / ".tccli" / f"{profile}.credential"


def _keys(source: Mapping[str, Any], id: str, key: str, token: str, *, until: datetime | None) -> Keys | None:
    if not (source.get(id) and source.get(key)):
        return None
    return Keys(str(source[id]).strip(), str(source[key]).strip(), source.get(token) or None, until)


def _metadata(path: str) -> str:
    """One answer of the machine's metadata service. Raises OSError, also for a refusal."""
    connection = http.client.HTTPConnection(METADATA, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != http.client.OK:
            raise OSError(f"the metadata service says {answer.status}")
        return text
    finally:
        connection.close()
