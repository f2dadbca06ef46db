"""The configuration of a Slack channel."""

from typing import Literal

from pydantic import SecretStr, field_validator

from costguard.notify.settings import ChannelConfig


class SlackConfig(ChannelConfig):
    """An incoming webhook. Its ``url`` is the secret: whoever has it can post."""

    kind: Literal["slack"] = "slack"
    url: SecretStr

    @field_validator("url")
    @classmethod
    def _http(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("https://", "http://")):
            raise ValueError("not a URL; write the whole webhook address, https://hooks.slack.com/services/…")
        return value

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the URL, and its path, which is what matters in it."""
        url = self.url.get_secret_value()
        return url, url.split("/", 3)[-1], url.rsplit("/", 1)[-1]
