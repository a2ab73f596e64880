"""From what the command was asked to the order book's report. The measures are imported when asked for."""

from __future__ import annotations

from functools import partial

from tradefair.contract import TraceError
from tradefair.evaluation.collusion import CollusionAsked, CollusionFound


def levels_beside_references(asked: CollusionAsked) -> CollusionFound:
    """Levels of the traces beside zi_c and zip on every seat. Raises TraceError without an episode."""
    from tradefair.evaluation.markets.order_book.collusion.figure import order_book_page
    from tradefair.evaluation.markets.order_book.collusion.reading import read_episodes
    from tradefair.evaluation.markets.order_book.collusion.report import order_book_report
    from tradefair.evaluation.markets.order_book.collusion.show import show

    found, arms, findings = read_episodes(asked)
    if not found:
        raise TraceError("; ".join(findings[:3]) or "no episode is left to look at")
    # Folders that were found next to the traces were not asked for: what is wrong with them is no finding.
    findings += arms.findings if asked.references_named else []
    report = order_book_report(found, arms, findings)
    return CollusionFound(report, partial(show, report), partial(order_book_page, report), findings)
