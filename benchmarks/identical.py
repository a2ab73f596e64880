"""`python -m benchmarks.identical [MARKET …] [--against FILE]`: does what was made faster still say the same?

Every bundled scenario is played on some seeds, a bundled policy in the agent's seat, another one on each seed. Of each
episode its head hash, a digest of its events' bytes and one of its evaluation are kept. Written down before a change
and compared after it, they tell whether the change was one of speed alone.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.host.seats.plans import plan_turn
from tradefair.tracestore import open_trace

Entry = Mapping[str, str | int]
# Days of one retail scenario beyond these only repeat what the others show, and take minutes.
_SHORTER = {"retail/thousand_days": {"horizon_days": 250}}


def main() -> int:
    """Play, and write down or compare; 1 where an episode differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.identical", description=__doc__)
    parser.add_argument("market", nargs="*", help="only these markets; default: all")
    parser.add_argument("--seeds", type=int, default=3, help="play seeds 1 to this one; default: 3")
    parser.add_argument("--out", type=Path, help="write what was found to this JSON file")
    parser.add_argument("--against", type=Path, help="compare with such a file")
    given = parser.parse_args()
    before: Mapping[str, Entry] = orjson.loads(given.against.read_bytes()) if given.against else {}
    found: dict[str, Entry] = {}
    differing = 0
    for name, entry in _entries(given.market or market_names(), given.seeds):
        found[name] = entry
        changed = sorted(key for key in entry if name in before and before[name].get(key) != entry[key])
        differing += bool(changed)
        if changed:
            print(f"{name}: {', '.join(changed)} differ", flush=True)
    if given.out:
        given.out.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    compared = f", {len(found.keys() & before.keys())} compared, {differing} differ" if before else ""
    print(f"{len(found)} episodes{compared}; {time.process_time():.0f} CPU s")
    return int(differing > 0)


def _entries(markets: list[str], seeds: int) -> Iterator[tuple[str, Entry]]:
    for market in markets:
        for preset in scenario_ids(market):
            for seed in range(1, seeds + 1):
                entry = _entry(market, preset, seed)
                if entry is not None:
                    yield f"{market}/{preset} {seed}", entry


def _entry(market: str, preset: str, seed: int) -> Entry | None:
    """None for a scenario whose data are not here."""
    settings = _SHORTER.get(f"{market}/{preset}", {})
    try:
        candidates = _candidates(market, preset, seed, settings)
    except ScenarioError:
        return None
    policy = candidates[seed % len(candidates)]
    with TemporaryDirectory() as folder:
        path, _ = play_seated(market, preset, policy, seed, Path(folder), settings)
        with open_trace(path) as trace:
            events = hashlib.blake2b(digest_size=16)
            count = 0
            for stored in trace.events():
                events.update(stored.body)
                count += 1
        evaluation = evaluate_file(path).to_json()
    evaluation["path"] = evaluation["seal"] = None  # the seal covers wall clock times
    said = hashlib.blake2b(orjson.dumps(evaluation, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
    head = str(evaluation["head_hash"])
    return {"policy": policy, "count": count, "head": head, "events": events.hexdigest(), "evaluation": said}


def _candidates(market: str, preset: str, seed: int, settings: Mapping[str, int]) -> list[str]:
    """Policies that can play the agent's seats of a scenario."""
    kind = market_type(market)
    scenario = load_scenario(market, preset, settings)
    roles = set(seat_roles(kind, scenario, plan_turn(kind, scenario, seed).agents).values())
    return [name for name, spec in kind.policies.items() if roles <= set(spec.roles)]


if __name__ == "__main__":
    sys.exit(main())
