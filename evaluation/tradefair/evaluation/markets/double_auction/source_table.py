"""CSα against the source's own table: `csa_source`, by which new games stand next to published ones.

BAZAAR publishes scores and not the table behind them. The public logs determine 1,691 of its keys; the others are
filled from these by `benchmarks/csa_fill.py`. Both are in `data/csa_source_table.csv`, whose first lines say where they
come from. A seat whose key nothing solved is near to has no score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradefair.contract import ScenarioError
from tradefair.contract.errors import in_plain_words
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    NONE,
    SIGMA_FLOOR,
    Row,
    SeatResult,
    Shape,
    Side,
    scored,
    share_of,
    spread_bucket,
    value_bucket,
)

CAUTION = (
    "by the table solved from the scores of the public BAZAAR logs, not on all-truthful play; "
    "keys that they do not determine are filled from their neighbours"
)
TOLERANCE = 1e-6
"""Up to so much a score of a public log differs from `csa_source`: the table has nine decimals."""
FILE = "csa_source_table.csv"
# A changed digit is a row like any other: only the digest of the file tells.
_DIGEST = "111c561a398ae453638c409b820b6008aa2324efac0b4a7bf33918946d1f211b"
# Buyers, sellers, rounds and grid of every public game: shares of other shapes are spread otherwise.
_SHAPE = (4, 4, 30, 100)
# By our names of the laws, the source's.
_LAWS = {
    "uniform": "uniform",
    "semi_bimodal": "semi_bimodal",
    "heavy_tailed": "heavy_tailed",
    "correlated_source": "correlated",
}
_VALUES = range(101)

Basis = Literal["solved", "filled"]
"""What a key's row rests on: scores of public logs, or the solved keys around it."""


class Key(NamedTuple):
    """What the source compares a seat by; buckets have the names of `value_bucket` and `spread_bucket`."""

    law: str
    side: Side
    value_bucket: str
    spread_bucket: str


class SourceRow(NamedTuple):
    """Mean and deviation of a key's shares, and of how many logged seats, 0 where it is filled.

    `error` is what is to be expected of a filled key's scores, a root mean square in standard deviations; 0 of solved.
    """

    mean: float
    sd: float
    seats: int
    basis: Basis
    error: float


class SourceScore(NamedTuple):
    """A seat's score, −5 to 5, and the basis and error of its row."""

    score: float
    basis: Basis
    error: float


class _Line(BaseModel):
    """One line of the table; a share may not be above 1 on average."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    law: Literal["correlated", "heavy_tailed", "semi_bimodal", "uniform"]
    role: Side
    value_bucket: str
    spread_bucket: str
    mean_share: Annotated[float, Field(ge=0, le=1)]
    sd_share: Annotated[float, Field(ge=SIGMA_FLOOR, le=1)]
    seats: Annotated[int, Field(ge=0)]
    basis: Basis
    error: Annotated[float, Field(ge=0, le=10)]

    def misfit(self) -> tuple[str, str]:
        """A field that does not fit the others, and why not: a bucket that no seat falls into, a row of no basis."""
        values, spreads = _buckets(self.role)
        if self.value_bucket not in values:
            return "value_bucket", f"{self.value_bucket[:40]!r} is no bucket of a {self.role}"
        if self.spread_bucket not in spreads:
            return "spread_bucket", f"{self.spread_bucket[:40]!r} is no bucket of a {self.role}"
        # Two seats determine a mean and a deviation.
        if (self.basis == "solved") != (self.seats >= 2) or (self.basis == "filled" and self.seats):
            return "seats", "a solved key has two or more, a filled one 0"
        return ("error", "a solved key has 0") if self.basis == "solved" and self.error else ("", "")


@cache
def _buckets(side: Side) -> tuple[frozenset[str], frozenset[str]]:
    """What buckets of value and of spread a seat of this side can fall into."""
    values = frozenset(value_bucket("source", side, value) for value in _VALUES)
    return values, frozenset({NONE, *map(spread_bucket, _VALUES)})


COLUMNS = tuple(_Line.model_fields)


@cache
def source_table() -> Mapping[Key, SourceRow]:
    """The rows of the package. Raises ScenarioError for a damaged table."""
    content = (files("tradefair.evaluation.markets.double_auction") / "data" / FILE).read_bytes()
    table = read_source_table(content, FILE)
    if hashlib.blake2b(content, digest_size=32).hexdigest() != _DIGEST:
        raise ScenarioError(f"{FILE}: the rows are not those of this release: install the package again")
    return table


def read_source_table(content: bytes, name: str) -> Mapping[Key, SourceRow]:
    """The rows of a file with this content. ScenarioError that names file, line and field for anything unexpected."""
    table: dict[Key, SourceRow] = {}
    for line, row in _rows(content, name):
        where = f"{name}, line {line}"
        field, why = row.misfit()
        if field:
            raise ScenarioError(f"{where}, {field}: {why}")
        key = Key(row.law, row.role, row.value_bucket, row.spread_bucket)
        # Two rows of one key: one of them is a damaged row of another.
        if key in table:
            raise ScenarioError(f"{where}, law: the key {', '.join(key)} has a row already")
        table[key] = SourceRow(row.mean_share, row.sd_share, row.seats, row.basis, row.error)
    if not table:
        raise ScenarioError(f"{name}, line 1, law: the table has no rows")
    return table


def _rows(content: bytes, name: str) -> Iterator[tuple[int, _Line]]:
    """Lines after the remarks at the top and the names of the columns, with their numbers from 1."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1)]
    while lines and lines[0][1].startswith(b"#"):
        del lines[0]
    for place, (number, raw) in enumerate(lines):
        # Quotes and escapes never occur; what is not UTF-8 fails as a value of its field.
        cells = raw.decode(errors="replace").split(",")
        if place == 0:
            if tuple(cells) != COLUMNS:
                raise ScenarioError(f"{name}, line {number}, {COLUMNS[0]}: the columns must be {', '.join(COLUMNS)}")
            continue
        if len(cells) > len(COLUMNS):
            raise ScenarioError(f"{name}, line {number}, {COLUMNS[-1]}: more than {len(COLUMNS)} fields")
        try:
            yield number, _Line.model_validate(dict(zip(COLUMNS, cells, strict=False)))
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, problem["loc"]))
            raise ScenarioError(f"{name}, line {number}, {field}: {in_plain_words(problem['msg'])}") from None


def published_keys(shape: Shape) -> bool:
    """Whether the table is about episodes of this shape and law."""
    return shape[:4] == _SHAPE and shape.distribution in _LAWS


def csa_source(shape: Shape, seat: SeatResult) -> SourceScore | None:
    """The score that the source would give the seat; null where the table lacks its key."""
    if not published_keys(shape):
        return None
    buckets = value_bucket("source", seat.side, seat.value), spread_bucket(seat.last_spread)
    row = source_table().get(Key(_LAWS[shape.distribution], seat.side, *buckets))
    if row is None:
        return None
    return SourceScore(scored(share_of("source", seat, shape.rounds), Row(*row[:3])), row.basis, row.error)
