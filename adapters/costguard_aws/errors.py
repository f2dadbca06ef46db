"""AWS errors into our tree: one table from vendor code to class, then the kinds of failure of the SDK itself.

Codes are those of the EC2 API error list and of the services' own models. A vendor's message is neither matched on nor
copied: EC2 puts encoded authorization details into it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

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

DRY_RUN_OK = "DryRunOperation"

_BY_CLASS: dict[type[ProviderError], Iterable[str]] = {
    AuthFailed: (
        "AuthFailure", "Blocked", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
        "IncompleteSignatureException", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSignatureException",
        "MissingAuthenticationToken", "MissingAuthenticationTokenException", "NotSignedUp", "PendingVerification",
        "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "UnrecognizedClientException",
    ),
    PermissionDenied: (
        "AccessDenied", "AccessDeniedException", "OptInRequired", "RegionDisabledException",
        "SubscriptionRequiredException", "UnauthorizedOperation",
    ),
    NotFound: (
        "BillExpirationException", "DataUnavailableException", "InvalidAddress.NotFound",
        "InvalidAllocationID.NotFound", "InvalidCapacityReservationId.Malformed",
        "InvalidCapacityReservationId.NotFound",
        "InvalidInstanceID.Malformed", "InvalidInstanceID.NotFound",
        "InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed", "InvalidSpotInstanceRequestID.Malformed",
        "InvalidSpotInstanceRequestID.NotFound",
        "InvalidVolume.NotFound", "InvalidVolumeID.Malformed", "InvocationDoesNotExist", "NatGatewayMalformed",
        "NatGatewayNotFound", "NoSuchResourceException", "NotFoundException",
    ),
    InvalidState: (
        "DependencyViolation", "IncorrectInstanceState", "IncorrectSpotRequestState", "IncorrectState",
        "InvalidAddress.Locked", "InvalidIPAddress.InUse", "InvalidInstanceId", "InvalidSnapshot.InUse",
        "OperationNotPermitted", "SpotMaxPriceTooLow", "UnsupportedHibernationConfiguration", "VolumeInUse",
    ),
    QuotaExceeded: (
        "InstanceLimitExceeded", "InsufficientCapacity", "InsufficientHostCapacity", "InsufficientInstanceCapacity",
        "InsufficientReservedInstanceCapacity", "MaxSpotInstanceCountExceeded", "TagLimitExceeded", "VcpuLimitExceeded",
        "VolumeLimitExceeded",
    ),
    Unsupported: (
        "OperationNotSupported", "Unsupported", "UnsupportedOperation", "UnsupportedOperationException",
        "UnsupportedPlatformType",
    ),
    Throttled: (
        "BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "RateExceeded",
        "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "SlowDown", "ThrottledException",
        "Throttling", "ThrottlingException", "TooManyRequestsException",
    ),
    Unavailable: (
        "InternalError", "InternalErrorException", "InternalFailure", "InternalServerError", "InternalServerException",
        "InternalServiceError", "InternalServiceException", "ServerInternal", "ServiceException", "ServiceUnavailable",
        "ServiceUnavailableException", "Unavailable",
    ),
    TimedOut: ("RequestTimeout", "RequestTimeoutException"),
    BadResponse: ("ExpiredNextTokenException", "InvalidNextToken", "InvalidNextTokenException"),
}  # fmt: skip

CODES: dict[str, type[ProviderError]] = {code: kind for kind, codes in _BY_CLASS.items() for code in codes}

_SAYS: dict[type[ProviderError], str] = {
    AuthFailed: "AWS does not accept the credentials",
    PermissionDenied: "the credentials may not do this",
    NotFound: "AWS does not know it (any more)",
    InvalidState: "its state or a protection forbids the call",
    QuotaExceeded: "a quota or the type's capacity is exhausted",
    Unsupported: "AWS cannot do this to this resource",
    Throttled: "too many calls; nothing was done",
    Unavailable: "AWS could not answer",
    TimedOut: "no answer in time",
    BadResponse: "AWS no longer accepts its own paging token",
}

_NO_CREDENTIALS: tuple[type[Exception], ...] = (
    sdk.CredentialRetrievalError,
    sdk.InvalidConfigError,
    sdk.LoginError,
    sdk.MetadataRetrievalError,
    sdk.NoAuthTokenError,
    sdk.NoCredentialsError,
    sdk.PartialCredentialsError,
    sdk.ProfileNotFound,
    sdk.RefreshWithMFAUnsupportedError,
    sdk.SSOError,
    sdk.TokenRetrievalError,
    sdk.UnknownCredentialError,
)

# What the client is asked as, in IAM's words, where that is not the client's name.
_IAM = {"service-quotas": "servicequotas"}
_ACTIONS = {"budgets:DescribeBudgets": "budgets:ViewBudget"}


@dataclass(frozen=True, slots=True)
class Call:
    """One API call, as errors name it. `mutates`: its outcome matters beyond the answer."""

    account: str
    service: str
    region: str
    operation: str
    mutates: bool = False

    @property
    def permission(self) -> str:
        """The IAM action, as in `ec2:StopInstances`, which nearly always carries the operation's own name."""
        action = f"{_IAM.get(self.service, self.service)}:{self.operation}"
        return _ACTIONS.get(action, action)

    def failed(self, kind: type[ProviderError], detail: str, code: str = "", request_id: str = "") -> ProviderError:
        """An error of `kind` at this call."""
        extra: dict[str, str] = {}
        if kind is PermissionDenied:
            extra["missing"] = self.permission
            detail = f"{detail}; missing {self.permission}"
        elif kind is Unsupported:
            extra["capability"] = "stop" if self.operation == "StopInstances" else self.operation
        where = f" in {self.region}" if self.region else ""
        return kind(
            f"{detail}{where}",
            provider="aws",
            account=self.account,
            operation=self.operation,
            code=code,
            request_id=request_id,
            **extra,
        )


def translate(error: Exception, call: Call) -> ProviderError:
    """The error of our tree for whatever the SDK raised. A code that is not in the table goes by its HTTP status."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, sdk.ClientError):
        return _refused(error, call)
    if isinstance(error, _NO_CREDENTIALS):
        return call.failed(AuthFailed, "no usable credentials", type(error).__name__)
    if isinstance(error, (sdk.ConnectTimeoutError, sdk.ReadTimeoutError, TimeoutError)):
        return call.failed(TimedOut, _SAYS[TimedOut], type(error).__name__)
    if isinstance(error, (sdk.ConnectionError, sdk.HTTPClientError, sdk.IncompleteReadError, OSError)):
        return call.failed(Unavailable, "the connection failed", type(error).__name__)
    if isinstance(error, sdk.BotoCoreError):
        return call.failed(ProviderError, "the SDK refused to make the call", type(error).__name__)
    if isinstance(error, (ResponseParserError, ValueError, KeyError, TypeError, AttributeError)):
        # What the SDK's parsers raise for a body that is no XML or JSON, or has other members than documented.
        kind = Unavailable if call.mutates else BadResponse  # the outcome of a mutation is not known then
        return call.failed(kind, "an unreadable answer", type(error).__name__)
    return call.failed(Unavailable, "the SDK failed", type(error).__name__)


def _refused(error: sdk.ClientError, call: Call) -> ProviderError:
    answer = error.response
    code = str(answer.get("Error", {}).get("Code", ""))
    meta = answer.get("ResponseMetadata", {})
    status, request_id = int(meta.get("HTTPStatusCode", 0)), str(meta.get("RequestId", ""))
    kind = CODES.get(code) or _by_status(status)
    detail = _SAYS.get(kind, "AWS refused")
    if code == DRY_RUN_OK:
        detail = "the call would have succeeded"
    elif code in {"RequestTimeTooSkewed", "RequestExpired"}:
        detail = "AWS does not accept the request's time: this machine's clock is wrong"
    return call.failed(kind, detail, code, request_id)


def _by_status(status: int) -> type[ProviderError]:
    # 404 is left out on purpose: a proxy's 404 must not read as "the instance is gone".
    if status >= 500:
        return Unavailable
    return {401: AuthFailed, 403: PermissionDenied, 408: TimedOut, 429: Throttled}.get(status, ProviderError)
