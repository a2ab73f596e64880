"""Checking an entry: every trace is re-executed and held against the terms, and every claim against the traces."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import PERSON, Seating
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.arena.entry import (
    Agent,
    Code,
    Entry,
    Episode,
    Refusal,
    Refused,
    file_digest,
    unpack,
    write_entry,
)
from tradefair.evaluation.arena.terms import Arena, Setting
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import finite, reward_metric
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.prove.proving import game_of
from tradefair.evaluation.prove.verify import Check, verify
from tradefair.evaluation.read.accounts import SeatAccount, account
from tradefair.evaluation.reading import person_moves
from tradefair.evaluation.verdict.amounts import count, name
from tradefair.evaluation.verdict.of_trace import kind_of
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.verdict.words import fitted
from tradefair.files.folders import move_onto
from tradefair.tracestore import PROMPTS, Trace, find_traces, is_reference, open_trace

_MAX_REFUSALS = 1_000
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9]+")


class Game(NamedTuple):
    """One trace of an entry, as its events and the seal tell it. `key` is that of the policies, `early` a bankruptcy.

    `score` is the first primary metric, the mean over the seats under test, null where it is undefined; cost is null
    where it is not known.
    """

    file: str
    agent: Agent
    kind: str
    scenario: str
    digest: str
    rules: str
    seed: int
    key: int
    head: str
    moves: str
    score: float | None
    early: bool
    model_calls: int
    cost_usd_micro: int | None


class Checked(NamedTuple):
    """What a check found. `entry` is null where the archive could not be read; `games` are those of sound traces."""

    name: str
    entry: Entry | None
    games: Sequence[Game]
    refusals: Sequence[Refusal]
    warnings: Sequence[str]

    @property
    def accepted(self) -> bool:
        """Whether nothing was refused."""
        return self.entry is not None and not self.refusals


def check_entry(path: Path, arena: Arena, *, others: Others | None = None, progress: Progress | None = None) -> Checked:
    """Unpack an entry and re-execute all of it. `others` are the entries that it must not copy.

    Never raises for what the file holds; raises ScenarioError where the arena's seeds are still sealed.
    """
    with TemporaryDirectory(prefix="tradefair-entry-") as folder:
        try:
            entry, traces, refusals = unpack(path, Path(folder))
        except Refused as refused:
            return Checked(path.name, None, [], [refused.refusal], [])
        games, found = _games(traces, arena, progress)
        refusals += found
    refusals += [*_whole(entry, games, arena), *_plan(games, arena), *(others.copies(games) if others else ())]
    # A trace that is unsound is refused for that alone: claims of it would be refused twice.
    refusals += _claims(entry, games)
    late = arena.sealed and entry.commitment not in arena.committed
    warnings = ["committed_late: the agent was not committed to before the seeds were published"] if late else []
    return Checked(path.name, entry, games, refusals[:_MAX_REFUSALS], warnings)


def pack(
    folder: Path, arena: Arena, output: Path, *, others: Others | None = None, progress: Progress | None = None
) -> Checked:
    """Make an entry of the traces in a folder; what the check refuses is not written.

    Raises TraceError where there is no trace, ScenarioError where none says who was under test, StorageUnavailable.
    """
    files = [file for file in find_traces(folder) if not is_reference(file, folder)]
    traces: dict[str, Path] = {}
    episodes: list[Episode] = []
    agents: list[Agent] = []
    for file in files:
        with open_trace(file) as trace:
            game = _game("", trace, evaluate(trace))
        slug = _UNSAFE_NAME.sub("-", game.scenario).strip("-")[:100]
        suffix = ".trace.jsonl" if file.name.endswith(".jsonl") else ".trace"
        place = f"traces/{slug or 'scenario'}-{game.seed}-{game.key}-{game.head[:12]}{suffix}"
        # The same play twice would have one name: the check says so by the seed instead.
        place = place if place not in traces else place.replace(suffix, f"-{len(traces)}{suffix}")
        traces[place] = file
        agents.append(game.agent)
        episodes.append(
            Episode(
                file=place,
                digest=file_digest(file),
                head=game.head,
                scenario=game.scenario,
                seed=game.seed,
                score=game.score,
                model_calls=game.model_calls,
                cost_usd_micro=game.cost_usd_micro,
            )
        )
    episodes.sort(key=lambda episode: episode.file)
    entry = Entry(arena=arena.name, agent=agents[0], commitment=agents[0].digest, episodes=tuple(episodes))
    draft = output.with_name(f".{output.name}.unchecked")
    try:
        write_entry(entry, traces, draft)
        checked = check_entry(draft, arena, others=others, progress=progress)
        if checked.accepted:
            move_onto(draft, output)
    except OSError as error:
        raise StorageUnavailable(f"{output}: cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return checked._replace(name=output.name)


def verdict_of_entry(checked: Checked, arena: Arena) -> Verdict:
    """Whether an entry is accepted, of whom, and what refuses it first."""
    entry = checked.entry
    who = name(entry.agent.label) if entry else name(checked.name)
    played = f"{count(len(checked.games), 'game')} of {who}"
    if checked.accepted:
        said = [f"The entry is accepted: {played} in {arena.name}, all reproduced."]
    else:
        kinds = Counter(refusal.code for refusal in checked.refusals)
        parts = ", ".join(f"{code} {number}" for code, number in kinds.most_common(5))
        said = [f"The entry of {who} is refused: {count(len(checked.refusals), 'reason')} ({parts})."]
        first = checked.refusals[0]
        said.append(f"First: {first.sentence}{f' ({first.file})' if first.file else ''}.")
    said += [f"Warning: {warning}." for warning in checked.warnings]
    said.append("Re-execution cannot prove which model answered.")
    return Verdict(
        kind="series",
        status="played" if checked.accepted else "unsound",
        market=arena.scenarios[0].id.partition("/")[0],
        scenario=", ".join(setting.id for setting in arena.scenarios),
        seeds=tuple(dict.fromkeys(game.seed for game in checked.games)),
        versions={"rules": arena.scenarios[0].rules, "evaluator": arena.scenarios[0].evaluator},
    ).saying(map(fitted, said))


# --- one trace ------------------------------------------------------------------------------------------------------


def _games(traces: Mapping[str, Path], arena: Arena, progress: Progress | None) -> tuple[list[Game], list[Refusal]]:
    """The games of sound traces, and what is refused of each trace."""
    games: list[Game] = []
    refused: list[Refusal] = []
    for file, path in watched([*traces.items()], progress, lambda item: item[0]):
        try:
            with open_trace(path) as trace:
                checked = verify(trace)
                found = [*_unsound(file, trace, checked)]
                if not found:
                    outcome = evaluate(trace)
                    found = [*_terms(file, trace, arena, outcome.end_reason)]
                    games.append(_game(file, trace, outcome))
        except (TraceError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            found = [Refusal("chain_broken", file, 0, f"it cannot be read as a trace: {str(error)[:200]}")]
        refused += found
    return games, refused


# What verify says of a trace that is not what its writer sealed.
_UNSOUND: Mapping[str, Code] = {"truncated": "truncated", "foreign": "rules_version", "diverged": "not_reproduced"}


def _unsound(file: str, trace: Trace, checked: Check) -> Iterator[Refusal]:
    """Why a trace is not what its writer sealed, or proves nothing of the seat under test."""
    at, sentence = checked.seq or 0, checked.sentence[:300]
    if checked.proof.rules == "reproduced":
        # Whose seat it should be is one of the terms.
        refusal = checked.proof.proves(trace.seating().compared)
        # A copy may lack what models were sent; times, costs and model records it may not.
        if checked.sealing.later or checked.sealing.missing.keys() - PROMPTS:
            yield Refusal("side_rows_altered", file, 0, "; ".join(checked.sealing.findings)[:300])
        elif refusal is not None:
            yield Refusal(refusal.code, file, refusal.event, refusal.sentence)
    elif checked.sealing.damage is not None and trace.manifest.seal_holds:
        yield Refusal("side_rows_altered", file, at, sentence)
    else:
        yield Refusal(_UNSOUND.get(checked.verdict, "chain_broken"), file, at, sentence)


def _terms(file: str, trace: Trace, arena: Arena, end: str | None) -> Iterator[Refusal]:
    """How a sound trace leaves the terms of the arena."""
    core, seating = trace.manifest.core, trace.seating()
    scenario = str(core.scenario.get("id", ""))
    setting = _setting(core, arena)
    if setting is None:
        yield Refusal("scenario_differs", file, 0, f"{scenario[:80]} has another content than any of the arena's")
        return
    evaluator = evaluator_of(core.market).version
    if (core.rules_version, evaluator) != (setting.rules, setting.evaluator):
        said = f"rules {core.rules_version}, evaluator {evaluator}; the arena has {setting.rules}, {setting.evaluator}"
        yield Refusal("rules_version", file, 0, said[:300])
    if core.seed not in arena.seeds_of(setting.id):
        yield Refusal("seed_not_in_plan", file, 0, f"seed {core.seed} is none of the arena's")
    if set(seating.compared) != set(arena.seats):
        said, wanted = (", ".join(seats)[:80] or "none" for seats in (seating.compared, arena.seats))
        yield Refusal("seat_differs", file, 0, f"the seat under test is {said}, the arena's is {wanted}")
    yield from _opponents(file, core, seating, arena)
    yield from _mixed(file, trace, arena)
    if end is None or end in ("truncated:harness_failure", "truncated:cancelled"):
        yield Refusal("unfinished_episode", file, 0, f"it ends {end or 'nowhere'}; every episode must be played out")


def _mixed(file: str, trace: Trace, arena: Arena) -> Iterator[Refusal]:
    """Whether more than one agent played the seat: another one, a person, or whoever played its past."""
    players = [change.players[seat] for _, change in trace.seatings() for seat in arena.seats if seat in change.players]
    if len({Agent.of(player).digest for player in players}) > 1:
        yield Refusal("agents_mixed", file, 0, "several agents played the seat, one after another or side by side")
    for seat, moves in person_moves(trace).items():
        if seat in arena.seats and not all(player.label == PERSON for player in players):
            said = f"a person made {moves.clicked} of {moves.of} moves of {seat}: two minds in one seat"
            yield Refusal("agents_mixed", file, 0, said)


def _setting(core: ManifestCore, arena: Arena) -> Setting | None:
    content = digest(canonical(core.scenario))
    return next((setting for setting in arena.scenarios if setting.digest == content), None)


def _opponents(file: str, core: ManifestCore, seating: Seating, arena: Arena) -> Iterator[Refusal]:
    """Seats that are played by somebody else than the terms say, or on other draws."""
    named: Any = core.scenario.get("seats")
    wanted: dict[str, Any] = {**(named if isinstance(named, dict) else {}), **arena.opponents}
    for seat in core.seats:
        player = seating.players[seat.id]
        who = wanted.get(seat.id, wanted.get(seat.role))
        # Another seat under test is refused already; of the rest the arena has to name what the scenario does not.
        if seat.id in arena.seats or seat.id in seating.compared:
            continue
        if not isinstance(who, str) or player.policy is None or parse_policy(player.policy) != _policy(who):
            said = f"{seat.id} is played by {player.label[:80]}, and not by {str(who)[:80]}"
            yield Refusal("opponents_differ", file, 0, said)
    if not arena.policy_key <= seating.policy_key < arena.policy_key + arena.games:
        said = f"opponents draw under the policy key {seating.policy_key}"
        yield Refusal("opponents_differ", file, 0, f"{said}; the arena's begin at {arena.policy_key}")


def _policy(who: str) -> object:
    return parse_policy(who.strip().removeprefix("policy:"))


def _game(file: str, trace: Trace, outcome: Outcome[Any, Any]) -> Game:
    """What a trace says of its game. Raises ScenarioError where it names no seat under test."""
    manifest, seating = trace.manifest, trace.seating()
    core = manifest.core
    if not seating.compared:
        raise ScenarioError(f"{trace.path.name}: no seat was under test; play with tradefair play")
    counted = account(trace)
    took = [counted.seats.get(seat, SeatAccount()) for seat in seating.compared]
    player, costs = seating.players[seating.compared[0]], [seat.cost_usd_micro for seat in took]
    spent = [cost for cost in costs if cost is not None]
    end = outcome.end_reason or ""
    return Game(
        file=file,
        agent=Agent.of(player),
        kind=kind_of(player, took[0], foreign=False),
        scenario=str(core.scenario.get("id", ""))[:200],
        digest=digest(canonical(core.scenario)),
        rules=core.rules_version,
        seed=core.seed,
        key=seating.policy_key,
        head=str(manifest.about.get("head_hash", "")),
        moves=game_of(trace),
        score=_score(outcome, seating.compared),
        early=end.startswith("terminated:") and not evaluator_of(core.market).ran_its_course(end),
        model_calls=sum(seat.model_calls for seat in took),
        cost_usd_micro=sum(spent) if len(spent) == len(costs) else None,
    )


def _score(outcome: Outcome[Any, Any], seats: Sequence[str]) -> float | None:
    """The first primary metric, the mean over the seats; None where it is undefined for one of them."""
    metric = reward_metric(outcome.market, {outcome.seats[seat].role for seat in seats if seat in outcome.seats})
    values = [finite(getattr(outcome.seats.get(seat), metric.name, None)) for seat in seats] if metric else []
    known = [float(value) for value in values if value is not None]
    return round(math.fsum(known) / len(known), 9) if known and len(known) == len(values) else None


# --- the whole entry ------------------------------------------------------------------------------------------------


def _whole(entry: Entry, games: Sequence[Game], arena: Arena) -> Iterator[Refusal]:
    """One agent in all games, the one that the entry names, for this arena."""
    if entry.arena != arena.name:
        yield Refusal("scenario_differs", "", 0, f"the entry is for {entry.arena}, and this is {arena.name}")
    for game in games:
        if game.agent != entry.agent:
            said = f"{game.agent.label[:80]} played it, or another configuration of it"
            yield Refusal("agents_mixed", game.file, 0, f"{said}; the entry is of {entry.agent.label[:80]}")
    if entry.commitment != entry.agent.digest:
        yield Refusal("agents_mixed", "", 0, "the commitment is not that of the agent")


def _plan(games: Sequence[Game], arena: Arena) -> Iterator[Refusal]:
    """Each seed and key of the plan, once."""
    played = Counter((game.digest, game.seed, game.key) for game in games)
    for game in {(game.digest, game.seed, game.key): game for game in games}.values():
        times = played[game.digest, game.seed, game.key]
        if times > 1:
            said = f"seed {game.seed} of {game.scenario} is there {times} times under the policy key {game.key}"
            yield Refusal("duplicate_episode", game.file, 0, said)
    for setting in arena.scenarios:
        wanted = {(seed, arena.policy_key + game) for seed in arena.seeds_of(setting.id) for game in range(arena.games)}
        missing = sorted(wanted - {(seed, key) for content, seed, key in played if content == setting.digest})
        for seed, key in missing:
            yield Refusal("seed_missing", "", 0, f"seed {seed} of {setting.id} under the policy key {key} is missing")


class Others:
    """Games of other entries, which an entry must not copy: their heads, and what was played on a seed."""

    def __init__(self, against: Sequence[Path] = ()) -> None:
        """`against` are read, not re-executed; one that cannot be read holds nothing to copy."""
        self._heads: dict[str, str] = {}
        self._moves: dict[str, set[tuple[int, str]]] = {}
        for path in against:
            self._read(path)

    def add(self, checked: Checked) -> None:
        """The games of an entry that was checked."""
        for game in checked.games:
            self._add(checked.name, game.head, game.seed, game.moves)

    def copies(self, games: Sequence[Game]) -> Iterator[Refusal]:
        """Episodes of another entry. A policy plays alike for everybody; of a model, all games alike are a copy."""
        asked = [game for game in games if game.agent.policy is None and game.head not in self._heads]
        for game in games:
            if game.head in self._heads:
                yield Refusal("copied_entry", game.file, 0, f"the same episode is in {self._heads[game.head][:80]}")
        for name_, moves in self._moves.items():
            if asked and all((game.seed, game.moves) in moves for game in asked):
                said = f"every move of every game is the same as in {name_[:80]}"
                yield Refusal("copied_entry", asked[0].file, 0, said)

    def _add(self, name_: str, head: str, seed: int, moves: str) -> None:
        self._heads.setdefault(head, name_)
        self._moves.setdefault(name_, set()).add((seed, moves))

    def _read(self, path: Path) -> None:
        with TemporaryDirectory(prefix="tradefair-entry-") as folder:
            try:
                _, traces, _ = unpack(path, Path(folder))
            except Refused:
                return
            for file in traces.values():
                try:
                    with open_trace(file) as trace:
                        head = str(trace.manifest.about.get("head_hash", ""))
                        self._add(path.name, head, trace.manifest.core.seed, game_of(trace))
                except TraceError:
                    continue


def _claims(entry: Entry, games: Sequence[Game]) -> Iterator[Refusal]:
    """Figures of the entry that its traces do not show."""
    found = {game.file: game for game in games}
    for episode in entry.episodes:
        game = found.get(episode.file)
        if game is None:
            continue
        pairs = {
            "head": (episode.head, game.head),
            "scenario": (episode.scenario, game.scenario),
            "seed": (episode.seed, game.seed),
            "score": (episode.score, game.score),
            "model calls": (episode.model_calls, game.model_calls),
            "cost": (episode.cost_usd_micro, game.cost_usd_micro),
        }
        for what, (said, shown) in pairs.items():
            if said != shown:
                text = f"the entry says {what} {str(said)[:40]}, the trace shows {str(shown)[:40]}"
                yield Refusal("figures_disagree", episode.file, 0, text)
