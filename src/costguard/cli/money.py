"""Money: audit."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, Screen, money
from costguard.cli.context import ConfigFile, config_path, load_config, open_app, screen
from costguard.domain.money import Money

_FORMATS = ("table", "json", "csv", "markdown")


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    ctx: typer.Context,
    config: ConfigFile = None,
    month: Annotated[
        str | None,
        typer.Option("--month", "-m", metavar="YYYY-MM", help="Default: to date; until the 3rd, last month."),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option("--provider", "-p", help="Only this one; without a configuration, with ambient credentials."),
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="|".join(_FORMATS), help="How to write it.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Only from what the database knows.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """The month's money, waste and what the policies would have done. Read-only. Exit 69 when a source was unreadable.

    Examples: `costguard audit`, `costguard audit --provider aws --format json`
    """
    from costguard.app.audit import run_audit, scratch, without_config
    from costguard.errors import UsageError

    chosen = "json" if as_json else form
    if chosen not in _FORMATS:
        raise UsageError(f"--format is one of {', '.join(_FORMATS)}")
    providers = provider or []
    with scratch() as folder:
        if providers and config is None and not config_path(ctx, config).exists():
            loaded = without_config(providers, Path(folder), os.environ.get("COSTGUARD_TIMEZONE", "Asia/Shanghai"))
        else:
            loaded = load_config(ctx, config)
        on = screen(chosen != "table")
        app = open_app(loaded)
        try:
            with on.progress("reading") as bar:
                document, fine = run_audit(app, month=month, offline=offline, providers=providers, progress=bar.step)
        finally:
            app.close()
    if chosen == "table" and output is None:
        _table(on, document)
    else:
        text = _text(document, chosen)
        if output is None:
            typer.echo(text, nl=False)
        else:
            _write(output, text)
            on.err.print(f"wrote {output}")
    if not fine:
        raise typer.Exit(69)


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a report that is read while it is written must not be half of one."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(path)


def _money(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money.of(value["amount"], value["currency"])


def _table(on: Screen, document: Mapping[str, Any]) -> None:
    spend, forecast = document["spend"], document["forecast"]
    on.say(f"{document['month']} ({document['stage']}, {document['timezone']})", "bold")
    on.say(f"spent so far  {money(_money(spend['estimated']))}  (estimate: price x hours)")
    if spend["billed"]:
        on.say(f"billed        {money(_money(spend['billed']))}")
    on.say(f"month's end   {money(_money(forecast['amount']))}  ({forecast['method']})")
    on.say(f"saved         {money(_money(document['savings']['booked']))}  (confirmed)")
    for title, key in (("by owner", "by_owner"), ("by account", "by_account"), ("by service", "by_service")):
        _groups(on, title, spend[key])
    rows = [r for r in document["resources"] if r["estimated"] is None or r["estimated"]["amount"] != "0"]
    on.table(
        f"\nresources (the {min(len(rows), 15)} dearest of {len(rows)})",
        [
            Column("NAME", flexible=True, style="bold"),
            Column("TYPE"),
            Column("STATE"),
            Column("OWNER"),
            Column("PRICE/H", right=True),
            Column("THIS MONTH", right=True),
        ],
        [
            [
                r["subject"].get("name") or r["subject"]["id"],
                r["sku"] or r["subject"]["kind"],
                r["state"],
                r["owner"] or "-",
                money(_money(r["price_per_hour"])),
                money(_money(r["estimated"])),
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
            [f["subject"].get("name") or f["subject"]["id"], f["policy"], f["rule"], money(_money(f["waste_per_hour"]))]
            for f in document["findings"]
        ],
        "\nNo findings.",
    )
    for line in document["would_have"]:
        on.say(f"would have: {line['policy']} {line['actions']} stops, {money(_money(line['saved']))} not spent")
    for line in document["decisions_needed"]:
        on.say(f"to decide: {line}", "yellow")
    for line in document["warnings"]:
        on.warn(f"warning: {line}")


def _groups(on: Screen, title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    on.table(
        f"\n{title}",
        [Column("", flexible=True), Column("", right=True)],
        [[line["key"], money(_money(line["amount"]))] for line in lines[:10]],
        f"\n{title}: nothing",
    )


def _text(document: Mapping[str, Any], form: str) -> str:
    import json

    if form == "json":
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        return _csv(document)
    return _markdown(document)


def _csv(document: Mapping[str, Any]) -> str:
    """One line per resource, exact amounts."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["account", "provider", "region", "kind", "id", "name", "state", "sku", "charge_type", "owner", "team",
         "price_per_hour", "estimated", "currency"]
    )  # fmt: skip
    for r in document["resources"]:
        subject, price, cost = r["subject"], r["price_per_hour"] or {}, r["estimated"] or {}
        writer.writerow(
            [_cell(v) for v in (
                subject["account"], subject["provider"], subject["region"], subject["kind"], subject["id"],
                subject.get("name", ""), r["state"], r["sku"], r["charge_type"], r["owner"], r["team"],
                price.get("amount", ""), cost.get("amount", ""), cost.get("currency", price.get("currency", "")),
            )]
        )  # fmt: skip
    return out.getvalue()


def _cell(value: object) -> str:
    """A spreadsheet must not run a name as a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in ("=", "+", "@") else text


def _markdown(document: Mapping[str, Any]) -> str:
    spend = document["spend"]
    lines = [
        f"# {document['month']} ({document['stage']})",
        "",
        f"- spent so far: **{money(_money(spend['estimated']))}** (estimate: price x hours)",
        f"- month's end: {money(_money(document['forecast']['amount']))} ({document['forecast']['method']})",
        f"- saved, confirmed: {money(_money(document['savings']['booked']))}",
        "",
        "| owner | amount |",
        "|---|---:|",
        *(f"| {_md(line['key'])} | {money(_money(line['amount']))} |" for line in spend["by_owner"]),
        "",
        "| resource | state | owner | price/h | this month |",
        "|---|---|---|---:|---:|",
        *(
            f"| {_md(r['subject'].get('name') or r['subject']['id'])} | {r['state']} | {_md(r['owner'] or '-')} "
            f"| {money(_money(r['price_per_hour']))} | {money(_money(r['estimated']))} |"
            for r in document["resources"]
        ),
        "",
        *(f"- {_md(line)}" for line in (*document["decisions_needed"], *document["warnings"])),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _md(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
