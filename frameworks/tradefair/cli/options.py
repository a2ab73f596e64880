"""Options that several commands share: frozen dataclasses, spread over a command line by `grouped`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

R = TypeVar("R")

# Plain help: the table that rich draws cuts words that its columns do not hold, names of options among them.
PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    # Without a value for `help` the parser would import pydantic to convert the lack of one.
    "context_settings": {"help_option_names": ["-h", "--help"], "default_map": {"help": False}},
}
"""How every command line of ours is parsed: the keywords of `typer.Typer`."""


OTHERS = "Policy of every other seat; stand_in: an agent's seat that is left gets its role's; default: the scenario's."


API = "What openai:<model> is asked over: chat completions, responses; default auto: chat, then what it points to."


@dataclass(frozen=True)
class EpisodeFlags:
    """Which episode: names as they were given, empty or None where nothing was said."""

    market: Annotated[str, typer.Argument(help="The market, such as double_auction; not with --resume.")] = ""
    scenario: Annotated[str, typer.Option(help="Scenario id or .toml file; default: the market's first.")] = ""
    others: Annotated[str, typer.Option(help=OTHERS)] = ""
    seed: Annotated[int | None, typer.Option(help="Fixes all chance; default: a fresh one, shown.")] = None
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")] = None
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Folder of traces and registry; default ./runs/<time>-<market>.")] = (
        None
    )


@dataclass(frozen=True)
class PlayerFlags:
    """Who plays: a framework and its model, empty where nothing was said. Commands tell what that means there."""

    framework: str = ""
    model: str = ""
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint for openai:<model>.")] = ""
    api: Annotated[str, typer.Option(help=API)] = ""


def grouped(command: Callable[..., R]) -> Callable[..., R]:
    """The command with each parameter that is a dataclass spread: one option per field, in the dataclass's order.

    The parser sees the fields, the command gets the dataclass. A field's annotation is that of an option.
    """
    # With extras: the annotations hold what the parser needs to know of an option.
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if name != "return" and is_dataclass(hint)}
    spread: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        members = signature(groups[name]).parameters.values() if name in groups else [parameter]
        known = get_type_hints(groups[name], include_extras=True) if name in groups else hints
        # By keyword: fields of several groups stand in one signature, with and without defaults in any order.
        spread += [member.replace(annotation=known[member.name], kind=Parameter.KEYWORD_ONLY) for member in members]

    def called(**given: Any) -> R:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    return parsed_with(called, command, spread)


def parsed_with(called: Callable[..., R], command: Callable[..., R], parameters: list[Parameter]) -> Callable[..., R]:
    """`called`, which stands for `command`, as the parser is to see it: with these parameters."""
    wraps(command)(called)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    # The parser reads the signature and resolves annotations by their own names; both must show the parameters.
    vars(called)["__signature__"] = signature(command).replace(parameters=parameters)
    return called


class SharedOptions(TyperGroup):
    """A group of commands; its own options may stand before or after the name of the command."""

    # Any: the base class is typed with a context of typer's own copy of click.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the group's own options brought to the front."""
        # The parser stops reading a group's options at the first word that is no option, the name of the command.
        own = {name: parameter for parameter in self.params for name in parameter.opts}
        first: list[str] = []
        rest: list[str] = []
        # From the end, so that taking the next word is cheap.
        waiting = list(reversed(args))
        while waiting:
            word = waiting.pop()
            option = own.get(word.partition("=")[0])
            (rest if option is None else first).append(word)
            # An option with a value takes the next word along, unless it was written as one: `--data=DIR`.
            if option is not None and not getattr(option, "is_flag", False) and "=" not in word and waiting:
                first.append(waiting.pop())
        return super().parse_args(ctx, [*first, *rest])
