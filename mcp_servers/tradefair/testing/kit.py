"""The conformance kit: all checks by name, and `check_market`, which runs them over scenarios and seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tradefair.contract.market import MarketType
from tradefair.contract.scenario import Scenario
from tradefair.testing.bench import Bench, Failure, Service
from tradefair.testing.call_keys import call_keys
from tradefair.testing.interference import non_interference
from tradefair.testing.processes import determinism
from tradefair.testing.rules_checks import (
    conservation,
    default_results_are_small,
    random_legal_finishes,
    reads_change_nothing,
    refusals_change_nothing,
    replay_is_identical,
)
from tradefair.testing.snapshot import schema_snapshot

CHECKS: Mapping[str, Callable[[Bench], list[Failure]]] = {
    check.__name__: check
    for check in (
        random_legal_finishes,
        replay_is_identical,
        determinism,
        conservation,
        reads_change_nothing,
        refusals_change_nothing,
        default_results_are_small,
        non_interference,
        call_keys,
    )
}
"""Every check by name; each takes a `Bench` and answers what is wrong."""


def check_market(
    market_type: MarketType,
    *,
    scenarios: Sequence[Scenario] | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    slow: bool = False,
    services: Mapping[str, Service] | None = None,
    snapshot: Path | None = None,
    only: Collection[str] | None = None,
) -> list[Failure]:
    """All checks over all scenarios and seeds; an empty list means that the market keeps the contract.

    Without `scenarios` the bundled ones, those marked `(slow)` in their description only with `slow`. `services` stand
    for outside services by source name; tools that need another one are not asked. `snapshot` is the file of the
    schema snapshot, left out when None. `only` names checks; unknown names raise KeyError.
    """
    bench = Bench(market_type, scenarios=scenarios, seeds=seeds, slow=slow, services=services)
    failures: list[Failure] = []
    for name in CHECKS if only is None else only:
        failures += CHECKS[name](bench)
    if only is not None and "random_legal_finishes" not in only:
        failures += bench.unplayable  # what could not be played was not checked either
    if snapshot is not None:
        failures += schema_snapshot(market_type, snapshot)
    return failures
