"""Tables of what is known: fleet, findings, actions, ledger, sources, explain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Column, Screen, ago, money, when
from costguard.cli.context import AsJson, Backend, ConfigFile, Resource, Server, screen
from costguard.domain.codec import decode
from costguard.domain.money import Money

_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="How many lines at most.")]


def register(app: typer.Typer) -> None:
    app.command()(fleet)
    app.command()(findings)
    app.command()(actions)
    app.command()(ledger)
    app.command()(sources)
    app.command()(explain)


def fleet(
    ctx: typer.Context,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
    everything: Annotated[bool, typer.Option("--all", help="Disks, addresses and stopped boxes as well.")] = False,
) -> None:
    """Every resource with its activity, price, owner and what costguard thinks of it.

    Example: `costguard fleet --all`
    """
    with Backend(ctx, config, server) as backend:
        document = backend.table("fleet")
        view = _View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        rows = document["resources"]
        shown = [r for r in rows if everything or (r["subject"]["kind"] in _COMPUTE and r["activity"] != "off")]
        view.screen.table(
            "",
            [
                Column("NAME", flexible=True, style="bold"),
                Column("GPU"),
                Column("ACTIVITY"),
                Column("PRICE/H", right=True),
                Column("OWNER"),
                Column("UP", right=True),
                Column("ACCOUNT"),
                Column("STATUS", flexible=True),
            ],
            [view.fleet_row(r) for r in shown],
            "Nothing is running that costguard knows of. Run `costguard run --once` first, or see `costguard sources`.",
        )
        hidden = len(rows) - len(shown)
        if hidden:
            view.screen.say(f"{hidden} more with --all (stopped boxes, disks, addresses)", "dim")


def findings(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """What the policies claim now, the most wasteful first."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("findings")
        view = _View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("RESOURCE", flexible=True, style="bold"),
                Column("POLICY"),
                Column("RULE"),
                Column("SINCE", right=True),
                Column("WASTE/H", right=True),
            ],
            [
                [
                    _name(f["subject"]),
                    f["policy"],
                    f["rule"],
                    view.ago(f["since"]),
                    money(_money(f["waste_per_hour"])),
                ]
                for f in document["findings"]
            ],
            "No findings: nothing matches a policy right now.",
        )


def actions(
    ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None, limit: _Limit = 50
) -> None:
    """Ladders, newest first: who is warned, what is due, what was stopped, what was refused and why."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("actions")
        view = _View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("ID"),
                Column("RESOURCE", flexible=True, style="bold"),
                Column("POLICY"),
                Column("DO"),
                Column("STATE"),
                Column("WHY"),
                Column("WARNED", right=True),
                Column("DUE", right=True),
            ],
            [
                [
                    a["id"],
                    _name(a["subject"]),
                    a["policy"],
                    a["response"],
                    a["state"] + (" (dry run)" if a["dry_run"] else ""),
                    a["code"],
                    view.when(a["warned_at"]),
                    view.when(a["due_at"]),
                ]
                for a in document["actions"][:limit]
            ],
            "No actions yet.",
        )


def ledger(
    ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None, limit: _Limit = 50
) -> None:
    """The history: every action, refusal, deferral and lever, newest first."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("ledger")
        view = _View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("AT"),
                Column("WHAT"),
                Column("RESOURCE", flexible=True, style="bold"),
                Column("TEXT", flexible=True),
                Column("BY"),
                Column("MONEY", right=True),
            ],
            [
                [
                    view.when(e["at"]),
                    e["kind"],
                    _name(e["subject"]) if e["subject"] else "-",
                    e["text"],
                    e["actor"],
                    money(_money(e["money"])),
                ]
                for e in document["entries"][:limit]
            ],
            "The ledger is empty.",
        )


def sources(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """How every source of every account and region is doing. Exit 69 when one that should be readable is not."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("sources")
        view = _View(screen(as_json), backend)
        rows: Sequence[Mapping[str, Any]] = document["sources"]
        if as_json:
            view.screen.document(document)
        else:
            view.screen.table(
                "",
                [
                    Column("ACCOUNT"),
                    Column("REGION"),
                    Column("SOURCE"),
                    Column("STATE"),
                    Column("COUNT", right=True),
                    Column("AGE", right=True),
                    Column("ERROR", flexible=True),
                ],
                [
                    [
                        s["account"],
                        s["region"],
                        s["source"],
                        s["state"],
                        str(s["count"]),
                        "-" if s["age_s"] is None else f"{s['age_s']}s",
                        s["error"] or "",
                    ]
                    for s in rows
                ],
                "Nothing was polled yet. Run `costguard run --once`.",
            )
    if any(s["state"] in ("denied", "failed") for s in rows):
        raise typer.Exit(69)


def explain(
    ctx: typer.Context,
    resource: Resource,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="An earlier moment, like 2026-12-01T09:00+08:00.")
    ] = None,
) -> None:
    """Why a resource is treated as it is: every policy, signal and guard, and what would change the verdict.

    Example: `costguard explain train-a800-03`
    """
    with Backend(ctx, config, server) as backend:
        query = {"resource": resource} | ({"at": at} if at else {})
        document = backend.table("explain", query)
        view = _View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.explain(document)


_COMPUTE = frozenset({"vm", "notebook", "job", "endpoint"})


def _name(subject: Mapping[str, Any]) -> str:
    return str(subject.get("name") or subject.get("id"))


def _money(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money.of(value["amount"], value["currency"])


def _instant(text: str | None) -> datetime | None:
    return None if text is None else decode(text)


class _View:
    """Renders documents at this moment, in the configuration's time zone (UTC for a remote one)."""

    def __init__(self, on: Screen, backend: Backend) -> None:
        self.screen = on
        app = backend.app
        self.zone = app.config.settings.timezone if app else ZoneInfo("UTC")
        self.now = app.clock.now() if app else datetime.now(UTC)  # noqa: TID251 — a remote table has only this clock

    def when(self, text: str | None) -> str:
        return when(_instant(text), self.zone)

    def ago(self, text: str | None) -> str:
        return ago(_instant(text), self.now)

    def fleet_row(self, row: Mapping[str, Any]) -> list[str]:
        gpus = row["gpus"]
        return [
            _name(row["subject"]),
            f"{gpus['count']}x {gpus['model']}" if gpus else (row["sku"] or "-"),
            row["activity"],
            money(_money(row["price_per_hour"])),
            row["owner"] or "-",
            self.ago(row["started_at"]) if row["state"] == "running" else row["state"],
            row["subject"]["account"],
            self._status(row),
        ]

    def _status(self, row: Mapping[str, Any]) -> str:
        if keep := row["keep"]:
            return f"kept by {keep['by']} until {self.when(keep['until'])}: {keep['reason']}"
        action = row["action"]
        if action is None or action["state"] in ("cancelled", "superseded"):
            return ""
        text = f"{action['policy']}: {action['response']} {action['state']}"
        if action["state"] in ("done", "failed"):
            return text
        return f"{text} ({action['code']})" + (f", due {self.when(action['due_at'])}" if action["due_at"] else "")

    def explain(self, document: Mapping[str, Any]) -> None:
        resource, activity = document["resource"], document["activity"]
        say = self.screen.say
        say(f"{resource['name']}  {resource['ref']}", "bold")
        owner = resource["owner"] or "nobody knows"
        found = f" ({resource['owner_found_by']})" if resource["owner_found_by"] else ""
        say(
            f"  {resource['state']} since {self.when(resource['started_at'])}, "
            f"{money(_money(resource['price']), '/h')}, owner {owner}{found}"
        )
        say(f"  activity: {activity['verdict']}: {activity['reason']}")
        if document["protection"]:
            say(f"  protected: {document['protection']['why']}", "yellow")
        self.screen.table(
            "signals",
            [
                Column("METRIC"), Column("CARD", right=True), Column("SOURCE"), Column("WINDOW", right=True),
                Column("MAX", right=True), Column("MEAN", right=True), Column("COVERAGE", right=True),
                Column("AGE", right=True),
            ],
            [
                [
                    s["metric"], "-" if s["gpu_index"] is None else str(s["gpu_index"]), s["source"],
                    _span(s["window"]),
                    f"{s['max']:.1f}", f"{s['mean']:.1f}", f"{s['coverage']:.0%}", _span(s["age"]),
                ]
                for s in document["signals"]
            ],
            "  no usage samples at all: unknown, and so never stopped for being idle",
        )  # fmt: skip
        for policy in document["policies"]:
            self._policy(policy)

    def _policy(self, policy: Mapping[str, Any]) -> None:
        say = self.screen.say
        if not policy["matched"]:
            say(f"- {policy['policy']} ({policy['rule']}): does not match: {policy['why_not']}", "dim")
            return
        say(f"- {policy['policy']} ({policy['rule']}, {policy['mode']})", "bold")
        for ladder in policy["ladders"]:
            say(f"    {ladder['outcome']}: {ladder['reason']}")
            verdict = ladder["verdict"]
            if verdict:
                due = f", due {self.when(ladder['due_at'])}" if ladder["due_at"] else ""
                say(f"    {ladder['response']}: {verdict['answer']} {verdict['code']}: {verdict['reason']}{due}")
            for guard in ladder["guards"]:
                if guard["answer"] != "allow":
                    say(f"      {guard['answer']:<6}{guard['code']}: {guard['reason']}", "yellow")
            for change in ladder["changes"]:
                say(f"      would change when {change}", "cyan")


def _span(value: Mapping[str, float]) -> str:
    from datetime import timedelta

    from costguard.domain.time import format_duration

    return format_duration(timedelta(seconds=value["seconds"]))
