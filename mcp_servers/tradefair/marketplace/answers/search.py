"""Indexed search over business profiles, equal in score and order to its plain definition (section 6.4). Pure.

A text is its set of 4-character pieces; a profile's score is the share of the query's pieces that it contains. The
index counts pieces: rare ones in lists of profiles, frequent ones in rows of a table, so that a long query of common
words costs no more than a short one. Documents are named by their index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.marketplace.model import Business

PIECE = 4
_CODE_POINTS = 0x110000
_NOT_WORD = re.compile(r"[^\w\s]")
# Rows that are added at once: few enough for a byte to count their ones, and for a processor's cache.
_ROWS = 64
# Documents whose pieces are sorted at once: as many as a byte can count.
_BLOCK = 256
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
    padded = _padded(text)
    return frozenset(padded[start : start + PIECE] for start in range(len(padded) - PIECE + 1))


def _padded(text: str) -> str:
    # The blanks let beginnings and ends of words count; `ljust` gives even an empty text one piece.
    return f" {normalised(text)} ".ljust(PIECE)


def document_of(business: Business) -> str:
    """D_b, the text that search sees: name, description and all items in menu order; no prices, no amenities."""
    return ", ".join((business.name, business.description, *(line.item for line in business.menu)))


def base_ranks(ratings: Sequence[int | Fraction], places: Sequence[int] = ()) -> tuple[int, ...]:
    """The rank in base order, from 0, `[business]`: rating descending, then by `places`, else in order of the data."""
    order = sorted(range(len(ratings)), key=places.__getitem__ if places else None)
    # A second, stable sort: a key of both would compare fractions for equality first, which takes most of the time.
    order.sort(key=ratings.__getitem__, reverse=True)
    ranks = [0] * len(order)
    for rank, index in enumerate(order):
        ranks[index] = rank
    return tuple(ranks)


class _Postings(NamedTuple):
    """The pieces of some documents, ascending and once, how many of the documents have each, and which: one after
    another, counted from the first of these documents."""

    pieces: NDArray[Any]
    sizes: NDArray[np.uint16]
    documents: NDArray[np.uint8]


class _Alphabet:
    """Pieces as numbers: a letter has a rank from 1, or 0 if no text has it; a piece is its four ranks in base L."""

    def __init__(self, texts: Sequence[str]) -> None:
        seen = np.zeros(_CODE_POINTS, dtype=np.bool_)
        for text in texts:
            seen[_codes(text)] = True
        self._ranks: NDArray[np.int32] = np.cumsum(seen, dtype=np.int32) * seen
        self._base = int(np.count_nonzero(seen)) + 1
        # Of 32 bits for up to 64 letters, which halves time and memory; of Python's own numbers for 16,384 and more.
        self._type = np.min_scalar_type(self._base**PIECE * _BLOCK)

    def pieces(self, text: str) -> NDArray[Any]:
        """The pieces of a text that has its blanks, in order: `[len(text) - PIECE + 1]`."""
        ranks = self._ranks[_codes(text)].astype(self._type)
        numbers = ranks[: len(ranks) - PIECE + 1]
        for offset in range(1, PIECE):
            numbers = numbers * self._base + ranks[offset : len(ranks) - PIECE + 1 + offset]
        return numbers

    def postings(self, texts: Sequence[str]) -> _Postings:
        """The pieces of up to `_BLOCK` texts."""
        of = np.repeat(np.arange(len(texts), dtype=np.uint8), [len(text) for text in texts])
        # Without the pieces that begin in one text and end in the next.
        within = of[: len(of) - PIECE + 1] == of[PIECE - 1 :]
        pairs = _once(self.pieces("".join(texts))[within] * _BLOCK + of[: len(of) - PIECE + 1][within])
        numbers, documents = pairs // _BLOCK, (pairs % _BLOCK).astype(np.uint8)
        starts = np.flatnonzero(_changes(numbers))
        return _Postings(numbers[starts], np.diff(starts, append=len(numbers)).astype(np.uint16), documents)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def _changes(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a number differs from the one before; at the first one too."""
    return np.concatenate((np.ones(min(1, len(ordered)), dtype=np.bool_), ordered[1:] != ordered[:-1]))


def _once(numbers: NDArray[Any]) -> NDArray[Any]:
    """The numbers in ascending order, each once."""
    # Not np.unique: it hashes them first, which takes ten times as long.
    ordered = np.sort(numbers)
    return ordered[_changes(ordered)]


class LexicalIndex:
    """Pieces of all documents. Documents never change; the base ranks may, from search to search."""

    def __init__(self, documents: Iterable[str]) -> None:
        texts = [_padded(document) for document in documents]
        self._count = count = len(texts)
        self._alphabet = _Alphabet(texts)
        blocks: list[_Postings] = []
        # Texts are freed as their postings are made: they are as large as the catalogue's own.
        for first in reversed(range(0, count, _BLOCK)):
            blocks.append(self._alphabet.postings(texts[first:]))
            del texts[first:]
        self._pieces = _once(np.concatenate([block.pieces for block in blocks] or [np.zeros(0, dtype=np.uint32)]))
        places = [np.searchsorted(self._pieces, block.pieces) for block in blocks]
        totals = np.zeros(len(self._pieces), dtype=np.int64)
        for place, block in zip(places, blocks, strict=True):
            totals[place] += block.sizes
        frequent = totals * _DENSE_SHARE > count
        # The row of each piece, or -1.
        self._rows = np.where(frequent, np.cumsum(frequent) - 1, -1)
        self._table: NDArray[np.uint8] = np.zeros((np.count_nonzero(frequent), count), dtype=np.uint8)
        narrow = np.int32 if len(self._pieces) * count < 1 << 31 else np.int64
        rare: list[NDArray[Any]] = []
        for first in range(0, count, _BLOCK):
            # Freed when it is done: all of them are half as large as the table.
            block, place = blocks.pop(), places.pop()
            piece, document = np.repeat(place, block.sizes), block.documents.astype(np.int64) + first
            dense = frequent[piece]
            self._table[self._rows[piece[dense]], document[dense]] = 1
            rare.append((piece[~dense] * count + document[~dense]).astype(narrow))
        pairs = np.concatenate(rare or [np.zeros(0, dtype=narrow)])
        del rare
        pairs.sort()
        self._starts = np.searchsorted(pairs, np.arange(len(self._pieces) + 1, dtype=narrow) * count)
        pairs %= max(1, count)
        self._documents = pairs.astype(np.int32, copy=False)

    def __len__(self) -> int:
        return self._count

    def overlaps(self, query: str) -> NDArray[np.int64]:
        """|S4(query) ∩ S4(D)|, `[document]`."""
        wanted = _once(self._alphabet.pieces(_padded(query)))
        places = np.searchsorted(self._pieces, wanted)
        places = places[places < len(self._pieces)]
        places = places[self._pieces[places] == wanted[: len(places)]]
        rows = self._rows[places]
        rare = places[rows < 0]
        rows = rows[rows >= 0]
        counts = np.zeros(self._count, dtype=np.int64)
        # In bytes: such sums take a tenth of the time of sums in wider numbers.
        for start in range(0, len(rows), _ROWS):
            counts += np.add.reduce(self._table[rows[start : start + _ROWS]], axis=0, dtype=np.uint8)
        starts = self._starts[rare]
        sizes = self._starts[rare + 1] - starts
        # The lists of all rare pieces, one after another.
        listed = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        counts += np.bincount(self._documents[listed], minlength=self._count)
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
        return Page(tuple(ordered[start:stop].tolist()), self._count)
