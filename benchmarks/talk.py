"""Recall and precision of the reading of talk: `python -m benchmarks.talk [--json | --write | --check]`.

Rules are written against the development half of `tests/data/talk` only; the test half shares no wording with it, and
`fresh.jsonl` was written before the rules last changed. `--write` stores what a diagnosis prints with modes of talk.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table

from tradefair.trading.claims import Claim, claims

Half = Literal["dev", "test", "fresh"]
_HALVES: tuple[Half, ...] = ("dev", "test", "fresh")
CORPUS = Path(__file__).parents[1] / "tests" / "data" / "talk"
SHIPPED = Path(__file__).parents[1] / "evaluation" / "tradefair" / "evaluation" / "modes" / "talk_reading.json"
NEAR = 2.0
"""How far from the private number a number still gives it away."""


class Number(BaseModel):
    """A number of a sentence and what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    claim: Claim = Field(alias="class")


class Sentence(BaseModel):
    """A line of the corpus; sentences of one `template` share a wording."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    role: Literal["buyer", "seller"]
    limit: float
    numbers: tuple[Number, ...]
    template: str

    @property
    def half(self) -> Half:
        """The half that it belongs to: all sentences of a template to the same one."""
        kind = self.template.partition("/")[0]
        if kind in ("later", "fresh"):
            # What once was the measure of new wording is material for the rules since a newer one was written.
            return "dev" if kind == "later" else "fresh"
        return "test" if blake2b(self.template.encode(), digest_size=8).digest()[-1] & 1 else "dev"


class Read(NamedTuple):
    """A number of the corpus, what it is and what it was taken for; `private`: it is near the limit of its speaker."""

    true: Claim | None
    taken: Claim | None
    private: bool


class Reading(NamedTuple):
    """How one class was read: what was found of it, and what of that is right."""

    recall: float
    precision: float
    n: int


def corpus() -> list[Sentence]:
    """Every sentence, in the order of the files."""
    lines = (line for path in sorted(CORPUS.glob("*.jsonl")) for line in path.read_text().splitlines())
    return [Sentence.model_validate_json(line) for line in lines]


def read(sentences: Iterable[Sentence]) -> Iterator[Read]:
    """Each number that is named in the corpus, and those that only the reader saw."""
    for sentence in sentences:
        found = claims(sentence.text, sentence.role, sentence.limit)
        for number in sentence.numbers:
            said = next((said for said in found if said.value == number.value), None)
            if said is not None:
                found.remove(said)
            near = abs(number.value - sentence.limit) <= NEAR
            yield Read(number.claim, None if said is None else said.claim, near)
        # What the corpus does not name as a number, like the "two" of "two rounds", is no claim of anything.
        yield from (Read(None, said.claim, private=False) for said in found if said.claim != "harmless_number")


def by_class(numbers: Iterable[Read]) -> dict[str, Reading]:
    """Recall, precision and n per class, in alphabetical order."""
    true, taken, right = Counter[str](), Counter[str](), Counter[str]()
    for number in numbers:
        true.update([number.true] if number.true else [])
        taken.update([number.taken] if number.taken else [])
        right.update([number.true] if number.true and number.true == number.taken else [])
    return {
        name: Reading(right[name] / true[name], right[name] / taken[name] if taken[name] else 1.0, true[name])
        for name in sorted(true)
    }


def not_read(numbers: Iterable[Read]) -> dict[str, int]:
    """Private numbers that were missed or stand in harmless words, and how many of either would be told as unread."""
    private = [number for number in numbers if number.private]
    harmless = [number for number in private if number.true == "harmless_number"]
    missed = [number for number in private if number.true != "harmless_number" and number.true != number.taken]
    return {
        "missed": len(missed),
        "missed_told": sum(number.taken == "unknown" for number in missed),
        "harmless": len(harmless),
        "harmless_told": sum(number.taken == "unknown" for number in harmless),
    }


def shipped() -> str:
    """What the evaluator ships: recall, precision and n of the fresh sentences; with a prefix those of both halves."""
    sentences = corpus()
    rows: dict[str, dict[str, float]] = {}
    for half in reversed(_HALVES):
        prefix = "" if half == "fresh" else f"{half}_"
        for name, reading in by_class(read(said for said in sentences if said.half == half)).items():
            row = {f"{prefix}{key}": round(figure, 3) for key, figure in reading._asdict().items()}
            rows.setdefault(name, {}).update(row)
    return json.dumps(rows, indent=2) + "\n"


def main() -> None:
    """Print the figures of all halves, or write or check what is shipped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.talk", description=__doc__)
    modes = parser.add_mutually_exclusive_group()
    for name in ("--json", "--write", "--check"):
        modes.add_argument(name, action="store_true")
    given = parser.parse_args()
    if given.write:
        SHIPPED.write_text(shipped())
        return
    if given.check:
        raise SystemExit(f"{SHIPPED.name} is out of date: run --write" if SHIPPED.read_text() != shipped() else 0)
    numbers: dict[Half, list[Read]] = {
        half: list(read(said for said in corpus() if said.half == half)) for half in _HALVES
    }
    if given.json:
        told = {
            half: {"reading": {name: row._asdict() for name, row in by_class(rows).items()}, "not_read": not_read(rows)}
            for half, rows in numbers.items()
        }
        print(json.dumps(told))
    else:
        _print(numbers)


def _print(numbers: dict[Half, list[Read]]) -> None:
    columns = (f"{half} {figure}" for half in numbers for figure in ("recall", "precision", "n"))
    table = Table("class", *columns, padding=0)
    halves = [by_class(rows) for rows in numbers.values()]
    for name in halves[0]:
        table.add_row(name, *(cell for half in halves for cell in _cells(half[name])))
    console = Console(width=120)
    console.print(table)
    for half, rows in numbers.items():
        counts = not_read(rows)
        console.print(
            f"{half}: {counts['missed_told']} of {counts['missed']} missed private numbers are told as not read, and "
            f"{counts['harmless_told']} of {counts['harmless']} in harmless words"
        )


def _cells(reading: Reading) -> tuple[str, str, str]:
    return f"{reading.recall:.2f}", f"{reading.precision:.2f}", str(reading.n)


if __name__ == "__main__":
    main()
