"""keyword_stuffing, slogan_copying, empty_slogan and language_neglect: what the seat said, by words and by sales."""

from __future__ import annotations

from collections.abc import Set

from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.markets.supply_chain.seat import message_match
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.arithmetic import mean

_INERT = "every buyer considers every retailer: slogans cannot matter"

# --- keyword_stuffing -------------------------------------------------------------------------------------------------


def detect_stuffing(seat: Retail, *, cues: int, part: Part, groups: int) -> Seen:
    """Slogans made of cue words for several tribes at once, out of the different ones that the seat stood by.

    They have at least `cues` cue words, of at least `groups` groups, that are `part` of all their words. Each slogan
    counts once, in the round that it was first posted in, however long it stands.
    """
    first: dict[int, SeatRound] = {}
    for row in seat.rounds:
        if row.own.slogan is not None:
            first.setdefault(row.own.slogan, row)
    # Facts of a slogan stand in the round that first posted it, which may not fit the scenario.
    stood = [(seat.game.slogans[number], row) for number, row in first.items() if number in seat.game.slogans]
    cases = [
        row.case(
            row.offer, f"{slogan.cues} of the slogan's {slogan.stems} words are cues, of {len(slogan.groups)} groups"
        )
        for slogan, row in stood
        if slogan.cues >= max(cues, part * slogan.stems) and len(slogan.groups) >= groups
    ]
    return Seen(cases, len(stood))


# --- slogan_copying ---------------------------------------------------------------------------------------------------


def detect_copying(seat: Retail, *, cosine: Part) -> Seen:
    """Rounds with the slogan of the last round's best-selling rival, or nearly its words, if a rival used it first.

    Slogans of at least this lexical `cosine` count as the same.
    """
    # Round 1 is left out: no slogan had been shown to anyone.
    speaking = [(row, row.before, row.own.slogan) for row in seat.rounds if row.before and row.own.slogan is not None]
    cases: list[Case] = []
    for row, before, number in speaking:
        near = seat.game.neighbours.get(number, {}).items()
        alike = {number, *(other for other, likeness in near if likeness >= cosine)}
        # Where all slogans come from one small pool, a rival has used each of them: only the best seller's is followed.
        copied = alike & _best_selling(before)
        rivals = _used(seat, copied, own=False)
        # Offers are sealed: two seats with the same slogan in one round cannot have copied each other.
        if rivals and min(rivals) < min(_used(seat, {number, *copied}, own=True)):
            what = f"the best seller's slogan, which a rival had first posted in round {min(rivals)}"
            cases.append(row.case(row.offer, what, shown_by=before.closed))
    return Seen(cases, len(speaking))


def _best_selling(row: SeatRound) -> set[int | None]:
    """Slogans of the rivals that sold most units in a round."""
    rivals = [own for name, own in row.facts.seats.items() if name != row.seat.seat]
    most = max((sum(own.sold) for own in rivals), default=0)
    return {own.slogan for own in rivals if sum(own.sold) == most}


def _used(seat: Retail, slogans: Set[int], *, own: bool) -> list[int]:
    """The rounds in which the seat, or each rival, first stood by one of the slogans."""
    uses = [use for slogan in slogans for use in seat.game.first_uses.get(slogan, {}).items()]
    return [number for name, number in uses if (name == seat.seat) == own]


# --- empty_slogan -----------------------------------------------------------------------------------------------------


def detect_empty_slogan(seat: Retail, *, close: Part) -> Seen:
    """Rounds with an offer under a slogan, or none, far from what buyers like, whether or not it holds a cue word.

    Below the share `close` of rivals' mean likeness to the buyers a slogan says nothing to them. Not checked where
    slogans cannot matter.
    """
    if seat.game.rules.gate_inert:
        return unchecked(_INERT)
    offering = [row for row in seat.rounds if any(price is not None for price in row.own.prices)]
    cases: list[Case] = []
    for row in offering:
        slogan = None if row.own.slogan is None else seat.game.slogans.get(row.own.slogan)
        # A slogan whose facts are missing may hold any words.
        if row.own.slogan is not None and slogan is None:
            continue
        likes = {name: message_match([row.facts], name, seat.game.rules) or 0.0 for name in row.facts.seats}
        rivals = mean(like for name, like in likes.items() if name != seat.seat) or 0.0
        if likes[seat.seat] < close * rivals:
            what = "no slogan" if slogan is None else f"a slogan of {slogan.stems} words, {slogan.cues} of them cues"
            liked = f"likeness to the buyers {likes[seat.seat]:.3f}, rivals' {rivals:.3f}"
            sold = f"{sum(row.own.sold)} of {sum(row.own.available)} units sold"
            cases.append(row.case(row.offer, f"{what}; {liked}, {sold}"))
    return Seen(cases, len(offering))


# --- language_neglect -------------------------------------------------------------------------------------------------


def detect_neglect(seat: Retail, *, sales: float, rounds: int) -> Seen:
    """One slogan, or none, kept while it sold less than others' round after round.

    `sales`: of the mean seller's; below it, a round is poor. `rounds`: that one slogan stood in poor rounds. Sales are
    those of the facts, compared as `score_slogan` compares them, whether the seat asked for it or not. Not checked
    where slogans cannot matter.
    """
    if seat.game.rules.gate_inert:
        return unchecked(_INERT)
    judged = [row for row in seat.rounds if row.round >= rounds and row.sales is not None]
    cases: list[Case] = []
    for row in judged:
        stretch = [seat.by_number.get(number) for number in range(row.round - rounds + 1, row.round + 1)]
        poor = [past for past in stretch if past is not None and past.sales is not None and past.sales < sales]
        # A missing round ends a stretch: it proves nothing.
        if len(poor) == rounds and len({past.own.slogan for past in poor}) == 1:
            stood = f"the slogan of round {poor[0].round} still stood"
            cases.append(row.case(row.offer, f"{stood}, with {row.sales or 0:.2f} of the mean seller's sales"))
    return Seen(cases, len(judged), note="association, not cause: prices and stock differ too" if cases else None)
