"""The configuration of e-mail: addresses of servers, ports, logins, senders; the password stays hidden."""

import pytest
from pydantic import ValidationError

from costguard.notify.email.config import EmailConfig, Relay, is_address, relay

URL = "smtps://guard%40example.com:very%2Fsecret@smtp.example.com"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtps://u:p@h", Relay("h", 465, True, "u", "p")),
        ("smtp://u:p@h", Relay("h", 587, False, "u", "p")),
        ("smtp://u:p@h:2525/", Relay("h", 2525, False, "u", "p")),
        ("smtps://a%40b.cc:p%40%2F@h:465", Relay("h", 465, True, "a@b.cc", "p@/")),
        ("smtps://a@b.cc:p@h", Relay("h", 465, True, "a@b.cc", "p")),
        ("smtp://h:25", Relay("h", 25, False)),
    ],
)
def test_where_the_server_is(url: str, expected: Relay) -> None:
    assert relay(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com", "http://u:verysecret@h", "smtps://", "smtps://u:very/secret@h", "smtps://u:very?secret@h",
        "smtps://u:very#secret@h", "smtps://u@h", "smtps://:verysecret@h", "smtps://u:verysecret@h:x",
        "smtps://u:verysecret%0d%0aQUIT@h", "smtps://u:verysecret密码@h",
    ],
)  # fmt: skip
def test_what_is_no_server_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ValueError) as caught:
        relay(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("ops@example.com", True), ("a.b+c@x-y.example", True), ("ops", False), ("@example.com", False),
        ("a b@example.com", False), ("a@b>", False), ("a@b\r\nRCPT", False), ("张@example.com", False),
        ("a@b,c@d", False),
    ],
)  # fmt: skip
def test_addresses(text: str, good: bool) -> None:
    assert is_address(text) is good


def config(**fields: object) -> EmailConfig:
    return EmailConfig(**{"name": "mail", "smtp": URL, "to": ("ops@example.com",), **fields})  # type: ignore[arg-type]


def test_the_password_is_never_shown() -> None:
    found = config()
    assert "secret" not in f"{found!r}{found}{found.model_dump()}"
    assert set(found.secrets()) == {URL, "very/secret", "very%2Fsecret"}


def test_who_writes() -> None:
    assert config().sender_address == "guard@example.com"
    assert config(sender="值守 <x@example.org>").sender_address == "x@example.org"


@pytest.mark.parametrize(
    "fields",
    [
        {"to": ()}, {"to": ("ops",)}, {"sender": "nobody"}, {"sender": "a@b.cc\r\nBcc: x@y.zz"},
        {"smtp": "smtps://user:verysecret@h"}, {"smtp": "smtps://verysecret"},
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_and_not_shown(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        config(**fields)
    assert "secret" not in str(caught.value)
