"""The gate at work: games until it is decided, limits, the first difference; its result as an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.ledger import Action
from tradefair.evaluation.statistics.sequential import rare_up_to
from tradefair.runner.gate.baseline import Baseline, RecordedScenario, Said, check_baseline
from tradefair.runner.gate.cases import CaseResult, play_cases
from tradefair.runner.gate.deciding import Deciding, Rule, Status
from tradefair.runner.gate.gate_file import COUNTED, LEAST_SEEDS, GateFile, Place, share_of
from tradefair.runner.gate.sides import Game, Missing, Player, Turn, answered, game_of, games_folder, turns_of
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.runner.ledger.replays import NotReplayed
from tradefair.runner.plans.budget import Account
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.plans.play import Spent
from tradefair.runner.play.series import in_turn
from tradefair.tracestore import open_trace

EXIT_CODES: Mapping[Status, int] = {"not_worse": 0, "worse": 1, "unknown": 4}


class Difference(NamedTuple):
    """A turn in which the agent did otherwise than the baseline, and what that turn lost by the ledger.

    It is the first that cost something, else the very first. `before` is what the baseline did, None where its trace is
    not here; `lost` is null without a ledger.
    """

    seed: int
    turn: Turn
    before: tuple[Action, ...] | None
    lost: float | None
    trace: Path


class LimitResult(NamedTuple):
    """A limit, what was counted, of how much, and the first event that broke it."""

    name: str
    value: int
    of: int
    most: int | str
    broken: bool
    where: str


@dataclass
class ScenarioResult:
    """One scenario. `loss`, `low` and `high` are shares of the scale, or amounts where the margin is one.

    `games` are those that were used, `missing` the reasons of those that could not be; `own` and `before` are the mean
    rewards of agent and baseline on the same seeds.
    """

    recorded: RecordedScenario
    variant: Variant
    deciding: Deciding
    seeds: Sequence[int]
    share: bool
    played: list[tuple[int, Game]] = field(default_factory=list[tuple[int, Game]])
    missing: list[str] = field(default_factory=list[str])
    first: Difference | None = None
    between: tuple[float | None, float | None] = (None, None)

    @property
    def scenario(self) -> str:
        """Its id."""
        return self.recorded.scenario

    @property
    def status(self) -> Status:
        """Worse at once; not worse only where no game is missing."""
        found = self.deciding.status or "unknown"
        return "unknown" if found == "not_worse" and self.missing else found

    @property
    def games(self) -> int:
        """How many were used."""
        return len(self.played)

    @property
    def loss(self) -> float:
        """The mean loss."""
        return self.deciding.mean

    @property
    def low(self) -> float | None:
        """The least loss that is not excluded; None where too few games exclude any."""
        return self.between[0]

    @property
    def high(self) -> float | None:
        """The largest."""
        return self.between[1]

    @property
    def own(self) -> float:
        """What the agent earned a game."""
        return fmean(game.reward for _, game in self.played)

    @property
    def before(self) -> float:
        """What the baseline earned on the same seeds."""
        return fmean(self.recorded.games[number].reward for number, _ in self.played)

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not known is null."""
        first = self.first
        known = bool(self.played)
        return {
            "scenario": self.scenario,
            "status": self.status,
            "loss": self.loss if known else None,
            "low": self.low,
            "high": self.high,
            "margin": self.deciding.rule.margin,
            "in": "shares of the scale" if self.share else self.recorded.unit,
            "games": self.games,
            "own": self.own if known else None,
            "baseline": self.before if known else None,
            "unit": self.recorded.unit,
            "rare_up_to": rare_up_to(self.games) if known else None,
            "losses": self.deciding.losses,
            "missing": self.missing,
            "first_difference": None
            if first is None
            else {
                "seed": first.seed,
                "seat": first.turn.seat,
                "round": first.turn.round,
                "seq": first.turn.seq,
                "did": first.turn.did,
                "baseline": first.before,
                "lost": first.lost,
                "trace": str(first.trace),
            },
        }


@dataclass
class GateResult:
    """What a gate has found. `verdict` is the text for people, `reason` why it could not tell.

    `stopped` names the limit of the budget that ended it before it was decided.
    """

    label: str
    baseline: Baseline
    margin: str | float
    scenarios: list[ScenarioResult]
    limits: list[LimitResult]
    cases: list[CaseResult]
    stopped: str = ""
    verdict: str = ""

    @property
    def status(self) -> Status:
        """`worse` where a scenario is, or a limit or a case is broken; `not_worse` where all are; else `unknown`."""
        states = [scenario.status for scenario in self.scenarios]
        broken = any(limit.broken for limit in self.limits) or any(case.broken for case in self.cases)
        if broken or "worse" in states:
            return "worse"
        whole = not any(case.problem for case in self.cases) and set(states) == {"not_worse"}
        return "not_worse" if whole else "unknown"

    @property
    def exit_code(self) -> int:
        """0 not worse, 1 worse, 4 could not tell."""
        return EXIT_CODES[self.status]

    @property
    def reason(self) -> str:
        """Why it could not tell; empty where it could."""
        if self.status != "unknown":
            return ""
        missing = any(scenario.missing for scenario in self.scenarios) or any(case.problem for case in self.cases)
        return "games are missing" if missing else self.stopped or "too few games"

    def to_json(self) -> dict[str, Any]:
        """Plain data, the status first."""
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "verdict": self.verdict,
            "agent": self.label,
            "baseline": {"label": self.baseline.label, "recorded": self.baseline.recorded},
            "margin": self.margin,
            "scenarios": [scenario.to_json() for scenario in self.scenarios],
            "limits": [limit._asdict() for limit in self.limits],
            "cases": [case._asdict() for case in self.cases],
        }


def rule_of(gate: GateFile, most: int) -> Rule:
    """When a scenario with so many recorded seeds is decided; the margin is in the unit of its losses."""
    first = gate.seeds if isinstance(gate.seeds, int) else max(LEAST_SEEDS, most // 2)
    margin = gate.share if gate.share is not None else float(gate.margin)
    return Rule(margin, first, most, gate.error.red / len(gate.scenarios), gate.error.green)


async def judge(
    place: Place,
    player: Player,
    baseline: Baseline,
    folder: Path,
    *,
    others: Path | None = None,
    whole: bool = False,
    say: Said = lambda _: None,
) -> GateResult:
    """Play until it is decided. `others` is a folder with the baseline's traces; `whole`: play on after a red.

    Games that this very question has played already are kept. Raises ScenarioError before anything is played.
    """
    account = _account(place, player)
    seeds = await check_baseline(baseline, place)
    question = digest(canonical([place.key, baseline.digest, player.label, player.code]))
    judging = _Judging(place, player, baseline, seeds, games_folder(folder, question), account, say)
    cases = await play_cases(place, player, folder / "cases")
    if whole or not any(case.broken for case in cases):
        await judging.play(whole)
    scenarios = judging.scenarios
    stopped = "" if all(scenario.deciding.status for scenario in scenarios) else judging.stopped
    # A share of few games says nothing: the same command goes on.
    limits = judging.limits(final=not stopped)
    result = GateResult(player.label, baseline, place.gate.margin, scenarios, limits, cases, stopped)
    for scenario in scenarios:
        scenario.between = scenario.deciding.between
        scenario.first = _first_difference(scenario, others) if scenario.status == "worse" else None
    if result.reason in ("", "too few games"):
        answered(folder)
    return result


def _account(place: Place, player: Player) -> Account:
    """What the gate may take. Raises ScenarioError for a limit that could never be reached."""
    budget, asks = place.gate.budget, {} if player.spec is None else {player.label: player.spec}
    account = Account.of(asks, budget, {})
    if (budget.tokens or budget.cost_usd) and not account.asks:
        raise ScenarioError(
            f"budget: no model call of {player.label} is counted here; write episodes or wall_time_s, not tokens or "
            "cost_usd"
        )
    return account


_Item = tuple[ScenarioResult, int, Game | str]
"""A game of a scenario by its number, or why it is missing."""


class _Judging:
    """The games of a gate, one of each scenario in turn."""

    def __init__(
        self,
        place: Place,
        player: Player,
        baseline: Baseline,
        seeds: list[list[int]],
        folder: Path,
        account: Account,
        say: Said,
    ) -> None:
        self._place, self._player, self._folder, self._say = place, player, folder, say
        self._account, self.stopped = account, ""
        self._modes = sorted(set(place.gate.limits) - set(COUNTED))
        self._looked = 0
        share = place.gate.share is not None
        self.scenarios = [
            ScenarioResult(recorded, variant, Deciding(rule_of(place.gate, len(known))), known, share)
            for recorded, variant, known in zip(baseline.scenarios, place.variants, seeds, strict=True)
        ]

    async def play(self, whole: bool) -> None:
        """Play until every scenario is decided, or the first is worse; `whole`: until every one is."""
        most = len(self.scenarios) * max(len(scenario.seeds) for scenario in self.scenarios)
        at_a_time = self._place.gate.at_a_time
        await in_turn(self._one, most, at_a_time=at_a_time, enough=lambda done: self._enough(done, whole))

    async def _one(self, number: int) -> _Item | None:
        scenario, index = self.scenarios[number % len(self.scenarios)], number // len(self.scenarios)
        if scenario.deciding.status is not None or index >= len(scenario.seeds):
            return None
        seed = scenario.seeds[index]
        path = self._folder / scenario.variant.folder / f"{seed}.trace"
        if not path.is_file():
            self.stopped = self.stopped or self._account.used_up or ""
            if self.stopped:
                return None
            self._account.begun += 1
        self._say(f"{scenario.scenario}: seed {seed}, game {index + 1}")
        try:
            return scenario, index, await game_of(self._player, scenario.variant, seed, path, modes=self._modes)
        except Missing as problem:
            return scenario, index, str(problem)

    def _enough(self, done: Sequence[_Item | None], whole: bool) -> bool:
        for scenario in self.scenarios:
            _take(scenario, [item for item in done[self._looked :] if item is not None and item[0] is scenario])
        self._looked = len(done)
        self._account.spend(dict.fromkeys(self._account.asks, self._spent()))
        if self.stopped:
            return True
        red = any(scenario.status == "worse" for scenario in self.scenarios)
        broken = any(limit.broken for limit in self.limits(final=False))
        return (not whole and (red or broken)) or all(scenario.deciding.status for scenario in self.scenarios)

    def _spent(self) -> Spent:
        spent = [game.spent for scenario in self.scenarios for _, game in scenario.played]
        return Spent(*map(sum, zip(*spent, strict=True)))

    def limits(self, *, final: bool) -> list[LimitResult]:
        """What the limits count, over all games; a share is judged when all are played."""
        games = [game for scenario in self.scenarios for _, game in scenario.played]
        return [_limit(name, most, games, final) for name, most in self._place.gate.limits.items()]


def _take(scenario: ScenarioResult, done: Sequence[_Item]) -> None:
    losses: list[float] = []
    for _, index, game in done:
        if isinstance(game, str):
            scenario.missing.append(f"seed {scenario.seeds[index]}: {game}")
        else:
            scenario.played.append((index, game))
            losses.append(scenario.recorded.loss(index, game.reward, share=scenario.share))
    scenario.deciding.look(losses)


def _limit(name: str, most: int | str, games: Sequence[Game], final: bool) -> LimitResult:
    counted: dict[str, Callable[[Game], int]] = {
        "never_acted": lambda game: not game.acted,
        "broke_off": lambda game: game.broke_off,
        "refused": lambda game: game.refused,
    }
    count = counted.get(name, lambda game: name in game.raised)
    found = Counter({number: count(game) for number, game in enumerate(games)})
    value, of = found.total(), sum(game.calls for game in games) if name == "refused" else len(games)
    share = share_of(most)
    broken = value > int(most) if share is None else final and value > share * of
    where = ""
    if broken:
        game = next(games[number] for number, times in found.items() if times)
        event = f", event {game.raised[name]}" if name in game.raised else ""
        where = f"seed {game.seed}{event} ({game.path})"
    return LimitResult(name, value, of, most, broken, where)


def _first_difference(scenario: ScenarioResult, others: Path | None) -> Difference | None:
    """Where the game that lost most left the baseline's way: the first turn from there on that cost something."""

    def loss(item: tuple[int, Game]) -> float:
        return scenario.recorded.loss(item[0], item[1].reward, share=scenario.share)

    apart = [item for item in scenario.played if item[1].turns != scenario.recorded.games[item[0]].turns]
    if not apart:
        return None
    index, game = max(apart, key=loss)
    recorded = scenario.recorded.games[index]
    with open_trace(game.path) as trace:
        own = turns_of(trace, game.seats)
    digests = [recorded.turns[start : start + 4] for start in range(0, 4 * len(own), 4)]
    first = next((number for number, turn in enumerate(own) if turn.digest != digests[number]), len(own) - 1)
    known = _turns_before(scenario, game, recorded.head, others)
    differing = [turn for turn in own[first:] if known.get(turn.place, ()) != turn.did]
    lost = _lost(game)
    turn = next((turn for turn in differing if lost.get(turn.seq, 0.0) > 0), own[first])
    before = known.get(turn.place, ()) if known else None
    return Difference(game.seed, turn, before, lost.get(turn.seq), game.path)


def _turns_before(
    scenario: ScenarioResult, game: Game, head: str, others: Path | None
) -> dict[tuple[int, str, str], tuple[Action, ...]]:
    """What the baseline did on this seed, where the very trace of its game is here; else nothing."""
    path = others / scenario.variant.folder / f"{game.seed}.trace" if others is not None else None
    if path is None or not path.is_file():
        return {}
    try:
        with open_trace(path) as trace:
            same = trace.manifest.about.get("head_hash") == head or not head
            return {turn.place: turn.did for turn in turns_of(trace, game.seats)} if same else {}
    except TraceError:
        return {}


def _lost(game: Game) -> dict[int, float]:
    """What turns lost, by each of their events; nothing where there is no ledger."""
    found: dict[int, float] = {}
    for seat in game.seats:
        with suppress(TraceError, NotReplayed, ScenarioError, SeatError):
            turns = [turn for turn in ledger_of(game.path, seat).turns if turn.until == turn.turn]
            found |= {seq: turn.lost for turn in turns for seq in turn.seqs}
    return found
