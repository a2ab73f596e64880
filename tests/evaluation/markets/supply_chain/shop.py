"""A retailer's record built by hand: one item, `beans` at a base price of 10, and two rivals of whom one trades.

Of round n the bid is event 10n + 1, the closure of its first pass 10n + 2, the offer 10n + 3 and the closure 10n + 5.
Amounts are in currency units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import JsonValue

from tradefair.catalog import load_scenario
from tradefair.evaluation.markets.supply_chain.modes.play import Estimate, Retail, SeatRound, SupplyGame
from tradefair.evaluation.read.rounds import Did
from tradefair.supply_chain.model import BuyerFacts, PassFacts, RoundFacts, SeatFacts, SloganFacts, SupplyChainScenario

A, B, C = "retailer_01", "retailer_02", "retailer_03"
Bid = tuple[int, float, int]
"""Units asked for, price, units won."""


@dataclass(frozen=True)
class Round:
    """What happened in a round; `waiting` are units that a buyer still wanted at the close.

    `first` is the vector of the first pass, the same as `bid` by default. `calls` are phases and the tools that the
    seat called in them; "lapse" for a lapse, "TOOL:refused" for a refusal. `likes` is the likeness of the seat's slogan
    to every persona.
    """

    bid: Bid | None = None
    first: Bid | None = None
    rival_bid: Bid | None = None
    funds: float = 100
    opening: int = 0
    price: float | None = None
    sold: int = 0
    cost: float = 0
    failed: int = 0
    book: float = 0
    rival_price: float = 0
    waiting: int = 0
    limit: float | None = None
    slogan: int | None = None
    likes: float = 0
    rival_slogan: int | None = None
    rival_likes: float = 0
    sales: float | None = None
    write_off: float = 0
    calls: Sequence[tuple[str, str]] = (("bidding_1", "submit_bids"), ("retail", "submit_offer"))


@cache
def scenario(**changes: Any) -> SupplyChainScenario:
    items: list[JsonValue] = [{"id": "beans", "category": "commodity", "quantity": 10, "base": 10}]
    made = load_scenario("supply_chain", "supply_chain/duel", {"items": items, "rounds": 6, **changes})
    assert isinstance(made, SupplyChainScenario)
    return made


def shop(
    *rounds: Round,
    estimates: Mapping[int, float] | None = None,
    slogans: Mapping[int, SloganFacts] | None = None,
    finished: bool = True,
    privileged: bool = False,
    **changes: Any,
) -> Retail:
    """The seat of a game of these rounds; `estimates` are lowest prices told in the bid phase, by round."""
    game = SupplyGame(scenario(**changes), terminated=finished, slogans=slogans or {})
    seat, rival = Retail(A, game, privileged=privileged), Retail(B, game)
    game.seats.update({A: seat, B: rival})
    did: dict[int, list[Did]] = {}
    for number, made in enumerate(rounds, 1):
        facts, closed = _facts(game.rules, number, made), 10 * number + 5
        for name, record in game.seats.items():
            funds, sales = (made.funds, made.sales) if name == A else (100, None)
            record.rounds.append(SeatRound(number, closed, record, facts, facts.seats[name], round(100 * funds), sales))
        for phase, tool in made.calls:
            seq = 10 * number + (1 if phase != "retail" else 2 if tool.startswith("view") else 3)
            tool, _, refused = tool.partition(":")
            act = Did(seq, number, phase, None if tool == "lapse" else tool, "rejected" if refused else "ok")
            did.setdefault(number, []).append(act)
        if estimates and number in estimates:
            cents = round(100 * estimates[number])
            seat.estimates.append(Estimate(10 * number, number, "bidding_1", 0, cents, 3))
    seat.did = did
    game.phases = {(number, "bidding_1"): 10 * number + 2 for number in range(1, len(rounds) + 1)}
    return seat


def words(number: int, stems: int, cues: int, *groups: str) -> SloganFacts:
    return SloganFacts(number=number, text=f"slogan {number}", stems=stems, cues=cues, groups=[*groups], cosines=[])


def _facts(rules: SupplyChainScenario, number: int, made: Round) -> RoundFacts:
    won = made.bid[2] if made.bid else 0
    there = made.opening + won
    own = _seat(
        rules,
        opening=[made.opening],
        spend=round(100 * won * (made.bid[1] if made.bid else 0)),
        available=[there],
        prices=[None if made.price is None else round(100 * made.price)],
        slogan=made.slogan,
        likes=made.likes,
        attempts=[made.sold + made.failed],
        failed=[made.failed],
        sold=[made.sold],
        revenue=[round(100 * made.sold * (made.price or 0))],
        cost_of_goods=[round(100 * made.cost)],
        bankrupt=made.write_off > 0,
        write_off=round(100 * made.write_off),
        units=[there - made.sold],
        book=[round(100 * made.book)],
    )
    dear = round(100 * made.rival_price)
    rival = _seat(
        rules,
        prices=[dear or None],
        slogan=made.rival_slogan,
        likes=made.rival_likes,
        sold=[2 if dear else 0],
        revenue=[2 * dear],
    )
    bids = {A: _lines(made.bid), B: _lines(made.rival_bid)}
    passes = [_pass(1, {**bids, A: _lines(made.first or made.bid)}), _pass(2, bids)]
    return RoundFacts(
        round=number,
        supply=[10],
        passes=passes,
        seats={A: own, B: rival, C: _seat(rules)},
        buyers=_buyers(made),
        new_slogans=[],
    )


def _lines(bid: Bid | None) -> list[tuple[int, int, int, int]]:
    return [] if bid is None else [(0, bid[0], round(100 * bid[1]), bid[2])]


def _pass(number: int, lines: Mapping[str, Any]) -> PassFacts:
    own = [line for vector in lines.values() for line in vector]
    marginal = max((line[2] for line in own if line[3]), default=1000)
    won = sum(line[3] for line in own)
    return PassFacts(
        bid_pass=number,
        lines={seat: vector for seat, vector in lines.items() if vector},
        forfeited={},
        marginal=[marginal],
        sold_out=[won >= 10],
        requested=[sum(line[1] for line in own)],
        won=[won],
    )


def _seat(rules: SupplyChainScenario, likes: float = 0, **fields: Any) -> SeatFacts:
    lists = (
        "opening",
        "available",
        "attempts",
        "failed",
        "directed",
        "sold",
        "revenue",
        "cost_of_goods",
        "units",
        "book",
    )
    nothing = {name: [0] for name in lists}
    numbers = dict.fromkeys(("spend", "holding", "holding_paid", "profit", "write_off", "funds"), 0)
    content = {
        **nothing,
        **numbers,
        "active": True,
        "bankrupt": False,
        "prices": [None],
        "slogan": None,
        "similarity": [likes] * len(rules.persona_texts),
    }
    return SeatFacts.model_validate({**content, **fields})


def _buyers(made: Round) -> BuyerFacts:
    """One buyer who wants what is waiting, within `limit`; else one served."""
    bought = (1, 1, 1) if not made.waiting else (1, made.waiting, 0)
    return BuyerFacts(
        tribe=[0],
        text=[0],
        item=[0],
        quantity=[made.waiting or 1],
        limit=[None if made.limit is None else round(100 * made.limit)],
        arrival=[0],
        noticed=[None],
        visits=[(bought,)],
    )
