"""From trace files to the data of a page. What cannot be read is a problem on the page, never an exception."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import ScenarioError, SeatId, TraceError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import Seating
from tradefair.contract.text import clean_line
from tradefair.evaluation.evaluator import Evaluator, evaluator_of, fields_for
from tradefair.evaluation.figures import Figure, common_figures, figures_of
from tradefair.evaluation.judge.evaluate import Evaluation, charts_of, diagnose, evaluate, tables_of
from tradefair.evaluation.judge.population import Populations
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.phrases import phrases_for
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.prove.verify import Check, verify
from tradefair.evaluation.read.accounts import account
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.evaluation.report.audit import Audit, audit
from tradefair.evaluation.report.boards import Boards, rated_boards
from tradefair.evaluation.report.events import pack_bodies, pack_notes, read_events, read_notes
from tradefair.evaluation.report.packing import BUDGET, pack_json
from tradefair.evaluation.report.page import html_page
from tradefair.evaluation.report.page_data import (
    EpisodePage,
    LedgerPage,
    PageData,
    Problem,
    RaisedPage,
    SeatPage,
    TablePage,
    TurnPage,
    Verification,
)
from tradefair.evaluation.report.pair import pair_page
from tradefair.evaluation.report.runs import NOTHING_ASKED, Asked
from tradefair.evaluation.report.transcript import transcript_of
from tradefair.evaluation.verdict.beside import references_beside
from tradefair.evaluation.verdict.findings_text import asides_text, told_text
from tradefair.evaluation.verdict.ledger_chart import ledger_chart
from tradefair.evaluation.verdict.ledger_text import ledger_rows, ledger_table, lines_of, place_text, tools_text
from tradefair.evaluation.verdict.of_trace import verdict_of
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.wings import of_wing
from tradefair.tracestore import Trace, open_trace

# Larger pages are what `tradefair view` is for: there every trace has a page of its own.
MAX_TRACES = 40
"""Traces that one page shows at most: each adds its events to the page's size."""
# Foreign runs whose texts may take the whole budget each.
_FULL = 4
MAX_RUNS = 200
"""As `MAX_TRACES` for foreign runs, which are shorter: they have no charts, and are opened one by one."""


class Report(NamedTuple):
    """A finished page: its bytes and what it is made of."""

    html: bytes
    data: PageData

    @property
    def sound(self) -> bool:
        """Whether no trace failed verification. Traces that were not checked count as sound."""
        checks = [(episode.verification, episode.foreign) for episode in self.data.episodes]
        # Without rules a chain that holds is all that a check can find.
        return all(
            check is None or check.sound or (run is not None and check.verdict == "foreign") for check, run in checks
        )

    def summary(self) -> dict[str, object]:
        """For `--json`: the `verdict` on all traces, then `bytes`, `data_bytes`, `episodes`, `events`, `cut`, `checks`.

        `data_bytes` is what the traces add to the fixed part, `cut` counts texts, `checks` names what verify said.
        """
        episodes = self.data.episodes
        met = {episode.verification.verdict if episode.verification else "not checked" for episode in episodes}
        # The page without its data: what remains is the fixed part, which is the same for each report.
        empty = html_page(self.data.model_copy(update={"episodes": [], "pair": None, "boards": []}))
        return {
            "verdict": verdict_of_series([episode.verdict for episode in episodes]).to_json(),
            "bytes": len(self.html),
            "data_bytes": len(self.html) - len(empty),
            "episodes": len(episodes),
            "events": sum(episode.bodies.rows for episode in episodes),
            "cut": sum(episode.bodies.cut + episode.note_bodies.cut for episode in episodes),
            "checks": ", ".join(sorted(met)),
        }


Ledgers = Callable[[Path, Evaluation], Evaluation]
"""Adds the ledgers of the seats under test to the evaluation of a file: `with_ledgers` of the runner, which plays."""


def build_report(
    paths: Sequence[str | Path],
    *,
    compare: bool = False,
    check: bool = True,
    progress: Progress | None = None,
    populations: Populations | None = None,
    asked: Asked = NOTHING_ASKED,
    ledgers: Ledgers | None = None,
) -> Report:
    """Make one page about all traces. Raises TraceError for a file that is no trace.

    `compare` puts exactly two traces side by side. `check` verifies them by re-execution. `progress` is called with the
    number of traces done, their total, and the name of the next. `populations` says where else to look for reference
    populations than in the folders of references next to the traces, `asked` what foreign runs are held against,
    `ledgers` who says what turns lost; without it nobody does.
    """
    # A caller's mistake, not a property of the traces: hence no TradefairError. The command checks before.
    if compare and len(paths) != 2:
        raise ValueError(f"a comparison needs exactly two traces, not {len(paths)}")
    episodes: list[EpisodePage] = []
    for path in watched(paths, progress, lambda path: shown_name(Path(path))):
        # Many runs share what a few may take: a browser reads the page as a whole.
        budget = min(BUDGET, _FULL * BUDGET // len(paths))
        episodes.append(
            episode_page(path, check=check, populations=populations, asked=asked, budget=budget, ledgers=ledgers)
        )
    # A comparison is about its pair: a leaderboard of two episodes would add nothing to it.
    foreign = all(episode.foreign for episode in episodes)
    boards = rated_boards(paths) if len(paths) > 1 and not compare and not foreign else Boards([], "")
    told = boards.pages or (foreign and len(episodes) > 1)
    several = verdict_of_series([episode.verdict for episode in episodes]) if told else None
    rates: dict[str, Any] = of_wing("foreign.run_page:rates_of_runs")(episodes) if foreign and told else {}
    data = PageData(
        mode="compare" if compare else "report",
        version=version("tradefair"),
        verdict=several,
        episodes=episodes,
        pair=pair_page(paths[0], paths[1]) if compare else None,
        boards=boards.pages,
        rated=boards.rated,
        **rates,
    )
    return Report(html_page(data), data)


def write_report(
    paths: Sequence[str | Path],
    output: Path,
    *,
    compare: bool = False,
    check: bool = True,
    progress: Progress | None = None,
    populations: Populations | None = None,
    asked: Asked = NOTHING_ASKED,
    ledgers: Ledgers | None = None,
) -> Report:
    """Build a page as `build_report` does and write it to the file `output`.

    Raises ScenarioError for more than 40 traces (200 foreign runs), TraceError for a file that is none,
    StorageUnavailable.
    """
    check_count(paths)
    made = build_report(
        paths, compare=compare, check=check, progress=progress, populations=populations, asked=asked, ledgers=ledgers
    )
    # Written after the whole page exists: a fault while building leaves an older file as it was.
    write_whole(output, [made.html])
    return made


def check_count(paths: Sequence[str | Path]) -> None:
    """Raises ScenarioError where these are more traces than a page shows: 40, or 200 foreign runs."""
    most = MAX_TRACES
    if MAX_TRACES < len(paths) <= MAX_RUNS and all(map(_is_run, paths)):
        most = MAX_RUNS
    if len(paths) > most:
        raise ScenarioError(f"{len(paths)} traces are too many for one page (at most {most}); see tradefair view")


def _is_run(path: str | Path) -> bool:
    with open_trace(path) as trace:
        return is_foreign(trace.manifest.core)


def episode_page(
    path: str | Path,
    *,
    check: bool | Check = True,
    populations: Populations | None = None,
    asked: Asked = NOTHING_ASKED,
    budget: int = BUDGET,
    ledgers: Ledgers | None = None,
) -> EpisodePage:
    """All that a page shows of one trace; `check`: whether to re-execute it, or what that gave for this file.

    `ledgers` says what turns lost; without it nobody does.

    Raises TraceError for a file that is no trace or has no manifest.
    """
    with open_trace(path) as trace:
        # The episode may still be running: all parts of the page must see the same events.
        trace.hold()
        return _episode(trace, check, populations or Populations(), asked, budget, ledgers)


def shown_name(path: Path) -> str:
    """A file's name as text, whatever bytes it holds. Never its folder: a page is handed on, and paths name people."""
    return os.fsencode(path.name).decode(errors="replace")


def verification(verdict: Check) -> Verification:
    """A check's result as the page's record; findings keep their messages only."""
    same: Any = {name: getattr(verdict, name) for name in Verification.model_fields if name != "findings"}
    return Verification(**same, findings=[finding.message for finding in verdict.findings])


def _labelled(verdict: Verdict, asked: Asked) -> Verdict:
    """The verdict with a person's label in place of its source's result, where there is one."""
    label = asked.labels.get(verdict.foreign.run) if verdict.foreign else None
    return verdict if label is None else of_wing("foreign.of_runs:labelled")(verdict, label)


def _episode(
    trace: Trace, check: bool | Check, populations: Populations, asked: Asked, budget: int, ledgers: Ledgers | None
) -> EpisodePage:
    """The page's record of an opened trace: outcome, findings, charts, events, notes and problems."""
    core, seating = trace.manifest.core, seating_in(trace)
    outcome = evaluate(trace)
    foreign = is_foreign(core)
    diagnosis, broken = _diagnosis(trace, asked.map if foreign else None)
    # Each part below fails alone: a page that lacks its charts or findings still shows the events.
    charts, undrawn = charts_of(trace, evaluator_of(core.market))
    counted = account(trace)
    events = read_events(trace)
    notes = read_notes(trace, events)
    seen = _audit(core, events.calls)
    checked = verify(trace) if check is True else check or None
    evaluation = Evaluation(str(trace.path), outcome, diagnosis=diagnosis)
    if ledgers is not None and not foreign:
        evaluation = ledgers(trace.path, evaluation)
    diagnosis = evaluation.diagnosis
    tables = _tables(outcome, populations.of(trace))
    results = [(name, value) for name, value in outcome.market_outcome if not isinstance(value, list | dict)]
    told = [(found.seq, found.message) for found in outcome.findings] + list(events.problems)
    problems = _problems([*told, *((None, text) for text in (broken, undrawn, *counted.findings))])
    references = references_beside(trace.path)
    verdict = verdict_of(trace, evaluation=evaluation, counted=counted, check=checked, references=references)
    verdict = _labelled(verdict, asked)
    return EpisodePage(
        # Next steps are commands with the path of the trace, and a page is handed on.
        verdict=verdict.model_copy(update={"next": ()}),
        name=shown_name(trace.path),
        bytes=trace.path.stat().st_size,
        market=core.market,
        scenario=outcome.scenario,
        description=str(core.scenario.get("description", "")),
        seed=outcome.seed,
        rules_version=core.rules_version,
        rounds_closed=outcome.rounds_closed,
        end_reason=outcome.end_reason,
        censored=outcome.censored,
        wall_seconds=counted.wall_seconds,
        manifest=trace.manifest.core_bytes.decode(errors="replace"),
        about=orjson.dumps(trace.manifest.about).decode(),
        verification=verification(checked) if checked else None,
        seats=[_seat(core, seating, outcome, counted.seats, seat.id) for seat in core.seats],
        seat_columns=list(evaluator_of(core.market).seat_columns),
        figures=_figures(core.market, [name for name, _ in results], tables),
        results=results,
        tables=tables,
        charts=charts,
        diagnosis=diagnosis,
        raised=[_raised(finding) for finding in diagnosis.raised] if diagnosis else [],
        asides=list(asides_text(diagnosis)) if diagnosis else [],
        evidence_categories=seen.categories,
        evidence=seen.evidence,
        looks=seen.looks,
        audit=seen.tools,
        problems=problems,
        events=events.packed(),
        bodies=of_wing("foreign.run_page:pack_said")(trace, events, budget=budget)
        if foreign
        else pack_bodies(trace, events),
        notes=notes.packed(),
        note_bodies=pack_notes(trace, notes),
        transcript=pack_json(transcript_of(trace, agent_seats(seating), events=events)),
        foreign=of_wing("foreign.run_page:foreign_page")(trace, events) if foreign else None,
        ledgers=[_ledger(core, seat, ledger) for seat, ledger in evaluation.ledgers.items()],
        no_ledger=clean_line(evaluation.no_ledger),
    )


def _problems(told: Iterable[tuple[int | None, str | None]]) -> list[Problem]:
    return [Problem(seq=seq, message=message) for seq, message in told if message]


def _ledger(core: ManifestCore, seat: SeatId, ledger: Ledger) -> LedgerPage:
    role = next((known.role for known in core.seats if known.id == seat), "")
    word = phrases_for(evaluator_of(core.market).phrases, role).get("round", "round")
    per_unit, ledger = ledger.per_unit, ledger.in_money()
    table = ledger_table(ledger, word=word)
    seqs = [row.seq for row in ledger_rows(ledger, word=word)]
    return LedgerPage(
        seat=seat,
        unit=ledger.unit,
        per_unit=per_unit,
        best=clean_line(ledger.of[0]),
        chart=ledger_chart(ledger, word=word),
        table=TablePage.of(table),
        seqs=[*seqs, *([None] * (len(table.rows) - len(seqs)))],
        turns=[_turn(ledger, turn, word) for turn in ledger.turns],
    )


def _turn(ledger: Ledger, turn: LedgerTurn, word: str) -> TurnPage:
    place, seqs = place_text(ledger, turn, word=word), list(turn.seqs)
    if turn.would is None:
        return TurnPage(place=place, lost=turn.lost, did=[tools_text(turn.did)], would=[], seqs=seqs)
    sides = lines_of(turn.did, turn.would), lines_of(turn.would, turn.did)
    return TurnPage(place=place, lost=turn.lost, did=sides[0], would=sides[1], seqs=seqs)


def _raised(finding: Finding) -> RaisedPage:
    return RaisedPage(finding=finding, told=list(told_text(finding)), events=finding.events)


def _figures(market: str, results: Sequence[str], tables: Sequence[TablePage]) -> dict[str, Figure]:
    """What the fields are that the page shows, by name; the rest of the market's file would only be bytes."""
    files = (common_figures(), figures_of(market))
    known = {
        name: figure
        for file in files
        for part in (file.market, file.relative, file.seat)
        for name, figure in part.items()
    }
    shown = {*evaluator_of(market).seat_columns, *common_figures().seat, *results}
    shown.update(column for table in tables for column in table.columns)
    # Tables name fields, or have their headings already.
    return {name: figure for name, figure in known.items() if shown & {name, figure.title, figure.heading}}


def _diagnosis(trace: Trace, evaluator: Evaluator | None) -> tuple[Diagnosis | None, str | None]:
    """The findings of a trace, or None with the reason why they cannot be computed."""
    try:
        return diagnose(trace, evaluator), None
    except TraceError as error:
        return None, str(error)
    except Exception as fault:
        # In a trace that was edited, or written by a stranger's rules, facts may break any formula.
        return None, f"the diagnosis cannot be computed: {fault!r}"[:300]


def _audit(core: ManifestCore, calls: Any) -> Audit:
    """The audit, empty where the market's own code fails."""
    try:
        return audit(core, calls)
    except Exception:
        # A stranger's tool table may do anything when it is asked what it offers.
        return Audit([], [], [], [])


def _seat(core: ManifestCore, seating: Seating, outcome: Outcome[Any, Any], accounts: Any, seat: str) -> SeatPage:
    """One seat's outcome by the columns of its role, its account, and whether it could see what others cannot."""
    result = outcome.seats.get(seat)
    role = next(known.role for known in core.seats if known.id == seat)
    evaluator = evaluator_of(core.market)
    # Figures that a role does not have would be empty columns in its table.
    columns = fields_for(evaluator, {role}, evaluator.seat_columns)
    return SeatPage(
        id=seat,
        role=role,
        label=result.label if result else None,
        privileged=seat in seating.privileged,
        outcome={name: getattr(result, name, None) for name in columns},
        account=accounts[seat].model_dump(mode="json") if seat in accounts else {},
    )


def _tables(outcome: Outcome[Any, Any], population: Outcome[Any, Any] | None) -> list[TablePage]:
    return [TablePage.of(table) for table in tables_of(outcome, population)]
