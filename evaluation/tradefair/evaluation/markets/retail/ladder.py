"""The ladder of the reference store: what scripted managers reach in it, with what agents reached in the source's.

`python -m benchmarks.retail_ladder` plays it and writes `ladder.json`, and sentence and table of the market's page.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tradefair.evaluation.record import Record
from tradefair.evaluation.table import Table

PRESET = "retail/paper"
ORACLE = "oracle(price_key=unit_sum)"
"""The published oracle: it groups past prices as the source's code does."""
TRYING = ("blind_buyer", "narrow_attention", "price_first", "reorder_point", "careful_reader")
"""Managers that try and know nothing hidden, from the weakest idea to the best."""
RUNGS = ("passive", "random_legal", *TRYING, ORACLE, "oracle")
"""Policies from the weakest idea to the privileged ones: the oracle as published, then by the cent."""
_TITLES = {ORACLE: "oracle as published", "oracle": "oracle by the cent"}


class Published(NamedTuple):
    """RetailBench: its agents over models and frameworks (range of days survived and of net worth in currency units).

    Of `agents` of them, `bankrupt` are insolvent by day `by_day`. `oracle` is the net worth of its oracle.
    """

    days: tuple[int, int] = (58, 180)
    net_worth: tuple[int, int] = (-2_134, 24_351)
    agents: int = 7
    bankrupt: int = 5
    by_day: int = 130
    oracle: int = 131_510


PUBLISHED = Published()


class Rung(Record):
    """One policy over the seeds: mean days survived, mean, lowest and highest net worth in currency units.

    `alive`: seeds on which it was solvent to the end.
    """

    policy: str
    days: float
    net_worth: float
    lowest: float
    highest: float
    alive: int


class Ladder(Record):
    """`ladder.json`: the rungs in the order of `RUNGS`, each on the same `seeds` seeds, which no search has played."""

    rules_version: str
    scenario_digest: str
    seeds: int
    rungs: list[Rung]


@cache
def ladder() -> Ladder:
    """The ladder that is shipped."""
    text = files("tradefair.evaluation.markets.retail").joinpath("ladder.json").read_text(encoding="utf-8")
    return Ladder.model_validate_json(text)


def ladder_sentence(known: Ladder | None = None) -> str:
    """The ladder in a sentence, for under every result and for the market's page."""
    rungs = {rung.policy: rung for rung in (known or ladder()).rungs}
    unknowing = [rungs[policy] for policy in RUNGS[:-2]]
    bankrupt = sum(rung.days < PUBLISHED.by_day for rung in unknowing)
    naive, careful, oracle = (f"{rungs[policy].net_worth:,.0f}" for policy in (*TRYING[-2:], ORACLE))
    return (
        f"{PRESET}: of {len(unknowing)} scripted managers that know nothing hidden, {bankrupt} go bankrupt before day "
        f"{PUBLISHED.by_day} (published: {PUBLISHED.bankrupt} of {PUBLISHED.agents} agents by day {PUBLISHED.by_day}); "
        f"the naive rule ends at {naive} (best published agent {PUBLISHED.net_worth[1]:,}), a careful reader at "
        f"{careful}, the oracle as published at {oracle} (published {PUBLISHED.oracle:,}). The store is synthetic."
    )


def ladder_table() -> Table:
    """The ladder as a table, with the published range in its last row."""
    return Table(f"ladder of {PRESET}, {ladder().seeds} seeds; a synthetic store", COLUMNS, ladder_rows(ladder()))


COLUMNS = ("manager", "days survived", "seeds alive", "net worth", "lowest", "highest")


def ladder_rows(known: Ladder) -> list[tuple[str, ...]]:
    """Rows of `ladder_table`; amounts in currency units."""
    rows = [
        (
            _TITLES.get(rung.policy, rung.policy),
            f"{rung.days:,.0f}",
            f"{rung.alive} of {known.seeds}",
            *(f"{value:,.0f}" for value in (rung.net_worth, rung.lowest, rung.highest)),
        )
        for rung in known.rungs
    ]
    (first, last), (low, high) = PUBLISHED.days, PUBLISHED.net_worth
    return [*rows, ("LLM agents, published", f"{first}–{last}", "–", "–", f"{low:,}", f"{high:,}")]
