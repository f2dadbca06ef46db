"""The webhook's configuration: address and secrets stay hidden."""

import pytest
from pydantic import ValidationError

from costguard.notify.webhook.config import WebhookConfig

URL = "https://example.com/hooks/verysecretpath"
KEY = "dmVyeXNlY3JldHZlcnlzZWNyZXR2ZXJ5c2VjcmV0"


def test_address_and_secret_are_never_shown() -> None:
    config = WebhookConfig(name="ops", url=URL, secret=f"whsec_{KEY}")  # type: ignore[arg-type]
    assert "verysecret" not in f"{config!r}{config}{config.model_dump()}"
    assert KEY not in f"{config!r}{config}{config.model_dump()}"
    assert config.secrets() == (URL, "hooks/verysecretpath", f"whsec_{KEY}", KEY)


@pytest.mark.parametrize("fields", [{"url": "example.com/x"}, {"url": URL, "secret": "whsec_verysecret"}])
def test_what_cannot_work_is_refused_and_not_shown(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        WebhookConfig(name="ops", **fields)  # type: ignore[arg-type]
    assert "verysecret" not in str(caught.value)
