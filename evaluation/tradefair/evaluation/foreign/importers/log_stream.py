"""Following the random stream of a public game from its seed, and playing the game through the rules.

Where no generation of the source's engine follows a log, its orders, coins and makers are fed round by round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tradefair.contract import TradefairError
from tradefair.evaluation.foreign.importers.game_replay import ReplayedGame, unlike_speakers, unlike_trades
from tradefair.evaluation.foreign.importers.items import Odd
from tradefair.evaluation.foreign.importers.report import GameReport
from tradefair.trading.chance import ChanceKind, open_chance
from tradefair.trading.clearing import Match, clear
from tradefair.trading.game_log import GameLog, Init, LoggedRound, Trade
from tradefair.trading.values import Acceptance

# Nothing in a log says which engine wrote it, not even the schema version: both are tried.
_GENERATIONS: tuple[ChanceKind, ...] = ("log_maker_draw", "log_maker_order")


def replayed_game(
    market: str,
    game: GameLog,
    init: Init,
    report: GameReport,
    origin: Callable[[ChanceKind], dict[str, Any]],
    scenario: Callable[[Init, ChanceKind], dict[str, Any]],
    play_round: Callable[[ReplayedGame, LoggedRound], None],
) -> ReplayedGame | None:
    """The game by the rules of `market`; None and findings when they cannot follow it. Sets `report.chance`.

    `origin` gets the kind of chance and says where the log comes from, `scenario` gets the init line and that kind;
    `play_round` acts out one logged round. The rules close rounds
    by themselves once all seats have acted.
    """
    played: ReplayedGame | None = None
    try:
        # Before the game is made: the generation is part of the scenario, and so of the manifest.
        chance = _chance_of(game, init, report)
        report.chance = chance
        played = ReplayedGame(market, scenario(init, chance), init)
        played.start(init.labels, origin(chance))
        for logged in game.rounds:
            if report.chance == "recorded":
                # Just before the round: the luck of a `recorded` scenario is known one round at a time.
                played.feed(logged.recorded(chat=init.data.communication_enabled).payload())
            play_round(played, logged)
    # Rules that refuse a logged action are a finding about the log; other errors are bugs and are raised.
    except TradefairError as error:
        report.found(played.line if played else init.line, "", f"cannot be re-executed: {error}"[:500])
        return None
    return played


def pairs_fit(game: GameLog, report: GameReport) -> bool:
    """Whether the logged trades are those of the logged quotes; without that no chance can be fed.

    Each pair that differs is a finding with the line of its trade.
    """
    for logged in game.rounds:
        # Pairs do not depend on coins, so that any answer of the coin will do.
        here = clear(logged.bids, logged.asks, logged.quote_order, lambda pair: False)
        for departure in unlike_trades(logged, [(match.buyer, match.seller) for match in here], _pair_of, "buyer_id"):
            report.found(*departure)
    return not report.findings


def _chance_of(game: GameLog, init: Init, report: GameReport) -> ChanceKind:
    """The generation that follows the game; `recorded` also where none does: a warning says where each departs."""
    # Baselines of the source drew from the same stream while quoting: its state between quotes is not in the log.
    if init.shares_stream:
        return "recorded"
    departures: list[Odd] = []
    for generation in _GENERATIONS:
        # Lazy on purpose: after the first departure the rest of the game is not replayed.
        departure = next(_departures(game, init, generation), None)
        if departure is None:
            report.count("generations", init.line, "data.random_seed_value", "")
            return generation
        departures.append(departure._replace(message=f"as {generation}: {departure.message}"))
    # Of both generations: a reader sees which of them came further. Engines are known from samples alone, so that
    # another one is no fault of the log: its game is played with recorded luck.
    line, path, _ = departures[0]
    report.count("generations", line, path, "; ".join(departure.message for departure in departures))
    return "recorded"


def _departures(game: GameLog, init: Init, generation: ChanceKind) -> Iterator[Odd]:
    """Where the seed gives something else than the log says, in the order of the game.

    Only the first departure matters: after it the stream is another one.
    """
    chat = init.data.communication_enabled
    chance = open_chance(generation, init.seed, init.roster, seat_order=init.seat_order, chat=chat)
    values = chance.limits(init.law, Acceptance()).values
    # The first draw of the stream: a wrong law or seat order shows here.
    if values != init.values:
        yield Odd(init.line, "data.agents", f"the seed gives the values {values}")
    for logged in game.rounds:
        number = logged.number
        # The stream's order: speaking, quoting, then coin and maker of each pair. A draw left out shifts all that
        # follow.
        if chat:
            yield from unlike_speakers(logged, chance.speaking_order(number))
        order = chance.quote_order(number)
        if order != logged.quote_order:
            yield Odd(logged.quotes[0].line, "agent_id", f"the seed gives the quote order {', '.join(order)}")
        here = clear(
            logged.bids,
            logged.asks,
            order,
            # `number=number` binds the round now: a lambda would otherwise read the loop's variable later.
            lambda pair, number=number: chance.round_up(number, pair),
            lambda pair, earlier, number=number: chance.maker(number, pair, earlier),
        )
        yield from unlike_trades(logged, [_luck(match) for match in here], _logged_luck, "maker_id")


def _pair_of(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id


def _luck(match: Match) -> tuple[object, ...]:
    return match.buyer, match.seller, match.coin == "up", match.maker


def _logged_luck(trade: Trade) -> tuple[object, ...]:
    return trade.buyer_id, trade.seller_id, trade.clearing_random_pick, trade.maker_id
