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
            Column("WHAT"),
            Column("POLICY", drop=1),
            Column("RESOURCES", flexible=True, style="bold"),
            Column("WHY", flexible=True),
        ],
        _summary(document, now, zone),
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


_NAMES = 8
_DONE = {
    "stop": "stopped", "release": "released", "tag": "tagged", "run": "script ran", "set_release_time": "timer set",
}  # fmt: skip
# In the order in which a person wants to know.
_RANKS = ("failed", "done", "now", "later", "would", "no", "told")


def _summary(document: Mapping[str, Any], now: datetime, zone: ZoneInfo) -> list[list[str]]:
    """What became of the decisions, those of one policy with one answer in one row."""
    actions = {action["id"]: action for action in document["actions"]}
    rows: dict[tuple[int, str, str, str], list[str]] = {}
    for decision in document["decisions"]:
        rank, what, why = _outcome(decision, actions.get(decision["action_id"]), now, zone)
        names = rows.setdefault((_RANKS.index(rank), what, decision["policy"], why), [])
        names.append(decision["subject"].get("name") or decision["subject"]["id"])
    return [
        [what if len(names) == 1 else f"{what} ({len(names)})", policy, _listed(names), why]
        for (_, what, policy, why), names in sorted(rows.items())
    ]


def _outcome(
    decision: Mapping[str, Any], action: Mapping[str, Any] | None, now: datetime, zone: ZoneInfo
) -> tuple[str, str, str]:
    """(rank, what, why) of a decision and what was made of it until the end of the run."""
    do, reason = decision["response"], decision["reason"]
    if do in ("notify", "warn"):
        return "told", "told", ""
    state = action["state"] if action else ""
    if action and action["error"]:
        again = f"; again {when(decode(action['retry_at']), now, zone)}" if action["retry_at"] else ""
        return "failed", f"{do} failed", action["error"] + again
    if action and state == "done":
        return "done", _DONE.get(do, f"{do} done"), action["reason"]
    if action and state in ("cancelled", "superseded"):
        return "no", f"no {do}", action["reason"]
    if decision["verdict"] == "allow":
        return "now", f"{do} under way", ""
    until = decision["until"] or decision["due_at"]
    at = f"at {when(decode(until), now, zone)}" if until and decode(until) > now else ""
    if decision["never"]:
        return "no", f"no {do}", reason.partition(", and then it is refused: ")[2] or reason
    dry = decision["code"] in ("dry_run", "not_armed")
    if dry or (action and action["dry_run"] and decision["verdict"] == "defer"):
        return "would", f"would {do}", at or reason
    if decision["verdict"] == "defer":
        return "later", f"{do} later", f"{at}: {reason}" if at else reason
    return "no", f"no {do}", reason


def _listed(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"
