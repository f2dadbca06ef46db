"""Places, duplicates, references: what a document is before any model looks at it."""

from pathlib import Path
from typing import Any

import pytest

from costguard.config import yaml
from costguard.config.yaml import Document
from costguard.errors import ConfigError

HERE = Path()


def one(text: str, env: dict[str, str] | None = None, **options: Any) -> Document:
    errors: list[ConfigError] = []
    (document,) = yaml.parse(text, env or {}, errors, file="f", folder=options.pop("folder", HERE), **options)
    assert errors == []
    return document


def mistakes(text: str, env: dict[str, str] | None = None, **options: Any) -> list[str]:
    errors: list[ConfigError] = []
    yaml.parse(text, env or {}, errors, file="f", folder=options.pop("folder", HERE), **options)
    return [str(error) for error in errors]


def test_values_follow_yaml_1_2() -> None:
    text = (
        "{a: yes, b: on, c: NO, d: true, e: null, f: ~, g: 010, h: 0o10, i: 0x1f, j: 1_000, k: 1.5, l: 10:30, "
        "m: 2026-01-31}"
    )
    assert one(text).data == {
        "a": "yes", "b": "on", "c": "NO", "d": True, "e": None, "f": None, "g": 10, "h": 8, "i": 31, "j": 1000,
        "k": 1.5, "l": "10:30", "m": "2026-01-31",
    }  # fmt: skip


def test_keys_are_text() -> None:
    assert one("{1: a, true: b, off: c, 2026-01-01: d}").data == {"1": "a", "true": "b", "off": "c", "2026-01-01": "d"}


@pytest.mark.parametrize(
    ("loc", "key", "place"),
    [
        (("a",), False, (1, 4)),
        (("a",), True, (1, 1)),
        (("b", "c", 1), False, (3, 10)),
        (("b", "d"), False, (4, 6)),
        (("b", "d"), True, (4, 3)),
        (("b", "missing"), True, (2, 1)),
        (("b", "c", 7), False, (3, 6)),
        (("中", "文"), False, (5, 8)),
        ((), False, (1, 1)),
    ],
)
def test_places_count_characters_from_one(loc: tuple[str | int, ...], key: bool, place: tuple[int, int]) -> None:
    document = one("a: 1\nb:\n  c: [1, 2]\n  d: {e: 1}\n中: {文: 2}\n")
    assert document.place(loc, key=key) == place


def test_a_duplicate_key_is_an_error_where_it_stands_again() -> None:
    assert mistakes("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") == [
        "f:5:1: a: duplicate key (first on line 1)",
        "f:4:3: b.c: duplicate key (first on line 3)",
    ]


def test_anchors_and_merges_keep_their_places() -> None:
    document = one("base: &b {x: 1, y: 2}\na:\n  <<: *b\n  y: 3\nc: *b\n")
    assert document.data["a"] == {"y": 3, "x": 1}
    assert document.place(("a", "x")) == (1, 14)
    assert document.place(("a", "y")) == (4, 6)
    assert mistakes("a: {<<: 1}\n") == ["f:1:9: a: << takes a mapping or a list of mappings"]


def test_aliases_that_grow_without_end_are_refused() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    assert any("too large" in line for line in mistakes(bomb))
    assert any("too large" in line for line in mistakes("a: &a [*a]\n"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1, 2\nb: 1\n", "f:2:2: expected ',' or ']'"),
        ("a:\n\tb: 1\n", "f:2:1: a tab cannot indent YAML (use spaces)"),
        ("a: {b: ${env:X}}\n", 'needs quotes: "${env:X}"'),
        ("a: @b\n", "(put the text in quotes)"),
        ("mode：dry_run\nb: 1\n", "a full-width colon"),
        ("a: !!python/object:os.system x\n", "YAML tags like"),
        ("? [a]\n: 1\n", "a key must be plain text"),
        ("a: *nothing\n", "f:1:4:"),
    ],
)
def test_what_is_not_yaml_is_one_error_with_a_hint(text: str, expected: str) -> None:
    (told,) = mistakes(text)
    assert expected in told


def test_references_are_replaced_in_text_values_only(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("secret\n\n")
    (tmp_path / "crlf").write_bytes(b"secret\r\n")
    text = "\n".join(
        [
            'a: "${env:X}"',
            'b: "x ${env:X} y ${file:one}"',
            'c: "$${env:X}"',
            'd: "${file:crlf}"',
            '"${env:X}": k',
            'e: "${other:X} ${X} $X"',
        ]
    )
    document = one(text, {"X": "1"}, folder=tmp_path)
    assert document.data == {
        "a": "1", "b": "x 1 y secret\n", "c": "${env:X}", "d": "secret", "${env:X}": "k", "e": "${other:X} ${X} $X",
    }  # fmt: skip


def test_what_a_reference_gave_is_not_read_again() -> None:
    assert one('a: "${env:X}"', {"X": "${env:Y}"}).data == {"a": "${env:Y}"}


def test_a_missing_reference_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    text = 'a: "${env:NOPE}"\nb: [x, "${file:nope}"]\nc: "${file:binary}"\n'
    assert mistakes(text, folder=tmp_path) == [
        "f:1:4: a: environment variable NOPE is not set",
        "f:2:8: b[1]: file nope: No such file or directory",
        "f:3:4: c: file binary: not UTF-8 text",
    ]


def test_a_bare_reference_is_refused_where_asked_for() -> None:
    assert mistakes('a: "${HOME}/x"') == []
    (told,) = mistakes('a: "${HOME}/x"', strict_references=True)
    assert "write ${env:HOME}" in told


def test_an_error_shows_the_reference_and_never_what_it_gave() -> None:
    document = one('a: {b: "${env:X}"}\n', {"X": "hunter'2\\"})
    said = str(document.error(("a", "b"), f"not good: {document.data['a']['b']!r}", hint="hunter'2\\"))
    assert "hunter" not in said
    assert "${env:X}" in said
    assert "hunter" not in repr(document)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    errors: list[ConfigError] = []
    (tmp_path / "latin").write_bytes("größe: 1".encode("latin-1"))
    (tmp_path / "two").write_text("a: 1\n---\nb: 2\n")
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert yaml.read(tmp_path / "none", {}, errors) is None
    assert yaml.read(tmp_path / "latin", {}, errors) is None
    assert yaml.read(tmp_path, {}, errors) is None
    assert yaml.read(tmp_path / "two", {}, errors) is not None
    assert [str(error).removeprefix(f"{tmp_path}") for error in errors] == [
        "/none:1:1: no such file",
        "/latin:1:1: not UTF-8 text (byte 2)",
        ":1:1: cannot be read: Is a directory",
        "/two:3:1: one document is expected in this file",
    ]
    document = yaml.read(tmp_path / "bom", {}, errors)
    assert document is not None
    assert document.data == {"a": 1}
