"""

Also here:
- Search modes, the order in which a page is shown, and scenarios that cannot be searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from benchmarks.marketplace import plain_score
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.marketplace.table import B1, C1, LINES, Table, catalogue

from tradefair.catalog import load_scenario
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.marketplace import MARKET, tools
from tradefair.marketplace.answers import directory, search
from tradefair.marketplace.answers.directory import Directory, Filters
from tradefair.marketplace.answers.search import LexicalIndex, base_ranks, document_of, normalised, pieces
from tradefair.marketplace.model import Business, Catalogue, MenuItem

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


BY_RATING = ["b0003", "b0001", "b0002"]


def found(table: Table, query: str = "", page: int = 1) -> list[str]:
    return [row["business"] for row in table.ok(C1, "search_businesses", query=query, page=page)["results"]]


def test_lexical_search_ranks_by_wording_and_then_by_rating() -> None:
    table = Table(search_limit=2)
    assert found(table) == BY_RATING[:2]  # no word: base order
    assert found(table, "Soup of casa") == ["b0001", "b0003"]
    assert found(table, "dino dino") == ["b0002", "b0003"]
    documents = [document_of(business) for business in catalogue().businesses]
    assert plain_score("dino dino", documents[1]) > plain_score("dino dino", documents[2])


def test_the_index_is_made_as_the_episode_begins_and_not_by_the_first_search(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario("marketplace", "restaurants_10", {"data.customers": 1})
    core = Core.create(MARKET, scenario, 77)
    core.start()

    def refused(documents: object) -> None:
        raise AssertionError("a search makes an index")

    monkeypatch.setattr(directory, "LexicalIndex", refused)
    answer = core.call("customer_0001", "search_businesses", {"query": "tacos"}).answer
    assert answer is not None
    assert answer.status == "ok"


def test_episodes_over_the_same_texts_share_an_index_and_the_last_two_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = directory.LexicalIndex

    def counted(documents: Iterable[str]) -> LexicalIndex:
        index = make(documents)
        made.append(len(index))
        return index

    monkeypatch.setattr(directory, "LexicalIndex", counted)
    for customers in (1, 2, 1, 3, 1, 2):
        scenario = load_scenario("marketplace", "restaurants_10", {"data.customers": customers})
        Core.create(MARKET, scenario, 91).start()
    assert made == [3, 6, 9, 6]


def test_simple_search_takes_no_notice_of_the_query() -> None:
    table = Table(search_algorithm="simple")
    assert found(table) == found(table, "dino") == BY_RATING


def test_optimal_search_lists_the_businesses_that_have_the_items_and_is_marked_as_privileged() -> None:
    one = catalogue()
    partial = one.businesses[2].model_copy(update={"menu": one.businesses[2].menu[:1]})
    table = Table(data=Catalogue(customers=one.customers, businesses=(*one.businesses[:2], partial)),
                  search_algorithm="optimal")  # fmt: skip
    assert found(table, "anything") == ["b0001", "b0002"]
    assert tools.MARKET.remarks(table.scenario).keys() == {"privileged_search"}
    assert tools.MARKET.remarks(Table().scenario) == {}


@pytest.mark.parametrize("query", ["casa", "Soup, please", "the cooks", "flan taco", "", "nothing of it"])
def test_bm25_ranks_by_the_library_s_scores_rare_words_first(query: str) -> None:
    bm25s: Any = pytest.importorskip("bm25s", reason="the extra `search` is not installed")
    table = Table(search_algorithm="bm25")
    words = [text.lower().replace(",", "").split() for text in map(document_of, catalogue().businesses)]
    library = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    library.index(words, show_progress=False)
    asked = query.lower().replace(",", "").split()
    scores = [round(float(score), 6) for score in library.get_scores(asked)] if asked else [0.0] * 3
    order = sorted(range(3), key=lambda place: (-scores[place], BY_RATING.index(f"b000{place + 1}")))
    assert found(table, query) == [f"b000{place + 1}" for place in order]


def test_bm25_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "_BM25", "no_such_library")
    with pytest.raises(ScenarioError, match=r"tradefair\[search\]"):
        Table(search_algorithm="bm25")


def test_the_same_search_shows_a_seeded_page_in_the_same_order_and_another_one_in_another() -> None:
    orders = set[tuple[str, ...]]()
    for seed in range(12):
        table = Table(seed, search_algorithm="simple", listing_order="page_seeded")
        assert found(table, "Tacos!") == found(table, "  tacos ")
        assert sorted(found(table, "x")) == sorted(BY_RATING)
        orders.add(tuple(found(table, "tacos")))
    assert len(orders) > 2


def test_an_explicit_order_permutes_the_page() -> None:
    shown = [
        tuple(found(Table(search_algorithm="simple", search_limit=3, listing_order="explicit", listing_permutation=j)))
        for j in range(6)
    ]
    assert shown == list(permutations(BY_RATING))


def test_new_ratings_change_the_base_order_from_the_next_round() -> None:
    table = Table(search_algorithm="simple", reputation=True, prior_weight=1)
    table.ask()
    name = table.offer(lines=LINES[:1], claims=["Music"])
    table.ok(C1, "pay_proposal", proposal=name)
    assert found(table) == BY_RATING
    table.close()
    assert table.market.ratings[0] == Fraction(1)
    # Now as low as the other: the two stand by chance, and with other luck the other way round.
    assert sorted(found(table)) == sorted(BY_RATING)
    assert found(table) != BY_RATING
    assert table.ok(B1, "view_my_business")["rating"] == 1.0


def test_filters_hold_by_the_truth() -> None:
    market = Table(search_algorithm="filtered").market
    every: Directory = market.directory

    def found(**filters: Any) -> tuple[int, ...]:
        return every.page(0, "", 1, Filters(**filters)).businesses

    assert found() == (2, 0, 1)
    assert found(min_rating=Fraction(2)) == (2, 0)
    assert found(items=["Flan", "SOUP "]) == (0,)
    assert found(amenities=["music"]) == (2,)
    assert found(amenities=["sauna"]) == ()


def _unplayable() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"seats": {"customer": "clown"}}, "clown"
    yield {"manipulation": {"condition": "control", "business_index": 3}}, "business_index"


@pytest.mark.parametrize(("content", "named"), list(_unplayable()))
def test_a_scenario_that_cannot_be_played_is_refused_by_name(content: dict[str, Any], named: str) -> None:
    with pytest.raises(ScenarioError, match=named):
        Table(**content)


def test_a_page_that_could_exceed_its_bound_is_refused_before_anybody_plays() -> None:
    one = catalogue()
    long = [
        each.model_copy(update={"id": f"{each.id}_{number}", "description": "x" * 4_000})
        for number in range(30)
        for each in one.businesses
    ]
    data = Catalogue(customers=one.customers, businesses=tuple(long))
    Table(data=data, search_limit=60)
    with pytest.raises(ScenarioError, match="search_limit = 90"):
        Table(data=data, search_limit=90)
