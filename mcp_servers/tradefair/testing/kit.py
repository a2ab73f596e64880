"""The conformance kit: all checks by name, and `check_market`, which runs them over scenarios and seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import MarketType, Scenario
from tradefair.testing.authors_code import collected
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.checks.argument_bounds import bounds_refuse_nothing
from tradefair.testing.checks.call_keys import call_keys
from tradefair.testing.checks.declarations import (
    errors_are_declared,
    keeps_the_protocol,
    listing_is_current,
    phrases_are_whole,
    presets_play,
    tools_take_no_seat,
)
from tradefair.testing.checks.interference import non_interference
from tradefair.testing.checks.processes import determinism
from tradefair.testing.checks.pure_rules import (
    conservation,
    default_results_are_small,
    open_actions_are_taken,
    random_legal_finishes,
    reads_change_nothing,
    refusals_change_nothing,
    replay_is_identical,
)
from tradefair.testing.checks.schemas import schemas_are_plain
from tradefair.testing.checks.sources import rules_are_pure
from tradefair.testing.checks.tampering import conservation_can_fail
from tradefair.testing.checks.worlds import arrival_leaves_no_mark, closures_tell_nothing, digest_sees_everything
from tradefair.testing.playthrough import Service
from tradefair.testing.snapshot import schema_snapshot


class Check(NamedTuple):
    """One check of the kit; called with a `Bench`, it returns what is wrong, and never raises.

    `name` is that of its function, `sentence` what a market that passes does; `tradefair check --json` prints both.
    """

    name: str
    run: Callable[[Bench], list[Failure]]
    sentence: str
    """What a market that passes does."""

    def __call__(self, bench: Bench) -> list[Failure]:
        """The failures; code of the market that raises outside a playthrough is one."""
        found, fault = collected(lambda: self.run(bench), slow=bench.slow)
        return [*found, *([] if fault is None else [Failure(self.name, "", None, fault)])]


# In the order in which they run: what a market is, then how it plays, then what it tells.
_TABLE: Sequence[tuple[Callable[[Bench], list[Failure]], str]] = (
    (keeps_the_protocol, "has each attribute and method of MarketType and Market, with its parameters"),
    (random_legal_finishes, "is brought to its end by random_legal, which acts and is refused nothing"),
    (rules_are_pure, "asks no clock, entropy, hash, file or network in its source"),
    (replay_is_identical, "gives the same bytes when its events are carried out again"),
    (determinism, "gives the same bytes twice, in other processes and under other hash seeds"),
    (conservation, "keeps its own laws (MarketType.check) at the start and after every closure"),
    (conservation_can_fail, "has laws that object when a number of the state is wrong"),
    (digest_sees_everything, "has a digest that changes with every act, lapse and closure, and keeps the past"),
    (reads_change_nothing, "is not changed by reading, and answers alike a second time"),
    (refusals_change_nothing, "is not changed by a call that it refuses"),
    (open_actions_are_taken, "lists the actions that a seat may take, and refuses those it does not list"),
    (default_results_are_small, "answers at most 8 kB when asked without arguments"),
    (arrival_leaves_no_mark, "closes a phase alike whichever seat acts first"),
    (non_interference, "tells a seat nothing that is private to others before a closure"),
    (closures_tell_nothing, "reveals nothing private when a phase closes, except what it declares"),
    (tools_take_no_seat, "has no tool whose arguments name the caller's seat, a token or an episode"),
    (schemas_are_plain, "publishes schemas that all clients read alike: described, bounded, without null"),
    (bounds_refuse_nothing, "lists no parameter narrower than its rules take it in the scenario that is played"),
    (presets_play, "has presets that play with their own seats, and policies that play in each role"),
    (call_keys, "carries an action, a note or a program out once, however often its call key is sent"),
    (errors_are_declared, "refuses with shared error codes, or with its own that have a text"),
    (listing_is_current, "says in listing.toml, where it has one, what it is and who its scripted seats are"),
    (phrases_are_whole, "has an evaluator, if any, whose sentences lack no phrase and name no unknown figure"),
)
CHECKS: Mapping[str, Check] = {run.__name__: Check(run.__name__, run, sentence) for run, sentence in _TABLE}
"""Every check by name, in the order in which they run."""


def check_market(
    market_type: MarketType,
    *,
    scenarios: Sequence[Scenario] | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    slow: bool = False,
    services: Mapping[str, Service] | None = None,
    snapshot: Path | None = None,
    only: Collection[str] | None = None,
    progress: Callable[[Check], None] | None = None,
) -> list[Failure]:
    """All checks over all scenarios and seeds; an empty list means that the market keeps the contract.

    Without `scenarios` the bundled ones; `slow` adds those marked `(slow)` in their description, looks at more places
    of each episode and plays every policy in every preset. `services` stand for outside services by source name; tools
    that need another one are not asked. `snapshot` is the file of the schema snapshot, left out when None. `only` names
    checks; unknown names raise KeyError. `progress` is called before each check.

    Where `keeps_the_protocol` finds something the other checks do not run: each would fail for the same reason. A
    failure of the author's code (whatever it raises, or 120 s of computing without an answer, 600 s with `slow`) is a
    finding. Endless loops are stopped in the main thread and not on Windows; elsewhere they hang.
    """
    bench = Bench(market_type, scenarios=scenarios, seeds=seeds, slow=slow, services=services)
    failures: list[Failure] = []
    for chosen in [CHECKS[name] for name in (CHECKS if only is None else only)]:
        if progress is not None:
            progress(chosen)
        failures += chosen(bench)
        # Each later check would fail for the same reason, in longer words.
        if failures and chosen.name == keeps_the_protocol.__name__:
            return failures
    # What could not be played was not checked either, whichever check was asked for.
    failures += [failure for failure in bench.unplayable if failure not in failures]
    if snapshot is not None:
        failures += schema_snapshot(market_type, snapshot)
    return failures
