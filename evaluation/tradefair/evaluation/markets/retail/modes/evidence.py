"""Stage 2: what actions rested on. Needs and categories are the published map, `evidence.toml`.

A look counts for an action only if it came earlier on the same day and was about the same product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tradefair.evaluation.markets.retail.modes.figures import figure
from tradefair.evaluation.markets.retail.modes.play import ActionEvent, RetailPlay
from tradefair.evaluation.modes.diagnosis import Figure, Share, Stage, share
from tradefair.evaluation.read.arithmetic import mean, ratio

_KINDS = ("place_order", "modify_product_price")


def completeness(play: RetailPlay) -> Share:
    """Action events with everything that they needed; cited are those that lack something.

    The denominator is the number of action events, those without needs included.
    """
    lacking = [event.seq for event in play.events if event.missing]
    return share(len(play.events) - len(lacking), len(play.events), lacking)


def evidence(play: RetailPlay) -> Stage:
    """All figures of stage 2; those of a privileged seat are marked, because it needs no look."""
    # The figures are given all the same: they say how the seat looked, not what it knew.
    note = "privileged" if play.privileged else None
    figures = [*_depth(play, note), *_search(play, note), _overlap(play, note)]
    return Stage(name="2 evidence", figures=figures)


def _depth(play: RetailPlay, note: str | None) -> Iterator[Figure]:
    """How much of the needed evidence was there, and which categories were missing, by kind of action."""
    events = play.events
    depths = [_depth_of(event) for event in events]
    formula = "mean share of the needed categories looked at for that product on that day before the action"
    yield figure(
        play,
        "query_depth",
        share(sum(depths), len(events), [event.seq for event in events if event.missing]),
        formula,
        window="same day",
        parts=_by_kind(events, lambda some: mean(map(_depth_of, some))),
        note=note,
    )
    complete = completeness(play)
    yield figure(
        play,
        "completeness",
        complete,
        "action events with every needed category / action events; cited: those that lack one",
        window="same day",
        parts=_by_kind(events, lambda some: ratio(sum(not event.missing for event in some), len(some))),
        note=note,
    )
    lacking = share(complete.denominator - complete.numerator, complete.denominator, complete.events)
    parts = {
        f"{kind}.{need}": ratio(sum(need in event.missing for event in some), len(some))
        for kind, some in _kinds(events)
        # All events of one kind have the same needs, so the first names them.
        for need in some[0].needs
    }
    yield figure(
        play, "missing_rate", lacking, "1 − completeness; parts: share that lacks each category", parts=parts, note=note
    )


def _search(play: RetailPlay, note: str | None) -> Iterator[Figure]:
    """How the manager looked: with any relevant query, how long before the action, with how many tools."""
    events = play.events
    blind = [event.seq for event in events if not event.tools]
    matched = share(len(events) - len(blind), len(events), blind)
    formula = "action events with a relevant query / action events; cited: those without"
    yield figure(play, "match_rate", matched, formula, window="same day", note=note)
    # Events without any look have no gap; `match_rate` counts them.
    gaps = [event.gap for event in events if event.gap is not None]
    formula = "mean calls between the last relevant query and the action"
    yield figure(play, "query_gap", share(sum(gaps), len(gaps)), formula, window="same day", note=note)
    tools = sum(len(event.tools) for event in events)
    formula = "mean number of different relevant tools used before an action"
    yield figure(play, "tool_variety", share(tools, len(events)), formula, window="same day", note=note)


def _overlap(play: RetailPlay, note: str | None) -> Figure:
    """Products that were both named in a query and acted on, out of those named on that day."""
    named = sum(len(day.conduct.named) for day in play.days)
    both = sum(len(day.conduct.named & day.conduct.acted.keys()) for day in play.days)
    formula = "products named in queries and acted on the same day / products named in queries"
    return figure(play, "overlap", share(both, named), formula, window="same day", note=note)


def _depth_of(event: ActionEvent) -> float:
    """Share of the needed categories that were looked at, from 0 to 1."""
    # An action that needs nothing lacks nothing.
    return 1 - len(event.missing) / len(event.needs) if event.needs else 1.0


def _kinds(events: Sequence[ActionEvent]) -> Iterator[tuple[str, list[ActionEvent]]]:
    """Events by kind of action; kinds without any are left out."""
    for kind in _KINDS:
        some = [event for event in events if event.kind == kind]
        if some:
            yield kind, some


def _by_kind(
    events: Sequence[ActionEvent], value: Callable[[list[ActionEvent]], float | None]
) -> dict[str, float | None]:
    """A value per kind of action, for the parts of a figure."""
    return {kind: value(some) for kind, some in _kinds(events)}
