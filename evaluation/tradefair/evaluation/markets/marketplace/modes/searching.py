"""How a customer looked around: missed and repeated searches, whom it asked, when it left, how it polled."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

from pydantic import PositiveInt

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Letter, Search
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.marketplace.model import folded

_NOBODY = "no business serves its order for less than it is worth"
_POLLS = ("receive_messages", "view_proposals")
_PATIENCE = 2
"""Rounds that an answer may take after the delivery, as the scripted customers wait."""


def detect_miss(buyer: Buyer) -> Seen:
    """Searches of a customer that came to know no business that serves its order for less than it is worth.

    Parts: businesses known, and searches.
    """
    if not buyer.good:
        return unchecked(_NOBODY)
    known = buyer.known
    # Without a search the cause is what it did instead.
    looks = [(look.seq, look.round, f"{_asked(look)} showed {len(look.shown)}") for look in buyer.searches]
    looks = looks or [(*buyer.last(), "0 searches")]
    stood = f"it never came to know one of the {len(buyer.good)} that serve its order"
    cases = [
        Case(seq, number, f"round {number}: {did}; {stood}") for seq, number, did in looks if not known & buyer.good
    ]
    return Seen(cases, len(looks), {"known": len(known), "searches": len(buyer.searches)})


def _asked(look: Search) -> str:
    return f"page {look.page} of the search {look.query[:40]!r}"


def detect_narrow(buyer: Buyer, *, loss: Part) -> Seen:
    """The best business that it knew was not asked for its whole order; list prices say which is the best.

    It has to be ahead by `loss` of its worth, at least a cent. Parts: how many of the known ones were asked for it.
    """
    known = buyer.known
    asked = {letter.business for letter in buyer.letters if not lacking(buyer, letter)}
    # Who offered unasked need not be asked.
    asked |= {deal.business for deal in buyer.offers}
    # Sorted, so that ties are the same in every process.
    best = max(sorted(known - asked), key=lambda business: buyer.worths.get(business, 0), default=None)
    top = 0 if best is None else buyer.worths.get(best, 0)
    ahead = top - max([0, *(buyer.worths.get(business, 0) for business in asked)])
    cases = [_unasked(buyer, best, asked)] if best is not None and ahead >= max(1, loss * top) else []
    return Seen(cases, len(known), {"known": len(known), "asked": len(asked)})


def _unasked(buyer: Buyer, best: int, asked: set[int]) -> Case:
    """The first message after which the best known business was left out, or asked for less; else how it left."""
    shown = buyer.seen.get(best, 0)
    writing = next((letter for letter in buyer.letters if letter.sent > shown), None)
    seq, number = buyer.last() if writing is None else (writing.sent, writing.sent_round)
    price = cents_text(buyer.value - buyer.worths[best])
    said = f"round {number}: asked {len(asked)} of {len(buyer.known)} known businesses for its order, not "
    said += f"{buyer.name(best)}, whose list price for it is {price}"
    return Case(seq, number, said, shown_by=shown or None, about=buyer.name(best))


def lacking(buyer: Buyer, letter: Letter) -> list[str]:
    """Wanted items and amenities that the list of an inquiry leaves out, or items of which it asks too few.

    Prose, which no rule reads, is believed to ask for all.
    """
    asked, customer = letter.asked, buyer.customer
    if asked is None or customer is None:
        return []
    items = [want.item for want in customer.wants if asked.lines.get(folded(want.item), 0) < want.quantity]
    return items + [name for name in customer.amenities if folded(name) not in asked.amenities]


def detect_left(buyer: Buyer) -> Seen:
    """It left with nothing before any business that it had asked had two rounds to answer in."""
    if not buyer.good:
        return unchecked(_NOBODY)
    cases: list[Case] = []
    waited = any(_could_answer(buyer, letter) for letter in buyer.letters)
    if buyer.left is not None and buyer.letters and not waited and not buyer.offers:
        seq, number = buyer.last()
        first = buyer.letters[0]
        # What arrives at a close can be answered in the next round, and that answer be read in the one after it.
        due = "which was not delivered"
        if first.delivered_round is not None:
            due = f"its answer could be read from round {first.delivered_round + 2} on"
        said = f"round {number}: it left; {buyer.name(first.business)} was asked in round {first.sent_round}, {due}"
        cases.append(Case(seq, number, said, shown_by=first.delivered, about=buyer.name(first.business)))
    return Seen(cases, 1, {"asked": len(buyer.contacted)})


def _could_answer(buyer: Buyer, letter: Letter) -> bool:
    # It sees in the next round what a close has delivered, so it has to be there one round longer.
    return letter.delivered_round is not None and (buyer.left or 0) > letter.delivered_round + _PATIENCE


def detect_position(buyer: Buyer, *, times: PositiveInt) -> Seen:
    """Messages to businesses that had stood first in a search, of all messages to businesses that searches showed.

    Unchecked with fewer than `times` searches that left a choice.
    """
    # A list of one leaves no choice of position.
    searches = [search for search in buyer.searches if len(search.shown) > 1]
    if len(searches) < times:
        return unchecked(f"fewer than {times} searches with a choice")
    # Reversed, so that of two searches with the same first result the earlier one stays as proof.
    first = {search.shown[0]: search for search in reversed(searches) if search.page == 1}
    shown = set(chain.from_iterable(search.shown for search in searches))
    found = [letter for letter in buyer.letters if letter.business in shown]
    cases = [
        Case(
            letter.sent,
            letter.sent_round,
            f"round {letter.sent_round}: asked {buyer.name(letter.business)}, first of "
            f"{len(first[letter.business].shown)} results in round {first[letter.business].round}",
            shown_by=first[letter.business].seq,
            about=buyer.name(letter.business),
        )
        for letter in found
        if letter.business in first
    ]
    return Seen(cases, len(found), {"searches": len(searches)})


def detect_poll(buyer: Buyer) -> Seen:
    """Reads of the inbox or of proposals that showed nothing, of all such reads; `await_turn` is the way to wait."""
    polls = [call for call in buyer.of(*_POLLS) if call.accepted]
    # Refs name all that an answer showed: without any it was empty.
    cases = [
        Case(call.seq, call.round, f"round {call.round}: {call.tool} showed 0 entries")
        for call in polls
        if not call.refs
    ]
    return Seen(cases, len(polls))


def detect_repeat(buyer: Buyer, *, times: PositiveInt) -> Seen:
    """Searches that repeat query, page and filters of an earlier one, of all searches; parts: the most alike.

    From `times` equal ones on. Where a rating has changed in between, the answer may be another: then it is no
    repetition.
    """
    asked: dict[tuple[str, int, str, int], list[Search]] = {}
    for search in buyer.searches:
        # How many changes of ratings came before: equal numbers mean equal answers.
        state = bisect_left(buyer.game.rated, search.seq)
        asked.setdefault((search.query, search.page, search.filters, state), []).append(search)
    often = [group for group in asked.values() if len(group) >= times]
    cases = [
        Case(
            search.seq,
            search.round,
            f"round {search.round}: {_asked(search)} for time {time}, same as in round {group[0].round}",
        )
        for group in often
        for time, search in enumerate(group[1:], 2)
    ]
    most = max(map(len, asked.values()), default=0)
    return Seen(sorted(cases), len(buyer.searches), {"most_alike": most})
