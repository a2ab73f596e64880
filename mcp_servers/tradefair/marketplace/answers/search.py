"""Indexed search over business profiles, equal in score and order to its plain definition (section 6.4). Pure.

A text is its set of 4-character pieces; a profile's score is the share of the query's pieces that it contains. The
index counts pieces: rare ones in lists of profiles, frequent ones in rows of a table, so that a long query of common
words costs no more than a short one. Documents are named by their index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.marketplace.model import Business

PIECE = 4
_NOT_WORD = re.compile(r"[^\w\s]")
# A piece in more than 1/16 of the documents is frequent: adding its row of bytes takes a fixed time, where the cost of
# a list grows with its entries.
_DENSE_SHARE = 16


class Page(NamedTuple):
    """One page of results: businesses by index, in order, and how many results there are on all pages."""

    businesses: tuple[int, ...]
    total: int


def normalised(text: str) -> str:
    """Lower case, without punctuation, white space collapsed and trimmed."""
    return " ".join(_NOT_WORD.sub("", text.lower()).split())


def pieces(text: str) -> frozenset[str]:
    """S4: the 4-character substrings of the normalised text with a blank before and after it; never empty."""
    # The blanks let beginnings and ends of words count; `ljust` gives even an empty text one piece.
    padded = f" {normalised(text)} ".ljust(PIECE)
    return frozenset(padded[start : start + PIECE] for start in range(len(padded) - PIECE + 1))


def document_of(business: Business) -> str:
    """D_b, the text that search sees: name, description and all items in menu order; no prices, no amenities."""
    return ", ".join((business.name, business.description, *(line.item for line in business.menu)))


def plain_score(query: str, document: str) -> Fraction:
    """|S4(query) ∩ S4(document)| / |S4(query)|: the definition that the index must equal in tests."""
    wanted = pieces(query)
    return Fraction(len(wanted & pieces(document)), len(wanted))


def base_ranks(ratings: Sequence[int | Fraction], places: Sequence[int] = ()) -> tuple[int, ...]:
    """The rank in base order, from 0, `[business]`: rating descending, then by `places`, else in order of the data."""
    order = sorted(range(len(ratings)), key=lambda index: (-ratings[index], places[index] if places else index))
    ranks = [0] * len(order)
    for rank, index in enumerate(order):
        ranks[index] = rank
    return tuple(ranks)


class LexicalIndex:
    """Pieces of all documents. Documents never change; the base ranks may, from search to search."""

    def __init__(self, documents: Iterable[str]) -> None:
        postings: dict[str, list[int]] = {}
        count = 0
        for index, document in enumerate(documents):
            for piece in pieces(document):
                postings.setdefault(piece, []).append(index)
            count = index + 1
        self._count = count
        frequent = [piece for piece, found in postings.items() if len(found) * _DENSE_SHARE > count]
        self._row = {piece: row for row, piece in enumerate(frequent)}
        self._table: NDArray[np.uint8] = np.zeros((len(frequent), count), dtype=np.uint8)
        # Popped from the lists: a frequent piece is counted in the table alone.
        for piece, row in self._row.items():
            self._table[row, postings.pop(piece)] = 1
        self._postings = {piece: np.array(found, dtype=np.int32) for piece, found in postings.items()}

    def __len__(self) -> int:
        return self._count

    def overlaps(self, query: str) -> NDArray[np.int64]:
        """|S4(query) ∩ S4(D)|, `[document]`."""
        wanted = pieces(query)
        rows = [self._row[piece] for piece in wanted if piece in self._row]
        # Counts are whole numbers: the order in which a set of texts is iterated, which differs from process to
        # process, does not show in their sum.
        rare = [self._postings[piece] for piece in wanted if piece in self._postings]
        counts = np.zeros(self._count, dtype=np.int64)
        if rows:
            counts += self._table[rows].sum(axis=0, dtype=np.int64)
        if rare:
            counts += np.bincount(np.concatenate(rare), minlength=self._count)
        return counts

    def page(self, query: str, ranks: Sequence[int] | NDArray[np.int64], start: int, stop: int) -> Page:
        """Results `start` to `stop` by score descending, ties in base order; every document is a result.

        `ranks` holds the base rank `[document]`, a permutation of 0 … n−1. A query without a word gives base order.
        """
        # One key per document: ranks are below n, so that one more shared piece outweighs any rank.
        start, stop = min(start, self._count), min(stop, self._count)
        rank = np.asarray(ranks, dtype=np.int64)
        keys = rank if not normalised(query) else rank - self.overlaps(query) * self._count
        if stop < self._count:
            # Only the first `stop` results are sorted, not the directory.
            best = np.argpartition(keys, stop)[:stop]
            ordered = best[np.argsort(keys[best])]
        else:
            ordered = np.argsort(keys)
        return Page(tuple(int(index) for index in ordered[start:stop]), self._count)
