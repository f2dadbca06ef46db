"""Tables of what is known: fleet, findings, actions, ledger, sources."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from costguard.cli.console import Column, Screen, ago, money, span, when
from costguard.cli.context import AsJson, Backend, ConfigFile, Server, screen
from costguard.cli.words import activity, do, reading, rule, source, state
from costguard.domain.codec import decode
from costguard.domain.money import Money, total
from costguard.notify.words.sentences import translated
from costguard.web.words import word

_Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=500, help="How many lines at most.")]


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
        view = View(screen(as_json, backend.language), backend)
        if as_json:
            return view.screen.document(document)
        t = view.screen.t
        rows = document["resources"]
        if pause := document.get("paused"):  # an older server does not tell
            view.screen.banner(pause, view.when(pause["until"]) if pause["until"] else "")
        shown = [r for r in rows if everything or _burns(r)]
        view.screen.table(
            "",
            [
                Column(t("name"), flexible=True, style="bold"),
                Column(t("fleet.hardware"), drop=1),
                Column(t("fleet.use")),
                Column(t("fleet.price"), right=True),
                Column(t("by.owner")),
                Column(t("fleet.up"), right=True, drop=2),
                Column(t("account"), drop=3),
                Column(t("fleet.status"), flexible=True),
            ],
            [view.fleet_row(r) for r in shown],
            t("fleet.none"),
        )
        view.burn(rows)
        hidden = len(rows) - len(shown)
        if hidden:
            costly = [r for r in rows if not _burns(r) and money_of(_billed(r))]
            also = t("fleet.together", costs=view.sum(costly)) if costly else ""
            view.screen.say(t("fleet.hidden", n=hidden, also=also), "dim")


def findings(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """What the policies claim now, the most wasteful first."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("findings")
        view = View(screen(as_json, backend.language), backend)
        if as_json:
            return view.screen.document(document)
        t = view.screen.t
        view.screen.table(
            "",
            [
                Column(t("resource"), flexible=True, style="bold"),
                Column(t("policy")),
                Column(t("rule"), drop=1),
                Column(t("findings.since"), right=True),
                Column(t("waste"), right=True),
            ],
            [
                [
                    name_of(f["subject"]),
                    f["policy"],
                    rule(f["rule"], backend.language),
                    view.ago(f["since"]),
                    money(money_of(f["waste_per_hour"])),
                ]
                for f in document["findings"]
            ],
            t("findings.none"),
        )


def actions(
    ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None, limit: _Limit = 50
) -> None:
    """Ladders, newest first: who is warned, what is due, what was stopped, what was refused and why."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("actions")
        view = View(screen(as_json, backend.language), backend)
        if as_json:
            return view.screen.document(document)
        t = view.screen.t
        view.screen.table(
            "",
            [
                Column(t("actions.id")),
                Column(t("resource"), flexible=True, style="bold"),
                Column(t("policy"), drop=2),
                Column(t("actions.do"), drop=1),
                Column(t("status"), flexible=True),
                Column(t("actions.warned"), right=True, drop=3),
                Column(t("actions.due"), right=True),
            ],
            [
                [
                    a["id"],
                    name_of(a["subject"]),
                    a["policy"],
                    view.do(a["subject"], a["response"]),
                    view.stands(a),
                    view.when(a["warned_at"]),
                    view.when(_next(a)),
                ]
                for a in document["actions"][:limit]
            ],
            t("actions.none"),
        )


def ledger(
    ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None, limit: _Limit = 50
) -> None:
    """The history: every action, refusal, deferral and lever, newest first."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("ledger")
        view = View(screen(as_json, backend.language), backend)
        if as_json:
            return view.screen.document(document)
        t = view.screen.t
        view.screen.table(
            "",
            [
                Column(t("at")),
                Column(t("ledger.what")),
                Column(t("resource"), flexible=True, style="bold"),
                Column(t("ledger.text"), flexible=True),
                Column(t("ledger.by"), drop=2),
                Column(t("ledger.money"), right=True, drop=1),
            ],
            [
                [
                    view.when(e["at"]),
                    t(f"ledger.{e['kind']}"),
                    name_of(e["subject"]) if e["subject"] else "-",
                    view.history(e),
                    e["actor"],
                    money(money_of(e["money"])),
                ]
                for e in document["entries"][:limit]
            ],
            t("ledger.none"),
        )


def sources(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False, server: Server = None) -> None:
    """How every source of every account and region is doing. Exit 69 when one that should be readable is not."""
    with Backend(ctx, config, server) as backend:
        document = backend.table("sources")
        view = View(screen(as_json, backend.language), backend)
        rows: Sequence[Mapping[str, Any]] = document["sources"]
        if as_json:
            view.screen.document(document)
        else:
            t = view.screen.t
            view.screen.table(
                "",
                [
                    Column(t("account")),
                    Column(t("sources.region")),
                    Column(t("source")),
                    Column(t("status")),
                    Column(t("sources.count"), right=True, drop=1),
                    Column(t("sources.age"), right=True),
                    Column(t("sources.error"), flexible=True),
                ],
                [
                    [
                        s["account"],
                        s["region"],
                        source(s["source"], backend.language),
                        reading(s["state"], backend.language),
                        str(s["count"]),
                        "-" if s["age_s"] is None else span(timedelta(seconds=s["age_s"]), backend.language),
                        view.say(s["error"] or ""),
                    ]
                    for s in rows
                ],
                t("sources.none"),
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
        self.language = on.language
        self.t = on.t

    def when(self, text: str | None) -> str:
        return when(_instant(text), self.now, self.zone)

    def ago(self, text: str | None) -> str:
        return ago(_instant(text), self.now, self.language)

    def say(self, sentence: str) -> str:
        """A sentence that is kept in English, in the terminal's language."""
        return translated(sentence, self.language)

    def do(self, subject: Mapping[str, Any], response: str) -> str:
        """What a rung does, as a word: in the provider's own where it has one."""
        return do(response, subject.get("provider", ""), self.language)

    def guard(self, code: str) -> str:
        """A guard's code in words, as the pages say it."""
        return word(f"guard.{code}", self.language)

    def stands(self, action: Mapping[str, Any]) -> str:
        """``warned``, ``deferred: limit reached``, ``recorded (dry run)``: a state, and what it waits for."""
        state, code = action["state"], action["code"]
        text = self.t(f"action.{state}")
        if code not in _PLAIN and state not in _ENDED:
            text += self.screen.colon + self.guard(code)
        return text + self.t("aside", text=self.guard("dry_run")) if action["dry_run"] and state != "recorded" else text

    def history(self, entry: Mapping[str, Any]) -> str:
        """A line of the ledger: its own English sentence, or what the pages make of what it records."""
        if self.language == "en":
            return str(entry["text"])
        from costguard.daemon.documents import ledger_entry
        from costguard.rules.currency import Rates
        from costguard.web.settings import PageSettings
        from costguard.web.speech import Speech

        settings = PageSettings(self.zone, "", "", Rates("", {}), ())
        told = Speech(settings, self.now, self.language).told(ledger_entry(entry))
        return told.removeprefix(self.t(f"ledger.{entry['kind']}") + self.screen.colon)

    def fleet_row(self, row: Mapping[str, Any]) -> list[str]:
        compute = row["subject"]["kind"] in _COMPUTE
        up = self.ago(row["started_at"]) if compute and row["state"] == "running" else "-"
        return [
            name_of(row["subject"]),
            _hardware(row),
            activity(row["activity"], self.language) if compute else state(row["state"], self.language),
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
            on = {"n": len(running), "costs": self.sum(running), "idle": len(idle), "waste": self.sum(idle)}
            self.screen.say(self.t("fleet.burn" if idle else "fleet.at_work", **on), "bold")
        if charged := [r for r in rows if r["activity"] == "off" and _burns(r)]:
            self.screen.say(self.t("fleet.off", n=len(charged), costs=self.sum(charged)), "bold yellow")

    def sum(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """``¥55.80/h``, with each currency on its own and a word on boxes without a price."""
        prices = [money_of(_billed(row)) for row in rows]
        sums = " + ".join(f"{amount}/h" for amount in total(price for price in prices if price is not None))
        without = self.t("fleet.unpriced", n=prices.count(None)) if None in prices else ""
        return self.t("fleet.and").join(filter(None, (sums, without))) or self.t("fleet.nothing")

    def _status(self, row: Mapping[str, Any]) -> str:
        if keep := row["keep"]:
            return self.t("fleet.kept", until=self.when(keep["until"]), by=keep["by"])
        action = row["action"]
        charged = self.t("fleet.charged") if row["activity"] == "off" and _burns(row) else ""
        if action is None or action["state"] in ("cancelled", "superseded"):
            return charged
        what = self.do(row["subject"], action["response"])
        told = {"do": what, "policy": action["policy"], "error": self.say(action["error"] or action["reason"])}
        match action["state"]:
            case "done" if action["response"] == "stop":
                return self.t("fleet.stopped", at=self.when(action["executed_at"]), **told)
            case "done":
                return self.t("fleet.done", **told)
            case "failed":
                return self.t("fleet.failed", **told)
        if action["response"] == "notify":
            return self.t("fleet.and_told").join(filter(None, (charged, self.t("fleet.told", **told))))
        if (retry := action.get("retry_at")) and action["error"]:
            return self.t("fleet.again", at=self.when(retry), **told)
        if barred := row.get("barred"):
            return self.t("fleet.barred", why=self.guard(barred), **told)
        if action["code"] in _PLAIN and action["due_at"]:
            key = "fleet.would" if action["dry_run"] else "fleet.due"
            return self.t(key, at=self.when(action["due_at"]), **told)
        if action["code"] in _PLAIN and action["warned_at"]:
            return self.t("fleet.warned", at=self.when(action["warned_at"]), **told)
        return self.t("fleet.barred", why=self.guard(action["code"]), **told)


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


def _hardware(row: Mapping[str, Any]) -> str:
    """``8x A100 80G``, ``T4``, ``p9.large (? GPU)`` where the count is not known, else the type."""
    gpus = row["gpus"]
    if not gpus:
        return row["sku"] or "-"
    if gpus["count"] is None:
        return f"{row['sku'] or ''} (? GPU)".lstrip()
    model = gpus["model"].removeprefix("NVIDIA ")
    return model if gpus["count"] == "1" else f"{gpus['count']}x {model}"
