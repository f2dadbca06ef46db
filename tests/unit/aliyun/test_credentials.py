"""What may stand together under `credentials:`."""

from typing import Any

import pytest
from pydantic import ValidationError

from costguard_aliyun.credentials import AliyunCredentials

ROLE = "acs:ram::1234567890123456:role/costguard"


@pytest.mark.parametrize(
    "fields",
    [
        {"access_key_id": "k"},
        {"access_key_secret": "s"},
        {"security_token": "t"},
        {"access_key_id": "k", "access_key_secret": "s", "profile": "p"},
        {"profile": "p", "ecs_role": "r"},
        {"external_id": "xx"},
        {"role_arn": "arn:aws:iam::1:role/x"},
        {"site": "moon"},
        {"secret_key": "s"},
    ],
)
def test_what_does_not_belong_together_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AliyunCredentials(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"access_key_id": "k", "access_key_secret": "s", "security_token": "t"},
        {"profile": "p", "role_arn": ROLE},
        {"ecs_role": "r"},
        {"role_arn": ROLE, "external_id": "xx", "site": "international"},
    ],
)
def test_what_does_is_taken(fields: dict[str, Any]) -> None:
    assert AliyunCredentials(**fields).model_fields_set == set(fields)


def test_secrets_do_not_show() -> None:
    """K04."""
    shown = repr(AliyunCredentials.model_validate({"access_key_id": "k", "access_key_secret": "hidden-1"}))
    assert "hidden-1" not in shown
