"""Games that one seat plays from outside, call by call: what a client does in the tests of kills and of resuming.

The calls of a game are the same whatever comes of them, and some are refused. They last until its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Scenario
from tradefair.host.episode.setup import new_episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import plan_seats

Call = tuple[str, dict[str, Any]]
SEED = 5


@dataclass(frozen=True)
class Game:
    """A market's scenario, the seat that is played from outside, who plays the others, and the actions of a turn.

    `looks` are reads: a server remembers no keys of them.
    """

    market: str
    preset: str
    seat: str
    others: str | None
    turns: int
    turn: Callable[[int], list[Call]]
    looks: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def scenario(self) -> Scenario:
        """The preset with the game's settings."""
        return load_scenario(self.market, self.preset, self.settings)

    def calls(self) -> list[Call]:
        """Of the whole game, without looks. Before each turn a note; now and then one goes, or a program runs."""
        made: list[Call] = []
        for number in range(self.turns):
            made.append(("add_note", {"text": f"note {number}"}))
            if number % 3 == 0:
                # Without calls of its own: what a killed program has read stays in the log, as the calls of a lost one.
                made += [("execute_code", {"code": f"{number} + 40"}), ("remove_note", {"number": number + 1})]
            made += self.turn(number)
        return made

    async def begin(self, folder: Path, sandbox: Sandbox | None = None) -> Any:
        """A fresh episode of the game."""
        kind, scenario = market_type(self.market), self.scenario
        plan = plan_seats(kind, scenario, agents=[self.seat], others=self.others)
        return await new_episode(kind, scenario, SEED, plan, folder, episode_id="game", sandbox=sandbox)


def _slices(number: int) -> list[Call]:
    wrong: list[Call] = [("claim", {"slices": 999})] if number % 3 == 0 else []
    return [("say", {"text": f"round {number}"}), *wrong, ("claim", {"slices": number % 8})]


def _prices(number: int) -> list[Call]:
    wrong: list[Call] = [("set_price", {"price": 4_001}), ("set_price", {"price": 1_500, "round": 99})]
    return [*(wrong if number % 3 == 0 else []), ("set_price", {"price": 1_400 + 37 * number % 500})]


def _orders(number: int) -> list[Call]:
    order: Call = ("submit_order", {"side": "buy", "price": 20 + 17 * number % 60})
    wrong: list[Call] = [("submit_order", {"side": "buy", "price": 1_001}), ("cancel_order", {"order": number + 1})]
    return [*(wrong if number % 3 == 0 else []), order if number % 4 else ("pass_turn", {})]


def _quotes(number: int) -> list[Call]:
    wrong: list[Call] = [("submit_quote", {"price": 101})] if number % 3 == 0 else []
    return [*wrong, ("submit_quote", {"price": 30 + 37 * number % 60})]


_BOOK = ("view_my_account", "view_book")
_SHORT = {"periods": 3, "sweeps": 4}
GAMES = {
    f"{game.market}/{game.preset}": game
    for game in (
        Game("teaching", "talk", "P1", "random_legal", 12, _slices, ("view_history", "read_messages"), {"rounds": 12}),
        Game("double_auction", "bazaar", "B1", None, 12, _quotes, ("view_my_value", "view_history"), {"rounds": 12}),
        Game("pricing", "duel", "F1", None, 12, _prices, ("view_my_firm", "view_prices"), {"rounds": 12}),
        Game("order_book", "smith", "B1", None, 12, _orders, _BOOK, _SHORT),
        Game("order_book", "asset", "T1", None, 12, _orders, _BOOK, _SHORT),
    )
}
