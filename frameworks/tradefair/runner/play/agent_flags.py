"""Reads the options of an agent from the command line of `tradefair play` into an `AgentSpec`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, Field

from tradefair.cli.options import PlayerFlags
from tradefair.contract.errors import ScenarioError
from tradefair.contract.scenario import checked_content, parse_override
from tradefair.frameworks import FRAMEWORKS
from tradefair.frameworks.models.endpoint import add_field, read_fields, spell_fields
from tradefair.frameworks.models.faults import FAULTS

if TYPE_CHECKING:
    from tradefair.contract import MarketType, Scenario
    from tradefair.contract.kernel.players import Limits
    from tradefair.runner.play.agent_spec import AgentSpec

M = TypeVar("M", bound=BaseModel)

# `langgraph` takes a graph of the caller's, which no command line can name.
_AGENTS = ", ".join(name.replace("command", "command:<program>") for name in FRAMEWORKS if name != "langgraph")
_MODELS = (
    "policy:<name>, openai:<model>, <provider>:<model>, local, local:<file> or replay:<file>; "
    "default: the market's stand-in."
)


_IDLE_ROUNDS = 3
"""In a row without a call that was carried out: then a model is asked no more, unless something else is said."""


class _Limits(BaseModel):
    """The limits of `--limit`: per round, of a reply, what a graph offers, and of the whole episode."""

    model_config = ConfigDict(extra="forbid")

    calls: int | None = Field(None, ge=1, le=10_000)
    tokens: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, ge=0.1, le=86_400)
    reply: int | None = Field(None, ge=0, le=1_000_000)
    offer: str = ""
    cost: float | None = Field(None, ge=0.000_001, le=1_000_000)
    tokens_total: int | None = Field(None, ge=1, le=1_000_000_000_000)
    idle_rounds: int | None = Field(None, ge=0, le=1_000_000)


def named_values(model: type[M], texts: Iterable[str] | None, option: str) -> M:
    """The values of an option such as `--limit calls=60,tokens=9000`, by name. Raises ScenarioError."""
    # A comma between brackets is part of a value.
    pairs = [parse_override(pair) for text in texts or () for pair in re.split(r",(?![^(]*\))", text)]
    if len(dict(pairs)) < len(pairs):
        raise ScenarioError(f"{option}: a name stands there twice")
    if any(isinstance(value, float) and not isfinite(value) for _, value in pairs):
        raise ScenarioError(f"{option}: a number without end, or none")
    return checked_content(model, dict(pairs), source=option)


@dataclass(frozen=True)
class AgentFlags(PlayerFlags):
    """An agent's options as they were given; empty or None where nothing was said."""

    framework: Annotated[
        str, typer.Option("--agent", help=f"Plays the agent's seat: policy:<name>, {_AGENTS}; default react.")
    ] = ""
    model: Annotated[str, typer.Option(help=_MODELS)] = ""
    model_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="A field of each request to the model, such as temperature=0."),
    ] = None
    prompts: Annotated[
        bool | None,
        typer.Option("--prompts/--no-prompts", help="Keep in the trace what the model is sent; default: yes."),
    ] = None
    record: Annotated[Path | None, typer.Option(help="Also write the model calls to this file, once played.")] = None
    replay: Annotated[
        Path | None, typer.Option(help="Answer model calls from this file or trace; no model is asked.")
    ] = None
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N",
            help="calls or tokens per round of an agent (default: the scenario's calls, else 60); seconds that a "
            "model's reply (120) or a program's game (600) may take; tokens of one reply to a graph (1,024; 0: any); "
            "offer, the tools of a graph's request: all, or useful(reads=3), what can still do something; of the "
            "episode: cost in dollars, tokens_total, and idle_rounds in a row without a call that was carried out "
            "(a model: 3; 0: any).",
        ),
    ] = None
    window: Annotated[
        str,
        typer.Option(
            help="What a graph shows its model of a round: full_round, last_results(k=6), cleared_results(k=6)."
        ),
    ] = ""
    approve: Annotated[
        bool | None, typer.Option("--approve/--no-approve", help="Ask on the terminal before each action (graphs).")
    ] = None
    faults: Annotated[
        str, typer.Option(help=f"Testing aid: faults of the endpoint, such as 429@3,drop@8 ({', '.join(FAULTS)}).")
    ] = ""

    @property
    def timeout_s(self) -> float | None:
        """Seconds that a model's reply, or a program's game, may take."""
        return self._limited.seconds

    @property
    def offer(self) -> str:
        """Which tools a graph offers its model per reply; empty where nothing was said."""
        return self._limited.offer

    @property
    def max_reply(self) -> int | None:
        """Tokens of one reply to a graph; 0 is no bound."""
        return self._limited.reply

    @property
    def max_cost(self) -> float | None:
        """Dollars that an episode's model calls may take."""
        return self._limited.cost

    @property
    def max_tokens(self) -> int | None:
        """Tokens that they may take."""
        return self._limited.tokens_total

    @property
    def _limited(self) -> _Limits:
        return named_values(_Limits, self.limit, "--limit")

    def spec(self, kind: MarketType, scenario: Scenario, roles: set[str]) -> AgentSpec:
        """The agent for seats with these roles; without a model it thinks with the market's stand-in for them.

        Raises ScenarioError for limits that nothing would keep.
        """
        from tradefair.runner.play.agent_spec import AgentSpec
        from tradefair.runner.play.setup import with_stand_in

        # The stand-in must be able to play every role that the agent is given.
        spec = AgentSpec(**self._given, limits=self._limits(scenario))
        return self._checked(with_stand_in(kind, scenario, spec, roles))

    def over(self, recorded: AgentSpec | None) -> AgentSpec:
        """The recorded agent, changed by what was given; another one where a framework was. Raises ScenarioError."""
        from tradefair.contract.kernel.players import Limits
        from tradefair.runner.play.agent_spec import AgentSpec

        if recorded is None:
            return self._checked(AgentSpec(**self._given, limits=self._limits(None)))
        before = recorded.limits
        # Limits are one field of `AgentSpec`, so each of the two is carried over by itself.
        given = self._limited
        limits = Limits(given.calls or before.calls_per_round, given.tokens or before.tokens_per_round)
        return self._checked(replace(recorded, **self._given, limits=limits))

    @property
    def _given(self) -> dict[str, Any]:
        """What was given of the fields that an `AgentSpec` has too; files as text."""
        from tradefair.runner.play.agent_spec import AgentSpec, with_policy

        # Fields without an option of that name (`limits`, `trials`) give None and drop out.
        player = with_policy(self)
        named = {field.name: getattr(player, field.name, None) for field in fields(AgentSpec)}
        given = {name: str(value) if isinstance(value, Path) else value for name, value in named.items()}
        if self.model_option:
            given["model"] = _with_options(self.model, self.model_option)
        # `False` stays: `approve = false` must be able to take back what the trace recorded.
        return {name: value for name, value in given.items() if value not in (None, "")}

    def _limits(self, scenario: Scenario | None) -> Limits:
        """The limits that were given, else those of the scenario; calls and tokens per round."""
        from tradefair.contract.kernel.players import Limits
        from tradefair.runner.play.setup import calls_per_round

        return Limits(self._limited.calls or calls_per_round(scenario), self._limited.tokens)

    def _checked(self, spec: AgentSpec) -> AgentSpec:
        """`spec`, where it can keep the limits that were given. Raises ScenarioError."""
        if not spec.asks_model:
            names = ("calls", "tokens", "cost", "tokens_total", "idle_rounds")
            given = {f"--limit {name}": getattr(self._limited, name) for name in names}
            refuse(given, f"limits are for agents that ask a model, and --agent {spec.framework} asks none")
            return spec
        idle = self._limited.idle_rounds
        return replace(spec, idle_rounds=_IDLE_ROUNDS * spec.asks if idle is None else idle)


def _with_options(model: str, texts: Iterable[str]) -> str:
    """The model with further fields of its requests, as `--model` spells them. Raises ScenarioError."""
    if model.partition(":")[0] in ("", "policy", "replay", "local"):
        raise ScenarioError("--model-option is for openai:<model> and <provider>:<model>: name one with --model")
    name, fields = read_fields(model)
    for text in texts:
        for option, value in read_fields(f"({text})")[1].items():
            add_field(fields, option, value)
    return spell_fields(name, fields)


def refuse(options: Mapping[str, Any], why: str) -> None:
    """Raises ScenarioError, with the reason, where one of these options was given.

    `options` holds what was given by the option's name; None, "" and an empty list count as not given.
    """
    # `0` and `False` are answers, so equality decides here and not truthiness.
    given = [name for name, value in options.items() if value not in (None, "", [])]
    if given:
        raise ScenarioError(f"{why}: leave {', '.join(given)} out")
