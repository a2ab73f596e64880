"""The figures of a market by name: what `figure(...)` says in the models of its outcomes, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tradefair.evaluation.evaluator import Group, evaluator_of
from tradefair.evaluation.figure import Figure, declared, explained
from tradefair.evaluation.outcome import Outcome, SeatOutcome


class Figures(NamedTuple):
    """Explained fields by name; those of a record inside a field have its name and a dot before theirs.

    `episode`: fields of the outcome itself. `relative`: what a seat has beside references on the same seed.
    """

    episode: Mapping[str, Figure] = {}
    seat: Mapping[str, Figure] = {}
    market: Mapping[str, Figure] = {}
    relative: Mapping[str, Figure] = {}


def common_figures() -> Figures:
    """The fields that outcomes of every market have."""
    return Figures(explained(Outcome), explained(SeatOutcome))


def figures_of(market: str) -> Figures:
    """The fields that a market adds; none where its models say nothing of themselves."""
    known = {group: explained(model) for group, model in evaluator_of(market).models.items()}
    common = explained(SeatOutcome)
    own = {name: row for name, row in known["seat"].items() if name not in common}
    return Figures({}, own, known["market"], known["relative"])


def figure_of(market: str, field: str, group: Group = "seat") -> Figure | None:
    """A field of the market or of all markets, without its formula; None where no model declares it."""
    return declared(evaluator_of(market).models[group]).get(field)


def heading_of(market: str, field: str, group: Group = "seat") -> str:
    """The words above a column with this field."""
    row = figure_of(market, field, group)
    # A stranger's market may explain nothing; its names are then all there is.
    return row.heading if row else field.replace("_", " ")
