"""explain: why a resource is treated as it is, and what an action rested on."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, money, span
from costguard.cli.context import AsJson, Backend, ConfigFile, Server, screen
from costguard.cli.tables import View, money_of, name_of
from costguard.domain.money import Money


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
        view = _Story(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        if action:
            return view.explain_action(document)
        view.explain(document)


class _Story(View):
    """Renders the two documents of explain."""

    def explain(self, document: Mapping[str, Any]) -> None:
        resource, activity = document["resource"], document["activity"]
        say = self.screen.say
        say(f"{resource['name']}: {self._outlook(document['outlook'])}", "bold")
        say(f"  {resource['ref']}")
        owner = resource["owner"] or "nobody knows"
        found = f" ({resource['owner_found_by']})" if resource["owner_found_by"] else ""
        say(
            f"  {resource['state']} since {self.when(resource['started_at'])}, "
            f"{money(money_of(resource['price']), '/h')}, owner {owner}{found}"
        )
        say(f"  {activity['verdict']}: {activity['reason']}")
        if document["protection"]:
            say(f"  protected: {document['protection']['why']}", "yellow")
        for source in document["sources"]:
            state = "stale" if source["state"] == "ok" and not source["fresh"] else source["state"]
            if state != "ok" or source["error"]:
                words = [source["source"], *([state] if state != "ok" else []), *filter(None, [source["error"]])]
                say(f"  {': '.join(words)}", "yellow")
        # Which source says what matters most where several speak.
        several = len({s["source"] for s in document["signals"]}) > 1
        self.screen.table(
            "\nsignals",
            [
                Column("METRIC"), Column("CARD", right=True), Column("SOURCE", drop=0 if several else 1),
                Column("WINDOW", right=True), Column("MAX", right=True),
                Column("MEAN", right=True, drop=1 if several else 0), Column("COVERAGE", right=True),
                Column("NEWEST", right=True),
            ],
            [
                [
                    s["metric"], "-" if s["gpu_index"] is None else str(s["gpu_index"]), s["source"],
                    _span(s["window"]), _amount(s["metric"], s["max"]), _amount(s["metric"], s["mean"]),
                    f"{s['coverage']:.0%}", f"{_span(s['age'])} ago",
                ]
                for s in document["signals"]
            ],
            "  no usage samples at all: unknown, and so never stopped for being idle",
        )  # fmt: skip
        say("")
        for policy in document["policies"]:
            self._policy(policy)

    def _outlook(self, ahead: Mapping[str, Any]) -> str:
        """What happens next, when, and why or why not."""
        do, policy, why, code = ahead["response"], ahead["policy"], ahead["reason"], ahead["code"]
        at = f" at {self.when(ahead['at'])}" if ahead["at"] else ""
        match ahead["prospect"]:
            case "under_way":
                return f"{do} is under way ({policy})"
            case "now":
                return f"{do} in the next round ({policy}): nothing is against it"
            case "later":
                return f"{do}{at} ({policy}); until then {code}: {why}"
            case "dry_run":
                dry = "the account is not armed" if code == "not_armed" else "this is a dry run"
                return f"would {do}{at} ({policy}), but {dry}: nothing is done"
            case "refused":
                return f"no {do} ({policy}): {code}: {why}"
            case "told":
                return f"people are told ({policy}: {why}), nothing is done"
            case "unknown":
                return f"nothing is done: it cannot be told ({policy}: {why})"
            case _:
                return (
                    f"nothing is done: {why}"
                    if policy is None
                    else f"nothing is done: no policy claims it ({policy}: {why})"
                )

    def explain_action(self, document: Mapping[str, Any]) -> None:
        action, say = document["action"], self.screen.say
        say(f"{action['response']} of {name_of(action['subject'])}  {action['id']}", "bold")
        state = action["state"] + (" (dry run)" if action["dry_run"] else "")
        say(f"  {action['policy']} ({action['rule']}): {state}, {action['code']} {action['reason']}".rstrip())
        say(
            f"  holds since {self.when(action['since'])}, warned {self.when(action['warned_at'])}, "
            f"due {self.when(action['due_at'])}, called {self.when(action['executed_at'])}"
        )
        say("  the evidence kept with it:")
        for key, value in sorted(action["evidence"].items()):
            say(f"    {key}: {_plain(value)}")
        self.screen.table(
            "\nlooks and verdicts",
            [Column("AT"), Column("WHAT"), Column("CODE"), Column("TEXT", flexible=True), Column("BY")],
            [[self.when(e["at"]), e["kind"], e["code"] or "-", e["text"], e["actor"]] for e in document["history"]],
            "  nothing was written down",
        )
        self.screen.table(
            "\nmessages",
            [Column("AT"), Column("KIND"), Column("CHANNEL"), Column("STATE"), Column("ERROR", flexible=True)],
            [
                [self.when(m["sent_at"] or m["created_at"]), m["kind"], m["channel"], m["state"], m["error"] or ""]
                for m in document["messages"]
            ],
            "  nobody was told",
        )
        if saving := document["saving"]:
            say(f"saved {money(money_of(saving['amount']))} since {self.when(saving['since'])}")
        if output := action["hook_output"]:
            say(f"the hook said: {output}")

    def _policy(self, policy: Mapping[str, Any]) -> None:
        say = self.screen.say
        if not policy["matched"]:
            say(f"- {policy['policy']} ({policy['rule']}): does not match: {policy['why_not']}", "dim")
            return
        mode, own = policy["effective_mode"], policy["mode"]
        say(f"- {policy['policy']} ({policy['rule']}, {mode}{'' if mode == own else f'; its own mode: {own}'})", "bold")
        for ladder in policy["ladders"]:
            say(f"    {ladder['outcome']}: {ladder['reason']}")
            verdict = ladder["verdict"]
            if verdict:
                due = f", due {self.when(ladder['due_at'])}" if ladder["due_at"] else ""
                say(f"    {ladder['response']}: {verdict['answer']} {verdict['code']}: {verdict['reason']}{due}")
            for guard in ladder["guards"]:
                if guard["answer"] != "allow" and not (verdict and guard["code"] == verdict["code"]):
                    say(f"    also: {guard['answer']} {guard['code']}: {guard['reason']}", "yellow")
            for change in ladder["changes"]:
                say(f"    would change when {change}", "cyan")


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


def _amount(metric: str, value: float) -> str:
    """A value with its unit: ``3.0%``, ``0.4 cores``, ``39.6 KB/s``."""
    if metric in ("network", "disk"):
        for unit in ("B/s", "KB/s", "MB/s"):
            if value < 1000:
                return f"{value:.1f} {unit}"
            value /= 1000
        return f"{value:.1f} GB/s"
    return f"{value:.1f}{_UNITS.get(metric, '%')}"


_UNITS = {"cpu_cores": " cores", "connections": "/s"}
