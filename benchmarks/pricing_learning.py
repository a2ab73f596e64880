"""Do Q-learning firms learn high prices? The published experiment on this market's rules (Calvano et al. 2020).

All sessions run in step in numpy, over a table of payoffs that the rules give. A session ends when no greedy action
has changed for 100,000 periods. `--write` stores the strategies at which sessions came to rest.

    python -m benchmarks pricing_learning [--sessions 64] [--periods 2000000] [--write FILE]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.seats.desk import Known
from tradefair.pricing.seats.learning import ALPHA, BETA, DELTA, PRICES, grids_of

TEXTBOOK = Known(quality=(2000, 2000), costs=(1000, 1000), mu=250, outside=0)
CONSUMERS = 1_000_000
STILL = 100_000
"""Periods without a change of any greedy action after which a session has come to rest."""

GOAL = (0.80, 0.90)
"""Mean profit gain of 64 sessions; the source prints about .85."""

_STATES = PRICES * PRICES
_BLOCK = 2_000
# Shapes are said in words here; the checker could not follow them.
_NP: Any = np
_ABOUT = (
    "Limit strategies of Q-learners on the textbook duopoly (15 prices, memory one, alpha .15, beta 4e-6, delta .95; "
    "stopped after 100,000 periods without a change of any greedy action). greedy[firm][15 * place of F1's price + "
    "place of F2's] is a digit in base 15; state: the last state. Written by python -m benchmarks pricing_learning."
)


def payoff_table(known: Known, grids: Sequence[Sequence[int]], consumers: int) -> list[list[list[int]]]:
    """Profit of each firm of a duopoly: table[firm][place of F1's price][place of F2's price], integers."""
    table = [[[0] * len(grids[1]) for _ in grids[0]] for _ in known.costs]
    for (a, first), (b, second) in product(enumerate(grids[0]), enumerate(grids[1])):
        units = units_sold((first, second), known.quality, known.mu, known.outside, consumers)
        for firm, price in enumerate((first, second)):
            table[firm][a][b] = units[firm] * (price - known.costs[firm])
    return table


class Sessions:
    """Learners of many sessions at once; arrays are indexed by learner, 2·session + firm."""

    def __init__(self, sessions: int, seed: int = 1) -> None:
        grids = grids_of(TEXTBOOK)
        self.grid = grids[0]
        table = _NP.array(payoff_table(TEXTBOOK, grids, CONSUMERS), dtype=np.int64)
        # One flat table for both: [firm, state].
        self.payoff: Any = table.reshape(2, _STATES)
        self.sessions, learners = sessions, 2 * sessions
        self._chance = np.random.Generator(np.random.PCG64(seed))
        mean = _NP.stack([table[0].mean(axis=1), table[1].mean(axis=0)]) / (1 - DELTA)
        self.q: Any = _NP.tile(mean[:, None, :], (sessions, _STATES, 1)).reshape(learners * _STATES, PRICES)
        self.greedy: Any = self.q.argmax(axis=1)
        self.best: Any = self.q.max(axis=1)
        # By learner, though both of a session see the same prices: a firm may begin with a state of its own.
        self.state: Any = _NP.repeat(self._chance.integers(0, _STATES, sessions), 2)
        self.period = 0
        self.changed: Any = _NP.zeros(sessions, dtype=np.int64)
        self._row0: Any = _NP.arange(learners) * _STATES

    def run(self, periods: int) -> None:
        """Play and learn `periods` more periods."""
        for start in range(0, periods, _BLOCK):
            size = min(_BLOCK, periods - start)
            uniforms = self._chance.random((2, size, 2 * self.sessions))
            epsilon = _NP.exp(-BETA * _NP.arange(self.period, self.period + size))[:, None]
            self.play(uniforms[0] < epsilon, (PRICES * uniforms[1]).astype(np.int64))

    def play(self, explore: Any, tried: Any) -> None:
        """One period per row; `explore` and `tried` say per learner whether it explores, and what."""
        q, greedy, best, payoff = self.q.reshape(-1), self.greedy, self.best, self.payoff
        flat, row0 = self.q, self._row0
        firm: Any = _NP.arange(2 * self.sessions) % 2
        for at in range(len(explore)):
            rows = row0 + self.state
            actions = _NP.where(explore[at], tried[at], greedy[rows])
            after = _NP.repeat(PRICES * actions[0::2] + actions[1::2], 2)
            earned = payoff[firm, after]
            cells = rows * PRICES + actions
            q[cells] = (1 - ALPHA) * q[cells] + ALPHA * (earned + DELTA * best[row0 + after])
            made = flat[rows]
            now = made.argmax(axis=1)
            moved = now != greedy[rows]
            if moved.any():
                self.changed[_NP.flatnonzero(moved) // 2] = self.period
            greedy[rows] = now
            best[rows] = made.max(axis=1)
            self.state = after
            self.period += 1

    def rested(self) -> Any:
        """Which sessions have come to rest."""
        return self.period - self.changed > STILL

    def gains(self) -> list[float]:
        """The profit gain of each session over its exact greedy cycle."""
        return [cycle_gain(self.grid, self.strategies(at), int(self.state[2 * at])) for at in range(self.sessions)]

    def strategies(self, session: int) -> list[list[int]]:
        """Both greedy strategies of a session, a place per state."""
        rows = self.greedy.reshape(self.sessions, 2, _STATES)[session]
        return [[int(place) for place in row] for row in rows]


def cycle_gain(grid: tuple[int, ...], strategies: list[list[int]], state: int) -> float:
    """Mean profit of both firms over 5,040 periods of the greedy cycle, from nash (0) to monopoly (1)."""
    payoff = payoff_table(TEXTBOOK, (grid, grid), CONSUMERS)
    # Enough periods for any transient to have ended; 5,040 is divisible by every cycle up to 10.
    for _ in range(_STATES):
        state = PRICES * strategies[0][state] + strategies[1][state]
    total = 0
    for _ in range(5_040):
        state = PRICES * strategies[0][state] + strategies[1][state]
        total += sum(payoff[firm][state // PRICES][state % PRICES] for firm in (0, 1))
    low, high = (_profit(prices) for prices in (TEXTBOOK.nash(), TEXTBOOK.monopoly()))
    return (total / 5_040 / 2 / CONSUMERS - low) / (high - low)


def _profit(prices: tuple[float, ...]) -> float:
    """Mean profit per consumer of the firms at real prices."""
    weights = [math.exp((a - p) / TEXTBOOK.mu) for a, p in zip(TEXTBOOK.quality, prices, strict=True)]
    total = sum(weights) + 1
    each = (w / total * (p - c) for w, p, c in zip(weights, prices, TEXTBOOK.costs, strict=True))
    return sum(each) / len(prices)


def measure(sessions: int, periods: int) -> dict[str, Any]:
    """Gain with its error, and what it took."""
    start = time.process_time()
    made = Sessions(sessions)
    made.run(periods)
    gains = made.gains()
    mean = sum(gains) / len(gains)
    spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / max(1, len(gains) - 1))
    return {
        "sessions": sessions,
        "periods": periods,
        "gain": round(mean, 4),
        "sd": round(spread, 4),
        "standard_error": round(spread / math.sqrt(len(gains)), 4),
        "rested": int(made.rested().sum()),
        "cpu_s": round(time.process_time() - start, 1),
        "goal": f"gain {GOAL[0]:.2f} to {GOAL[1]:.2f} with 64 sessions, 120 CPU s",
        "met": GOAL[0] <= mean <= GOAL[1],
    }


def write(path: Path, sessions: int, most: int = 6_000_000, seed: int = 1) -> int:
    """Run until every session has come to rest and store the strategies; how many periods it took."""
    made = Sessions(sessions, seed)
    kept: dict[int, dict[str, Any]] = {}
    while len(kept) < sessions and made.period < most:
        made.run(20_000)
        for session in _NP.flatnonzero(made.rested()):
            at = int(session)
            if at not in kept:
                strategies, state = made.strategies(at), int(made.state[2 * at])
                kept[at] = {
                    "periods": int(made.changed[at]) + STILL,
                    "gain": round(cycle_gain(made.grid, strategies, state), 6),
                    "state": state,
                    "greedy": ["".join(_digit(place) for place in row) for row in strategies],
                }
    content = {"about": _ABOUT, "grid": list(made.grid), "sessions": [kept[at] for at in sorted(kept)]}
    path.write_bytes(orjson.dumps(content).replace(b"},{", b"},\n{") + b"\n")
    return made.period


def _digit(place: int) -> str:
    return "0123456789abcde"[place]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, or write the strategies; 0, or 1 where the gain lies outside of its band."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pricing_learning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sessions", type=int, default=64, help="how many pairs learn")
    parser.add_argument("--periods", type=int, default=2_000_000, help="periods of each session")
    parser.add_argument("--write", type=Path, help="store limit strategies in this file")
    given = parser.parse_args(arguments)
    if given.write is not None:
        print(f"{write(given.write, given.sessions)} periods")
        return 0
    found = measure(given.sessions, given.periods)
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    return 0 if found["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
