"""Tables that an evaluator adds to the common ones, and how numbers are written in all of them.

The texts of `FOOTNOTES` are printed below a table, once per figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

FOOTNOTES: Mapping[str, str] = {
    "share_of_oracle": "0 is passive, 1 a reference that knows hidden facts and is no maximum: more than 1 is possible",
    "empty_demand": "latent demand of empty shelves, expected: no customer was there to be counted",
    "net_lost_units": "demand beyond the day's stock, and the expected sales that categories lost by empty shelves",
    "dynamic_regret": "against the best quote of each round, known afterwards only; rivals do not react",
    "csa_clean": "0 is what a truthful seat earns among truthful seats; truthful play elsewhere need not score 0",
    "normalised_regret": "0 is a reference that knows hidden facts, but is no bound, 1 passive; it can fall below 0",
    "bid_eff": "share of the units asked for that was won, times what they cost at base prices over what was paid",
    "mms": "closeness of own slogans to buyers' personas, by this embedder only; what is close need not sell",
    "pi_norm": "0 is floor_bidder, 1 a reference that knows hidden facts, but is no maximum: 1 can be exceeded",
    "list_price_optimum": "the most at list prices, whatever others buy; a share above 1 is a purchase below list",
    "loss": "list-price optimum less utility: below 0 where sellers went below list",
    "over_random": "utility over the exact mean of buying at random, at list prices, from those who have all items",
    "over_equilibrium": "profit over what linear_equilibrium earns against itself on the same limits",
}
"""By field: figures that are misread without a note, and that note."""


class Table(NamedTuple):
    """Cells are ready text; the first column holds names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def number_text(value: object) -> str:
    """A number as tables show it: three decimals at most, six where it would round to 0, a dash for null.

    Other values than floats are shown as `str` shows them.
    """
    if value is None:
        return "–"
    return decimals(value) if isinstance(value, float) else str(value)


def decimals(value: float, form: str = "") -> str:
    """At most three decimals, six where three are all 0; never "-0". `form`: sign and grouping, such as "+,"."""
    # Below half of 0.001 three decimals would print 0, and a small loss would look like none.
    digits = 6 if abs(value) < 0.0005 else 3
    # Adding 0.0 turns −0.0 into 0.0: "-0" would read as a loss.
    shown = f"{round(value, digits) + 0.0:{form}.{digits}f}"
    return shown.rstrip("0").rstrip(".")
