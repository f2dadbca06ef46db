"""What commands share: options, the loaded configuration, and the way to the tables, local or over the API."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from costguard.cli.console import Screen
from costguard.cli.language import ENV, chosen, of_terminal
from costguard.errors import ConfigError, ConfigErrors, CostguardError
from costguard.web.words import Language

if TYPE_CHECKING:
    from costguard.app.app import App
    from costguard.config.load import Config

CONFIG = "costguard.yaml"

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help=f"The configuration (default {CONFIG})."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout; logs go to stderr.")]
Server = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", envvar="COSTGUARD_SERVER", help="Ask a running costguard over its API instead."
    ),
]
Resource = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="An id, account/id, a full ref, or a name that is unique.")
]


@dataclass
class Globals:
    """Options given before the command, and the language of the configuration once it is read."""

    config: Path | None = None
    lang: str = ""
    configured: str = ""


def config_path(ctx: typer.Context, given: Path | None) -> Path:
    """The configuration's path: the command's option, the one before it, COSTGUARD_CONFIG, or the default."""
    shared = ctx.find_object(Globals)
    chosen = given or (shared.config if shared else None)
    return chosen or Path(os.environ.get("COSTGUARD_CONFIG", CONFIG))


def load_config(ctx: typer.Context, given: Path | None) -> "Config":
    """The configuration, its warnings told on stderr. Raises ConfigErrors."""
    from costguard.config.load import load

    path = config_path(ctx, given)
    if not path.exists():
        raise ConfigError(f"{path}: no such file", hint="make one with `costguard init`, or name another with -c")
    loaded = load(path, os.environ)
    if shared := ctx.find_object(Globals):
        shared.configured = loaded.settings.language
    return loaded


def open_app(config: "Config", *, level: str = "WARNING") -> "App":
    """The application on the machine's clock, with logging that masks the configuration's secrets.

    A single command tells of trouble alone; the daemon logs from INFO on. COSTGUARD_LOG beats both.
    """
    from costguard.app.app import App
    from costguard.cli.logs import setup
    from costguard.net.clock import SystemClock

    app = App.open(config, SystemClock())
    setup(app.redactor, os.environ.get("COSTGUARD_LOG", level))
    return app


def person() -> str:
    """Who pulls a lever at this terminal, for the ledger: ``cli:USER``."""
    return f"cli:{os.environ.get('SUDO_USER') or os.environ.get('USER') or os.environ.get('LOGNAME') or 'operator'}"


class Backend:
    """Tables and levers, of the database beside the configuration or of a running costguard."""

    def __init__(self, ctx: typer.Context, config: Path | None, server: str | None) -> None:
        self._app: App | None = None
        self._remote = None
        if server:
            from costguard.cli.remote import Remote

            self.language = spoken(ctx)
            self._remote = Remote(server, os.environ.get("COSTGUARD_TOKEN"))
            return
        from costguard.app.serve import site_of
        from costguard.web.api import Service

        loaded = load_config(ctx, config)
        self.language = spoken(ctx, loaded)
        self._app = open_app(loaded)
        self._service = Service(site_of(self._app))

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *_: object) -> None:
        if self._app is not None:
            self._app.close()

    @property
    def zone(self) -> ZoneInfo:
        """Whose local time is shown: the configuration's, and this machine's COSTGUARD_TIMEZONE for a remote one."""
        if self._app is not None:
            return self._app.config.settings.timezone
        return ZoneInfo(os.environ.get("COSTGUARD_TIMEZONE") or "UTC")

    def now(self) -> datetime:
        """The present, aware UTC."""
        from costguard.net.clock import SystemClock

        return SystemClock().now()

    def table(self, name: str, query: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        if self._remote is not None:
            return self._remote.table(name, query or {})
        return self._service.table(name, query)

    def pull(self, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._remote is not None:
            return self._remote.pull(name, values)
        from costguard.daemon.levers import Person

        return self._service.pull(name, values, Person(person()))


def spoken(ctx: typer.Context, config: "Config | None" = None) -> Language:
    """The language of this command: --lang, COSTGUARD_LANG, the configuration's, the terminal's. Raises UsageError."""
    shared = ctx.find_object(Globals)
    option, variable = shared.lang if shared else "", os.environ.get(ENV, "")
    named, name = (option, "--lang") if option else (variable, ENV)
    if named not in ("", "zh", "en"):
        from costguard.errors import UsageError

        raise UsageError(f"{name} is zh or en, not {named!r}")
    return chosen(named, config.settings.language if config is not None else of_terminal(os.environ))


def understood(ctx: typer.Context, error: CostguardError) -> Language:
    """The language in which an error is told: as :func:`spoken`, and never an error itself.

    Of a configuration that cannot be loaded it is the language that is written in it, where that can be read.
    """
    shared = ctx.find_object(Globals) or Globals()
    written = error.language if isinstance(error, ConfigErrors) else shared.configured
    return chosen(shared.lang, os.environ.get(ENV, ""), written, of_terminal(os.environ))


def screen(as_json: bool, language: Language = "en") -> Screen:
    return Screen(as_json=as_json, language=language)


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing: a report read while it is written must not be half of one. Raises UsageError."""
    from costguard.errors import UsageError

    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, "utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
