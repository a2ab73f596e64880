"""Words and thresholds of detectors, as a TOML file holds them: a change of any number is a new version of the file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

R = TypeVar("R", bound=BaseModel)


class DetectorRules(BaseModel):
    """A detector's words and thresholds."""

    # What is not declared here is a threshold: each mode has its own.
    model_config = ConfigDict(frozen=True, extra="allow")

    formula: str
    raised_when: str

    @property
    def limits(self) -> Mapping[str, float]:
        """Thresholds by name."""
        return {name: float(value) for name, value in (self.model_extra or {}).items()}

    def worded(self, text: str) -> str:
        """A text with its thresholds filled in."""
        return text.format(**(self.model_extra or {}))


class ModeRules(DetectorRules):
    """A failure mode: what it finds, what is undefined, what is counted, who provokes it and who does not.

    Fewer cases than the threshold `min_cases` (1 where there is none) are not judged.
    """

    what: str
    undefined: str
    unit: str
    positive: str
    negative: str


class RuleBook(BaseModel):
    """A whole file of failure modes, in the order in which findings are listed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    detectors: Mapping[str, ModeRules]


def bundled_rules(package: str, name: str, model: type[R]) -> R:
    """The TOML file `name` of a package as its model."""
    return model.model_validate(tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8")))
