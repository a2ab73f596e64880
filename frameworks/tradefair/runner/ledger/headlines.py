"""How good an agent is in one figure, on the same luck as two named references: `tradefair rate --by headline`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table
from tradefair.cli.terminal import print_json, say
from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.kernel.following import FORKED_FROM
from tradefair.evaluation.commands.audit_commands import finish, traces_of
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.headline import Block, Headline, HeadlineFigure, headline_of
from tradefair.evaluation.modes.base_rates import as_shipped
from tradefair.evaluation.progress import show_progress, watched
from tradefair.evaluation.prove.proving import NOT_ASKED, ONCE_MORE, game_of, proof_asked, proof_said, refusal_of
from tradefair.evaluation.reading import agent_seats
from tradefair.evaluation.table import number_text
from tradefair.runner.ledger.replays import NotReplayed, Replays
from tradefair.tracestore import REFERENCES, StorePlace, Trace, open_trace


class _Run(NamedTuple):
    """One trace: its market, who played (label), the seed, and the metric of agent and references."""

    market: str
    label: str
    seed: int
    block: Block


def print_headlines(paths: Iterable[str], *, as_json: bool, verify: bool | None = None) -> None:
    """Print the headline of each agent in these traces, one per game. Raises typer.Exit(1) where one cannot be used.

    What is no headline's game (a fork, another scenario, a market without one, nobody under test) is passed over and
    counted.
    `verify` re-executes each trace first: it must prove what its agents earned against the rivals that it names.
    """
    places = [place for path in paths for place in traces_of(path)]
    # References next to runs are what runs are compared with, and no runs themselves.
    chosen = [place for place in places if f"/{REFERENCES}/" not in str(place)]
    proven = proof_asked(verify, chosen)
    runs: list[_Run] = []
    problems: list[str] = []
    games: Counter[tuple[str, str]] = Counter()
    passed: Counter[str] = Counter()
    for place in watched(chosen, show_progress, lambda place: f"references of {_shown(place)}"):
        try:
            with open_trace(place) as trace:
                trace.hold()
                if over := _passed_over(trace):
                    passed[over] += 1
                    continue
                _refuse(trace, proven)
                game = game_of(trace)
                run = _run(Replays(place))
            games[game, run.label] += 1
            runs += [run] if games[game, run.label] == 1 else []
        except (TraceError, NotReplayed, ScenarioError) as problem:
            problems.append(f"{_shown(place)}: {problem}")
    copies = games.total() - len(runs)
    boards = {(market, label): _figure(market, label, runs) for market, label in _boards(runs)}
    if as_json:
        rows = [{"market": market, "label": label, **figure.model_dump()} for (market, label), figure in boards.items()]
        about = {"problems": problems, "passed_over": passed, "proof": proof_said(proven), "copies": copies}
        print_json({"headlines": rows, **about})
    else:
        _show(boards)
        over = ", ".join(f"{many} ({why})" for why, many in passed.items())
        _say_all([f"passed over: {over}" * bool(over), f"left out: {copies} ({ONCE_MORE})" * bool(copies)])
        _say_all([NOT_ASKED * (not proven)])
    _say_all(problems)
    finish(not problems)


def _say_all(lines: Iterable[str]) -> None:
    for line in filter(None, lines):
        say(line)


def _refuse(trace: Trace, proven: bool) -> None:
    """TraceError for a trace that does not prove what it says, where that is asked."""
    refusal = refusal_of(trace, agent_seats(trace.seating())) if proven else None
    if refusal is not None:
        raise TraceError(f"left out, {refusal.text}")


def _shown(place: str | Path) -> str:
    return str(StorePlace.of(place)) if isinstance(place, str) else str(place)


def _passed_over(trace: Trace) -> str:
    """Why a trace is no game of a headline; "" for one that is."""
    core = trace.manifest.core
    known = evaluator_of(core.market).headline
    if known is None:
        return f"{core.market} has no headline"
    if not as_shipped(core, known.preset):
        return f"another scenario than {core.market}/{known.preset}, unchanged"
    if any(FORKED_FROM in (change.origin or {}) for _, change in trace.seatings()):
        return "a fork"
    return "" if agent_seats(trace.seating()) else "nobody under test"


def _run(replays: Replays) -> _Run:
    core = replays.manifest.core
    known, seats = _known(core.market), replays.agents
    block = Block(
        fmean(replays.original(seat) for seat in seats),
        fmean(replays.whole(seat, known.naive) for seat in seats),
        fmean(replays.whole(seat, known.best) for seat in seats),
    )
    return _Run(core.market, replays.seating.labels[seats[0]][:120], core.seed, block)


def _boards(runs: Iterable[_Run]) -> list[tuple[str, str]]:
    return sorted({(run.market, run.label) for run in runs})


def _figure(market: str, label: str, runs: Iterable[_Run]) -> HeadlineFigure:
    by_seed: dict[int, list[Block]] = {}
    for run in runs:
        if (run.market, run.label) == (market, label):
            by_seed.setdefault(run.seed, []).append(run.block)
    # Episodes of one seed share their luck: they count as one.
    blocks = {seed: Block(*map(fmean, zip(*same, strict=True))) for seed, same in by_seed.items()}
    return headline_of(_known(market), blocks)


def _known(market: str) -> Headline:
    known = evaluator_of(market).headline
    assert known is not None
    return known


def _show(boards: Mapping[tuple[str, str], HeadlineFigure]) -> None:
    console = Console()
    rows = [(market, label, *_told(figure, _known(market).min_seeds)) for (market, label), figure in boards.items()]
    show_table(console, [*names("market", "who"), *figures("headline", "95 %", "seeds")], rows)
    for market in dict.fromkeys(market for market, _ in boards):
        known = _known(market)
        said = (
            f"{known.metric} on {market}/{known.preset}: 0 is {known.naive}, 1 is {known.best}; version {known.version}"
        )
        console.print(said, style="dim")


def _told(figure: HeadlineFigure, least: int) -> tuple[str, str, str]:
    """The value, its interval, and the seeds that it has of those that an interval needs."""
    seeds = str(figure.seeds) if figure.seeds >= least else f"{figure.seeds} of {least}"
    if figure.value is None:
        return "–", "the references earned the same", seeds
    value = number_text(round(figure.value, 3))
    if figure.low is None or figure.high is None:
        return value, f"needs {least} seeds" if figure.seeds < least else "not known", seeds
    return value, f"{number_text(round(figure.low, 3))} to {number_text(round(figure.high, 3))}", seeds
