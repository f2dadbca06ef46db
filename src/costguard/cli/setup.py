"""Before it runs: init, check, doctor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from costguard.cli.console import Screen
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, spoken
from costguard.cli.words import step

if TYPE_CHECKING:
    from costguard.config.check import PolicyCheck


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(check)
    app.command()(doctor)


def init(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to write (default: here).")] = Path(),
    providers: Annotated[
        str, typer.Option("--providers", "-p", metavar="a,b", help="aliyun, tencent, aws, simulated …")
    ] = "simulated",
) -> None:
    """Write a commented starter configuration and policies. Never overwrites.

    Example: `costguard init ops --providers aliyun,tencent --lang zh`
    """
    from costguard.config.init import init as write
    from costguard.config.init import variables

    chosen = [name.strip() for name in providers.split(",") if name.strip()]
    language = spoken(ctx)
    written = write(directory, chosen, language)
    on = screen(False, language)
    for path in written:
        on.say(on.t("wrote", path=path))
    needed = variables(chosen)
    if needed:
        on.say(on.t("init.set", names=on.list_comma.join(needed)))
    where = "" if directory == Path() else f" -c {directory / 'costguard.yaml'}"
    on.say(on.t("init.next", where=where))


def check(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Everything that can be known without the network; ends with what each policy would do. Exit 78 on a mistake."""
    from costguard.cli import errors
    from costguard.config.check import check as examine

    loaded = load_config(ctx, config)
    on = screen(as_json, spoken(ctx, loaded))
    resources = None
    if (path := loaded.database_url().removeprefix("sqlite:///")) != loaded.database_url() and Path(path).exists():
        # Only then is the database module worth its import: a first check has no inventory.
        from costguard.errors import StoreError
        from costguard.store import inventory
        from costguard.store.database import Database

        database = Database(loaded.database_url())
        try:
            database.check()
            with database.read() as conn:
                resources = inventory.resources(conn)
        except StoreError as error:
            on.warn(on.t("check.matches", error=errors.told(error, on.language)))
        finally:
            database.close()
    report = examine(loaded, resources)
    if as_json:
        on.document(
            {
                "schema": "costguard.check/1",
                "accounts": report.accounts,
                "channels": report.channels,
                "warnings": [str(w) for w in report.warnings],
                "policies": [
                    {"policy": p.policy, "rule": p.rule, "mode": p.mode, "steps": list(p.steps), "matches": p.matches,
                     "fenced": p.fenced, "hasty": p.hasty, "holidays": p.holidays}
                    for p in report.policies
                ],
            }
        )  # fmt: skip
        return
    for warning in report.warnings:
        on.warn(on.t("warning", text=errors.place(warning) + errors.told(warning, on.language)))
    counts = on.count("account", report.accounts), on.count("channel", report.channels)
    on.say(on.comma.join((*counts, on.count("policy", len(report.policies)))))
    for policy in report.policies:
        on.say(_policy(policy, on))
    if report.policies and all(policy.matches is None for policy in report.policies):
        on.say(on.t("check.later"), "dim")


def _policy(checked: "PolicyCheck", on: Screen) -> str:
    """``idle-dev enforce · matches 6 · warn at 2h, stop at 2h30m · fenced 2``."""
    mode, unarmed, _ = checked.mode.partition(" (")
    parts = [f"{checked.policy} {on.t(f'mode.{mode}')}" + (on.t("check.unarmed") if unarmed else "")]
    if checked.matches is not None:
        parts.append(on.t("check.matched", n=checked.matches))
    parts.append(on.list_comma.join(step(one, on.language) for one in checked.steps))
    if checked.holidays is not None:
        countries = on.list_comma.join(checked.holidays)
        parts.append(on.t("check.holidays", countries=countries) if countries else on.t("check.weekdays"))
    if checked.fenced:
        parts.append(on.t("check.fenced", n=checked.fenced))
    if checked.hasty:
        parts.append(on.t("check.hasty", n=checked.hasty))
    return " · ".join(parts)


def doctor(
    ctx: typer.Context,
    config: ConfigFile = None,
    as_json: AsJson = False,
    account: Annotated[str | None, typer.Option("--account", "-a", metavar="NAME", help="Only this account.")] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Also read usage, and name boxes that can't be seen.")
    ] = False,
    send: Annotated[bool, typer.Option("--send", help="Send a real test message to each channel.")] = False,
) -> None:
    """Prove identity, permissions, regions, use, channels and database, without side effects. Exit 1 on a fault.

    Example: `costguard doctor --account prod-aliyun --metrics`
    """
    from costguard.app.doctor import Finding, examine
    from costguard.app.said import spoken as said
    from costguard.errors import UsageError

    loaded = load_config(ctx, config)
    if account is not None and account not in loaded.accounts:
        raise UsageError(f"no account {account!r}", sorted(loaded.accounts))
    on = screen(as_json, spoken(ctx, loaded))
    app = open_app(loaded)
    styles = {Finding.OK: "green", Finding.INFO: "dim", Finding.WARNING: "yellow", Finding.FAULT: "bold red"}
    checks = []
    try:
        for found in examine(app, only=account, metrics=metrics, send=send):
            checks.append(found)
            area, text, hint = (said(part, on.language) for part in (found.area, found.text, found.hint))
            mark = on.t(f"doctor.{found.finding.value}")
            on.say(f"{mark}  {area}{on.colon}{text}" + (f"  -> {hint}" if hint else ""), styles[found.finding])
    finally:
        app.close()
    faults = [c for c in checks if c.finding is Finding.FAULT]
    if as_json:
        lines = [{"area": c.area, "finding": c.finding.value, "text": c.text, "hint": c.hint} for c in checks]
        on.document({"schema": "costguard.doctor/1", "ok": not faults, "checks": lines})
    else:
        warnings = sum(1 for c in checks if c.finding is Finding.WARNING)
        counts = on.count("fault", len(faults)), on.count("warning", warnings)
        on.say(on.comma.join(counts), "bold red" if faults else "bold")
    if faults:
        raise typer.Exit(1)
