"""Bills from files: import them, and list what was imported."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from costguard.cli.console import Bar, Column, money, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, spoken

if TYPE_CHECKING:
    from costguard.app.bills.importing import Imported
    from costguard.cli.console import Screen

group = typer.Typer(no_args_is_help=True, help="Bills from files: FOCUS exports and AWS Cost and Usage Reports.")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="bills")


@group.command("import")
def import_(
    ctx: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV or Parquet, also gzipped.")],
    config: ConfigFile = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put these files in the place of what was imported for their periods.")
    ] = False,
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="Takes the rows that no account_id claims.")
    ] = None,
    known_only: Annotated[
        bool, typer.Option("--known-only", help="Leave out the rows of accounts that are not configured.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import bills: FOCUS 1.0 to 1.2 or AWS CUR (1 and 2.0), as CSV or Parquet. All of the files or none of them.

    The same file again changes nothing. Where a file reaches, its rows count instead of what the provider's API told.
    Exit 69 for a file that cannot be read. Example: `costguard bills import 2026-11-*.csv.gz --replace`
    """
    from costguard.app.bills.importing import import_bills

    loaded = load_config(ctx, config)
    on = screen(as_json, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        with on.progress(on.t("reading")) as bar:
            done = import_bills(
                app, files, replace=replace, account=account, known_only=known_only, language=on.language,
                progress=_told(on, bar),
            )  # fmt: skip
    finally:
        app.close()
    if as_json:
        return on.document(done.json())
    _show(on, done)


@group.command("list")
def list_(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """What was imported, newest first, with the exact sum of each file beside that of its rounded rows."""
    from costguard.app.bills.importing import import_json
    from costguard.net.clock import SystemClock
    from costguard.store import imports

    loaded = load_config(ctx, config)
    app = open_app(loaded)
    try:
        with app.database.read() as conn:
            found = imports.imports(conn)
        zone = app.config.settings.timezone
    finally:
        app.close()
    on = screen(as_json, spoken(ctx, loaded))
    if as_json:
        return on.document({"schema": "costguard.bills/1", "imports": [import_json(one) for one in found]})
    now = SystemClock().now()
    on.table(
        "",
        [
            Column(on.t("at")),
            Column(on.t("account"), style="bold"),
            Column(on.t("bills.files"), flexible=True),
            Column(on.t("bills.rows"), right=True),
            Column(on.t("bills.billed"), right=True),
            Column(on.t("bills.rounding"), right=True, drop=1),
        ],
        [
            [when(one.at, now, zone), one.account, one.source, f"{one.row_count:,}", money(one.rounded),
             format(one.difference, "f")]
            for one in found
        ],
        on.t("bills.none"),
    )  # fmt: skip


def _told(on: "Screen", bar: Bar) -> Callable[[str, int, int, int], None]:
    def step(file: str, rows: int, read: int, size: int) -> None:
        bar.at(read, size, file + on.colon + on.t("counts.row", n=f"{rows:,}"))

    return step


def _show(on: "Screen", done: "Imported") -> None:
    for file in done.files:
        parts = [file.format, on.count("row", file.rows)]
        if file.left_out:
            parts.append(on.t("bills.left_out", n=f"{file.left_out:,}"))
        on.say(file.file + on.colon + on.comma.join(parts))
    on.table(
        "",
        [
            Column(on.t("account"), style="bold"), Column(on.t("bills.period")), Column(on.t("bills.rows"), right=True),
            Column(on.t("backfill.new"), right=True), Column(on.t("bills.removed"), right=True),
            Column(on.t("bills.earlier"), right=True),
        ],
        [
            [p.account, p.start.date().isoformat(), *(f"{n:,}" for n in (p.rows, p.new, p.removed, p.left))]
            for p in done.periods
        ],
        on.t("bills.no_rows"),
    )  # fmt: skip
    for one in done.imports:
        difference = format(one.difference, "f")
        on.say(
            on.t(
                "bills.told",
                account=one.account, amount=money(one.rounded), currency=one.rounded.currency,
                exact=format(one.exact, "f"), difference=difference,
            )
        )  # fmt: skip
    for line in done.warnings:
        on.warn(on.t("warning", text=line))
