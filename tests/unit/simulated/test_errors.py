"""The table of codes, row by row."""

import pytest

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
from costguard_simulated.errors import CODES, error

ROWS: list[tuple[str, type[ProviderError]]] = [
    ("InvalidAccessKeyId", AuthFailed),
    ("ExpiredToken", AuthFailed),
    ("Forbidden", PermissionDenied),
    ("InvalidInstanceId.NotFound", NotFound),
    ("IncorrectInstanceStatus", InvalidState),
    ("OperationDenied.Protected", InvalidState),
    ("InvalidParameter", InvalidState),
    ("QuotaExceeded", QuotaExceeded),
    ("OperationDenied.NoStock", QuotaExceeded),
    ("UnsupportedOperation", Unsupported),
    ("Throttling", Throttled),
    ("InternalError", Unavailable),
    ("ConnectionReset", Unavailable),
    ("RequestTimeout", TimedOut),
    ("MalformedResponse", BadResponse),
]


@pytest.mark.parametrize(("code", "kind"), ROWS)
def test_a_code_is_its_class(code: str, kind: type[ProviderError]) -> None:
    found = error(code, "why", account="a", operation="stop", missing="sim:StopInstance")
    assert type(found) is kind
    assert (found.provider, found.account, found.operation, found.code) == ("simulated", "a", "stop", code)


def test_the_table_is_tested_whole() -> None:
    assert [code for code, _ in ROWS] == list(CODES)


def test_a_denial_names_the_permission() -> None:
    found = error("Forbidden", "why", account="a", operation="stop", missing="sim:StopInstance")
    assert isinstance(found, PermissionDenied)
    assert found.missing == "sim:StopInstance"
