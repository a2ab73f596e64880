"""What every field of an outcome is: title, formula, unit, when it is null, which way is better; what it is called.

`figures.toml` beside an evaluator says it for its market, the one in this folder for what every market has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from tradefair.contract import ScenarioError
from tradefair.evaluation.evaluator import Evaluator, evaluator_of

_FILE = "figures.toml"
Group: TypeAlias = Literal["episode", "seat", "market", "relative"]


class Figure(BaseModel):
    """One field. `null` says when it is null, "never" if it is not optional; `better` is the direction of a gain.

    `aggregation` is how it is made of rounds or seats, where a sentence has to say so. `short` is the title where room
    is short, `caution` what a reader could get wrong, `source` who published it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    formula: str
    unit: str
    null: str
    better: Literal["higher", "lower", "none"]
    aggregation: Literal["", "total", "per round", "mean of seats", "share"] = ""
    short: str = ""
    caution: str = ""
    source: str = ""

    @property
    def heading(self) -> str:
        """The words above a column."""
        return self.short or self.title


class Figures(BaseModel):
    """The fields of one file by name; those of a record inside a field have its name and a dot before theirs.

    `words` explains letters that formulas use. `episode`: fields of the outcome itself. `relative`: what a seat has
    beside references on the same seed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: str = ""
    episode: Mapping[str, Figure] = {}
    seat: Mapping[str, Figure] = {}
    market: Mapping[str, Figure] = {}
    relative: Mapping[str, Figure] = {}


def common_figures() -> Figures:
    """The fields that outcomes of every market have."""
    return _read(__package__ or "")


def figures_of(market: str) -> Figures:
    """The fields that a market adds; none where its evaluator brings no file. ScenarioError for one that is wrong."""
    room = type(evaluator_of(market))
    # The base class serves markets without an evaluator; its folder holds the common file.
    return Figures() if room is Evaluator else _read(room.__module__.rpartition(".")[0])


def figure_of(market: str, field: str, group: Group = "seat") -> Figure | None:
    """A field of the market or of all markets; None where no file has it, as in a market without one."""
    return getattr(figures_of(market), group).get(field) or getattr(common_figures(), group).get(field)


def heading_of(market: str, field: str, group: Group = "seat") -> str:
    """The words above a column with this field."""
    row = figure_of(market, field, group)
    # A stranger's market may explain nothing; its names are then all there is.
    return row.heading if row else field.replace("_", " ")


@cache
def _read(package: str) -> Figures:
    file = files(package) / _FILE
    if not file.is_file():
        return Figures()
    try:
        return Figures.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScenarioError(f"{package}: {_FILE} cannot be used: {error}") from None
