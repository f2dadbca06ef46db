"""explain: why a resource is treated as it is, and what an action rested on."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from costguard.cli import evidence
from costguard.cli.console import Column, money
from costguard.cli.context import AsJson, Backend, ConfigFile, Server, screen
from costguard.cli.story import Story
from costguard.cli.tables import View, money_of, name_of
from costguard.cli.words import rule
from costguard.domain.codec import decode, instant
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
        on = screen(as_json, backend.language)
        if as_json:
            return on.document(document)
        if action:
            return _Rested(on, backend).tell(document)
        Story(on, backend).tell(document)


class _Rested(View):
    """Renders ``costguard.explain_action/1``: what an action rested on."""

    def tell(self, document: Mapping[str, Any]) -> None:
        action, t = document["action"], self.t
        recorded = action["state"] == "recorded"
        state = t("rested.recorded" if recorded else f"action.{action['state']}")
        if action["dry_run"] and not recorded:
            state += t("aside", text=self.guard("dry_run"))
        what, name = self.do(action["subject"], action["response"]), name_of(action["subject"])
        self.screen.say(t("rested", do=what, name=name, state=state), "bold")
        self.screen.facts(self._head(document))
        self.screen.table(
            "\n" + t("rested.history"),
            [
                Column(t("at")), Column(t("ledger.what")), Column(t("ledger.text"), flexible=True),
                Column(t("ledger.by"), drop=1),
            ],
            [
                [self.when(e["at"]), t(f"ledger.{e['kind']}"), self.history(e), e["actor"]]
                for e in document["history"]
            ],
            "\n" + t("rested.no_history"),
        )  # fmt: skip
        self.screen.table(
            "\n" + t("rested.messages"),
            [
                Column(t("at")), Column(t("kind")), Column(t("channel")), Column(t("status")),
                Column(t("rested.note"), flexible=True),
            ],
            [
                [
                    self.when(m["sent_at"] or m["created_at"]), t(f"notice.{m['kind']}"), m["channel"],
                    t(f"sent.{m['state']}"), self._note(m),
                ]
                for m in document["messages"]
            ],
            "\n" + t("rested.no_messages"),
        )  # fmt: skip
        self.screen.say("\n" + t("rested.evidence"), "bold")
        self.screen.facts(evidence.lines(action["evidence"], self.language, _seen(action), self.zone))

    def _head(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        action, t = document["action"], self.t
        named = rule(action["rule"], self.language)
        yield t("label.action"), t("rested.of", id=action["id"], policy=action["policy"], rule=named)
        facts = {"rule": action["rule"], "evidence": action["evidence"], "since": action["since"]}
        seen = _seen(action)
        yield t("label.why"), words(self.language).evidence(Doc({**facts, "at": instant(seen)}), seen, self.zone)
        if action["reason"]:
            yield t("label.now"), self.say(action["reason"])
        yield from ((t("label.unseen"), self.history(e)) for e in document["history"] if e["kind"] == "unseen_work")
        if action["error"] and action["error"] != action["reason"]:
            yield t("label.failed"), self.say(action["error"])
        if action["retry_at"] and action["state"] == "deferred":
            yield t("label.again"), t("rested.again", n=action["attempt"] + 1, at=self.when(action["retry_at"]))
        times = [("held", "since"), ("warned", "warned_at"), ("due", "due_at"), ("called", "executed_at")]
        told = [t(f"rested.{key}", at=self.when(action[at])) for key, at in times if action[at]]
        yield t("label.times"), self.screen.comma.join(told)
        if saving := document["saving"]:
            amount, since = money(money_of(saving["amount"])), self.when(saving["since"])
            yield t("label.saved"), t("rested.saved", amount=amount, at=since)
        yield from ((t("label.hook"), line) for line in _last_lines(action["hook_output"]))

    def _note(self, message: Mapping[str, Any]) -> str:
        return self.t("rested.digested") if message["reason"] == "digested" else self.say(message["error"] or "")


def _seen(action: Mapping[str, Any]) -> datetime:
    """The last time that it was looked at: "for 45 min" then, not since."""
    return decode(action["executed_at"] or action["updated_at"])  # type: ignore[no-any-return]


def _last_lines(output: str | None) -> list[str]:
    """The end of what a hook said, harmless to a terminal; all that is kept of it is in the JSON document."""
    lines = [cut(clean(line), _LINE) for line in (output or "").splitlines()]
    return [line for line in lines if line][-_LINES:]
