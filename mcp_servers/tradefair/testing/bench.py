"""What the checks work on: a market, its scenarios and seeds, each played once by `random_legal` and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from tradefair.catalog import load_scenario, scenario_ids
from tradefair.contract.market import MarketType, ReadsData
from tradefair.contract.scenario import Scenario
from tradefair.testing.playthrough import Playthrough, play_scripted

RANDOM = "random_legal"
SLOW_MARK = "(slow)"
"""A scenario whose description holds this is left out unless the author asks for it."""

Service: TypeAlias = Callable[[JsonValue], JsonValue]
"""Stands for an outside service in the checks: the same payload must give the same answer."""


class Failure(NamedTuple):
    """One thing that a market does wrong; an empty scenario means that the table as a whole is wrong."""

    check: str
    scenario: str
    seed: int | None
    message: str

    def __str__(self) -> str:
        place = self.scenario + ("" if self.seed is None else f", seed {self.seed}")
        return f"{self.check} ({place}): {self.message}" if place else f"{self.check}: {self.message}"


class Bench:
    """A market on the test bench. Playing is done once, when a check first asks for it."""

    def __init__(
        self,
        market_type: MarketType,
        *,
        scenarios: Sequence[Scenario] | None = None,
        seeds: Sequence[int] = (1, 2, 3),
        slow: bool = False,
        services: Mapping[str, Service] | None = None,
    ) -> None:
        self.market_type = market_type
        self.scenarios = bundled_scenarios(market_type, slow=slow) if scenarios is None else list(scenarios)
        self.seeds = tuple(seeds)
        self.services = dict(services or {})

    @cached_property
    def _outcomes(self) -> tuple[list[Playthrough], list[Failure]]:
        played: list[Playthrough] = []
        failures: list[Failure] = []
        for scenario in self.scenarios:
            for seed in self.seeds:
                try:
                    played.append(play_scripted(self.market_type, scenario, seed, RANDOM))
                except Exception as error:  # whatever an author's code raises is a finding
                    failures.append(Failure("random_legal_finishes", scenario.id, seed, f"cannot be played: {error!r}"))
        return played, failures

    @property
    def played(self) -> list[Playthrough]:
        """Every scenario under every seed, as far as they could be played."""
        return self._outcomes[0]

    @property
    def unplayable(self) -> list[Failure]:
        """The rest, with the reason."""
        return self._outcomes[1]

    @cached_property
    def probed(self) -> list[Playthrough]:
        """The same without call limits, which would refuse a check's questions."""
        return [
            played
            if not played.scenario.limits
            else play_scripted(self.market_type, played.scenario.model_copy(update={"limits": ()}), played.seed, RANDOM)
            for played in self.played
        ]


def bundled_scenarios(market_type: MarketType, *, slow: bool = False) -> list[Scenario]:
    """A market's own scenarios; those marked `(slow)` in their description only with `slow`.

    Those on data of a folder that is not here are left out.
    """
    found = [load_scenario(market_type.name, name) for name in scenario_ids(market_type.name)]
    if isinstance(market_type, ReadsData):
        found = [scenario for scenario in found if not market_type.lacks_data(scenario)]
    return [scenario for scenario in found if slow or SLOW_MARK not in scenario.description]
