"""What ratings read of finished episodes: labels, scores and a few figures of each, from outcomes alone.

Nothing is diagnosed; chain and seal are checked, and what was asked for proves what it says (`proving`). Many files
are read by several processes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import canonical
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.hands import handovers
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.outcome import Outcome, RatingRules
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.prove.proving import game_of, proof_asked, refusal_of
from tradefair.evaluation.reading import imported, shown_seating
from tradefair.tracestore import Trace, find_traces, is_reference, open_trace, sound_head

# The wording of end reasons is part of the trace's format.
_HARNESS = "truncated:harness_failure"
# Processes are spawned and each imports the evaluators first: of fewer files one process is enough.
_MANY = 200
_BATCH = 25
# Characters of a label: what a manifest says may be any length, and labels stand in every table.
_MAX_LABEL = 120
# Sums of larger numbers would lose units to rounding.
_LARGEST = 1e15

# What a manifest of a stranger's making can lead to, in addition to what reading finds.
_DAMAGE = (TraceError, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class SeatResult(NamedTuple):
    """One seat of a finished episode; `numbers` are in the order of `seat_fields`, `series` in that of the rules.

    `series` and `conduct` are empty where they were not asked for. `policy` is the scripted policy that played,
    `framework` and `model` what an agent was made of; "" where there is none.
    """

    seat: SeatId
    role: str
    label: str
    privileged: bool
    numbers: tuple[float | None, ...]
    series: tuple[tuple[float | None, ...], ...] = ()
    policy: str = ""
    framework: str = ""
    model: str = ""
    conduct: tuple[float | None, ...] = ()


class GameResult(NamedTuple):
    """One episode as ratings need it. `head` is its chain's last hash, `game` the digest of what was played.

    `path` goes on with seat and event where the trace proves nothing.
    `shape` is the scenario without the parameters that may vary, as canonical JSON. `figures` are in the order of the
    rules' `market_figures`. `unusable` says why the episode cannot be rated; "" when it can.
    """

    path: str
    market: str
    scenario: str
    shape: str
    rules_version: str
    seed: int
    head: str
    foreign: bool
    seats: tuple[SeatResult, ...]
    figures: tuple[float | None, ...]
    potential: float | None
    unusable: str
    game: str = ""


class Unread(NamedTuple):
    """A file that is no sound trace."""

    path: str
    problem: str


class Results(NamedTuple):
    """What was read, in the order of the paths; `references` counts the files that were passed over as such.

    `proven`: the games that can be used were re-executed.
    """

    games: list[GameResult]
    unread: list[Unread]
    references: int = 0
    proven: bool = False


def block_of(game: GameResult) -> str:
    """What a game shares its luck with: all of its seed; a log from elsewhere has no seed and shares it with none."""
    return game.head if game.foreign else str(game.seed)


def rules_of(market: str) -> RatingRules | None:
    """How a market is rated; None where its evaluator does not say."""
    return evaluator_of(market).rating


def seat_fields(rules: RatingRules) -> tuple[str, ...]:
    """The seat fields that a result keeps, scores first."""
    return tuple(dict.fromkeys((*rules.scores, *rules.seat_figures, *rules.errors.values())))


def read_results(
    paths: Sequence[str | Path],
    *,
    progress: Progress | None = None,
    workers: int | None = None,
    series: bool = False,
    proven: bool | None = None,
) -> Results:
    """Read trace files and folders of them (TraceError where there is none). Total: what is damaged is `unread`.

    `proven`: re-execute each, and call those unusable that prove nothing; by default where it takes a minute at most.

    `workers` processes share the work; by default one, of many files as many as there are cores. They are spawned: a
    script that asks for several needs the usual `if __name__ == "__main__":`. `series`: with what charts over games
    read, a kilobyte per seat.
    """
    files, references = _files([Path(path) for path in paths])
    proven = proof_asked(proven, files)
    found = gathered(read_files(files, progress=progress, workers=workers, series=series, proven=proven))
    return found._replace(references=references, proven=proven)


def read_files(
    files: Sequence[Path],
    *,
    progress: Progress | None = None,
    workers: int | None = None,
    series: bool = False,
    proven: bool = False,
) -> Iterator[GameResult | Unread]:
    """One result per file, in their order; `workers`, `series` and `proven` as for `read_results`."""
    count = workers or (os.cpu_count() or 1 if len(files) >= _MANY else 1)
    read = _read_all(files, count, series, proven)
    for _, found in zip(watched(files, progress, lambda path: path.name), read, strict=True):
        # Results of other processes arrive as copies: each would hold its own text of every label.
        yield found if isinstance(found, Unread) else _shared(found)


def gathered(found: Iterable[GameResult | Unread]) -> Results:
    """Single results as leaderboards take them."""
    every = list(found)
    unread = [result for result in every if isinstance(result, Unread)]
    return Results([result for result in every if not isinstance(result, Unread)], unread)


def read_result(path: Path, *, series: bool = False, proven: bool = False) -> GameResult | Unread:
    """One episode; `series` and `proven` as for `read_results`. Raises nothing."""
    try:
        # Chain and outcome read the same events: a live trace must not grow between the passes.
        with open_trace(path) as trace:
            trace.hold()
            found = _result(path, trace, series)
            refusal = refusal_of(trace) if proven and not found.unusable else None
            if refusal is None:
                return found
            return found._replace(unusable=f"proves nothing: {refusal.reason}", path=f"{path}{refusal.where}")
    except _DAMAGE as error:
        # Some errors have no text; their name is better than an empty reason.
        return Unread(str(path), str(error)[:300] or repr(error))


def _files(paths: Sequence[Path]) -> tuple[list[Path], int]:
    """Trace files under the paths, each once, and the number of those passed over as references."""
    found: dict[Path, None] = {}
    references = 0
    for base in paths:
        for file in find_traces(base):
            # A file that was named itself is rated, even in a folder of references.
            beside = is_reference(file, base)
            references += beside
            if not beside:
                # A file that is named itself and by its folder is read once.
                found[file] = None
    return list(found), references


def _read_all(files: Sequence[Path], workers: int, series: bool, proven: bool) -> Iterator[GameResult | Unread]:
    """One result per file, in the order of the files."""
    read = partial(read_result, series=series, proven=proven)
    if workers <= 1:
        yield from map(read, files)
        return
    # Imported here: most calls read few files and start no process.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Spawned, not forked: the viewer asks from a thread of a process that has many.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(read, files, chunksize=_BATCH)


def _result(path: Path, trace: Trace, series: bool) -> GameResult:
    """One episode as a result. Raises what reading and evaluating raise."""
    manifest = trace.manifest
    core, seating = manifest.core, shown_seating(trace)
    if is_foreign(core):
        # Without a name: a folder of such runs is left out in one line.
        raise TraceError("no rules made these runs: there is no score to rank")
    # The chain binds labels; the end's digest and times are the seal's.
    if manifest.sealed and not manifest.seal_holds:
        raise TraceError(f"{path.name}: the manifest's seal does not fit its about; run tradefair verify")
    _, head = sound_head(trace)
    rules = rules_of(core.market)
    scenario = core.scenario
    varies = rules.varies if rules else frozenset[str]()
    game = GameResult(
        path=str(path),
        market=core.market,
        scenario=str(scenario.get("id", ""))[:_MAX_LABEL],
        # Canonical, so that equal scenarios are equal texts: the text is a part of the group's key.
        shape=canonical({key: value for key, value in scenario.items() if key not in varies}).decode(),
        rules_version=core.rules_version,
        seed=core.seed,
        head=head.hex(),
        foreign=imported(seating),
        seats=(),
        figures=(),
        potential=None,
        unusable=f"{core.market} has no ratings: its evaluator does not say what they would rank",
        game=game_of(trace),
    )
    if rules is None:
        return game
    outcome = evaluate(trace)
    return game._replace(
        seats=_seats(rules, outcome, seating, rules.series if series else (), _conduct(rules, trace) if series else {}),
        figures=_numbers(outcome.market_outcome, rules.market_figures),
        potential=_number(getattr(outcome.market_outcome, rules.potential, None)),
        unusable=_unusable(core.market, outcome, seating) or ("a seat changed hands" if handovers(trace) else ""),
    )


def _seats(
    rules: RatingRules,
    outcome: Outcome[Any, Any],
    seating: Seating,
    series: Sequence[str],
    conduct: Mapping[SeatId, tuple[float | None, ...]],
) -> tuple[SeatResult, ...]:
    """The seats with their labels, numbers, `series` and `conduct`, in the order of the outcome."""
    fields = seat_fields(rules)
    return tuple(
        SeatResult(
            seat,
            result.role,
            (result.label or "")[:_MAX_LABEL],
            seat in seating.privileged,
            _numbers(result, fields),
            tuple(tuple(_entry(value) for value in getattr(result, name)) for name in series),
            *_made_of(seating, seat),
            conduct.get(seat, ()),
        )
        for seat, result in outcome.seats.items()
    )


def _conduct(rules: RatingRules, trace: Trace) -> dict[SeatId, tuple[float | None, ...]]:
    """The figures of `RatingRules.conduct` by seat; of a rating without any, nothing is computed."""
    stages = evaluator_of(trace.manifest.core.market).stages(trace) if rules.conduct else []
    found: dict[SeatId, dict[str, float | None]] = {}
    for row in (row for stage in stages for row in stage.figures):
        for seat in row.seats:
            found.setdefault(seat, {})[row.id] = row.value
    return {seat: tuple(_number(values.get(name)) for name in rules.conduct) for seat, values in found.items()}


def _made_of(seating: Seating, seat: SeatId) -> tuple[str, str, str]:
    """Policy, framework and model of a seat, each cut to 120 characters."""
    player = seating.players.get(seat)
    if player is None or player.policy is not None:
        # Its record, if there is one, says "policy" once more.
        return ((player and player.policy) or "")[:_MAX_LABEL], "", ""
    agent = player.agent
    return "", (agent.framework if agent else "")[:_MAX_LABEL], ((agent and agent.model) or "")[:_MAX_LABEL]


def _unusable(market: str, outcome: Outcome[Any, Any], seating: Seating) -> str:
    """Why an episode says nothing about its labels; what an agent did badly is no reason."""
    if not seating.bound:
        return "trace schema 1: its chain does not say who played"
    end = outcome.end_reason
    # Before all others: an open episode has no end that could be judged.
    if end is None:
        return "unfinished: go on with tradefair play --resume"
    if end == _HARNESS:
        return "harness failure: not the agents' doing"
    # Sums of a shorter episode would be ranked against those of whole ones.
    if outcome.censored or not evaluator_of(market).ran_its_course(end):
        return f"partial: {end[:_MAX_LABEL]}"
    if outcome.findings:
        return "odd: the trace has findings, see tradefair evaluate"
    if any(not seat.label for seat in outcome.seats.values()):
        return "a seat has no label"
    return ""


def _numbers(record: object, fields: Iterable[str]) -> tuple[float | None, ...]:
    """The named fields of an outcome as finite numbers; None where a field is missing or is no number."""
    return tuple(_number(getattr(record, name, None)) for name in fields)


def _number(value: object) -> float | None:
    """A finite number of a size that can be added up; null for anything else."""
    # True is an int to Python; a flag is no score.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    with suppress(OverflowError):
        return float(value) if math.isfinite(value) and abs(value) <= _LARGEST else None
    return None


def _entry(value: object) -> float | None:
    """A round's number as `_number` takes it, whole ones as they are: small integers share their memory."""
    if isinstance(value, int):
        return int(value) if abs(value) <= _LARGEST else None
    return _number(value)


def _shared(game: GameResult) -> GameResult:
    """The same with texts that many games share held once."""
    seats = tuple(
        seat._replace(seat=intern(seat.seat), role=intern(seat.role), label=intern(seat.label)) for seat in game.seats
    )
    return game._replace(
        market=intern(game.market),
        scenario=intern(game.scenario),
        shape=intern(game.shape),
        rules_version=intern(game.rules_version),
        unusable=intern(game.unusable),
        seats=seats,
    )
