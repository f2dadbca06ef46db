"""The configuration of a Feishu channel."""

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from costguard.notify.settings import ChannelConfig


class FeishuConfig(ChannelConfig):
    """A custom bot of a Feishu or Lark group.

    ``url`` is its webhook, whose last part is the token; ``secret`` when signing (签名校验) is on; ``keyword`` when the
    bot demands one in each message: it is put in front where it is missing.
    """

    kind: Literal["feishu"] = "feishu"
    url: SecretStr
    secret: SecretStr | None = None
    keyword: str | None = Field(None, min_length=1, max_length=30)

    @field_validator("url")
    @classmethod
    def _hook(cls, value: SecretStr) -> SecretStr:
        url = value.get_secret_value()
        if not url.startswith(("https://", "http://")) or not url.partition("/bot/v2/hook/")[2]:
            raise ValueError("not a bot's webhook; it ends in /open-apis/bot/v2/hook/…")
        return value

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the URL, its token, the signing secret."""
        url = self.url.get_secret_value()
        token = url.partition("/bot/v2/hook/")[2]
        return (url, token, *([self.secret.get_secret_value()] if self.secret else []))
