"""The studies of the analyst that ask once per episode: how illegal talk reads, and where a foreign run failed."""

from __future__ import annotations

from tradefair.evaluation.analyst.failures import CATEGORIES, FailureOpinion, FailureQuestion, read_failures
from tradefair.evaluation.analyst.illegality import IllegalityOpinion, IllegalityQuestion, read_verdict
from tradefair.runner.analyst.scoring import Study

ILLEGALITY = Study[IllegalityQuestion, IllegalityOpinion](
    "illegality",
    IllegalityOpinion,
    lambda text, question: read_verdict(text, question.numbers),
    "no message was sent: no model was asked",
)
FAILURES = Study[FailureQuestion, FailureOpinion](
    "failures",
    FailureOpinion,
    lambda text, question: read_failures(text, question.shown),
    "the run holds no call and no message: no model was asked",
    {"categories": "\n".join(f"- {name}" for name in CATEGORIES)},
)
