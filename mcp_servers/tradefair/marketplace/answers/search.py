"""Indexed search over business profiles, equal in score and order to its plain definition (section 6.4). Pure.

A text is its set of 4-character pieces; a profile's score is the share of the query's pieces that it holds. The index
counts pieces: rare ones in lists of profiles, frequent ones in rows of a table, so that a long query costs the same.
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
_DENSE_SHARE = 16


class Page(NamedTuple):
    """One page of results: places of businesses in order, and how many results there are on all pages."""

    places: tuple[int, ...]
    total: int


def normalised(text: str) -> str:
    """Lower case, without punctuation, white space collapsed and trimmed."""
    return " ".join(_NOT_WORD.sub("", text.lower()).split())


def pieces(text: str) -> frozenset[str]:
    """S4: the 4-character substrings of the normalised text between two blanks."""
    padded = f" {normalised(text)} ".ljust(PIECE)
    return frozenset(padded[start : start + PIECE] for start in range(len(padded) - PIECE + 1))


def document_of(business: Business) -> str:
    """D_b: name, description and all items in menu order; no prices, no amenities."""
    return ", ".join((business.name, business.description, *(line.item for line in business.menu)))


def plain_score(query: str, document: str) -> Fraction:
    """The definition that the index is held to: |S4(query) ∩ S4(document)| / |S4(query)|."""
    wanted = pieces(query)
    return Fraction(len(wanted & pieces(document)), len(wanted))


def base_ranks(ratings: Sequence[int | Fraction]) -> tuple[int, ...]:
    """The rank of each place in base order: rating descending, then registration."""
    order = sorted(range(len(ratings)), key=lambda place: (-ratings[place], place))
    ranks = [0] * len(order)
    for rank, place in enumerate(order):
        ranks[place] = rank
    return tuple(ranks)


class LexicalIndex:
    """Pieces of all documents. Documents never change; the base ranks may, at any search."""

    def __init__(self, documents: Iterable[str]) -> None:
        postings: dict[str, list[int]] = {}
        count = 0
        for place, document in enumerate(documents):
            for piece in pieces(document):
                postings.setdefault(piece, []).append(place)
            count = place + 1
        self._count = count
        frequent = [piece for piece, found in postings.items() if len(found) * _DENSE_SHARE > count]
        self._row = {piece: row for row, piece in enumerate(frequent)}
        self._table: NDArray[np.uint8] = np.zeros((len(frequent), count), dtype=np.uint8)
        for piece, row in self._row.items():
            self._table[row, postings.pop(piece)] = 1
        self._postings = {piece: np.array(found, dtype=np.int32) for piece, found in postings.items()}

    def __len__(self) -> int:
        return self._count

    def overlaps(self, query: str) -> NDArray[np.int64]:
        """|S4(query) ∩ S4(D)| of every document by place."""
        wanted = pieces(query)
        rows = [self._row[piece] for piece in wanted if piece in self._row]
        # Counts are whole numbers: the order in which a set is walked does not show.
        rare = [self._postings[piece] for piece in wanted if piece in self._postings]
        counts = np.zeros(self._count, dtype=np.int64)
        if rows:
            counts += self._table[rows].sum(axis=0, dtype=np.int64)
        if rare:
            counts += np.bincount(np.concatenate(rare), minlength=self._count)
        return counts

    def page(self, query: str, ranks: Sequence[int] | NDArray[np.int64], start: int, stop: int) -> Page:
        """Results `start` to `stop` by score descending, ties in base order; every document is a result.

        `ranks` is the base rank of each document, a permutation of 0 … n−1. A query without a word gives base order.
        """
        start, stop = min(start, self._count), min(stop, self._count)
        rank = np.asarray(ranks, dtype=np.int64)
        keys = rank if not normalised(query) else rank - self.overlaps(query) * self._count
        if stop < self._count:
            best = np.argpartition(keys, stop)[:stop]
            ordered = best[np.argsort(keys[best])]
        else:
            ordered = np.argsort(keys)
        return Page(tuple(int(place) for place in ordered[start:stop]), self._count)
