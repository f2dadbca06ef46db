"""The configuration of a DingTalk channel."""

from typing import Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, SecretStr, field_validator

from costguard.notify.settings import ChannelConfig


class DingTalkConfig(ChannelConfig):
    """A custom robot of a group.

    ``url`` is its webhook with the access token; ``secret`` (SEC…) when signing (加签) is on; ``keyword`` when
    the robot demands one in each message: it is put in front where it is missing.
    """

    kind: Literal["dingtalk"] = "dingtalk"
    mode: Literal["robot"] = "robot"
    url: SecretStr
    secret: SecretStr | None = None
    keyword: str | None = Field(None, min_length=1, max_length=30)

    @field_validator("url")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if not url.startswith(("https://", "http://")) or not parse_qs(urlsplit(url).query).get("access_token"):
            raise ValueError("not a robot's webhook; it ends in /robot/send?access_token=…")
        return value

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the URL, its token, the signing secret."""
        url = self.url.get_secret_value()
        token = parse_qs(urlsplit(url).query)["access_token"][0]
        return (url, token, *([self.secret.get_secret_value()] if self.secret else []))
