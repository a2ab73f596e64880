"""What a ledger costs: CPU seconds for one seat of one episode, per market, with the turns that fit its budget.

The agent plays poorly, so that hardly any turn is one that the best known policies would have played.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Stopwatch
from benchmarks.seated import play_seated
from tradefair.runner.ledger.ledger import ledger_of

# Market, preset, the policy in the agent's seat, settings of a tiny run, and the goal in CPU seconds.
_EPISODES: tuple[tuple[str, str, str, dict[str, int], float], ...] = (
    ("bargaining", "pact", "gifter", {"rounds": 3}, 1),
    ("double_auction", "bazaar", "stubborn", {"rounds": 3}, 3),
    ("order_book", "smith", "zi_c", {"periods": 1}, 6),
    ("pricing", "duel", "jumpy", {"rounds": 3}, 5),
    ("supply_chain", "gated", "passive", {"rounds": 2}, 6),
    ("marketplace", "small_demo", "random_legal", {}, 2),
    ("retail", "middle", "bare_shelf", {"horizon_days": 3}, 40),
)


def measure(*, tiny: bool) -> list[Figure]:
    """The second seed of each market counts: what the first one imports is charged to nothing."""
    figures: list[Figure] = []
    with TemporaryDirectory() as folder:
        for market, preset, policy, small, goal in _EPISODES:
            took, how = 0.0, ""
            for seed in (1, 2)[tiny:]:
                path, (seat, *_) = play_seated(market, preset, policy, seed, Path(folder), small if tiny else {})
                watch = Stopwatch()
                ledger = ledger_of(path, seat)
                took = watch.seconds()
                how = f"{len(ledger.turns)} of {ledger.turns[-1].until} turns, {len(ledger.of)} policies"
            figures.append(Figure(f"{market}/{preset}: a ledger", took, "CPU s", goal, how=how))
    return figures
