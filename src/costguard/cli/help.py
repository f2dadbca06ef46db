"""``--help``, and what is wrong with a command line: what Click knows, laid out for a terminal in its language.

Click's objects hold the English texts; Typer carries a Click of its own, hence no types.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from costguard.cli.console import Prose, console
from costguard.web.words import Language

_CODE = re.compile(r"`([^`]+)`")
# A list of choices takes several lines rather than the room of what is said of it.
_VALUE = 24


def show(ctx: Any, language: Language) -> None:
    """Prints the help of the command that ``ctx`` is of."""
    out, command, t = console(), ctx.command, _translator(language)
    out.print()
    out.print(Padding(_usage(ctx, t), (0, 1)))
    out.print()
    for text in paragraphs(command.help):
        out.print(Padding(_prose(t(text)), (0, 1)))
        out.print()
    shown = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    commands = [one for one in commands_of(command).values() if not one.hidden]
    for title, rows in (
        ("Arguments", [(Text(_metavar(one, t), "bold yellow"), _about(one, t)) for one in arguments]),
        ("Options", [_option(one, t) for one in options]),
        ("Commands", [(Text(one.name, "bold cyan"), _prose(t(paragraphs(one.help)[0]))) for one in commands]),
    ):
        if rows:
            out.print(Panel(_grid(rows), title=t(title), title_align="left", border_style="dim"))


def refuse(error: Any, language: Language) -> None:
    """Says on stderr what is wrong with a command line, and how it is written. Help that was asked for is no error."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    out, t = console(stderr=True), _translator(language)
    if error.ctx is not None:
        out.print(_usage(error.ctx, t))
        out.print(Text(t(f"Try '{error.ctx.command_path} {error.ctx.help_option_names[0]}' for help."), "dim"))
    text = Prose(t(error.format_message()))
    out.print(Panel(text, title=t("Error"), title_align="left", border_style="red"))


def explained(ctx: Any, command: Any, choices: list[Any], language: Language) -> list[Any]:
    """What a shell offers to complete, each with its help in the language, on one line: a second one would be taken for
    a choice of its own."""
    t, inner, room = _translator(language), commands_of(command), console().width - 1
    options = {name: one.help for one in command.get_params(ctx) for name in one.opts}
    for choice in choices:
        if about := paragraphs(inner[choice.value].help if choice.value in inner else options.get(choice.value)):
            text = Text(t(about[0]))
            text.truncate(room, overflow="ellipsis")
            choice.help = text.plain
    return choices


def commands_of(group: Any) -> dict[str, Any]:
    """The commands of a group by name, each loaded, in the order of the help; none of what is no group."""
    names = group.list_commands(None) if hasattr(group, "commands") else ()
    return {name: group.get_command(None, name) for name in names}


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a help text, each on one line."""
    return [" ".join(part.split()) for part in (text or "").split("\n\n") if part.strip()]


def extras(parameter: Any) -> Iterator[str]:
    """What stands in brackets behind the help of a parameter, in English."""
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if least is not None or most is not None:
        yield f"[{'' if least is None else f'{least:g}<='}x{'' if most is None else f'<={most:g}'}]"
    if parameter.envvar:
        yield f"[env var: {parameter.envvar}]"
    default = parameter.default
    if parameter.param_type_name == "option" and default not in (None, "", False):
        yield f"[default: {default:g}]" if isinstance(default, float) else f"[default: {default}]"
    if parameter.required:
        yield "[required]"


def _translator(language: Language) -> Callable[[str], str]:
    if language == "en":
        return str
    from costguard.cli.chinese import told

    return told


def _usage(ctx: Any, t: Callable[[str], str]) -> Text:
    command = ctx.command
    arguments = [_metavar(one, t) for one in command.params if one.param_type_name == "argument"]
    inner = [t(command.subcommand_metavar)] if hasattr(command, "commands") else []
    line = " ".join([ctx.command_path, t(command.options_metavar), *arguments, *inner])
    return Text.assemble((t("Usage: "), "yellow"), (line, "bold"))


def _metavar(argument: Any, t: Callable[[str], str]) -> str:
    text = str(argument.metavar or argument.name.upper())
    return t(text if argument.required or text.startswith("[") else f"[{text}]")


def _option(option: Any, t: Callable[[str], str]) -> tuple[Text, Text, Text, Text]:
    long, short = ([name for name in option.opts if name.startswith("--") is wanted] for wanted in (True, False))
    return (
        Text(",".join(long), "bold cyan"),
        Text(",".join(short), "bold green"),
        Text(t(option.metavar or ""), "bold yellow"),
        _about(option, t),
    )


def _about(parameter: Any, t: Callable[[str], str]) -> Text:
    text = _prose(t(" ".join((parameter.help or "").split())))
    for extra in extras(parameter):
        text.append(t(f" {extra}"), "dim")
    return text


def _grid(rows: list[Any]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for number in range(len(rows[0]) - 1):
        folds = number == len(rows[0]) - 2 and number > 0
        grid.add_column(no_wrap=not folds, overflow="fold", max_width=_VALUE if folds else None)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _prose(text: str) -> Text:
    """A text in which what stands between backticks is what people type."""
    prose = Prose()
    for number, part in enumerate(_CODE.split(text)):
        prose.append(part, "bold cyan" if number % 2 else "")
    return prose
