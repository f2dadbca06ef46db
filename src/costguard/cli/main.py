"""The command line: ``costguard COMMAND``. Each command is a thin verb; this module only finds it."""

import copy
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from costguard import __version__
from costguard.cli.context import Globals, understood
from costguard.cli.language import of_line
from costguard.errors import CostguardError
from costguard.web.words import Language

# In the order of the help. Only the module of the command that is asked for is loaded: all of them take longer than
# what most commands do.
MODULES: Mapping[str, tuple[str, ...]] = {
    "setup": ("init", "check", "doctor"),
    "service": ("run",),
    "money": ("audit", "spend"),
    "replay": ("backfill", "replay"),
    "tables": ("fleet", "findings", "actions", "ledger", "sources"),
    "explain": ("explain",),
    "levers": (
        "keep", "unkeep", "claim", "approve", "cancel", "dispute", "undo", "pause", "resume", "heartbeat",
    ),
    "demo": ("demo",),
    "bills": ("bills",),
    "policies": ("policies",),
    "notify": ("notify",),
    "database": ("db",),
}  # fmt: skip
"""Module → the commands that it registers."""

_JSON, _LANGUAGE = "costguard.json", "costguard.language"
# Click's UsageError, from the Click that this Typer uses: its own copy or the package.
_UsageError: Any = typer.BadParameter.__base__


def _speak(ctx: Any, _: object, given: str) -> None:
    if given:
        ctx.find_object(Globals).lang = given


def _with_language(command: Any, option: Any) -> None:
    """Takes the language after each command as well: who asks for one thinks of it last."""
    after = copy.copy(option)
    after.expose_value, after.callback = False, _speak
    command.params.append(after)
    for inner in getattr(command, "commands", {}).values():
        _with_language(inner, option)


def _with_help(command: Any, language: Language) -> None:
    """Gives every command its help in a language, laid out by us, and what completion says of each choice."""
    complete = type(command).shell_complete

    def show(ctx: Any, _: object) -> None:
        from costguard.cli import help

        help.show(ctx, language)

    def completions(ctx: Any, incomplete: str) -> Any:
        from costguard.cli import help

        return help.explained(ctx, command, complete(command, ctx, incomplete), language)

    command.format_help, command.shell_complete = show, completions
    for inner in getattr(command, "commands", {}).values():
        _with_help(inner, language)


def registered(module: str) -> dict[str, Any]:
    """The commands of one module, by name."""
    part = typer.Typer(rich_markup_mode="markdown")
    import_module(f"costguard.cli.{module}").register(part)
    return dict(typer.main.get_group(part).commands)


class Group(TyperGroup):
    """Loads a command when it is asked for. Turns our exceptions into words and exit codes, in one place, and with
    --json into a document."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in MODULES.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; for a name that no module has all are loaded, so that one like it can be suggested."""
        having = [module for module, names in MODULES.items() if cmd_name in names] or MODULES
        for module in having:
            if self.commands.keys().isdisjoint(MODULES[module]):
                self.commands.update(registered(module))
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _with_language(command, next(option for option in self.params if option.name == "lang"))
            _with_help(command, ctx.meta[_LANGUAGE])
        return name, command, rest

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_JSON] = "--json" in args
        ctx.meta[_LANGUAGE] = of_line(args, os.environ)
        _with_help(self, ctx.meta[_LANGUAGE])
        with _refusals(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _refusals(ctx):
            return super().invoke(ctx)


@contextmanager
def _refusals(ctx: Any) -> Iterator[None]:
    """What cannot be done is said, and ends the command with its exit code."""
    try:
        yield
    except BrokenPipeError:
        # Typer would call it a failure.
        _hush()
        raise typer.Exit(0) from None
    except CostguardError as error:
        from costguard.cli import errors

        raise typer.Exit(errors.report(error, understood(ctx, error), as_json=ctx.meta[_JSON])) from None
    except _UsageError as error:
        from costguard.cli import errors

        raise typer.Exit(errors.refuse(error, ctx.meta[_LANGUAGE], as_json=ctx.meta[_JSON])) from None


app = typer.Typer(
    cls=Group,
    name="costguard",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"costguard {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="The configuration (default costguard.yaml).")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    lang: Annotated[
        str,
        typer.Option(
            "--lang",
            "-l",
            metavar="zh|en",
            help="The language, also after a command; else COSTGUARD_LANG, the configuration's, the terminal's.",
        ),
    ] = "",
) -> None:
    """Watches rented GPUs, warns people before it acts, stops what burns money for nothing, and proves what it saved.

    Start with `costguard init`, then `check`, `doctor`, `audit`, `run`. `costguard demo` shows it all on a simulated
    fleet.
    """
    ctx.obj = Globals(config, lang)


def main(argv: list[str] | None = None) -> None:
    """One command. A closed pipe (``costguard fleet | head``) is no error, and neither is a terminal that cannot
    show a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            app(args=argv, prog_name="costguard")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _hush()
        sys.exit(0)


def _hush() -> None:
    """Nobody reads on: what is still to be written goes nowhere, the interpreter's own last flush included."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
