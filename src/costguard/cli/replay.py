"""The past: backfill and replay."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, Screen, money, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, write_whole
from costguard.domain.codec import decode
from costguard.domain.money import Money
from costguard.domain.time import parse_duration

_NOTES = 15
_FORMATS = ("table", "json", "html")
_Since = Annotated[str, typer.Option("--since", metavar="DURATION", help="How far back, like 30d.")]


def register(app: typer.Typer) -> None:
    app.command()(backfill)
    app.command()(replay)


def backfill(ctx: typer.Context, config: ConfigFile = None, since: _Since = "30d", as_json: AsJson = False) -> None:
    """Pull the use, prices, starts and stops that providers still hold. Resumable; read-only at every provider.

    Exit 69 when something that should be readable was not. Example: `costguard backfill --since 30d`
    """
    from costguard.app.backfill import backfill as pull
    from costguard.domain.codec import instant

    span = _span(since)
    app = open_app(load_config(ctx, config))
    on = screen(as_json)
    try:
        with on.progress("reading") as bar:
            found = pull(app, span, bar.step)
    finally:
        app.close()
    if as_json:
        on.document(
            {
                "schema": "costguard.backfill/1",
                "since": instant(found.since),
                "until": instant(found.until),
                "sources": [
                    {
                        "account": s.account, "provider": s.provider, "source": s.source, "added": s.added,
                        "answered": s.boxes, "asked": s.of, "note": s.note, "error": s.error,
                        "oldest_at": None if s.oldest is None else instant(s.oldest),
                    }
                    for s in found.sources
                ],
            }
        )  # fmt: skip
    else:
        zone = app.config.settings.timezone
        on.table(
            "",
            [
                Column("ACCOUNT"), Column("SOURCE"), Column("NEW", right=True), Column("ANSWERED", right=True),
                Column("OLDEST", right=True), Column("", flexible=True),
            ],
            [
                [
                    s.account, s.source, f"{s.added:,}", f"{s.boxes} of {s.of}", when(s.oldest, found.until, zone),
                    s.error or s.note,
                ]
                for s in found.sources
            ],
            "No accounts are configured.",
        )  # fmt: skip
        on.say(f"now: costguard replay --since {since}", "bold")
    if not found.fine:
        raise typer.Exit(69)


def replay(
    ctx: typer.Context,
    config: ConfigFile = None,
    policies: Annotated[
        Path | None, typer.Option("--policies", metavar="FILE", help="A policy file or folder instead of yours.")
    ] = None,
    since: _Since = "30d",
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="A second version, side by side.")
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="|".join(_FORMATS), help="How to write it.")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """What policies would have done: who is warned and stopped when, the money saved, the work that stops would hit.

    Reads the recorded history alone; see `costguard backfill`. Example: `costguard replay --since 30d -f html`
    """
    from costguard.app.replay import Version, read_policies, run_replay
    from costguard.app.replay_page import page
    from costguard.errors import UsageError

    chosen = "json" if as_json else form
    if chosen not in _FORMATS:
        raise UsageError(f"--format is one of {', '.join(_FORMATS)}")
    span = _span(since)
    loaded = load_config(ctx, config)
    first = read_policies(policies, loaded, os.environ) if policies else Version("configuration", loaded.policies)
    versions = [first, *([read_policies(compare, loaded, os.environ)] if compare else [])]
    app = open_app(loaded)
    on = screen(chosen != "table")
    try:
        with on.progress("replaying") as bar:
            document = run_replay(app, span, versions, bar.step)
    finally:
        app.close()
    match chosen:
        case "json":
            text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        case "html":
            text = page(document, loaded.settings.language)
        case _:
            return _table(on, document, loaded.settings.language)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_whole(output, text)
    on.err.print(f"wrote {output}")


def _span(text: str) -> timedelta:
    from costguard.errors import UsageError

    try:
        span = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--since: {error}") from None
    if span <= timedelta(hours=1):
        raise UsageError("--since is longer than an hour")
    return span


def _money(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money.of(value["amount"], value["currency"])


def _table(on: Screen, document: Mapping[str, Any], language: str) -> None:
    from zoneinfo import ZoneInfo

    zone, coverage, until = ZoneInfo(document["timezone"]), document["coverage"], decode(document["until"])
    tongue = "zh" if language == "zh" else "en"
    on.say(document["headline"][tongue], "bold")
    for line in document["warnings"][tongue]:
        on.warn(line)
    on.say(f"{coverage['boxes_with_use']} of {coverage['boxes']} boxes have use recorded", "dim")
    reason = "reason_zh" if tongue == "zh" else "reason"
    for version in document["versions"]:
        on.table(
            f"\n{version['name']}",
            [
                Column("POLICY", style="bold", flexible=True), Column("RULE", drop=2),
                Column("BOXES", right=True, drop=1), Column("TOLD", right=True), Column("WARNED", right=True),
                Column("STOPPED", right=True), Column("<1h", right=True), Column("<24h", right=True),
                Column("SAVED", right=True),
            ],
            [
                [
                    p["policy"], p["rule"], str(p["matched"]), str(p["told"]), str(p["warned"]), str(p["stopped"]),
                    str(p["hit_within_hour"]), str(p["hit_within_day"]), money(_money(p["saved"])),
                ]
                for p in [*version["policies"], {**version, "policy": "all", "rule": "", "matched": coverage["boxes"]}]
            ],
            "No policies.",
        )  # fmt: skip
        for skipped in version["skipped"]:
            on.say(f"not replayed: {skipped['policy']}: {skipped[reason]}", "dim")
        for partly in version["partly"]:
            on.say(f"replayed in part: {partly['policy']}: {partly[reason]}", "dim")
        if version["unpriced_stops"]:
            on.warn(f"{version['unpriced_stops']} stops of boxes without a known price save an unknown amount")
        on.table(
            "\nthe dearest stops",
            [
                Column("BOX", flexible=True, style="bold"), Column("POLICY", flexible=True),
                Column("WARNED", right=True, drop=2), Column("STOPPED", right=True), Column("UNTIL", right=True),
                Column("BECAUSE", drop=1), Column("SAVED", right=True),
            ],
            [
                [
                    s["subject"]["name"] or s["subject"]["id"], s["policy"], when(decode(s["warned_at"]), until, zone),
                    when(decode(s["at"]), until, zone), when(decode(s["until"]), until, zone), s["ended_by"],
                    money(_money(s["saved"])),
                ]
                for s in version["stops"][:15]
            ],
            "\nNothing would have been stopped.",
        )  # fmt: skip
        if version["notes"]:
            on.table(
                "\nwhat people would have been told of money",
                [
                    Column("AT", right=True), Column("POLICY", flexible=True, style="bold"),
                    Column("ABOUT", flexible=True), Column("", flexible=True),
                ],
                [
                    [
                        when(decode(n["at"]), until, zone), n["policy"],
                        " ".join(part for part in (n["subject"]["name"] or n["subject"]["id"], n["threshold"]) if part),
                        n["text"][tongue],
                    ]
                    for n in version["notes"][-_NOTES:]
                ],
                "",
            )  # fmt: skip
    on.say("<1h, <24h: stops whose box was at work again within an hour, a day", "dim")
    for line in document["assumptions"][tongue]:
        on.say(f"- {line}", "dim")
