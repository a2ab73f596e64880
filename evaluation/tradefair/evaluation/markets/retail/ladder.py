"""The ladder of the reference store: what scripted managers reach in it, with what agents reached in the source's.

`python -m benchmarks.retail_ladder` plays it and writes `ladder.json` and the table of the market's page.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tradefair.evaluation.record import Record
from tradefair.evaluation.table import Table

PRESET = "retail/paper"
RUNGS = ("passive", "random_legal", "price_first", "reorder_point", "careful_reader", "oracle")
"""Policies from the weakest idea to the privileged one."""


class PublishedAgents(NamedTuple):
    """Range of RetailBench's LLM agents over models and frameworks: days survived, net worth in currency units."""

    days: tuple[int, int] = (58, 180)
    net_worth: tuple[int, int] = (-2_134, 24_351)


PUBLISHED = PublishedAgents()


class Rung(Record):
    """One policy over the seeds: mean days survived, mean, lowest and highest net worth in currency units."""

    policy: str
    days: float
    net_worth: float
    lowest: float
    highest: float


class Ladder(Record):
    """`ladder.json`: the rungs in the order of `RUNGS`, each over the same seeds 1 to `seeds`."""

    rules_version: str
    scenario_digest: str
    seeds: int
    rungs: list[Rung]


@cache
def ladder() -> Ladder:
    """The ladder that is shipped."""
    text = files("tradefair.evaluation.markets.retail").joinpath("ladder.json").read_text(encoding="utf-8")
    return Ladder.model_validate_json(text)


def ladder_sentence() -> str:
    """The ladder in one sentence of at most 240 characters, for under every result."""
    known = ", ".join(f"{rung.policy} {_thousands(rung.net_worth)}" for rung in ladder().rungs)
    low, high = map(_thousands, PUBLISHED.net_worth)
    first, last = PUBLISHED.days
    return (
        f"Net worth in {PRESET}, a synthetic store, in thousands: {known}; "
        f"published LLM agents {low} to {high}, alive for {first} to {last} days."
    )


def ladder_table() -> Table:
    """The ladder as a table, with the published range in its last row."""
    columns = ("manager", "days survived", "net worth", "lowest", "highest")
    return Table(f"ladder of {PRESET}, {ladder().seeds} seeds; a synthetic store", columns, ladder_rows(ladder()))


def ladder_rows(known: Ladder) -> list[tuple[str, ...]]:
    """Rows of `ladder_table`; amounts in currency units."""
    rows = [
        (rung.policy, f"{rung.days:,.0f}", *(f"{value:,.0f}" for value in (rung.net_worth, rung.lowest, rung.highest)))
        for rung in known.rungs
    ]
    days, worth = PUBLISHED
    return [*rows, ("LLM agents, published", f"{days[0]}–{days[1]}", "–", f"{worth[0]:,}", f"{worth[1]:,}")]


def _thousands(amount: float) -> str:
    return f"{amount / 1000:.1f}"
