"""The database: upgrade, check, backup, restore."""

from pathlib import Path
from typing import Annotated

import typer

from costguard.cli.context import ConfigFile, load_config, person, screen, spoken

group = typer.Typer(no_args_is_help=True, help="Look after the database.")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="db")


@group.command()
def upgrade(ctx: typer.Context, config: ConfigFile = None) -> None:
    """Bring the schema to this version. A SQLite file is copied first; three copies are kept."""
    from costguard.store.database import Database

    loaded = load_config(ctx, config)
    on, database = screen(False, spoken(ctx, loaded)), Database(loaded.database_url())
    database.upgrade()
    on.say(on.t("db.current", address=database.address))


@group.command()
def check(ctx: typer.Context, config: ConfigFile = None) -> None:
    """Whether the schema is this version's. Exit 1 when it is not."""
    from costguard.cli import errors
    from costguard.errors import SchemaBehind
    from costguard.store.database import Database

    loaded = load_config(ctx, config)
    on, database = screen(False, spoken(ctx, loaded)), Database(loaded.database_url())
    try:
        database.check()
    except SchemaBehind as error:
        on.warn(errors.told(error, on.language))
        raise typer.Exit(1) from None
    on.say(on.t("db.current", address=database.address))


@group.command()
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy.")],
    config: ConfigFile = None,
    force: Annotated[bool, typer.Option("--force", help="Also over a file that is there.")] = False,
) -> None:
    """A consistent copy of a SQLite database, also while the daemon runs. Never over another file unless told so."""
    from costguard.errors import UsageError
    from costguard.store.database import Database

    if file.exists() and not force:
        raise UsageError(f"{file} exists: name another file, or say --force")
    loaded = load_config(ctx, config)
    Database(loaded.database_url()).backup(file)
    on = screen(False, spoken(ctx, loaded))
    on.say(on.t("wrote", path=file))


@group.command()
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, help="A backup.")],
    config: ConfigFile = None,
) -> None:
    """Put a backup in the database's place. Open actions are cancelled, and costguard starts paused.

    What was there is kept beside it and named; restore that file to go back. When everything looks right,
    `costguard resume` starts every ladder anew, with a fresh warning.
    """
    from costguard.net.clock import SystemClock
    from costguard.store.database import Database

    loaded = load_config(ctx, config)
    on, database = screen(False, spoken(ctx, loaded)), Database(loaded.database_url())
    kept = database.restore(file, now=SystemClock().now(), by=person())
    on.say(on.t("db.restored"))
    if kept is not None:
        on.say(on.t("db.kept", path=kept))
