"""Budgets that are kept at AWS: read with the bills, stored, and shown beside costguard's own in both languages."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from costguard.app import reports
from costguard.app.app import App
from costguard.app.audit import run_audit
from costguard.app.jobs import jobs
from costguard.app.spend import run_spend
from costguard.cli.main import app as cli
from costguard.config.load import load
from costguard.domain.snapshot import SourceState
from costguard.store import sources
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.aws import signature
from tests.fakes.aws.server import ACCOUNT, KEY_ID, SECRET, AwsServer
from tests.fakes.server import Request

NOW = datetime(2026, 3, 10, 4, tzinfo=UTC)
CONFIG = """\
version: 1
database: sqlite:///costguard.db
timezone: Asia/Shanghai
language: {language}
currency: CNY
accounts:
  - name: prod
    provider: aws
    account_id: "{account}"
    endpoint: {url}
    regions: [us-east-1]
    credentials: {{access_key_id: {key}, secret_access_key: {secret}}}
policies: []
"""


def usd(amount: str) -> dict[str, str]:
    return {"Amount": amount, "Unit": "USD"}


@pytest.fixture
def server() -> Iterator[AwsServer]:
    with AwsServer(FakeClock(NOW)) as server:
        server.budgets.made = [
            {"BudgetName": "ml", "BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": usd("10000"),
             "CalculatedSpend": {"ActualSpend": usd("8299.99"), "ForecastedSpend": usd("12300")}},
            {"BudgetName": "data", "BudgetType": "COST", "TimeUnit": "QUARTERLY", "BudgetLimit": usd("100"),
             "CalculatedSpend": {"ActualSpend": usd("100")}},
            {"BudgetName": "new", "BudgetType": "COST", "TimeUnit": "DAILY", "BudgetLimit": usd("5")},
        ]  # fmt: skip
        yield server


def opened(server: AwsServer, folder: Path, language: str = "en") -> App:
    text = CONFIG.format(language=language, account=ACCOUNT, url=server.url, key=KEY_ID, secret=SECRET)
    (folder / "costguard.yaml").write_text(text, "utf-8")
    return App.open(load(folder / "costguard.yaml", {}), server.clock)


def of_budgets(request: Request) -> bool:
    return signature.scope(request)[2] == "budgets"


def state(app: App) -> tuple[SourceState, int]:
    with app.database.read() as conn:
        (found,) = (s for s in sources.sources(conn, "prod") if s.source == "budgets")
    return found.state, found.count


def test_they_are_read_with_the_bills_and_shown_beside_our_own(server: AwsServer, tmp_path: Path) -> None:
    app = opened(server, tmp_path)
    try:
        assert app.lead.round()
        app.ready = True
        (job,) = (job for job in jobs(app) if job.name == "bills prod")
        job.run()
        document = run_spend(app)
        earlier = run_spend(app, month="2026-02")
    finally:
        app.close()
    shown = [(b["account"], b["name"], b["period"], b["state"], b["used"]) for b in document["provider_budgets"]]
    assert shown == [
        ("prod", "data", "quarter", "over", 100), ("prod", "ml", "month", "at_risk", 82),
        ("prod", "new", "day", "unknown", None),
    ]  # fmt: skip
    assert document["provider_budgets"][1]["spent"] == {"amount": "8299.99", "currency": "USD"}
    assert document["provider_budgets"][1]["read_at"] == "2026-03-10T04:00:00.000000Z"
    assert document["budgets"] == []
    assert earlier["provider_budgets"] == []


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["Budgets kept at the provider", "ml", "monthly", "$8,299.99", "at risk", "2026-03-10 12:00", "over"]),
        ("zh", ["云厂商侧的预算", "ml", "每月", "有超支风险", "超支", "2026-03-10 12:00", "每季度"]),
    ],
)
def test_an_audit_reads_and_shows_them(server: AwsServer, tmp_path: Path, language: str, words: list[str]) -> None:
    app = opened(server, tmp_path, language)
    try:
        document, fine = run_audit(app)
        asked = server.operations().count("DescribeBudgets")
        run_audit(app)
        assert server.operations().count("DescribeBudgets") == asked > 0, "they are fresh for two readings of the bills"
        past, _ = run_audit(app, month="2026-02")
    finally:
        app.close()
    assert fine
    page, text = reports.html(document), reports.markdown(document)
    assert [word for word in words if word not in page] == []
    assert "| ml (" in text
    assert past["provider_budgets"] == []
    assert words[0] not in reports.html(past)
    assert server.mutations() == []


def test_the_terminal_tells_them(server: AwsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(server, tmp_path)
    try:
        assert app.biller.budgets(app.accounts["prod"])
    finally:
        app.close()
    monkeypatch.setattr("costguard.net.clock.SystemClock", lambda: server.clock)
    said = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["spend", "-c", str(tmp_path / "costguard.yaml")]).output
    assert "budget ml kept at prod (monthly): $8,299.99 of $10,000.00 (82%), $12,300.00 forecast, at risk" in said
    assert "budget new kept at prod (daily): - of $5.00, unknown, read 03-10 12:00" in said


def test_without_the_right_they_are_skipped_and_nothing_is_missing(server: AwsServer, tmp_path: Path) -> None:
    app = opened(server, tmp_path)
    server.fail(Fault.FORBIDDEN, on=of_budgets)
    try:
        _, fine = run_audit(app)
        assert state(app) == (SourceState.SKIPPED, 0)
        assert run_spend(app)["provider_budgets"] == []
    finally:
        app.close()
    assert fine


def test_what_was_read_stays_while_aws_does_not_answer(server: AwsServer, tmp_path: Path) -> None:
    app = opened(server, tmp_path)
    try:
        assert app.biller.budgets(app.accounts["prod"])
        server.fail(Fault.SERVER_ERROR, on=of_budgets)
        server.clock.advance(timedelta(hours=6))
        assert not app.biller.budgets(app.accounts["prod"])
        assert state(app)[0] is SourceState.FAILED
        assert [b["read_at"][:13] for b in run_spend(app)["provider_budgets"]] == ["2026-03-10T04"] * 3
        server.heal()
        del server.budgets.made[1:]
        assert app.biller.budgets(app.accounts["prod"])
        assert [(b["name"], b["read_at"][:13]) for b in run_spend(app)["provider_budgets"]] == [("ml", "2026-03-10T10")]
    finally:
        app.close()
