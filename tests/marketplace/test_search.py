from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from benchmarks.marketplace import plain_score
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.marketplace.answers import search
from tradefair.marketplace.answers.search import LexicalIndex, base_ranks, document_of, normalised, pieces
from tradefair.marketplace.model import Business, MenuItem

WORDS = ("taco", "tacos", "Tex-Mex", "salsa", "verde", "a", "", "Ñandú", "烤肉", "🌮", "o'neil's", "İstanbul")
TEXT = st.one_of(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), st.text(max_size=30), st.text(max_size=3))


def plain_order(query: str, documents: Sequence[str], ratings: Sequence[int]) -> list[int]:
    """The definition, word for word: score descending, then rating descending, then registration."""
    if not normalised(query):
        return sorted(range(len(documents)), key=lambda place: (-ratings[place], place))
    scores = [plain_score(query, document) for document in documents]
    return sorted(range(len(documents)), key=lambda place: (-scores[place], -ratings[place], place))


def test_the_examples_of_the_specification() -> None:
    assert pieces("taco") == {" tac", "taco", "aco "}
    assert plain_score("taco", "Tacos, fresh") == Fraction(2, 3)
    assert normalised("  Tex-Mex\t BAR ") == "texmex bar"
    assert pieces("") == {"    "}
    assert pieces("a") == {" a  "}


@settings(max_examples=170, deadline=None)
@given(
    st.lists(st.tuples(TEXT, st.integers(0, 3)), min_size=1, max_size=30),
    st.lists(TEXT, min_size=3, max_size=3),
    st.integers(1, 33),
)
def test_the_index_has_the_scores_and_the_order_of_the_plain_definition(
    profiles: list[tuple[str, int]], queries: list[str], size: int
) -> None:
    documents, ratings = [text for text, _ in profiles], [rating for _, rating in profiles]
    index, ranks = LexicalIndex(documents), base_ranks(ratings)
    for query in queries:
        overlaps = index.overlaps(query)
        wanted = len(pieces(query))
        assert [Fraction(int(count), wanted) for count in overlaps] == [plain_score(query, each) for each in documents]
        order = plain_order(query, documents, ratings)
        walked: list[int] = []
        for start in range(0, len(documents) + size, size):
            page = index.page(query, ranks, start, start + size)
            assert page.total == len(documents)
            walked += page.businesses
        assert walked == order


@pytest.mark.parametrize("block", [1, 7, 256])
def test_frequent_and_rare_pieces_count_alike_however_many_documents_are_sorted_at_once(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(search, "_BLOCK", block)
    documents = [f"house of tacos number {place:04d}" for place in range(200)]
    index, ranks = LexicalIndex(documents), base_ranks([0] * 200)
    for query in ("tacos 0123", "house", "zzzz", "0007 number"):
        assert index.overlaps(query).tolist() == [len(pieces(query) & pieces(document)) for document in documents]
        assert list(index.page(query, ranks, 0, 200).businesses) == plain_order(query, documents, [0] * 200)


def test_a_directory_may_have_more_letters_than_fit_into_a_number_of_64_bits() -> None:
    letters = "".join(filter(str.isalnum, map(chr, range(0x3400, 0x8000))))
    assert len(letters) > 2**14
    documents = [letters, letters[:3], letters[-7:], "taco"]
    index = LexicalIndex(documents)
    for query in (letters[-9:], letters[:4], "烤肉", "taco"):
        assert index.overlaps(query).tolist() == [len(pieces(query) & pieces(document)) for document in documents]


def test_new_ratings_change_ties_only() -> None:
    index = LexicalIndex(["taco", "taco", "flan"])
    assert index.page("taco", base_ranks([1, 2, 3]), 0, 3).businesses == (1, 0, 2)
    assert index.page("taco", base_ranks([Fraction(5, 2), 2, 3]), 0, 3).businesses == (0, 1, 2)
    assert index.page("!?", base_ranks([1, 2, 3]), 0, 2).businesses == (2, 1)


@pytest.mark.parametrize(("start", "stop"), [(3, 6), (1_000, 1_010)])
def test_a_page_past_the_end_is_empty(start: int, stop: int) -> None:
    page = LexicalIndex(["taco", "taco", "flan"]).page("taco", (0, 1, 2), start, stop)
    assert page == ((), 3)


def test_a_profile_is_searched_without_its_prices_and_amenities() -> None:
    business = Business(
        id="b",
        name="Casa",
        description="A kitchen",
        rating_bp=0,
        menu=(MenuItem(item="Taco", price_cents=350), MenuItem(item="Flan", price_cents=299)),
        amenities=(),
        floor_bp=10_000,
    )
    assert document_of(business) == "Casa, A kitchen, Taco, Flan"
