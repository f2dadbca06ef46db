"""What may be written under `credentials:`."""

from typing import Any

import pytest
from pydantic import ValidationError

from costguard_tencent.credentials import TencentCredentials

ROLE = "qcs::cam::uin/100000000001:roleName/costguard"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"secret_id": "a", "secret_key": "b"},
        {"secret_id": "a", "secret_key": "b", "token": "t", "role_arn": ROLE, "external_id": "us"},
        {"profile": "work"},
        {"role": "costguard"},
        {"role_arn": "qcs::cam::uin/1:role/4611686018427397919", "site": "international"},
    ],
)
def test_what_belongs_together(fields: dict[str, Any]) -> None:
    assert TencentCredentials(**fields)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"secret_id": "a"}, "belong together"),
        ({"secret_key": "a"}, "belong together"),
        ({"token": "a"}, "needs secret_id"),
        ({"profile": "a", "role": "b"}, "one of"),
        ({"secret_id": "a", "secret_key": "b", "role": "c"}, "one of"),
        ({"external_id": "abc"}, "needs role_arn"),
        ({"role_arn": "acs:ram::1:role/x"}, "pattern"),
        ({"site": "mars"}, "china"),
        ({"region": "ap-beijing"}, "Extra inputs"),
    ],
)
def test_what_does_not(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        TencentCredentials(**fields)


def test_secrets_do_not_show() -> None:
    """K04."""
    shown = repr(TencentCredentials(secret_id="a", secret_key="hidden-1", token="hidden-2"))
    assert "hidden" not in shown
