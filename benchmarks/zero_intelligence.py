"""Efficiency of zero intelligence in a limit order book, per schedule, with its interval (Gode & Sunder 1993).

`python -m benchmarks.zero_intelligence [FILE] [--name NAME …] [--sessions 200] [--json]`: FILE holds `schedules` with
`name`, `values`, `costs` (a list per seat), `price_max` and, at will, `steps` and `expected`; without FILE it is
`order_book/schedules.json` of the folder that TRADEFAIR_DATA names. A session is one period, empty book, random
arrival, 30 steps per unit unless `steps` says otherwise; session k is seed k.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.order_book_fast import play_fast
from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.order_book.model import OrderBookScenario
from tradefair.trading.clearing import Benchmarks

FILE = "order_book/schedules.json"
AfterTrade = Literal["clear", "keep"]
_KINDS: tuple[tuple[str, AfterTrade], ...] = (("zi_c", "clear"), ("zi_c", "keep"), ("zi_u", "clear"))
_Z = 1.96


class Sample(NamedTuple):
    """Efficiencies of sessions: mean, standard deviation, number."""

    mean: float
    sd: float
    sessions: int

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.sessions)

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, normal."""
        return self.mean - _Z * self.error, self.mean + _Z * self.error

    def apart(self, other: Sample) -> float:
        """How far two means are apart, in joint standard errors."""
        # A few sessions of a schedule that nearly always gives 1 may all be equal: the larger deviation counts.
        sd = max(self.sd, other.sd)
        joint = math.sqrt(sd**2 / self.sessions + other.sd**2 / other.sessions)
        gap = abs(self.mean - other.mean)
        return gap / joint if joint else math.inf if gap > 1e-9 else 0.0


def scenario_of(row: Mapping[str, Any], after_trade: AfterTrade, policy: str) -> OrderBookScenario:
    """The market of one schedule. ScenarioError names what is wrong with it."""
    content: dict[str, Any] = {
        "id": "order_book/zi",
        "buyers": len(row["values"]),
        "sellers": len(row["costs"]),
        "periods": 1,
        "arrival": "random",
        "after_trade": after_trade,
        # Traders that may lose would only be refused.
        "budget_constraint": policy != "zi_u",
        **{name: row[name] for name in ("values", "costs", "price_max", "steps") if name in row},
    }
    return build_scenario(OrderBookScenario, content, source=str(row.get("name", "schedule")))


def sessions_of(
    row: Mapping[str, Any], sessions: int, after_trade: AfterTrade, policy: str = "zi_c"
) -> tuple[Benchmarks, Sample]:
    """What the schedule allows, and the efficiencies of that many sessions with one policy on all seats."""
    scenario = scenario_of(row, after_trade, policy)
    possible: Benchmarks | None = None
    found: list[float] = []
    for seed in range(sessions):
        market = play_fast(scenario, seed, dict.fromkeys(scenario.roster, policy))
        possible = market.benchmarks
        if not possible.max_surplus:
            raise ScenarioError(f"{row.get('name')}: nothing can be gained")
        found.append(sum(market.state.profit.values()) / possible.max_surplus)
    assert possible is not None
    return possible, Sample(fmean(found), stdev(found), sessions)


def known(row: Mapping[str, Any], policy: str, after_trade: AfterTrade) -> Sample | None:
    """What the file expects of this kind of session; None where it says nothing."""
    told = row.get("expected", {}).get(f"{policy.replace('_', '')}_{after_trade}")
    return None if told is None else Sample(told["efficiency_mean"], told["efficiency_sd"], told["sessions"])


def read_schedules(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["schedules"]
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Play every schedule and print its efficiencies."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zero_intelligence", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="schedules as JSON")
    parser.add_argument("--name", action="append", help="only this schedule; repeatable")
    parser.add_argument("--sessions", type=int, default=200, help="sessions per schedule, at least 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    data = os.environ.get("TRADEFAIR_DATA")
    if given.file is None and data is None:
        parser.error("name a FILE of schedules, or set TRADEFAIR_DATA to the folder of the sample data")
    if given.sessions < 2:
        parser.error("--sessions: at least 2")
    rows = read_schedules(given.file or Path(str(data)) / FILE)
    told: list[dict[str, Any]] = []
    for row in rows:
        if given.name and row["name"] not in given.name:
            continue
        try:
            told.append(_told(row, given.sessions))
        except (ScenarioError, KeyError) as error:
            sys.exit(f"{row.get('name', 'a schedule')}: {error}")
    print(json.dumps(told)) if given.json else Console(width=130).print(_table(told, given.sessions))


def _told(row: Mapping[str, Any], sessions: int) -> dict[str, Any]:
    line: dict[str, Any] = {"name": row["name"]}
    for policy, after_trade in _KINDS:
        possible, sample = sessions_of(row, sessions, after_trade, policy)
        expected = known(row, policy, after_trade)
        line.update(possible._asdict())
        line[f"{policy}, {after_trade}"] = {
            **sample._asdict(),
            "interval": sample.interval,
            "expected": None if expected is None else expected.mean,
            "apart": None if expected is None else sample.apart(expected),
        }
    return line


def _table(told: Sequence[Mapping[str, Any]], sessions: int) -> Table:
    shown = Table("schedule", "W*, q*, \\[p_lo, p_hi]", title=f"efficiency, {sessions} sessions, 95 % interval")
    for policy, after_trade in _KINDS:
        shown.add_column(f"{policy}, {after_trade}")
    for line in told:
        cells = [f"{line['max_surplus']}, {line['trades']}, \\[{line['p_lo']}, {line['p_hi']}]"]
        for policy, after_trade in _KINDS:
            cell = line[f"{policy}, {after_trade}"]
            low, high = cell["interval"]
            beside = "" if cell["apart"] is None else f"; {cell['expected']:.4f} known, {cell['apart']:.1f} SE apart"
            cells.append(f"{cell['mean']:.4f} ({low:.4f} to {high:.4f}){beside}")
        shown.add_row(line["name"], *cells)
    return shown


if __name__ == "__main__":
    main()
