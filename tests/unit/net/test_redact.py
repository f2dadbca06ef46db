"""Redaction: every form of a secret, the longest first, in messages, arguments, exceptions and events."""

import base64
import io
import json
import logging
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.net.redact import MASK, RedactingFilter, Redactor

SECRET = 'SEC+a/b c=9"é'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.urlsafe_b64encode(f"u:{SECRET}:x".encode()).decode(),
    ],
)
def test_every_form_is_masked(form: str) -> None:
    masked = Redactor([SECRET]).text(f"before {form} after")
    assert form not in masked
    assert MASK in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")


def test_the_longest_secret_goes_first() -> None:
    assert Redactor(["token-1", "token-1-and-more"]).text("x token-1-and-more y token-1") == "x *** y ***"


def test_a_short_secret_is_masked_as_a_word_only() -> None:
    assert Redactor(["ab"]).text("ab cab ab.") == "*** cab ***."


def test_nothing_registered_changes_nothing() -> None:
    assert Redactor([""]).text("as it is") == "as it is"


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=4, max_size=60),
    st.text(max_size=20), st.text(max_size=20),
)  # fmt: skip
def test_a_secret_never_survives(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor([secret]).text(before + secret + after)


def test_values_inside_events_are_masked() -> None:
    redactor = Redactor(["hunter2hunter2"])
    event = {
        "event": "x hunter2hunter2",
        "deep": {"list": ["hunter2hunter2", 3]},
        "error": ValueError("hunter2hunter2"),
    }
    assert redactor(None, "info", event) == {"event": "x ***", "deep": {"list": ["***", 3]}, "error": "***"}


def test_a_log_record_is_masked_with_its_arguments_and_its_traceback() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter(Redactor(["hunter2hunter2"])))
    logger = logging.getLogger("costguard.test.redact")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        raise RuntimeError("refused hunter2hunter2")
    except RuntimeError:
        logger.exception("calling %s with %d", "https://h/?key=hunter2hunter2", 1, stack_info=True)
    finally:
        logger.removeHandler(handler)
    assert "hunter2hunter2" not in stream.getvalue()
    assert "calling https://h/?key=*** with 1" in stream.getvalue()
    assert "RuntimeError: refused ***" in stream.getvalue()


def test_repr_shows_no_secret() -> None:
    assert "hunter2" not in repr(Redactor(["hunter2hunter2"]))
