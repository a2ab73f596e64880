"""What an answer showed, in the order in which it shows it: handles, proposal ids, and `<handle>.<surface>` for texts.

Surfaces of a business are those of section 6.9 and, where no experiment puts a text, `amenity` and `claim`; those of a
customer are `chat` (inquiries included) and `reject_reason`. Seen sets, positions and exposures follow from these, so
that the trace can keep a digest of the answer in place of its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.marketplace.answers.results import (
    BusinessProfile,
    Comparison,
    Entry,
    Listing,
    MessagePage,
    ProposalPage,
    ProposalView,
    SearchPage,
)


def search_refs(answer: SearchPage) -> Sequence[str]:
    """Results in order, each followed by the surfaces of its texts."""
    return [ref for row in answer.results for ref in _business(row)]


def profile_refs(answer: BusinessProfile) -> Sequence[str]:
    """The business and the surfaces of its texts."""
    return list(_business(answer))


def _business(row: Listing | BusinessProfile) -> Iterator[str]:
    handle = row.business
    # The handle first: positions are counted over the refs without a dot.
    yield from (handle, f"{handle}.name", f"{handle}.description")
    # Null and empty alike: what is not disclosed or not there has carried no text.
    if row.menu:
        yield f"{handle}.item_name"
    if row.amenities:
        yield f"{handle}.amenity"


def message_refs(answer: MessagePage) -> Sequence[str]:
    """Entries in order: the counterpart, then its text or the proposal that a notice is about."""
    return [ref for row in answer.entries for ref in _entry(row)]


def _entry(row: Entry) -> Iterator[str]:
    yield row.counterpart
    if row.kind == "message":
        yield f"{row.counterpart}.chat"
    elif row.proposal is not None:
        yield row.proposal


def proposal_refs(answer: ProposalPage) -> Sequence[str]:
    """Proposals in order: the counterpart, the proposal, then the surfaces of the counterpart's texts."""
    return [ref for row in answer.proposals for ref in _proposal(row)]


def _proposal(row: ProposalView) -> Iterator[str]:
    handle = row.counterpart
    yield from (handle, row.proposal)
    if row.arrival_number is None:
        # A business sees its own proposal: only the reason of a rejection is the counterpart's text.
        if row.state == "rejected" and row.reason:
            yield f"{handle}.reject_reason"
        return
    yield f"{handle}.item_name"
    if row.claims:
        yield f"{handle}.claim"
    if row.note:
        yield f"{handle}.proposal_note"
    if row.state == "withdrawn" and row.reason:
        yield f"{handle}.withdraw_reason"


def comparison_refs(answer: Comparison) -> Sequence[str]:
    """Proposals in order, without surfaces: a comparison quotes no counterpart."""
    return [ref for row in answer.offers for ref in (row.counterpart, row.proposal)]
