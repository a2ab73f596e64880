"""Finds markets, their scenarios and their evaluators by name, when they are asked for and not before.

Markets plug in through the entry-point group `tradefair.markets` (`name = "package:MARKET"`), evaluators through
`tradefair.evaluators`; the package of another author is found like our own. A market's scenarios are the `*.toml` files
in the folder `scenarios` of its package, its plans those in the folder `plans`, and `listing.toml` has what lists show.
These are read without importing the package: a list costs no market, and a broken package of another author breaks its
own market only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from tradefair.contract.errors import ScenarioError, unknown
from tradefair.contract.text import clean_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable

    from pydantic import JsonValue

    from tradefair.catalog.listing import Listing
    from tradefair.contract import MarketType, Scenario

__all__ = [
    "bundled_plan",
    "data_folder",
    "default_scenario",
    "evaluator",
    "load_scenario",
    "market_listing",
    "market_names",
    "market_type",
    "plan_ids",
    "scenario_ids",
    "scenario_table",
    "scenario_tier",
    "use_data",
]

MARKETS = "tradefair.markets"
EVALUATORS = "tradefair.evaluators"
DATA = "TRADEFAIR_DATA"
"""The environment variable that names the folder of the user's data."""
Tier: TypeAlias = Literal["first", "short", "full"]
"""How long an episode is: for a first one, for training, or a market's benchmark and whatever is longer."""
TIERS: tuple[Tier, ...] = get_args(Tier)
_TIER = "tier"
"""The key of a scenario's file. It sorts lists and is no part of what is played: no digest knows it."""


@cache
def _found(group: str) -> Mapping[str, EntryPoint]:
    """Name -> entry point of a group, sorted by name."""
    # Imported here: `--help` asks for no market.
    from importlib.metadata import entry_points

    # Once per process: the metadata of every installed package is read for it.
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def market_names() -> list[str]:
    """Names of all installed markets, sorted."""
    return list(_found(MARKETS))


@cache
def market_type(name: str) -> MarketType:
    """The market of this name. ScenarioError for an unknown name, with what may have been meant."""
    found: MarketType = _entry(name).load()
    return found


def market_listing(name: str) -> Listing:
    """What lists say of a market: from `listing.toml` in its package, or from the market where it has none.

    ScenarioError for an unknown name, for a file in another form, and for a package that cannot be imported.
    """
    from tradefair.catalog.listing import LISTING, listing_of, parsed_listing

    file = _folder(name).joinpath(LISTING)
    if file.is_file():
        source = f"{LISTING} of {name}"
        return parsed_listing(_text_in(file, source), source=source)
    try:
        return listing_of(market_type(name))
    # Anything at all: it is the code of another author.
    except Exception as fault:
        raise ScenarioError(f"the market {name} cannot be imported: {clean_line(repr(fault)[:200])}") from fault


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
    return _text_in(_folder(market).joinpath("plans", f"{plan}.toml"), name)


def _bundled(market: str, what: str) -> list[str]:
    """The ids `market/name` of the TOML files in a folder of the market's package, sorted; none without the folder."""
    folder = _folder(market).joinpath(what)
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
    from tradefair.contract.market import ReadsData
    from tradefair.contract.scenario import build_scenario, with_overrides
    from tradefair.files.user_files import parse_toml

    kind = market_type(market)
    text, source = _text(market, name)
    # Before the check, so that a wrong override is reported like a wrong line of the file.
    content = with_overrides(_untiered(parse_toml(text, source=source), source)[0], overrides or {})
    scenario = build_scenario(kind.scenario_model, content, source=source)
    return kind.with_data(scenario, os.environ.get(DATA, "")) if isinstance(kind, ReadsData) else scenario


def scenario_table(market: str, name: str) -> dict[str, Any]:
    """A scenario as its file has it, unchecked: what lists show of it needs no market. Names as `load_scenario` takes.

    ScenarioError where there is none, or no TOML in it.
    """
    from tradefair.files.user_files import parse_toml

    text, source = _text(market, name)
    return parse_toml(text, source=source)


def scenario_tier(market: str, name: str) -> Tier:
    """The tier that a scenario's file names, `full` where it names none. Names as `load_scenario` takes.

    ScenarioError for another word.
    """
    return _untiered(scenario_table(market, name), name)[1]


def _untiered(content: Mapping[str, Any], source: str) -> tuple[dict[str, Any], Tier]:
    """What is played, and the tier."""
    tier = content.get(_TIER, "full")
    if tier not in TIERS:
        raise ScenarioError(f"{source}: {_TIER} = {str(tier)[:60]}: it is one of {', '.join(TIERS)}")
    return {key: value for key, value in content.items() if key != _TIER}, tier


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
        from tradefair.files.user_files import text_file

        return text_file(Path(name)), name
    wanted = name if "/" in name else f"{market}/{name}"
    if wanted not in scenario_ids(market):
        raise ScenarioError(unknown("scenario", wanted, scenario_ids(market)))
    file = _folder(market).joinpath("scenarios", wanted.partition("/")[2] + ".toml")
    return _text_in(file, wanted), wanted


def _text_in(file: Traversable, source: str) -> str:
    """The text of a file in a market's package, of at most 1 MiB. ScenarioError begins with `source`."""
    from tradefair.files.user_files import MIB, text_of

    # Asked first: opening a FIFO would wait until somebody writes into it.
    if not file.is_file():
        raise ScenarioError(f"{source}: not a file")
    with file.open("rb") as opened:
        raw = opened.read(MIB + 1)
    if len(raw) > MIB:
        raise ScenarioError(f"{source}: more than {MIB:,} bytes")
    return text_of(raw, source=source)


def _entry(market: str) -> EntryPoint:
    entry = _found(MARKETS).get(market)
    if entry is None:
        raise ScenarioError(unknown("market", market, market_names()))
    return entry


def _folder(market: str) -> Traversable:
    """The folder of a market's package, found without importing it. ScenarioError where there is none."""
    module = _entry(market).module
    # `importlib.resources.files` would import the package, and with it rules, policies and numpy.
    try:
        spec = find_spec(module)
    # Its parent is not there, or cannot be imported.
    except (ImportError, ValueError):
        spec = None
    reader = getattr(spec and spec.loader, "get_resource_reader", None)
    if reader is None:
        raise ScenarioError(f"the market {market} is announced, but its package {module} is not there")
    folder: Traversable = reader(module).files()
    return folder
