"""What a user writes under `credentials:` of a Tencent Cloud account. Knows no SDK."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class TencentCredentials(BaseModel):
    """A key, or the CAM role of this CVM, or a profile of tccli, or none of them, and a role on top.

    Without any the chain is: environment (`TENCENTCLOUD_SECRET_ID` and companions), tccli's default profile, the SDK's
    own file, the role of the CVM. `role_arn` is assumed with those and refreshed before it ends. `site` is where the
    account was opened: it decides the endpoints and the currency.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    secret_id: str | None = None
    secret_key: SecretStr | None = None
    token: SecretStr | None = None
    profile: str | None = None
    role: str | None = None
    role_arn: str | None = Field(default=None, pattern=r"^qcs::cam::uin/\d+:(role|roleName)/.+$")
    external_id: str | None = Field(default=None, min_length=2, max_length=128)
    site: Literal["china", "international"] = "china"

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if (self.secret_id is None) != (self.secret_key is None):
            raise ValueError("secret_id and secret_key belong together")
        if self.token is not None and self.secret_id is None:
            raise ValueError("token needs secret_id and secret_key")
        if sum(base is not None for base in (self.secret_id, self.profile, self.role)) > 1:
            raise ValueError("write one of secret_id, profile and role")
        if self.external_id is not None and self.role_arn is None:
            raise ValueError("external_id needs role_arn")
        return self
