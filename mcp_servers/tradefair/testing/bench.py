"""What the checks work on: a market, its scenarios and seeds, each played once by `random_legal` and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from tradefair.catalog import load_scenario, scenario_ids
from tradefair.contract import MarketType, Scenario
from tradefair.contract.market import ReadsData
from tradefair.testing.authors_code import collected
from tradefair.testing.playthrough import Playthrough, Service, play_scripted

RANDOM = "random_legal"
PASSIVE = "passive"
SLOW_MARK = "(slow)"
"""A scenario with this in its description is left out unless the author asks for it."""


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
    """A market on the test bench. Playing is done once, when a check first asks for it.

    The other arguments are those of `check_market`. What could not be played is in `unplayable` and never raises.
    """

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
        self.seeds = tuple(seeds)
        self.slow = slow
        self.services = dict(services or {})
        self.unplayable: list[Failure] = []
        """What could not be loaded or played, with the reason."""
        self.codes: dict[str, str] = {}
        """Error codes that the checks were answered, each with the first call that was refused so."""
        self._given = scenarios

    @cached_property
    def scenarios(self) -> list[Scenario]:
        """What is played: the given scenarios, or those of the market's package that can be loaded.

        Presets that cannot be loaded are noted in `unplayable` as failures of `presets_play`.
        """
        if self._given is not None:
            return list(self._given)
        # Loading runs the author's validators, so it can fail like any other code of the market.
        found, fault = collected(lambda: bundled_scenarios(self.market_type, slow=self.slow), slow=self.slow)
        if fault is not None:
            self.unplayable.append(Failure("presets_play", "", None, f"the presets cannot be loaded: {fault}"))
        return found

    @cached_property
    def played(self) -> list[Playthrough]:
        """Every scenario under every seed with `random_legal` in all seats, as far as they could be played.

        Episodes come scenario by scenario, in the order of `seeds`.
        """
        return [
            played for scenario in self.scenarios for played in self.play(scenario, self.seeds, "random_legal_finishes")
        ]

    @cached_property
    def lapsed(self) -> list[Playthrough]:
        """Every scenario under the first seed with `passive` in all seats: what the default actions do."""
        played: list[Playthrough] = []
        for scenario in self.scenarios:
            played += self.play(scenario, self.seeds[:1], "determinism", PASSIVE)
        return played

    @cached_property
    def probed(self) -> list[Playthrough]:
        """The same as `played` without call limits, which would refuse a check's questions."""
        probed: list[Playthrough] = []
        for played in self.played:
            scenario = played.scenario
            if scenario.limits:
                # With the scenario's limits many questions would be refused for their number, and prove nothing.
                scenario = scenario.model_copy(update={"limits": ()})
                probed += self.play(scenario, (played.seed,), "random_legal_finishes")
            else:
                probed.append(played)
        return probed

    def play(
        self,
        scenario: Scenario,
        seeds: Sequence[int],
        check: str,
        policies: str | Mapping[str, str] = RANDOM,
        **options: Any,
    ) -> Iterator[Playthrough]:
        """Playthroughs under the seeds; the first that fails is noted as a failure of `check`, and ends the series.

        Options are those of `play_scripted`.
        """
        # Under other seeds it would mostly fail alike, and a game without an end takes seconds each time.
        for seed in seeds:
            found, fault = collected(
                lambda seed=seed: [play_scripted(self.market_type, scenario, seed, policies, **options)], slow=self.slow
            )
            if fault is not None:
                seated = "" if policies == RANDOM else f" with {_short(policies)}"
                self.unplayable.append(Failure(check, scenario.id, seed, f"cannot be played{seated}: {fault}"))
                return
            yield from found


def _short(policies: str | Mapping[str, str]) -> str:
    """Policies as a message names them, cut at 100 characters."""
    if isinstance(policies, str):
        return f"{policies} in every seat"
    # Policies and not seats: a market may have hundreds of seats.
    return ", ".join(dict.fromkeys(policies.values()))[:100]


def bundled_scenarios(market_type: MarketType, *, slow: bool = False) -> list[Scenario]:
    """A market's own scenarios; those marked `(slow)` in their description only with `slow`.

    Those on data of a folder that is not here are left out. Raises ScenarioError for one that cannot be loaded.
    """
    found = [load_scenario(market_type.name, name) for name in scenario_ids(market_type.name)]
    if isinstance(market_type, ReadsData):
        found = [scenario for scenario in found if not market_type.lacks_data(scenario)]
    return [scenario for scenario in found if slow or SLOW_MARK not in scenario.description]
