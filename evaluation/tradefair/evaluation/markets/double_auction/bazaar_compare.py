"""Everything that a log says but its talk, against what the re-executed rounds have given.

For BAZAAR games and those of the collusion study.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import orjson

from tradefair.double_auction.model import OpeningFacts, RoundFacts, role_of
from tradefair.evaluation.foreign.importers.report import GameReport
from tradefair.evaluation.markets.double_auction.source_table import TOLERANCE, csa_source
from tradefair.evaluation.markets.double_auction.surplus_alpha import SeatResult, Shape
from tradefair.trading.game_log import Final, GameLog, Init, LoggedRound, RoundEnd


def compare_game(game: GameLog, bodies: Iterable[bytes], report: GameReport) -> None:
    """Compare a sound log with the events of its re-execution; every fact is counted in `report.checks`.

    Orders, half ticks and makers are compared only where the rules had to find them (not in `recorded` games).
    """
    # The event's name stands at the front of every body: looking at 60 bytes spares parsing thousands of calls.
    rounds = [_facts(body) for body in bodies if b'"event":"round_closed"' in body[:60]]
    init, final = game.init, game.final
    if init is None or final is None or not rounds or rounds[0].opening is None:
        report.found(1, "", "no round could be re-executed")
        return
    opening = rounds[0].opening
    _compare_values(init, opening, report)
    # Payoffs of the log are cumulative: the old value of a change is the total of the round before.
    before = dict.fromkeys(opening.values, 0)
    for logged, facts in zip(game.rounds, rounds, strict=False):
        # What was fed from the log would agree with it by construction and raise the count of reproduced facts.
        if report.chance != "recorded":
            _compare_luck(logged, facts, report)
        _compare_trades(logged, facts, report)
        _compare_payoffs(logged, facts, before, report)
        before = dict(facts.cumulative_payoff)
        if logged.end is not None:
            _compare_end(logged.end, facts, report)
    _compare_final(final, opening, rounds, report)
    _compare_scores(final, opening, rounds, report)


def _facts(body: bytes) -> RoundFacts:
    return RoundFacts.model_validate(orjson.loads(body)["facts"])


def _compare_values(init: Init, opening: OpeningFacts, report: GameReport) -> None:
    """Private values of all seats, in points."""
    for seat, value in init.values.items():
        name = "valuation" if seat in init.roster.buyers else "cost"
        report.compare("values", value, opening.values.get(seat), init.line, f"data.agents.{seat}.{name}")


def _compare_luck(logged: LoggedRound, facts: RoundFacts, report: GameReport) -> None:
    """What the seed decided: orders, coins and makers."""
    first = logged.quotes[0].line
    if facts.speaking_order is not None:
        # Silent seats left no row, so that the log holds a part of the order only.
        spoke = [seat for seat in facts.speaking_order if seat in logged.speakers]
        line = logged.messages[0].line if logged.messages else first
        report.compare("speaking_orders", list(logged.speakers), spoke, line, "player_id")
    report.compare("quote_orders", list(logged.quote_order), facts.quote_order, first, "agent_id")
    for trade, match in zip(logged.trades, facts.matches, strict=False):
        # Only an odd sum draws a coin. Without one ours is null, and the log's flag decided nothing.
        if (trade.bid + trade.ask) % 2:
            up = None if match.coin is None else match.coin == "up"
            report.compare("half_ticks", trade.clearing_random_pick, up, trade.line, "clearing_random_pick")
        report.compare("makers", trade.maker_id, match.maker, trade.line, "maker_id")


def _compare_trades(logged: LoggedRound, facts: RoundFacts, report: GameReport) -> None:
    """Pairs in the order of their rank, and quotes, prices and exact midpoints of those that both have."""
    there = [(trade.buyer_id, trade.seller_id) for trade in logged.trades]
    here = [(match.buyer, match.seller) for match in facts.matches]
    line = logged.trades[0].line if logged.trades else logged.quotes[-1].line
    report.compare("matches", there, here, line, "buyer_id")
    for trade, match in zip(logged.trades, facts.matches, strict=False):
        report.compare("trade_quotes", (trade.bid, trade.ask), (match.bid, match.ask), trade.line, "bid")
        report.compare("prices", trade.cleared_price, match.price, trade.line, "cleared_price")
        report.compare("midpoints", trade.midpoint_exact, (match.bid + match.ask) / 2, trade.line, "midpoint_exact")


def _compare_payoffs(logged: LoggedRound, facts: RoundFacts, before: dict[str, int], report: GameReport) -> None:
    """Buyer then seller of each trade; each seat trades at most once in a round."""
    seats = [seat for match in facts.matches for seat in (match.buyer, match.seller)]
    # The longest, so that a missing or an additional row is a mismatch and not cut off.
    for change, seat in zip_longest(logged.payoff_changes, seats):
        line = change.line if change else logged.quotes[-1].line
        there = (change.seat_id, change.old_payoff, change.new_payoff, change.delta) if change else None
        here = (seat, before[seat], facts.cumulative_payoff[seat], facts.payoff[seat]) if seat else None
        report.compare("payoffs", there, here, line, "new_payoff")


def _compare_end(end: RoundEnd, facts: RoundFacts, report: GameReport) -> None:
    """The totals of a round. `payoff_map` is cumulative, all other figures are of the round alone."""
    data, line = end.data, end.line
    prices = [match.price for match in facts.matches]
    for seat, payoff in facts.cumulative_payoff.items():
        report.compare("round_payoffs", data.payoff_map.get(seat), payoff, line, f"data.payoff_map.{seat}")
    report.compare("round_prices", data.clearing_prices, prices, line, "data.clearing_prices")
    report.compare("round_surplus", data.round_surplus, facts.surplus, line, "data.round_surplus")
    report.compare("round_max_surplus", data.max_surplus, facts.max_surplus, line, "data.max_surplus")
    # The parser does not ask for this field, so that it is compared only where a log has it.
    normalized = (data.model_extra or {}).get("normalized_surplus")
    if normalized is not None:
        here = _share(facts.surplus, facts.max_surplus)
        report.compare("round_normalized_surplus", normalized, here, line, "data.normalized_surplus")
    report.compare("round_trade_counts", data.trade_count, len(prices), line, "data.trade_count")
    report.compare("round_mean_prices", data.avg_price, _mean(prices), line, "data.avg_price")
    report.compare("round_price_sds", data.price_volatility, _population_sd(prices), line, "data.price_volatility")


def _compare_final(final: Final, opening: OpeningFacts, rounds: Sequence[RoundFacts], report: GameReport) -> None:
    """The totals of the game: payoffs, potentials (per round), shares, surplus and efficiency."""
    data, line, count = final.data, final.line, len(rounds)
    surplus, most = sum(facts.surplus for facts in rounds), opening.max_surplus * count
    for seat, payoff in rounds[-1].cumulative_payoff.items():
        potential = opening.potentials[seat]
        # The source's share floors losses at 0 (s of csa in 9.4); ours in the outcomes does not.
        share = _share(max(0, payoff), potential * count)
        shares, potentials = data.seat_surplus_share_map, data.seat_max_potential_surplus_map
        report.compare("final_payoffs", data.final_payoff_map.get(seat), payoff, line, f"data.final_payoff_map.{seat}")
        report.compare(
            "final_potentials", potentials.get(seat), potential, line, f"data.seat_max_potential_surplus_map.{seat}"
        )
        report.compare("final_shares", shares.get(seat), share, line, f"data.seat_surplus_share_map.{seat}")
    report.compare("final_surplus", data.total_surplus, surplus, line, "data.total_surplus")
    report.compare("final_max_surplus", data.max_surplus, most, line, "data.max_surplus")
    report.compare("final_efficiency", data.market_efficiency, _share(surplus, most), line, "data.market_efficiency")


def _compare_scores(final: Final, opening: OpeningFacts, rounds: Sequence[RoundFacts], report: GameReport) -> None:
    """The log's csa of the seats whose key is solved; games of the collusion study have no scores."""
    sides = Counter(map(role_of, opening.values))
    shape = Shape(sides["buyer"], sides["seller"], len(rounds), 100, opening.distribution)
    last = rounds[-1]
    for seat, score in final.data.seat_csa_map.items():
        payoff, spread = last.cumulative_payoff[seat], last.residual_spread
        result = SeatResult(role_of(seat), opening.values[seat], payoff, opening.potentials[seat], spread)
        ours = csa_source(shape, result)
        # A filled key is an estimate: the log's own score is no news of it.
        if ours is not None and ours.basis == "solved":
            report.compare("scores", score, ours.score, final.line, f"data.seat_csa_map.{seat}", TOLERANCE)


def _share(part: int, whole: int) -> float:
    """The source writes 0 where nothing can be gained."""
    return part / whole if whole else 0.0


def _mean(prices: Sequence[int]) -> float:
    """The source writes 0 where there was no trade."""
    return sum(prices) / len(prices) if prices else 0.0


def _population_sd(prices: Sequence[int]) -> float:
    mean = _mean(prices)
    return math.sqrt(math.fsum((price - mean) ** 2 for price in prices) / len(prices)) if prices else 0.0
