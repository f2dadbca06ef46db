"""People's levers: keep, unkeep, claim, approve, cancel, dispute, undo, pause, resume, heartbeat."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from costguard.cli.console import Screen
from costguard.cli.context import AsJson, Backend, ConfigFile, Resource, Server, person, screen
from costguard.cli.words import do, say
from costguard.domain.codec import decode
from costguard.errors import UsageError
from costguard.notify.words import words

_Action = Annotated[str, typer.Argument(metavar="ACTION", help="The action's id, or a unique beginning of it.")]
_Span = Annotated[str | None, typer.Option("--for", metavar="4h", help="For how long.")]


def register(app: typer.Typer) -> None:
    for command in (keep, unkeep, claim, approve, cancel, dispute, undo, pause, resume, heartbeat):
        app.command()(command)


def _pull(
    ctx: typer.Context,
    config: ConfigFile,
    server: Server,
    as_json: bool,
    name: str,
    values: Mapping[str, Any],
) -> None:
    """Pulls a lever and says what it matched and did."""
    with Backend(ctx, config, server) as backend:
        given = {key: value for key, value in values.items() if value is not None}
        if name == "keep" and not given["reason"]:
            # The command in every warning has to work as it stands there.
            given["reason"] = say("lever.no_reason", backend.language)
        document = backend.pull(name, given)
        on = screen(as_json, backend.language)
        if as_json:
            on.document(document)
        else:
            on.say(_told(on, name, document, lambda at: _local(at, backend)))


def _told(on: Screen, name: str, document: Mapping[str, Any], local: Callable[[str], str]) -> str:
    """What a lever did, in a sentence that names what it matched."""
    action = document.get("action") or {}
    subject = document.get("subject") or action.get("subject") or {}
    box = subject.get("name") or subject.get("id")
    what = on.t("lever.box", name=box, ref=document["ref"]) if "ref" in document else ""

    def verb(response: str) -> str:
        return do(response, subject.get("provider", ""), on.language)

    if action:
        about = {"do": verb(action["response"]), "name": box, "policy": action["policy"], "id": action["id"]}
        what = on.t("lever.action", **about)
    match name:
        case "keep":
            keep = document["keep"]
            kept = on.t(
                "lever.keep_idle" if keep["until_idle"] else "lever.keep", until=local(keep["until"]), what=what
            )
            if (late := document.get("under_way")) is None:
                return kept
            stop = {"do": verb(late["response"]), "policy": late["policy"], "id": late["id"]}
            return f"{kept}\n{on.t('lever.late', **stop)}"
        case "claim":
            return on.t("lever.claim", owner=document["owner"], what=what)
        case "heartbeat":
            return on.t("lever.heartbeat", until=local(document["until"]), what=what)
        case "undo":
            return on.t("lever.undo", name=box)
        case "pause" if document["paused_until"]:
            return on.t("lever.pause", until=local(document["paused_until"]))
        case "pause":
            return on.t("lever.pause_open")
        case _:
            return on.t(f"lever.{name}", what=what)


def _local(at: str, backend: Backend) -> str:
    if backend.language == "zh":
        return words("zh").when(decode(at), backend.now(), backend.zone)
    moment = decode(at).astimezone(backend.zone)
    return f"{moment:%Y-%m-%d %H:%M} ({backend.zone.key})"


def _zoned(text: str) -> str:
    """``--until``: an instant with a zone, or a local time of this machine's day made explicit."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--until is a time like 2026-12-01T09:00+08:00, not {text!r}") from None
    if at.tzinfo is None:
        raise UsageError(f"--until needs its zone: write {text}+08:00 for Beijing time")
    return at.isoformat()


def keep(
    ctx: typer.Context,
    resource: Resource,
    reason: Annotated[str, typer.Option("--reason", "-r", metavar="TEXT", help="Why; the others will read it.")] = "",
    span: _Span = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Until when, with a zone.")] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Until it falls idle.")] = False,
    longest: Annotated[str | None, typer.Option("--max", metavar="3d", help="With --until-idle: at most.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Keep a resource: it is not stopped until then.

    Example: `costguard keep train-a800-03 --for 4h --reason "reading the results"`
    """
    if sum((span is not None, until is not None, until_idle)) != 1:
        raise UsageError("say one of --for 4h, --until TIME, --until-idle")
    if longest is not None and not until_idle:
        raise UsageError("--max goes with --until-idle")
    values = {
        "resource": resource, "reason": reason, "for": span, "until": _zoned(until) if until else None,
        "until_idle": until_idle or None, "max": longest,
    }  # fmt: skip
    _pull(ctx, config, server, as_json, "keep", values)


def unkeep(
    ctx: typer.Context, resource: Resource, config: ConfigFile = None, as_json: AsJson = False, server: Server = None
) -> None:
    """End a keep."""
    _pull(ctx, config, server, as_json, "unkeep", {"resource": resource})


def claim(
    ctx: typer.Context,
    resource: Resource,
    owner: Annotated[
        str | None, typer.Option("--owner", "-o", metavar="NAME", help="Whose it is (default: you).")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Say whose a resource is; beats its tags, and its owner is the one who is warned.

    Example: `costguard claim gpu-tmp-2 --owner he`
    """
    whose = owner or person().removeprefix("cli:")
    _pull(ctx, config, server, as_json, "claim", {"resource": resource, "owner": whose})


def approve(
    ctx: typer.Context, action: _Action, config: ConfigFile = None, as_json: AsJson = False, server: Server = None
) -> None:
    """Give the yes that a rung with `approve: true` waits for."""
    _pull(ctx, config, server, as_json, "approve", {"action": action})


def cancel(
    ctx: typer.Context, action: _Action, config: ConfigFile = None, as_json: AsJson = False, server: Server = None
) -> None:
    """End an open action; its finding stays quiet until it has cleared."""
    _pull(ctx, config, server, as_json, "cancel", {"action": action})


def dispute(
    ctx: typer.Context,
    action: _Action,
    reason: Annotated[
        str, typer.Option("--reason", "-r", metavar="TEXT", help="What was wrong; the next reader learns from it.")
    ],
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Mark a stop as wrong: counted in reports, and that box is in dry run for 7 days."""
    _pull(ctx, config, server, as_json, "dispute", {"action": action, "reason": reason})


def undo(
    ctx: typer.Context, action: _Action, config: ConfigFile = None, as_json: AsJson = False, server: Server = None
) -> None:
    """Start what costguard stopped. The credentials need the rights of the provider's undo IAM file."""
    _pull(ctx, config, server, as_json, "undo", {"action": action})


def pause(
    ctx: typer.Context,
    span: _Span = None,
    reason: Annotated[str, typer.Option("--reason", "-r", metavar="TEXT", help="Why.")] = "",
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """The kill switch: nothing is stopped from this moment on, until `resume` or the time is over.

    Example: `costguard pause --for 2h --reason "moving the cluster"`
    """
    _pull(ctx, config, server, as_json, "pause", {"for": span, "reason": reason})


def resume(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """Act again. Every open ladder starts over with a fresh warning."""
    _pull(ctx, config, server, as_json, "resume", {})


def heartbeat(
    ctx: typer.Context,
    resource: Resource,
    span: Annotated[str, typer.Option("--for", metavar="30m", help="How long it holds.")] = "30m",
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """A job says that it is alive: its box counts as in use until then.

    Example, in a training loop: `costguard heartbeat $INSTANCE_ID --for 30m --server http://costguard:8787`
    """
    _pull(ctx, config, server, as_json, "heartbeat", {"resource": resource, "for": span})
