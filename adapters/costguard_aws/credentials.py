"""What a user writes under `credentials:` and `options:` of an AWS account. Knows no SDK."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StrictBool, model_validator


class AwsCredentials(BaseModel):
    """Keys, or a profile, or neither (then boto's own chain: environment, CLI files, instance role), and a role on top.

    `role_arn` is assumed with those and refreshed before it ends; `external_id` goes along (AWS wants 2 characters or
    more). `region` is asked first and names the partition: write `cn-north-1` for AWS China.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    access_key_id: str | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    profile: str | None = None
    role_arn: str | None = Field(default=None, pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$")
    external_id: str | None = Field(default=None, min_length=2)
    region: str | None = None

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("access_key_id and secret_access_key belong together")
        if self.session_token is not None and self.access_key_id is None:
            raise ValueError("session_token needs access_key_id and secret_access_key")
        if self.profile is not None and self.access_key_id is not None:
            raise ValueError("write either profile or access_key_id, not both")
        if self.external_id is not None and self.role_arn is None:
            raise ValueError("external_id needs role_arn")
        return self


class AwsOptions(BaseModel):
    """`hibernate`: a stop hibernates the boxes that were launched with hibernation; without it every stop is plain."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hibernate: StrictBool = False
