"""Which texts the redactor gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from costguard.config.secrets import collect
from costguard.net.redact import Redactor


class Inner(BaseModel):
    token: SecretStr
    plain: str = "plain"


class Outer(BaseModel):
    one: Inner
    many: tuple[Inner, ...]
    by_name: dict[str, SecretStr]
    none: Inner | None = None


def test_secrets_are_found_wherever_they_are() -> None:
    outer = Outer(
        one=Inner(token=SecretStr("aaa")),
        many=(Inner(token=SecretStr("bbbb")),),
        by_name={"k": SecretStr("ccccc")},
    )
    assert collect(outer, [{"x": SecretStr("dddddd")}], None) == ("dddddd", "ccccc", "bbbb", "aaa")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("sqlite:///costguard.db", ()),
        ("postgresql+psycopg://cg:p%40ss@db/cg", ("p%40ss", "p@ss")),
        ("https://oapi.dingtalk.com/robot/send?access_token=abc", ("abc", "https://oapi")),
        ("https://hooks.slack.com/services/T0/B0/Xy12Xy12Xy", ("Xy12Xy12Xy", "https://hooks")),
        ("http://127.0.0.1:9/hook", ()),
    ],
)
def test_of_an_address_only_what_gives_access(url: str, found: tuple[str, ...]) -> None:
    got = collect(SecretStr(url))
    assert len(got) == len(found)
    assert all(any(secret.startswith(start) for secret in got) for start in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://ep:EPpass31%21@10.0.0.1:8080", ("EPpass31!", "EPpass31%21")),
        ("https://glpat-9f8e7d6c@proxy.example.com", ("glpat-9f8e7d6c",)),
        ("https://admin@example.com", ()),
        ("https://example.com/a@b", ()),
        ("ops@example.com", ()),
        ("http://[bad@", ()),
        ("a note that says ://@", ()),
    ],
)
def test_a_password_in_an_address_is_secret_whatever_its_field_is(text: str, found: tuple[str, ...]) -> None:
    """An account's endpoint is no secret, and goes into the log; the password in it does not."""
    assert sorted(collect(Inner(token=SecretStr(""), plain=text))) == sorted(found)
    assert sorted(collect({"endpoint": text})) == sorted(found)


@given(st.text(min_size=4, max_size=40).filter(lambda text: "://" not in text and text.strip() == text))
def test_what_is_collected_is_masked(secret: str) -> None:
    redactor = Redactor(collect(SecretStr(secret)))
    assert secret not in redactor.text(f"<{secret}>").replace("***", "")
