"""The robot's configuration: token and secret stay hidden."""

import pytest
from pydantic import ValidationError

from costguard.notify.dingtalk.config import DingTalkConfig

URL = "https://oapi.dingtalk.com/robot/send?access_token=verysecrettoken"


def test_token_and_secret_are_never_shown() -> None:
    config = DingTalkConfig(name="ops", url=URL, secret="SECverysecret")  # type: ignore[arg-type]
    assert "verysecret" not in f"{config!r}{config}{config.model_dump()}"
    assert config.secrets() == (URL, "verysecrettoken", "SECverysecret")


def test_a_webhook_without_its_token_is_refused() -> None:
    with pytest.raises(ValidationError, match="access_token"):
        DingTalkConfig(name="ops", url="https://oapi.dingtalk.com/robot/send")  # type: ignore[arg-type]
