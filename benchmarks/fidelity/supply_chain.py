"""Findings of Market-Bench beside twenty `skill` retailers; run as a module, it writes the tables of the page.

The source prints pictures and tables of one market of twenty models. What it says in words is compared here: signs,
growth, and two sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.fidelity.row import Row
from benchmarks.language_value import LanguageValue, language_values
from benchmarks.seated import play_seated
from tradefair.api import sweep
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.markets.supply_chain.population import METRICS, Estimate, PopulationReport, population, shown
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.runner.plans.plan import load_plan
from tradefair.tracestore import find_traces

_MARKET, _PLAN, _POLICY = "supply_chain", "supply_chain/findings", "skill"
_COMMAND = f"tradefair sweep {_PLAN} --out findings; tradefair lab population findings"
_WORDS = "supply_chain/language_value"
_OF_WORDS = f"tradefair sweep {_WORDS} --out words; python -m benchmarks.language_value words"
_PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "markets" / "supply_chain.md"
_BEGIN, _END = "<!-- begin findings ", "<!-- end findings -->"
# Three quarters and "several places": sizes that the source gives in words.
_TOP_FOUR, _PLACES = 0.75, 2.0


def rows(data: Path | None) -> Iterator[Row]:
    """The findings in the paper's own setting, whether procurement can fail in ours, and what words are worth.

    No data are needed.
    """
    found = {row.scenario: row for row in measured(["supply_chain/paper", "supply_chain/gated"]).rows}
    paper, gated = found["supply_chain/paper"], found["supply_chain/gated"]
    for name in (one for one in METRICS if one not in ("pi", "mms")):
        estimate = paper.metrics[name].correlation
        sign = "falls" if name == "stockout" else "rises"
        what = f"paper: profit with {name} over 20 retailers (ρ = {_text(estimate)})"
        yield Row(what, sign, _sign(estimate), None, None, _COMMAND)
    for name in ("wealth_gini", "wealth_hhi", "wealth_cr4", "revenue_gini"):
        yield Row(f"paper: {name} from step to step", "grows", _course(paper.steps[name]), None, None, _COMMAND)
    share = paper.profit_cr4
    yield Row(
        "paper: share of the profit that the four best retailers take",
        _TOP_FOUR,
        share.mean or 0.0,
        share.low,
        share.high,
        _COMMAND,
        within=0.1,
    )
    moved = [places for places in paper.steps["wealth_mobility"] if places is not None]
    yield Row(
        "paper: places in the ranking by wealth that a retailer moves a step, mean of all steps",
        "several",
        "several" if sum(moved) / len(moved) >= _PLACES else "few",
        None,
        None,
        _COMMAND,
        differs="by step: " + ", ".join(f"{places:.1f}" for places in moved),
    )
    few, some, most = gated.bid_eff
    yield Row(
        f"gated: retailers with bid_eff below 0.1, to 0.5, above (of 20: {few:.1f}, {some:.1f}, {most:.1f})",
        None,
        f"{'some' if few >= 1 else 'none'}, {'some' if some >= 1 else 'none'}, {'most' if most > 10 else 'few'}",
        None,
        None,
        _COMMAND,
        differs="our default preset, in which procurement can fail; the source's own setting is paper",
    )
    yield from map(_of_words, words_measured())


def words_measured() -> Sequence[LanguageValue]:
    """What slogans are worth in each scenario of the bundled plan of clones."""
    with TemporaryDirectory() as folder:
        sweep(_WORDS, folder)
        return language_values(find_traces(folder)).values


def _of_words(found: LanguageValue) -> Row:
    name = found.scenario.partition("/")[2]
    what = f"{name}: largest over smallest mean profit of slogans' groups, {found.seats} clones, {found.episodes} seeds"
    matter = "words matter here" if found.measures_language else "within 0.10 of 1: words cannot matter here"
    differs = f"our own test of a preset; {matter}"
    ours = "–" if found.value is None else found.value
    return Row(what, None, ours, found.low, found.high, _OF_WORDS, form=".3f", differs=differs)


def measured(scenarios: Sequence[str]) -> PopulationReport:
    """What the bundled plan finds in these of its scenarios."""
    seeds = load_plan(_PLAN).plan.plan.all_seeds
    with TemporaryDirectory() as folder:
        played = [
            play_seated(_MARKET, scenario.partition("/")[2], _POLICY, seed, Path(folder), by_turns=False)[0]
            for scenario in scenarios
            for seed in seeds
        ]
        return population(played)


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


def _text(estimate: Estimate) -> str:
    if estimate.mean is None or estimate.low is None:
        return "–"
    return f"{estimate.mean:.2f}, {estimate.low:.2f} to {estimate.high:.2f}"


def _sign(estimate: Estimate) -> str:
    """Whether profit rises or falls with a figure, where the interval leaves 0 out."""
    if estimate.low is None or estimate.high is None or estimate.low <= 0 <= estimate.high:
        return "neither"
    return "rises" if estimate.low > 0 else "falls"


def _course(series: Sequence[float | None]) -> str:
    known = [figure for figure in series if figure is not None]
    return "grows" if all(before < now for before, now in pairwise(known)) else "does not grow in every step"


if __name__ == "__main__":
    sys.exit(main())
