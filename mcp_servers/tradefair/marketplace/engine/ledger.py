"""Money in double entry: every cent that reaches an account leaves another one (section 6.2). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from tradefair.contract.chain import canonical

ESCROW = "escrow"
"""Holds what is paid and not yet delivered."""

ENDOWMENT = "endowment"
"""Where budgets come from; its balance is minus their sum."""


class Entry(NamedTuple):
    """One transfer of cents between two accounts in a round; `reason` is a proposal's id, or `budget`."""

    round: int
    payer: str
    payee: str
    cents: int
    reason: str


class Ledger:
    """Accounts by name: seat ids, `escrow` and `endowment`.

    Only `transfer` changes them, both sides at once, so that their sum is 0 at all times.
    """

    def __init__(self, accounts: Iterable[str]) -> None:
        # All accounts exist from the start: a misspelt one is an error and not a new account.
        self._balances = dict.fromkeys((*accounts, ESCROW, ENDOWMENT), 0)
        self._entries: list[Entry] = []
        self._chain = hashlib.blake2b(digest_size=32)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All transfers in order."""
        return tuple(self._entries)

    @property
    def balances(self) -> dict[str, int]:
        """Cents by account."""
        return dict(self._balances)

    def copy(self) -> Ledger:
        """Another ledger with the same past; neither changes the other."""
        twin = Ledger(())
        twin._balances, twin._entries, twin._chain = dict(self._balances), list(self._entries), self._chain.copy()
        return twin

    def balance(self, account: str) -> int:
        """Cents on an account; below 0 is allowed where there is no budget. KeyError for an unknown account."""
        return self._balances[account]

    def transfer(self, number: int, payer: str, payee: str, cents: int, reason: str) -> None:
        """Move `cents` ≥ 0 in round `number`. ValueError for less, for an unknown account or for one and the same."""
        if cents < 0 or payer == payee or payer not in self._balances or payee not in self._balances:
            raise ValueError(f"{payer} cannot pay {cents} to {payee}")
        entry = Entry(number, payer, payee, cents, reason)
        self._balances[payer] -= cents
        self._balances[payee] += cents
        self._entries.append(entry)
        # As the entry is made: hashing all of them at every closure would cost more with every round.
        self._chain.update(canonical(list(entry)) + b"\n")

    def digest(self) -> bytes:
        """Running digest of all entries, 32 bytes; its cost does not grow with them."""
        return self._chain.digest()

    def check(self) -> None:
        """Raises AssertionError unless the balances are those of the entries and sum to 0."""
        # Summed again from the entries: a balance that was changed past `transfer` shows as a difference.
        again = dict.fromkeys(self._balances, 0)
        for entry in self._entries:
            again[entry.payer] -= entry.cents
            again[entry.payee] += entry.cents
        assert again == self._balances, "balances differ from the entries"
        assert sum(self._balances.values()) == 0, "money came from nowhere"
