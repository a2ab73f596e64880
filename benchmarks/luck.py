"""`make luck`: how much of the reward is the seed's, for every preset of every market, as a table of the docs.

`python -m benchmarks.luck [--write PAGE] [--seconds S] [MARKET … | PRESET …]`. Each row is one
`tradefair sweep --luck`. It begins with 20 seeds by 2 and grows to 100 by 4 as far as the next size is expected to take
no more than S CPU seconds. Stopped, it goes on: finished rows lie in build/luck, and so do the traces of the row that
was being played. `--write` puts in every row that is there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.contract.market import ReadsData
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.plans.plan import AgentEntry
from tradefair.runner.sweep.flags import How
from tradefair.runner.sweep.luck import Luck, LuckSpec, play_luck

AGENTS = {
    "double_auction": "zic",
    "bargaining": "random_within_value",
    "retail": "random_legal",
    "supply_chain": "skill",
    "marketplace": "random_legal",
    "pricing": "random_legal",
    "order_book": "zi_c",
    "teaching": "random_legal",
}
"""A policy with draws of its own for the first agent's seat of each market; without draws the share would be 1."""

SIZES = ((20, 2), (20, 4), (50, 4), (100, 4))
"""Seeds by group: each size finds the episodes of the one before."""

TOO_LONG = {
    "marketplace/load_1000": "4,000 seats: an episode takes minutes",
    "order_book/thick": "120 seats, 1,920 steps an episode",
}
ROWS = Path("build/luck")
_TABLE = re.compile(r"(<!-- begin luck -->\n).*?(<!-- end luck -->)", re.DOTALL)
_COLUMNS = ("scenario", "agent", "seat", "luck share", "95 % interval", "seeds x group", "group", "CPU s")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and not there yet, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.luck", description=__doc__)
    parser.add_argument("names", nargs="*", help="markets or presets; default: all")
    parser.add_argument("--write", type=Path, help="page whose table is written anew")
    parser.add_argument("--seconds", type=float, default=600.0, help="CPU seconds that a row may take; default 600")
    given = parser.parse_args(arguments)
    for preset in presets():
        if not given.names or {preset, preset.partition("/")[0]} & {*given.names}:
            kept = row_of(preset, given.seconds)
            print(" | ".join(kept["cells"]), flush=True)
    if given.write is not None:
        page = given.write.read_text(encoding="utf-8")
        given.write.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{table()}\n{found[2]}", page), encoding="utf-8")


def presets() -> Iterator[str]:
    """Every preset of every market."""
    return (preset for market in market_names() for preset in scenario_ids(market))


def row_of(preset: str, seconds: float) -> dict[str, Any]:
    """The row of a preset, measured unless it is there for these rules and this evaluator."""
    market = preset.partition("/")[0]
    file = ROWS / f"{preset.replace('/', '-')}.json"
    if preset in TOO_LONG:
        return _kept(file, {"cells": [preset, *_missing(TOO_LONG[preset])]})
    kind, scenario = market_type(market), load_scenario(market, preset)
    if isinstance(kind, ReadsData) and kind.lacks_data(scenario):
        return _kept(file, {"cells": [preset, *_missing("its data set is not part of the package")]})
    key = f"{Variant(market, scenario).key}/{evaluator_of(market).version}"
    if file.exists() and (known := json.loads(file.read_text())).get("key") == key:
        return known
    folder = ROWS / file.stem
    found: Luck | None = None
    for seeds, group in SIZES:
        if found is not None:
            each = found.sweep.cpu_seconds / found.sweep.counts.done
            if each * seeds * group > seconds:
                break
        spec = LuckSpec(preset, AgentEntry(model=f"policy:{AGENTS[market]}"), None, seeds, group)
        found = play_luck(spec, How(out=folder, executor="local"))
    assert found is not None
    kept = _kept(file, {"key": key, "cells": cells(found)})
    shutil.rmtree(folder)
    return kept


def cells(found: Luck) -> list[str]:
    """A row of the table."""
    cpu = f"{found.sweep.cpu_seconds:,.0f}" if found.sweep.cpu_seconds >= 1 else "under 1"
    who = [found.scenario, found.agent.removeprefix("policy:"), found.seat]
    size = f"{found.seeds} x {found.group}"
    if found.share is None:
        return [*who, "no variance", "", size, "", cpu]
    share, low, high = found.share
    group = found.share.recommended
    return [*who, f"{share:.2f}", f"{low:.2f} to {high:.2f}", size, "none" if group is None else str(group), cpu]


def table() -> str:
    """All presets in their order as a table; those that are not measured yet say so."""
    files = {preset: ROWS / f"{preset.replace('/', '-')}.json" for preset in presets()}
    rows = [
        json.loads(file.read_text())["cells"] if file.exists() else [preset, *_missing("not yet")]
        for preset, file in files.items()
    ]
    lines = [_COLUMNS, ["---"] * len(_COLUMNS), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _missing(why: str) -> list[str]:
    return ["", "", "not measured", why, "", "", ""]


def _kept(file: Path, row: dict[str, Any]) -> dict[str, Any]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(row), encoding="utf-8")
    return row


if __name__ == "__main__":
    main()
