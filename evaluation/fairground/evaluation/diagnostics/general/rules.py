"""Words and thresholds of `general.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict

from fairground.evaluation.diagnostics.thresholds import DetectorRules, bundled_rules

__all__ = ["GeneralDetectorRules", "GeneralRules", "general_rules"]


class GeneralDetectorRules(DetectorRules):
    """A general diagnostic: what it finds, what is undefined, what is counted, who provokes it and who does not."""

    what: str
    undefined: str
    unit: str
    positive: str
    negative: str


class GeneralRules(BaseModel):
    """The whole of `general.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    detectors: Mapping[str, GeneralDetectorRules]


@cache
def general_rules() -> GeneralRules:
    """The bundled thresholds."""
    return bundled_rules("fairground.evaluation.diagnostics.general", "general.toml", GeneralRules)
