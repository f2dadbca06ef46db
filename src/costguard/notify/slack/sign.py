"""Slack's signature of what it sends over HTTP (docs.slack.dev/authentication/verifying-requests-from-slack)."""

import hashlib
import hmac
from datetime import datetime, timedelta

TOLERANCE = timedelta(minutes=5)


def genuine(secret: str, timestamp: str, signature: str, body: bytes, now: datetime) -> bool:
    """Whether ``body`` was signed with ``secret`` within five minutes of ``now``; never raises for what was sent."""
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        return False
    if abs(now.timestamp() - int(timestamp)) > TOLERANCE.total_seconds():
        return False
    expected = "v0=" + hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())
