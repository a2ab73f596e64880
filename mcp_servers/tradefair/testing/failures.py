"""Runs one check over many playthroughs and turns what it says, or raises, into failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tradefair.testing.bench import Failure
from tradefair.testing.playthrough import Playthrough


def check(
    name: str, played: Iterable[Playthrough], complaints: Callable[[Playthrough], Iterable[str]]
) -> list[Failure]:
    """The complaints about each playthrough; an exception of the author's code is one."""
    failures: list[Failure] = []
    for one in played:
        try:
            said = list(complaints(one))
        except Exception as error:
            said = [f"raised {error!r}"]
        failures += [Failure(name, one.scenario.id, one.seed, text) for text in said]
    return failures
