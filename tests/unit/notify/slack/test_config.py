"""The Slack channel's configuration: the URL is a secret."""

import pytest
from pydantic import ValidationError

from costguard.notify.slack.config import SlackConfig

URL = "https://hooks.slack.com/services/T0/B0/verysecret"


def test_the_url_is_never_shown() -> None:
    config = SlackConfig(name="hook", url=URL)  # type: ignore[arg-type]
    assert "verysecret" not in f"{config!r}{config}{config.model_dump()}"
    assert config.secrets() == (URL, "services/T0/B0/verysecret", "verysecret")


def test_something_else_than_a_url_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"hooks\.slack\.com"):
        SlackConfig(name="hook", url="#ops")  # type: ignore[arg-type]
