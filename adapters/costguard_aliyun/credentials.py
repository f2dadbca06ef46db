"""What a user writes under `credentials:` of an Alibaba Cloud account. Knows no SDK."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class AliyunCredentials(BaseModel):
    """A key, or the RAM role of this ECS instance, or a profile of the aliyun CLI, or none of them, and a role on top.

    Without any the chain is: environment (`ALIBABA_CLOUD_ACCESS_KEY_ID` and companions), the CLI's current profile, the
    role of the ECS instance. `role_arn` is assumed with those and refreshed before it ends. `site` is where the account
    was opened: it decides whom the bill is asked from, and its currency.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    access_key_id: str | None = None
    access_key_secret: SecretStr | None = None
    security_token: SecretStr | None = None
    profile: str | None = None
    ecs_role: str | None = None
    role_arn: str | None = Field(default=None, pattern=r"^acs:ram::\d+:role/.+$")
    external_id: str | None = Field(default=None, min_length=2)
    site: Literal["china", "international"] = "china"

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if (self.access_key_id is None) != (self.access_key_secret is None):
            raise ValueError("access_key_id and access_key_secret belong together")
        if self.security_token is not None and self.access_key_id is None:
            raise ValueError("security_token needs access_key_id and access_key_secret")
        if sum(base is not None for base in (self.access_key_id, self.profile, self.ecs_role)) > 1:
            raise ValueError("write one of access_key_id, profile and ecs_role")
        if self.external_id is not None and self.role_arn is None:
            raise ValueError("external_id needs role_arn")
        return self
