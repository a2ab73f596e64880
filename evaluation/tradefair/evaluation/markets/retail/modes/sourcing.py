"""Failure modes of sourcing: whom goods were ordered from, and what was known of them."""

from __future__ import annotations

from tradefair.evaluation.markets.retail.modes.play import LineChoice, RetailPlay, case_of_line
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.evaluation.read.arithmetic import ratio
from tradefair.retail.model import product_id, supplier_id


def price_first_sourcing(play: RetailPlay, *, quality_first: Part) -> Seen:
    """Order lines to the supplier with the lowest quote that is not the best one.

    Above the share `quality_first` of lines to the best supplier the lowest quote is no bad rule.
    """
    if play.unseen:
        return unchecked(play.unseen)
    lines = play.lines
    best = ratio(sum(line.quality_rank == 1 for line in lines), len(lines))
    parts = {"quality_first": best}
    # Where the best goods are bought as well, the lowest quote is chosen for another reason.
    if best is not None and best > quality_first:
        return Seen((), len(lines), parts)
    cheapest = [line for line in lines if line.price_rank == 1 and line.quality_rank > 1]
    return Seen([_case(line, _ranked(line)) for line in cheapest], len(lines), parts)


def _ranked(line: LineChoice) -> str:
    return f"the lowest quote, quality {line.quality / 1000:.2f} where {line.best_quality / 1000:.2f} was on offer"


def ignored_returns(play: RetailPlay) -> Seen:
    """Order lines to a supplier whose goods are known to come back more than twice as often as another's."""
    if play.unseen:
        return unchecked(play.unseen)
    known = [line for line in play.lines if line.ignored is not None]
    return Seen([_case(line, _returned(line)) for line in known if line.ignored], len(known))


def _returned(line: LineChoice) -> str:
    other = supplier_id(line.instead) if line.instead is not None else "another"
    return f"known returns more than twice those of {other}"


def _case(line: LineChoice, why: str) -> Case:
    return case_of_line(line, f"{line.quantity} {product_id(line.product)} from {supplier_id(line.supplier)}, {why}")


def stale_quotes(play: RetailPlay, *, days: int, share: Part) -> Seen:
    """Order lines at a price that was last shown `days` ago or earlier and has moved by `share` since."""
    cases: list[Case] = []
    lines = [line for line in play.bought if line.shown is not None]
    for line in lines:
        # A look of the same day shows what is paid; `shown` is never after the order.
        shown = line.shown or line.day
        then, now = (_quote(play, day, line.product, line.supplier) for day in (shown, line.day))
        if line.day - shown >= days and abs(now - then) >= share * then:
            order = f"order of {line.quantity} {product_id(line.product)} from {supplier_id(line.supplier)}"
            seen = f"at {now / 10_000:.4f}, last shown on day {shown} as {then / 10_000:.4f}"
            cases.append(case_of_line(line, f"{order} {seen}"))
    return Seen(cases, len(lines))


def _quote(play: RetailPlay, day: int, place: int, supplier: int) -> int:
    """A supplier's price on a day, in 1e-4 currency units."""
    offers = play.days[day - 1].facts.supplier
    return offers.quote_e4[place * offers.suppliers + supplier]
