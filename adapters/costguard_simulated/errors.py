"""The simulated clouds' error codes, in one table. Codes are what a fault in a scenario names."""

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

PROVIDER = "simulated"

CODES: dict[str, type[ProviderError]] = {
    "InvalidAccessKeyId": AuthFailed,
    "ExpiredToken": AuthFailed,
    "Forbidden": PermissionDenied,
    "InvalidInstanceId.NotFound": NotFound,
    "IncorrectInstanceStatus": InvalidState,
    "OperationDenied.Protected": InvalidState,
    "InvalidParameter": InvalidState,
    "QuotaExceeded": QuotaExceeded,
    "OperationDenied.NoStock": QuotaExceeded,
    "UnsupportedOperation": Unsupported,
    "Throttling": Throttled,
    "InternalError": Unavailable,
    "ConnectionReset": Unavailable,
    "RequestTimeout": TimedOut,
    "MalformedResponse": BadResponse,
}


def error(
    code: str, detail: str, *, account: str, operation: str, missing: str = "", request_id: str = ""
) -> ProviderError:
    """The exception for a code of the table. Raises KeyError for a code that no simulated cloud has."""
    kind = CODES[code]
    where = {
        "provider": PROVIDER, "account": account, "operation": operation, "code": code, "request_id": request_id,
    }  # fmt: skip
    if kind is PermissionDenied:
        return PermissionDenied(detail, missing=missing, **where)
    if kind is Unsupported:
        return Unsupported(detail, capability=missing, **where)
    if kind is BadResponse:
        return BadResponse(detail, where=missing, **where)
    return kind(detail, **where)
