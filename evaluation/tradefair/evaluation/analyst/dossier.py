"""The evidence of a dossier: an agent's outcomes, findings and chosen games, as a model is shown them.

Labels of agents are not shown to the model: a name would colour the answer (decision 0024).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract import TraceError
from tradefair.evaluation.analyst.citations import Shown, words_in
from tradefair.evaluation.analyst.fence import MAX_GAME, digest_of, fence, line_of
from tradefair.evaluation.analyst.games import Chosen, Game, choose_games
from tradefair.evaluation.analyst.transcript import Transcript, read_transcript, within
from tradefair.evaluation.arithmetic import mean, rounded
from tradefair.evaluation.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import SeatOutcome
from tradefair.evaluation.progress import Progress, watched
from tradefair.tracestore import open_trace

# Events named per finding: enough to follow it, and the rest of the budget is left for the games.
_MAX_EVENTS = 5
# The trading markets' share of the gains; a market without this field is ranked by its first primary metric.
_SHARE = "surplus_share"


@dataclass
class Agents:
    """Every game of every agent in some traces. `finished`: the day on which the last of them ended.

    `unread` are files that could not be used, with the reason.
    """

    games: dict[str, list[Game]] = field(default_factory=dict[str, list[Game]])
    finished: str | None = None
    unread: dict[str, str] = field(default_factory=dict[str, str])


class DossierEvidence(NamedTuple):
    """What a model is shown of one agent. Games are called g1, g2, …; `words` is fenced, `digest` is its digest."""

    agent: str
    games: int
    chosen: Mapping[str, Chosen]
    words: str
    digest: str
    shown: Shown


def gather_agents(paths: Sequence[Path], progress: Progress | None = None) -> Agents:
    """Evaluate and diagnose traces; games by the label of who played. Total: what cannot be used is in `unread`.

    That is a file that is no trace, and one whose chain does not hold: who changed it may have changed who played how.
    """
    found = Agents()
    for path in watched(paths, progress, lambda path: path.name):
        evaluation = evaluate_file(path)
        if evaluation.outcome is None:
            found.unread[str(path)] = evaluation.problem or "cannot be evaluated"
            continue
        # Its chain does not hold. The dossier leaves such a trace out and says what `verify` says of it.
        if evaluation.unsound is not None:
            found.unread[str(path)] = evaluation.unsound
            continue
        about = _about(path)
        finished = about.get("finished")
        if isinstance(finished, str):
            # The day only, in ISO format, which sorts as text.
            found.finished = max(found.finished or "", finished[:10])
        for agent, game in _games(path, str(about.get("episode") or path.stem), evaluation):
            found.games.setdefault(agent, []).append(game)
    return found


def gather_evidence(agent: str, games: Sequence[Game], *, max_game: int = MAX_GAME) -> DossierEvidence:
    """The evidence about one agent. Raises TraceError when the file of a chosen game is gone.

    `max_game` bounds each game's transcript in characters. The same games give the same text and digest.
    """
    chosen = {f"g{number}": choice for number, choice in enumerate(choose_games(games), 1)}
    shown: dict[str, dict[int, str]] = {}
    blocks = [fence("outcomes", [line_of(row) for row in _overview(games, chosen)]).text]
    for name, choice in chosen.items():
        with open_trace(choice.game.trace) as trace:
            transcript = read_transcript(trace)
        # Cut before the fence is made, since the fence's marks carry a digest of exactly what is shown.
        lines = within([line.line(name) for line in transcript.lines], max_game)
        shown[name] = _events(transcript, lines, choice.game, name)
        blocks.append(fence(name, lines).text)
    words = "\n\n".join(blocks)
    return DossierEvidence(agent, len(games), chosen, words, digest_of(words), shown)


def _about(path: Path) -> Mapping[str, Any]:
    try:
        with open_trace(path) as trace:
            return trace.manifest.about
    except TraceError:
        return {}


def _games(path: Path, episode: str, evaluation: Evaluation) -> Iterator[tuple[str, Game]]:
    """The seats of an episode that have a label, each as a game of that label."""
    outcome, diagnosis = evaluation.outcome, evaluation.diagnosis
    assert outcome is not None
    for seat, result in outcome.seats.items():
        # Without a label there is no agent that a dossier could be about.
        if result.label is None:
            continue
        raised = [finding for finding in diagnosis.raised if seat in finding.seats] if diagnosis else []
        yield (
            result.label,
            Game(
                episode=episode,
                trace=str(path),
                seat=seat,
                role=result.role,
                market=outcome.market,
                share=_share(outcome.market, result),
                outcome=_numbers(outcome.market, result),
                findings=raised,
            ),
        )


def _share(market: str, result: SeatOutcome) -> float | None:
    """The seat's share of what there was to gain; else the market's first metric, turned so that more is better."""
    if hasattr(result, _SHARE):
        value, sign = getattr(result, _SHARE), 1
    else:
        metrics = evaluator_of(market).primary_metrics
        value = getattr(result, metrics[0].name, None) if metrics else None
        # Turned, so that "three best" means the same whatever a market measures (a loss, say).
        sign = 1 if metrics and metrics[0].higher_is_better else -1
    return sign * float(value) if isinstance(value, int | float) else None


def _numbers(market: str, result: SeatOutcome) -> dict[str, Any]:
    named = {name: getattr(result, name, None) for name in evaluator_of(market).seat_columns}
    return {name: rounded(value) if isinstance(value, float) else value for name, value in named.items()}


def _overview(games: Sequence[Game], chosen: Mapping[str, Chosen]) -> Iterator[dict[str, Any]]:
    """All games in sum, then the chosen ones with their findings and the events that prove them, as plain data."""
    roles = Counter(game.role for game in games)
    shares = {
        role: mean(game.share for game in games if game.role == role and game.share is not None)
        for role in sorted(roles)
    }
    yield {"games_in_all": len(games), "by_role": dict(sorted(roles.items())), "mean_share": shares}
    raised = Counter(name for game in games for name in {finding.id for finding in game.findings})
    yield {"findings_in_all": {name: f"raised in {count} of {len(games)}" for name, count in sorted(raised.items())}}
    for name, choice in chosen.items():
        game = choice.game
        row = {"game": name, "chosen": choice.why, "market": game.market, "the_agent": game.seat, "role": game.role}
        yield {**row, "share": game.share, **game.outcome}
        for finding in game.findings:
            at = [f"{name}:{seq}" for seq in finding.events[:_MAX_EVENTS]]
            cost = None if finding.cost is None else finding.cost.model_dump(exclude_none=True)
            why = [case.because for case in finding.cases[:_MAX_EVENTS]]
            yield {"finding": finding.id, "says": finding.says, "cost": cost, "at": at, "because": why}


def _events(transcript: Transcript, lines: Sequence[str], game: Game, name: str) -> dict[int, str]:
    """The events that a claim may cite: those of the lines that are shown, and those that findings name."""
    # Only lines that survived the cut: an event from the missing middle was never shown and cannot be cited.
    kept = set(lines)
    named = {seq: "" for finding in game.findings for seq in finding.events[:_MAX_EVENTS]}
    return named | {line.seq: words_in(line.content) for line in transcript.lines if line.line(name) in kept}
