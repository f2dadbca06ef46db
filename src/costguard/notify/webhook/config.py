"""The configuration of a generic webhook."""

from typing import Literal

from pydantic import SecretStr, field_validator

from costguard.notify.settings import ChannelConfig
from costguard.notify.webhook.sign import PREFIX, keys


class WebhookConfig(ChannelConfig):
    """Where notices are posted as JSON. ``url`` may hold a token, so it is kept as a secret; ``secret`` signs."""

    kind: Literal["webhook"] = "webhook"
    url: SecretStr
    secret: SecretStr | None = None

    @field_validator("url")
    @classmethod
    def _http(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("https://", "http://")):
            raise ValueError("not a URL; it starts with https:// (or http://)")
        return value

    @field_validator("secret")
    @classmethod
    def _keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            keys(value.get_secret_value())
        return value

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the URL, its path and query, the signing secrets."""
        url = self.url.get_secret_value()
        path = url.split("/", 3)[3:]
        parts = self.secret.get_secret_value().split() if self.secret else []
        return (url, *(part for part in path if part), *parts, *(part.removeprefix(PREFIX) for part in parts))
