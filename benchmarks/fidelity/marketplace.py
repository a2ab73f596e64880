"""Magentic Marketplace: the baselines that its data sets ship with, and what a place on a page tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.fidelity.row import Row
from benchmarks.seated import play_seated
from tradefair.contract import Chance
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.markets.marketplace.experiments.report import experiment_report
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.statistics import interval
from tradefair.marketplace.analysis import Match, Matches, baselines, match_sets
from tradefair.marketplace.answers.directory import Directory, Filters
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import BASIS_POINTS, Catalogue, MarketplaceScenario

_SEEDS = range(1, 51)
_PLAYED = range(1, 4)
_PAGES = (3, 30, 100)
_HERE = "python -m benchmarks.fidelity --source marketplace"
_ASKS_ALL = "item_searcher(asks=100)"


class _Shipped(NamedTuple):
    """A set's `baseline_utilities.json` in the source's repository: constants, and medians of 1,000 draws with their
    95 % intervals."""

    optimal: float
    cheapest: float
    items: tuple[float, float, float]
    fits: tuple[float, float, float]


_SHIPPED: Mapping[str, _Shipped] = {
    "mexican_3_9": _Shipped(63.78, 63.78, (35.64, 31.34, 35.99), (61.155, 59.13, 63.18)),
    "mexican_10_30": _Shipped(185.61, 111.31, (64.195, 59.855, 68.53), (171.22, 170.77, 171.67)),
    "contractors_10_30": _Shipped(
        6091.94, 4438.54, (2052.13, 1888.83, 2201.234), (5817.055, 5810.611, 5828.72)
    ),
}  # fmt: skip


def rows(data: Path | None) -> Iterator[Row]:
    """Baselines and places on the published sets that `data` has; then page sizes, which need no data."""
    for name, shipped in _SHIPPED.items():
        folder = None if data is None else data / "marketplace" / name
        if folder is not None and folder.is_dir():
            catalogue = load_folder(str(folder))
            sets = match_sets(catalogue, 2 * BASIS_POINTS)
            yield from _baselines(name, shipped, sets)
            yield _first_place(name, catalogue, sets)
    yield from _page_sizes()


def _baselines(name: str, shipped: _Shipped, sets: tuple[Matches, ...]) -> Iterator[Row]:
    command = f"tradefair check marketplace --data data/marketplace/{name}"
    found = baselines(sets)
    yield Row(f"{name}, optimal", shipped.optimal, found.optimal / 100, None, None, command)
    yield Row(f"{name}, cheapest", shipped.cheapest, float(found.cheapest.mean) / 100, None, None, command)
    for what, stated, groups in (
        ("a random business with all items, median", shipped.items, [customer.matches for customer in sets]),
        ("a random business that fits, median", shipped.fits, [customer.fits for customer in sets]),
    ):
        ours = _median(groups)
        published, low, high = stated
        where = "inside" if low <= ours <= high else "outside"
        said = f"ours is exact, over all picks; {where} the source's interval of 1,000 draws, {low:g} to {high:g}"
        yield Row(f"{name}, {what}", published, ours, None, None, _HERE, differs=said)


def _median(groups: list[tuple[Match, ...]]) -> float:
    """The median total in currency units when each customer buys from one of its group, over all combinations."""
    totals = np.zeros(1, dtype=np.int64)
    for group in groups:
        totals = np.add.outer(totals, [match.utility for match in group]).ravel()
    return float(np.median(totals)) / 100


def _first_place(name: str, catalogue: Catalogue, sets: tuple[Matches, ...]) -> Row:
    """P(fits | first of the results that have all items); seeds differ in the base order alone."""
    content = {"id": f"marketplace/{name}", "search_algorithm": "optimal", "search_limit": 3}
    scenario = build_scenario(MarketplaceScenario, content, source=name)
    ratings = [Fraction(business.rating_bp, BASIS_POINTS) for business in catalogue.businesses]
    fits = [{match.business for match in customer.fits} for customer in sets]
    shares: list[float] = []
    for seed in _SEEDS:
        directory = Directory(scenario, catalogue, sets, Chance(seed), ratings)
        first = [directory.page(index, "", 1, Filters()).businesses[0] for index in range(len(sets))]
        shares.append(mean(business in fitting for business, fitting in zip(first, fits, strict=True)) or 0.0)
    filed = mean(customer.matches[0].fits for customer in sets) or 0.0
    low, high = interval(shares) or (None, None)
    return Row(
        f"{name}, share of customers whom the first of three results fits, 50 seeds",
        filed,
        mean(shares) or 0.0,
        low,
        high,
        _HERE,
        differs="the order of the files tells who fits; here it is drawn for each episode: two of three",
    )


def _page_sizes() -> Iterator[Row]:
    """Welfare of a customer who asks the whole page, where the source's models lose by longer ones."""
    with TemporaryDirectory() as folder:
        for size in _PAGES:
            for seed in _PLAYED:
                play_seated(
                    "marketplace", "restaurants_100", _ASKS_ALL, seed, Path(folder), {"search_limit": size}
                )  # fmt: skip
        (row,) = experiment_report(sorted(Path(folder).rglob("*.trace"))).overload
    welfare = [size.welfare for size in row.sizes]
    yield Row(
        f"welfare as a page grows from {_PAGES[0]} to {_PAGES[-1]} results, 100 customers, 300 businesses",
        "falls",
        "falls" if welfare[-1] < welfare[0] else "does not fall",
        None,
        None,
        "tradefair sweep marketplace/consideration_set",
        differs=f"the source's are models; a script that asks all of a page sends {row.sizes[0].messages:g} to "
        f"{row.sizes[-1].messages:g} messages a customer and compares all offers",
    )
