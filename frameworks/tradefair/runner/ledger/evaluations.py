"""What `tradefair evaluate` does. In the runner because a ledger is played; what is printed is made in `evaluation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract import TraceError
from tradefair.evaluation.commands.audit_commands import finish, traces_of
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.evaluation.judge.population import Populations
from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.prove.proving import ONCE_MORE, Counted, counted, proof_asked
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.evaluation.report.runs import asked_of
from tradefair.evaluation.verdict import terminal
from tradefair.evaluation.verdict.beside import references_beside
from tradefair.evaluation.verdict.of_trace import verdict_of, verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.terminal import Run
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.tracestore import REFERENCES, is_store, open_trace

# Paths named in a line on stderr; `--json` has all.
_MAX_NAMED = 5
# Verdicts on a screen; a folder of many scenarios or players has more.
_MAX_GROUPS = 6


def print_evaluation(
    paths: Sequence[str],
    *,
    as_json: bool,
    verify: bool | None,
    output: Path | None,
    references: Path | None,
    whole: bool,
    ledger: Extent | None,
    against: Sequence[str],
    of: Path | None = None,
) -> None:
    """Print, or write to `output`, how the agents of these traces did; options as of the command.

    `of` is a map for foreign traces. Raises typer.Exit(1) where a trace cannot be read, leaves findings,
    or shows an agent that never acted.
    """
    populations = Populations([references] if references else [])
    foreign = asked_of(of).map
    evaluations: list[Evaluation] = []
    named = [place for path in paths for place in traces_of(path)]
    # Of one trace everything is shown, whatever it proves.
    of_all = counted(named, proven=len(named) > 1 and proof_asked(verify, named), once=len(named) > 1)
    places = of_all.kept
    extent = Extent.of(ledger, len(places))
    for place in places:
        evaluation = evaluate_file(place, populations, foreign)
        if extent is not Extent.OFF:
            evaluation = _with_ledgers(place, evaluation, extent, len(places), against)
        evaluations.append(evaluation)
    judged = list(_judged(places, evaluations))
    verdicts = [verdict for verdict, _ in judged]
    traces = [evaluation.to_json() for evaluation in evaluations]
    content = {"verdict": verdict_of_series(verdicts).to_json(), "traces": traces, **of_all.to_json()}
    # -o and --json can be given together; the text is for those who ask for neither.
    if output is not None:
        written = write_whole(output, [orjson.dumps(content, option=orjson.OPT_INDENT_2), b"\n"])
        say(f"wrote {output} ({len(evaluations)} traces, {written})")
    if as_json:
        print_json(content)
    elif output is None:
        _print(judged, whole)
        for note in of_all.notes * (len(named) > 1):
            tell(note)
    if foreign is not None and not any(verdict.foreign for verdict in verdicts):
        say("--map: none of these traces was imported or recorded; markets have maps of their own")
    complaint = _complaint(evaluations, verdicts, of_all)
    if complaint:
        say(f"exit code 1: {complaint}")
    finish(not complaint)


def _judged(places: Sequence[str | Path], evaluations: Sequence[Evaluation]) -> Iterator[tuple[Verdict, Run]]:
    """The verdict on each trace, and what its table is made of; references stand in the table of their episode."""
    folders = {Path(place).parent for place in places}
    for place, evaluation in zip(places, evaluations, strict=True):
        if Path(place).parent.name == REFERENCES and Path(place).parent.parent in folders:
            continue
        references: Mapping[str, Outcome[Any, Any]] = {} if is_store(str(place)) else references_beside(place)
        try:
            with open_trace(place) as trace:
                verdict = verdict_of(trace, evaluation=evaluation, references=references)
        except TraceError:
            verdict = verdict_of_file(place)
        beside = {name: Evaluation(name, outcome) for name, outcome in references.items()}
        # Where no seat was under test the table has all.
        seats = [seat.seat for seat in verdict.seats] or list(evaluation.outcome.seats if evaluation.outcome else ())
        yield verdict, Run(evaluation, seats, beside)


def _print(judged: Sequence[tuple[Verdict, Run]], whole: bool) -> None:
    """A verdict with its table per scenario and player; `whole`: then every figure of every trace."""
    groups: dict[object, list[tuple[Verdict, Run]]] = {}
    for verdict, run in judged:
        # Where no seat was under test there is nothing to take means of; foreign runs are told together.
        players = (verdict.scenario, *(seat.player for seat in verdict.seats)) if verdict.seats else len(groups)
        key = "foreign" if verdict.foreign else players
        groups.setdefault(key, []).append((verdict, run))
    shown = list(groups.values())[: None if whole else _MAX_GROUPS]
    for number, group in enumerate(shown):
        if number:
            tell()
        verdict = verdict_of_series([verdict for verdict, _ in group])
        runs = [verdict.foreign for verdict, _ in group if verdict.foreign]
        terminal.show_verdict(verdict, [] if runs else [run for _, run in group], whole=whole)
        if runs:
            terminal.show_runs(runs, whole=whole)
        if not whole:
            terminal.show_next(verdict.next)
    if len(groups) > len(shown):
        tell(f"\n… {len(groups) - len(shown)} more scenarios and players: --all or --json")
    if whole:
        tell()
        terminal.show_evaluations([run.evaluation for _, run in judged])


def _with_ledgers(
    place: str | Path, evaluation: Evaluation, extent: Extent, episodes: int, against: Sequence[str]
) -> Evaluation:
    # Imported here: whoever wants no ledger must not wait for what plays.
    from tradefair.runner.ledger.ledger import with_ledgers

    return with_ledgers(place, evaluation, extent=extent, episodes=episodes, against=against, progress=show_progress)


def _complaint(evaluations: Sequence[Evaluation], verdicts: Sequence[Verdict], of_all: Counted) -> str:
    """Why the exit code is 1; "" when it is 0. A failure mode that was found is a result, not a complaint."""
    # A script does nothing by design.
    idle = sum(verdict.status == "idle" and verdict.exit_code > 0 for verdict in verdicts)
    said = f"in {idle} of {len(verdicts)} the agent never acted" if idle else ""
    unread = [evaluation.path for evaluation in evaluations if evaluation.outcome is None]
    unusable = [item.path for item in evaluations if item.outcome is not None and item.outcome.findings]
    unproven = [place for reason, of in of_all.left_out.items() if reason != ONCE_MORE for place in of]
    # Each leads to exit code 1, and scripts need to know which it was.
    parts = (("cannot be evaluated", unread), ("unusable in part, see --all", unusable), ("left out", unproven))
    listed = [f"{len(paths)} of {len(evaluations)} {what}: {_some(paths)}" for what, paths in parts if paths]
    return "; ".join(filter(None, [*listed, said]))


def _some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_MAX_NAMED]) + (" …" if len(paths) > _MAX_NAMED else "")
