"""The table of codes, row by row."""

import json
from datetime import timedelta

import pytest
import requests
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
    Unavailable,
    Unsupported,
)
from costguard_tencent.errors import CODES, PREFIXES, Call, of_one_item, refused, translate
from tests.unit.tencent.helpers import CALL, STOP

ROWS: list[tuple[str, type[ProviderError]]] = [
    ("AuthFailure.InvalidAuthorization", AuthFailed),
    ("AuthFailure.InvalidSecretId", AuthFailed),
    ("AuthFailure.MFAFailure", AuthFailed),
    ("AuthFailure.SecretIdNotFound", AuthFailed),
    ("AuthFailure.SignatureExpire", AuthFailed),
    ("AuthFailure.SignatureFailure", AuthFailed),
    ("AuthFailure.TokenFailure", AuthFailed),
    ("InvalidCredential", AuthFailed),
    ("AuthFailure.UnauthorizedOperation", PermissionDenied),
    ("UnauthorizedOperation", PermissionDenied),
    ("UnauthorizedOperation.CamNoAuth", PermissionDenied),
    ("UnauthorizedOperation.MFAExpired", PermissionDenied),
    ("IpInBlacklist", PermissionDenied),
    ("IpNotInWhitelist", PermissionDenied),
    ("OperationDenied.AccountNotSupported", PermissionDenied),
    ("UnsupportedRegion", PermissionDenied),
    ("RequestLimitExceeded", Throttled),
    ("RequestLimitExceeded.UinLimitExceeded", Throttled),
    ("RequestLimitExceeded.IPLimitExceeded", Throttled),
    ("RequestLimitExceeded.GlobalRegionUinLimitExceeded", Throttled),
    ("InternalError", Unavailable),
    ("InternalError.GatewayError", Unavailable),
    ("InternalServerError", Unavailable),
    ("ServiceUnavailable", Unavailable),
    ("ClientNetworkError", Unavailable),
    ("ServerNetworkError", Unavailable),
    ("FailedOperation.QueryCountFailed", Unavailable),
    ("FailedOperation.QueryDBFailed", Unavailable),
    ("FailedOperation.SummaryDataNotReady", Unavailable),
    ("InvalidInstanceId.NotFound", NotFound),
    ("InvalidInstanceId.Malformed", NotFound),
    ("InvalidParameterValue.InstanceIdMalformed", NotFound),
    ("InvalidParameterValue.InvalidInstanceId", NotFound),
    ("InvalidInstanceType.Malformed", NotFound),
    ("InvalidParameterValue.InstanceTypeNotFound", NotFound),
    ("InvalidDisk.NotFound", NotFound),
    ("InvalidDiskId.NotFound", NotFound),
    ("InvalidSnapshot.NotFound", NotFound),
    ("InvalidSnapshotId.NotFound", NotFound),
    ("InvalidAddressId.NotFound", NotFound),
    ("InvalidAddressIdState.NotFound", NotFound),
    ("InvalidParameterValue.AddressIdMalformed", NotFound),
    ("InvalidParameterValue.AddressIdNotFound", NotFound),
    ("ResourceNotFound", NotFound),
    ("ResourceNotFound.InstanceNotFound", NotFound),
    ("UnsupportedOperation.InstanceStatePending", InvalidState),
    ("UnsupportedOperation.InstanceStateBanning", InvalidState),
    ("UnsupportedOperation.InstancesProtected", InvalidState),
    ("UnsupportedOperation.InvalidInstanceNotSupportedProtectedInstance", InvalidState),
    ("OperationDenied.InstanceOperationInProgress", InvalidState),
    ("MutexOperation.TaskRunning", InvalidState),
    ("InvalidInstanceState", InvalidState),
    ("InvalidInstanceNotSupportedPrepaidInstance", InvalidState),
    ("ResourceInUse", InvalidState),
    ("ResourceUnavailable.AgentNotInstalled", InvalidState),
    ("ResourceUnavailable.InstanceStateNotRunning", InvalidState),
    ("FailedOperation.ErrOwed", InvalidState),
    ("ResourceUnavailable.InstanceType", QuotaExceeded),
    ("ResourceInsufficient.SpecifiedInstanceType", QuotaExceeded),
    ("ResourcesSoldOut.SpecifiedInstanceType", QuotaExceeded),
    ("LimitExceeded.SpotQuota", QuotaExceeded),
    ("InstancesQuotaLimitExceeded", QuotaExceeded),
    ("OverQuota", QuotaExceeded),
    ("InvalidInstance.NotSupported", Unsupported),
    ("UnsupportedOperation.StoppedModeStopCharging", Unsupported),
    ("UnsupportedOperation", Unsupported),
    ("InvalidAction", Unsupported),
    ("ActionOffline", Unsupported),
    ("NoSuchProduct", Unsupported),
    ("NoSuchVersion", Unsupported),
    ("UnsupportedProtocol", Unsupported),
    ("FailedOperation.ErrNotOpen", Unsupported),
    # Our own mistakes, and what nobody knows yet.
    ("InvalidParameterValue", ProviderError),
    ("UnknownParameter", ProviderError),
    ("MissingParameter", ProviderError),
    ("FailedOperation", ProviderError),
    ("SomethingNew.In2027", ProviderError),
]


@pytest.mark.parametrize(("code", "kind"), ROWS)
def test_each_code_is_one_class(code: str, kind: type[ProviderError]) -> None:
    error = translate(TencentCloudSDKException(code, "text", "R-1"), CALL)
    assert (type(error), error.code, error.request_id) == (kind, code, "R-1")
    assert (error.provider, error.account, error.operation) == ("tencent", "prod", "DescribeInstances")
    assert "ap-beijing" in error.detail


def test_no_row_of_the_table_is_untested() -> None:
    tested = {code for code, _ in ROWS}
    assert set(CODES) <= tested
    assert all(any(code.startswith(prefix) and code not in CODES for code in tested) for prefix, _ in PREFIXES)


def test_a_throttle_names_the_next_second() -> None:
    error = refused(CALL, "RequestLimitExceeded.UinLimitExceeded", "")
    assert isinstance(error, Throttled)
    assert error.after == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("call", "permission"),
    [
        (CALL, "cvm:DescribeInstances"),
        (Call("prod", "billing", "", "DescribeBillDetail"), "finance:DescribeBillDetail"),
        (Call("prod", "vpc", "", "DescribeAddresses"), "cvm:DescribeAddresses"),
        (Call("prod", "cbs", "", "DescribeDisks"), "cvm:DescribeDisks"),
        (Call("prod", "monitor", "", "GetMonitorData"), "monitor:GetMonitorData"),
    ],
)
def test_a_refusal_names_the_permission_as_cam_does(call: Call, permission: str) -> None:
    error = refused(call, "UnauthorizedOperation", "")
    assert isinstance(error, PermissionDenied)
    assert error.missing == permission
    assert permission in str(error)


def test_what_the_sdk_says_is_never_copied() -> None:
    """K04: a denial names accounts, a broken connection holds the request."""
    secret = "Credential=AKIDz8/2026 Signature=abc"
    errors: list[Exception] = [
        TencentCloudSDKException("AuthFailure.SignatureFailure", secret, "r"),
        TencentCloudSDKException("ServerNetworkError", secret.encode()),
        requests.exceptions.ChunkedEncodingError(secret),
        json.JSONDecodeError(secret, secret, 0),
        KeyError(secret),
    ]
    for error in errors:
        told = translate(error, CALL)
        assert secret not in f"{told} {told!r} {vars(told)}"
        assert (told.__cause__, told.__context__) == (None, None)


@pytest.mark.parametrize("error", [requests.exceptions.ConnectionError(), requests.exceptions.ChunkedEncodingError()])
def test_a_connection_that_breaks_leaves_the_outcome_open(error: Exception) -> None:
    """`call` lets them out as they are when the body breaks off."""
    assert type(translate(error, STOP)) is Unavailable


def test_an_unreadable_answer_is_in_doubt_for_changes() -> None:
    """C11: whether the stop was done cannot be told."""
    assert type(translate(json.JSONDecodeError("", "", 0), STOP)) is Unavailable
    assert type(translate(json.JSONDecodeError("", "", 0), CALL)) is BadResponse


def test_our_own_errors_pass() -> None:
    error = CALL.failed(NotFound, "gone")
    assert translate(error, STOP) is error


def test_a_clock_that_is_wrong_and_a_closed_region_are_told() -> None:
    assert "clock" in refused(CALL, "AuthFailure.SignatureExpire", "").detail
    assert "not let into" in refused(CALL, "UnsupportedRegion", "").detail


def test_a_stop_that_is_not_supported_names_the_capability() -> None:
    error = refused(STOP, "InvalidInstance.NotSupported", "")
    assert isinstance(error, Unsupported)
    assert error.capability == "stop"


@pytest.mark.parametrize(
    ("code", "one"),
    [
        ("InvalidParameterValue", True),
        ("InvalidInstanceId.NotFound", True),
        ("ResourceNotFound.InstanceNotFound", True),
        ("RequestLimitExceeded", False),
        ("UnauthorizedOperation", False),
        ("InternalError", False),
    ],
)
def test_which_refusals_may_be_one_items_fault(code: str, one: bool) -> None:
    assert of_one_item(refused(CALL, code, "")) is one
