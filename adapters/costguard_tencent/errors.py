"""Tencent Cloud's errors into our tree: one table from vendor code to class, then families of codes, then the rest.

Codes are those of API 3.0's common list and of the CVM, CBS, VPC, Monitor, TAT, Tag and Billing lists. A vendor's
message is neither matched on nor copied: a denial names accounts, a connection error the whole request.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

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

TOKEN_FAILURE = "AuthFailure.TokenFailure"  # noqa: S105 - a vendor's error code
STATE = "UnsupportedOperation.InstanceState"
STOPPED = frozenset({f"{STATE}Stopped", f"{STATE}Stopping"})
STARTED = frozenset({f"{STATE}Running", f"{STATE}Starting"})

# Limits are per second.
PAUSE = timedelta(seconds=1)

_BY_CLASS: dict[type[ProviderError], Iterable[str]] = {
    AuthFailed: ("InvalidCredential",),
    PermissionDenied: (
        "AuthFailure.UnauthorizedOperation", "IpInBlacklist", "IpNotInWhitelist", "OperationDenied.AccountNotSupported",
        # What an account that is not let into a region is told, and one that mistypes it.
        "UnsupportedRegion",
    ),
    NotFound: (
        "InvalidAddressId.NotFound", "InvalidAddressIdState.NotFound", "InvalidDisk.NotFound", "InvalidDiskId.NotFound",
        "InvalidInstanceId.Malformed", "InvalidInstanceId.NotFound", "InvalidInstanceType.Malformed",
        "InvalidParameterValue.AddressIdMalformed", "InvalidParameterValue.AddressIdNotFound",
        "InvalidParameterValue.InstanceIdMalformed", "InvalidParameterValue.InstanceTypeNotFound",
        "InvalidParameterValue.InvalidInstanceId", "InvalidSnapshot.NotFound", "InvalidSnapshotId.NotFound",
    ),
    InvalidState: (
        "FailedOperation.ErrOwed", "InvalidInstanceState", "InvalidInstanceNotSupportedPrepaidInstance",
        "MutexOperation.TaskRunning", "ResourceInUse", "UnsupportedOperation.InstancesProtected",
        "UnsupportedOperation.InvalidInstanceNotSupportedProtectedInstance",
    ),
    QuotaExceeded: (
        "InstancesQuotaLimitExceeded", "OverQuota", "ResourceUnavailable.InstanceType",
    ),
    Unsupported: (
        "ActionOffline", "FailedOperation.ErrNotOpen", "InvalidAction", "InvalidInstance.NotSupported", "NoSuchProduct",
        "NoSuchVersion", "UnsupportedProtocol",
    ),
    Unavailable: (
        "ClientNetworkError", "FailedOperation.QueryCountFailed", "FailedOperation.QueryDBFailed",
        "FailedOperation.SummaryDataNotReady", "ServerNetworkError",
    ),
}  # fmt: skip

CODES: dict[str, type[ProviderError]] = {code: kind for kind, codes in _BY_CLASS.items() for code in codes}

# Families of codes, which grow: `RequestLimitExceeded.UinLimitExceeded`, `UnsupportedOperation.InstanceStateBanning`.
# The first that fits counts.
PREFIXES: tuple[tuple[str, type[ProviderError]], ...] = (
    ("RequestLimitExceeded", Throttled),
    ("AuthFailure", AuthFailed),
    ("UnauthorizedOperation", PermissionDenied),
    ("InternalError", Unavailable),
    ("InternalServerError", Unavailable),
    ("ServiceUnavailable", Unavailable),
    ("ResourceNotFound", NotFound),
    (STATE, InvalidState),
    ("OperationDenied", InvalidState),
    ("ResourceUnavailable", InvalidState),
    ("ResourceInsufficient", QuotaExceeded),
    ("ResourcesSoldOut", QuotaExceeded),
    ("LimitExceeded", QuotaExceeded),
    ("UnsupportedOperation", Unsupported),
)

_SAYS: dict[type[ProviderError], str] = {
    AuthFailed: "Tencent Cloud does not accept the credentials",
    PermissionDenied: "the credentials may not do this",
    NotFound: "Tencent Cloud does not know it (any more)",
    InvalidState: "its state, a lock or its charge type forbids the call",
    QuotaExceeded: "a quota or the type's stock is exhausted",
    Unsupported: "Tencent Cloud cannot do this to this resource",
    Throttled: "too many calls this second; nothing was done",
    Unavailable: "Tencent Cloud could not answer",
    TimedOut: "no answer in time",
    BadResponse: "an unreadable answer",
}

# product → prefix of its CAM actions; addresses and disks are CVM's.
_CAM = {"billing": "finance", "cbs": "cvm", "vpc": "cvm"}

# Parameters that Tencent Cloud refuses, which a batch shares with the one item that is wrong.
_PARAMETER = ("InvalidParameter", "InvalidInstanceId", "InvalidInstanceType", "ResourceNotFound")


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
        """The CAM action, as in `cvm:StopInstances`."""
        return f"{_CAM.get(self.product, self.product)}:{self.action}"

    def failed(self, kind: type[ProviderError], detail: str, code: str = "", request_id: str = "") -> ProviderError:
        """An error of `kind` at this call."""
        where = f" in {self.region}" if self.region else ""
        known = {
            "provider": "tencent",
            "account": self.account,
            "operation": self.action,
            "code": code,
            "request_id": request_id,
        }
        if kind is PermissionDenied:
            return PermissionDenied(f"{detail}; missing {self.permission}{where}", missing=self.permission, **known)
        if kind is Unsupported:
            capability = "stop" if self.action == "StopInstances" else self.action
            return Unsupported(f"{detail}{where}", capability=capability, **known)
        if kind is Throttled:
            return Throttled(f"{detail}{where}", after=PAUSE, **known)
        return kind(f"{detail}{where}", **known)


def translate(error: Exception, call: Call) -> ProviderError:
    """The error of our tree for whatever the SDK raised; never chained to it, for its text may hold secrets.

    The SDK lets `requests` and JSON errors out as they are when an answer breaks off.
    """
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, TencentCloudSDKException):
        return refused(call, str(error.code or ""), str(error.requestId or ""))
    if isinstance(error, OSError):
        return call.failed(Unavailable, "the connection failed", type(error).__name__)
    kind = Unavailable if call.mutates else BadResponse  # the outcome of a mutation is not known then
    return call.failed(kind, _SAYS[BadResponse], type(error).__name__)


def refused(call: Call, code: str, request_id: str) -> ProviderError:
    """The error of a refusal with `code`. What neither the table nor a family knows is a plain ProviderError."""
    kind = CODES.get(code) or next((kind for prefix, kind in PREFIXES if code.startswith(prefix)), ProviderError)
    detail = _SAYS.get(kind, "Tencent Cloud refused")
    if code == "AuthFailure.SignatureExpire":
        detail = "Tencent Cloud does not accept the request's time: this machine's clock is wrong"
    if code == "UnsupportedRegion":
        detail = "the account is not let into this region, or there is none of that name"
    return call.failed(kind, detail, code, request_id)


def of_one_item(error: ProviderError) -> bool:
    """Whether one item of a batch may have spoilt it for the others."""
    return isinstance(error, NotFound) or error.code.startswith(_PARAMETER)
