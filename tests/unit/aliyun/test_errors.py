"""The table of codes, row by row."""

from datetime import timedelta

import pytest
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
from costguard_aliyun.errors import Call, refused, translate
from tests.unit.aliyun.helpers import CALL, STOP

MINUTE = timedelta(seconds=23)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("Throttling", 400, Throttled),
        ("Throttling.User", 400, Throttled),
        ("Throttling.Api", 429, Throttled),
        ("ServiceUnavailable", 503, Unavailable),
        ("ServiceUnavailable.RegionMaintaining", 503, Unavailable),
        ("InternalError", 500, Unavailable),
        ("SignatureDoesNotMatch", 400, AuthFailed),
        ("InvalidAccessKeySecret", 400, AuthFailed),
        ("IncompleteSignature", 400, AuthFailed),
        ("SignatureNonceUsed", 400, AuthFailed),
        ("InvalidTimeStamp.Format", 400, AuthFailed),
        ("InvalidTimeStamp.Expired", 400, AuthFailed),
        ("InvalidAccessKeyId.NotFound", 404, AuthFailed),
        ("InvalidAccessKeyId.Inactive", 400, AuthFailed),
        ("Forbidden.AccessKeyDisabled", 403, AuthFailed),
        ("InvalidSecurityToken.Expired", 400, AuthFailed),
        ("Forbidden.RAM", 403, PermissionDenied),
        ("Forbidden.SubUser", 403, PermissionDenied),
        ("NoPermission", 403, PermissionDenied),
        ("NotAuthorized", 400, PermissionDenied),
        ("RegionUnauthorized", 400, PermissionDenied),
        ("IncorrectInstanceStatus", 403, InvalidState),
        ("IncorrectInstanceStatus.Initializing", 403, InvalidState),
        ("InvalidInstanceId.NotFound", 404, NotFound),
        ("InvalidRegionId.NotFound", 404, NotFound),
        ("NoSuchResource", 404, NotFound),
        ("InvalidInstance.NotFound", 404, NotFound),
        ("InvalidResourceId.NotFound", 404, NotFound),
        ("ChargeTypeViolation", 403, InvalidState),
        ("InvalidOperation.DeletionProtection", 403, InvalidState),
        ("InstanceLockedForSecurity", 403, InvalidState),
        ("InstanceExpiredOrInArrears", 403, InvalidState),
        ("OperationConflict", 409, InvalidState),
        ("InvalidInstanceId.NotSupport", 403, Unsupported),
        ("InstanceType.ParameterMismatch", 403, Unsupported),
        ("QuotaExceed.ElasticQuota", 403, QuotaExceeded),
        ("OperationDenied.NoStock", 403, QuotaExceeded),
        ("NumberExceed.Tags", 400, QuotaExceeded),
        ("DryRunOperation", 400, ProviderError),
        ("MissingParameter", 400, ProviderError),
        # A bad enum is our mistake and must never read as "the instance is gone".
        ("InvalidStatus.NotFound", 404, ProviderError),
        ("InvalidInstanceChargeType.NotFound", 404, ProviderError),
        # CloudMonitor and BSS say their codes as numbers, inside HTTP 200.
        ("403", 0, PermissionDenied),
        ("429", 0, Throttled),
        ("500", 0, Unavailable),
        ("400", 0, ProviderError),
        # Pages of proxies.
        ("SDK.UnknownServerError", 502, Unavailable),
        ("SDK.UnknownServerError", 302, BadResponse),
        ("SDK.UnknownServerError", 404, ProviderError),
        ("SDK.UnknownServerError", 408, TimedOut),
    ],
)
def test_each_code_is_one_class(code: str, status: int, kind: type[ProviderError]) -> None:
    error = translate(ServerException(code, "text", status, "R-1"), CALL, MINUTE)
    assert (type(error), error.code, error.request_id) == (kind, code, "R-1")
    assert (error.provider, error.account, error.operation) == ("aliyun", "prod", "DescribeInstances")
    assert "cn-beijing" in error.detail


def test_a_throttle_names_the_next_minute() -> None:
    error = refused(CALL, "Throttling.User", 400, "", MINUTE)
    assert isinstance(error, Throttled)
    assert error.after == MINUTE


def test_an_unknown_403_is_a_right_for_reads_and_a_state_for_changes() -> None:
    assert type(refused(CALL, "Some.New", 403, "", MINUTE)) is PermissionDenied
    assert type(refused(STOP, "Some.New", 403, "", MINUTE)) is InvalidState


@pytest.mark.parametrize(
    ("call", "permission"),
    [
        (CALL, "ecs:DescribeInstances"),
        (Call("prod", "cms", "", "DescribeMetricList"), "cms:QueryMetricList"),
        (Call("prod", "bss", "", "QueryAccountBalance"), "bssapi:QueryAccountBalance"),
        (Call("prod", "vpc", "", "DescribeEipAddresses"), "vpc:DescribeEipAddresses"),
    ],
)
def test_a_refusal_names_the_permission_as_ram_does(call: Call, permission: str) -> None:
    error = refused(call, "Forbidden.RAM", 403, "", MINUTE)
    assert isinstance(error, PermissionDenied)
    assert error.missing == permission
    assert permission in str(error)


def test_what_the_sdk_says_is_never_copied() -> None:
    """K04: a refused signature carries the string to sign, a broken connection the signed URL."""
    secret = "AccessKeyId=LTAI5t&Signature=abc%3D"
    for error in (
        ServerException("SignatureDoesNotMatch", secret, 400),
        ClientException("SDK.HttpError", secret),
        OSError(secret),
        ValueError(secret),
    ):
        told = translate(error, CALL, MINUTE)
        assert secret not in f"{told} {told!r} {vars(told)}"
        assert (told.__cause__, told.__context__) == (None, None)


def test_a_broken_connection_leaves_the_outcome_open() -> None:
    for error in (ClientException("SDK.HttpError", ""), ConnectionResetError()):
        assert type(translate(error, STOP, MINUTE)) is Unavailable


def test_an_unreadable_answer_is_in_doubt_for_changes() -> None:
    """C11: whether the stop was done cannot be told."""
    assert type(translate(UnicodeDecodeError("utf-8", b"", 0, 1, ""), STOP, MINUTE)) is Unavailable
    assert type(translate(UnicodeDecodeError("utf-8", b"", 0, 1, ""), CALL, MINUTE)) is BadResponse


def test_a_refused_signature_that_the_sdk_stumbles_over_is_one() -> None:
    assert type(translate(IndexError(), CALL, MINUTE)) is AuthFailed


def test_our_own_errors_pass() -> None:
    error = CALL.failed(NotFound, "gone")
    assert translate(error, STOP, MINUTE) is error


def test_a_clock_that_is_wrong_is_told() -> None:
    assert "clock" in refused(CALL, "InvalidTimeStamp.Expired", 400, "", MINUTE).detail
