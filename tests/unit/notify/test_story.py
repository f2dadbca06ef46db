"""Cleaning and cutting of text from outside: CJK, emoji, control and direction characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.notify.story import Span, clean, cut, cut_bytes, joined, text

FAMILY = "👩‍👩‍👧‍👦"


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("a\nb\r\n\tc", "a b c"),
        ("\u202egnp.exe", "gnp.exe"),
        ("x\x00y\x1b[31m", "x y [31m"),
        ("  训练机  03 ", "训练机 03"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        (FAMILY, FAMILY),
        (None, "None"),
    ],
)
def test_clean(dirty: object, expected: str) -> None:
    assert clean(dirty) == expected


def test_cut_marks_what_is_missing() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert cut("机器机器", 3) == "机器…"


def test_a_composed_character_is_not_taken_apart() -> None:
    """J12: a cut inside a family of four, an accent or a skin tone would show something else."""
    assert cut(f"a{FAMILY}b", 4) == "a…"
    assert cut("cafe\u0301s!", 5) == "caf…"
    assert cut("a👍🏽bc", 3) == "a…"


@given(st.text(), st.integers(3, 60))
def test_cutting_keeps_to_the_limit(value: str, limit: int) -> None:
    assert len(cut(value, limit)) <= limit
    assert len(cut_bytes(value, limit).encode()) <= limit


@given(st.text(st.sampled_from("机a😀é\u0301\u200d"), max_size=40), st.integers(3, 60))
def test_cut_bytes_never_splits_a_character(value: str, limit: int) -> None:
    short = cut_bytes(value, limit)
    assert "\ufffd" not in short
    assert value.startswith(short.removesuffix("…").rstrip())


def test_joining_leaves_empty_parts_out() -> None:
    assert joined(["a", "", text(), text(Span("b", "bold"))], "，") == (Span("a"), Span("，"), Span("b", "bold"))
