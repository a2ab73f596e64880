"""Inboxes: numbered entries without gaps, which a reader who follows the cursor sees exactly once (section 5). Pure."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from tradefair.contract.chain import canonical

Notice: TypeAlias = Literal[
    "proposal_received",
    "paid",
    "rejected",
    "withdrawn",
    "expired",
    "payment_declined",
    "withdraw_too_late",
    "delivered",
    "refunded",
]

LetterKind: TypeAlias = Notice | Literal["message"]


class Letter(NamedTuple):
    """One entry of an inbox: a message, or a notice about a proposal.

    `number` is 1, 2, 3 … in this inbox, `sender` the handle of the other side, `round` when it was delivered.
    """

    number: int
    kind: LetterKind
    sender: str
    round: int
    proposal: str | None = None
    text: str = ""
    inquiry: JsonValue = None


class InboxPage(NamedTuple):
    """Letters in order. The next page is after `cursor`; `more` says whether there is one, `unread` of how many."""

    letters: tuple[Letter, ...]
    cursor: int
    more: bool
    unread: int


# Shared until the first letter: most of the thousands of seats of a large market never get one.
_EMPTY = hashlib.blake2b(digest_size=32)


class Inbox:
    """One seat's letters. Only `deliver` changes it; reading changes nothing."""

    __slots__ = ("_chain", "_from", "_letters")

    def __init__(self) -> None:
        self._letters: list[Letter] = []
        # Numbers by sender: a filtered page must not scan a mailbox of thousands.
        self._from: dict[str, list[int]] = {}
        self._chain = _EMPTY

    def __len__(self) -> int:
        return len(self._letters)

    def deliver(
        self,
        kind: LetterKind,
        sender: str,
        number: int,
        *,
        proposal: str | None = None,
        text: str = "",
        inquiry: JsonValue = None,
    ) -> Letter:
        """Add a letter in round `number`; the letter with its number in this inbox."""
        letter = Letter(len(self._letters) + 1, kind, sender, number, proposal, text, inquiry)
        if not self._letters:
            self._chain = _EMPTY.copy()
        self._letters.append(letter)
        # Ascending by construction, which `page` needs for its bisection.
        self._from.setdefault(sender, []).append(letter.number)
        self._chain.update(canonical(list(letter)) + b"\n")
        return letter

    def page(self, after: int, at_most: int, sender: str | None = None) -> InboxPage:
        """Up to `at_most` letters with a number above `after`, of one sender if one is named, ascending.

        `unread` counts the letters behind the cursor, those of other senders left out if one is named.
        """
        if sender is None:
            found = self._letters[after : after + at_most]
            left = max(0, len(self._letters) - after - len(found))
        else:
            numbers = self._from.get(sender, [])
            # The cursor of another sender's page works here too: it need not be one of these numbers.
            start = bisect_right(numbers, after)
            found = [self._letters[number - 1] for number in numbers[start : start + at_most]]
            left = len(numbers) - start - len(found)
        # An empty page keeps the cursor, so that a reader who polls never skips what comes later.
        cursor = found[-1].number if found else after
        return InboxPage(tuple(found), cursor, left > 0, left)

    def copy(self) -> Inbox:
        """Another inbox with the same letters; neither changes the other."""
        twin = Inbox()
        twin._letters, twin._chain = list(self._letters), self._chain.copy()
        twin._from = {sender: list(numbers) for sender, numbers in self._from.items()}
        return twin

    def heard_from(self, sender: str) -> bool:
        """Whether anything has ever come from this handle, notices included."""
        return sender in self._from

    def digest(self) -> bytes:
        """Running digest of all letters, 32 bytes; its cost does not grow with them."""
        return self._chain.digest()
