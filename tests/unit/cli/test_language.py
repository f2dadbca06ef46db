import pytest

from costguard.cli.language import asked, chosen, of_line, of_terminal


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("fleet --lang zh", "zh"),
        ("--lang zh fleet", "zh"),
        ("fleet --lang=zh --json", "zh"),
        ("fleet -l zh", "zh"),
        ("fleet -lzh", "zh"),
        ("fleet --lang fr", "fr"),
        ("fleet --lang", ""),
        ("fleet", ""),
        ("keep -- --lang zh", ""),
        ("fleet --limit 3 -la", ""),
        ("", ""),
    ],
)
def test_what_a_command_line_asks_for(line: str, language: str) -> None:
    assert asked(line.split()) == language


@pytest.mark.parametrize(
    ("env", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ZH_tw"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, ""),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh"}, "zh"),
        ({}, ""),
    ],
)
def test_the_locale(env: dict[str, str], language: str) -> None:
    assert of_terminal(env) == language


def test_the_first_wish_that_we_speak() -> None:
    assert chosen("", "fr", "zh", "en") == "zh"
    assert chosen("", "fr") == "en"
    assert of_line(["fleet", "--lang", "en"], {"COSTGUARD_LANG": "zh"}) == "en"
    assert of_line(["fleet"], {"COSTGUARD_LANG": "zh", "LANG": "en_US"}) == "zh"
    assert of_line(["fleet", "--lang", "fr"], {"LANG": "zh_CN.UTF-8"}) == "zh"
    assert of_line(["fleet"], {}) == "en"
