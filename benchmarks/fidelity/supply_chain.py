"""Market-Bench: its twenty models beside `skill` retailers; run as a module, it writes the tables of the page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.fidelity.row import Asked, Figure, Made, draws, figure
from benchmarks.fidelity.seats import Seat, by_label, named, seats_of
from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.markets.supply_chain.population import PopulationReport, population, shown
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.runner.plans.plan import load_plan

_MARKET, _PLAN, _POLICY = "supply_chain", "supply_chain/findings", "skill"
_PAPER = "supply_chain/paper"
_COMMAND = f"tradefair sweep {_PLAN} --out RUNS; tradefair lab population RUNS"
_PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "markets" / "supply_chain.md"
_BEGIN, _END = "<!-- begin findings ", "<!-- end findings -->"
_COLUMNS = named(_MARKET)


@figure(
    "market_bench",
    "table_2",
    of=Figure(
        _COMMAND,
        needs="needs a model",
        columns=_COLUMNS,
        differs={
            "": "a scripted retailer at the same place by profit, no model",
            "mms": "another embedder, and slogans by chance; a scripted retailer at the same place by profit",
        },
    ),
)
def table_2(asked: Asked) -> Made:
    """Each model beside the scripted retailer at its place by profit, or beside its own label of RUNS."""
    table = asked.table
    order = sorted(
        dict.fromkeys(row for row, _ in table.values), key=lambda row: -table.values.get((row, "pi"), float("-inf"))
    )
    placed = [
        [seat._replace(label=row) for row, seat in zip(order, sorted(seats, key=_profit), strict=False)]
        for seats in _population()
    ]
    runs = by_label([seats_of(path) for path in asked.runs], _COLUMNS)
    return {**by_label(placed, _COLUMNS), **runs}


draws(
    "market_bench",
    "tradefair lab population RUNS -o FILE.html",
    figure_3="indices",
    figure_4="npm_by_round profit_by_round",
    figure_5="operations",
    figure_6="similarity",
    figure_7="slogans spread",
)


def _profit(seat: Seat) -> float:
    return -(seat.figures["pi"] or 0.0)


@cache
def _population() -> list[list[Seat]]:
    with TemporaryDirectory() as folder:
        return [seats_of(path) for path in _played([_PAPER], folder)]


def measured(scenarios: Sequence[str]) -> PopulationReport:
    """What the bundled plan finds in these of its scenarios."""
    with TemporaryDirectory() as folder:
        return population(_played(scenarios, folder))


def _played(scenarios: Sequence[str], folder: str) -> list[Path]:
    return [
        play_seated(_MARKET, scenario.partition("/")[2], _POLICY, seed, Path(folder), by_turns=False)[0]
        for scenario in scenarios
        for seed in load_plan(_PLAN).plan.plan.all_seeds
    ]


def main() -> int:
    """Write the tables of the market's page; with `--check` only say whether they are of these rules and presets."""
    if "--check" in sys.argv[1:]:
        fits = f"{_BEGIN}{_stamp()} -->" in _PAGE.read_text(encoding="utf-8")
        stale = f"{_PAGE} is stale: python -m benchmarks.fidelity.supply_chain"
        print("the findings fit their rules and presets" if fits else stale)
        return int(not fits)
    tables = shown(measured(load_plan(_PLAN).plan.plan.scenarios))
    found = "\n\n".join(_table(title, columns, cells) for title, (columns, cells) in tables.items())
    # Read when all is measured: the page may have been edited in these minutes.
    before, _, rest = _PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}{_stamp()} -->\n{found}\n{_END}{after}", encoding="utf-8")
    return 0


def _stamp() -> str:
    """Rules and presets that the tables were made with."""
    scenarios = load_plan(_PLAN).plan.plan.scenarios
    keys = [scenario_key(load_scenario(_MARKET, name.partition("/")[2]).model_dump(mode="json")) for name in scenarios]
    return f"{market_type(_MARKET).version} {digest(canonical(keys))[:12]}"


def _table(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *cells]
    return "\n".join([f"{title.capitalize()}:", "", *(f"| {' | '.join(line)} |" for line in lines)])


if __name__ == "__main__":
    sys.exit(main())
