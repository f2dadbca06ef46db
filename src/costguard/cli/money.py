"""Money: audit and spend."""

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Column, Screen, money
from costguard.cli.context import AsJson, ConfigFile, config_path, load_config, open_app, screen, spoken, write_whole
from costguard.domain.money import Money

if TYPE_CHECKING:
    from costguard.app.app import App

_FORMATS = ("table", "json", "csv", "markdown", "html")
_BY = "account|owner|team|project|service|day|resource"


def register(app: typer.Typer) -> None:
    app.command()(audit)
    app.command()(spend)


def audit(
    ctx: typer.Context,
    config: ConfigFile = None,
    month: Annotated[
        str | None,
        typer.Option("--month", "-m", metavar="YYYY-MM", help="Default: to date; until the 3rd, last month."),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider", "-p", metavar="NAME", help="Only this one; without a configuration, with ambient credentials."
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="|".join(_FORMATS), help="How to write it.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Only from what the database knows.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """The month's money, waste and what the policies would have done. Read-only. Exit 69 when a source was unreadable.

    Examples: `costguard audit`, `costguard audit --provider aws --format json`
    """
    from costguard.app.audit import no_budgets, run_audit, scratch, without_config
    from costguard.errors import UsageError

    chosen = "json" if as_json else form
    if chosen not in _FORMATS:
        raise UsageError(f"--format is one of {', '.join(_FORMATS)}")
    providers = provider or []
    with scratch() as folder:
        bare = bool(providers) and config is None and not config_path(ctx, config).exists()
        if bare:
            zone = os.environ.get("COSTGUARD_TIMEZONE", "Asia/Shanghai")
            loaded = without_config(providers, Path(folder), zone, spoken(ctx))
        else:
            loaded = load_config(ctx, config)
        on = screen(chosen != "table")
        app = open_app(loaded)
        try:
            with on.progress("reading") as bar:
                document, fine = run_audit(app, month=month, offline=offline, providers=providers, progress=bar.step)
        finally:
            app.close()
    if bare:
        document = {**document, "warnings": [*document["warnings"], no_budgets(loaded.settings.language)]}
    if chosen == "table" and output is None:
        _table(on, document)
    else:
        text = _text(document, chosen)
        if output is None:
            typer.echo(text, nl=False)
        else:
            write_whole(output, text)
            on.err.print(f"wrote {output}")
    if not fine:
        raise typer.Exit(69)


def spend(
    ctx: typer.Context,
    config: ConfigFile = None,
    by: Annotated[str, typer.Option("--by", "-b", metavar=_BY, help="What to sum by.")] = "account",
    month: Annotated[
        str | None, typer.Option("--month", "-m", metavar="YYYY-MM", help="Default: this month to date.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE|30d", help="From this local day to now instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What was spent: the estimate beside the bill, the forecast and the budgets. Asks no provider.

    Example: `costguard spend --by team`
    """
    from costguard.app.spend import run_spend

    app = open_app(load_config(ctx, config))
    try:
        document = run_spend(app, by=by, month=month, since=_since(app, since))
    finally:
        app.close()
    on = screen(as_json)
    if as_json:
        return on.document(document)
    _spend_table(on, document)


def _since(app: "App", text: str | None) -> datetime | None:
    """A local day, or so long ago. Raises UsageError."""
    from costguard.domain.time import local_midnight, parse_duration
    from costguard.errors import UsageError

    if text is None:
        return None
    try:
        return local_midnight(date.fromisoformat(text), app.config.settings.timezone)
    except ValueError:
        pass
    try:
        return app.clock.now() - parse_duration(text)
    except ValueError:
        raise UsageError(f"--since is a day like 2026-11-01 or a span like 30d, not {text!r}") from None


def _spend_table(on: Screen, document: Mapping[str, Any]) -> None:
    total, forecast = document["total"], document["forecast"]
    on.table(
        "",
        [
            Column(document["by"].upper(), flexible=True, style="bold"),
            Column("COUNTED", right=True),
            Column("ESTIMATE", right=True),
            Column("BILL", right=True),
            Column("DIFFERENCE", right=True),
            Column("KNOWN BY", drop=1),
        ],
        [_spend_row(line, line["name"]) for line in document["lines"]] + [_spend_row(total, "total")],
        "Nothing was spent that costguard knows of.",
    )
    on.say(
        "COUNTED: the bill once a day is over for 72 h, until then the larger. DIFFERENCE: bill - estimate, same days."
    )
    for bill in document["bills"]:
        on.say(f"bill of {bill['account']}: to {bill['through']}, {bill['stage']}")
    if total["difference"] and total["discount"] and total["discount"]["amount"] != "0":
        on.say(f"discounts explain {shown(total['discount'])} of the difference")
    if any(line["shared"]["amount"] != "0" for line in document["lines"]):
        on.say(f"by the rules of `shared`: {_parts(document['lines'])}")
    if total["assumed"]["amount"] != "0":
        on.say(f"not observed and assumed: {shown(total['assumed'])} of the estimate")
    if any(part["amount"]["currency"] != document["currency"] for part in document["currencies"]):
        on.say("by currency: " + ", ".join(_own(part) for part in document["currencies"]))
    for code, rate in document["rates"].items():
        since = f" since {rate['from']}" if rate["from"] else ""
        on.say(f"1 {code} = {rate['rate']} {document['currency']}{since}")
    if forecast is not None:
        on.say(_forecast_line(forecast))
    _budgets(on, document)
    for line in document["warnings"]:
        on.warn(f"warning: {line}")


def _own(part: Mapping[str, Any]) -> str:
    """``$5.99 (¥42.51)``: a subtotal in its own currency, and what it counts as where that is another."""
    own, counted = part["amount"], part["converted"]
    return shown(own) if own["currency"] == counted["currency"] else f"{shown(own)} ({shown(counted)})"


def _parts(lines: Sequence[Mapping[str, Any]]) -> str:
    """What each line has of the shared costs."""
    return ", ".join(f"{line['name']} {shown(line['shared'])}" for line in lines if line["shared"]["amount"] != "0")


def _spend_row(line: Mapping[str, Any], name: str) -> list[str]:
    percent = line["difference_percent"]
    share = "" if percent is None else f" ({percent:+.1f}%)"
    return [
        name, shown(line["amount"]), shown(line["estimated"]), shown(line["billed"]),
        f"{shown(line['difference'])}{share}", line["known"],
    ]  # fmt: skip


def _budgets(on: Screen, document: Mapping[str, Any]) -> None:
    for line in document["budgets"]:
        on.say(_budget_line(line), "red" if line["state"] == "over" else "")
    for line in document["provider_budgets"]:
        used = "" if line["used"] is None else f" ({line['used']}%)"
        ahead = "" if line["forecast"] is None else f", {shown(line['forecast'])} forecast"
        read = datetime.fromisoformat(line["read_at"]).astimezone(ZoneInfo(document["timezone"]))
        on.say(
            f"budget {line['name']} kept at {line['account']} ({line['period']}): {shown(line['spent'])} of "
            f"{shown(line['amount'])}{used}{ahead}, {line['state'].replace('_', ' ')}, read {read:%m-%d %H:%M}",
            "red" if line["state"] == "over" else "",
        )


def _budget_line(line: Mapping[str, Any]) -> str:
    return (
        f"budget {line['policy']} {line['key']}: {shown(line['spent'])} of {shown(line['amount'])} "
        f"({line['used']}%), {line['state'].replace('_', ' ')}"
    )


def _forecast_line(forecast: Mapping[str, Any]) -> str:
    """``month's end   ¥12,300.00  (4 of 5 times ¥11,000.00 to ¥13,500.00; 24% closer than the run rate of ¥9,100)``"""
    told = []
    if forecast["low"]:
        told.append(f"4 of 5 times {shown(forecast['low'])} to {shown(forecast['high'])}")
        amount, low, high = (Money.of(**forecast[key]) for key in ("amount", "low", "high"))
        if not low <= amount <= high:  # as after a leap of spending: all past errors have one sign
            told.append(f"until now it came out {'dearer' if amount < low else 'cheaper'} than such an estimate")
    skill, rate = forecast.get("skill"), forecast.get("run_rate")
    if skill is not None:
        worth = f"{abs(skill):.0%} {'closer' if skill > 0 else 'further off'} than" if skill else "as close as"
        told.append(f"{worth} the run rate" + (f" of {shown(rate)}" if rate else ""))
    if not told:
        told.append(forecast["method"])
    return f"month's end   {shown(forecast['amount'])}  ({'; '.join(told)})"


def shown(value: Mapping[str, str] | None) -> str:
    """``¥34.74``; a dash when unknown."""
    return money(None if value is None else Money.of(value["amount"], value["currency"]))


def _table(on: Screen, document: Mapping[str, Any]) -> None:
    spend, forecast = document["spend"], document["forecast"]
    on.say(f"{document['month']} ({document['stage']}, {document['timezone']})", "bold")
    on.say(f"spent so far  {shown(spend['amount'])}  (month before: {shown(spend['previous'])})")
    on.say(f"estimate      {shown(spend['estimated'])}  (price x hours)")
    if spend["billed"]:
        reach = ", ".join(f"{b['account']} to {b['through']} {b['stage']}" for b in spend["bills"])
        on.say(f"billed        {shown(spend['billed'])}  ({reach})")
    for means, value in document["payments"].items():
        on.say(f"  {means.replace('_', ' '):<12}{shown(value)}", "dim")
    on.say(_forecast_line(forecast))
    saved = document["savings"]
    lost = f", {shown(saved['lost'])} lost to disputed stops" if saved["lost"]["amount"] != "0" else ""
    on.say(f"saved         {shown(saved['booked'])}  (confirmed{lost})")
    _budgets(on, document)
    for title, key in (("by owner", "by_owner"), ("by account", "by_account"), ("by service", "by_service")):
        _groups(on, title, spend[key])
    rows = [r for r in document["resources"] if r["estimated"] is None or r["estimated"]["amount"] != "0"]
    on.table(
        f"\nresources (the {min(len(rows), 15)} dearest of {len(rows)})",
        [
            Column("NAME", flexible=True, style="bold"),
            Column("TYPE", drop=1),
            Column("STATE"),
            Column("OWNER"),
            Column("PRICE/H", right=True),
            Column("COUNTED", right=True),
        ],
        [
            [
                r["subject"].get("name") or r["subject"]["id"],
                r["sku"] or r["subject"]["kind"],
                r["state"],
                r["owner"] or "-",
                shown(r["price_per_hour"]),
                shown(r["amount"]),
            ]
            for r in rows[:15]
        ],
        "No resources.",
    )
    on.table(
        "\nfindings",
        [
            Column("RESOURCE", flexible=True, style="bold"),
            Column("POLICY"),
            Column("RULE"),
            Column("WASTE/H", right=True),
        ],
        [
            [f["subject"].get("name") or f["subject"]["id"], f["policy"], f["rule"], shown(f["waste_per_hour"])]
            for f in document["findings"]
        ],
        "\nNo findings.",
    )
    on.table(
        "\nwhat changed against the month before (whole days of both)",
        [
            Column("", flexible=True, style="bold"), Column("WHY"), Column("CHANGE", right=True),
            Column("NOW", right=True), Column("BEFORE", right=True),
        ],
        [
            [d["name"], d["why"], shown(d["change"]), shown(d["amount"]), shown(d["previous"])]
            for d in document["drivers"]
        ],
        "",
    )  # fmt: skip
    for line in document["would_have"]:
        on.say(f"would have: {line['policy']} {line['actions']} stops, {shown(line['saved'])} not spent")
    for line in document["decisions_needed"]:
        on.say(f"to decide: {line}", "yellow")
    for line in document["metered_calls"]:
        on.say(f"billable calls: {line}", "dim")
    for line in document["warnings"]:
        on.warn(f"warning: {line}")


def _groups(on: Screen, title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    on.table(
        f"\n{title}",
        [Column("", flexible=True), Column("", right=True)],
        [[line["key"], shown(line["amount"])] for line in lines[:10]],
        f"\n{title}: nothing",
    )


def _text(document: Mapping[str, Any], form: str) -> str:
    import json

    from costguard.app import reports

    match form:
        case "json":
            return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        case "csv":
            return reports.as_csv(document)
        case "html":
            return reports.html(document)
        case _:
            return reports.markdown(document)
