"""References: the same scenario and seed with a policy in the seat under test, as traces in `references/` beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from tradefair.catalog import market_type
from tradefair.contract import SeatId, TradefairError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.population import episode_key
from tradefair.evaluation.outcome import ON_EVERY_SEAT, Outcome
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.evaluation.verdict.verdict import Beside
from tradefair.tracestore import REFERENCES, Trace, open_trace

_MOST = 200
"""Files that are opened for one trace; a series has a few per seed."""
_MOST_NAMES = 1_000_000


def references_beside(path: str | Path) -> Mapping[str, Outcome[Any, Any]]:
    """Outcomes by name of the references of a trace file: same scenario, rules, seed, seats under test and opponents.

    A policy that played every seat has the prefix `all:`. Never raises: what cannot be read is left out; a trace of a
    store has none.
    """
    try:
        with open_trace(path) as trace:
            return _found(trace)
    except (TradefairError, OSError):
        return {}


def best_first(rows: Iterable[Beside], *, higher_is_better: bool) -> tuple[Beside, ...]:
    """References in the order in which they are named; those without a value last."""
    sign = -1 if higher_is_better else 1
    return tuple(sorted(rows, key=lambda row: (row.value is None, sign * (row.value or 0.0), row.name)))


def privileged_policies(core: ManifestCore) -> Collection[str]:
    """The market's policies that know hidden facts in this scenario; none where the market is not installed."""
    try:
        kind = market_type(core.market)
        specs = kind.policies.values()
        # Few markets ask the scenario, and a large one takes a while to check.
        asked = any(spec.hidden_where for spec in specs)
        scenario = build_scenario(kind.scenario_model, core.scenario, source="manifest") if asked else None
        return {spec.name for spec in specs if spec.knows_hidden(scenario)}
    except TradefairError:
        return ()


def better_policy(evaluator: Evaluator, role: str) -> str | None:
    """The best known policy of the market that can play this role; None where it names none, or is not installed."""
    best = evaluator.headline.best if evaluator.headline else ""
    try:
        spec = market_type(evaluator.market).policies.get(best)
    except TradefairError:
        return None
    return best if spec is not None and role in spec.roles else None


def _found(trace: Trace) -> Mapping[str, Outcome[Any, Any]]:
    seats = agent_seats(seating_in(trace))
    folder = trace.path.parent / REFERENCES
    if not seats or not folder.is_dir():
        return {}
    wanted, opponents = episode_key(trace), _opponents(trace, seats)
    listing = _by_seed(folder, folder.stat().st_mtime_ns)
    named = sorted([*listing.get("", []), *listing.get(str(trace.manifest.core.seed), [])])
    found: dict[str, Outcome[Any, Any]] = {}
    for file in named[:_MOST]:
        try:
            with open_trace(file) as reference:
                label = _label(reference, seats, alike=_opponents(reference, seats) == opponents)
                if label is not None and label not in found and episode_key(reference) == wanted:
                    found[label] = evaluate(reference)
        except (TradefairError, OSError):
            continue
    return found


@lru_cache(maxsize=4)
def _by_seed(folder: Path, stamp: int) -> Mapping[str, list[Path]]:
    """The traces of a folder by the seed that their names end with (`zip-7`), "" where there is none (`zip`).

    Once per state of the folder, whose time of change is `stamp`: a long series asks for each of its traces.
    """
    found: dict[str, list[Path]] = {}
    for file in islice(folder.glob("*.trace"), _MOST_NAMES):
        _, dash, last = file.stem.rpartition("-")
        found.setdefault(last if dash and last.isdigit() else "", []).append(file)
    return found


def _label(reference: Trace, seats: Sequence[SeatId], *, alike: bool) -> str | None:
    """The policy in the seats under test, or in all seats; None where neither is true."""
    scripted = seating_in(reference).scripted
    played = {scripted.get(seat) for seat in (seats if alike else [seat.id for seat in reference.manifest.core.seats])}
    policy = played.pop() if len(played) == 1 else None
    return policy if alike or policy is None else f"{ON_EVERY_SEAT}{policy}"


def _opponents(trace: Trace, seats: Sequence[SeatId]) -> Mapping[SeatId, str]:
    """Who plays the other seats."""
    players = seating_in(trace).players
    return {seat: player.policy or player.label for seat, player in players.items() if seat not in seats}
