"""Whether a trace keeps the laws of the market: every breach is a finding.

It uses the facts alone, not the rules' own check: a trace may be damaged, made by hand, or by another version. Names
from the trace are cut to 60 characters in messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tradefair.contract import SeatId
from tradefair.evaluation.markets.marketplace.play import MarketPlay
from tradefair.evaluation.markets.marketplace.truth import Truth
from tradefair.marketplace.engine.facts import EndingFacts, ProposalFacts, SettlementFacts
from tradefair.marketplace.engine.ledger import ESCROW
from tradefair.marketplace.engine.proposals import EDGES, ProposalState

Breach = tuple[int | None, str]
"""The event that holds a breach, None where several together do, and a sentence."""


def audit(play: MarketPlay, truth: Truth) -> Iterator[Breach]:
    """All breaches: of payments, of proposal states, of utilities, and of ledger and totals at the end."""
    yield from _payments(play)
    yield from _states(play)
    yield from _worths(play, truth)
    if play.ending is not None and play.reading.ending is not None:
        for message in (*_ledger(play, play.ending), *_totals(play, truth, play.ending)):
            yield play.reading.ending.seq, message


def _payments(play: MarketPlay) -> Iterator[Breach]:
    """A proposal is paid once, by its addressee, its total, to its business or to escrow, which pays out once."""
    moved: set[tuple[str, str]] = set()
    for _, seq, facts in play.rounds:
        for settlement in facts.settlements:
            known = play.proposals.get(settlement.proposal)
            # Reported where the trace was read.
            if known is None:
                continue
            name = settlement.proposal[:60]
            if (settlement.proposal, settlement.kind) in moved:
                yield seq, f"{name}: {settlement.kind} twice"
            # After the test, and also for a repeated one: a third is reported as well.
            moved.add((settlement.proposal, settlement.kind))
            if settlement.cents != known.facts.total:
                yield seq, f"{name}: {settlement.cents} cents moved for a total of {known.facts.total}"
            if (settlement.payer, settlement.payee) != _accounts(play, settlement, known.facts):
                yield seq, f"{name}: {settlement.kind} between the wrong accounts"
            if settlement.kind != "payment" and (settlement.proposal, "payment") not in moved:
                yield seq, f"{name}: {settlement.kind} of what nobody paid"
            if known.visible is None:
                yield seq, f"{name}: paid, and never delivered"


def _accounts(play: MarketPlay, settlement: SettlementFacts, proposal: ProposalFacts) -> tuple[str, str]:
    """The accounts between which the money has to move: payer, payee."""
    escrow = play.scenario is not None and play.scenario.escrow
    match settlement.kind:
        case "payment":
            return proposal.customer, ESCROW if escrow else proposal.business
        case "release":
            return ESCROW, proposal.business
        case "refund":
            return ESCROW, proposal.customer


def _states(play: MarketPlay) -> Iterator[Breach]:
    """States move along their edges only, and exactly the settled proposals become paid."""
    now: dict[str, ProposalState] = {}
    paid: set[str] = set()
    for _, seq, facts in play.rounds:
        for step in facts.states:
            before = now.get(step.proposal)
            if (before is None and step.state != "in_transit") or (
                before is not None and step.state not in EDGES[before]
            ):
                yield seq, f"{step.proposal[:60]}: {before or 'nothing'} became {step.state}"
            now[step.proposal] = step.state
            if step.state == "paid":
                paid.add(step.proposal)
    settled = {name for name, known in play.proposals.items() if "payment" in known.settled}
    # In both directions: paid without money, and money without a payment.
    for name in sorted(paid ^ settled):
        yield (
            None,
            f"{name[:60]}: {'paid, and no money moved' if name in paid else 'money moved, and it was never paid'}",
        )


def _worths(play: MarketPlay, truth: Truth) -> Iterator[Breach]:
    """u(i,p) = V·F − total holds for every proposal."""
    for name, known in play.proposals.items():
        facts = known.facts
        value = truth.matches[truth.indices[facts.customer]].value
        # By the facts' own fit: whether that is right cannot be judged without the data.
        if facts.utility != value * facts.fits - facts.total:
            yield (
                known.seq,
                f"{name[:60]}: worth {facts.utility} cents, by its value and total {value * facts.fits - facts.total}",
            )


def _ledger(play: MarketPlay, ending: EndingFacts) -> Iterator[str]:
    """The accounts sum to 0 and follow from the entries, and the entries are budgets and the settlements, no others."""
    # A counter reads 0 for accounts that no entry names.
    balances = Counter[str]()
    for entry in ending.ledger:
        balances[entry.payer] -= entry.cents
        balances[entry.payee] += entry.cents
    if sum(ending.balances.values()):
        yield f"all accounts together hold {sum(ending.balances.values())} cents, not 0"
    wrong = sorted(
        account for account in {*balances, *ending.balances} if balances[account] != ending.balances.get(account, 0)
    )
    if wrong:
        yield f"the balance of {wrong[0][:60]} is not that of its entries ({len(wrong)} such accounts)"
    # As multisets: two equal entries need two equal settlements.
    booked = Counter(
        (entry.payer, entry.payee, entry.cents, entry.reason) for entry in ending.ledger if entry.reason != "budget"
    )
    moves = (move for closed in play.rounds for move in closed.facts.settlements)
    settled = Counter((move.payer, move.payee, move.cents, move.proposal) for move in moves)
    alone = sum((booked - settled).values()), sum((settled - booked).values())
    if any(alone):
        yield f"{alone[0]} entries of the ledger and {alone[1]} settlements of the rounds have no counterpart"


def _totals(play: MarketPlay, truth: Truth, ending: EndingFacts) -> Iterator[str]:
    """Purchases, revenue and mail as the rules counted them are those that the rounds' facts give.

    Purchases and revenue of each seat, and the conservation of mail: what was sent arrived or is void.
    """
    paid = Counter[SeatId]()
    received = Counter[SeatId]()
    for known in play.proposals.values():
        paid[known.facts.customer] += known.paid
        kinds = known.settled
        # With escrow a business has revenue when its money is released, without it at the payment.
        received[known.facts.business] += known.facts.total * ("release" in kinds or _directly(play, kinds))
    for seat, facts in ending.customers.items():
        if facts.purchases != paid[seat]:
            yield f"{seat[:60]} made {facts.purchases} purchases, by the settlements {paid[seat]}"
    for seat, facts in ending.businesses.items():
        if facts.revenue != received[seat]:
            yield f"{seat[:60]} took in {facts.revenue} cents, by the settlements {received[seat]}"
    sent, arrived, void = ending.messages_sent, ending.messages_delivered, ending.messages_void
    if sent != arrived + void:
        yield f"of {sent} messages {arrived} arrived and {void} are void"


def _directly(play: MarketPlay, kinds: dict[str, tuple[int, int]]) -> bool:
    return "payment" in kinds and not (play.scenario is not None and play.scenario.escrow)
