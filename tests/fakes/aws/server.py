"""The account: signatures, sessions, regions, faults, and the hand-over of each call to its service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault, Mutation
from tests.fakes.aws import signature
from tests.fakes.aws.bills import Budgets, CloudTrail, CostExplorer, Pricing, Quotas
from tests.fakes.aws.cloudwatch import CloudWatch
from tests.fakes.aws.codec import Refused, decode, encode, encode_error, operation_of
from tests.fakes.aws.ec2 import AutoScaling, Ec2
from tests.fakes.aws.ssm import SystemsManager
from tests.fakes.server import Answer, Request, StrictServer

ACCOUNT = "123456789012"
KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REGIONS = ("us-east-1", "us-west-2", "eu-central-1")

MUTATIONS = {
    "StopInstances": "stop",
    "StartInstances": "start",
    "TerminateInstances": "release",
    "CreateTags": "tag",
    "SendCommand": "run_command",
    "CancelSpotInstanceRequests": "other",
    "DeleteVolume": "release",
    "DeleteSnapshot": "release",
    "ReleaseAddress": "release",
    "DeleteNatGateway": "release",
}
_INVENTORY = {
    "DescribeInstances",
    "DescribeInstanceTypes",
    "DescribeInstanceAttribute",
    "DescribeSpotInstanceRequests",
    "DescribeAutoScalingInstances",
}

# fault → (ec2, query, json): code and HTTP status as each family of services says it.
_FAULTS: Mapping[Fault, Mapping[str, tuple[str, int]]] = {
    Fault.THROTTLED: {
        "ec2": ("RequestLimitExceeded", 503), "query": ("Throttling", 400), "json": ("ThrottlingException", 400),
    },
    Fault.UNAUTHENTICATED: {
        "ec2": ("AuthFailure", 401), "query": ("InvalidClientTokenId", 403),
        "json": ("UnrecognizedClientException", 400),
    },
    Fault.FORBIDDEN: {
        "ec2": ("UnauthorizedOperation", 403), "query": ("AccessDenied", 403), "json": ("AccessDeniedException", 400),
    },
    Fault.SERVER_ERROR: {
        "ec2": ("InternalError", 500), "query": ("InternalFailure", 500), "json": ("InternalServiceError", 500),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One call that was understood."""

    service: str
    region: str
    operation: str
    params: Mapping[str, Any]


@dataclass
class _Session:
    secret: str
    token: str | None = None
    until: datetime | None = None


class AwsServer(StrictServer):
    """Every service of one account behind one endpoint, told apart by the credential scope as AWS's own gateways do."""

    def __init__(self, clock: FakeClock | None = None, regions: tuple[str, ...] = REGIONS) -> None:
        super().__init__(clock)
        self.regions = regions
        self.denied: set[str] = set()
        self.calls: list[Call] = []
        self.paging: Fault | None = None
        self.session_length = timedelta(hours=1)
        self.external_id: str | None = None
        self.honours_dry_run = True
        self._sessions: dict[str, _Session] = {KEY_ID: _Session(SECRET)}
        self.ec2 = Ec2(self.clock, ACCOUNT, regions)
        self.cloudwatch = CloudWatch(self.clock, self.ec2.region_of)
        self.costs = CostExplorer()
        self.budgets = Budgets(ACCOUNT)
        self.pricing = Pricing()
        self.quotas = Quotas()
        self.trail = CloudTrail()
        self.ssm = SystemsManager(self.clock)
        self._services: dict[str, Any] = {
            "ec2": self.ec2,
            "autoscaling": AutoScaling(self.ec2),
            "sts": _Sts(self),
            "monitoring": self.cloudwatch,
            "ce": self.costs,
            "budgets": self.budgets,
            "pricing": self.pricing,
            "servicequotas": self.quotas,
            "ssm": self.ssm,
            "cloudtrail": self.trail,
        }

    def respond(self, request: Request) -> Answer:
        service = "sts"
        try:
            _, region, service, _ = signature.scope(request)
            self._authenticate(request)
            operation, params = decode(service, request)
            if region in self.denied:
                raise Refused(*_say(Fault.FORBIDDEN, service))
            self.calls.append(Call(service, region, operation, params))
            dry = params.pop("DryRun", False) and self.honours_dry_run
            handler: Callable[..., Mapping[str, Any]] = getattr(self._services[service], operation)
            if dry:
                self._services[service].dry_run(region, operation, params)
                raise Refused("DryRunOperation", 412)
            return encode(service, operation, handler(region, paging=self.paging, **params))
        except signature.BadSignature as error:
            return encode_error(service, str(error), 403)
        except Refused as error:
            return encode_error(service, error.code, error.status)

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault in (Fault.REPEATED_TOKEN, Fault.DUPLICATED_ITEM):
            self.paging = fault
            try:
                return self.respond(request)
            finally:
                self.paging = None
        _, _, service, _ = signature.scope(request)
        return encode_error(service, *_say(fault, service))

    def on(self, calls: Calls) -> Callable[[Request], bool]:
        """Whether a request is one of these calls."""

        def is_one(request: Request) -> bool:
            _, _, service, _ = signature.scope(request)
            operation = operation_of(service, request)
            return {
                Calls.ALL: True,
                Calls.INVENTORY: operation in _INVENTORY,
                Calls.USAGE: service == "monitoring",
                Calls.MUTATION: operation in MUTATIONS,
            }[calls]

        return is_one

    def mutations(self) -> list[Mutation]:
        """Changing requests in order, whether they worked or not; dry runs are none."""
        found = []
        for request in list(self.requests):
            _, _, service, _ = signature.scope(request)
            if operation_of(service, request) not in MUTATIONS:
                continue
            operation, params = decode(service, request)
            if not params.get("DryRun"):
                ids = params.get("InstanceIds") or params.get("Resources") or [next(iter(params.values()))]
                found.append(Mutation(MUTATIONS[operation], str(ids[0])))
        return found

    def operations(self) -> list[str]:
        """The names of all calls that were understood, in order."""
        return [call.operation for call in self.calls]

    def add_session(self, key: str, session: _Session) -> None:
        self._sessions[key] = session

    def _authenticate(self, request: Request) -> None:
        key, *_ = signature.scope(request)
        session = self._sessions.get(key)
        if session is None or request.headers.get("x-amz-security-token") != session.token:
            raise signature.BadSignature("InvalidClientTokenId")
        signature.verify(request, session.secret)
        if session.until is not None and session.until <= self.clock.now():
            raise Refused("ExpiredToken", 403)


class _Sts:
    def __init__(self, server: AwsServer) -> None:
        self._server, self._issued = server, 0

    def GetCallerIdentity(self, region: str, paging: object = None) -> Mapping[str, Any]:
        return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/costguard", "UserId": "AIDAEXAMPLE"}

    def AssumeRole(
        self,
        region: str,
        RoleArn: str,
        RoleSessionName: str,
        ExternalId: str | None = None,
        paging: object = None,
    ) -> Mapping[str, Any]:
        if ExternalId != self._server.external_id:
            raise Refused("AccessDenied", 403)
        self._issued += 1
        until = self._server.clock.now() + self._server.session_length
        key, secret, token = (
            f"ASIAEXAMPLE{self._issued:05}",
            f"role-secret-{self._issued}",
            f"role-token-{self._issued}",
        )
        self._server.add_session(key, _Session(secret, token, until))
        return {
            "Credentials": {
                "AccessKeyId": key,
                "SecretAccessKey": secret,
                "SessionToken": token,
                "Expiration": until,
            },
            "AssumedRoleUser": {
                "AssumedRoleId": f"AROAEXAMPLE:{RoleSessionName}",
                "Arn": f"{RoleArn}/{RoleSessionName}",
            },
        }


def _say(fault: Fault, service: str) -> tuple[str, int]:
    family = {"ec2": "ec2", "sts": "query", "autoscaling": "query"}.get(service, "json")
    return _FAULTS[fault][family]
