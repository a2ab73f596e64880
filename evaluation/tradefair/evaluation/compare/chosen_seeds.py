"""The plan of a series that left seeds out: which seeds its seat had something to win on, and which were skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradefair.contract import TraceError
from tradefair.contract.text import clean_line
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.evaluation.record import Record
from tradefair.files.user_files import read_regular

PLAN = "seeds.json"
"""The file in a series' folder, beside its traces."""
_MAX_BYTES = 2_000_000
_SHOWN = 8

_Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**63)], ...], Field(max_length=100_000)]
_Name = Annotated[str, Field(max_length=200)]


class ChosenSeeds(Record):
    """Seeds that are played in a seat and seeds that were skipped since it had nothing to win there.

    `policy` played each of them once in the seat to find that out: the choice knows nothing of the agent.
    """

    scenario: _Name
    seat: _Name
    policy: _Name
    seeds: _Seeds
    skipped: _Seeds

    @property
    def sentence(self) -> str:
        """What a comparison says of it, without a full stop."""
        few = ", ".join(map(str, self.skipped[:_SHOWN])) + (", …" if len(self.skipped) > _SHOWN else "")
        tried = len(self.skipped) + len(self.seeds)
        seat, policy = clean_line(self.seat)[:60], clean_line(self.policy)[:60]
        return f"skipped {len(self.skipped)} of {tried} seeds on which {seat} had nothing to win, by {policy}: {few}"


class _Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["tradefair.seeds/1"] = Field(default="tradefair.seeds/1", alias="schema")
    chosen: Annotated[tuple[ChosenSeeds, ...], Field(max_length=1_000)]


def write_chosen(folder: Path, chosen: ChosenSeeds) -> None:
    """Add a choice to the plan of a folder. Raises StorageUnavailable where it cannot be written."""
    plan = _Plan(chosen=tuple(dict.fromkeys([*chosen_in(folder), chosen])))
    write_whole(folder / PLAN, [plan.model_dump_json(by_alias=True, indent=1).encode(), b"\n"])


def chosen_in(folder: Path) -> Iterator[ChosenSeeds]:
    """The choices of a folder's plan; none where there is no plan that can be read."""
    try:
        yield from _Plan.model_validate_json(read_regular(folder / PLAN, _MAX_BYTES)).chosen
    # A plan only adds to a comparison: a stranger's broken one must not end it.
    except (TraceError, OSError, ValidationError):
        return
