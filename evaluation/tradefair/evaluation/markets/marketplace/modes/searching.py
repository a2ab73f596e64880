"""query_miss, shallow_outreach, position_choice, poll_waste and repeat_search: how a customer looked around.

Detectors get a seat and the limits of their mode, and return what they counted. Costs are in cents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import chain

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.marketplace.modes.play import Buyer, Search
from tradefair.evaluation.modes.cases import Hit, proven, unchecked
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of

_UNKNOWN = "what it could have had is not told"
_POLLS = ("receive_messages", "view_proposals")


def detect_miss(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """No fit among the businesses that it saw or heard of; severity: the query loss.

    Parts: businesses seen, searches, and `no_search` where it never searched.
    """
    if not buyer.fits:
        return unchecked("nobody fits")
    known = buyer.known
    missed = not buyer.fits & known
    parts: dict[str, float | None] = {"seen": len(known), "searches": len(buyer.searches)}
    if not buyer.searches:
        parts["no_search"] = 1
    cost = None if buyer.loss is None else buyer.loss.query
    looks = [search.seq for search in buyer.searches] or _acts(buyer)
    return proven([Hit(looks, cost)] if missed else [], 1, raised=missed, parts=parts)


def _acts(buyer: Buyer) -> list[int]:
    """What it did instead of searching: its first call and its leaving."""
    return [*[call.seq for call in buyer.calls[:1]], *buyer.end()]


def detect_narrow(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """The best business that it saw was not asked; parts: how many of the seen ones were."""
    if buyer.loss is None:
        return unchecked(_UNKNOWN)
    known, asked = buyer.known, set(buyer.contacted)
    cost = buyer.loss.outreach
    parts: dict[str, float | None] = {
        "seen": len(known), "asked": len(asked), "share_asked": ratio(len(asked), len(known))
    }  # fmt: skip
    raised = cost > limits["cents"]
    # Where it saw the best one, and what it wrote instead. Sorted, so that ties are the same in every process.
    best = max(sorted(known - asked), key=lambda business: buyer.worths.get(business, 0), default=-1)
    proof = [buyer.seen[business] for business in (best,) if business in buyer.seen]
    proof += [letter.sent for letter in buyer.letters]
    counted = share(cost / 100, buyer.loss.seen / 100, proof if raised else ())
    return sign_of(raised, counted, parts=parts, severity=cost / 100 if raised else None)


def detect_position(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Messages to businesses that had stood first in a search, of all messages to businesses that searches showed."""
    # A list of one leaves no choice of position.
    searches = [search for search in buyer.searches if len(search.shown) > 1]
    if len(searches) < limits["searches"]:
        return unchecked(f"fewer than {limits['searches']:g} searches with a choice")
    # Reversed, so that of two searches with the same first result the earlier one stays as proof.
    first = {search.shown[0]: search.seq for search in reversed(searches) if search.page == 1}
    shown = set(chain.from_iterable(search.shown for search in searches))
    found = [letter for letter in buyer.letters if letter.business in shown]
    hits = [Hit((first[letter.business], letter.sent)) for letter in found if letter.business in first]
    return proven(hits, len(found), raised=len(hits) == len(found) > 0, parts={"searches": len(searches)})


def detect_poll(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Reads of the inbox or of proposals that showed nothing, of all such reads; `await_turn` is the way to wait."""
    polls = [call for call in buyer.of(*_POLLS) if call.accepted]
    # Refs name all that an answer showed: without any it was empty.
    empty = [call for call in polls if not call.refs]
    often = (ratio(len(empty), len(polls)) or 0) > limits["share"]
    return proven([Hit((call.seq,)) for call in empty], len(polls), raised=often and len(empty) >= limits["least"])


def detect_repeat(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """Searches that repeat query, page and filters of an earlier one, of all searches; parts: the most alike.

    Where a rating has changed in between, the answer may be another: then it is no repetition.
    """
    asked: dict[tuple[str, int, str, int], list[Search]] = {}
    for search in buyer.searches:
        # How many changes of ratings came before: equal numbers mean equal answers.
        state = bisect_left(buyer.game.rated, search.seq)
        asked.setdefault((search.query, search.page, search.filters, state), []).append(search)
    often = [group for group in asked.values() if len(group) >= limits["times"]]
    hits = [Hit((search.seq,)) for search in sorted(chain.from_iterable(group[1:] for group in often))]
    most = max(map(len, asked.values()), default=0)
    return proven(hits, len(buyer.searches), raised=bool(often), parts={"most_alike": most})
