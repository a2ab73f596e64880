"""What a page of runs that no rules have made is asked for; the wing *foreign* writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.wings import of_wing


class Asked(NamedTuple):
    """What foreign runs are held against: a map, and a person's labels (passed or not) by run id."""

    map: Evaluator | None = None
    labels: Mapping[str, bool] = {}


NOTHING_ASKED = Asked()


def asked_of(map_file: Path | None, labels: Path | None = None) -> Asked:
    """A map and labels from their files. Raises ScenarioError, also for a line of labels that is none."""
    if map_file is None and labels is None:
        return NOTHING_ASKED
    return Asked(*of_wing("foreign.run_page:map_and_labels")(map_file, labels))
