"""The table of a room's failure modes: what `modes.toml` says of each, checked against the detectors beside it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from inspect import signature
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import ConfigDict, Field, ValidationError, create_model, model_validator

from tradefair.evaluation.modes.diagnosis import Detector, Seen, unchecked
from tradefair.evaluation.record import Record

Fact = Literal["quote", "price", "order", "offer", "payment", "outreach", "action", "looks", "talk", "protocol"]
"""The decision that a case judges; the last three are about the process and never merge with the others."""
Need = Literal["calls", "facts", "looks", "talk", "private", "agent_events"]

_AtLeast = Annotated[float, Field(gt=0)]


class Term(Record):
    """One way in which cases are enough: all that is named holds, each as "at least".

    `run`: consecutive rounds with a case; `share`: amount out of `of`; `parts`: numbers that the detector tells apart.
    """

    run: _AtLeast | None = None
    share: _AtLeast | None = None
    count: _AtLeast | None = None
    amount: _AtLeast | None = None
    parts: dict[str, float] = Field(default={})

    @model_validator(mode="after")
    def _says_something(self) -> Term:
        if not self.model_fields_set:
            raise ValueError("names none of run, share, count, amount and parts: it would always hold")
        return self

    def worded(self, unit: str) -> str:
        """In words, for people; `unit` is what the amount is counted in."""
        said = {
            "run": f"{self.run:g} rounds in a row" if self.run is not None else "",
            "count": f"at least {self.count:g}" if self.count is not None else "",
            "share": f"a share of at least {self.share:.0%}" if self.share is not None else "",
            "amount": f"at least {self.amount:g} {unit}" if self.amount is not None else "",
        }
        return " and ".join(
            [*filter(None, said.values()), *(f"{name} at least {k:g}" for name, k in self.parts.items())]
        )


class Mode(Record):
    """A row of `modes.toml`. A change of any number or meaning raises `version`.

    `sentence` is what a reader sees first: {count}, {of}, {share}, {amount}, {seat}, and words of the seat's role.
    `counts` and `of` say what is counted out of what, in `unit`. `judged`: roles, all where it is empty. With fewer
    than `least_of` opportunities nothing is judged; with least_of = 0 an empty `of` is good news. `raised`: any term
    holds. `fact`
    is the decision that a case judges, `level` whether a case is the cause or the damage that it did. `params` are what
    decides what a case is. `provoked_by` and `not_by` name the policies that show it and do not.
    """

    version: int
    sentence: str
    counts: str
    of: str
    unit: str
    judged: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    least_of: float = Field(default=1, ge=0)
    raised: tuple[Term, ...] = Field(min_length=1)
    fact: Fact
    level: Literal["cause", "damage"] = "cause"
    params: dict[str, Any] = Field(default={})
    provoked_by: str
    not_by: str

    @cached_property
    def threshold(self) -> str:
        """When the mode is raised, in words."""
        return ", or ".join(term.worded(self.unit) for term in self.raised)

    @property
    def process(self) -> bool:
        """Whether it is about the way of working, not about a decision of the market."""
        return self.fact in ("looks", "talk", "protocol")


def _no_problem(_seat: object) -> None:
    """Every seat can be judged."""


@dataclass(frozen=True)
class ModeTable:
    """The rows of a room in the order of its file, with their detectors; `digest` identifies the file's bytes.

    `problem` says of a seat why no mode can judge it, null where they can.
    """

    rows: Mapping[str, Mode]
    detectors: Mapping[str, Detector]
    params: Mapping[str, Mapping[str, Any]]
    digest: str
    problem: Callable[[Any], str | None] = _no_problem

    def detect(self, name: str, seat: object) -> Seen:
        """What the detector of a mode sees of a seat."""
        problem = self.problem(seat)
        if problem is not None:
            return unchecked(f"could not be computed: {problem}")
        return self.detectors[name](seat, **self.params[name])


MODE_WORDS = frozenset({"seat", "count", "of", "amount", "share", "unit"})
"""Placeholders that every sentence may have; others are phrases of the seat's role."""

NO_MODES = ModeTable({}, {}, {}, "")


def load_modes(
    package: str,
    detectors: Mapping[str, Detector],
    name: str = "modes.toml",
    *,
    problem: Callable[[Any], str | None] = _no_problem,
) -> ModeTable:
    """The table in the file `name` of a package; `problem` as in `ModeTable`.

    Raises ValueError, naming file and key, for a row without detector, a detector without row, an unknown word or a
    misspelt threshold: a mode that silently never fires is worse than a market that does not load.
    """
    text = files(package).joinpath(name).read_bytes()
    place = f"{package}/{name}"
    content = tomllib.loads(text.decode())
    if content.keys() != detectors.keys():
        lone = ", ".join(sorted(content.keys() ^ detectors.keys()))
        raise ValueError(f"{place}: these have a row or a detector, not both: {lone}")
    rows: dict[str, Mode] = {}
    params: dict[str, dict[str, Any]] = {}
    for key, row in content.items():
        try:
            rows[key] = Mode.model_validate(row)
            params[key] = _params(detectors[key], rows[key].params)
        except (ValidationError, ValueError) as fault:
            raise ValueError(f"{place} [{key}]: {fault}") from None
    return ModeTable(rows, dict(detectors), params, hashlib.blake2b(text, digest_size=8).hexdigest(), problem)


def _params(detector: Detector, said: Mapping[str, Any]) -> dict[str, Any]:
    """The row's params as the keyword arguments of its detector, checked against their annotations."""
    parameters = signature(detector).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    types = get_type_hints(detector, include_extras=True) if names else {}
    fields: dict[str, Any] = {name: (types[name], ...) for name in names}
    return dict(create_model("Params", __config__=ConfigDict(extra="forbid"), **fields).model_validate(said))
