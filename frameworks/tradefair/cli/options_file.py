"""Options of a command that stand in a file: `--config FILE`, TOML under the names that `--help` shows.

A command is declared with those that the file alone takes; they leave its command line, and are parsed by the same
types and bounds as any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import Parameter, signature
from math import isfinite
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, TypeVar, cast, get_args
from warnings import catch_warnings

import typer
from typer.core import TyperCommand

from tradefair.cli.options import grouped, parsed_with

R = TypeVar("R")

CONFIGURED = ("play", "sweep", "fork", "serve", "host", "gateway", "control create")
"""The commands that take such a file."""
_WIDTH = 79


def configured(name: str, rare: str, *, keys: str = "") -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator: a command with `--config FILE`, a file of options of `name`; `rare` are those that it alone takes.

    `rare` and `keys` are options, parted by spaces; `keys` are all that may stand in the file where it is that of
    another command. Parameters that are dataclasses are spread, as `grouped` does; one called `config` gets the file.
    """
    shown = f"Options from this TOML file; `tradefair config {name}.toml` prints one with all, the rare ones too."
    option = Annotated[Path | None, typer.Option("--config", metavar="FILE", is_eager=True, callback=_read, help=shown)]

    def declared(command: Callable[..., R]) -> Callable[..., R]:
        spread = grouped(command)
        parameters = dict(signature(spread).parameters)
        wanted = parameters.pop("config", None)

        def called(config: Path | None = None, **given: Any) -> R:
            # By now the file has been read.
            return spread(**given) if wanted is None else spread(config=config, **given)

        file = Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=option)
        vars(called).update(rare=frozenset(rare.split()), keys=frozenset(keys.split()))
        return parsed_with(called, command, [*parameters.values(), file])

    return declared


class ConfiguredCommand(TyperCommand):
    """A command line; the options that the file alone takes are its `rare` ones and no part of it."""

    def __init__(self, name: str | None, *, callback: Callable[..., Any], params: list[Any], **rest: Any) -> None:
        rare: frozenset[str] = getattr(callback, "rare", frozenset())
        self.keys: frozenset[str] = getattr(callback, "keys", frozenset())
        self.rare = [option for option in params if key_of(option) in rare]
        line = [option for option in params if option not in self.rare]
        super().__init__(name, callback=callback, params=line, **rest)

    # Any: contexts are of typer's own copy of click.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, and take the rare options from file, variables and defaults."""
        rest = super().parse_args(ctx, args)
        for option in self.rare:
            option.handle_parse_result(ctx, {}, [])
        return rest

    def in_file(self) -> dict[str, Any]:
        """The options that a file may hold, by their keys: the rare ones first."""
        options = [option for option in (*self.rare, *self.params) if option.param_type_name == "option"]
        named = {key_of(option): option for option in options if option.name != "config"}
        return {key: option for key, option in named.items() if key in (self.keys or named)}


def key_of(option: Any) -> str:
    """The key of a parser's option in a file: its long name, such as `slim-tools`."""
    return max(option.opts, key=len).removeprefix("--")


def file_template(command: ConfiguredCommand, name: str) -> str:
    """A file for `--config` of the command `name`: every option with its help and its default, all as comments."""
    context = typer.Context(command, info_name=name)
    heads = {
        0: f"Options of `tradefair {name}`, for its --config FILE. What is typed on the command line wins.",
        len(command.rare): "These are options of the command line too.",
    }
    lines: list[str] = []
    for number, (key, option) in enumerate(command.in_file().items()):
        names, told = option.get_help_record(context)
        default = getattr(option.default, "value", option.default)
        if default in (None, "", []):
            default = f"<{'true or false' if option.is_flag else names.partition(' ')[2].strip('<>')}>"
        else:
            default = json.dumps(default, ensure_ascii=False)
        lines += [f"# {line}" for line in wrap(heads.get(number, ""), _WIDTH)]
        lines += ["", *(f"# {line}" for line in wrap(told, _WIDTH)), f"# {key} = {default}"]
    return "\n".join([*lines, ""])


def _read(context: typer.Context, config: Path | None) -> Path | None:
    """Take the file's values as defaults of the options that follow. Raises ScenarioError."""
    if config is not None:
        context.default_map = {**(context.default_map or {}), **_options_in(config, cast("Any", context.command))}
    return config


def _options_in(file: Path, command: ConfiguredCommand) -> dict[str, Any]:
    """The values of a file by the parameter's name, as the parser takes them. Raises ScenarioError."""
    # Imported here: only a command line that names a file needs them.
    from pydantic import ConfigDict, Field, create_model

    from tradefair.contract.scenario import checked_content
    from tradefair.files.user_files import parse_toml, text_file

    assert command.callback is not None
    declared = signature(command.callback).parameters
    options, fields = command.in_file(), dict[str, Any]()
    for key, option in options.items():
        kind, told, *_ = get_args(declared[option.name].annotation)
        fields[key] = kind | None, Field(None, ge=told.min, le=told.max)
    content = parse_toml(text_file(file), source=str(file), parse_float=_finite)
    # Checked as a scenario is; the parser, which takes texts for numbers, sees what has passed.
    with catch_warnings(action="ignore"):  # a field called `json` hides a method that nobody calls
        model = create_model("Options", __config__=ConfigDict(extra="forbid"), **fields)
    found = checked_content(model, content, source=str(file)).model_dump(mode="json", exclude_unset=True)
    return {options[key].name: value for key, value in found.items()}


def _finite(text: str) -> float:
    """A number of a file. Raises ValueError where it has no end or is none: what checks it, JSON, knows neither."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number
