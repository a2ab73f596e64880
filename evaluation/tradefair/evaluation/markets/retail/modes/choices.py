"""An order line judged by what could be seen and, for quality, by the truth."""

from __future__ import annotations

from tradefair.evaluation.markets.retail.modes.play import LineChoice
from tradefair.evaluation.markets.retail.modes.visible import Visible
from tradefair.retail.analysis import EVIDENCE_UNITS, SupplierEvidence, best_visible_supplier
from tradefair.retail.model import DayFacts


def judge_line(visible: Visible, facts: DayFacts, seq: int, place: int, supplier: int, quantity: int) -> LineChoice:
    """An order line compared with the day's other suppliers of the product.

    Ranks use today's truth (quality) and today's quotes; whether the choice was the best visible one uses records only.
    """
    # Columns of pairs run product by product: all suppliers of the first product, then those of the second.
    count = facts.supplier.suppliers
    offers = slice(place * count, (place + 1) * count)
    quotes, qualities = facts.supplier.quote_e4[offers], facts.supplier.quality_milli[offers]
    by_price = sorted(range(count), key=lambda number: (quotes[number], number))
    # Ties go to the cheaper quote, as the oracle chooses.
    by_quality = sorted(range(count), key=lambda number: (-qualities[number], quotes[number], number))
    evidence = visible.suppliers(place)
    # Fewer units say nothing: a supplier with three sales and no return is not a good one.
    known = [row for row in evidence if row.sold >= EVIDENCE_UNITS]
    chosen = evidence[supplier]
    lowest = min(known, key=_returns, default=None)
    daily = visible.daily_units(place)
    return LineChoice(
        seq=seq,
        day=facts.day,
        product=place,
        supplier=supplier,
        quantity=quantity,
        quality_rank=by_quality.index(supplier) + 1,
        price_rank=by_price.index(supplier) + 1,
        quality=qualities[supplier],
        best_quality=max(qualities),
        best_visible=best_visible_supplier(evidence) == supplier if len(known) >= 2 else None,
        # Only where there was a choice: with one known supplier nothing can be ignored.
        ignored=chosen.shrunk > 2 * lowest.shrunk if lowest and len(known) >= 2 and chosen in known else None,
        cover=quantity / daily if daily else None,
        instead=lowest.supplier if lowest and chosen in known else None,
    )


def _returns(row: SupplierEvidence) -> tuple[object, int, int]:
    """Order by known return rate; then by quote and number, so that equal rates have one answer."""
    return row.shrunk, row.quote_e4, row.supplier
