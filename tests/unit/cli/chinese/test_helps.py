"""Every text of ``--help`` has its Chinese. To change one or add a command, write its Chinese into the catalogue."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from costguard.cli.chinese import told
from costguard.cli.help import commands_of, extras, paragraphs
from costguard.cli.main import app

# What is the same in both languages: choices, and times and amounts that stand for themselves.
_SAME = {"zh|en", "a,b", "4h", "3d", "30m", "URL", "N", "YYYY-MM", " [1<=x<=500]", " [1<=x<=600]", " [1<=x]"}


def _texts(command: Any, path: str = "costguard") -> Iterator[tuple[str, str]]:
    """(command, text) of all that its help shows beside names."""
    context = typer.Context(command)
    for text in (*paragraphs(command.help), command.options_metavar):
        yield path, text
    for one in command.get_params(context):
        flag = getattr(one, "is_flag", False)
        assert one.metavar or flag or one.param_type_name == "argument" or one.name.endswith("completion"), path
        yield from ((path, text) for text in (one.help, one.metavar, *(f" {extra}" for extra in extras(one))) if text)
    for name, inner in commands_of(command).items():
        yield path, command.subcommand_metavar
        yield from _texts(inner, f"{path} {name}")


TEXTS = sorted({(text, path) for path, text in _texts(typer.main.get_command(app))})


def test_all_of_it_is_read() -> None:
    assert len({text for text, _ in TEXTS}) > 150


@pytest.mark.parametrize(("text", "path"), TEXTS)
def test_every_text_has_its_chinese(text: str, path: str) -> None:
    assert told(text) != text or text in _SAME or "|" in text, path


def test_what_stands_for_a_value() -> None:
    assert told("[FILE]...") == "[文件]..."
    assert told("HOST:PORT") == "地址:端口"
    assert told("GPU") == "GPU"
