"""Reviews, ratings and news as the manager reads them; texts are put into words when they are read.

Records hold the indices of a text, not the text: a thousand days of reviews would fill memory. The words are a pure
function of the indices and of uniforms with their own keys, so two readings are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from heapq import merge
from itertools import islice
from typing import NamedTuple

from tradefair.contract import IllegalAction
from tradefair.contract.tool import built
from tradefair.retail.answers.results import (
    NewsDetail,
    NewsHistory,
    RatingColumns,
    Ratings,
    ReviewColumns,
    Reviews,
    TodayNews,
)
from tradefair.retail.answers.rows import EXPLICIT_BYTES, MAX_ROWS, Days, rate, require_rows
from tradefair.retail.data import texts
from tradefair.retail.data.texts import ProductWords, StoreWords
from tradefair.retail.engine.day_records import ReviewRow
from tradefair.retail.engine.world import NewsItem
from tradefair.retail.model import Streams, product_id
from tradefair.retail.state import State
from tradefair.trading.answers import json_bytes


class ReviewQuery(NamedTuple):
    """Which reviews to show, next to products and dates: of `stars` only (None: all), at most `limit`."""

    stars: int | None
    limit: int


def ratings(state: State, products: Sequence[str], days: Days) -> Ratings:
    """Mean stars and numbers of reviews of the products over a range of days."""
    found = [state.records.rating(place, days.first, days.last) for place in state.places_of(products)]
    return built(
        Ratings,
        start_date=days.first_date,
        end_date=days.last_date,
        products=built(
            RatingColumns,
            product_id=list(products),
            mean_stars=[rate(stars, count) for stars, count in found],
            reviews=[count for _, count in found],
        ),
    )


class _Placed(NamedTuple):
    """A review with the index of its product."""

    place: int
    row: ReviewRow


def reviews(state: State, products: Sequence[str], days: Days, query: ReviewQuery) -> Reviews:
    """The newest reviews of up to ten products; within a day in store order, the last written first."""
    log = state.records.reviews
    # In store order, whatever the order of the question: the answer's order must not depend on it.
    places = sorted(state.places_of(products))
    wanted = query.stars

    def of_product(place: int) -> Iterable[_Placed]:
        return (
            _Placed(place, row)
            for row in log.newest_first(place, days.first, days.last)
            if wanted is None or row.stars == wanted
        )

    # Each product's reviews are newest first already: merging reads only as many as are shown.
    newest = merge(*map(of_product, places), key=lambda item: (-item.row.day, item.place))
    shown = list(islice(newest, query.limit))
    # All reviews can be counted without unpacking one.
    if wanted is None:
        total = sum(log.count(place, days.first, days.last) for place in places)
    else:
        total = sum(1 for place in places for _ in of_product(place))
    return built(
        Reviews,
        start_date=days.first_date,
        end_date=days.last_date,
        total_matching=total,
        reviews=built(
            ReviewColumns,
            product_id=[product_id(item.place) for item in shown],
            date=[state.scenario.date_at(item.row.day).isoformat() for item in shown],
            stars=[item.row.stars for item in shown],
            text=[_review_text(state, item) for item in shown],
        ),
    )


def _review_text(state: State, review: _Placed) -> str:
    """The words of a review, from its own uniforms; days of the history have keys and a chance of their own."""
    row, past = review.row, state.scenario.history_days
    history = row.day < past
    # As the generator and the rules keyed the sale: from 1 in the past, and from 1 again in the episode.
    day_key = row.day + 1 if history else row.day - past + 1
    luck = state.text_luck(history=history)
    return texts.review_text(
        state.store.categories[state.store.products[review.place].category].name,
        row.stars,
        low_quality=row.low_quality,
        dear=row.dear,
        draw=partial(luck.uniform, Streams.REVIEW_TEXT, day_key, review.place, row.supplier, row.lot, row.number),
    )


# --- news -----------------------------------------------------------------------------------------------------------


def _words(state: State) -> StoreWords:
    """The words of the open store, from a cache."""
    names = tuple(category.name for category in state.store.categories)
    rows = state.store.products
    return _store_words(
        names, tuple(ProductWords(row.id, names[row.category], row.brand, row.description) for row in rows)
    )


@lru_cache(maxsize=8)
def _store_words(categories: tuple[str, ...], products: tuple[ProductWords, ...]) -> StoreWords:
    """The words for a store's categories and products, made once per store."""
    # Finding different names for all products costs more than the titles of a day.
    return StoreWords(categories, products)


def _draw(state: State, item: NewsItem) -> texts.Draw:
    """The uniforms that word an item."""
    return partial(state.text_luck(history=item.history).uniform, Streams.NEWS_TEXT, item.day_key, item.slot)


def _titles(state: State, items: Sequence[NewsItem]) -> list[str]:
    """The titles of items, put into words at each reading: only items are kept."""
    words = _words(state)
    return [texts.news_title(item, words, _draw(state, item)) for item in items]


def today_news(state: State) -> TodayNews:
    """Today's headlines."""
    items = state.world.listed
    return built(
        TodayNews,
        date=state.today.isoformat(),
        news_id=[item.id for item in items],
        title=_titles(state, items),
        days_listed=[state.index - item.first + 1 for item in items],
    )


def news_detail(state: State, news: str) -> NewsDetail:
    """One item that is or was listed; how long it will stay listed is not told."""
    item = state.news_of(news)
    return built(
        NewsDetail,
        news_id=item.id,
        title=_titles(state, [item])[0],
        content=texts.news_content(item, _words(state), _draw(state, item)),
        first_date=state.scenario.date_at(item.first).isoformat(),
        # An item may be listed after today: that would tell how long it stays.
        days_listed=min(item.last, state.index) - item.first + 1,
    )


def news_history(state: State, days: Days) -> NewsHistory:
    """Headlines of a range that may end today, oldest first."""
    items = state.news_between(days.first, days.last)
    # A hint that names a range that will be answered, not only that this one is too long.
    share = max(1, days.length * MAX_ROWS // max(1, len(items)))
    require_rows(len(items), f"the news of {days.length} days", f"about {share} days in one call")
    titles = _titles(state, items)
    date_at = state.scenario.date_at
    found = built(
        NewsHistory,
        start_date=days.first_date,
        end_date=days.last_date,
        news_id=[item.id for item in items],
        title=titles,
        first_date=[date_at(item.first).isoformat() for item in items],
        # As above: the last listed day is known up to today only.
        last_date=[date_at(min(item.last, state.index)).isoformat() for item in items],
    )
    size = json_bytes(found)
    if size > EXPLICIT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the news of {days.length} days take {size} bytes; at most {EXPLICIT_BYTES} are answered",
            # One day less than the bytes would allow: items of single days differ in length.
            hint=f"about {max(1, days.length * EXPLICIT_BYTES // size - 1)} days in one call",
        )
    return found
