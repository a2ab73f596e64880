"""How a customer looked around: missed and repeated searches, whom it asked, when it left, how it polled."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.marketplace.modes.cascade import broken_link, lacking, lost
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Letter, Lost, Search, Times, money
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked

UNKNOWN = "what it could have had is not told"
_POLLS = ("receive_messages", "view_proposals")


def detect_miss(buyer: Buyer, params: Lost) -> Seen:
    """Searches by which it never came to know a business that would have served it clearly better than those it knew.

    Parts: businesses known, searches, and `no_search` where it never searched.
    """
    if buyer.loss is None:
        return unchecked(UNKNOWN)
    if buyer.loss.optimum <= 0:
        return unchecked("no business is worth its list price")
    known, cents = buyer.known, buyer.loss.query
    parts: dict[str, float | None] = {"known": len(known), "searches": len(buyer.searches)}
    if not buyer.searches:
        parts["no_search"] = 1
    # Of a customer that got nothing the broken link alone decides; it may be one that the list prices do not show.
    missed = broken_link(buyer) == "query_miss" if lost(buyer) else cents >= max(1, params.loss * buyer.loss.optimum)
    cases: list[Case] = []
    if missed:
        unseen = max((worth for business, worth in buyer.worths.items() if business not in known), default=0)
        stood = f"the best known would earn {money(buyer.loss.seen)}, the best unknown {money(unseen)}"
        looks = [(look.seq, look.round, f"{_asked(look)} showed {len(look.shown)}") for look in buyer.searches]
        # Without a search the cause is what it did instead.
        looks = looks or [(*buyer.last(), "0 searches")]
        # The loss is one figure for all of them: on the first, so that it is told once.
        for place, (seq, number, did) in enumerate(looks):
            cost = None if place else (unseen if lost(buyer) else cents) / 100
            cases.append(Case(seq, number, f"round {number}: {did}; {stood}", cost))
    return Seen(cases, max(1, len(buyer.searches)), parts)


def _asked(look: Search) -> str:
    return f"page {look.page} of the search {look.query[:40]!r}"


def detect_narrow(buyer: Buyer, params: Lost) -> Seen:
    """The best business that it knew was not asked for its order, and was worth clearly more than the best asked one.

    Parts: how many of the known ones were asked.
    """
    if buyer.loss is None:
        return unchecked(UNKNOWN)
    known, asked = buyer.known, set(buyer.contacted)
    parts: dict[str, float | None] = {
        "known": len(known), "asked": len(asked), "share_asked": ratio(len(asked), len(known))
    }  # fmt: skip
    link = broken_link(buyer)
    shallow = buyer.loss.outreach >= max(1, params.loss * buyer.loss.seen)
    cases: list[Case] = []
    if link == "shallow_outreach" or (shallow and not lost(buyer)):
        cases = [_unasked(buyer)]
    return Seen(cases, len(known), parts)


def _unasked(buyer: Buyer) -> Case:
    """The first message after which the best known business was left out, or asked for something else."""
    assert buyer.loss is not None
    good = [letter for letter in buyer.letters if buyer.worths.get(letter.business, 0) > 0]
    if good and all(lacking(buyer, letter) for letter in good):
        return _misasked(buyer, max(good, key=lambda letter: (buyer.worths[letter.business], -letter.sent)))
    # Sorted, so that ties are the same in every process.
    left_out = sorted(buyer.known - set(buyer.contacted))
    best = max(left_out, key=lambda business: buyer.worths.get(business, 0))
    shown = buyer.seen.get(best, 0)
    writing = next((letter for letter in buyer.letters if letter.sent > shown), None)
    seq, number = buyer.last() if writing is None else (writing.sent, writing.sent_round)
    did = "it asked none" if writing is None else f"asked {len(buyer.contacted)} of {len(buyer.known)} known businesses"
    best_asked = max(0, buyer.loss.contacted)
    return Case(
        seq,
        number,
        f"round {number}: {did}, not {buyer.name(best)}, whose list price would earn {money(buyer.worths[best])}; "
        f"the best asked would earn {money(best_asked)}",
        (buyer.worths[best] - best_asked) / 100,
        shown or None,
        buyer.name(best),
    )


def _misasked(buyer: Buyer, letter: Letter) -> Case:
    wrong = ", ".join(name[:30] for name in lacking(buyer, letter)[:2])
    worth = buyer.worths[letter.business]
    number, name = letter.sent_round, buyer.name(letter.business)
    said = f"round {number}: asked {name} for less than all of {wrong}; its list price would earn {money(worth)}"
    return Case(letter.sent, number, said, worth / 100, letter.delivered, name)


def detect_left(buyer: Buyer) -> Seen:
    """It left, or stopped, before a business that it had asked could answer, and got nothing."""
    if buyer.loss is None:
        return unchecked(UNKNOWN)
    if buyer.loss.optimum <= 0:
        return unchecked("no business is worth its list price")
    cases: list[Case] = []
    if broken_link(buyer) == "left_early":
        seq, number = buyer.last()
        good = [letter for letter in buyer.letters if buyer.worths.get(letter.business, 0) > 0]
        first = min(good, key=lambda letter: letter.sent)
        # What arrives at a close can be answered in the next round, and that answer be read in the one after it.
        due = "which was not delivered"
        if first.delivered_round is not None:
            due = f"its answer could be read from round {first.delivered_round + 2} on"
        said = f"round {number}: it left; {buyer.name(first.business)} was asked in round {first.sent_round}, {due}"
        cases.append(Case(seq, number, said, buyer.loss.contacted / 100, first.delivered, buyer.name(first.business)))
    return Seen(cases, 1, {"asked": len(buyer.contacted)})


def detect_position(buyer: Buyer, params: Times) -> Seen:
    """Messages to businesses that had stood first in a search, of all messages to businesses that searches showed."""
    # A list of one leaves no choice of position.
    searches = [search for search in buyer.searches if len(search.shown) > 1]
    if len(searches) < params.times:
        return unchecked(f"fewer than {params.times} searches with a choice")
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


def detect_repeat(buyer: Buyer, params: Times) -> Seen:
    """Searches that repeat query, page and filters of an earlier one, of all searches; parts: the most alike.

    Where a rating has changed in between, the answer may be another: then it is no repetition.
    """
    asked: dict[tuple[str, int, str, int], list[Search]] = {}
    for search in buyer.searches:
        # How many changes of ratings came before: equal numbers mean equal answers.
        state = bisect_left(buyer.game.rated, search.seq)
        asked.setdefault((search.query, search.page, search.filters, state), []).append(search)
    often = [group for group in asked.values() if len(group) >= params.times]
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
