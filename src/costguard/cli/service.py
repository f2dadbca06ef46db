"""The daemon: run, and one run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Column, Screen, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, spoken
from costguard.cli.words import do, reading, source
from costguard.domain.codec import decode
from costguard.notify.words.sentences import translated


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

    on = screen(as_json, spoken(ctx, loaded))
    try:
        with on.progress(on.t("polling")) as bar:
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
    from costguard.app.said import spoken as said

    if pause := document["paused"]:
        on.banner(pause, when(decode(pause["until"]), now, zone) if pause["until"] else "")
    on.table(
        "",
        [
            Column(on.t("once.what")),
            Column(on.t("policy"), drop=1),
            Column(on.t("once.resources"), flexible=True, style="bold"),
            Column(on.t("once.why"), flexible=True),
        ],
        _summary(on, document, now, zone),
        on.t("once.none"),
    )
    bad = [s for s in document["sources"] if s["state"] not in ("ok", "skipped") or s["error"]]
    for one in bad:
        where, told = {"account": one["account"], "region": one["region"]}, translated(one["error"] or "", on.language)
        read = {"source": source(one["source"], on.language), "state": reading(one["state"], on.language)}
        on.warn(on.t("once.source", **where, **read, error=told))
    for notice in document["notices"]:
        if notice["state"] not in ("sent", "superseded", "suppressed"):
            error, tries = said(notice["error"] or "", on.language), on.count("try", notice["attempts"])
            tried = on.t("once.tried", n=tries, error=error) if error else ""
            kind, state = on.t(f"notice.{notice['kind']}"), on.t(f"sent.{notice['state']}")
            on.warn(on.t("once.undelivered", kind=kind, channel=notice["channel"], state=state, tried=tried))
    for action in document["actions"]:
        if action["error"]:
            name = action["subject"].get("name") or action["subject"]["id"]
            what = do(action["response"], action["subject"].get("provider", ""), on.language)
            error, state = translated(action["error"], on.language), on.t(f"action.{action['state']}")
            on.warn(on.t("once.trouble", do=what, name=name, state=state, error=error))
    on.say(
        on.t(
            "once.counts",
            findings=on.count("finding", len(document["findings"])),
            actions=on.count("action", len(document["actions"])),
            messages=on.count("message", len(document["notices"])),
            mode=on.t(f"mode.{document['mode']}"),
        ),
        "dim",
    )


_NAMES = 8
_DONE = {
    "stop": "stopped", "release": "released", "tag": "tagged", "run": "script ran", "set_release_time": "timer set",
}  # fmt: skip
# In the order in which a person wants to know.
_RANKS = ("failed", "done", "now", "later", "would", "no", "told")


def _summary(on: Screen, document: Mapping[str, Any], now: datetime, zone: ZoneInfo) -> list[list[str]]:
    """What became of the decisions, those of one policy with one answer in one row."""
    actions = {action["id"]: action for action in document["actions"]}
    rows: dict[tuple[int, str, str, str], list[str]] = {}
    for decision in document["decisions"]:
        rank, what, why = _outcome(on, decision, actions.get(decision["action_id"]), now, zone)
        names = rows.setdefault((_RANKS.index(rank), what, decision["policy"], why), [])
        names.append(decision["subject"].get("name") or decision["subject"]["id"])
    return [
        [what if len(names) == 1 else what + on.t("aside", text=len(names)), policy, _listed(on, names), why]
        for (_, what, policy, why), names in sorted(rows.items())
    ]


def _outcome(
    on: Screen, decision: Mapping[str, Any], action: Mapping[str, Any] | None, now: datetime, zone: ZoneInfo
) -> tuple[str, str, str]:
    """(rank, what, why) of a decision and what was made of it until the end of the run."""
    response = decision["response"]
    if response in ("notify", "warn"):
        return "told", on.t("once.told"), ""
    verb = do(response, decision["subject"].get("provider", ""), on.language)
    reason = translated(decision["reason"], on.language)

    def answer(rank: str, why: str) -> tuple[str, str, str]:
        return rank, on.t(f"once.{rank}", do=verb), why

    state = action["state"] if action else ""
    if action and action["error"]:
        again = on.t("once.again", at=when(decode(action["retry_at"]), now, zone)) if action["retry_at"] else ""
        return answer("failed", translated(action["error"], on.language) + again)
    if action and state == "done":
        done = verb if on.language == "zh" else _DONE.get(response, f"{response} done")
        return "done", on.t("once.done", do=done), translated(action["reason"], on.language)
    if action and state in ("cancelled", "superseded"):
        return answer("no", translated(action["reason"], on.language))
    if decision["verdict"] == "allow":
        return answer("now", "")
    until = decision["until"] or decision["due_at"]
    at = on.t("once.at", at=when(decode(until), now, zone)) if until and decode(until) > now else ""
    if decision["never"]:
        last = decision["reason"].partition(", and then it is refused: ")[2]
        return answer("no", translated(last, on.language) if last else reason)
    if decision["code"] in ("dry_run", "not_armed") or (decision["dry_run"] and decision["verdict"] == "defer"):
        return answer("would", at or reason)
    if decision["verdict"] == "defer":
        return answer("later", on.colon.join(filter(None, (at, reason))))
    return answer("no", reason)


def _listed(on: Screen, names: list[str]) -> str:
    shown = on.list_comma.join(sorted(names)[:_NAMES])
    return shown if len(names) <= _NAMES else shown + on.t("once.more", n=len(names) - _NAMES)
