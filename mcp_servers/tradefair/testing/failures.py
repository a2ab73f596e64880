"""Turns what a check says of a market, or raises, into failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tradefair.testing.authors_code import collected
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.playthrough import Playthrough


def check(
    name: str, bench: Bench, played: Iterable[Playthrough], complaints: Callable[[Playthrough], Iterable[str]]
) -> list[Failure]:
    """The complaints about each playthrough as failures of the check `name`, with scenario and seed.

    What the author's code raises in one playthrough is a failure too, and the next playthrough is still checked.
    """
    failures: list[Failure] = []
    for playthrough in played:
        # The default binds the loop's value: a plain closure would see the last playthrough.
        texts, fault = collected(lambda playthrough=playthrough: complaints(playthrough), slow=bench.slow)
        texts += [] if fault is None else [fault]
        failures += [Failure(name, playthrough.scenario.id, playthrough.seed, text) for text in texts]
    return failures


def check_once(name: str, bench: Bench, complaints: Callable[[Bench], Iterable[str]]) -> list[Failure]:
    """The complaints about the market as a whole, as failures of the check `name` without scenario and seed."""
    texts, fault = collected(lambda: complaints(bench), slow=bench.slow)
    return [Failure(name, "", None, text) for text in (*texts, *([] if fault is None else [fault]))]
