"""Money: audit and spend."""

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Column, Screen, money
from costguard.cli.context import AsJson, ConfigFile, config_path, load_config, open_app, screen, spoken, write_whole
from costguard.cli.words import rule, state, told, zone_name
from costguard.domain.money import Money

if TYPE_CHECKING:
    from costguard.app.app import App

_FORMATS = ("table", "json", "csv", "markdown", "html")
_DEAREST, _GROUPS = 15, 10
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
        on = screen(chosen != "table", spoken(ctx, loaded))
        app = open_app(loaded)
        try:
            with on.progress(on.t("reading")) as bar:
                document, fine = run_audit(
                    app, month=month, offline=offline, providers=providers, language=on.language, progress=bar.step
                )
        finally:
            app.close()
    if bare:
        document = {**document, "warnings": [*document["warnings"], no_budgets(on.language)]}
    if chosen == "table" and output is None:
        _table(on, document)
    else:
        text = _text(document, chosen)
        if output is None:
            typer.echo(text, nl=False)
        else:
            write_whole(output, text)
            on.err.print(on.t("wrote", path=output))
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

    loaded = load_config(ctx, config)
    on = screen(as_json, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        document = run_spend(app, by=by, month=month, since=_since(app, since), language=on.language)
    finally:
        app.close()
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
    from costguard.app.reports import word

    total, forecast = document["total"], document["forecast"]
    on.table(
        _days(on, document),
        [
            Column(on.t(f"by.{document['by']}"), flexible=True, style="bold"),
            Column(word("amount", on.language).upper(), right=True),
            Column(on.t("spend.estimate"), right=True),
            Column(on.t("spend.bill"), right=True),
            Column(on.t("spend.difference"), right=True),
            Column(on.t("spend.known"), drop=1),
        ],
        [_spend_row(on, line, _key(on, line["name"])) for line in document["lines"]]
        + [_spend_row(on, total, on.t("spend.total"))],
        on.t("spend.nothing"),
    )
    on.say(on.t("spend.legend"))
    for bill in document["bills"]:
        on.say(on.t("spend.bill_of", account=bill["account"], reach=_reach(on, bill)))
    if total["difference"] and total["discount"] and total["discount"]["amount"] != "0":
        on.say(on.t("spend.discount", amount=shown(total["discount"])))
    if any(line["shared"]["amount"] != "0" for line in document["lines"]):
        on.say(on.t("spend.shared", parts=_parts(on, document["lines"])))
    if total["assumed"]["amount"] != "0":
        on.say(on.t("spend.assumed", amount=shown(total["assumed"])))
    if any(part["amount"]["currency"] != document["currency"] for part in document["currencies"]):
        on.say(on.t("spend.currencies", parts=on.list_comma.join(_own(on, part) for part in document["currencies"])))
    for code, rate in document["rates"].items():
        since = on.t("spend.since", day=rate["from"]) if rate["from"] else ""
        on.say(f"1 {code} = {rate['rate']} {document['currency']}{since}")
    if forecast is not None:
        on.fact(on.t("forecast"), _ahead(on, forecast))
    _budgets(on, document)
    for line in document["warnings"]:
        on.warn(on.t("warning", text=line))


def _days(on: Screen, document: Mapping[str, Any]) -> str:
    """The local days that are told: ``2026-12-01 – 2026-12-14 (Asia/Shanghai)``."""
    zone = ZoneInfo(document["timezone"])
    first, after = (datetime.fromisoformat(document[name]).astimezone(zone) for name in ("from", "until"))
    days = f"{first:%Y-%m-%d} – {after - timedelta(microseconds=1):%Y-%m-%d}"
    return days + on.t("aside", text=zone_name(zone, on.language))


def _key(on: Screen, key: str) -> str:
    """What a sum is of: a name, or that it is nobody's."""
    from costguard.app.reports import word

    return word(key, on.language) if key == "unallocated" else key


def _reach(on: Screen, bill: Mapping[str, Any]) -> str:
    from costguard.app.reports import word

    return on.t("spend.reach", through=bill["through"], stage=word(bill["stage"], on.language))


def _own(on: Screen, part: Mapping[str, Any]) -> str:
    """``$5.99 (¥42.51)``: a subtotal in its own currency, and what it counts as where that is another."""
    own, counted = part["amount"], part["converted"]
    return shown(own) if own["currency"] == counted["currency"] else shown(own) + on.t("aside", text=shown(counted))


def _parts(on: Screen, lines: Sequence[Mapping[str, Any]]) -> str:
    """What each line has of the shared costs."""
    return on.list_comma.join(
        f"{_key(on, line['name'])} {shown(line['shared'])}" for line in lines if line["shared"]["amount"] != "0"
    )


def _spend_row(on: Screen, line: Mapping[str, Any], name: str) -> list[str]:
    percent = line["difference_percent"]
    share = "" if percent is None else f" ({percent:+.1f}%)"
    return [
        name, shown(line["amount"]), shown(line["estimated"]), shown(line["billed"]),
        f"{shown(line['difference'])}{share}", told(line["known"], on.language),
    ]  # fmt: skip


def _budgets(on: Screen, document: Mapping[str, Any]) -> None:
    from costguard.app.reports import WORDS, word

    def standing(line: Mapping[str, Any]) -> str:
        return word(f"budget_{line['state']}", on.language)

    for line in document["budgets"]:
        on.say(
            on.t(
                "budget",
                policy=line["policy"], key=line["key"], spent=shown(line["spent"]), amount=shown(line["amount"]),
                used=line["used"], state=standing(line),
            ),
            "red" if line["state"] == "over" else "",
        )  # fmt: skip
    for line in document["provider_budgets"]:
        used = "" if line["used"] is None else on.t("aside", text=f"{line['used']}%")
        ahead = "" if line["forecast"] is None else on.t("budget.ahead", amount=shown(line["forecast"]))
        read = datetime.fromisoformat(line["read_at"]).astimezone(ZoneInfo(document["timezone"]))
        period = f"period_{line['period']}"
        on.say(
            on.t(
                "budget.elsewhere",
                name=line["name"], account=line["account"], spent=shown(line["spent"]), amount=shown(line["amount"]),
                period=word(period, on.language) if period in WORDS else line["period"], used=used, ahead=ahead,
                state=standing(line), read=f"{read:%m-%d %H:%M}",
            ),
            "red" if line["state"] == "over" else "",
        )  # fmt: skip


def _ahead(on: Screen, forecast: Mapping[str, Any]) -> str:
    """``¥12,300.00  (4 of 5 times ¥11,000.00 to ¥13,500.00; 24% closer than the run rate of ¥9,100)``"""
    from costguard.app.reports import method

    said = []
    if forecast["low"]:
        said.append(on.t("forecast.bounds", low=shown(forecast["low"]), high=shown(forecast["high"])))
        amount, low, high = (Money.of(**forecast[key]) for key in ("amount", "low", "high"))
        if low < high and amount in (low, high):  # as after a leap of spending: all past errors have one sign
            said.append(on.t("forecast.dearer" if amount == low else "forecast.cheaper"))
    skill, rate = forecast.get("skill"), forecast.get("run_rate")
    if skill is not None:
        than = on.t("forecast.rate", amount=shown(rate)) if rate else on.t("forecast.a_rate")
        worth = "closer" if skill > 0 else "further" if skill else "same"
        said.append(on.t(f"forecast.{worth}", share=f"{abs(skill):.0%}", rate=than))
    if not said:
        said.append(method(forecast["method"], on.language))
    return shown(forecast["amount"]) + on.t("aside.wide", text=on.t("forecast.and").join(said))


def shown(value: Mapping[str, str] | None) -> str:
    """``¥34.74``; a dash when unknown."""
    return money(None if value is None else Money.of(value["amount"], value["currency"]))


def _table(on: Screen, document: Mapping[str, Any]) -> None:
    from costguard.app import reports

    def t(key: str) -> str:
        return reports.word(key, on.language)

    def aside(text: str) -> str:
        return on.t("aside.wide", text=text)

    spend = document["spend"]
    zone = zone_name(ZoneInfo(document["timezone"]), on.language)
    on.say(document["month"] + on.t("aside", text=on.comma.join((t(document["stage"]), zone))), "bold")
    on.fact(on.t("audit.spent"), shown(spend["amount"]) + aside(on.t("audit.before", amount=shown(spend["previous"]))))
    on.fact(on.t("audit.estimate"), shown(spend["estimated"]) + aside(on.t("audit.price")))
    if spend["billed"]:
        reach = on.list_comma.join(f"{bill['account']} {_reach(on, bill)}" for bill in spend["bills"])
        on.fact(on.t("audit.billed"), shown(spend["billed"]) + aside(reach))
    for means, value in document["payments"].items():
        on.fact("  " + (on.t("audit.invoiced") if means == "invoiced" else t(means)), shown(value), "dim")
    on.fact(on.t("forecast"), _ahead(on, document["forecast"]))
    saved = document["savings"]
    lost = on.t("audit.lost", amount=shown(saved["lost"])) if saved["lost"]["amount"] != "0" else ""
    on.fact(on.t("audit.saved"), shown(saved["booked"]) + aside(on.t("audit.confirmed", lost=lost)))
    _budgets(on, document)
    for key in ("by_owner", "by_account", "by_service"):
        _groups(on, t(key), spend[key])
    rows = [r for r in document["resources"] if r["estimated"] is None or r["estimated"]["amount"] != "0"]
    on.table(
        "\n" + on.t("audit.resources", n=min(len(rows), _DEAREST), of=len(rows)),
        [
            Column(t("name").upper(), flexible=True, style="bold"),
            Column(t("type").upper(), drop=1),
            Column(t("state").upper()),
            Column(t("owner").upper()),
            Column(t("price").upper(), right=True),
            Column(t("amount").upper(), right=True),
        ],
        [
            [
                r["subject"].get("name") or r["subject"]["id"],
                r["sku"] or r["subject"]["kind"],
                state(r["state"], on.language),
                r["owner"] or "-",
                shown(r["price_per_hour"]),
                shown(r["amount"]),
            ]
            for r in rows[:_DEAREST]
        ],
        on.t("audit.no_resources"),
    )
    on.table(
        "\n" + t("findings"),
        [
            Column(on.t("resource"), flexible=True, style="bold"),
            Column(on.t("policy")),
            Column(on.t("rule")),
            Column(on.t("waste"), right=True),
        ],
        [
            [
                f["subject"].get("name") or f["subject"]["id"],
                f["policy"],
                rule(f["rule"], on.language),
                shown(f["waste_per_hour"]),
            ]
            for f in document["findings"]
        ],
        "\n" + on.t("audit.no_findings"),
    )
    on.table(
        "\n" + t("drivers") + on.t("aside", text=on.t("audit.whole_days")),
        [
            Column("", flexible=True, style="bold"), Column(on.t("audit.why")), Column(t("change").upper(), right=True),
            Column(on.t("audit.now"), right=True), Column(on.t("audit.then"), right=True),
        ],
        [
            [d["name"], t(f"why_{d['why']}"), shown(d["change"]), shown(d["amount"]), shown(d["previous"])]
            for d in document["drivers"]
        ],
        "",
    )  # fmt: skip
    for line in document["would_have"]:
        on.say(on.t("audit.would", policy=line["policy"], n=line["actions"], amount=shown(line["saved"])))
    for line in document["decisions_needed"]:
        on.say(f"{t('decisions')}{on.colon}{line}", "yellow")
    for line in document["metered_calls"]:
        on.say(f"{t('metered')}{on.colon}{line}", "dim")
    for line in document["warnings"]:
        on.warn(on.t("warning", text=line))


def _groups(on: Screen, title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    on.table(
        f"\n{title}",
        [Column("", flexible=True), Column("", right=True)],
        [
            *([_key(on, line["key"]), shown(line["amount"])] for line in lines[:_GROUPS]),
            *([[on.t("audit.others", n=len(rest)), _sum(rest)]] if (rest := lines[_GROUPS:]) else []),
        ],
        f"\n{title}{on.colon}{on.t('nothing')}",
    )


def _sum(lines: Sequence[Mapping[str, Any]]) -> str:
    from costguard.app.reports import money_of
    from costguard.domain.money import total

    return str(*total(filter(None, (money_of(line["amount"]) for line in lines))))


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
