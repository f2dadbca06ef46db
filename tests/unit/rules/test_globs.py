"""Globs and folded keys."""

import pytest

from costguard.rules.globs import folded, folded_tag, glob


@pytest.mark.parametrize(
    ("patterns", "text", "expected"),
    [
        (("prod-*",), "prod-1", True),
        (("prod-*",), "xprod-1", False),
        (("a.b",), "axb", False),
        (("*",), "", True),
        ((), "", False),
        ((), "x", False),
        (("a*c", "b"), "b", True),
        (("a*",), "a\nb", True),
    ],
)
def test_a_star_is_the_only_wildcard(patterns: tuple[str, ...], text: str, expected: bool) -> None:
    assert (glob(patterns).match(text) is not None) is expected


def test_case_counts_unless_folded() -> None:
    assert not glob(("Prod",)).match("prod")
    assert glob(("Prod",), fold=True).match("pROD")


@pytest.mark.parametrize("written", ["CostGuard-Exempt", " costguard-exempt ", "costguard:exempt", "costguard_exempt"])
def test_reserved_keys_fold_case_spaces_and_dashes(written: str) -> None:
    """C24: one spelling for what clouds and people write differently."""
    assert folded(written) == "costguard_exempt"


def test_the_exact_key_goes_first() -> None:
    assert folded_tag({"Owner": "a", "owner": "b"}, "owner") == ("owner", "b")
    assert folded_tag({"OWNER": "a", "Owner": "b"}, "owner") == ("OWNER", "a")
    assert folded_tag({}, "owner") is None
