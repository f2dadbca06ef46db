"""STS: who one is, and temporary keys."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.rpc import Context, Refused, to_seconds
from tests.fakes.aliyun.signature import Gate, Session


class Sts:
    """Version 2015-04-01. ``session_length``: what a temporary key lives, whatever was asked for."""

    def __init__(self, clock: FakeClock, gate: Gate, account: str) -> None:
        self._clock, self._gate, self._account = clock, gate, account
        self.caller: Session | None = None
        self.session_length: timedelta | None = None
        self.roles = {f"acs:ram::{account}:role/costguard"}
        self._issued = 0

    def GetCallerIdentity(self, call: Context) -> Mapping[str, Any]:
        assert self.caller is not None
        principal = self.caller.principal
        sort = "AssumedRoleUser" if principal.startswith("assumed-role/") else "RAMUser"
        return {
            "IdentityType": sort,
            "AccountId": self._account,
            "PrincipalId": "216959339000654321",
            "UserId": "216959339000654321",
            "Arn": f"acs:ram::{self._account}:{principal}",
        }

    def AssumeRole(
        self,
        call: Context,
        *,
        RoleArn: str,
        RoleSessionName: str,
        DurationSeconds: int = 3_600,
        Policy: str = "",
        ExternalId: str = "",
    ) -> Mapping[str, Any]:
        if not 900 <= DurationSeconds <= 43_200:
            raise Refused("InvalidParameter.DurationSeconds", 400)
        if RoleArn not in self.roles:
            raise Refused("EntityNotExist.Role", 404)
        self._issued += 1
        until = self._clock.now() + (self.session_length or timedelta(seconds=DurationSeconds))
        key, secret, token = (
            f"STS.EXAMPLE{self._issued:05}", f"role-secret-{self._issued}", f"role-token/{self._issued}+==",
        )  # fmt: skip
        role = RoleArn.rpartition("/")[2]
        self._gate.sessions[key] = Session(secret, token, until, principal=f"assumed-role/{role}/{RoleSessionName}")
        return {
            "Credentials": {
                "AccessKeyId": key,
                "AccessKeySecret": secret,
                "SecurityToken": token,
                "Expiration": to_seconds(until),
            },
            "AssumedRoleUser": {
                "AssumedRoleId": f"344584339364951186:{RoleSessionName}",
                "Arn": f"acs:ram::{self._account}:assumed-role/{role}/{RoleSessionName}",
            },
        }
