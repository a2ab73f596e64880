from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import product

import pytest

from tradefair.contract import Chance
from tradefair.retail.data.generator import build_store, data_table, past_of
from tradefair.retail.data.texts import (
    ContentCue,
    CueReader,
    Dimension,
    Draw,
    ProductWords,
    StoreWords,
    TitleCue,
    news_content,
    news_title,
    review_dimension,
    review_text,
    worded_review,
)
from tradefair.retail.engine.world import NewsItem, NewsMode, NewsSide
from tradefair.retail.model import CATEGORY_NAMES, RetailScenario, Store, Streams

DIMENSIONS: tuple[Dimension, ...] = ("quality", "price", "other")
SIDES: tuple[NewsSide, ...] = ("need", "supply", "both")
STRENGTHS = (0.15, 0.28, 0.40)
FORBIDDEN = re.compile(r"[\d%{}\[\]]|per ?cent|supplier", re.IGNORECASE)


@pytest.fixture(scope="module")
def store() -> Store:
    return build_store(RetailScenario(id="retail/paper"))


@pytest.fixture(scope="module")
def words(store: Store) -> StoreWords:
    return StoreWords.of(store)


def catalogue_of(store: Store) -> list[ProductWords]:
    names = [category.name for category in store.categories]
    return [ProductWords(row.id, names[row.category], row.brand, row.description) for row in store.products]


@pytest.fixture(scope="module")
def reader(store: Store) -> CueReader:
    return CueReader(catalogue_of(store))


def draws(*key: int | str) -> Draw:
    return partial(Chance(7).uniform, Streams.NEWS_TEXT, *key)


def swept(step: int, steps: int = 40) -> Draw:
    """All slots take the same uniform, which sweeps (0, 1)."""
    return lambda _slot: (step + 0.5) / steps


def item(mode: NewsMode, **hidden: int | str) -> NewsItem:
    side = SIDES[[str(name) for name in SIDES].index(str(hidden.get("side", "need")))]
    numbers = {name: int(hidden[name]) for name in ("category", "product", "sign", "degree") if name in hidden}
    last = int(hidden.get("extra_days", 3))
    return NewsItem(first=0, last=last, slot=0, day_key=1, history=False, mode=mode, side=side, **numbers)


def business_items(store: Store) -> Iterator[tuple[NewsItem, TitleCue]]:
    """One item per target, side and sign, with the cue of its title."""
    modes: list[tuple[NewsMode, int, str | None]] = [("macro", -1, None)]
    modes.extend(("category", place, row.name) for place, row in enumerate(store.categories))
    modes.extend(("product", place, row.id) for place, row in enumerate(store.products))
    for (mode, place, target), side, sign in product(modes, SIDES, (1, -1)):
        made = item(mode, side=side, sign=sign, category=place, product=place, degree=place % 3, extra_days=3)
        assert mode != "neutral"
        yield made, TitleCue(mode, target, side, sign)


def neutral_items(store: Store, words: StoreWords) -> Iterator[tuple[str, str]]:
    for number in range(3000):
        made = item("neutral", extra_days=0)
        yield news_title(made, words, draws(number)), news_content(made, words, draws(number))


@pytest.mark.parametrize("category", [*CATEGORY_NAMES, "Garden_Chairs"])
def test_each_category_star_and_dimension_has_at_least_sixty_review_texts_without_figures(category: str) -> None:
    for stars, dimension in product(range(1, 6), DIMENSIONS):
        texts = {worded_review(category, stars, dimension, draws(number)) for number in range(400)}
        assert len(texts) >= 60, (category, stars, dimension)
        assert not any(FORBIDDEN.search(text) for text in texts)
        assert all(text.endswith(".") and text[0].isupper() for text in texts)


def test_the_review_tables_hold_what_the_specification_asks_for() -> None:
    data = data_table("reviews")
    assert set(data["quality"]) == {*CATEGORY_NAMES, "any"}
    assert set(data["food"]["categories"]) <= set(CATEGORY_NAMES)
    assert all(len(set(texts)) >= 4 for texts in data["opening"].values())
    for row in data["quality"].values():
        assert len({*row["praise"]}) >= 5 <= len({*row["defect"]})
        assert not {*row["praise"]} & {*row["defect"]}
    assert all(len(set(texts)) >= 6 for texts in data["price"].values())
    assert all(len(set(texts)) >= 8 for texts in data["other"].values())


def test_low_reviews_find_defects_and_high_reviews_praise_in_the_goods_of_their_category() -> None:
    words = data_table("reviews")["quality"]["Paper_Towels"]
    for step in range(40):
        low, mixed, high = (worded_review("Paper_Towels", stars, "quality", swept(step)).lower() for stars in (1, 3, 5))
        assert any(text in low for text in words["defect"])
        assert not any(text in low for text in words["praise"])
        assert any(text in high for text in words["praise"])
        assert not any(text in high for text in words["defect"])
        assert any(text in mixed for text in words["praise"])
        assert any(text in mixed for text in words["defect"])


@pytest.mark.parametrize(
    ("stars", "low_quality", "dear", "shares"),
    [
        (2, True, True, (0.8, 0.1, 0.1)),
        (1, True, False, (0.8, 0.1, 0.1)),
        (2, False, True, (0.1, 0.8, 0.1)),
        (2, False, False, (1 / 3, 1 / 3, 1 / 3)),
        (3, True, True, (1 / 3, 1 / 3, 1 / 3)),
        (5, False, True, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_bad_goods_draw_complaints_about_quality_and_dear_goods_about_the_price(
    stars: int, low_quality: bool, dear: bool, shares: tuple[float, float, float]
) -> None:
    found = [review_dimension(stars, low_quality=low_quality, dear=dear, u=(i + 0.5) / 3000) for i in range(3000)]
    for dimension, share in zip(DIMENSIONS, shares, strict=True):
        assert found.count(dimension) == pytest.approx(3000 * share, abs=1)


def test_a_review_is_about_the_dimension_that_its_uniform_chooses() -> None:
    def draw(slot: str) -> float:
        return 0.5

    text = review_text("Beer", 1, low_quality=True, dear=False, draw=draw)
    assert text == worded_review("Beer", 1, "quality", draw)


def test_the_same_uniforms_word_the_same_text(words: StoreWords) -> None:
    made = item("category", category=5, side="supply", sign=-1, degree=2, extra_days=4)
    assert news_content(made, words, draws(3)) == news_content(made, words, draws(3))
    assert len({news_content(made, words, draws(number)) for number in range(200)}) > 100


def test_the_reader_recovers_side_sign_and_scope_from_every_title(
    store: Store, words: StoreWords, reader: CueReader
) -> None:
    for made, cue in business_items(store):
        titles = {news_title(made, words, swept(step, 8)) for step in range(8)}
        assert len(titles) >= 6
        assert {reader.title(title) for title in titles} == {cue}
        assert not any(FORBIDDEN.search(title) for title in titles)


def test_the_reader_recovers_degree_and_span_from_every_content(
    store: Store, words: StoreWords, reader: CueReader
) -> None:
    targets: tuple[tuple[NewsMode, int], ...] = (("macro", -1), ("category", 4), ("category", 0), ("product", 11))
    for (mode, place), side, sign, degree, extra_days in product(targets, SIDES, (1, -1), range(3), (3, 4, 5)):
        made = item(mode, side=side, sign=sign, category=place, product=place, degree=degree, extra_days=extra_days)
        contents = {news_content(made, words, draws(number)) for number in range(60)}
        assert {reader.content(content) for content in contents} == {ContentCue(STRENGTHS[degree], extra_days)}
        assert not any(FORBIDDEN.search(content) for content in contents)


def test_neutral_items_tell_nothing_though_three_in_ten_name_a_category(
    store: Store, words: StoreWords, reader: CueReader
) -> None:
    decoys = 0
    for title, content in neutral_items(store, words):
        assert reader.title(title) is None
        assert reader.content(content) is None
        assert not FORBIDDEN.search(title + content)
        decoys += any(re.search(rf"\b{re.escape(name)}\b", title) for name in words.categories)
    assert decoys / 3000 == pytest.approx(0.3, abs=0.03)


def test_title_and_content_of_a_neutral_item_belong_together(words: StoreWords) -> None:
    rows = [row for kind in data_table("news")["neutral"]["kind"] for row in kind["items"]]
    made = item("neutral", extra_days=0)
    for number in range(50):
        title, content = news_title(made, words, draws(number)), news_content(made, words, draws(number))
        fits = [body for head, body in rows if re.fullmatch(re.sub(r"\\\{\w+\\\}", ".+", re.escape(head)), title)]
        assert any(re.match(re.sub(r"\\\{\w+\\\}", ".+", re.escape(body)), content) for body in fits)


def test_the_content_of_news_about_everything_names_no_product_or_category(words: StoreWords) -> None:
    made = item("macro", side="need", sign=1, degree=0)
    for number in range(60):
        content = news_content(made, words, draws(number)).lower()
        assert not any(name.lower() in content for name in words.products)
        assert not any(re.search(rf"\b{re.escape(name)}\b", content) for name in words.categories)


def test_the_news_tables_hold_six_movements_and_eight_causes_per_cell_all_distinct() -> None:
    data = data_table("news")
    movements = [text for texts in data["movement"].values() for text in texts]
    assert all(len(texts) >= 6 for texts in data["movement"].values())
    assert len(movements) == len(set(movements))
    causes = [text for cell in data["cause"].values() for texts in cell.values() for text in texts]
    assert len(data["cause"]) == 6
    assert all(len(cell[mode]) >= 8 for cell in data["cause"].values() for mode in ("macro", "category", "product"))
    assert len(causes) == len(set(causes))


def test_every_item_of_a_played_past_is_read_as_it_was_meant() -> None:
    past = past_of(RetailScenario(id="retail/paper"))
    words, reader = StoreWords.of(past.store), CueReader(catalogue_of(past.store))
    business = 0
    for made in past.news:
        draw = draws(made.day_key, made.slot)
        cue, detail = reader.title(news_title(made, words, draw)), reader.content(news_content(made, words, draw))
        if not made.business:
            assert cue is None
            assert detail is None
            continue
        business += 1
        assert cue is not None
        assert (cue.mode, cue.side, cue.sign) == (made.mode, made.side, made.sign)
        assert detail == ContentCue(STRENGTHS[made.degree], made.extra_days)
    assert business > 50


def test_products_are_told_apart_without_figures_and_whatever_they_are_called() -> None:
    rows = [
        ProductWords("P001", "Soft_Drinks", "Clearly", "sharply fizzy cola"),
        ProductWords("P002", "Soft_Drinks", "Fizz", "cola 12oz"),
        ProductWords("P003", "Soft_Drinks", "Fizz", "cola 24 100%"),
        ProductWords("P004", "Soft_Drinks", "7-Up", "2l"),
        ProductWords("P005", "Soft_Drinks", "household", "goods"),
        ProductWords("P006", "Soft_Drinks", "{subject}", "[a/b]"),
    ]
    words, reader = StoreWords(["Soft_Drinks"], rows), CueReader(rows)
    assert len(set(words.products)) == len(rows)
    assert not any(re.search(r"[\d%]", name) for name in words.products)
    for place, row in enumerate(rows):
        made = item("product", product=place, side="need", sign=-1, degree=0, extra_days=5)
        for number in range(30):
            assert reader.title(news_title(made, words, draws(number))) == TitleCue("product", row.id, "need", -1)
            assert reader.content(news_content(made, words, draws(number))) == ContentCue(0.15, 5)


@pytest.mark.parametrize("text", ["", "Cereals", "Unknown brand flies off the shelves", "fly off the shelves", "."])
def test_foreign_titles_tell_nothing(text: str, reader: CueReader) -> None:
    assert reader.title(text) is None
    assert reader.content(text) is None
