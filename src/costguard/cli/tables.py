"""Tables of what is known: fleet, findings, actions, ledger, sources."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, Screen, ago, money, span, when
from costguard.cli.context import AsJson, Backend, ConfigFile, Server, screen
from costguard.domain.codec import decode
from costguard.domain.money import Money, total
from costguard.web.words import word

_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="How many lines at most.")]


def register(app: typer.Typer) -> None:
    app.command()(fleet)
    app.command()(findings)
    app.command()(actions)
    app.command()(ledger)
    app.command()(sources)


def fleet(
    ctx: typer.Context,
    config: ConfigFile = None,
    as_json: AsJson = False,
    server: Server = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Disks, addresses and boxes that are off and cost nothing as well.")
    ] = False,
) -> None:
    """What runs, and what is off and still charged: its activity, cost, owner and what costguard thinks of it.

    Example: `costguard fleet --all`
    """
    with Backend(ctx, config, server) as backend:
        document = backend.table("fleet")
        view = View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        rows = document["resources"]
        if pause := document.get("paused"):  # an older server does not tell
            view.screen.banner(pause, view.when(pause["until"]) if pause["until"] else "")
        shown = [r for r in rows if everything or _burns(r)]
        view.screen.table(
            "",
            [
                Column("NAME", flexible=True, style="bold"),
                Column("HARDWARE", drop=1),
                Column("USE"),
                Column("PRICE/H", right=True),
                Column("OWNER"),
                Column("UP", right=True, drop=2),
                Column("ACCOUNT", drop=3),
                Column("STATUS", flexible=True),
            ],
            [view.fleet_row(r) for r in shown],
            "Nothing is running that costguard knows of. Run `costguard run --once` first, or see `costguard sources`.",
        )
        view.burn(rows)
        hidden = len(rows) - len(shown)
        if hidden:
            costs = _sum([r for r in rows if not _burns(r) and money_of(_billed(r))])
            also = "" if costs == "nothing" else f", together {costs}"
            view.screen.say(f"{hidden} more with --all (boxes that are off, disks, addresses{also})", "dim")


def findings(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """What the policies claim now, the most wasteful first."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("findings")
        view = View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("RESOURCE", flexible=True, style="bold"),
                Column("POLICY"),
                Column("RULE", drop=1),
                Column("SINCE", right=True),
                Column("WASTE/H", right=True),
            ],
            [
                [
                    name_of(f["subject"]),
                    f["policy"],
                    f["rule"],
                    view.ago(f["since"]),
                    money(money_of(f["waste_per_hour"])),
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
        view = View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("ID"),
                Column("RESOURCE", flexible=True, style="bold"),
                Column("POLICY", drop=2),
                Column("DO", drop=1),
                Column("STATE"),
                Column("WARNED", right=True, drop=3),
                Column("DUE", right=True),
            ],
            [
                [
                    a["id"],
                    name_of(a["subject"]),
                    a["policy"],
                    a["response"],
                    _state(a),
                    view.when(a["warned_at"]),
                    view.when(_next(a)),
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
        view = View(screen(as_json), backend)
        if as_json:
            return view.screen.document(document)
        view.screen.table(
            "",
            [
                Column("AT"),
                Column("WHAT"),
                Column("RESOURCE", flexible=True, style="bold"),
                Column("TEXT", flexible=True),
                Column("BY", drop=2),
                Column("MONEY", right=True, drop=1),
            ],
            [
                [
                    view.when(e["at"]),
                    e["kind"],
                    name_of(e["subject"]) if e["subject"] else "-",
                    e["text"],
                    e["actor"],
                    money(money_of(e["money"])),
                ]
                for e in document["entries"][:limit]
            ],
            "The ledger is empty.",
        )


def sources(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """How every source of every account and region is doing. Exit 69 when one that should be readable is not."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("sources")
        view = View(screen(as_json), backend)
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
                    Column("COUNT", right=True, drop=1),
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
                        "-" if s["age_s"] is None else span(timedelta(seconds=s["age_s"])),
                        s["error"] or "",
                    ]
                    for s in rows
                ],
                "Nothing was polled yet. Run `costguard run --once`.",
            )
    if any(s["state"] in ("denied", "failed") for s in rows):
        raise typer.Exit(69)


_COMPUTE = frozenset({"vm", "notebook", "job", "endpoint"})


def name_of(subject: Mapping[str, Any]) -> str:
    return str(subject.get("name") or subject.get("id"))


def money_of(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money.of(value["amount"], value["currency"])


def _instant(text: str | None) -> datetime | None:
    return None if text is None else decode(text)


def _state(action: Mapping[str, Any]) -> str:
    """``warned``, ``deferred: limit``, ``recorded (dry run)``: a state, and what it waits for."""
    state, code = action["state"], action["code"]
    text = state if code in _PLAIN or state in _ENDED else f"{state}: {code}"
    return f"{text} (dry run)" if action["dry_run"] and state != "recorded" else text


def _next(action: Mapping[str, Any]) -> str | None:
    """When it is due, or tried again after a failure."""
    at: str | None = action.get("retry_at") or action["due_at"]
    return at


_ENDED = frozenset({"done", "failed", "cancelled", "superseded"})
_PLAIN = frozenset({"ok", "not_due", "dry_run"})


class View:
    """Renders documents at this moment, in the configuration's time zone."""

    def __init__(self, on: Screen, backend: Backend) -> None:
        self.screen = on
        self.zone = backend.zone
        self.now = backend.now()

    def when(self, text: str | None) -> str:
        return when(_instant(text), self.now, self.zone)

    def ago(self, text: str | None) -> str:
        return ago(_instant(text), self.now)

    def fleet_row(self, row: Mapping[str, Any]) -> list[str]:
        compute = row["subject"]["kind"] in _COMPUTE
        up = self.ago(row["started_at"]) if compute and row["state"] == "running" else "-"
        return [
            name_of(row["subject"]),
            _hardware(row),
            row["activity"] if compute else row["state"],
            _cost(row),
            row["owner"] or "-",
            up,
            row["subject"]["account"],
            self._status(row),
        ]

    def burn(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """What runs, and what of it idles, in one line; each currency on its own."""
        running = [r for r in rows if r["subject"]["kind"] in _COMPUTE and r["activity"] != "off"]
        idle = [r for r in running if r["activity"] == "idle"]
        if running:
            self.screen.say(f"{len(running)} running, {_sum(running)}; {len(idle)} idle, {_sum(idle)}", "bold")
        if charged := [r for r in rows if r["activity"] == "off" and _burns(r)]:
            self.screen.say(f"{len(charged)} off and still charged, {_sum(charged)}", "bold yellow")

    def _status(self, row: Mapping[str, Any]) -> str:
        if keep := row["keep"]:
            return f"kept until {self.when(keep['until'])} by {keep['by']}"
        action = row["action"]
        charged = "off, still charged" if row["activity"] == "off" and _burns(row) else ""
        if action is None or action["state"] in ("cancelled", "superseded"):
            return charged
        policy, what, due = action["policy"], action["response"], self.when(action["due_at"])
        match action["state"]:
            case "done" if what == "stop":
                return f"stopped {self.when(action['executed_at'])} ({policy})"
            case "done":
                return f"{what} done ({policy})"
            case "failed":
                return f"{what} failed: {action['error'] or action['reason']}"
        if what == "notify":
            return f"{charged}{'; ' if charged else ''}told: {policy}"
        if (retry := action.get("retry_at")) and action["error"]:
            return f"{what} again {self.when(retry)} ({policy}): {action['error']}"
        if barred := row.get("barred"):
            return f"{_guard(barred)} ({policy})"
        if action["code"] in _PLAIN and action["due_at"]:
            return f"{'would ' if action['dry_run'] else ''}{what} at {due} ({policy})"
        if action["code"] in _PLAIN and action["warned_at"]:
            return f"warned {self.when(action['warned_at'])} ({policy})"
        return f"{_guard(action['code'])} ({policy})"


def _billed(row: Mapping[str, Any]) -> Mapping[str, str] | None:
    """What an hour costs now; an older server tells only the price."""
    billed: Mapping[str, str] | None = row.get("billed_per_hour", row["price_per_hour"])
    return billed


def _burns(row: Mapping[str, Any]) -> bool:
    """Whether it is a box that costs money now, or would if anybody knew its price."""
    if row["subject"]["kind"] not in _COMPUTE:
        return False
    if row["activity"] != "off":
        return True
    billed = money_of(row.get("billed_per_hour"))
    return billed is not None and billed.nanos > 0


def _cost(row: Mapping[str, Any]) -> str:
    """What an hour costs now; a box that is off and not charged costs nothing, whatever its price."""
    billed = money_of(_billed(row))
    return "-" if row["activity"] == "off" and (billed is None or not billed.nanos) else money(billed)


def _guard(code: str) -> str:
    """A guard's code in words, as the pages say it."""
    return word(f"guard.{code}", "en")


def _hardware(row: Mapping[str, Any]) -> str:
    """``8x A100 80G``, ``T4``, else the type."""
    gpus = row["gpus"]
    if not gpus:
        return row["sku"] or "-"
    model = gpus["model"].removeprefix("NVIDIA ")
    return model if gpus["count"] == "1" else f"{gpus['count']}x {model}"


def _sum(rows: Sequence[Mapping[str, Any]]) -> str:
    """``¥55.80/h``, with each currency on its own and a word on boxes without a price."""
    prices = [money_of(_billed(row)) for row in rows]
    sums = " + ".join(f"{amount}/h" for amount in total(price for price in prices if price is not None))
    unknown = prices.count(None)
    without = f"{unknown} without a known price"
    return " and ".join(part for part in (sums, without if unknown else "") if part) or "nothing"
