"""Finds markets, their scenarios and their evaluators by name, when they are asked for and not before.

Markets plug in through the entry-point group `tradefair.markets` (`name = "package:MARKET"`), evaluators through
`tradefair.evaluators`; the package of another author is found like our own. A market's scenarios are the `*.toml` files
in the folder `scenarios` of its package, its plans those in the folder `plans`. Nothing is imported until its name is
asked for, so that a broken package of another author breaks its own market only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tradefair.contract import MarketType, Scenario, ScenarioError
from tradefair.contract.errors import unknown
from tradefair.contract.market import ReadsData
from tradefair.contract.scenario import build_scenario, with_overrides
from tradefair.files.user_files import parse_toml, text_file

__all__ = [
    "bundled_plan",
    "data_folder",
    "default_scenario",
    "evaluator",
    "load_scenario",
    "market_names",
    "market_type",
    "plan_ids",
    "scenario_ids",
    "use_data",
]

MARKETS = "tradefair.markets"
EVALUATORS = "tradefair.evaluators"
DATA = "TRADEFAIR_DATA"
"""The environment variable that names the folder of the user's data."""


@cache
def _found(group: str) -> Mapping[str, EntryPoint]:
    """Name -> entry point of a group, sorted by name."""
    # Once per process: the metadata of every installed package is read for it.
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def market_names() -> list[str]:
    """Names of all installed markets, sorted."""
    return list(_found(MARKETS))


@cache
def market_type(name: str) -> MarketType:
    """The market of this name. ScenarioError for an unknown name, with what may have been meant."""
    entry = _found(MARKETS).get(name)
    if entry is None:
        raise ScenarioError(unknown("market", name, market_names()))
    found: MarketType = entry.load()
    return found


def evaluator(name: str) -> Any:
    """The evaluator of this market, or None when no package brings one."""
    # Any: the class is in `evaluation`, which stands above this package.
    entry = _found(EVALUATORS).get(name)
    return None if entry is None else entry.load()


def scenario_ids(market: str) -> list[str]:
    """The ids of a market's bundled scenarios, `market/preset`, sorted."""
    return _bundled(market, "scenarios")


def plan_ids(market: str) -> list[str]:
    """The ids of a market's bundled plans of sweeps and tournaments, `market/plan`, sorted."""
    return _bundled(market, "plans")


def bundled_plan(name: str) -> str:
    """The TOML text of a bundled plan. ScenarioError for an unknown name, with what may have been meant."""
    market, _, plan = name.partition("/")
    # The market first: `plan_ids` of an unknown one would complain about markets, not about plans.
    if market not in market_names() or name not in plan_ids(market):
        known = [found for installed in market_names() for found in plan_ids(installed)]
        raise ScenarioError(unknown("plan", name, known))
    return files(_package(market)).joinpath("plans", f"{plan}.toml").read_text(encoding="utf-8")


def _bundled(market: str, what: str) -> list[str]:
    """The ids `market/name` of the TOML files in a folder of the market's package, sorted; none without the folder."""
    folder = files(_package(market)).joinpath(what)
    # A market may bring no plans.
    if not folder.is_dir():
        return []
    names = sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))
    return [f"{market}/{name}" for name in names]


def default_scenario(market: str) -> str:
    """The scenario that is played when none is named: the market's `default_scenario`, else its first one.

    ScenarioError where the market has none.
    """
    found = scenario_ids(market)
    if not found:
        raise ScenarioError(f"{market} brings no scenario: name a .toml file with --scenario")
    named = getattr(market_type(market), "default_scenario", None)
    return named if named in found else found[0]


def load_scenario(market: str, name: str, overrides: Mapping[str, JsonValue] | None = None) -> Scenario:
    """A checked scenario: a bundled id (`double_auction/duel`, or `duel`), or the path of a TOML file.

    Overrides (dotted keys), and the data that it names below `TRADEFAIR_DATA`, become part of its content.
    ScenarioError names key, value and what is allowed.

    The scenario is valid by its model, which does not mean that it can be played: `MarketType.create` decides that.
    """
    kind = market_type(market)
    text, source = _text(market, name)
    # Before the check, so that a wrong override is reported like a wrong line of the file.
    content = with_overrides(parse_toml(text, source=source), overrides or {})
    scenario = build_scenario(kind.scenario_model, content, source=source)
    return kind.with_data(scenario, os.environ.get(DATA, "")) if isinstance(kind, ReadsData) else scenario


def use_data(folder: Path | None) -> None:
    """Let scenarios find their data below `folder`, in child processes too; None leaves it to the environment.

    Set in this process's environment, which is what child processes inherit. ScenarioError where it is not a folder.
    """
    # Absolute: a child process may have another working directory.
    if folder is not None:
        os.environ[DATA] = str(data_folder(folder).absolute())


def data_folder(folder: Path) -> Path:
    """The folder that `--data` names, unchanged. ScenarioError when it is not a folder, or cannot be read."""
    try:
        # Opened and not only looked at: a folder that may not be read must fail here, not in the middle of a market.
        with os.scandir(folder):
            return folder
    except OSError as error:
        raise ScenarioError(f"--data {folder}: {error.strerror}") from None


def _text(market: str, name: str) -> tuple[str, str]:
    """The TOML text of a scenario, and the name by which complaints call it: its id, or the path as it was given."""
    if name.endswith(".toml"):
        return text_file(Path(name)), name
    wanted = name if "/" in name else f"{market}/{name}"
    if wanted not in scenario_ids(market):
        raise ScenarioError(unknown("scenario", wanted, scenario_ids(market)))
    file = files(_package(market)).joinpath("scenarios", wanted.partition("/")[2] + ".toml")
    return file.read_text(encoding="utf-8"), wanted


def _package(market: str) -> str:
    # For its error: an unknown name must not be a KeyError.
    market_type(market)
    return _found(MARKETS)[market].module
