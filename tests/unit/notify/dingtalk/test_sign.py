"""The signature, against a vector computed with openssl by the published recipe."""

import subprocess
from datetime import UTC, datetime

from costguard.notify.dingtalk.sign import sign

SECRET = "SEC0123456789abcdef"
AT = datetime(2026, 3, 5, 13, 30, 0, 123_000, tzinfo=UTC)


def test_sign_follows_the_published_recipe() -> None:
    """J08."""
    query = sign(SECRET, AT)
    assert query["timestamp"] == "1772717400123"
    shell = f"printf '%s\\n%s' {query['timestamp']} {SECRET} | openssl dgst -sha256 -hmac {SECRET} -binary | base64"
    expected = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout.strip()
    assert query["sign"] == expected
