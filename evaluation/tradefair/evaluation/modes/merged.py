"""One fact, one finding: which of several raised findings tells a decision that all of them judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from tradefair.evaluation.modes.diagnosis import Case
from tradefair.evaluation.modes.judged import Sight


def fact_of(sight: Sight, case: Case) -> Hashable:
    """What a case is about, the same for every mode that judges it.

    A decision of the market is told once per seat, round and object. The process is told once per call: two calls of a
    round may both be refused, and they are two facts.
    """
    if sight.mode.process:
        return sight.seat, sight.mode.fact, case.seq
    return sight.seat, case.fact or sight.mode.fact, case.round, case.about


def merge(sights: Sequence[Sight]) -> None:
    """Leave every fact to one raised finding; one that keeps less than half of its cases is merged as a whole.

    Causes come before damage (a number off by ten before the profit that it missed), then the order of `sights`: the
    market's modes before the general ones, each table from specific to broad.
    """
    told: dict[Hashable, tuple[Sight, int]] = {}
    raised = [sight for sight in sights if sight.status == "raised"]
    # The sort is stable, so that the order of the tables decides between two of one level.
    for sight in sorted(raised, key=lambda sight: sight.mode.level == "damage"):
        facts = [fact_of(sight, case) for case in sight.seen.cases]
        sight.gone = {place for place, fact in enumerate(facts) if fact in told}
        takers: Counter[str] = Counter()
        for place in sight.gone:
            teller, where = told[facts[place]]
            takers[teller.id] += 1
            # Two modes that judge one decision often say one half of a sentence alike: a reader needs the other half.
            known = teller.seen.cases[where].because
            new = "; ".join(clause for clause in sight.seen.cases[place].because.split("; ") if clause not in known)
            if new:
                teller.also.setdefault(where, []).append(new)
        if 2 * len(sight.gone) > len(facts):
            sight.status = "merged"
            sight.note = f"told by {' and '.join(name for name, _ in takers.most_common(2))}"
            # Its own sentences stay readable there and here; as it is no finding, it keeps its cases.
            sight.gone = set()
            continue
        for place, fact in enumerate(facts):
            told.setdefault(fact, (sight, place))
