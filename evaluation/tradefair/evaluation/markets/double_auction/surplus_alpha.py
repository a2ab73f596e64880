"""Conditional surplus alpha, CSα: what a seat earned, compared with a truthful seat in its place among truthful ones.

Two forms: `csa`, as the public logs have it, and `csa_clean`, ours, which ratings use. Both
are z-scores against a table of all-truthful episodes of the same shape and law; a shape without a table has no score,
and tables of different shapes are never mixed. `benchmarks/references_tables.py` builds them. The source's own table is
another one: `source_table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from tradefair.catalog import market_type
from tradefair.evaluation.read.arithmetic import rounded
from tradefair.evaluation.record import Record
from tradefair.files.folders import cache_folder
from tradefair.files.user_files import read_regular
from tradefair.trading.values import LAWS

Side = Literal["buyer", "seller"]
Form = Literal["source", "clean"]

MIN_SEATS = 200
"""A key of the table with fewer seats is too thin: its score falls back to the next coarser key."""
CAUTION = "zero is what a truthful seat earns among truthful seats; truthful play in another field need not score zero"
ALL = "all"
"""Name of a coarser key in the table: over every spread, over every value."""
NONE = "none"
"""Name of the spread bucket of a last round without a residual spread."""

VECTOR_SEATS = 16
"""Up to so many seats all values are redrawn together, beyond it each seat's alone."""

# Floor, clip and buckets are confirmed on the public logs: the logged csa is linear in s within every key.
SIGMA_FLOOR = 0.05
CLIP = 5.0
_BUCKET = 5
# The grid of the source. Wider grids are multiples of it, so that buckets of 5 % fall on whole steps.
_BASE_GRID = 100
_BUNDLED = "surplus_reference.json"


class Shape(NamedTuple):
    """What a table is for: seats per side, rounds, the grid 0..P, and the law of the private values."""

    n_buyers: int
    n_sellers: int
    rounds: int
    price_max: int
    distribution: str

    @property
    def label(self) -> str:
        """`4+4 R=30 uniform`; the grid stands there where it is not 0..100."""
        grid = "" if self.price_max == _BASE_GRID else f" P={self.price_max}"
        return f"{self.n_buyers}+{self.n_sellers} R={self.rounds}{grid} {self.distribution}"

    @classmethod
    def of(cls, scenario: Mapping[str, Any], distribution: str) -> Shape | None:
        """The shape of an episode from its scenario's content; null where values were not drawn by the usual rule."""
        price_max = scenario.get("price_max")
        numbers = (scenario.get("n_buyers"), scenario.get("n_sellers"), scenario.get("rounds"), price_max)
        # `type(...) is int` and not `isinstance`: true would pass for 1.
        buyers, sellers, rounds, grid = (number if type(number) is int else 0 for number in numbers)
        if distribution not in LAWS or min(buyers, sellers, rounds, grid) < 1 or grid % _BASE_GRID:
            return None
        # A table rests on one law and one rule of acceptance: values drawn otherwise have another distribution.
        usual: dict[str, tuple[object, ...]] = {
            "acceptance": ("vector",) if buyers + sellers <= VECTOR_SEATS else ("per_seat",),
            # The source's bounds of accepted values. Values by another rule have another distribution of shares.
            "min_buyer_value": (1,),
            "min_gap": (3,),
            "max_seller_cost": (None, grid - 1),
        }
        if any(scenario.get(name) not in allowed for name, allowed in usual.items()):
            return None
        return cls(buyers, sellers, rounds, grid, distribution)


class SeatResult(NamedTuple):
    """What a seat's score is made of, in points: of the whole episode, with the residual spread of its last round.

    A named tuple, so that equal results can be counted together: 60,000 episodes have few distinct ones.
    """

    side: Side
    value: int
    payoff: int
    potential: int
    last_spread: int | None


class Row(NamedTuple):
    """Population mean and deviation of the shares of one key, and how many seats they are of."""

    mean: float
    sd: float
    seats: int


class ReferenceTable(Record):
    """All-truthful play of one shape. Keys of the rows: side, value bucket or `all`, spread bucket, `none` or `all`.

    Rows of fewer than 200 seats are left out, but for the coarsest. `slice_digest` is that of the first seeds' results.
    """

    n_buyers: int
    n_sellers: int
    rounds: int
    price_max: int
    distribution: str
    episodes: int
    slice_digest: str
    source: dict[Side, dict[str, dict[str, Row]]]
    clean: dict[Side, dict[str, Row]]

    @property
    def shape(self) -> Shape:
        """What the table is for."""
        return Shape(self.n_buyers, self.n_sellers, self.rounds, self.price_max, self.distribution)

    @property
    def label(self) -> str:
        """`60,000 truthful episodes of 4+4 R=30 uniform`."""
        return f"{self.episodes:,} truthful episodes of {self.shape.label}"


class ReferenceFile(Record):
    """The file of tables: which rules made them, how to make them again, and a digest of their content.

    The digest is of the tables alone, so that `--check` notices an altered one before it replays any.
    """

    about: str
    market: Literal["double_auction"]
    rules_version: str
    recipe: str
    digest: str
    tables: list[ReferenceTable] = Field(max_length=1_000)


@lru_cache(maxsize=1)
def bundled_references() -> ReferenceFile | None:
    """The tables of the package; null where they are not there."""
    resource = files("tradefair.evaluation.markets.double_auction") / "data" / _BUNDLED
    # A package without tables still evaluates: scores are null, and `csa_missing` says why.
    return ReferenceFile.model_validate_json(resource.read_bytes()) if resource.is_file() else None


def cached_path(shape: Shape) -> Path:
    """Where the tables of a shape, all laws, are kept when they were built here because the package lacks them.

    Below TRADEFAIR_CACHE, else the user's cache folder.
    """
    name = f"{shape.n_buyers}-{shape.n_sellers}-{shape.rounds}-{shape.price_max}.json"
    # Without a cache folder there is no home either, and that is an error here.
    return (cache_folder() or Path.home()) / "double_auction_reference" / name


def reference_table(shape: Shape) -> ReferenceTable | None:
    """The table of exactly this shape, bundled or built here earlier; null where there is none."""
    bundled = bundled_references()
    tables = bundled.tables if bundled else []
    # Bundled ones first: a cache of another size must not change the scores of the package's shapes.
    return next((table for table in (*tables, *_built_here(shape)) if table.shape == shape), None)


def _built_here(shape: Shape) -> Sequence[ReferenceTable]:
    """Tables of the user's cache for the sizes of this shape, all laws; none where nothing was built."""
    try:
        path = cached_path(shape)
        # The time of the change is part of the cache's key: a long-lived server sees a table that was built meanwhile.
        return _tables(path, path.stat().st_mtime_ns)
    # No such file, or a user without a home folder.
    except (OSError, RuntimeError):
        return ()


@lru_cache(maxsize=16)
def _tables(path: Path, changed: int) -> Sequence[ReferenceTable]:
    """Tables of a file of these rules, read again when it has changed; none of a file that is something else."""
    try:
        kept = ReferenceFile.model_validate_json(read_regular(path))
    # A foreign or half-written file in the cache is no reason to fail an evaluation: it just has no tables.
    except ValidationError:
        return ()
    # Tables of other rules would compare a seat with games that are no longer played.
    return kept.tables if kept.rules_version == market_type(kept.market).version else ()


# --- the two scores -------------------------------------------------------------------------------------------------


def csa(table: ReferenceTable, seat: SeatResult) -> float | None:
    """The source's form, −5 to 5: losses count as nothing, keys hold the value and the last round's spread.

    Null where the table has no row for the seat's side at all.
    """
    rows = table.source.get(seat.side, {})
    bucket = value_bucket("source", seat.side, seat.value, table.price_max)
    fine = rows.get(bucket, {}).get(spread_bucket(seat.last_spread, table.price_max))
    return _score("source", table, seat, fine, rows.get(bucket, {}).get(ALL), rows.get(ALL, {}).get(ALL))


def csa_clean(table: ReferenceTable, seat: SeatResult) -> float | None:
    """Our form, −5 to 5: losses count, and the key holds the value in buyer terms only.

    The spread of the last round is left out: play brings it about, so that it would excuse what it measures.

    Null where the table has no row for the seat's side at all.
    """
    rows = table.clean.get(seat.side, {})
    bucket = value_bucket("clean", seat.side, seat.value, table.price_max)
    return _score("clean", table, seat, rows.get(bucket), rows.get(ALL))


def _score(form: Form, table: ReferenceTable, seat: SeatResult, *finest_first: Row | None) -> float | None:
    """(share − mean)/max(sd, .05), clipped to −5..5, by the finest row with enough seats; the coarsest always does."""
    # The mean of a few seats would be luck: fewer than MIN_SEATS give way to the next coarser key.
    rows = [row for row in finest_first[:-1] if row is not None and row.seats >= MIN_SEATS]
    row = rows[0] if rows else finest_first[-1]
    return None if row is None else scored(share_of(form, seat, table.rounds), row)


def scored(share: float, row: Row) -> float:
    """(share − mean)/max(sd, .05), clipped to −5..5."""
    # The floor keeps keys in which all seats earn alike from making any difference a huge score.
    return rounded(min(CLIP, max(-CLIP, (share - row.mean) / max(row.sd, SIGMA_FLOOR))))


def share_of(form: Form, seat: SeatResult, rounds: int) -> float:
    """The part of the possible surplus that the seat got, s; `source` floors it at 0."""
    if form == "clean":
        # At least 1: a seat without potential that lost must get a score below 0 instead of a division by 0.
        return seat.payoff / (rounds * max(1, seat.potential))
    # The source's s: losses are floored at 0, and a seat that nothing could be gained by scores as 0.
    return max(0, seat.payoff) / (rounds * seat.potential) if seat.potential else 0.0


def value_bucket(form: Form, side: Side, value: int, price_max: int = _BASE_GRID) -> str:
    """Name of the value's bucket: steps of 5 % of P; the source takes 2.5 % for costs, ours P − c for sellers."""
    if form == "clean":
        # In buyer terms both sides have one meaning: a high number is a seat with much to gain.
        return _bucket(value if side == "buyer" else price_max - value, _BUCKET, price_max)
    # The unequal widths are the source's: `csa` keeps them, `csa_clean` does not.
    return _bucket(value, _BUCKET if side == "buyer" else _BUCKET / 2, price_max)


def spread_bucket(spread: int | None, price_max: int = _BASE_GRID) -> str:
    """Name of the residual spread's bucket, in steps of 5 % of P; `none` without one."""
    return NONE if spread is None else _bucket(spread, _BUCKET, price_max)


def _bucket(points: int, width: float, price_max: int) -> str:
    """Name of the nearest multiple of `width` per cent of the grid, in points."""
    step = width * (price_max // _BASE_GRID)
    return f"{step * round(points / step):g}"
