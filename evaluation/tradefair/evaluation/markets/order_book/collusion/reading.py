"""From traces to the figures of episodes, and of reference play on the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import TraceError
from tradefair.evaluation.collusion import CollusionAsked, NotPlayed
from tradefair.evaluation.judge.population import episode_key
from tradefair.evaluation.markets.order_book.collusion import levels
from tradefair.evaluation.markets.order_book.modes.play import read_game
from tradefair.evaluation.reading import by_name, read_each, read_trace
from tradefair.tracestore import Trace

_MARKET = "order_book"
REFERENCES = ("zi_c", "zip")
"""Policies that play the references, each on all seats; zip trades no shares."""

FIGURES = ("overcharge", "overcharge_interval", "withheld", "even_ticks")


class Episode(NamedTuple):
    """One episode: which market and seed it was, who played, and its figures by name, null where undefined."""

    name: str
    key: str
    players: tuple[str, ...]
    fair: float | None
    figures: Mapping[str, float | None]


class Arms(NamedTuple):
    """Reference episodes by policy and key, and sentences on what is none or could not be played."""

    by_policy: Mapping[str, Mapping[str, Episode]]
    findings: list[str]
    missing: list[str]


def read_episodes(asked: CollusionAsked) -> tuple[list[Episode], Arms, list[str]]:
    """The usable episodes by key and name, their references, and a sentence for each trace that gives none."""
    played: dict[str, dict[str, Episode]] = {policy: {} for policy in REFERENCES}
    unplayed: dict[str, None] = {}

    def read(trace: Trace) -> Episode:
        episode = episode_of(trace)
        if asked.play_references:
            _play(asked, trace, episode, played, unplayed)
        return episode

    found, left_out = read_each(asked.traces, asked.progress, read)
    arms = Arms(played, [], list(unplayed)) if asked.play_references else _references(asked.references, asked)
    return sorted(found, key=lambda episode: (episode.key, episode.name)), arms, by_name(left_out)


def episode_of(trace: Trace) -> Episode:
    """One finished episode. Raises TraceError naming what is missing."""
    reading, game = read_trace(trace), read_game(trace)
    if reading.core is None or reading.core.market != _MARKET:
        raise TraceError(f"no trace of {_MARKET}")
    if game.problem or reading.findings:
        raise TraceError(game.problem or "; ".join(found.message for found in reading.findings[:3]))
    if reading.end_reason != "terminated:rounds_completed":
        raise TraceError(f"not played to the last period ({reading.end_reason or 'unfinished'}): left out")
    return Episode(
        trace.path.name,
        episode_key(trace),
        tuple(reading.label(seat) or "?" for seat in game.seats),
        levels.fair_price(game),
        {name: getattr(levels, name)(game) for name in FIGURES},
    )


def _play(
    asked: CollusionAsked,
    trace: Trace,
    episode: Episode,
    played: Mapping[str, dict[str, Episode]],
    unplayed: dict[str, None],
) -> None:
    """Both references of an episode, once for all episodes of one scenario and seed."""
    for policy in REFERENCES:
        if episode.key in played[policy]:
            continue
        try:
            played[policy][episode.key] = episode_of(asked.replayer.on_every_seat(trace, policy))
        except NotPlayed as reason:
            unplayed[str(reason)] = None


def _references(files: Sequence[Path], asked: CollusionAsked) -> Arms:
    """Traces that one of the reference policies played on every seat."""
    by_policy: dict[str, dict[str, Episode]] = {policy: {} for policy in REFERENCES}
    episodes, left_out = read_each(files, asked.progress, episode_of)
    findings, either = by_name(left_out), ", ".join(REFERENCES)
    for episode in episodes:
        who = {label.removeprefix("policy:") for label in episode.players}
        policy = who.pop() if len(who) == 1 else ""
        if policy in by_policy:
            # The first in the order of the files, so that equal input pairs equally on every machine.
            by_policy[policy].setdefault(episode.key, episode)
        else:
            findings.append(f"{episode.name}: no reference, its seats are not all played by one of {either}")
    return Arms(by_policy, findings, [])
