"""Over many episodes a place tells nothing about who fits: pages, ties, mail, the order in which seats are asked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.marketplace.playing import play, scenario_of
from tests.marketplace.table import B1, B2, B3, C1, C2, LINES, Table

from tradefair.contract import Chance
from tradefair.marketplace.analysis import QUERY_RULES, Match, match_sets
from tradefair.marketplace.answers.directory import Directory, Filters
from tradefair.marketplace.answers.search import LexicalIndex, document_of
from tradefair.marketplace.data.data_source import catalogue_of
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import BASIS_POINTS, Catalogue

Load = Callable[[str, int], Catalogue]
Group: TypeAlias = tuple[bool, ...]
"""Results that no score tells apart, in the order shown: whether each fits."""

stats: Any = import_module("scipy.stats")  # it brings no types
SEEDS = range(1, 51)
ALPHA_BP = 2 * BASIS_POINTS
FLAT = 0.01
# With few groups of a size a chi-square is no measure.
LEAST = 40
GENERATED: Mapping[str, Mapping[str, Any]] = {
    "restaurants": {"customers": 3},
    "contractors": {"domain": "contractors", "customers": 10},
    "near_fits": {"source": "design", "design": "near_fits", "customers": 4},
}
SMALL = {"restaurants", "mexican_3_9"}
each_set = pytest.mark.parametrize(
    "name",
    [
        "restaurants",
        "mexican_3_9",
        *(
            pytest.param(name, marks=pytest.mark.many)
            for name in ("contractors", "near_fits", "mexican_10_30", "contractors_10_30")
        ),
    ],
)


@pytest.fixture
def load(published: Callable[[str], Path]) -> Load:
    """The data of a set under a seed; a published one is the same under all."""

    def loaded(name: str, seed: int) -> Catalogue:
        if name in GENERATED:
            return generated(name, seed)
        return folder(str(published(name)))

    return loaded


@lru_cache(maxsize=len(SEEDS))
def generated(name: str, seed: int) -> Catalogue:
    return catalogue_of(scenario_of(GENERATED[name]), seed)


@lru_cache(maxsize=1)
def folder(path: str) -> Catalogue:
    return load_folder(path)


def flatness(groups: Sequence[Group]) -> float | None:
    """p of P(fits | place) being the same at all places: Cochran's Q, summed over sizes of groups; None: too few."""
    mixed = [group for group in groups if 0 < sum(group) < len(group)]
    q, freedom = 0.0, 0
    for size in {len(group) for group in mixed}:
        fits = np.array([group for group in mixed if len(group) == size], dtype=float)
        if len(fits) >= LEAST:
            share = fits.mean(axis=1)
            excess = fits.sum(axis=0) - share.sum()
            q += (size - 1) / size * float((excess**2).sum()) / float((share * (1 - share)).sum())
            freedom += size - 1
    return float(stats.chi2.sf(q, freedom)) if freedom else None


def episodes(load: Load, name: str, **given: Any) -> Iterator[tuple[Catalogue, Directory]]:
    """The data and a directory with one page for all, by seed."""
    for seed in SEEDS:
        catalogue = load(name, seed)
        scenario = scenario_of(catalogue, search_limit=len(catalogue.businesses), **given)
        ratings = [Fraction(business.rating_bp, BASIS_POINTS) for business in catalogue.businesses]
        yield catalogue, Directory(scenario, catalogue, match_sets(catalogue, ALPHA_BP), Chance(seed), ratings)


def fitting(catalogue: Catalogue) -> list[frozenset[int]]:
    return [frozenset(match.business for match in found.fits) for found in match_sets(catalogue, ALPHA_BP)]


def documents(catalogue: Catalogue) -> tuple[str, ...]:
    return tuple(map(document_of, catalogue.businesses))


@lru_cache(maxsize=1)
def lexical(texts: tuple[str, ...]) -> Callable[[str], Sequence[float]]:
    index = LexicalIndex(texts)
    return lambda query: [float(score) for score in index.overlaps(query)]


@lru_cache(maxsize=1)
def bm25(texts: tuple[str, ...]) -> Callable[[str], Sequence[float]]:
    bm25s: Any = pytest.importorskip("bm25s", reason="the extra `search` is not installed")
    library = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    library.index([re.findall(r"\w+", text.lower()) for text in texts], show_progress=False)
    return lambda query: [round(float(score), 6) for score in library.get_scores(re.findall(r"\w+", query.lower()))]


@each_set
@pytest.mark.parametrize("algorithm", ["simple", "filtered", "optimal"])
def test_no_place_of_a_directory_tells_who_fits(load: Load, name: str, algorithm: str) -> None:
    groups: list[Group] = []
    for catalogue, searched in episodes(load, name, search_algorithm=algorithm):
        for index, fits in enumerate(fitting(catalogue)):
            # Filtered by items alone: with amenities everything that is found fits.
            wanted = [want.item for want in catalogue.customers[index].wants]
            page = searched.page(index, "", 1, Filters(items=wanted)).businesses
            groups.append(tuple(business in fits for business in page))
    p = flatness(groups)
    assert p is not None
    assert p > FLAT


@each_set
@pytest.mark.parametrize(
    ("algorithm", "scored", "query"),
    [
        ("lexical", lexical, "item_names"),
        ("lexical", lexical, "request_text"),
        ("lexical", lexical, ""),
        # Scores of words differ nearly always; what no text holds has none.
        ("bm25", bm25, ""),
        ("bm25", bm25, "zzzz"),
    ],
)
def test_no_place_among_results_of_equal_score_tells_who_fits(
    load: Load, name: str, algorithm: str, scored: Callable[..., Any], query: str
) -> None:
    groups: list[Group] = []
    for catalogue, searched in episodes(load, name, search_algorithm=algorithm):
        for index, fits in enumerate(fitting(catalogue)):
            text = QUERY_RULES[query](catalogue.customers[index]) if query in QUERY_RULES else query
            page = searched.page(index, text, 1, Filters()).businesses
            scores = scored(documents(catalogue))(text) if text else [0.0] * len(page)
            groups += [
                tuple(business in fits for business in tied) for _, tied in groupby(page, key=scores.__getitem__)
            ]
    p = flatness(groups)
    # In small sets hardly two results have the same words in common with a whole request.
    assert (p is None) == (query == "request_text" and name in SMALL)
    assert p is None or p > FLAT


def random_pick(matches: Sequence[Match], checks: bool) -> tuple[float, float]:
    """Mean and variance in cents of buying from a random match; who checks claims buys nothing where one lacks."""
    gains = [match.utility if match.fits or not checks else 0 for match in matches]
    mean = fmean(gains)
    return mean, fmean(gain * gain for gain in gains) - mean * mean


@pytest.mark.parametrize(("policy", "checks"), [("position_taker", False), ("narrow_outreach", True)])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("restaurants", {"search_algorithm": "optimal"}),
        ("restaurants", {}),
        ("mexican_3_9", {"search_algorithm": "optimal"}),
        ("mexican_3_9", {"search_algorithm": "optimal", "clock": "free"}),
    ],
)
def test_who_goes_by_place_gets_what_a_random_pick_would(
    load: Load, name: str, policy: str, checks: bool, given: dict[str, Any]
) -> None:
    got, mean, variance = 0.0, 0.0, 0.0
    for seed in range(1, 11):
        catalogue = load(name, seed)
        got += play(catalogue, policy, seed=seed, search_limit=3, **given).welfare
        for found in match_sets(catalogue, ALPHA_BP):
            expected, spread = random_pick(found.matches, checks)
            mean, variance = mean + expected, variance + spread
    assert 2 * stats.norm.sf(abs(got - mean) / math.sqrt(variance)) > FLAT


def test_offers_come_in_no_order_of_the_data_under_the_free_clock() -> None:
    arrived: list[Group] = []
    for seed in range(1, 31):
        ended = play({"customers": 3}, "patient_comparer", seed=seed, clock="free", search_limit=3)
        for customer in ended.customers:
            arrived.append(tuple(offer.fits for offer in ended.proposals.values() if offer.customer == customer))
    p = flatness(arrived)
    assert p is not None
    assert p > FLAT


def test_notices_of_one_round_come_in_no_order_of_the_data() -> None:
    withdrawn, rejected = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for seed in range(12):
        table = Table(seed)
        for customer in (C1, C2):
            table.ok(customer, "send_message", to=["b0001", "b0002", "b0003"], text="Two tacos and a flan, please")
        table.close()
        for business in (B1, B2, B3):
            for handle in ("c0001", "c0002"):
                table.ok(business, "send_proposal", to=handle, lines=LINES)
        table.close()
        for business, handle in ((B1, "b0001"), (B2, "b0002")):
            table.ok(business, "withdraw_proposal", proposal=f"p-{handle}-c0001-1")
        for customer, handle in ((C1, "c0001"), (C2, "c0002")):
            table.ok(customer, "reject_proposal", proposal=f"p-b0003-{handle}-1")
        table.close()
        withdrawn.add(senders(table, C1, "withdrawn"))
        rejected.add(senders(table, B3, "rejected"))
    assert withdrawn == {("b0001", "b0002"), ("b0002", "b0001")}
    assert rejected == {("c0001", "c0002"), ("c0002", "c0001")}


def senders(table: Table, seat: str, kind: str) -> tuple[str, ...]:
    entries = table.ok(seat, "receive_messages", after=0)["entries"]
    return tuple(entry["counterpart"] for entry in entries if entry["kind"] == kind)
