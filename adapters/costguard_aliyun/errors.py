"""Alibaba Cloud's errors into our tree: one table from vendor code to class, then the SDK's own kinds of failure.

Codes are those of the ECS, CloudMonitor, BSS, STS and RAM error lists. A vendor's message is neither matched on nor
copied: a refused signature carries the string to sign, a connection error the whole signed URL.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from aliyunsdkcore.acs_exception.exceptions import ClientException, ServerException

from costguard.errors import (
    AuthFailed,
    BadResponse,
    InvalidState,
    NotFound,
    PermissionDenied,
    ProviderError,
    QuotaExceeded,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)

DRY_RUN_OK = frozenset({"DryRunOperation", "DRYRUN.SUCCESS"})
TOKEN_EXPIRED = "InvalidSecurityToken.Expired"  # noqa: S105 - a vendor's error code
WRONG_STATE = "IncorrectInstanceStatus"
UNREADABLE = "SDK.UnknownServerError"  # an error answer that is no JSON

_BY_CLASS: dict[type[ProviderError], Iterable[str]] = {
    AuthFailed: (
        "Forbidden.AccessKeyDisabled", "IncompleteSignature", "InvalidAccessKeyId", "InvalidAccessKeyId.Inactive",
        "InvalidAccessKeyId.NotFound", "InvalidAccessKeySecret", "InvalidSecurityToken.Expired",
        "InvalidSecurityToken.Malformed", "InvalidSecurityToken.MismatchWithAccessKey", "InvalidTimeStamp.Expired",
        "InvalidTimeStamp.Format", "MissingAccessKeyId", "MissingSecurityToken", "SDK.InvalidCredential",
        "SignatureDoesNotMatch", "SignatureNonceUsed",
    ),
    PermissionDenied: (
        "Forbidden", "Forbidden.RAM", "Forbidden.SubUser", "NoPermission", "NotAuthorized", "RegionUnauthorized",
    ),
    NotFound: (
        "EntityNotExist.Role", "InvalidAllocationId.NotFound", "InvalidDiskId.NotFound", "InvalidInstance.NotFound",
        "InvalidInstanceId.Malformed", "InvalidInstanceId.NotFound", "InvalidInstanceIds.Malformed",
        "InvalidInstanceType.NotFound", "InvalidInstanceType.ValueNotSupported", "InvalidRegionId.NotFound",
        "InvalidResourceId.NotFound", "InvalidSnapshotId.NotFound", "NoSuchResource", "PriceNotFound",
    ),
    InvalidState: (
        "ChargeTypeViolation", "IncorrectDiskStatus", "IncorrectEipStatus", WRONG_STATE,
        "IncorrectInstanceStatus.Initializing", "InstanceExpiredOrInArrears", "InstanceLockedForSecurity",
        "InvalidInstance.NotMatch", "InvalidOperation.DeletionProtection", "LastTokenProcessing", "OperationConflict",
    ),
    QuotaExceeded: (
        "NumberExceed.Tags", "OperationDenied.NoStock", "OperationDenied.QuotaExceed",
    ),
    Unsupported: (
        "InstanceType.ParameterMismatch", "InvalidCmdType.NotFound", "InvalidInstanceId.NotSupport",
    ),
    Unavailable: ("SDK.HttpError", "UnknownError"),
}  # fmt: skip

CODES: dict[str, type[ProviderError]] = {code: kind for kind, codes in _BY_CLASS.items() for code in codes}

# Families of codes, which grow: `Throttling.User`, `ServiceUnavailable.RegionMaintaining`, `QuotaExceed.…`.
PREFIXES: tuple[tuple[str, type[ProviderError]], ...] = (
    ("Throttling", Throttled),
    ("ServiceUnavailable", Unavailable),
    ("InternalError", Unavailable),
    ("QuotaExceed", QuotaExceeded),
)

_SAYS: dict[type[ProviderError], str] = {
    AuthFailed: "Alibaba Cloud does not accept the credentials",
    PermissionDenied: "the credentials may not do this",
    NotFound: "Alibaba Cloud does not know it (any more)",
    InvalidState: "its state, a lock or its charge type forbids the call",
    QuotaExceeded: "a quota or the type's stock is exhausted",
    Unsupported: "Alibaba Cloud cannot do this to this resource",
    Throttled: "too many calls this minute; nothing was done",
    Unavailable: "Alibaba Cloud could not answer",
    TimedOut: "no answer in time",
    BadResponse: "an unreadable answer",
}

# product → prefix of its RAM actions; action → RAM action where that is not the action's own name.
_RAM = {"bss": "bssapi"}
_RAM_ACTIONS = {"DescribeMetricList": "QueryMetricList"}


@dataclass(frozen=True, slots=True)
class Call:
    """One API call, as errors name it. `mutates`: its outcome matters beyond the answer."""

    account: str
    product: str
    region: str
    action: str
    mutates: bool = False

    @property
    def permission(self) -> str:
        """The RAM action, as in `ecs:StopInstance`."""
        return f"{_RAM.get(self.product, self.product)}:{_RAM_ACTIONS.get(self.action, self.action)}"

    def failed(
        self,
        kind: type[ProviderError],
        detail: str,
        code: str = "",
        request_id: str = "",
        after: timedelta | None = None,
    ) -> ProviderError:
        """An error of `kind` at this call. `after` is how long a Throttled asks to wait."""
        where = f" in {self.region}" if self.region else ""
        known = {
            "provider": "aliyun",
            "account": self.account,
            "operation": self.action,
            "code": code,
            "request_id": request_id,
        }
        if kind is PermissionDenied:
            return PermissionDenied(f"{detail}; missing {self.permission}{where}", missing=self.permission, **known)
        if kind is Unsupported:
            capability = "stop" if self.action == "StopInstance" else self.action
            return Unsupported(f"{detail}{where}", capability=capability, **known)
        if kind is Throttled and after is not None:
            return Throttled(f"{detail}{where}", after=after, **known)
        return kind(f"{detail}{where}", **known)


def translate(error: Exception, call: Call, next_minute: timedelta) -> ProviderError:
    """The error of our tree for whatever the SDK raised; never chained to it, for its text may hold secrets.

    `next_minute` is how long to wait after a throttle: calls are counted per account, API, region and minute.
    """
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, ServerException):
        code, status = str(error.error_code or ""), error.http_status or 0
        return refused(call, code, status, str(error.request_id or ""), next_minute)
    if isinstance(error, ClientException):
        return refused(call, str(error.error_code or ""), 0, "", next_minute)
    if isinstance(error, IndexError):
        # Where the SDK takes a refused signature's message apart.
        return call.failed(AuthFailed, _SAYS[AuthFailed], "SignatureDoesNotMatch")
    if isinstance(error, OSError):
        return call.failed(Unavailable, "the connection failed", type(error).__name__)
    kind = Unavailable if call.mutates else BadResponse  # the outcome of a mutation is not known then
    return call.failed(kind, _SAYS[BadResponse], type(error).__name__)


def refused(call: Call, code: str, status: int, request_id: str, next_minute: timedelta) -> ProviderError:
    """The error of a refusal with `code`. One that is not in the table goes by `status`, or by itself when numeric."""
    kind = CODES.get(code) or next((kind for prefix, kind in PREFIXES if code.startswith(prefix)), None)
    if kind is None:
        kind = _by_status(int(code) if code.isdecimal() else status, call)
    detail = _SAYS.get(kind, "Alibaba Cloud refused")
    if code in DRY_RUN_OK:
        detail = "the call would have succeeded"
    elif code.startswith("InvalidTimeStamp"):
        detail = "Alibaba Cloud does not accept the request's time: this machine's clock is wrong"
    return call.failed(kind, detail, code, request_id, next_minute)


def _by_status(status: int, call: Call) -> type[ProviderError]:
    # 404 is left out on purpose: a proxy's 404, or a bad enum, must not read as "the instance is gone".
    if status >= 500:
        return Unavailable
    if status == 403:  # ECS says 403 for states as well as for rights, but a read has no state to violate
        return InvalidState if call.mutates else PermissionDenied
    if 300 <= status < 400:
        return BadResponse
    return {401: AuthFailed, 408: TimedOut, 429: Throttled}.get(status, ProviderError)
