"""`python -m benchmarks [name …] [--json] [--tiny]`: the table of speed, or every figure of the named benchmarks.

`--write PAGE` puts the table into a page. Two are by themselves and last as long as they are told to:
`python -m benchmarks soak [--minutes 20]` and `python -m benchmarks pricing_learning [--sessions 64]`.

Not a test: figures depend on the machine, and a shared one is noisy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import table
from benchmarks.figures import Figure

_NAMES = (
    *("startup", "api", "walk", "calls", "quotes", "verifying", "rounds", "frameworks"),
    *("prompts", "tokens", "retail", "long_episode", "calls_at_scale", "collusion", "tournament", "sweep"),
    *("evaluating", "sites", "ledger", "importing", "recording", "foreign", "ratings", "supply_chain"),
    *("pricing", "order_book", "hosting", "episodes", "training", "stall", "logs", "growth"),
    *("marketplace", "marketplace_load"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the named benchmarks, or all, one after another."""
    given_words = sys.argv[1:] if arguments is None else arguments
    if given_words[:1] in (["soak"], ["pricing_learning"]):
        sys.exit(import_module(f"benchmarks.{given_words[0]}").main(given_words[1:]))
    about = "What tradefair costs, in CPU time, beside its goals."
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=about)
    parser.add_argument("name", nargs="*", help=f"all figures of these: {', '.join(_NAMES)}; default: the table")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="do everything once, quickly; the figures mean nothing")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table between the marks of this page")
    given = parser.parse_args(given_words)
    if unknown := [name for name in given.name if name not in _NAMES]:
        parser.error(f"there is no benchmark {unknown[0]}; there are {', '.join(_NAMES)}")
    if not given.name:
        _whole_table(tiny=given.tiny, as_json=given.json, page=given.write)
        return
    measured = {name: _measure(name, tiny=given.tiny) for name in given.name}
    if given.json:
        print(json.dumps({name: [_plain(figure) for figure in figures] for name, figures in measured.items()}))
    else:
        Console().print(_table(measured))


def _whole_table(*, tiny: bool, as_json: bool, page: Path | None) -> None:
    result = table.measured(tiny=tiny)
    if page is not None:
        table.write(page, result)
    if as_json:
        print(json.dumps(table.plain(result)))
    else:
        Console().print(table.shown(result))


def _measure(name: str, *, tiny: bool) -> list[Figure]:
    # Each is imported when it runs: what one imports must not cost another.
    return import_module(f"benchmarks.{name}").measure(tiny=tiny)


def _plain(figure: Figure) -> dict[str, object]:
    return {**figure._asdict(), "met": figure.met}


def _table(measured: Mapping[str, Sequence[Figure]]) -> Table:
    shown = Table("benchmark", "figure", "goal", "met?", "how", title="tradefair, CPU time")
    for figures in measured.values():
        for figure in figures:
            goal = "" if figure.goal is None else f"{figure.bound} {table.number(figure.goal)}"
            met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[figure.met]
            shown.add_row(figure.name, f"{table.number(figure.value)} {figure.unit}", goal, met, figure.how)
    return shown


if __name__ == "__main__":
    main()
