"""The custom bot's signature (签名校验).

``base64(HMAC-SHA256(key="{timestamp}\\n{secret}", msg=""))`` with the timestamp in seconds; both go into the body.
DingTalk's recipe looks alike and is another: there the secret is the key and the text the message. Valid for an hour
around the platform's clock, so it is made at each send.
Source: open.feishu.cn, 自定义机器人使用指南, 签名校验.
"""

import base64
import hashlib
import hmac
from datetime import datetime


def sign(secret: str, at: datetime) -> dict[str, str]:
    """The body's fields ``timestamp`` and ``sign`` for the instant ``at``."""
    timestamp = str(int(at.timestamp()))
    digest = hmac.new(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return {"timestamp": timestamp, "sign": base64.b64encode(digest).decode()}
