"""The table of vendor codes row by row, and every kind of failure of the SDK itself."""

import ssl

import pytest
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
from costguard_aws.errors import CODES, translate
from tests.unit.aws.helpers import CALL, STOP

# Written from the services' error lists, not from the table under test.
EXPECTED: dict[str, type[ProviderError]] = {
    "AuthFailure": AuthFailed,
    "Blocked": AuthFailed,
    "ExpiredToken": AuthFailed,
    "ExpiredTokenException": AuthFailed,
    "IncompleteSignature": AuthFailed,
    "IncompleteSignatureException": AuthFailed,
    "InvalidAccessKeyId": AuthFailed,
    "InvalidClientTokenId": AuthFailed,
    "InvalidSignatureException": AuthFailed,
    "MissingAuthenticationToken": AuthFailed,
    "MissingAuthenticationTokenException": AuthFailed,
    "NotSignedUp": AuthFailed,
    "PendingVerification": AuthFailed,
    "RequestExpired": AuthFailed,
    "RequestTimeTooSkewed": AuthFailed,
    "SignatureDoesNotMatch": AuthFailed,
    "UnrecognizedClientException": AuthFailed,
    "AccessDenied": PermissionDenied,
    "AccessDeniedException": PermissionDenied,
    "OptInRequired": PermissionDenied,
    "RegionDisabledException": PermissionDenied,
    "SubscriptionRequiredException": PermissionDenied,
    "UnauthorizedOperation": PermissionDenied,
    "BillExpirationException": NotFound,
    "DataUnavailableException": NotFound,
    "InvalidAddress.NotFound": NotFound,
    "InvalidAllocationID.NotFound": NotFound,
    "InvalidCapacityReservationId.Malformed": NotFound,
    "InvalidCapacityReservationId.NotFound": NotFound,
    "InvalidInstanceID.Malformed": NotFound,
    "InvalidInstanceID.NotFound": NotFound,
    "InvalidSnapshot.NotFound": NotFound,
    "InvalidSnapshotID.Malformed": NotFound,
    "InvalidSpotInstanceRequestID.Malformed": NotFound,
    "InvalidSpotInstanceRequestID.NotFound": NotFound,
    "InvalidVolume.NotFound": NotFound,
    "InvalidVolumeID.Malformed": NotFound,
    "InvocationDoesNotExist": NotFound,
    "NatGatewayMalformed": NotFound,
    "NatGatewayNotFound": NotFound,
    "NoSuchResourceException": NotFound,
    "NotFoundException": NotFound,
    "DependencyViolation": InvalidState,
    "IncorrectInstanceState": InvalidState,
    "IncorrectSpotRequestState": InvalidState,
    "IncorrectState": InvalidState,
    "InvalidAddress.Locked": InvalidState,
    "InvalidIPAddress.InUse": InvalidState,
    "InvalidInstanceId": InvalidState,
    "InvalidSnapshot.InUse": InvalidState,
    "OperationNotPermitted": InvalidState,
    "SpotMaxPriceTooLow": InvalidState,
    "UnsupportedHibernationConfiguration": InvalidState,
    "VolumeInUse": InvalidState,
    "InstanceLimitExceeded": QuotaExceeded,
    "InsufficientCapacity": QuotaExceeded,
    "InsufficientHostCapacity": QuotaExceeded,
    "InsufficientInstanceCapacity": QuotaExceeded,
    "InsufficientReservedInstanceCapacity": QuotaExceeded,
    "MaxSpotInstanceCountExceeded": QuotaExceeded,
    "TagLimitExceeded": QuotaExceeded,
    "VcpuLimitExceeded": QuotaExceeded,
    "VolumeLimitExceeded": QuotaExceeded,
    "OperationNotSupported": Unsupported,
    "Unsupported": Unsupported,
    "UnsupportedOperation": Unsupported,
    "UnsupportedOperationException": Unsupported,
    "UnsupportedPlatformType": Unsupported,
    "BandwidthLimitExceeded": Throttled,
    "EC2ThrottledException": Throttled,
    "LimitExceededException": Throttled,
    "RateExceeded": Throttled,
    "RequestLimitExceeded": Throttled,
    "RequestThrottled": Throttled,
    "RequestThrottledException": Throttled,
    "SlowDown": Throttled,
    "ThrottledException": Throttled,
    "Throttling": Throttled,
    "ThrottlingException": Throttled,
    "TooManyRequestsException": Throttled,
    "InternalError": Unavailable,
    "InternalErrorException": Unavailable,
    "InternalFailure": Unavailable,
    "InternalServerError": Unavailable,
    "InternalServerException": Unavailable,
    "InternalServiceError": Unavailable,
    "InternalServiceException": Unavailable,
    "ServerInternal": Unavailable,
    "ServiceException": Unavailable,
    "ServiceUnavailable": Unavailable,
    "ServiceUnavailableException": Unavailable,
    "Unavailable": Unavailable,
    "RequestTimeout": TimedOut,
    "RequestTimeoutException": TimedOut,
    "ExpiredNextTokenException": BadResponse,
    "InvalidNextToken": BadResponse,
    "InvalidNextTokenException": BadResponse,
}


def refused(code: str, status: int = 400) -> sdk.ClientError:
    answer = {
        "Error": {"Code": code, "Message": "Encoded authorization failure message: s3cr3t"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "req-1"},
    }
    return sdk.ClientError(answer, "DescribeInstances")  # type: ignore[arg-type]


def test_the_table_is_whole() -> None:
    assert CODES.keys() == EXPECTED.keys()


@pytest.mark.parametrize(("code", "kind"), EXPECTED.items())
def test_each_code_has_its_class(code: str, kind: type[ProviderError]) -> None:
    error = translate(refused(code), CALL)
    assert type(error) is kind
    assert (error.provider, error.account, error.operation) == ("aws", "prod", "DescribeInstances")
    assert (error.code, error.request_id) == (code, "req-1")


@pytest.mark.parametrize("code", EXPECTED)
def test_the_vendors_message_is_not_copied(code: str) -> None:
    assert "s3cr3t" not in str(translate(refused(code), CALL))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthFailed),
        (403, PermissionDenied),
        (408, TimedOut),
        (429, Throttled),
        (500, Unavailable),
        (503, Unavailable),
        (400, ProviderError),
        (404, ProviderError),  # a proxy's: never "the instance is gone"
    ],
)
def test_a_code_of_the_future_goes_by_its_status(status: int, kind: type[ProviderError]) -> None:
    assert type(translate(refused("CodeOf2027", status), CALL)) is kind


def test_a_missing_permission_is_named() -> None:
    error = translate(refused("UnauthorizedOperation", 403), STOP)
    assert isinstance(error, PermissionDenied)
    assert error.missing == "ec2:StopInstances"


def test_the_machines_clock_is_named() -> None:
    assert "clock" in translate(refused("RequestTimeTooSkewed", 403), CALL).detail


def test_a_box_that_cannot_be_stopped_names_the_capability() -> None:
    error = translate(refused("UnsupportedOperation"), STOP)
    assert isinstance(error, Unsupported)
    assert error.capability == "stop"


URL = "https://ec2.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (sdk.NoCredentialsError(), AuthFailed),
        (sdk.PartialCredentialsError(provider="env", cred_var="x"), AuthFailed),
        (sdk.ProfileNotFound(profile="x"), AuthFailed),
        (sdk.CredentialRetrievalError(provider="x", error_msg="y"), AuthFailed),
        (sdk.TokenRetrievalError(provider="sso", error_msg="y"), AuthFailed),
        (sdk.UnauthorizedSSOTokenError(), AuthFailed),
        (sdk.InvalidConfigError(error_msg="x"), AuthFailed),
        (sdk.ConnectTimeoutError(endpoint_url=URL), TimedOut),
        (sdk.ReadTimeoutError(endpoint_url=URL), TimedOut),
        (sdk.EndpointConnectionError(endpoint_url=URL), Unavailable),
        (sdk.ConnectionClosedError(endpoint_url=URL), Unavailable),
        (sdk.ProxyConnectionError(proxy_url="http://127.0.0.1:1"), Unavailable),
        (sdk.SSLError(endpoint_url=URL, error="x"), Unavailable),
        (sdk.HTTPClientError(error="x"), Unavailable),
        (ssl.SSLError("x"), Unavailable),
        (ConnectionResetError(), Unavailable),
        (TimeoutError(), TimedOut),
        (ResponseParserError("x"), BadResponse),
        (ValueError("not a time"), BadResponse),
        (KeyError("item"), BadResponse),
        (sdk.ParamValidationError(report="x"), ProviderError),
        (RuntimeError("can't start new thread"), Unavailable),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_each_failure_of_the_sdk_has_its_class(raised: Exception, kind: type[ProviderError]) -> None:
    error = translate(raised, CALL)
    assert type(error) is kind
    assert error.code == type(raised).__name__


@pytest.mark.parametrize("raised", [sdk.ConnectTimeoutError(endpoint_url=URL), sdk.ReadTimeoutError(endpoint_url=URL)])
def test_a_timeout_of_a_stop_leaves_its_outcome_open(raised: Exception) -> None:
    """C11: the caller looks before anything else."""
    assert type(translate(raised, STOP)) is TimedOut


def test_an_unreadable_answer_to_a_stop_leaves_its_outcome_open() -> None:
    """C11: the stop may have worked, so this is no plain failure."""
    assert type(translate(ResponseParserError("x"), STOP)) is Unavailable


def test_our_own_errors_pass_through() -> None:
    ours = NotFound("gone", provider="aws")
    assert translate(ours, CALL) is ours
