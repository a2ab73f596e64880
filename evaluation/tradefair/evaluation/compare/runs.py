"""Reading the traces of one side: manifest, outcome and account of each. Damaged traces are listed, not compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract import SeatError, SeatId, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import unknown
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import AgentRecord, Seating
from tradefair.contract.scenario import natural_order
from tradefair.evaluation.compare.comparison import Run
from tradefair.evaluation.evaluator import evaluator_of, fields_for
from tradefair.evaluation.hands import handovers, shown_hands
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import finite, primary_metrics
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.prove.proving import game_of, proof_asked, refusal_of
from tradefair.evaluation.prove.sealing import check_sealing
from tradefair.evaluation.read.accounts import Account, account
from tradefair.evaluation.reading import agent_seats, shown_seating
from tradefair.tracestore import REFERENCES, Trace, find_traces, is_reference, open_trace, sound_head

_LARGEST = 1e15  # sums of larger numbers would lose units to rounding
_MAX_TEXT = 120  # characters of a label


class Task(NamedTuple):
    """What must be equal for two runs to be a pair: the same luck, the same compared seats, the same opponents."""

    market: str
    scenario: str
    scenario_digest: str
    seed: int
    seats: tuple[SeatId, ...]
    # A tuple, because a task is a key of a dictionary; sorted by seat, so that the order of a manifest does not show.
    opponents: tuple[tuple[SeatId, str], ...]


@dataclass(frozen=True)
class Loaded:
    """One trace as a comparison needs it.

    `head` is the chain's hash after its last event, in hex, `moves` the digest of what was done, looks included, and
    `game` that of what was played (`proving.game_of`), whoever played it.
    `paired_as` replaces the scenario where runs of two scenarios are to be pairs.
    """

    path: Path
    core: ManifestCore
    about: Mapping[str, Any]
    seating: Seating
    outcome: Outcome[Any, Any]
    account: Account
    head: str
    moves: str
    game: str
    paired_as: str = ""

    @cached_property
    def scenario_digest(self) -> str:
        # Cached, because the digest of a large scenario is asked for whenever a task is built of this run.
        """Digest of the scenario's whole content, overrides included."""
        return digest(canonical(self.core.scenario))

    @property
    def scenario(self) -> str:
        """The scenario's id."""
        return str(self.core.scenario.get("id", ""))

    @property
    def policy_key(self) -> int:
        """The key that chose the draws of the scripted policies."""
        return self.seating.policy_key

    @property
    def keys(self) -> tuple[int, int]:
        """The keys of all draws but the market's: of the scripted policies, and of the seats under test."""
        return self.seating.policy_key, self.seating.agent_key

    def player(self, seat: SeatId) -> str:
        """What decided for a seat: the policy as it was named, or the label of an agent from outside."""
        player = self.seating.players[seat]
        return (player.policy or player.label)[:_MAX_TEXT]

    def agents(self, seats: Seats) -> Iterator[AgentRecord]:
        """What is recorded of the agents in the compared seats."""
        found = (self.seating.players[seat].agent for seat in seats.of(self))
        return (agent for agent in found if agent is not None)

    def task(self, seats: Seats) -> Task:
        """The task of this run when `seats` are compared; all other seats are opponents."""
        own = seats.of(self)
        others = sorted((seat.id for seat in self.core.seats if seat.id not in own), key=natural_order)
        return Task(
            self.core.market,
            # Across scenarios the name stands for the digest too, or unequal contents would never be pairs.
            self.paired_as or self.scenario,
            self.paired_as or self.scenario_digest,
            self.core.seed,
            own,
            tuple((seat, self.player(seat)) for seat in others),
        )


class Seats(NamedTuple):
    """Which seats of a run are compared: the named ones, else those where the agent sat, which may differ by seed."""

    named: tuple[SeatId, ...] = ()

    def of(self, run: Loaded) -> tuple[SeatId, ...]:
        """The compared seats of a run; none where its manifest does not say where an agent sat.

        Imported traces do not say so; there it is the only seat.
        """
        only = [run.core.seats[0].id] if len(run.core.seats) == 1 else []
        return self.named or tuple(agent_seats(run.seating) or only)

    def of_all(self, runs: Iterable[Loaded]) -> list[SeatId]:
        """Every seat that is compared in some of these runs, in the market's order."""
        return sorted({seat for run in runs for seat in self.of(run)}, key=natural_order)


@dataclass
class Side:
    """The runs of one side, the references next to them, and (path, reason) of each trace that cannot be read, or that
    proves nothing. `copies` are further traces of a game that is there; `proven`: runs were re-executed.
    """

    path: Path
    runs: list[Loaded] = field(default_factory=list[Loaded])
    references: list[Loaded] = field(default_factory=list[Loaded])
    damaged: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])
    copies: list[Path] = field(default_factory=list[Path])
    proven: bool = False


def load_side(path: Path, *, proven: bool | None = False) -> Side:
    """Read a trace, or all traces under a folder. Chains and seals are checked; `proven`: each is re-executed, and what
    proves nothing is listed as damaged (None: where that takes a minute at most).

    Raises TraceError when there is no trace, or when there are traces of several markets.
    """
    if path.is_dir() and not _holds_traces(path):
        raise TraceError(f"{path}: no trace here (*.trace or *.trace.jsonl); name a folder that play wrote into")
    return load_files(path, _files(path), proven=proven)


def load_files(path: Path, files: Sequence[Path], *, proven: bool | None = False) -> Side:
    """Read these traces, each game once; `path` names the side. What lies in a folder of references is a reference."""
    side = Side(path, proven=proof_asked(proven, files))
    games: set[object] = set()
    # Only parts below what was named count: someone may keep all runs in a folder called references.
    base = path.parent if path.is_file() else path
    for file in files:
        try:
            loaded = load_run(file, proven=side.proven)
        # One damaged trace must not stop a comparison of a hundred; it is listed and sets the exit code.
        except TraceError as error:
            side.damaged.append((file, str(error)))
            continue
        game = is_reference(file, base), loaded.game, *loaded.seating.labels.items(), loaded.outcome.end_reason
        if game in games:
            side.copies.append(file)
            continue
        games.add(game)
        (side.references if is_reference(file, base) else side.runs).append(loaded)
    # References are not asked: a folder of references of another market simply matches no task.
    markets = sorted({run.core.market for run in side.runs})
    if len(markets) > 1:
        raise TraceError(f"{path}: holds traces of several markets ({', '.join(markets)}); name a folder of one market")
    return side


def _files(path: Path) -> list[Path]:
    """The traces under a folder; for a single file, the references in the folder next to it too."""
    files = find_traces(path)
    # `play --references` writes them next to the trace that it wrote, and a single trace was named.
    references = path.parent / REFERENCES
    return [*files, *find_traces(references)] if path.is_file() and _holds_traces(references) else files


def _holds_traces(folder: Path) -> bool:
    """Whether a folder holds a trace at any depth. Asked before reading, to tell "empty" from "all damaged"."""
    return folder.is_dir() and any((*folder.rglob("*.trace"), *folder.rglob("*.trace.jsonl")))


def load_run(path: Path, *, proven: bool = False) -> Loaded:
    """Read one trace. Raises TraceError when it is damaged, and with `proven` when it proves nothing."""
    with open_trace(path) as trace:
        trace.hold()
        manifest = trace.manifest
        core = manifest.core
        # The events are chained and checked below; times, costs and the end's digest are guarded by the seal alone.
        if damage := check_sealing(trace).damage:
            raise TraceError(f"{path.name}: {damage}; run tradefair verify")
        # Recomputes the chain up to the last sound event: a hash that the file merely claims proves nothing.
        _, head = sound_head(trace)
        outcome, counted = evaluate(trace), account(trace)
        # An unfinished one counts nowhere.
        refusal = refusal_of(trace) if proven and outcome.end_reason is not None else None
        if refusal is not None:
            raise TraceError(f"{path.name}: proves nothing, {refusal.text}")
        for changed in handovers(trace):
            said = shown_hands([changed])[changed.seat]
            raise TraceError(f"{path.name}: {changed.seat} changed hands, and no pair counts it: {said}")
        played = moves_of(trace), game_of(trace)
        return Loaded(path, core, manifest.about, shown_seating(trace), outcome, counted, head.hex(), *played)


def moves_of(trace: Trace) -> str:
    """Digest of all events without their numbers, and without those that say who plays."""
    seen = blake2b(digest_size=32)
    for stored in trace.events():
        # `{"seq":12,"event":…`: numbers shift where a seat has changed hands.
        rest = stored.body.partition(b",")[2]
        if not rest.startswith((b'"event":"episode_started"', b'"event":"seated"')):
            seen.update(rest + b"\n")
    return seen.hexdigest()


def compared_seats(a: Side, b: Side, asked: Sequence[SeatId] | None) -> Seats:
    """The seats to compare: those asked for, else the agent's, on some seed the same on both sides.

    Raises SeatError for an unknown seat, and where the choice is open: no seat was played by both.
    """
    runs = [*a.runs, *b.runs]
    if asked:
        # Of every run, not of the first: a folder may hold episodes of several shapes.
        for run in runs:
            known = [seat.id for seat in run.core.seats]
            missing = [seat for seat in asked if seat not in known]
            if missing:
                raise SeatError(f"{run.path.name}: {unknown('seat', missing[0], known)}")
        # A seat named twice would count twice in the mean.
        return Seats(tuple(dict.fromkeys(asked)))
    seats = Seats()
    # By seed: an agent that plays many seeds may sit in each seat in turn, and pairs meet the same seat.
    of_a, of_b = ({(run.core.seed, seats.of(run)) for run in side.runs if seats.of(run)} for side in (a, b))
    seeds = {seed for seed, _ in of_a} & {seed for seed, _ in of_b}
    if of_a and of_b and (of_a & of_b or not seeds):
        return seats
    places = " and ".join(sorted({", ".join(seats.of(run)) or "nowhere" for run in runs}))
    raise SeatError(f"the agent sits at {places}: name the seat to compare with --seat")


def roles_of(runs: Iterable[Loaded], seats: Seats) -> frozenset[str]:
    """The roles in which the compared seats were played."""
    return frozenset(
        run.outcome.seats[seat].role for run in runs for seat in seats.of(run) if seat in run.outcome.seats
    )


# Asked for every run of a side, and the answer depends on installed evaluators only.
@cache
def metric_names(market: str, roles: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Names of the compared numbers of seats in these roles (empty: all roles), primary metrics first."""
    primary = [metric.name for metric in primary_metrics(market, roles)]
    evaluator = evaluator_of(market)
    scaled = (name for pair in evaluator.closeness.items() for name in pair)
    shown = fields_for(evaluator, roles, [*evaluator.compared_columns, *scaled])
    return tuple(dict.fromkeys([*primary, *shown]))


def run_of(loaded: Loaded, seats: Sequence[SeatId]) -> Run:
    """The numbers of one run for the compared seats."""
    market = loaded.core.market
    evaluator = evaluator_of(market)
    end = loaded.outcome.end_reason
    # An evaluator may call a termination the intended end: that is no early end.
    stopped = end is not None and end.startswith("terminated:") and not evaluator.ran_its_course(end)
    numbers: dict[str, float | None] = {}
    for name in metric_names(market):
        values = [_number(getattr(loaded.outcome.seats.get(seat), name, None)) for seat in seats]
        known = [value for value in values if value is not None]
        # Undefined for the run when it is for one seat: a mean over the others would compare different seats.
        numbers[name] = math.fsum(known) / len(known) if known and len(known) == len(values) else None
    # Numbers of the whole market stand under a prefix: a seat's field of the same name is another number.
    whole_market = loaded.outcome.market_outcome
    for name in evaluator.market_columns:
        if hasattr(whole_market, name):
            numbers[f"market_{name}"] = _number(getattr(whole_market, name))
    digested = loaded.about.get("outcome_digest")
    return Run(
        # Across scenarios both sides may be the same agent: the label must say which is which.
        path=str(loaded.path),
        label=label_of(loaded, seats) + (f" in {loaded.scenario}" if loaded.paired_as else ""),
        policy_key=loaded.policy_key,
        head=loaded.head,
        moves=loaded.moves,
        outcome_digest=digested if isinstance(digested, str) else None,
        rounds_closed=loaded.outcome.rounds_closed,
        end_reason=end,
        censored=loaded.outcome.censored,
        # An agent that failed left the game like a bankrupt, so survival counts it; harness failures never come here.
        early=stopped or end == "truncated:agent_failure",
        metrics=numbers,
        account=loaded.account,
        at_stake=_at_stake(loaded, seats),
    )


def _at_stake(loaded: Loaded, seats: Sequence[SeatId]) -> float | None:
    """What there was to win in these seats, the mean over them; None where the market does not say of each."""
    evaluator = evaluator_of(loaded.core.market)
    try:
        stakes = [evaluator.at_stake(loaded.outcome, seat) for seat in seats if seat in loaded.outcome.seats]
    # Where facts break the formulas the outcome has no figures of the market.
    except Exception:
        return None
    known = [stake for stake in stakes if stake is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(seats) else None


def label_of(loaded: Loaded, seats: Sequence[SeatId]) -> str:
    """What played the compared seats."""
    return ", ".join(dict.fromkeys(loaded.seating.players[seat].label[:_MAX_TEXT] for seat in seats))


def _number(value: object) -> float | None:
    """A finite number of at most 1e15 in size; None for anything else. An outcome of a stranger may hold anything."""
    number = finite(value)
    return None if number is None or abs(number) > _LARGEST else float(number)
