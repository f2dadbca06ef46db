"""The robot's signature (加签).

``base64(HMAC-SHA256(key=secret, msg="{timestamp}\\n{secret}"))`` with the timestamp in milliseconds; both go
into the query, URL-encoded once (by the HTTP client). Valid for an hour around the platform's clock, so it is
made at each send.
Source: open.dingtalk.com, 自定义机器人安全设置.
"""

import base64
import hashlib
import hmac
from datetime import datetime


def sign(secret: str, at: datetime) -> dict[str, str]:
    """The query parameters ``timestamp`` and ``sign`` for the instant ``at``."""
    timestamp = str(int(at.timestamp() * 1000))
    return {"timestamp": timestamp, "sign": sign_text(secret, timestamp)}


def sign_text(secret: str, timestamp: str) -> str:
    """The signature for a timestamp in milliseconds, not URL-encoded."""
    digest = hmac.new(secret.encode(), f"{timestamp}\n{secret}".encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
