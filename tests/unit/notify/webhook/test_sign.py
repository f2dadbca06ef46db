"""The signature, against a vector computed with openssl by the published recipe."""

import base64
import subprocess

import pytest

from costguard.notify.webhook.sign import keys, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"another secret of 24 byte").decode()


def openssl(secret: str, text: str) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_")).hex()
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key}", "-binary"]
    digest = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout
    return f"v1,{base64.b64encode(digest).decode()}"


def test_sign_follows_the_published_recipe() -> None:
    """J08."""
    assert sign(SECRET, "msg_1", "1772717400", b'{"a":1}') == openssl(SECRET, 'msg_1.1772717400.{"a":1}')


def test_both_secrets_sign_while_one_is_rotated() -> None:
    signed = sign(f"{SECRET} {OTHER}", "msg_1", "1772717400", b"{}")
    assert signed.split(" ") == [openssl(SECRET, "msg_1.1772717400.{}"), openssl(OTHER, "msg_1.1772717400.{}")]


@pytest.mark.parametrize("secret", ["whsec_verysecret!", "whsec_" + "YQ==", " ", "whsec_" + "QUFB" * 40])
def test_what_is_no_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ValueError, match="secret") as caught:
        keys(secret)
    assert "verysecret" not in str(caught.value)
