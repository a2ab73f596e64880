"""What the agent is held against: recorded games in `gate.baseline.json`, one a line, sealed by a digest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, ValidationError

from tradefair.catalog import market_type
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.reward import reward_metric
from tradefair.evaluation.phrases import phrases_for
from tradefair.files.folders import write_whole
from tradefair.files.user_files import read_regular
from tradefair.runner.gate.deciding import own_deviation
from tradefair.runner.gate.gate_file import FIRST_SEED, Place, sealed_seeds
from tradefair.runner.gate.seeds import Trial, chosen, tried
from tradefair.runner.gate.sides import Game, Missing, Player, answered, game_of, games_folder
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.plans.plan import Strict
from tradefair.runner.play.series import in_turn
from tradefair.tracestore import WRITTEN_BY

_MOST_BYTES = 16 << 20
_Name = Annotated[str, Field(max_length=300)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
Said = Callable[[str], None]
"""Told a line about what is being done."""


class RecordedGame(Strict):
    """One seed: what the baseline earned in each play, and of the first its head hash and four digits a turn."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None
    seat: _Name
    rewards: Annotated[list[_Finite], Field(min_length=1, max_length=64)]
    head: _Name
    turns: str = Field(max_length=400_000)

    @property
    def reward(self) -> float:
        """The mean of its plays."""
        return fmean(self.rewards)


class RecordedScenario(Strict):
    """The games of one scenario, under which rules they were played, and by what they are measured.

    `passive` is what doing nothing earned on these seeds; `scale` what the baseline earned more, in the direction that
    is better; `noise` the standard deviation that equal agents' own draws make in one loss, in units of the scale.
    """

    scenario: _Name
    digest: _Name
    rules: _Name
    evaluator: _Name
    tools: _Name
    metric: _Name
    unit: str = Field(max_length=100)
    higher_is_better: bool = True
    verb: _Name
    passive: _Finite
    scale: _Finite
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    canary: _Name
    games: Annotated[list[RecordedGame], Field(min_length=8, max_length=2_000)]

    def loss(self, number: int, reward: float, *, share: bool) -> float:
        """What the baseline earned more than this on a seed: a share of the scale, or in the market's unit."""
        less = self.games[number].reward - reward
        return (less if self.higher_is_better else -less) / (self.scale if share else 1.0)


class Baseline(Strict):
    """The whole file. `commitment` is that of sealed seeds: then no seed stands in it."""

    schema_: Literal["tradefair.gate/1"] = Field(default="tradefair.gate/1", alias="schema")
    agent: Annotated[dict[Literal["label"], _Name], Field(min_length=1)]
    recorded: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    tradefair: _Name
    commitment: _Name = ""
    scenarios: Annotated[list[RecordedScenario], Field(min_length=1, max_length=16)]
    digest: _Name = ""

    @property
    def label(self) -> str:
        """Who was recorded."""
        return self.agent["label"]

    @property
    def sealed(self) -> str:
        """The digest of all else that it says."""
        return digest(canonical(self.model_dump(mode="json", by_alias=True, exclude={"digest"})))

    def written(self) -> bytes:
        """The file: a game a line, so that a change shows in few lines."""
        whole = self.model_dump(mode="json", by_alias=True)
        scenarios = [_lines(scenario) for scenario in whole.pop("scenarios")]
        seal = whole.pop("digest")
        head = orjson.dumps(whole)[:-1]
        return head + b',"scenarios":[\n' + b",\n".join(scenarios) + b'],\n"digest":' + orjson.dumps(seal) + b"}\n"


def _lines(scenario: dict[str, Any]) -> bytes:
    games = b",\n".join(map(orjson.dumps, scenario.pop("games")))
    return orjson.dumps(scenario)[:-1] + b',"games":[\n' + games + b"]}"


def read_baseline(file: Path) -> Baseline:
    """A baseline that nobody has changed. Raises ScenarioError, which says what to do next."""
    try:
        found = Baseline.model_validate_json(read_regular(file, _MOST_BYTES))
    except FileNotFoundError:
        raise ScenarioError(f"there is no baseline {file}: `tradefair gate record` plays one; commit it") from None
    except OSError as fault:
        raise ScenarioError(f"{file} cannot be read: {fault.strerror}") from None
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise ScenarioError(
            f"{file} is no baseline: {where}: {first['msg']}; `tradefair gate record` makes one"
        ) from None
    if found.sealed != found.digest:
        raise ScenarioError(f"{file} was changed by hand: its digest is another; `tradefair gate record` makes it anew")
    return found


async def check_baseline(baseline: Baseline, place: Place) -> list[list[int]]:
    """The seeds of each scenario, where the baseline is of this gate, these rules and this luck.

    `passive` plays the first seed once more: what changed without a new number is seen too. Raises ScenarioError.
    """
    for problem in _differences(baseline, place):
        raise ScenarioError(f"{problem}: tradefair gate record")
    sealed = sealed_seeds(place)
    seeds: list[list[int]] = []
    for recorded, variant in zip(baseline.scenarios, place.variants, strict=True):
        known = [game.seed for game in recorded.games]
        seeds.append(list(sealed.seeds) if sealed else [seed for seed in known if seed is not None])
        canary = await tried(variant, seeds[-1][0])
        if (canary.outcome, canary.tools) != (recorded.canary, recorded.tools):
            what = (
                "its tools are others" if canary.tools != recorded.tools else "passive plays the first seed otherwise"
            )
            raise ScenarioError(
                f"{recorded.scenario} has changed, {what}, under the same number: tradefair gate record"
            )
    return seeds


def _differences(baseline: Baseline, place: Place) -> Iterator[str]:
    now = [variant.scenario.id for variant in place.variants]
    if [recorded.scenario for recorded in baseline.scenarios] != now:
        yield f"the baseline was recorded in other scenarios than {', '.join(now)}"
        return
    for recorded, variant in zip(baseline.scenarios, place.variants, strict=True):
        rules, evaluator = market_type(variant.market).version, evaluator_of(variant.market).version
        if recorded.rules != rules:
            yield f"the baseline was recorded under rules {recorded.rules} of {variant.market}, these are rules {rules}"
        elif recorded.evaluator != evaluator:
            yield f"the baseline was scored by evaluator {recorded.evaluator} of {variant.market}, this is {evaluator}"
        elif recorded.digest != variant.key:
            yield f"{recorded.scenario} has other values than when the baseline was recorded"
        elif not _same_seeds(recorded, baseline.commitment, place):
            yield f"the baseline of {recorded.scenario} was recorded on other seeds than `seeds` says"
        elif place.gate.share is not None and recorded.scale <= 0:
            yield f"the baseline of {recorded.scenario} is no better than doing nothing"


def _same_seeds(recorded: RecordedScenario, commitment: str, place: Place) -> bool:
    seeds, sealed = place.gate.seeds, sealed_seeds(place)
    if sealed is not None:
        return commitment == sealed.commitment and len(recorded.games) == sealed.count
    known = [game.seed for game in recorded.games]
    return (
        not commitment and None not in known and (len(known) == 2 * seeds if isinstance(seeds, int) else known == seeds)
    )


async def record(
    place: Place,
    player: Player,
    folder: Path,
    *,
    before: Baseline | None = None,
    new_seeds: bool = False,
    replicas: int | None = None,
    say: Said = lambda _: None,
) -> Baseline:
    """Play the baseline: on the seeds of the one before it, on new ones, or on those from 1001 on.

    An agent that is no policy plays each seed twice. Games that are there already are kept. Raises ScenarioError for a
    baseline that nothing can be measured by, HarnessFailure where a game could not be played.
    """
    times = replicas or (2 if player.draws else 1)
    folder = games_folder(folder, digest(canonical([place.key, player.label, player.code, times])))
    sealed = sealed_seeds(place)
    scenarios: list[RecordedScenario] = []
    for number, variant in enumerate(place.variants):
        say(f"{variant.scenario.id}: choosing seeds")
        trials = await chosen(place, variant, _first(before, number, new_seeds))
        scenarios.append(await _recorded(place, player, folder, variant, trials, times, say))
    made = Baseline(
        agent={"label": player.label[:300]},
        recorded=datetime.now(UTC).date().isoformat(),
        tradefair=WRITTEN_BY.removeprefix("tradefair "),
        commitment=sealed.commitment if sealed else "",
        scenarios=[_without_seeds(scenario) for scenario in scenarios] if sealed else scenarios,
    )
    answered(folder)
    return made.model_copy(update={"digest": made.sealed})


def _first(before: Baseline | None, number: int, new_seeds: bool) -> int:
    games = before.scenarios[number].games if before is not None and number < len(before.scenarios) else []
    known = [game.seed for game in games if game.seed is not None]
    return (max(known) + 1 if new_seeds else min(known)) if known else FIRST_SEED


async def _recorded(
    place: Place, player: Player, folder: Path, variant: Variant, trials: list[Trial], times: int, say: Said
) -> RecordedScenario:
    async def one(number: int) -> Game:
        seed, replica = trials[number // times].seed, number % times
        say(f"{variant.scenario.id}: seed {seed}, {number + 1} of {times * len(trials)}")
        path = folder / variant.folder / (f"{seed}-{replica}.trace" if replica else f"{seed}.trace")
        try:
            return await game_of(player, variant, seed, path, key=replica or None)
        except Missing as problem:
            raise HarnessFailure(f"seed {seed}: {problem}; the same command plays what is missing") from problem

    played = await in_turn(one, times * len(trials), at_a_time=place.gate.at_a_time)
    groups = [played[start : start + times] for start in range(0, len(played), times)]
    games = [
        RecordedGame(
            seed=several[0].seed,
            seat=", ".join(several[0].seats),
            rewards=[game.reward for game in several],
            head=several[0].head,
            turns=several[0].turns,
        )
        for several in groups
    ]
    roles = {variant.roles[seat] for seat in played[0].seats}
    metric = reward_metric(variant.market, roles)
    assert metric is not None  # a game without a reward is missing
    passive = fmean(trial.reward for trial in trials)
    scale = (fmean(game.reward for game in games) - passive) * (1 if metric.higher_is_better else -1)
    _measurable(place, variant, scale, metric.unit)
    noise = own_deviation([game.rewards for game in games], again=True)
    return RecordedScenario(
        scenario=variant.scenario.id,
        digest=variant.key,
        rules=market_type(variant.market).version,
        evaluator=evaluator_of(variant.market).version,
        tools=trials[0].tools,
        metric=metric.name,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        verb=phrases_for(evaluator_of(variant.market).phrases, next(iter(roles)) if len(roles) == 1 else "")["verb"],
        passive=passive,
        scale=scale,
        noise=noise / (scale if place.gate.share is not None else 1.0),
        canary=trials[0].outcome,
        games=games,
    )


def _measurable(place: Place, variant: Variant, scale: float, unit: str) -> None:
    if place.gate.share is None or (scale > 0 and math.isfinite(scale)):
        return
    least = f"this one earned {-scale:g} {unit} less than doing nothing" if scale < 0 else "this one earned as much"
    raise ScenarioError(
        f"{variant.scenario.id}: a baseline must be better than doing nothing, and {least}; "
        f"a share of nothing is no margin: write an amount, such as margin = 3.5 ({unit})"
    )


def _without_seeds(scenario: RecordedScenario) -> RecordedScenario:
    games = [game.model_copy(update={"seed": None, "head": ""}) for game in scenario.games]
    return scenario.model_copy(update={"games": games})


def write_baseline(baseline: Baseline, file: Path) -> None:
    """Write it whole. Raises ScenarioError where it cannot be written."""
    try:
        write_whole(file, baseline.written())
    except OSError as fault:
        raise ScenarioError(f"{file} cannot be written: {fault.strerror}") from None
