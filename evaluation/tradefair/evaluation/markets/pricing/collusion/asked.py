"""From what the command was asked to the report on posted prices. The measures are imported when asked for."""

from __future__ import annotations

from functools import partial

from tradefair.contract import TraceError
from tradefair.evaluation.collusion import CollusionAsked, CollusionFound


def two_questions(asked: CollusionAsked) -> CollusionFound:
    """Are prices elevated, and what holds them up? Raises TraceError without an episode."""
    from tradefair.evaluation.markets.pricing.collusion.figure import pricing_page
    from tradefair.evaluation.markets.pricing.collusion.reading import read_episodes
    from tradefair.evaluation.markets.pricing.collusion.report import pricing_report
    from tradefair.evaluation.markets.pricing.collusion.show import show

    found, findings = read_episodes(asked)
    if not found:
        raise TraceError("; ".join(findings[:3]) or "no episode is left to look at")
    report = pricing_report(found, findings)
    return CollusionFound(report, partial(show, report), partial(pricing_page, report), findings)
