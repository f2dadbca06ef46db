"""The daemon: run, and one run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Column, Screen, plural, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen
from costguard.domain.codec import decode


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    ctx: typer.Context,
    config: ConfigFile = None,
    once: Annotated[bool, typer.Option("--once", help="Poll, decide, act, deliver, and exit.")] = False,
    as_json: AsJson = False,
    fail_on_findings: Annotated[
        bool, typer.Option("--fail-on-findings", help="With --once: exit 1 when there are findings.")
    ] = False,
) -> None:
    """The service: polls, warns, acts and delivers until it is told to stop. `--once` does one round.

    Exit codes of `--once`: 0 done, 3 an action or delivery failed, 69 a source could not be read (the rest was done),
    75 a daemon runs beside it.

    Example: `costguard run --once --json | jq .decisions`
    """
    loaded = load_config(ctx, config)
    app = open_app(loaded, level="WARNING" if once else "INFO")
    if not once:
        from costguard.app.serve import serve

        serve(app, reload=lambda: open_app(load_config(ctx, config), level="INFO"))
        return
    from costguard.app.once import run_once
    from costguard.cli import errors

    on = screen(as_json)
    try:
        with on.progress("polling") as bar:
            result = run_once(app, bar.step)
    finally:
        app.close()
    if as_json:
        on.document(result.document)
    else:
        _told(on, result.document, app.clock.now(), loaded.settings.timezone)
    codes = {
        errors.UNREADABLE: result.unreadable,
        errors.FAILED: result.failed,
        errors.FINDINGS: fail_on_findings and result.findings,
    }
    code = errors.worst(code for code, yes in codes.items() if yes)
    if code:
        raise typer.Exit(code)


def _told(on: Screen, document: Mapping[str, Any], now: datetime, zone: ZoneInfo) -> None:
    if pause := document["paused"]:
        on.banner(pause, when(decode(pause["until"]), now, zone) if pause["until"] else "")
    on.table(
        "",
        [
            Column("RESOURCE", flexible=True, style="bold"),
            Column("POLICY", drop=1),
            Column("DO", drop=2),
            Column("VERDICT"),
            Column("WHY", flexible=True),
        ],
        [
            [
                d["subject"].get("name") or d["subject"]["id"],
                d["policy"],
                d["response"],
                f"{d['verdict']} {d['code']}",
                d["reason"],
            ]
            for d in document["decisions"]
        ],
        "No decisions: nothing matches a policy.",
    )
    bad = [s for s in document["sources"] if s["state"] not in ("ok", "skipped") or s["error"]]
    for source in bad:
        on.warn(f"{source['account']}/{source['region']} {source['source']}: {source['state']}: {source['error']}")
    for notice in document["notices"]:
        if notice["state"] not in ("sent", "superseded", "suppressed"):
            tried = f" after {plural(notice['attempts'], 'try', 'tries')}: {notice['error']}" if notice["error"] else ""
            on.warn(f"message not delivered: {notice['kind']} to {notice['channel']} is {notice['state']}{tried}")
    for action in document["actions"]:
        if action["error"]:
            name = action["subject"].get("name") or action["subject"]["id"]
            on.warn(f"{action['response']} of {name} is {action['state']}: {action['error']}")
    counts = (
        plural(len(document["findings"]), "finding"),
        plural(len(document["actions"]), "action"),
        plural(len(document["notices"]), "message"),
    )
    on.say(f"{', '.join(counts)}, mode {document['mode']}", "dim")
