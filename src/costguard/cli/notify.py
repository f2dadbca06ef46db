"""Messages: test, dead, replay."""

from typing import Annotated

import typer

from costguard.cli.console import Column, when
from costguard.cli.context import AsJson, ConfigFile, load_config, open_app, screen, spoken

group = typer.Typer(no_args_is_help=True, help="Try channels, and list or resend what could not be delivered.")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="notify")


@group.command("test")
def try_channel(
    ctx: typer.Context,
    channel: Annotated[str, typer.Option("--channel", metavar="NAME", help="The channel's name.")],
    config: ConfigFile = None,
) -> None:
    """Send a real test message to a channel, and explain what it answers. Exit 3 when it is not accepted."""
    from costguard.app.doctor import Finding, send_test
    from costguard.app.said import spoken as said
    from costguard.config.hints import near
    from costguard.errors import UsageError

    loaded = load_config(ctx, config)
    on = screen(False, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        names = [worker.channel.name for worker in app.workers]
        if channel not in names:
            if not names:
                raise UsageError(f"no channel {channel!r}: none is configured")
            hint = f" ({meant})" if (meant := near(channel, names)) else ""
            raise UsageError(f"no channel {channel!r}{hint}; channels:", names)
        found = send_test(app, channel)
    finally:
        app.close()
    text, hint = said(found.text, on.language), said(found.hint, on.language)
    if found.finding is Finding.OK:
        on.say(f"{channel}{on.colon}{text}", "green")
        return
    on.warn(text + (f"\n  -> {hint}" if hint else ""))
    raise typer.Exit(3)


@group.command()
def dead(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Messages that were given up, with the reason."""
    from costguard.app.said import spoken as said
    from costguard.daemon.documents import listing, notice_json
    from costguard.domain.notice import NoticeState
    from costguard.store import outbox

    loaded = load_config(ctx, config)
    on = screen(as_json, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        with app.database.read() as conn:
            found = outbox.list_notices(conn, states=[NoticeState.DEAD])
    finally:
        app.close()
    if as_json:
        on.document(listing("notices", "notices", (notice_json(n) for n in found)))
        return
    zone, now = app.config.settings.timezone, app.clock.now()
    on.table(
        "",
        [
            Column(on.t("actions.id")), Column(on.t("kind")), Column(on.t("channel"), drop=1),
            Column(on.t("notify.since")), Column(on.t("notify.tries"), right=True, drop=2),
            Column(on.t("sources.error"), flexible=True),
        ],
        [
            [n.id, on.t(f"notice.{n.kind.value}"), n.channel, when(n.created_at, now, zone), str(n.attempts),
             said(n.last_error or "", on.language)]
            for n in found
        ],
        on.t("notify.none"),
    )  # fmt: skip


@group.command()
def replay(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which (default: all).")] = None,
    config: ConfigFile = None,
) -> None:
    """Queue dead messages again; the daemon sends them.

    Example: repair the channel, see that `costguard notify test --channel ops` is accepted, `costguard notify replay`
    """
    from costguard.store import outbox

    loaded = load_config(ctx, config)
    on = screen(False, spoken(ctx, loaded))
    app = open_app(loaded)
    try:
        with app.database.write() as conn:
            again = outbox.replay(conn, app.clock.now(), ids or None)
    finally:
        app.close()
    messages = on.count("message", len(again))
    on.say(on.t("notify.again", messages=messages) if again else on.t("notify.nothing"))
