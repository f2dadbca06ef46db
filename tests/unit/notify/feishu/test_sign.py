"""The signature, against a vector computed with openssl by the published recipe."""

import subprocess
from datetime import UTC, datetime

from costguard.notify.dingtalk.sign import sign_text
from costguard.notify.feishu.sign import sign

SECRET = "q7Wm2ZtR9xKc"
AT = datetime(2026, 3, 5, 13, 30, 0, 123_000, tzinfo=UTC)


def test_sign_follows_the_published_recipe() -> None:
    """J08: timestamp and secret are the key, the message is empty."""
    fields = sign(SECRET, AT)
    assert fields["timestamp"] == "1772717400"
    key = f"{fields['timestamp']}\n{SECRET}".encode().hex()
    shell = f"printf '' | openssl dgst -sha256 -mac HMAC -macopt hexkey:{key} -binary | base64"
    expected = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout.strip()
    assert fields["sign"] == expected


def test_it_is_not_dingtalks_recipe() -> None:
    fields = sign(SECRET, AT)
    assert fields["sign"] != sign_text(SECRET, fields["timestamp"])
