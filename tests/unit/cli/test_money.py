import pytest

from costguard.cli.console import Screen
from costguard.cli.money import _ahead, _days, _groups


def _amount(yuan: str) -> dict[str, str]:
    return {"amount": yuan, "currency": "CNY"}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("90", "120", "¥90.00 to ¥120.00)"),
        ("100", "400", "until now it came out dearer than such an estimate)"),
        ("20", "100", "until now it came out cheaper than such an estimate)"),
    ],
)
def test_a_forecast_at_the_edge_of_its_bounds_says_why(low: str, high: str, said: str) -> None:
    ahead = {"amount": _amount("100"), "low": _amount(low), "high": _amount(high), "method": "level"}
    line = _ahead(Screen(), ahead)
    assert line.startswith("¥100.00  (4 of 5 times ")
    assert line.endswith(said)


@pytest.mark.parametrize(
    ("skill", "rate", "zh", "en"),
    [
        (0.24, "91", "比按现速预测的 ¥91.00 准 24%", "24% closer than the run rate of ¥91.00"),
        (-0.06, None, "比按现速预测差 6%", "6% further off than the run rate"),
        (0, None, "与按现速预测一样准", "as close as the run rate"),
    ],
)
def test_a_forecast_says_what_it_is_worth_in_both_languages(skill: float, rate: str | None, zh: str, en: str) -> None:
    ahead = {"amount": _amount("100"), "low": None, "method": "level", "skill": skill}
    ahead |= {"run_rate": _amount(rate)} if rate else {}
    assert _ahead(Screen(language="zh"), ahead) == f"¥100.00（{zh}）"
    assert _ahead(Screen(), ahead) == f"¥100.00  ({en})"


def test_a_list_that_is_cut_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"key": f"owner-{n:02}", "amount": _amount("1.25")} for n in range(13)]
    _groups(Screen(language="zh"), "按负责人", lines)
    told = capsys.readouterr().out.splitlines()
    assert told[-2].split() == ["owner-09", "¥1.25"]
    assert told[-1].split() == ["其余", "3", "项", "¥3.75"]
    _groups(Screen(), "by owner", lines[:10])
    assert "more" not in capsys.readouterr().out


def test_spend_says_of_which_days_it_is() -> None:
    document = {"from": "2026-11-30T16:00:00Z", "until": "2026-12-31T16:00:00Z", "timezone": "Asia/Shanghai"}
    assert _days(Screen(language="zh"), document) == "2026-12-01 – 2026-12-31（北京时间）"
    assert _days(Screen(), document) == "2026-12-01 – 2026-12-31 (Asia/Shanghai)"
