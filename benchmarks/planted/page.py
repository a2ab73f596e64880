"""The result as docs/explanation/validity.md, as text for a terminal and as JSON; no figure depends on the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.planted.bills import MOST
from benchmarks.planted.measure import EVERY, Goal, Part, Row

_HOW = """# How far findings can be trusted

After this page you know how well [the ledger](ledger.md) of `tradefair evaluate` finds what a mistake cost and where it
was made, how often a failure mode names it, and what is missed. The page is written by
`python -m benchmarks.planted --market M --seeds 2 --ledgers 1 --write docs/explanation/validity.md`, which measures one
market anew; runs of the others stay as they are kept in `benchmarks/planted/kept`.

A **flaw** is planted in a bundled policy: a man in the middle alters a call, an answer or the end of a turn. The
**twin** is the same policy without it, on the same seed, seat and luck, with rivals that react. The **true cost** is
what the twin earned more. A run is harmful where that is more than 2 % of what the twin earned; all shares are of
harmful runs. A turn is **altered** if the flaw changed or left out a call in it, or an answer that later calls rest on.
Flaws act at every turn (always), in one round of five (rare), or in the second half (late).

The ledgers are those of `evaluate`, two of each flawed run:

- **own base**: against the policy that the flaw was planted in. The gap must be the true cost, to the last digit;
- **best known**: against the policies that `evaluate` takes by itself, which do not know the flaw. A policy is rarely
  the best, so its twin has a gap too: what the flawed seat's ledger says more than its twin's must be the true cost.
  Its **part at altered turns** is the sum over these turns, and over those that the flawed seat no longer had;
- **verdict**: whether the turns or the stretch that its second sentence names hold an altered turn. **By chance** is
  how often as many turns in a row do. A flaw that alters nearly all turns cannot be missed, so the share is given
  again for flaws that altered at most half of them ("few").

What each flaw should be called was written down before the first run (column `accepted`):

- **detected**: an accepted finding is raised that the twin lacks, or its count at least doubles;
- **first**: the first finding of the seat is such a one;
- **cited**: one of its first three cases cites a call that was altered or left out.
"""

_NAMELESS = """No name says more of {flaws} than that something better was possible.
There the ledger's sentence is the detection, and whatever else is raised counts for nothing.
"""

_MISSED = """## What is missed, and why

- **Part at altered turns.** What a misread answer leads to in later rounds counts as unaltered (marketplace:
  `reads_last_results`, `asks_one`, `says_nothing_in_search`), and a part of the cost stands there. In the order book
  single turns scatter by more than a small flaw costs (`one_unit_only`: 9 ticks).
- **The verdict's turn.** In most runs that it misses, the part at altered turns is the true cost all the same. So the
  named turn is likely one that the unflawed base loses too: many bases in `pricing` are far from the best known
  policies. A policy that takes over half-way may also be unable to use the plan of another one (marketplace:
  `wrong_proposal_id`, `total_with_tip`).
- **Names.** Modes that only said that something better was possible are gone, and were the ones that named these flaws:
  `lost_sales` and `price_off_optimum` in `retail` (`stock_read_triple`, `order_a_tenth`, `prices_too_low`,
  `prices_too_high`, `dearer_daily`, `orders_weekly`, `orders_when_empty`), `missed_profit` in `pricing`
  (`cost_read_low`, `gives_away`, `rivals_read_low`). The ledger says what they cost, without a name.
"""
_LESS = (
    "Ledgers are of the first seeds; of"
    f" {', '.join(f'{name} one harmful run in {runs}' for name, runs in EVERY.items())}."
    " To save time they hold at most so many values of each policy:"
    f" {', '.join(f'{name} {values}' for name, values in MOST.items())}. The turns between them are one stretch."
    " What competent seats raise in each preset stands in [what competent policies do too](base_rates.md#figures)."
)


def page(rows: Sequence[Row], found: Sequence[Goal], part: Part, seeds: Mapping[str, int]) -> str:
    """The whole page; `seeds` by market."""
    counted = sum(run.bill is not None for run in part.runs)
    measured = f"{len(rows)} flaws: {len(part.runs)} runs, {counted} of them with a ledger, and"
    measured += f" {len(part.twins)} twins of competent policies."
    measured += f" Seeds: {', '.join(f'{market} {number}' for market, number in seeds.items())}."
    nameless = [f"`{row.flaw.market}/{row.flaw.name}`" for row in rows if not (row.flaw.accepted or row.flaw.harmless)]
    lines = [_HOW]
    if nameless:
        lines.append(_NAMELESS.format(flaws=", ".join(nameless)))
    lines += ["## Goals", "", f"{measured} CPU: {_minutes(part.cpu)} minutes.", _LESS, "", *_goal_lines(found)]
    with_ledgers = {run.market for run in part.runs if run.bill}
    if old := [market for market in seeds if market not in with_ledgers]:
        lines += ["", f"Runs of {' and '.join(old)} are older: without ledgers, and by names of which some are gone."]
    lines += ["", _MISSED, "## Flaws", *_flaw_lines(rows)]
    return "\n".join(lines) + "\n"


def _minutes(cpu: float) -> int:
    # Whole minutes: the page should not change with the machine's mood.
    return round(cpu / 60)


def _goal_lines(found: Sequence[Goal]) -> list[str]:
    names = list(dict.fromkeys(goal.name for goal in found))
    markets = list(dict.fromkeys(goal.market for goal in found))
    by_name = {(goal.name, goal.market): goal for goal in found}
    lines = [f"| figure | goal | {' | '.join(markets)} |", "|---|---|" + "---|" * len(markets)]
    for name in names:
        goal = by_name[name, markets[0]]
        bound = "" if goal.goal is None else f"{'<=' if goal.at_most else '>='} {goal.goal:g}"
        cells = [_cell(by_name[name, market]) for market in markets]
        lines.append(f"| {name} | {bound} | {' | '.join(cells)} |")
    return lines


def _cell(goal: Goal) -> str:
    if goal.value is None:
        return "–"
    met = {None: "", True: " met", False: " **missed**"}[goal.met]
    return f"{goal.value:.2f} of {goal.runs}{met}"


def _flaw_lines(rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    market = ""
    for row in rows:
        flaw = row.flaw
        if flaw.market != market:
            market = flaw.market
            lines += ["", f"### {market}", "", f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
        mark = " (harmless on purpose)" if flaw.harmless else ""
        accepted = ", ".join(sorted(mode.removeprefix(f"{market}.") for mode in flaw.accepted)) or "none"
        cells = [flaw.name, flaw.kind, flaw.base, flaw.onset, flaw.says + mark, accepted, *_figures(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


_COLUMNS = (
    *("flaw", "kind", "base", "when", "what it does", "accepted"),
    *("runs", "harmful", "mean true cost", "detected", "first", "cited"),
    *("gap / cost", "part at altered turns / cost", "verdict's turn holds one"),
)


def _figures(row: Row) -> list[str]:
    values = (row.detected, row.first, row.cited, row.gap_ratio, row.part, row.found)
    shares = ["–" if value is None else f"{value:.2f}" for value in values]
    return [str(row.runs), str(row.harmful_runs), f"{row.cost:,.1f}", *shares]


def as_json(rows: Sequence[Row], found: Sequence[Goal], part: Part) -> dict[str, Any]:
    """Plain data."""
    return {
        "goals": [{**goal._asdict(), "met": goal.met} for goal in found],
        "flaws": [
            {
                **{name: value for name, value in row._asdict().items() if name != "flaw"},
                **{name: getattr(row.flaw, name) for name in ("name", "market", "kind", "base", "onset", "harmless")},
                "accepted": sorted(row.flaw.accepted),
                "harmful": row.harmful,
            }
            for row in rows
        ],
        "runs": [run._asdict() for run in part.runs],
        "twins": [{"market": twin.market, "base": twin.base, "found": list(twin.found)} for twin in part.twins],
        "cpu_seconds": part.cpu,
    }


def text(rows: Sequence[Row], found: Sequence[Goal], part: Part) -> str:
    """For a terminal: the goals, then a short line per flaw."""
    lines = [*_goal_lines(found), ""]
    for row in rows:
        harmless = " (harmless on purpose)" if row.flaw.harmless else ""
        figures = "  ".join(f"{value:>8}" for value in _figures(row)[1:])
        lines.append(f"{row.flaw.market:15} {row.flaw.name:24} {figures}{harmless}")
    return "\n".join(
        [*lines, "", f"CPU {part.cpu:.0f} s; harmful runs, mean true cost, detected, first, cited, gap/cost"]
    )
