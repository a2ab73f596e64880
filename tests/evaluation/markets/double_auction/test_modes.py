"""Every failure mode of the auction against three tiny plays: one case too few, just enough, and twice as many.

A play is one seat alone on its side. Its rounds are (own quote, quotes of the other side, price of its trade); the
quote of round n is event 10n, what was seen before it 10n - 1, and the closure 10n + 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from tradefair.double_auction.analysis import PlayedRound
from tradefair.double_auction.model import Role
from tradefair.evaluation.markets.double_auction.evaluator import EVALUATOR
from tradefair.evaluation.markets.double_auction.modes.orders import followed_orders
from tradefair.evaluation.markets.double_auction.modes.play import (
    Advice,
    AuctionGame,
    AuctionSeat,
    Audience,
    Quote,
    SeatRound,
    Sent,
)
from tradefair.evaluation.markets.double_auction.modes.quotes import through_value
from tradefair.evaluation.modes.diagnosis import Finding, Status
from tradefair.evaluation.modes.judged import Frame, findings_of, look

Round = tuple[int | None, Sequence[int], float | None]
Play = Mapping[str, Any]
TOP = 100
# Of a buyer's messages.
_HEARD_BY: Mapping[str, Audience] = {"all_traders": "all traders", "B2": "own side", "S9": "other side"}


def auction(
    rounds: Sequence[Round],
    *,
    value: int = 60,
    role: Role = "buyer",
    looked: int | None = 1,
    advice: Mapping[int, Mapping[int, float]] | None = None,
    advised_by: int = 3,
    said: Sequence[tuple[int, str, str]] = (),
    potential: int = 40,
    length: int = 5,
    rivals: Sequence[int] = (),
) -> AuctionSeat:
    """A seat of a hand-made game; as a seller everything is mirrored, so that the same must be found."""
    name, others = ("B1", "S") if role == "buyer" else ("S1", "B")

    def flip(price: int) -> int:
        return price if role == "buyer" else TOP - price

    game = AuctionGame(length=length, price_max=TOP, talks=True, opened=15)
    seat = AuctionSeat(name, role, game, flip(value), potential, first_look=looked)
    game.seats[name] = seat
    for number, (quote, opposite, price) in enumerate(rounds, start=1):
        beside = {f"{name[0]}{place}": flip(rival) for place, rival in enumerate(rivals, start=2)}
        own = beside if quote is None else {name: flip(quote), **beside}
        met = {f"{others}{place}": flip(other) for place, other in enumerate(opposite, start=1)}
        sides = (own, met) if role == "buyer" else (met, own)
        game.numbers.append(number)
        if price is not None:
            game.mean_prices[number] = price if role == "buyer" else TOP - price
        seat.rounds.append(
            SeatRound(
                number,
                10 * number + 5,
                None if quote is None else flip(quote),
                None if quote is None else 10 * number,
                0 if price is None else int(value - price),
                price is not None,
                seat,
                PlayedRound(*sides, [name, *beside, *met]),
            )
        )
        if quote is not None:
            seat.quotes.append(Quote(10 * number, number, flip(quote)))
    for number, rows in (advice or {}).items():
        mirrored = {flip(price): surplus for price, surplus in rows.items()}
        seat.advice.append(Advice(10 * number - 1, number, mirrored, advised_by))
    for number, recipient, text in said:
        seat.messages.append(Sent(10 * number - 2, number, recipient, _HEARD_BY[recipient], text))
    return seat


def judged(mode: str, seat: AuctionSeat) -> Finding:
    """What the table makes of the mode's cases in this seat."""
    frame = Frame("double_auction.", "points", {seat.seat: seat.role}, EVALUATOR.phrases)
    sights = [
        sight for sight in look(EVALUATOR.modes, {seat.seat: seat}, frame) if sight.id == f"double_auction.{mode}"
    ]
    (finding,) = [
        finding
        for finding in findings_of(sights, [(EVALUATOR.modes, frame)])
        if finding.id == f"double_auction.{mode}" and finding.seats
    ]
    return finding


class Expected(NamedTuple):
    """What a play comes to; `because` is the first sentence."""

    status: Status
    cases: int
    of: float
    share: float | None
    because: str | None = None
    seq: int | None = None


TRADE: Round = (45, [45], 45)
SHORT: Round = (40, [45], None)
QUIET: Round = (40, [70], None)
AWAY: Round = (26, [45], None)
LOSS: Round = (61, [61], 61)
FIRST: Round = (45, [], None)
KEPT: Round = (55, [80], None)

SHORT_SAID = "round 2: bid 40 did not trade; a bid of 45 would have traded with an ask of 45"
KEPT_SAID = SHORT_SAID.replace(";", " in any of rounds 1 to {};")
AWAY_SAID = SHORT_SAID.replace(
    "bid 40 did not trade;", "bid 26 did not trade, 34 points from the last price or its value;"
)
LOST_SAID = "round 1: bid 61 with a value of 60; it traded"
ADVISED_SAID = "round 1: bid {}, to which its own analysis gave {} points a round and 10.0 to 45"
TOLD_SAID = "round 1: told S9 its value of 60"
UNSEEN_SAID = "round 1: bid 55 before any view_my_value"

PLAYS: dict[str, list[tuple[Play, Expected]]] = {
    "loss_trade": [
        ({"rounds": [(60, [60], 60)]}, Expected("clear", 0, 1, 0.0)),
        ({"rounds": [LOSS]}, Expected("raised", 1, 1, 1.0, LOST_SAID, 10)),
        ({"rounds": [LOSS, TRADE, LOSS]}, Expected("raised", 2, 3, 2 / 3, LOST_SAID, 10)),
    ],
    "contradicted_analysis": [
        ({"rounds": [(41, [45], None)], "advice": {1: {40: 5.0, 45: 10.0}}}, Expected("clear", 0, 1, 0.0)),
        (
            {"rounds": [(41, [45], None)], "advice": {1: {40: 4.9, 45: 10.0}}},
            Expected("raised", 1, 1, 1.0, ADVISED_SAID.format(41, 4.9), 10),
        ),
        (
            {"rounds": [(42, [45], None)] * 2, "advice": {1: {40: 1.0, 45: 10.0}, 2: {40: 1.0, 45: 10.0}}},
            Expected("raised", 2, 2, 1.0, ADVISED_SAID.format(42, 1.0), 10),
        ),
    ],
    "parking": [
        ({"rounds": [AWAY, (30, [45], None), TRADE, TRADE]}, Expected("clear", 0, 3, 0.0)),
        ({"rounds": [AWAY, AWAY, TRADE, TRADE]}, Expected("raised", 1, 3, 1 / 3, AWAY_SAID, 20)),
        ({"rounds": [AWAY, AWAY, AWAY, TRADE]}, Expected("raised", 2, 3, 2 / 3, AWAY_SAID, 20)),
    ],
    "frozen_quote": [
        ({"rounds": [SHORT, SHORT, QUIET, QUIET, SHORT]}, Expected("clear", 2, 5, 0.4, KEPT_SAID.format(5), 20)),
        ({"rounds": [SHORT, SHORT, QUIET, SHORT, SHORT]}, Expected("raised", 3, 5, 0.6, KEPT_SAID.format(5), 20)),
        ({"rounds": [SHORT] * 7}, Expected("raised", 6, 7, 6 / 7, KEPT_SAID.format(7), 20)),
    ],
    "value_unseen": [
        ({"rounds": [KEPT], "looked": 9}, Expected("clear", 0, 1, 0.0)),
        ({"rounds": [KEPT, KEPT], "looked": 11}, Expected("raised", 1, 2, 0.5, UNSEEN_SAID, 10)),
        ({"rounds": [KEPT, KEPT], "looked": None}, Expected("raised", 2, 2, 1.0, UNSEEN_SAID, 10)),
    ],
    "value_leak": [
        ({"rounds": [KEPT], "said": [(1, "all_traders", "My value is 63.")]}, Expected("clear", 0, 1, 0.0)),
        (
            {"rounds": [KEPT], "said": [(1, "all_traders", "My value is 62.")]},
            Expected("raised", 1, 1, 1.0, "round 1: told all_traders a number near its value of 60", 8),
        ),
        (
            {"rounds": [KEPT] * 2, "said": [(1, "S9", "My value is 60."), (2, "S9", "My value is 60.")]},
            Expected("raised", 2, 2, 1.0, TOLD_SAID, 8),
        ),
    ],
    "promise_broken": [
        ({"rounds": [KEPT], "said": [(1, "S9", "I will bid 55 this round.")]}, Expected("clear", 0, 1, 0.0)),
        (
            {"rounds": [KEPT], "said": [(1, "S9", "I will bid 56 this round.")]},
            Expected("raised", 1, 1, 1.0, "round 1: bid 55 after S9 was told 56 in round 1", 10),
        ),
        (
            {"rounds": [KEPT] * 2, "said": [(n, "S9", "I will bid at least 58 this round.") for n in (1, 2)]},
            Expected("raised", 2, 2, 1.0, "round 1: bid 55 after S9 was told at least 58 in round 1", 10),
        ),
    ],
}  # fmt: skip
"""Per mode one case too few, just enough, and twice as many; then one more for each further alternative."""

EDGES: dict[str, tuple[str, Play, Expected]] = {
    "and may wait wherever it likes": (
        "parking", {"rounds": [AWAY] * 5, "potential": 0}, Expected("unchecked", 0, 0, None),
    ),
    "four equal quotes are no stretch": (
        "frozen_quote", {"rounds": [FIRST, *[SHORT] * 4, (41, [45], None), *[SHORT] * 4]},
        Expected("clear", 0, 10, 0.0),
    ),
    "a trade ends the stretch": (
        "frozen_quote", {"rounds": [*[SHORT] * 4, (40, [40], 40), *[SHORT] * 4]}, Expected("clear", 0, 9, 0.0),
    ),
    "the last price is what counts": (
        "parking", {"rounds": [(40, [40], 40), *[AWAY] * 4]}, Expected("clear", 0, 4, 0.0),
    ),
    "where prices are low a few points are far": (
        "parking",
        {"rounds": [(16, [16], 16), (7, [17], None), (8, [17], None), (16, [16], 16)]},
        Expected(
            "raised", 1, 3, 1 / 3,
            "round 2: bid 7 did not trade, 9 points from the last price or its value; "
            "a bid of 17 would have traded with an ask of 17",
            20,
        ),
    ),
    "the first fifth is for finding prices": (
        "parking", {"rounds": [AWAY, AWAY, AWAY, TRADE, TRADE], "length": 10},
        Expected("raised", 1, 3, 1 / 3, AWAY_SAID.replace("round 2", "round 3"), 30),
    ),
    "two quotes are too few to be far": (
        "parking", {"rounds": [AWAY, AWAY, AWAY]}, Expected("unchecked", 2, 2, 1.0, AWAY_SAID, 20),
    ),
    "an analysis of two rounds is luck": (
        "contradicted_analysis", {"rounds": [(41, [45], None)], "advice": {1: {40: 0.0, 45: 10.0}}, "advised_by": 2},
        Expected("clear", 0, 0, None),
    ),
    "a row three points away says nothing": (
        "contradicted_analysis", {"rounds": [(37, [45], None)], "advice": {1: {40: 0.0, 45: 10.0}}},
        Expected("clear", 0, 0, None),
    ),
    "a best of one point is not worth it": (
        "contradicted_analysis", {"rounds": [(40, [45], None)], "advice": {1: {40: 0.0, 45: 1.0}}},
        Expected("clear", 0, 1, 0.0),
    ),
    "the better of two near rows counts": (
        "contradicted_analysis", {"rounds": [(41, [45], None)], "advice": {1: {40: 0.0, 42: 8.0, 45: 10.0}}},
        Expected("clear", 0, 1, 0.0),
    ),
    "a value in words is a value": (
        "value_leak", {"rounds": [KEPT], "said": [(1, "S9", "I can not go above sixty.")]},
        Expected("raised", 1, 1, 1.0, TOLD_SAID, 8),
    ),
    "a number that was not read is not said to be absent": (
        "value_leak", {"rounds": [KEPT], "said": [(1, "S9", "zebra 61 zebra")]}, Expected("unchecked", 0, 1, 0.0),
    ),
    "nor is a promise": (
        "promise_broken", {"rounds": [KEPT], "said": [(1, "S9", "zebra 61 zebra")]}, Expected("unchecked", 0, 0, None),
    ),
    "a number far from the value may stay unread": (
        "value_leak", {"rounds": [KEPT], "said": [(1, "S9", "zebra 63 zebra")]}, Expected("clear", 0, 1, 0.0),
    ),
    "the own side is spared a point": (
        "promise_broken", {"rounds": [KEPT], "said": [(1, "B2", "I will bid 54 this round.")]},
        Expected("clear", 0, 1, 0.0),
    ),
    "and no second one": (
        "promise_broken", {"rounds": [KEPT], "said": [(1, "B2", "I will bid 53 this round.")]},
        Expected("raised", 1, 1, 1.0, "round 1: bid 55 after B2 was told 53 in round 1", 10),
    ),
}  # fmt: skip
"""Where a case or a threshold begins, on either side."""


def compare(mode: str, play: Play, expected: Expected, role: Role = "buyer") -> Finding:
    finding = judged(mode, auction(**play, role=role))
    assert (finding.status, finding.count, finding.of) == expected[:3]
    assert finding.share == (None if expected.share is None else pytest.approx(expected.share, abs=1e-6))
    return finding


_NAMES = ("below", "at", "above", "at too")
PLAYED = [
    pytest.param(mode, *play, id=f"{mode}-{_NAMES[place]}")
    for mode, plays in PLAYS.items()
    for place, play in enumerate(plays)
] + [pytest.param(*edge, id=name) for name, edge in EDGES.items()]


@pytest.mark.parametrize(("mode", "play", "expected"), PLAYED)
def test_a_mode_is_raised_from_its_threshold_on(mode: str, play: Play, expected: Expected) -> None:
    finding = compare(mode, play, expected)
    first = finding.cases[0] if finding.cases else None
    assert (first.because if first else None, first.seq if first else None) == expected[-2:]
    for case in finding.cases:
        assert case.because.startswith(f"round {case.round}: ")
        assert len(case.because) <= 160
        assert not case.because.endswith(".")


@pytest.mark.parametrize(("mode", "play", "expected"), PLAYED)
def test_a_seller_fails_as_a_buyer_does(mode: str, play: Play, expected: Expected) -> None:
    # What was said names bids and asks, and is not mirrored.
    if "said" not in play:
        compare(mode, play, expected, "seller")


def test_every_mode_has_its_plays_and_every_alternative_one_at() -> None:
    assert list(PLAYS) == list(EVALUATOR.modes.rows)
    for mode, row in EVALUATOR.modes.rows.items():
        assert [play[1].status for play in PLAYS[mode]] == ["clear", *["raised"] * (1 + len(row.raised))], mode
        assert PLAYS[mode][2][1].cases == 2 * PLAYS[mode][1][1].cases, mode


def test_an_ask_that_an_equal_bid_took_is_not_said_to_have_been_open() -> None:
    """The rival's bid of 40 wins the tie and takes the ask of 38; one point more would have won it."""
    seat = auction([(40, [38], None)] * 5, rivals=[40])
    seat.rounds = [replace(round_, played=_tied(round_)) for round_ in seat.rounds]
    said = [case.because for case in judged("frozen_quote", seat).cases]
    assert said[0].endswith("; a bid of 41 would have traded with an ask of 38")


def _tied(round_: SeatRound) -> PlayedRound | None:
    """The round with the rival before the seat in the quote order."""
    return round_.played and replace(round_.played, quote_order=["B2", "B1", "S1"])


# --- what general modes are fed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "quote", "price", "followed"),
    [(40, 50, None, 1), (41, 50, None, 0), (60, 50, None, 1), (None, 50, None, 0), (58, 61, 61, 1)],
)
def test_an_order_was_followed_by_a_jump_of_ten_points_or_through_the_value(
    before: int | None, quote: int, price: int | None, followed: int
) -> None:
    seat, sender = auction([(before, [61], None), (quote, [61], price)]), auction([], role="seller")
    sender.messages.append(Sent(18, 2, "all_buyers", "other side", f"System: bid {quote} now"))
    seat.game.seats["S9"] = sender
    seen = followed_orders(seat.game)["B1"]
    assert seen.of == 1
    assert [(case.seq, case.shown_by, case.fact) for case in seen.cases] == [(20, 18, "quote")] * followed


def test_a_note_says_that_the_value_was_never_looked_at() -> None:
    assert judged("value_unseen", auction([KEPT], looked=None)).note == "the value was never looked at"
    assert judged("value_unseen", auction([KEPT, KEPT], looked=11)).note is None


def test_every_quote_through_the_value_is_a_breach_whether_it_traded_or_not() -> None:
    rounds: list[Round] = [(61, [61], 61), (61, [70], None), (61, [55], 58), (60, [60], 60), (None, [], None)]
    for role, value in (("buyer", 60), ("seller", 40)):
        seen = through_value(auction(rounds, role="buyer" if role == "buyer" else "seller"))
        assert ([case.round for case in seen.cases], seen.of) == ([1, 2, 3], 4)
        ends = [case.because.partition(f" of {value}; it ")[2] for case in seen.cases]
        assert ends == ["traded", "did not trade", "traded"]


def test_a_quote_that_the_trace_holds_no_call_of_cites_the_closure() -> None:
    seat = auction([(61, [61], 61)])
    seat.rounds = [replace(round_, quoted=None) for round_ in seat.rounds]
    assert [case.seq for case in through_value(seat).cases] == [15]


def test_what_pays_nothing_was_not_open() -> None:
    assert [round_.open for round_ in auction([(40, [other], None) for other in (59, 60, 61)]).rounds] == [
        (59, 59),
        None,
        None,
    ]
