"""explain: why a resource is treated as it is, and what an action rested on."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, money, span
from costguard.cli.context import AsJson, Backend, ConfigFile, Server, screen
from costguard.cli.story import Story
from costguard.cli.tables import View, money_of, name_of
from costguard.domain.codec import decode, instant
from costguard.domain.money import Money
from costguard.notify.doc import Doc
from costguard.notify.story import clean, cut
from costguard.notify.words import words

_LINE, _LINES = 200, 8


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    ctx: typer.Context,
    resource: Annotated[
        str | None, typer.Argument(metavar="RESOURCE", help="An id, account/id, a full ref, or a name that is unique.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="An earlier moment, like 2026-12-01T09:00+08:00.")
    ] = None,
    action: Annotated[
        str | None, typer.Option("--action", metavar="ID", help="What one action rested on, instead of a resource.")
    ] = None,
) -> None:
    """Why a resource is treated as it is: every policy, signal and guard, and what would change the verdict.

    With --action: the evidence kept with it, every look and verdict. Example: `costguard explain train-a800-03`
    """
    if (resource is None) == (action is None) or (action is not None and at is not None):
        from costguard.errors import UsageError

        raise UsageError("explain needs a RESOURCE (perhaps with --at), or --action ID")
    with Backend(ctx, config, server) as backend:
        query = {"action": action} if action else {"resource": resource or ""} | ({"at": at} if at else {})
        document = backend.table("explain", query)
        on = screen(as_json)
        if as_json:
            return on.document(document)
        if action:
            return _Rested(on, backend).tell(document)
        Story(on, backend).tell(document)


class _Rested(View):
    """Renders ``costguard.explain_action/1``: what an action rested on."""

    def tell(self, document: Mapping[str, Any]) -> None:
        action, say = document["action"], self.screen.say
        dry = " (dry run)" if action["dry_run"] else ""
        say(f"{action['response']} of {name_of(action['subject'])}: {action['state'].replace('_', ' ')}{dry}", "bold")
        self.screen.facts(self._head(document))
        self.screen.table(
            "\nwhat happened",
            [Column("AT"), Column("WHAT"), Column("TEXT", flexible=True), Column("BY", drop=1)],
            [[self.when(e["at"]), e["kind"], e["text"], e["actor"]] for e in document["history"]],
            "\nnothing was written down",
        )
        self.screen.table(
            "\nmessages",
            [Column("AT"), Column("KIND"), Column("CHANNEL"), Column("STATE"), Column("NOTE", flexible=True)],
            [
                [self.when(m["sent_at"] or m["created_at"]), m["kind"], m["channel"], m["state"], _note(m)]
                for m in document["messages"]
            ],
            "\nnobody was told",
        )
        say("\nthe evidence kept with it", "bold")
        self.screen.facts(("", f"{key}: {_plain(value)}") for key, value in sorted(action["evidence"].items()))

    def _head(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        action = document["action"]
        yield "action", f"{action['id']}, of {action['policy']} ({action['rule']})"
        facts = {"rule": action["rule"], "evidence": action["evidence"], "since": action["since"]}
        # As of the last time that it was looked at: "for 45 min" then, not since.
        seen = decode(action["executed_at"] or action["updated_at"])
        yield "why", words("en").evidence(Doc({**facts, "at": instant(seen)}), seen, self.zone)
        if action["reason"]:
            yield "now", action["reason"]
        if action["error"] and action["error"] != action["reason"]:
            yield "failed", action["error"]
        if action["retry_at"] and action["state"] == "deferred":
            yield "again", f"attempt {action['attempt'] + 1} at {self.when(action['retry_at'])}"
        times = [("held since", "since"), ("warned", "warned_at"), ("due", "due_at"), ("called", "executed_at")]
        yield "times", ", ".join(f"{word} {self.when(action[key])}" for word, key in times if action[key])
        if saving := document["saving"]:
            yield "saved", f"{money(money_of(saving['amount']))} since {self.when(saving['since'])}"
        yield from (("hook said", line) for line in _last_lines(action["hook_output"]))


def _note(message: Mapping[str, Any]) -> str:
    return "in a digest with others" if message["reason"] == "digested" else message["error"] or ""


def _last_lines(output: str | None) -> list[str]:
    """The end of what a hook said, harmless to a terminal; all that is kept of it is in the JSON document."""
    lines = [cut(clean(line), _LINE) for line in (output or "").splitlines()]
    return [line for line in lines if line][-_LINES:]


def _plain(value: Any) -> str:
    """A value of evidence for a terminal."""
    match value:
        case {"amount": str(amount), "currency": str(currency)}:
            return str(Money.of(amount, currency))
        case {"seconds": int() | float()}:
            return _span(value)
        case list():
            return ", ".join(_plain(item) for item in value)
    return "unknown" if value is None else str(value)


def _span(value: Mapping[str, float]) -> str:
    return span(timedelta(seconds=value["seconds"]))
