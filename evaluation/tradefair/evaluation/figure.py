"""How a field of an outcome says what it is: `figure(...)` as its field, the formula as the docstring below it.

    profit: int = figure("profit", "minor units", "higher", over="total", on="table compare primary")
    '''Σ over closed rounds of units · (price − unit cost of the round)

    Null: when it is null, where its type allows that
    Source: who published it
    '''

Titles and units are read with the class; docstrings only by what explains them, since they need the class's source.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_type_hints

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

Better: TypeAlias = Literal["higher", "lower", "none"]
Over: TypeAlias = Literal["", "total", "per round", "mean of seats", "share"]
_PARAGRAPH = re.compile(r"^(Null|Source): ", re.MULTILINE)


@dataclass(frozen=True)
class Figure:
    """One field. `null` says when it is null, "never" if it is not optional; `better` is the direction of a gain.

    `aggregation` is how it is made of rounds or seats, where a sentence has to say so. `short` is the title where room
    is short, `caution` what a reader could get wrong, `source` who published it. `formula`, `null` and `source` are
    empty where only the declaration was read.
    """

    title: str
    formula: str
    unit: str
    null: str
    better: Better
    aggregation: Over = ""
    short: str = ""
    caution: str = ""
    source: str = ""
    # Where it is shown, which role has it and what it scales is for evaluators: no page or JSON has it.
    on: Annotated[frozenset[str], Field(exclude=True)] = frozenset()
    role: Annotated[str, Field(exclude=True)] = ""
    scales: Annotated[str, Field(exclude=True)] = ""

    @property
    def heading(self) -> str:
        """The words above a column."""
        return self.short or self.title


def figure(
    title: str,
    unit: str,
    better: Better = "none",
    *,
    over: Over = "",
    short: str = "",
    caution: str = "",
    on: str = "",
    role: str = "",
    scales: str = "",
) -> Any:
    """Declares a field of an outcome as pydantic's `Field` does; `Annotated` takes it where a default stands already.

    `over` is how it is made of rounds or seats, `better` the direction of a gain, `short` the title for little room.

    `on` names where it is shown, in the order of the fields: `table` in a terminal, `compare` next to references and in
    comparisons, `primary` as what comparisons test. `role`: only seats of that role have it, of all fields with one.
    `scales`: only several runs together have it, as 1 − the field of this name / its largest of them.
    """
    field = Field()
    places = frozenset(on.split())
    field.metadata.append(Figure(title, "", unit, "", better, over, short, caution, "", places, role, scales))
    return field


@cache
def declared(record: type) -> Mapping[str, Figure]:
    """What the fields of a model or record say of themselves, by name; a field without `figure` is left out."""
    notes = ((name, note) for name, field in fields_of(record).items() for note in field.metadata)
    return {name: note for name, note in notes if isinstance(note, Figure)}


@cache
def explained(record: type) -> Mapping[str, Figure]:
    """The figures of a record with their formulas; those of records inside a field have its name and a dot before."""
    texts, own, found = _docstrings(record), declared(record), dict[str, Figure]()
    for name, field in fields_of(record).items():
        if name in own:
            formula, *rest = (" ".join(part.split()) for part in _PARAGRAPH.split(texts.get(name, "")))
            said = {"Null": "never", "Source": ""} | dict(zip(rest[::2], rest[1::2], strict=True))
            found[name] = replace(own[name], formula=formula, null=said["Null"], source=said["Source"])
        for inner in records_in(field.annotation):
            found |= {f"{name}.{key}": row for key, row in explained(inner).items()}
    return found


def fields_of(record: type) -> Mapping[str, FieldInfo]:
    """The fields of a model, of a named tuple, or of any other class with annotations."""
    if issubclass(record, BaseModel):
        return record.model_fields
    hints: Mapping[str, Any] = get_type_hints(cast("Any", record), include_extras=True)
    return {name: FieldInfo.from_annotation(hint) for name, hint in hints.items()}


def records_in(annotation: Any) -> Iterator[type]:
    """The records in a type, whatever list or mapping they stand in."""
    if isinstance(annotation, type) and (
        issubclass(annotation, BaseModel) or hasattr(cast("Any", annotation), "_fields")
    ):
        yield annotation
    for part in get_args(annotation):
        yield from records_in(part)


def _docstrings(record: type) -> Mapping[str, str]:
    """The docstrings below fields, inherited ones too; none of a class whose source is not there."""
    found: dict[str, str] = {}
    # The classes of Python and pydantic declare no figure.
    for kind in (kind for kind in reversed(record.__mro__) if declared(kind)):
        try:
            body = ast.parse(dedent(inspect.getsource(kind))).body[0]
        except (OSError, SyntaxError):
            continue
        for field, text in pairwise(body.body if isinstance(body, ast.ClassDef) else ()):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[ast.unparse(field.target)] = inspect.cleandoc(str(text.value.value))
    return found
