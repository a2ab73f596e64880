"""What `tradefair play` and `tradefair.api` fill in where their caller names nothing: scenario, limits, stand-in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pydantic import JsonValue

from tradefair.catalog import default_scenario, load_scenario
from tradefair.contract import MarketType, Scenario, ScenarioError
from tradefair.contract.kernel.players import stand_ins
from tradefair.contract.scenario import build_scenario, with_overrides
from tradefair.runner.play.agent_spec import AgentSpec

# Said in the help of --limit too.
_DEFAULT_CALLS = 60


def chosen_scenario(
    kind: MarketType, given: str | Scenario | None, settings: Mapping[str, JsonValue] | None = None
) -> Scenario:
    """The scenario that is meant: an id, the path of a TOML file, one that is made already, or the market's default.

    `settings` replaces values by dotted key. Raises ScenarioError naming key, value and what is allowed.
    """
    if not isinstance(given, Scenario):
        return load_scenario(kind.name, given or default_scenario(kind.name), settings)
    # Refused here, because rules that meet the scenario of another market would only fail later.
    if not isinstance(given, kind.scenario_model):
        raise ScenarioError(f"{given.id} is no scenario of {kind.name}: it is a {type(given).__name__}")
    if not settings:
        return given
    # Through plain data, so that the market's checks see the changed values as they would see a file.
    content = with_overrides(given.model_dump(mode="json"), settings)
    return build_scenario(kind.scenario_model, content, source=given.id)


def calls_per_round(scenario: Scenario | None) -> int:
    """Tool calls that the scenario grants a seat in a round, else 60; an agent that makes more is only refused."""
    limits = scenario.limits if scenario is not None else ()
    # Limits on actions alone do not bound what an agent may call: reads must be counted too.
    return min(
        (limit.max for limit in limits if limit.per == "round" and "read" in limit.counts), default=_DEFAULT_CALLS
    )


def with_stand_in(kind: MarketType, scenario: Scenario, spec: AgentSpec, roles: Collection[str]) -> AgentSpec:
    """`spec`; where it needs a model and names none, with the policy that stands in for an agent in these roles.

    Unchanged where no policy stands in for these roles: `ready` then says that a model is missing.
    """
    if spec.model is not None or spec.replay is not None or spec.outside or spec.command is not None:
        return spec
    # One policy for all of the agent's seats, so it must be able to play each of their roles.
    named = stand_ins(kind, scenario, roles)
    return replace(spec, model=f"policy:{named[0]}" if named else None)
