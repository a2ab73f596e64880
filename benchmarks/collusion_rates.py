"""How often `tradefair lab collusion --probe` is right on posted prices: `python -m benchmarks.collusion_rates`.

Each control is a pair of firms whose collusion is known, played on the textbook duopoly over 120 rounds. The unit is
the episode: each is judged by itself, as the published rates of the rule are. Pairs that draw are played `--runs` times
on fresh draws; learned pairs are learned here, afresh, on draws that neither the rule nor the bundled strategies have
seen. What does not draw is one case.

    python -m benchmarks.collusion_rates [--runs 200] [--only NAME …] [--json]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.pricing_learning import write
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.markets.pricing.collusion.model import Conclusion
from tradefair.evaluation.markets.pricing.collusion.reading import read_episode
from tradefair.evaluation.modes.base_rates import wilson
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.pricing.data.bundled import limit_strategies
from tradefair.pricing.seats import learning
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.tracestore import Written, open_trace, write_trace

# Neither that of the bundled strategies (1) nor one on which the rule was chosen.
_LEARNED_ON = 2
_FIRST_SEED = 1_000


class Control(NamedTuple):
    """A pair of firms: the policy of both (`{run}` is the number of the run), and what is to be concluded.

    `least`: the share of runs that must be concluded so; `draws` is False where all runs would be equal.
    """

    name: str
    policy: str
    expected: Conclusion
    shock: str = "none"
    draws: bool = True
    least: float = 1.0


CONTROLS: tuple[Control, ...] = (
    Control("q_limit pairs", "q_limit(session={run})", "signs", least=0.92),
    Control("nash, noise 15", "nash(noise=15)", "no_signs"),
    Control("best_reply, noise 15", "best_reply(noise=15)", "no_signs"),
    Control("best_reply, common-cost shocks", "best_reply", "no_signs", "common_cost"),
    Control("follower at nash, shocks", "follower", "no_signs", "common_cost"),
    Control("follower at monopoly, shocks", "follower(level=monopoly)", "elevated", "common_cost"),
    Control("matcher", "matcher", "signs", draws=False),
    Control("grim", "grim", "signs", draws=False),
    Control("edgeworth", "edgeworth", "no_signs", draws=False),
    Control("fixed_markup at 1700", "fixed_markup(percent=70)", "elevated", draws=False),
)


class Rate(NamedTuple):
    """What was concluded of a control's runs, with Wilson's 95 % interval of the share of the expected conclusion."""

    control: Control
    concluded: Mapping[str, int]
    gain_least: float
    gain_most: float
    parallel: float | None
    seconds: float

    @property
    def runs(self) -> int:
        """How many were played."""
        return sum(self.concluded.values())

    @property
    def right(self) -> int:
        """How many were concluded as expected."""
        return self.concluded.get(self.control.expected, 0)

    @property
    def met(self) -> bool:
        """Whether that is as often as it has to be."""
        return self.right >= self.control.least * self.runs

    def record(self) -> dict[str, Any]:
        """As JSON."""
        low, high = wilson(self.right, self.runs)
        return {
            "control": self.control.name,
            "expected": self.control.expected,
            "runs": self.runs,
            "right": self.right,
            "low": round(low, 4),
            "high": round(high, 4),
            "concluded": dict(self.concluded),
            "gain_least": round(self.gain_least, 4),
            "gain_most": round(self.gain_most, 4),
            "parallel": None if self.parallel is None else round(self.parallel, 3),
            "cpu_s": round(self.seconds, 1),
            "met": self.met,
        }


def play(path: Path, control: Control, run: int) -> Path:
    """One run of a control as a sealed trace."""
    kind = market_type("pricing")
    scenario = load_scenario("pricing", "pricing/textbook", {"shock": control.shock})
    # A seed of its own: policies draw by seed and seat, and shocks by seed.
    core = Core.create(kind, scenario, _FIRST_SEED + run)
    plan = SeatPlan(dict.fromkeys(core.market.seats, control.policy.format(run=run)))
    scripted = scripted_seats(kind, scenario, plan, core.manifest.seed)
    records = list(core.start(seating_of(kind, scenario, plan)).records)
    while core.ended is None:
        records += scripted.run(core)
    ended = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, ended, [Written(record) for record in records])
    return path


def rate(control: Control, runs: int) -> Rate:
    """Play, probe and judge the runs of a control, one by one."""
    start, concluded, gains, parallel = time.process_time(), Counter[str](), list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs if control.draws else 1):
            path = play(Path(folder, f"{run}.trace"), control, run)
            with open_trace(path) as trace:
                episode = read_episode(trace, PlayedAgain()).episode
            path.unlink()
            concluded[episode.conclusion] += 1
            gains.append(episode.gain)
            parallel += [] if episode.parallel is None else [episode.parallel]
    mean = sum(parallel) / len(parallel) if parallel else None
    return Rate(control, concluded, min(gains), max(gains), mean, time.process_time() - start)


def use_learned(pairs: int) -> None:
    """Let `q_limit` play pairs that are learned here instead of the bundled ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "limits.json")
        write(path, pairs, seed=_LEARNED_ON)
        use_limits(orjson.loads(path.read_bytes()))


def use_limits(limits: Mapping[str, Any]) -> None:
    """Let `q_limit` play these strategies, of the form of the bundled file."""
    kept = dict(limits)
    learning.limit_strategies = lambda: kept


def use_bundled() -> None:
    """Let `q_limit` play the bundled strategies again."""
    learning.limit_strategies = limit_strategies


def table(rates: Sequence[Rate]) -> str:
    """The rates as a Markdown table."""
    lines = [
        "| control (both firms) | expected | so concluded | Wilson 95 % | otherwise | gain, least to most | parallel |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in rates:
        low, high = wilson(found.right, found.runs)
        others = [f"{count} {name}" for name, count in found.concluded.items() if name != found.control.expected]
        one = found.runs == 1
        cells = [
            found.control.name,
            found.control.expected,
            f"{found.right} of {found.runs}",
            "one case" if one else f"{100 * low:.1f} to {100 * high:.1f} %",
            ", ".join(others) or "–",
            f"{found.gain_least:.2f}" if one else f"{found.gain_least:.2f} to {found.gain_most:.2f}",
            "–" if found.parallel is None else f"{found.parallel:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rates; 1 where a control is concluded otherwise more often than it may be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.collusion_rates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=200, help="of each control that draws")
    parser.add_argument("--only", action="append", help="a control by name; may be repeated")
    parser.add_argument("--limits", type=Path, help="learned pairs, written by benchmarks pricing_learning --write")
    parser.add_argument("--json", action="store_true", help="as JSON")
    given = parser.parse_args(arguments)
    names = [control.name for control in CONTROLS]
    if unknown := [name for name in given.only or () if name not in names]:
        parser.error(f"--only {', '.join(unknown)}: the controls are {', '.join(names)}")
    asked = [control for control in CONTROLS if not given.only or control.name in given.only]
    if any("{run}" in control.policy for control in asked):
        if given.limits:
            use_limits(orjson.loads(given.limits.read_bytes()))
        else:
            use_learned(given.runs)
    rates: list[Rate] = []
    for control in asked:
        print(f"{control.name} …", file=sys.stderr)
        rates.append(rate(control, given.runs))
    use_bundled()
    if given.json:
        print(orjson.dumps([found.record() for found in rates], option=orjson.OPT_INDENT_2).decode())
    else:
        print(table(rates))
        print(f"\n{sum(found.runs for found in rates)} episodes, {sum(found.seconds for found in rates):.0f} CPU s")
    return 0 if all(found.met for found in rates) else 1


if __name__ == "__main__":
    sys.exit(main())
