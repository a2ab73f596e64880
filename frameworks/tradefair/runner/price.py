"""What a finding cost: the episode is replayed with the failure repaired, and the seat's first metric compared.

`tradefair evaluate TRACE --price N`. A price is of one repair against one named player: prices of a seat are
alternatives, never parts of a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tradefair.contract import SeatId
from tradefair.evaluation.diagnosing import references_of
from tradefair.evaluation.evaluate import Evaluation
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.modes.account import Account, closing
from tradefair.evaluation.modes.base_rates import ranked
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding, Price
from tradefair.evaluation.modes.table import Mode
from tradefair.evaluation.progress import Progress, watched
from tradefair.runner.replays import NotPriced, Repair, Replays
from tradefair.runner.tape import Amended

_MOST_FIRST = 3
ALL = "all"
"""Named as the player: every competent reference."""


def price(path: str | Path, finding: Finding, *, against: str | None = None) -> Price:
    """The price of a finding of this trace, in the unit of its seat's first primary metric.

    `against` is the policy that plays the repaired turns: by default the competent reference that agrees most with the
    seat elsewhere, with `all` every competent one as well (`spread`). Raises TraceError for a trace that cannot be
    replayed, ScenarioError for a policy that cannot play the seat; where the finding has no price, `reason` says why.
    """
    return priced(Replays(path), finding, against)


def priced(replays: Replays, finding: Finding, against: str | None = None) -> Price:
    """As `price`, over replays that several findings share."""
    mode, seat, unit = _mode(replays, finding.id), finding.seats[0], ""
    spread: dict[str, float] = {}
    player = against if against != ALL else None
    try:
        unit = replays.metric(seat).unit
        repair = _repair(replays, mode, finding)
        named = player or _nearest(replays, seat, repair)
        whole = replays.carried_on(seat, repair, named) if named else repair
        player = None if whole.amend else named
        amount = replays.price(seat, whole, player)
        if against == ALL and player is not None:
            spread = _spread(replays, seat, repair)
    except NotPriced as why:
        return Price(amount=None, unit=unit, repair=mode.repair, reason=str(why))
    notes = [
        "which plays as the seat elsewhere, and so on from there" if whole != repair else "",
        "other agents frozen" if any(other != seat for other in replays.frozen) else "",
    ]
    note = ", ".join(filter(None, notes)) or None
    return Price(amount=amount, unit=unit, repair=mode.repair, against=player, note=note, spread=spread)


def price_rounds(
    path: str | Path,
    seat: SeatId,
    *,
    rounds: Collection[int] = (),
    onwards_from: int | None = None,
    amend: Amended | None = None,
    player: str | None = None,
) -> float:
    """What a seat would have earned more, had other turns been played: the part of `price` below findings.

    `rounds`: in these the policy `player` (default: the nearest competent reference) plays. `onwards_from`: it plays
    from the turn of this event on, and `rounds` are only those that are not compared. `amend`: calls by event number,
    with other arguments or None for left out. Raises TraceError for a trace that cannot be replayed, NotPriced with the
    reason.
    """
    if not rounds and onwards_from is None and not amend:
        raise ValueError("name rounds, onwards_from or amend")
    replays, repair = Replays(path), Repair(frozenset(rounds), onwards_from, amend or {})
    return replays.price(seat, repair, None if amend else player or replays.nearest(seat, repair))


def with_prices(
    replays: Replays, evaluation: Evaluation, most: int, against: str | None = None, progress: Progress | None = None
) -> Evaluation:
    """The evaluation with its first `most` findings about an agent's seat priced, ranked again, and closed accounts.

    Raises ScenarioError for a policy that cannot play a seat.
    """
    diagnosis = evaluation.diagnosis
    if diagnosis is None:
        return evaluation
    # Of an episode in which all seats are scripted any of them may be meant.
    agents = set(replays.agents or replays.roles)
    chosen = [finding for finding in diagnosis.raised if agents.issuperset(finding.seats)][:most]
    prices: dict[tuple[str, SeatId], Price] = {}
    for finding in watched(chosen, progress, lambda finding: f"pricing {finding.id}"):
        prices[finding.id, finding.seats[0]] = priced(replays, finding, against)
    findings = [
        finding.model_copy(update={"price": prices.get((finding.id, finding.seats[0]))}) if finding.raised else finding
        for finding in diagnosis.findings
    ]
    core = replays.manifest.core
    findings = ranked(findings, references_of(core, evaluator_of(core.market)), replays.agents)
    seats = dict.fromkeys(finding.seats[0] for finding in chosen)
    findings += _accounts(replays, diagnosis, findings, list(seats or replays.agents[:1]))
    return evaluation._replace(diagnosis=diagnosis.model_copy(update={"findings": findings}))


def with_first_price(replays: Replays, evaluation: Evaluation, progress: Progress | None = None) -> Evaluation:
    """The evaluation in which the finding that comes first has its price, and closed accounts.

    A price moves its finding in the order; so the next one is priced until the first has a price, three at most. Raises
    TraceError for a trace that cannot be replayed.
    """
    found = evaluation
    for most in range(1, _MOST_FIRST + 1):
        found = with_prices(replays, evaluation, most, progress=progress)
        raised = found.diagnosis.raised if found.diagnosis is not None else []
        if not raised or raised[0].price is not None:
            break
    return found


def account_of(replays: Replays, seat: SeatId, findings: Sequence[Finding]) -> Account:
    """What the seat lost against the best competent reference on this seed, and what its findings explain of it.

    Raises NotPriced where no reference can play the seat.
    """
    metric, names = replays.metric(seat), replays.competent(seat)
    sign = 1 if metric.higher_is_better else -1
    results = {name: sign * replays.whole(seat, name) for name in names}
    if not results:
        raise NotPriced(f"no competent reference can play {seat}")
    best = max(names, key=results.__getitem__)
    own = [finding for finding in findings if finding.raised and finding.seats == [seat]]
    return Account(
        unit=metric.unit,
        reference=best,
        best=results[best],
        own=sign * replays.original(seat),
        prices={item.id: item.price.amount for item in own if item.price and item.price.amount is not None},
        costs={item.id: item.cost.amount for item in own if item.cost and item.cost.amount is not None},
        direct=frozenset(item.id for item in own if item.cost and item.cost.kind == "direct"),
    )


def _accounts(
    replays: Replays, diagnosis: Diagnosis, findings: Sequence[Finding], seats: Sequence[SeatId]
) -> list[Finding]:
    """The finding that closes the account of each seat; of a seat without a metric or a reference none."""
    closed: list[Finding] = []
    rank = len(diagnosis.raised)
    for seat in seats:
        try:
            finding = closing(seat, account_of(replays, seat, findings))
        except NotPriced:
            continue
        # Behind all others: it names no cause, and so nothing to mend.
        rank += finding.raised
        closed.append(finding.model_copy(update={"rank": rank}) if finding.raised else finding)
    return closed


def _mode(replays: Replays, name: str) -> Mode:
    """The row of a mode by the id of its findings; a market's own ids begin with its name."""
    own = evaluator_of(replays.kind.name).modes.rows
    return own.get(name.removeprefix(f"{replays.kind.name}.")) or GENERAL.rows[name]


def _repair(replays: Replays, mode: Mode, finding: Finding) -> Repair:
    """What is played otherwise, by the mode's row. Raises NotPriced where nothing can be."""
    if mode.repair == "none":
        raise NotPriced(mode.unpriced or "its repair is not known")
    if not finding.cases:
        raise NotPriced("it cites no event")
    seqs = finding.seqs or tuple(case.seq for case in finding.cases)
    rounds = frozenset(replays.event(seq)["round"] for seq in seqs)
    if mode.repair != "amend":
        return Repair(rounds, min(seqs) if mode.repair == "onwards" else None, events=frozenset(seqs))
    amend = evaluator_of(replays.kind.name).repairs.get(finding.id.removeprefix(f"{replays.kind.name}."))
    if amend is None:
        raise NotPriced(f"{replays.kind.name} does not say how to amend such a call")
    calls: dict[int, Mapping[str, Any] | None] = {}
    for case in finding.cases:
        facts = None if case.shown_by is None else replays.event(case.shown_by).get("facts")
        # A lapse has no arguments, and no call of its own could take its place.
        if replays.event(case.seq)["event"] == "tool_called":
            calls[case.seq] = amend(case, replays.event(case.seq)["arguments"], facts)
    if not calls:
        raise NotPriced("it cites no call")
    return Repair(rounds, amend=calls, events=frozenset(seqs))


def _nearest(replays: Replays, seat: SeatId, repair: Repair) -> str | None:
    """The reference that plays the repaired turns; None where calls are amended and there is none."""
    try:
        return replays.nearest(seat, repair)
    except NotPriced:
        if repair.amend:
            return None
        raise


def _spread(replays: Replays, seat: SeatId, repair: Repair) -> dict[str, float]:
    """The price against each competent reference that can take these turns."""
    found: dict[str, float] = {}
    for name in replays.competent(seat):
        try:
            found[name] = replays.price(seat, replays.carried_on(seat, repair, name), name)
        except NotPriced:
            continue
    return found
