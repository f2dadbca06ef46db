"""The configuration of a Slack bot."""

from typing import Literal

from pydantic import SecretStr

from costguard.notify.settings import ChannelConfig


class SlackBotConfig(ChannelConfig):
    """A bot in one conversation. ``app_token``: presses and commands come in by Socket Mode; ``signing_secret``: they
    come in over HTTP. ``endpoint`` None: Slack's own."""

    kind: Literal["slack_bot"] = "slack_bot"
    token: SecretStr
    channel: str
    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    endpoint: str | None = None

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: every token."""
        found = (self.token, self.app_token, self.signing_secret)
        return tuple(secret.get_secret_value() for secret in found if secret is not None)
