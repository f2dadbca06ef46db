"""What may be written under `credentials:`."""

from typing import Any

import pytest
from pydantic import ValidationError

from costguard_aws.credentials import AwsCredentials


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"profile": "dev"},
        {"access_key_id": "AK", "secret_access_key": "s"},
        {"access_key_id": "AK", "secret_access_key": "s", "session_token": "t"},
        {"role_arn": "arn:aws:iam::123456789012:role/costguard", "external_id": "ab"},
        {"role_arn": "arn:aws-cn:iam::123456789012:role/path/costguard", "region": "cn-north-1"},
    ],
)
def test_what_belongs_together_is_taken(given: dict[str, Any]) -> None:
    assert AwsCredentials.model_validate(given).model_fields_set == given.keys()


@pytest.mark.parametrize(
    "given",
    [
        {"access_key_id": "AK"},
        {"secret_access_key": "s"},
        {"session_token": "t"},
        {"profile": "dev", "access_key_id": "AK", "secret_access_key": "s"},
        {"external_id": "ab"},
        {"role_arn": "arn:aws:iam::123456789012:role/x", "external_id": "a"},
        {"role_arn": "costguard"},
        {"access_key": "AK"},
    ],
)
def test_halves_and_guesses_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AwsCredentials.model_validate(given)


def test_secrets_do_not_print() -> None:
    """K04."""
    given = AwsCredentials.model_validate({"access_key_id": "AK", "secret_access_key": "s3", "session_token": "t0k"})
    assert "s3" not in repr(given)
    assert "t0k" not in repr(given)
