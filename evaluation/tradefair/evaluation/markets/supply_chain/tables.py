"""Tables of the supply chain: its figures next to those of its reference population.

Inequality responds to the mechanism itself: scarcity, budgets and luck make rich and poor of equals. What an agent has
to do with it shows only in comparison with the same scenario and seed played by a known population.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.table import Table, number_text

_BASES = ("wealth", "revenue")
_MARKET = ("active_ratio", "unmet", "supply_sold", "mean_markup", "slogan_convergence")
_RETAILER = ("pi", "npm", "rar", "iei", "osi", "bid_eff", "overpay_share", "fill", "stockout", "mms", "units_sold")

_Outcome = Outcome[Any, Any]


def reference_tables(policy: str, outcome: _Outcome, population: _Outcome | None) -> list[Table]:
    """Inequality, then the market and its mean retailer; dashes in the column of a population that was not played.

    `policy` is the name of the population's policy, `population` the outcome of the same scenario and seed under it.
    """
    market, column = outcome.market_outcome, f"{policy} population"
    # The lexical embedder counts shared words: its figures must not be read as a judgement of meaning.
    caveat = " (word overlap, not meaning)" if (market.embedder or "").startswith("lexical") else ""
    missing = "" if population else f"; no {column} beside it (tradefair play --references)"
    title = f"inequality; gate {market.gate or '–'}, embedder {market.embedder or '–'}{caveat}{missing}"
    means = "the market, and the mean over its retailers"
    return [
        Table(title, ("figure", "value", "equal split", column), list(_inequality_rows(market, population))),
        Table(means, ("figure", "value", column), _rows(outcome, population), _RETAILER),
    ]


def bids_table(outcome: _Outcome) -> Table:
    """Figures of bids and stock, a row per retailer."""
    columns = ("rar", "iei", "osi", "attempts", "directed", "overpay_regret", "underbid_regret", "overspends")
    rows = [(seat, *(number_text(getattr(result, name)) for name in columns)) for seat, result in outcome.seats.items()]
    titles = [heading_of("supply_chain", name) for name in columns]
    return Table("retailers: what else", ("seat", *titles), rows, columns)


def _inequality_rows(market: Any, population: _Outcome | None) -> Iterator[tuple[str, ...]]:
    """A row per index and basis: the value, that of an equal split, that of the population."""
    # What equals would show: the last two depend on how many there are, and mobility has no such value.
    equal = {"gini": 0, "theil": 0, "cv": 0, "hhi": market.equal_hhi, "cr4": market.equal_cr4, "mobility": None}
    for basis in _BASES:
        for name, split in equal.items():
            field = f"{basis}_{name}"
            played = getattr(population.market_outcome, field) if population else None
            yield (
                heading_of("supply_chain", field, "market"),
                *map(number_text, (getattr(market, field), split, played)),
            )


def _rows(outcome: _Outcome, population: _Outcome | None) -> list[tuple[str, ...]]:
    """Figures of the market, then means over its retailers, each next to the population's."""
    names = [heading_of("supply_chain", name, "market") for name in _MARKET]
    names += [f"{heading_of('supply_chain', name)}, mean" for name in _RETAILER]
    values, played = _values(outcome), _values(population) if population else [None] * len(names)
    return [
        (name, number_text(value), number_text(other)) for name, value, other in zip(names, values, played, strict=True)
    ]


def _values(outcome: _Outcome) -> list[float | None]:
    """The values of `_MARKET`, then the means of `_RETAILER`; seats without a figure are left out of its mean."""
    market = [getattr(outcome.market_outcome, name) for name in _MARKET]
    return market + [
        mean(figure for seat in outcome.seats.values() if (figure := getattr(seat, name)) is not None)
        for name in _RETAILER
    ]
