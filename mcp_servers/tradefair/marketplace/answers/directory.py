"""The directory that customers search: which businesses a query finds, in which order, on which page (section 6.4).

Texts are those of the catalogue it was made from; ratings may change, and with them the base order.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract.chain import digest
from tradefair.contract.chance import Chance
from tradefair.marketplace.analysis import Matches
from tradefair.marketplace.answers.search import LexicalIndex, Page, base_ranks, document_of, normalised
from tradefair.marketplace.engine.delivery import lexicographic
from tradefair.marketplace.model import Business, Catalogue, MarketplaceScenario, Streams, folded

_BM25 = "bm25s"
_WORD = re.compile(r"\w+")
_DECIMALS = 6


class Filters(NamedTuple):
    """What every result must have: items on the menu, true amenities, at least this rating."""

    items: Sequence[str] = ()
    amenities: Sequence[str] = ()
    min_rating: Fraction | None = None


def bm25_installed() -> bool:
    """Whether the library behind `search_algorithm = bm25` can be imported."""
    return importlib.util.find_spec(_BM25) is not None


class Directory:
    """Search over one catalogue. `matches` are B_i by customer, for the privileged algorithm `optimal`."""

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
        self._ratings: Sequence[Fraction] = ()
        self._ranks: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._base: tuple[int, ...] = ()
        self.renew(ratings)

    def __len__(self) -> int:
        return len(self._businesses)

    def renew(self, ratings: Sequence[Fraction]) -> None:
        """Take new ratings into the base order."""
        self._ratings = tuple(ratings)
        self._ranks = np.asarray(base_ranks(self._ratings), dtype=np.int64)
        self._base = tuple(np.argsort(self._ranks).tolist())

    def page(self, customer: int, query: str, number: int, filters: Filters) -> Page:
        """Page `number` (from 1) of what the query finds, in the order in which it is shown."""
        size = self._scenario.search_limit
        start = (number - 1) * size
        found = self._found(customer, query, filters, start, start + size)
        return found._replace(places=self._listed(customer, query, number, found.places))

    def _found(self, customer: int, query: str, filters: Filters, start: int, stop: int) -> Page:
        match self._scenario.search_algorithm:
            case "lexical":
                return self._index.page(query, self._ranks, start, stop)
            case "simple":
                return Page(self._base[start:stop], len(self._base))
            case "filtered":
                kept = self._filtered(query, filters)
                return Page(kept[start:stop], len(kept))
            case "optimal":
                ranked = sorted((each.business for each in self._matches[customer].matches), key=self._rank)
                return Page(tuple(ranked[start:stop]), len(ranked))
            case "bm25":
                return Page(self._by_words(query)[start:stop], len(self._base))

    def _rank(self, place: int) -> int:
        return int(self._ranks[place])

    @cached_property
    def _index(self) -> LexicalIndex:
        return _index_of(tuple(map(document_of, self._businesses)))

    @cached_property
    def _texts(self) -> tuple[tuple[str, str], ...]:
        return tuple((normalised(each.name), normalised(each.description)) for each in self._businesses)

    def _filtered(self, query: str, filters: Filters) -> tuple[int, ...]:
        wanted = normalised(query)
        items = {folded(item) for item in filters.items}
        amenities = {folded(amenity) for amenity in filters.amenities}
        least = filters.min_rating

        def holds(place: int) -> bool:
            business: Business = self._businesses[place]
            return (
                any(wanted in text for text in self._texts[place])
                and items <= business.prices.keys()
                and amenities <= business.offered
                and (least is None or self._ratings[place] >= least)
            )

        return tuple(filter(holds, self._base))

    def _by_words(self, query: str) -> tuple[int, ...]:
        """BM25 over words; scores that are equal in six decimals stand in base order."""
        words = _words(query)
        if not words:
            return self._base
        scores = np.asarray(_bm25_of(tuple(map(document_of, self._businesses))).get_scores(words), dtype=np.float64)
        return tuple(np.lexsort((self._ranks, -np.round(scores, _DECIMALS))).tolist())

    def _listed(self, customer: int, query: str, number: int, places: tuple[int, ...]) -> tuple[int, ...]:
        """The page in the order in which it is shown."""
        order = self._scenario.listing_order
        if order == "rank" or not places:
            return places
        if order == "explicit":
            return lexicographic(places, self._scenario.listing_permutation)
        key = digest(normalised(query).encode())
        drawn: Mapping[int, float] = {
            place: self._chance.uniform(Streams.LISTING, customer, key, number, place) for place in places
        }
        return tuple(sorted(places, key=lambda place: (drawn[place], place)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@lru_cache(maxsize=2)
def _index_of(documents: tuple[str, ...]) -> LexicalIndex:
    """Episodes over the same texts share one index; nothing changes it."""
    return LexicalIndex(documents)


@lru_cache(maxsize=2)
def _bm25_of(documents: tuple[str, ...]) -> Any:
    ranking: Any = importlib.import_module(_BM25).BM25(method="lucene", k1=1.5, b=0.75)
    ranking.index([_words(document) for document in documents], show_progress=False)
    return ranking
