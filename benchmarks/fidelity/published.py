"""Published numbers as data: a TOML file per source, `[[table]]` with id, title, key, columns and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from tradefair.contract import ScenarioError
from tradefair.files.user_files import parse_toml, text_file

BUNDLED = Path(__file__).parents[1] / "published"
Value: TypeAlias = int | float | str
_CELL, _DEPTH = '{!r} is no cell; a cell is a finite number, a text, or "" for what was not published', 4
_Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Cells = Annotated[list[Value], Field(max_length=100)]


class PublishedError(Exception):
    """What is wrong with a file, its table and row, and what is allowed."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Table(_Record):
    """A published table or figure; `numbers = false` is a picture without printed ones: id and title alone.

    `key` is the column that names the rows. An empty cell was not published.
    """

    id: _Text
    title: _Text
    numbers: Literal[False] | None = None
    key: str = ""
    columns: list[_Text] = []
    rows: Annotated[list[_Cells], Field(max_length=10_000)] = []

    @model_validator(mode="after")
    def _of_one_form(self) -> Table:
        if self.numbers is False:
            _check(not (self.key or self.columns or self.rows), "a picture without numbers has id and title alone")
            return self
        _check(len({*self.columns}) == len(self.columns) > 1, "columns are two different names or more")
        _check(self.key in self.columns, f"key is one of {', '.join(self.columns)}")
        _check(self.rows, "rows are one or more; a picture without printed numbers says numbers = false")
        seen: set[Value] = set()
        for number, row in enumerate(self.rows, 1):
            count, texts = len(self.columns), [isinstance(cell, str) for cell in row]
            _check(len(row) == count, f"row {number} has {len(row)} cells; there are {count} columns")
            name = row[self._place]
            _check(isinstance(name, str) and name, f"row {number}: {self.key} is a text, the row's name")
            _check(name not in seen, f"row {number}: {name!r} stands there twice; a row's name is its own")
            seen.add(name)
            for column, cell, text in zip(self.columns, row, texts, strict=True):
                other = next((isinstance(value, str) for value in self._known(column)), text)
                _check(
                    cell == "" or text == other, f"row {number}: {column} is {cell!r}; a column is numbers, or texts"
                )
        return self

    @property
    def _place(self) -> int:
        return self.columns.index(self.key)

    def _known(self, column: str) -> list[Value]:
        place = self.columns.index(column)
        return [row[place] for row in self.rows if len(row) > place and row[place] != ""]

    @cached_property
    def values(self) -> Mapping[tuple[str, str], float]:
        """The published numbers by (row, column)."""
        return {
            (str(row[self._place]), column): float(cell)
            for row in self.rows
            for column, cell in zip(self.columns, row, strict=True)
            if not isinstance(cell, str)
        }

    def decimals(self, column: str) -> int:
        """The most decimals that a number of the column was published with."""
        texts = [repr(value) for value in self._known(column) if isinstance(value, float)]
        return max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=0)


class Source(_Record):
    """One file: what the source calls itself, the market that was made after it, its tables."""

    source: _Text
    market: _Text
    table: Annotated[list[Table], Field(min_length=1, max_length=1_000)]

    @model_validator(mode="after")
    def _each_once(self) -> Source:
        twice = [
            table.id for place, table in enumerate(self.table) if table.id in {row.id for row in self.table[:place]}
        ]
        _check(not twice, f"table {', '.join(twice)} stands there twice; an id is a table's own")
        return self


def read_published(folder: Path = BUNDLED) -> Mapping[str, Source]:
    """Every file of the folder by its name without `.toml`. Raises PublishedError, naming file, table and row."""
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise PublishedError(f"{folder}: no *.toml there; copy one of benchmarks/published to begin with")
    return {path.stem: _source(path) for path in files}


def published(source: str, table: str) -> Mapping[tuple[str, str], float]:
    """The numbers of one of our own tables by (row, column)."""
    return next(known for known in _source(BUNDLED / f"{source}.toml").table if known.id == table).values


def _source(path: Path) -> Source:
    try:
        content = parse_toml(text_file(path), source=path.name)
    except ScenarioError as error:
        raise PublishedError(str(error)) from error
    try:
        return Source.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in _where(content, *first["loc"]))
        # Below a row stands a cell, in the words of the first of its three types.
        said = (
            _CELL.format(first["input"]) if len(first["loc"]) > _DEPTH else first["msg"].removeprefix("Value error, ")
        )
        raise PublishedError(f"{path.name}: {where}{said}") from error


def _where(content: Mapping[str, Any], *at: int | str) -> Iterator[str]:
    """The table by its id, and the row by its number, counted from 1; else the key."""
    match at:
        case ("table", int(place), *rest):
            table: Any = content["table"][place]
            name: Any = table["id"] if "id" in table else place + 1
            yield f"table {str(name)[:80]}"
            yield from [f"row {number + 1}" for number in rest[1:2] if isinstance(number, int)] or map(str, rest[:1])
        case _:
            yield from map(str, at[:1])


def _check(holds: object, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
