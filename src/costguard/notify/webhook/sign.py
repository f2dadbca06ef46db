"""The signature of Standard Webhooks, symmetric version 1.

``v1,`` + base64(HMAC-SHA256(key, "{id}.{timestamp}.{body}")); the key is what stands after ``whsec_``, in base64, 24 to
64 bytes. While a secret is rotated, both are configured with a space between them and the header lists both signatures.
Source: github.com/standard-webhooks/standard-webhooks, spec.
"""

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"


def keys(secret: str) -> tuple[bytes, ...]:
    """The keys of a configured secret. Raises ValueError, without the secret in it."""
    found = []
    for part in secret.split():
        try:
            key = base64.b64decode(part.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            raise ValueError("the secret must be whsec_ and base64") from None
        if not 24 <= len(key) <= 64:
            raise ValueError("the secret must be whsec_ and the base64 of 24 to 64 bytes")
        found.append(key)
    if not found:
        raise ValueError("the secret is empty")
    return tuple(found)


def sign(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """The header ``webhook-signature``."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys(secret))
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)
