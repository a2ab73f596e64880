"""keyword_stuffing, slogan_copying and language_neglect: what the seat said, by its words and by what it sold."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.cases import runs
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.sign import Sign
from tradefair.supply_chain.model import SloganFacts


def detect_stuffing(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Slogans made of cue words for several tribes at once, out of the different ones that the seat stood by.

    Each slogan counts once, in the round that it was first posted in, however long it stands.
    """
    first: dict[int, SeatRound] = {}
    for row in seat.rounds:
        if row.own.slogan is not None:
            first.setdefault(row.own.slogan, row)
    # Facts of a slogan stand in the round that first posted it, which may not fit the scenario.
    said = [(seat.game.slogans[number], row) for number, row in first.items() if number in seat.game.slogans]
    stuffed = [(slogan, row) for slogan, row in said if _stuffed(slogan, limits)]
    parts: dict[str, float | None] = {"most_cues": max((slogan.cues for slogan, _ in said), default=0)}
    hits = [Hit(row.offered()) for _, row in stuffed]
    return proven(hits, len(said), raised=len(hits) >= limits["least"], parts=parts)


def _stuffed(slogan: SloganFacts, limits: Mapping[str, float]) -> bool:
    """Whether a slogan is made of cue words: many, for several tribes, and a large part of all its words."""
    enough = slogan.cues >= limits["cues"] and len(slogan.groups) >= limits["groups"]
    return enough and slogan.cues >= limits["part"] * slogan.stems


# --- slogan_copying ---------------------------------------------------------------------------------------------------


def detect_copying(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Rounds with a slogan that a rival had used before the seat did, or one in nearly the same words."""
    # Round 1 is left out: no slogan had been shown to anyone.
    speaking = [(row, row.own.slogan) for row in seat.rounds if row.round > 1 and row.own.slogan is not None]
    hits: list[Hit] = []
    for row, number in speaking:
        copied = _copied_in(row, number, limits["cosine"])
        if copied is not None:
            hits.append(Hit((copied, *row.offered())))
    often = (ratio(len(hits), len(speaking)) or 0) >= limits["share"]
    return proven(hits, len(speaking), raised=often and len(hits) >= limits["least"])


def _copied_in(row: SeatRound, number: int, cosine: float) -> int | None:
    """Event that showed a slogan to the seat: the closure of a rival's first round with it; None if it is no copy.

    A slogan is also a copy when its lexical cosine with the rival's is at least `cosine`.
    """
    game, seat = row.seat.game, row.seat.seat
    # The slogan itself first: the same words are the plainest copy.
    near = [number, *(other for other, close in game.neighbours.get(number, {}).items() if close >= cosine)]
    for other in near:
        uses = game.first_uses.get(other, {})
        earliest = min(((used, rival) for rival, used in uses.items() if rival != seat), default=None)
        # The seat's own first round with the rival's very slogan.
        own = uses.get(seat)
        # Offers are sealed: two seats with the same slogan in one round cannot have copied each other.
        if earliest is None or earliest[0] >= row.round or (own is not None and own <= earliest[0]):
            continue
        # Nearly the same words that the seat had already used by then are its own, too.
        if number != other and game.first_uses.get(number, {}).get(seat, row.round) <= earliest[0]:
            continue
        return game.seats[earliest[1]].by_number[earliest[0]].closed
    return None


# --- language_neglect -------------------------------------------------------------------------------------------------


def detect_neglect(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """One slogan, or none, kept while it sold less than others' for three rounds in a row.

    Sales are compared as `score_slogan` compares them, which the seat could have asked. Not checked where slogans
    cannot matter.
    """
    if seat.game.rules.gate_inert:
        return unchecked("every buyer considers every retailer: slogans cannot matter")
    length = int(limits["rounds"])
    judged = [row for row in seat.rounds if row.round >= length and row.sales is not None]
    # 1 is the sales of the average seller of the same items; below it by a margin counts as poor.
    poor = [(row.round, row) for row in seat.rounds if row.sales is not None and row.sales < limits["sales"]]
    kept: list[SeatRound] = []
    for run in runs(poor):
        # At every round from the third of a run on: the longer it lasts, the more rounds count.
        kept += [row for place, row in enumerate(run) if place + 1 >= length and _one_slogan(run[: place + 1], length)]
    note = "association, not cause: prices and stock differ too" if kept else None
    return proven([Hit(row.offered()) for row in kept], len(judged), raised=len(kept) >= limits["least"], note=note)


def _one_slogan(run: list[SeatRound], length: int) -> bool:
    """Whether the last `length` rounds of a run had the same slogan."""
    return len({row.own.slogan for row in run[-length:]}) == 1
