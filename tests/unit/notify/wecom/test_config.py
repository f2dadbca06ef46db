"""The robot's configuration: the key stays hidden."""

import pytest
from pydantic import ValidationError

from costguard.notify.wecom.config import WecomConfig

URL = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=verysecretkey"


def test_the_key_is_never_shown() -> None:
    config = WecomConfig(name="ops", url=URL)  # type: ignore[arg-type]
    assert "verysecret" not in f"{config!r}{config}{config.model_dump()}"
    assert config.secrets() == (URL, "verysecretkey")


@pytest.mark.parametrize("url", ["https://qyapi.weixin.qq.com/cgi-bin/webhook/send", "qyapi.weixin.qq.com?key=x"])
def test_a_webhook_without_its_key_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="key="):
        WecomConfig(name="ops", url=url)  # type: ignore[arg-type]
