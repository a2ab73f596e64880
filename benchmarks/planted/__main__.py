"""`python -m benchmarks.planted [--market M] [--seeds N] [--flaw NAME] [--json] [--write PAGE]`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.planted.kept import keep, kept
from benchmarks.planted.measure import flaws, goals, measure, rows_of
from benchmarks.planted.page import as_json, page, text
from benchmarks.planted.play import PRESETS


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the flaws beside their twins and print what the findings make of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--market", choices=list(PRESETS), action="append", help="only this market; repeatable")
    parser.add_argument("--flaw", help="only the flaws of this name")
    parser.add_argument("--seeds", type=int, default=12, help="seeds 1 to N; default 12")
    parser.add_argument("--ledgers", type=int, default=2, help="on the first N seeds, make the ledgers; default 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, help="keep the runs, and write the page of all kept ones there")
    given = parser.parse_args(arguments)
    chosen = flaws(given.market or PRESETS, given.flaw)
    if not chosen:
        parser.error(f"there is no flaw {given.flaw}; there are {', '.join(flaw.name for flaw in flaws())}")
    part = measure(chosen, range(1, given.seeds + 1), given.ledgers)
    rows = list(rows_of(chosen, part.runs))
    found = goals(rows, part.runs, part.twins)
    if given.write:
        if given.flaw:
            parser.error("--write keeps whole markets: leave --flaw out")
        keep(part, given.market or PRESETS, given.seeds)
        given.write.write_text(kept_page())
    print(json.dumps(as_json(rows, found, part)) if given.json else text(rows, found, part))


def kept_page() -> str:
    """The page of all runs that are kept."""
    held = kept()
    chosen = flaws(held.seeds)
    rows = list(rows_of(chosen, held.part.runs))
    return page(rows, goals(rows, held.part.runs, held.part.twins), held.part, held.seeds)


if __name__ == "__main__":
    main()
