"""The past: backfill and replay."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, Screen, money, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, spoken, write_whole
from costguard.cli.words import rule, source
from costguard.domain.codec import decode
from costguard.domain.money import Money
from costguard.domain.time import parse_duration

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
    from costguard.app.said import spoken as said
    from costguard.domain.codec import instant

    span = _span(since)
    loaded = load_config(ctx, config)
    on = screen(as_json, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        with on.progress(on.t("reading")) as bar:
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
                Column(on.t("account")), Column(on.t("source")), Column(on.t("backfill.new"), right=True),
                Column(on.t("backfill.answered"), right=True), Column(on.t("backfill.oldest"), right=True),
                Column("", flexible=True),
            ],
            [
                [
                    s.account, source(s.source, on.language), f"{s.added:,}", on.t("backfill.of", n=s.boxes, of=s.of),
                    when(s.oldest, found.until, zone), s.error or said(s.note, on.language),
                ]
                for s in found.sources
            ],
            on.t("backfill.none"),
        )  # fmt: skip
        on.say(on.t("backfill.next", since=since), "bold")
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
    on = screen(chosen != "table", spoken(ctx, loaded))
    first = read_policies(policies, loaded, os.environ) if policies else Version("configuration", loaded.policies)
    versions = [first, *([read_policies(compare, loaded, os.environ)] if compare else [])]
    app = open_app(loaded)
    try:
        with on.progress(on.t("replaying")) as bar:
            document = run_replay(app, span, versions, bar.step)
    finally:
        app.close()
    match chosen:
        case "json":
            text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        case "html":
            text = page(document, on.language, own=policies is None)
        case _:
            return _table(on, document, own=policies is None)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_whole(output, text)
    on.err.print(on.t("wrote", path=output))


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


def _table(on: Screen, document: Mapping[str, Any], *, own: bool) -> None:
    """``own``: the first version is the configuration's."""
    from zoneinfo import ZoneInfo

    from costguard.app.replay_page import WORDS, folded

    zone, coverage, until = ZoneInfo(document["timezone"]), document["coverage"], decode(document["until"])
    page = WORDS[on.language]
    on.say(document["headline"][on.language], "bold")
    for line in document["warnings"][on.language]:
        on.warn(line)
    on.say(page["seen"].format(n=coverage["boxes_with_use"], of=coverage["boxes"]), "dim")
    reason = "reason_zh" if on.language == "zh" else "reason"
    for number, version in enumerate(document["versions"]):
        on.table(
            "\n" + (page["own"] if own and not number else version["name"]),
            [
                Column(on.t("policy"), style="bold", flexible=True), Column(on.t("rule"), drop=2),
                Column(on.t("replay.boxes"), right=True, drop=1), Column(on.t("replay.told"), right=True),
                Column(on.t("replay.warned"), right=True), Column(on.t("replay.stopped"), right=True),
                Column(on.t("replay.hour"), right=True), Column(on.t("replay.day"), right=True),
                Column(on.t("replay.saved"), right=True),
            ],
            [
                [
                    p["policy"], rule(p["rule"], on.language), str(p["matched"]), str(p["told"]),
                    str(p["warned"]), str(p["stopped"]), str(p["hit_within_hour"]), str(p["hit_within_day"]),
                    money(_money(p["saved"])),
                ]
                for p in [
                    *version["policies"],
                    {**version, "policy": page["all"], "rule": "", "matched": coverage["boxes"]},
                ]
            ],
            on.t("replay.no_policies"),
        )  # fmt: skip
        for what in ("skipped", "partly"):
            for one in version[what]:
                on.say(f"{page[what]}{on.colon}{one['policy']}{on.colon}{one[reason]}", "dim")
        if version["unpriced_stops"]:
            on.warn(on.t("replay.unpriced", n=version["unpriced_stops"]))
        on.table(
            "\n" + on.t("replay.stops"),
            [
                Column(on.t("box"), flexible=True, style="bold"), Column(on.t("policy"), flexible=True),
                Column(on.t("replay.warned"), right=True, drop=2), Column(on.t("replay.stopped"), right=True),
                Column(on.t("replay.until"), right=True), Column(on.t("replay.because"), drop=1),
                Column(on.t("replay.saved"), right=True),
            ],
            [
                [
                    s["subject"]["name"] or s["subject"]["id"], s["policy"], when(decode(s["warned_at"]), until, zone),
                    when(decode(s["at"]), until, zone), when(decode(s["until"]), until, zone), page[s["ended_by"]],
                    money(_money(s["saved"])),
                ]
                for s in version["stops"][:15]
            ],
            "\n" + on.t("replay.none"),
        )  # fmt: skip
        if version["notes"]:
            on.say("\n" + on.t("replay.notes"), "bold")
        for policy, steps, notes in folded(version["notes"]):
            count, last = len(notes), notes[-1]
            named = on.list_comma.join(_step(page, step) for step in steps) or last["subject"]["name"]
            at = when(decode(last["at"]), until, zone)
            times = at if count == 1 else page["times"].format(n=count, at=at)
            on.say(f"  {policy} {named}{on.colon}{times}")
            on.paragraph(last["text"][on.language])
    on.say("\n" + on.t("replay.hits"), "dim")
    for line in document["assumptions"][on.language]:
        on.say(f"- {line}", "dim")


def _step(page: Mapping[str, str], threshold: str) -> str:
    """``80%``; ``forecast 100%`` of a step that is judged by what is ahead."""
    kind, _, share = threshold.rpartition(":")
    return page["ahead"].format(step=share) if kind == "forecast" else threshold
