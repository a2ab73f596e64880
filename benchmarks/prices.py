"""What a price costs: a replay with its evaluation, in plays with evaluation of the same episode, per market.

The agent is a policy that looks as often as the references do: a replay costs what its player's looks cost.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Stopwatch
from benchmarks.seated import play_seated
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.runner.price import account_of
from tradefair.runner.replays import Repair, Replays

# Market, preset, the policy in the agent's seat, settings, and those of a tiny run.
_EPISODES: tuple[tuple[str, str, str, dict[str, int], dict[str, int]], ...] = (
    ("double_auction", "bazaar", "zip", {}, {"rounds": 3}),
    ("bargaining", "pact", "linear_concession", {}, {"rounds": 3}),
    ("retail", "middle", "careful_reader", {"horizon_days": 45}, {"horizon_days": 3}),
    ("supply_chain", "gated", "adaptive", {}, {"rounds": 2}),
    ("marketplace", "small_demo", "item_searcher", {}, {}),
    ("pricing", "duel", "hill_climber", {}, {"rounds": 3}),
    ("order_book", "smith", "zip", {}, {"periods": 1}),
)
_PRICES = 3


def measure(*, tiny: bool) -> list[Figure]:
    """Each market's episode is played once before, so that imports are charged to nothing."""
    figures: list[Figure] = []
    with TemporaryDirectory() as folder:
        for market, preset, policy, usual, small in _EPISODES:
            settings = small if tiny else usual
            for seed in (1, 2):
                watch = Stopwatch()
                path, (seat, *_) = play_seated(market, preset, policy, seed, Path(folder), settings)
                evaluate_file(path)
                play = watch.seconds()
            figures += _figures(market, path, seat, play)
    return figures


def _figures(market: str, path: Path, seat: str, play: float) -> list[Figure]:
    whole = Stopwatch()
    replays = Replays(path)
    replays.control(seat)
    first = next(event["seq"] for event in replays.events if event["seat"] == seat)
    repair = Repair(onwards_from=first)
    watch = Stopwatch()
    for _ in range(_PRICES):
        replays.price(seat, repair, replays.competent(seat)[0])
    one = watch.seconds() / _PRICES
    account_of(replays, seat, [])
    references = len(replays.competent(seat))
    plays = (_PRICES + references + 1) * play
    how = f"{play:.2f} CPU s a play with evaluation, {references} references"
    return [
        Figure(f"{market}: one price", one / play, "plays with evaluation", 1.3, how=how),
        Figure(
            f"{market}: {_PRICES} prices, control, nearest, account", whole.seconds() / plays, "of (N + k + 1)", 1.3
        ),
    ]
