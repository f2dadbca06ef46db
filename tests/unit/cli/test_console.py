from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from costguard.cli.console import Column, Screen, ago, money, plural, span, when
from costguard.cli.errors import report
from costguard.domain.money import Money
from costguard.errors import UsageError

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 30, 15, 30, tzinfo=UTC)
COLUMNS = (
    Column("NAME", flexible=True),
    Column("PRICE", right=True),
    Column("ACCOUNT", drop=2),
    Column("UP", drop=1),
)
ROW = ("train-a800-03", "¥34.74", "a-rather-long-account-name", "6h50m")


def _table(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *rows: tuple[str, ...]
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    Screen().table("", COLUMNS, rows or (ROW,), "nothing here")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("width", "kept"),
    [(80, {"NAME", "PRICE", "ACCOUNT", "UP"}), (40, {"NAME", "PRICE", "UP"}), (22, {"NAME", "PRICE"})],
)
def test_the_most_dispensable_columns_go_first(
    width: int, kept: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    head = _table(width, capsys, monkeypatch).splitlines()[0]
    assert set(head.split()) == kept


def test_what_may_not_go_is_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A number without its last digits is another number."""
    head, line, *_ = _table(12, capsys, monkeypatch, ("train-a800-03", "¥130,351.98", "a", "6h")).splitlines()
    assert head.split() == ["NAME", "PRICE"]
    assert line.split() == ["train-a800-03", "¥130,351.98"]


def test_names_are_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("[red]x[/red]", ":computer:", "back\\", "[/]", "测试机"):
        assert name in _table(80, capsys, monkeypatch, (name, "-", "-", "-"))


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x1b]8;;http://evil\x1b\\", "\x9b31m", "\r", "\x07", "\u202e", "\u2028"])
def test_no_name_commands_the_terminal(
    evil: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name in a table, a sentence, a fact or an error cannot clear the screen, link, or turn the line around."""
    name = f"train{evil}03"
    shown = _table(80, capsys, monkeypatch, (name, "¥1.00", f"a{evil}", "1h"))
    screen = Screen()
    screen.say(f"stopped {name}")
    screen.warn(f"warning: {name}")
    screen.fact("name", name)
    screen.facts([("name", name)])
    report(UsageError(f"no box is called {name}", [name]), as_json=False)
    told = capsys.readouterr()
    text = shown + told.out + told.err
    assert not set(text) & (set("\x1b\x9b\r\x07\u202e\u2028") | {evil})
    assert text.count("train\ufffd") == 7
    monkeypatch.setenv("COLUMNS", "80")
    assert _table(80, capsys, monkeypatch, ("two\nlines", "¥1.00", "a", "1h")).count("\n") == 2


def test_no_rows_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table("", COLUMNS, (), "nothing here")
    assert capsys.readouterr().out == "nothing here\n"


def test_with_json_nothing_but_documents_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)
    screen.say("hello")
    with screen.progress("working") as bar:
        bar.step("more")
    screen.document({"a": "机"})
    assert capsys.readouterr() == ('{\n  "a": "机"\n}\n', "")


def test_times_spans_and_amounts() -> None:
    assert when(NOW, NOW, ZONE) == "23:30"
    assert when(NOW + timedelta(hours=1), NOW, ZONE) == "12-01 00:30"
    assert when(None, NOW, ZONE) == ago(None, NOW) == money(None) == "-"
    assert ago(NOW - timedelta(minutes=37, seconds=31), NOW) == "37m"
    assert ago(NOW + timedelta(hours=1), NOW) == "0s"
    assert span(timedelta(seconds=42)) == "42s"
    assert span(timedelta(hours=50)) == "2d2h"
    assert money(Money.of("34.742", "CNY"), "/h") == "¥34.74/h"
    assert [plural(n, "try", "tries") for n in (0, 1, 2)] == ["0 tries", "1 try", "2 tries"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("周期到北京时间结束，届时预测约", ["周期到北京时间结", "束，届时预测约"]),
        ("一二三四五六七八，九", ["一二三四五六七", "八，九"]),
        ("花费最多：train-a100-08 与其他", ["花费最多：", "train-a100-08 与", "其他"]),
        ("a few plain words here", ["a few plain", "words here"]),
        ("i-2ze0qg54yuq5zxm88e8", ["i-2ze0qg54yuq5zx", "m88e8"]),
    ],
)
def test_a_line_breaks_as_people_write(
    text: str, lines: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two characters of Chinese, never before its punctuation; elsewhere between words."""
    monkeypatch.setenv("COLUMNS", "20")
    Screen().paragraph(text)
    assert [line.removeprefix("    ") for line in capsys.readouterr().out.splitlines()] == lines


def test_a_cell_breaks_likewise(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    Screen().table("", [Column("", flexible=True), Column("")], [["周期到北京时间结束，届时预测约", "¥1"]], "")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["周期到北京时间结束，", "¥1"],
        ["届时预测约"],
    ]


def test_a_name_is_not_cut_to_make_room_for_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of names breaks between them, and no line begins with a comma."""
    monkeypatch.setenv("COLUMNS", "45")
    names = "demo-a10-investors、dsw-notebook-huang、train-a100-08"
    columns = [Column("", flexible=True), Column("", flexible=True)]
    Screen(language="zh").table("", columns, [[names, "属于伸缩组：请改为给伸缩组缩容，不要关掉一台"]], "")
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["demo-a10-investors、", "dsw-notebook-huang、", "train-a100-08"]
