"""The configuration of a WeCom channel."""

from typing import Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr, field_validator

from costguard.notify.settings import ChannelConfig


class WecomConfig(ChannelConfig):
    """A group robot. Nothing is signed: the key in ``url`` is the secret, whoever has it can post."""

    kind: Literal["wecom"] = "wecom"
    url: SecretStr

    @field_validator("url")
    @classmethod
    def _key(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if not url.startswith(("https://", "http://")) or not parse_qs(urlsplit(url).query).get("key"):
            raise ValueError("not a robot's webhook; it ends in /cgi-bin/webhook/send?key=…")
        return value

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the URL and its key."""
        url = self.url.get_secret_value()
        return url, parse_qs(urlsplit(url).query)["key"][0]
