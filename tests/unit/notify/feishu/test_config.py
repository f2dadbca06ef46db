"""The bot's configuration: token and secret stay hidden."""

import pytest
from pydantic import ValidationError

from costguard.notify.feishu.config import FeishuConfig

URL = "https://open.feishu.cn/open-apis/bot/v2/hook/verysecrettoken"


def test_token_and_secret_are_never_shown() -> None:
    config = FeishuConfig(name="ops", url=URL, secret="alsoverysecret")  # type: ignore[arg-type]
    assert "verysecret" not in f"{config!r}{config}{config.model_dump()}"
    assert config.secrets() == (URL, "verysecrettoken", "alsoverysecret")


@pytest.mark.parametrize("url", ["https://open.feishu.cn/open-apis/bot/v2/hook/", "open.larksuite.com/x", "ftp://x"])
def test_a_webhook_without_its_token_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="bot/v2/hook"):
        FeishuConfig(name="ops", url=url)  # type: ignore[arg-type]


def test_larks_address_is_taken() -> None:
    FeishuConfig(name="ops", url="https://open.larksuite.com/open-apis/bot/v2/hook/x")  # type: ignore[arg-type]
