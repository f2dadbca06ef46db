"""``costguard bills``: what a person sees, what a program reads, and the exit codes."""

from pathlib import Path

import pytest

from tests.cli.cli import costguard
from tests.unit.app.bills.made import focus, write

CONFIG = """\
version: 1
timezone: UTC
language: en
currency: USD
accounts: [{name: prod, provider: simulated, account_id: "111", currency: USD}]
policies: []
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "costguard.yaml"
    path.write_text(CONFIG, "utf-8")
    return str(path)


def test_an_import_says_what_it_did(config: str, tmp_path: Path) -> None:
    """I06."""
    path = str(write(tmp_path / "focus.csv.gz", focus({"BilledCost": "1.00000000049"}, {"BilledCost": "2"})))
    first = costguard("-c", config, "bills", "import", path)
    assert (first.code, first.err) == (0, "")
    assert "focus.csv.gz: FOCUS, 2 rows" in first.out
    assert "prod     2026-11-01      2    2        0             0" in first.out
    assert "the files say 3.00000000049, rounding rows to nanos makes -0.00000000049 of difference" in first.out
    again = costguard("-c", config, "bills", "import", path, "--json").document
    assert again["schema"] == "costguard.bills_import/1"
    assert again["periods"] == [
        {"account": "prod", "period": "2026-11-01", "rows": 2, "new": 0, "removed": 0, "left": 0}
    ]
    assert again["sums"][0]["exact"] == "3.00000000049"
    listed = costguard("-c", config, "bills", "list", "--json").document
    assert [one["rows"] for one in listed["imports"]] == [2, 2]
    assert "focus.csv.gz" in costguard("-c", config, "bills", "list").out
    spent = costguard("-c", config, "spend", "--month", "2026-11", "--json").document
    assert spent["total"]["billed"]["amount"] == "3"


def test_mistakes_are_told_with_their_place(config: str, tmp_path: Path) -> None:
    path = str(write(tmp_path / "a.csv", focus({}, {"BilledCost": ""}, {"BillingCurrency": "?"})))
    answer = costguard("-c", config, "bills", "import", path)
    assert answer.code == 69
    assert answer.err.splitlines() == [
        "error: a.csv: row 3, BilledCost: is empty",
        "error: a.csv: row 4, BillingCurrency: '?' is not a currency like CNY or USD",
        "2 errors; nothing was imported",
    ]
    (one, _) = costguard("-c", config, "bills", "import", path, "--json").document["errors"]
    assert (one["type"], one["file"], one["line"], one["column"]) == ("BillError", "a.csv", 3, "BilledCost")
    assert "Nothing was imported yet" in costguard("-c", config, "bills", "list").out


def test_an_unknown_account_lists_what_was_found(config: str, tmp_path: Path) -> None:
    path = str(write(tmp_path / "a.csv", focus({"SubAccountId": "333", "BillingAccountId": "9"})))
    answer = costguard("-c", config, "bills", "import", path)
    assert answer.code == 2
    assert "--account NAME" in answer.err
    assert "333: 1 rows" in answer.err
    assert costguard("-c", config, "bills", "import", path, "--account", "prod").code == 0
    assert costguard("-c", config, "bills", "import", str(tmp_path / "none.csv")).code == 2
