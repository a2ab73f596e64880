"""The directory that customers search: which businesses a query finds, in which order, on which page (section 6.4).

Texts are those of the catalogue it was made from; ratings may change, and with them the base order: rating descending,
then the episode's one permutation (`participants.places`), so that a place tells nothing. Businesses and customers are
named by their index.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.contract.chain import digest
from tradefair.marketplace.analysis import Matches
from tradefair.marketplace.answers.search import LexicalIndex, Page, base_ranks, document_of, normalised
from tradefair.marketplace.engine.delivery import lexicographic
from tradefair.marketplace.engine.participants import places
from tradefair.marketplace.model import BUSINESS, Business, Catalogue, MarketplaceScenario, Streams, folded

_BM25 = "bm25s"
_WORD = re.compile(r"\w+")
_DECIMALS = 6


_KEPT = 2
_indices: dict[bytes, LexicalIndex] = {}


class Filters(NamedTuple):
    """What every result must have: items on the menu, true amenities, at least this rating (0 to 5)."""

    items: Sequence[str] = ()
    amenities: Sequence[str] = ()
    min_rating: Fraction | None = None


def bm25_installed() -> bool:
    """Whether the library behind `search_algorithm = bm25` can be imported."""
    return importlib.util.find_spec(_BM25) is not None


class Directory:
    """Search over one catalogue. `matches` holds B_i, `[customer]`, for the privileged algorithm `optimal`.

    `ratings` are exact, `[business]`. A search changes nothing: the same query gives the same page until `renew`.
    """

    def __init__(
        self,
        scenario: MarketplaceScenario,
        catalogue: Catalogue,
        matches: Sequence[Matches],
        chance: Chance,
        ratings: Sequence[Fraction],
    ) -> None:
        self._scenario = scenario
        self._businesses = catalogue.businesses
        self._matches = matches
        self._chance = chance
        self._places = places(chance, BUSINESS, len(catalogue.businesses))
        self._ratings: Sequence[Fraction] = ()
        self._ranks: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._base: tuple[int, ...] = ()
        self.renew(ratings)

    def __len__(self) -> int:
        return len(self._businesses)

    def renew(self, ratings: Sequence[Fraction]) -> None:
        """Replace the ratings, and with them the base order."""
        self._ratings = tuple(ratings)
        # Kept as an array and as a tuple: searches by words sort with the one, plain lists are cut from the other.
        self._ranks = np.asarray(base_ranks(self._ratings, self._places), dtype=np.int64)
        self._base = tuple(np.argsort(self._ranks).tolist())

    def prepare(self) -> None:
        """Make what searches by words need, which otherwise the first search does."""
        match self._scenario.search_algorithm:
            case "lexical":
                _ = self._index
            case "bm25":
                _ = self._by_words(_BM25)
            case _:
                pass

    def page(self, customer: int, query: str, number: int, filters: Filters) -> Page:
        """Page `number` (from 1) of what the query finds, in the order in which it is shown.

        A page past the end is empty; `total` counts all results. `filters` are used by the algorithm `filtered` alone.
        """
        size = self._scenario.search_limit
        start = (number - 1) * size
        found = self._found(customer, query, filters, start, start + size)
        return found._replace(businesses=self._listed(customer, query, number, found.businesses))

    def _found(self, customer: int, query: str, filters: Filters, start: int, stop: int) -> Page:
        """Results `start` to `stop` by rank, as the scenario's algorithm ranks them."""
        match self._scenario.search_algorithm:
            case "lexical":
                return self._index.page(query, self._ranks, start, stop)
            case "simple":
                return Page(self._base[start:stop], len(self._base))
            case "filtered":
                kept = self._filtered(query, filters)
                return Page(kept[start:stop], len(kept))
            case "optimal":
                # In base order like all else, so that `optimal` tells which businesses match and not which is best.
                ranked = sorted((match.business for match in self._matches[customer].matches), key=self._rank)
                return Page(tuple(ranked[start:stop]), len(ranked))
            case "bm25":
                return Page(self._by_words(query)[start:stop], len(self._base))

    def _rank(self, business: int) -> int:
        return int(self._ranks[business])

    @cached_property
    def _index(self) -> LexicalIndex:
        return _index_of(self._businesses)

    @cached_property
    def _texts(self) -> tuple[tuple[str, str], ...]:
        return tuple((normalised(business.name), normalised(business.description)) for business in self._businesses)

    def _filtered(self, query: str, filters: Filters) -> tuple[int, ...]:
        wanted = normalised(query)
        items = {folded(item) for item in filters.items}
        amenities = {folded(amenity) for amenity in filters.amenities}
        least = filters.min_rating

        def passes(index: int) -> bool:
            business: Business = self._businesses[index]
            return (
                # An empty query is in every text, so that filters can be used without words.
                any(wanted in text for text in self._texts[index])
                and items <= business.prices.keys()
                and amenities <= business.offered
                and (least is None or self._ratings[index] >= least)
            )

        return tuple(filter(passes, self._base))

    def _by_words(self, query: str) -> tuple[int, ...]:
        """All businesses by BM25 over words; scores that are equal in six decimals are in base order."""
        words = _words(query)
        if not words:
            return self._base
        # Rounded, because a rounding error of the floats must not decide between equal texts.
        scores = np.asarray(_bm25_of(tuple(map(document_of, self._businesses))).get_scores(words), dtype=np.float64)
        return tuple(np.lexsort((self._ranks, -np.round(scores, _DECIMALS))).tolist())

    def _listed(self, customer: int, query: str, number: int, found: tuple[int, ...]) -> tuple[int, ...]:
        """The page in the order in which it is shown. Which businesses are on it stays as it was ranked."""
        order = self._scenario.listing_order
        if order == "rank" or not found:
            return found
        if order == "explicit":
            return lexicographic(found, self._scenario.listing_permutation)
        # Keyed by the query: the same search gives the same order however often it is repeated.
        key = digest(normalised(query).encode())
        drawn: Mapping[int, float] = {
            business: self._chance.uniform(Streams.LISTING, customer, key, number, business) for business in found
        }
        return tuple(sorted(found, key=lambda business: (drawn[business], business)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _index_of(businesses: Sequence[Business]) -> LexicalIndex:
    """Episodes over the same texts share one index; it never changes."""
    # By their digest: the texts are a third as large as the index.
    state = hashlib.blake2b(digest_size=32)
    for business in businesses:
        text = document_of(business).encode()
        state.update(b"%d:" % len(text) + text)
    key = state.digest()
    # Taken out and put in again: the first one is the one that was not asked for longest.
    index = _indices[key] = _indices.pop(key, None) or LexicalIndex(map(document_of, businesses))
    for old in list(_indices)[:-_KEPT]:
        _indices.pop(old, None)
    return index


@lru_cache(maxsize=2)
def _bm25_of(documents: tuple[str, ...]) -> Any:
    # Any, and imported here: the library is an optional extra and has no types.
    ranking: Any = importlib.import_module(_BM25).BM25(method="lucene", k1=1.5, b=0.75)
    ranking.index([_words(document) for document in documents], show_progress=False)
    return ranking
