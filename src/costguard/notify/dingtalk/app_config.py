"""The configuration of a DingTalk channel in Stream mode."""

from typing import Literal

from pydantic import Field, SecretStr

from costguard.notify.dingtalk.template import STANDARD
from costguard.notify.settings import ChannelConfig


class DingTalkAppConfig(ChannelConfig):
    """An internal application with a robot.

    ``conversation`` is the group's openConversationId (cid…); ``robot_code`` the robot's, the client id when left out;
    ``card_template`` the id of a published card template, None for no cards; ``endpoint`` where the API is.
    """

    kind: Literal["dingtalk_app"] = "dingtalk_app"
    client_id: SecretStr
    client_secret: SecretStr
    conversation: str | None = Field(None, min_length=1, max_length=200)
    robot_code: str | None = Field(None, min_length=1, max_length=200)
    card_template: str | None = STANDARD
    endpoint: str | None = None

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the client secret. The client id is also the robot's code, and is no secret."""
        return (self.client_secret.get_secret_value(),)
