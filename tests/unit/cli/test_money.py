import pytest

from costguard.cli.money import _forecast_line


def _amount(yuan: str) -> dict[str, str]:
    return {"amount": yuan, "currency": "CNY"}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("90", "120", "¥90.00 to ¥120.00)"),
        ("150", "400", "until now it came out dearer than such an estimate)"),
        ("20", "80", "until now it came out cheaper than such an estimate)"),
    ],
)
def test_a_forecast_outside_its_bounds_says_why(low: str, high: str, said: str) -> None:
    line = _forecast_line({"amount": _amount("100"), "low": _amount(low), "high": _amount(high), "method": "level"})
    assert line.startswith("month's end   ¥100.00  (4 of 5 times ")
    assert line.endswith(said)
