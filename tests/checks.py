"""The checks of the conformance kit as parameters of a test, each of the kind that it is of for every market."""

from __future__ import annotations

import pytest

from tradefair.testing import CHECKS

# They begin an episode for each seat, preset, open action or law.
_MANY = {
    *("non_interference", "closures_tell_nothing", "presets_play"),
    *("open_actions_are_taken", "tools_take_no_seat", "conservation_can_fail"),
}


def _marks(name: str) -> list[pytest.MarkDecorator]:
    if name == "determinism":  # it plays again in processes with other hashes
        return [pytest.mark.process]
    return [pytest.mark.many] if name in _MANY else []


HERE = pytest.param([name for name in CHECKS if name != "determinism"], id="here", marks=pytest.mark.many)
AGAIN = pytest.param(["determinism"], id="determinism", marks=pytest.mark.process)
each_part = pytest.mark.parametrize("only", [HERE, AGAIN])
"""Above a test of the whole kit: what is played here, and what is played again in other processes."""

CHECKED = [pytest.param(name, marks=_marks(name)) for name in CHECKS]
