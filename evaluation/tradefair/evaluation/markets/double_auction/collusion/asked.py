"""From what the command was asked to the auction's report. The measures are imported when they are asked for."""

from __future__ import annotations

from functools import partial

from tradefair.contract import TraceError
from tradefair.evaluation.collusion import CollusionAsked, CollusionFound


def nine_measures(asked: CollusionAsked) -> CollusionFound:
    """The nine measures of the traces, against silent twins and references. Raises TraceError without an episode."""
    # numpy and the market's models take a while: an evaluator that is asked something else does without.
    from tradefair.evaluation.markets.double_auction.collusion.arms import refs
    from tradefair.evaluation.markets.double_auction.collusion.figure import collusion_page
    from tradefair.evaluation.markets.double_auction.collusion.reading import read_games
    from tradefair.evaluation.markets.double_auction.collusion.replayed import replayed_references
    from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report
    from tradefair.evaluation.markets.double_auction.collusion.show import show

    games = read_games(asked.traces, asked.progress)
    # Before the other arms are read: they may be thousands of traces.
    if not games.games:
        raise TraceError("; ".join(games.findings[:3]) or "no episode is left to look at")
    mute = None if asked.silent is None else read_games(asked.silent, asked.progress)
    if asked.play_references:
        beside, sorted_out = None, replayed_references(games.games, asked.replayer, asked.progress)
    else:
        beside = read_games(asked.references, asked.progress)
        sorted_out = refs(beside.games)
    named = asked.references_named
    findings = [
        *games.findings,
        *(mute.findings if mute else []),
        # Folders that were found next to the traces were not asked for: what is wrong with them is no finding.
        *(beside.findings if beside and named else []),
        *(sorted_out.findings if named or asked.play_references else []),
    ]
    report = collusion_report(
        games.games,
        silent=None if mute is None else mute.games,
        references=sorted_out.by_policy,
        side=asked.side,
        players=asked.by_label,
        findings=findings,
    )
    return CollusionFound(report, partial(show, report), partial(collusion_page, report), findings)
