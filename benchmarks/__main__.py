"""`python -m benchmarks [name …] [--json] [--tiny]`: run the benchmarks and print one table.

Not a test: figures depend on the machine, and a shared one is noisy. Names: calls, quotes, verifying, startup, rounds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from importlib import import_module

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure

_NAMES = ("startup", "calls", "quotes", "verifying", "rounds")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the named benchmarks, or all, one after another."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", choices=[*_NAMES, []], help=", ".join(_NAMES))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--tiny", action="store_true", help="do everything once, quickly; the figures mean nothing")
    given = parser.parse_args(arguments)
    measured = {name: _measure(name, tiny=given.tiny) for name in given.name or _NAMES}
    if given.json:
        print(json.dumps({name: [_plain(figure) for figure in figures] for name, figures in measured.items()}))
    else:
        Console().print(_table(measured))


def _measure(name: str, *, tiny: bool) -> list[Figure]:
    # Each is imported when it runs: what one imports must not cost another.
    return import_module(f"benchmarks.{name}").measure(tiny=tiny)


def _plain(figure: Figure) -> dict[str, object]:
    return {**figure._asdict(), "met": figure.met}


def _table(measured: Mapping[str, Sequence[Figure]]) -> Table:
    table = Table("benchmark", "figure", "goal", "met?", "how", title="fairground, CPU time")
    for figures in measured.values():
        for figure in figures:
            goal = "" if figure.goal is None else f"{figure.bound} {figure.goal:,g}"
            met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[figure.met]
            table.add_row(figure.name, f"{_rounded(figure.value)} {figure.unit}", goal, met, figure.how)
    return table


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


if __name__ == "__main__":
    main()
