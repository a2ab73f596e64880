"""Traces: load them, check them, evaluate and compare them, and read them as tables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import orjson

from tradefair.api.frames import Frame, Kind
from tradefair.contract import ScenarioError, SeatId, TraceError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation import Check, Evaluation, Finding, Outcome, Verdict
from tradefair.evaluation.compare.comparing import Options, compare_sides, parse_success
from tradefair.evaluation.compare.comparison import Comparison
from tradefair.evaluation.compare.runs import Side, load_files, load_side
from tradefair.evaluation.judge.evaluate import evaluate_file, evaluator_of, insight_of
from tradefair.evaluation.ledger import Extent, Ledger
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.store.rows import gather
from tradefair.evaluation.store.tables import TABLES, Cell
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.tracestore import (
    REFERENCES,
    PromptCall,
    StorePlace,
    find_traces,
    is_reference,
    is_store,
    open_trace,
    stored_traces,
)

LedgerExtent: TypeAlias = Literal["auto", "full", "off"]
"""How far it is replayed what turns lost: by a budget of events, every turn, or not at all."""

# In the order of the cells that `_findings` gives, behind the trace's name.
_FINDINGS: dict[str, Kind] = {
    **dict.fromkeys(("trace", "seat", "mode", "status"), "TEXT"),
    **dict.fromkeys(("count", "of", "share", "lost"), "DOUBLE"),
    **{"seq": "BIGINT", "because": "TEXT"},
}
_MESSAGES: dict[str, Kind] = {
    **{"trace": "TEXT", "seq": "BIGINT", "round": "BIGINT"},
    **dict.fromkeys(("phase", "seat", "tool", "text", "arguments"), "TEXT"),
}


class Trace:
    """One recorded episode: a `.trace` or `.jsonl` file, or an episode of a shared store.

    Figures are read once, at first use: load a trace again after its episode has been played on. `place` is what every
    function of this package takes for it, the file's path or the address of a stored trace; `path` is the file, of a
    stored trace the episode's name. A damaged file is a Trace too: `verify` and `tradefair.api.evaluate` say what is
    wrong with it; what cannot be read raises TraceError.

    `ledger` is how far it is replayed what turns lost: "auto" as far as a budget of events goes, "full" for every turn,
    "off" not at all; None is "auto" for the verdict on this trace alone, and else "off". Raises ScenarioError for
    another word.
    """

    def __init__(self, place: str | Path, *, ledger: LedgerExtent | None = None) -> None:
        text = str(place)
        # An address stays text: Path would make one slash of the two behind the scheme.
        self.place: str | Path = text if is_store(text) else Path(place)
        self.path = Path(StorePlace.of(text).episode) if is_store(text) else Path(place)
        self._extent = None if ledger is None else Extent.of(ledger, 1)
        self._evaluations: dict[tuple[Extent, int], Evaluation] = {}

    @property
    def market(self) -> str:
        """Name of the market."""
        return self._core.market

    @property
    def scenario(self) -> str:
        """Id of the scenario, such as `double_auction/duel`."""
        return str(self._core.scenario.get("id", ""))

    @property
    def seed(self) -> int:
        """The seed, 0 to 2**63 - 1."""
        return self._core.seed

    def evaluate(self) -> Evaluation:
        """Outcome, diagnosis, and what is unsound: see `tradefair.api.evaluate`. Read once, never raises.

        It has the ledgers of the seats under test where the trace was given `ledger` "auto" or "full".
        """
        return self._evaluated(self._extent or Extent.OFF)

    @property
    def outcome(self) -> Outcome[Any, Any]:
        """The economic result: `seats` maps seat id to the seat's figures, `market_outcome` holds the market's.

        The fields and their units are those of the market's page in docs/markets. Raises TraceError.
        """
        if self._evaluation.outcome is None:
            raise TraceError(self._evaluation.problem)
        return self._evaluation.outcome

    @property
    def raised(self) -> Sequence[Finding]:
        """The failure modes that were found, the costliest first. Raises TraceError."""
        _ = self.outcome  # raises where nothing can be read: no finding would look like none found
        diagnosis = self.evaluate().diagnosis
        return () if diagnosis is None else diagnosis.raised

    @cached_property
    def verdict(self) -> Verdict:
        """How it went and what turns lost: `str()` of it is text and table, and a notebook shows it as a block.

        It is what `tradefair evaluate` prints. Replaying turns takes about ten seconds at most; `ledger="off"` leaves
        it out. References are those in the folder `references/` next to the file. Only `verify` checks the trace. Read
        once, never raises.
        """
        return self.verdict_among(1)

    def verdict_among(self, episodes: int) -> Verdict:
        """The verdict on this trace as one of so many, which by default have no ledgers, else share their budget."""
        extent = Extent.of(self._extent, episodes)
        return verdict_of_file(self.place, evaluation=self._evaluated(extent, episodes))

    def events(self) -> Iterator[dict[str, Any]]:
        """The events as plain data, in order, large results included. Raises TraceError at what cannot be read."""
        with open_trace(self.place) as opened:
            yield from opened.decoded()

    def prompts(self, seat: SeatId | None = None) -> Iterator[PromptCall]:
        """What the model of `seat` (None: of any seat) was sent and what it answered, call by call.

        `PromptCall.request` is the body of the request, `answer` the status and body that came back. None where the
        trace keeps none (`prompts = false`). Raises TraceError.
        """
        with open_trace(self.place) as opened:
            yield from opened.prompts(seat)

    def verify(self) -> Check:
        """Whether the trace is as it was sealed, and whether its rules still give the same bytes. Never raises."""
        return verify_file(self.place)

    def ledger(self, seat: SeatId | None = None, *, against: Sequence[str] = (), most: int | None = None) -> Ledger:
        """What each turn of a seat lost against the best known policies on the same luck; `to_rows()` of it for frames.

        `seat` is by default the only one under test. The episode is played on from each turn, which takes seconds.
        `against` names other policies than the best known ones, `most` how many values of each are computed. Turns have
        the names of mistakes with a case in them. Raises TraceError for what cannot be replayed, NotReplayed for a seat
        without a ledger, ScenarioError for a policy that cannot play it, SeatError.
        """
        # Imported here: whoever reads traces must not wait for what plays.
        from tradefair.runner.ledger.ledger import ledger_of

        return ledger_of(self.place, seat, against=against, most=most, diagnosis=self._evaluation.diagnosis)

    def report(self, output: str | Path | None = None) -> Path:
        """Write an HTML page about the trace and return its path; see `tradefair.api.report`."""
        return report(self, output)

    def calls(self) -> Frame:
        """One row per tool call: see `Traces.calls`."""
        return Traces([self]).calls()

    def outcomes(self) -> Frame:
        """One row per number of the outcome: see `Traces.outcomes`."""
        return Traces([self]).outcomes()

    def findings(self) -> Frame:
        """One row per failure mode and seat: see `Traces.findings`."""
        return Traces([self]).findings()

    def messages(self) -> Frame:
        """One row per message that other seats could read: see `Traces.messages`."""
        return Traces([self]).messages()

    @property
    def name(self) -> str:
        """The place as text, without the password of a store: what the column `trace` of a Frame holds."""
        return str(StorePlace.of(self.place)) if isinstance(self.place, str) else str(self.place)

    def __repr__(self) -> str:
        return f"Trace({self.name!r})"

    def __str__(self) -> str:
        """The verdict, as `print` shows it."""
        return str(self.verdict)

    @cached_property
    def _core(self) -> ManifestCore:
        # From the manifest alone: a folder of traces can be looked through without evaluating one.
        with open_trace(self.place) as opened:
            return opened.manifest.core

    def _evaluated(self, extent: Extent, episodes: int = 1) -> Evaluation:
        asked = extent, episodes if extent is Extent.AUTO else 1
        if asked not in self._evaluations:
            self._evaluations[asked] = (
                evaluate_file(self.place)
                if extent is Extent.OFF
                else _with_ledgers(self.place, self._evaluation, extent, episodes)
            )
        return self._evaluations[asked]

    @property
    def _evaluation(self) -> Evaluation:
        return self._evaluated(Extent.OFF)


class Traces(Sequence[Trace]):
    """Traces in name order. A slice of them is Traces again.

    The four tables leave out traces that cannot be read, with one warning that names the first. They hold everything in
    memory: for many thousands of episodes `tradefair export --format parquet` is the way.
    """

    def __init__(self, traces: Sequence[Trace], *, source: str | Path | None = None) -> None:
        """`source` is the folder or store that they were loaded from, if it is one."""
        self._traces = list(traces)
        self.source = source

    @overload
    def __getitem__(self, index: int) -> Trace: ...

    @overload
    def __getitem__(self, index: slice) -> Traces: ...

    def __getitem__(self, index: int | slice) -> Trace | Traces:
        # A slice is a selection: its folder holds more than that, so it keeps no source.
        return self._traces[index] if isinstance(index, int) else Traces(self._traces[index])

    def __len__(self) -> int:
        return len(self._traces)

    def __repr__(self) -> str:
        return f"Traces({len(self)} of {self.source or 'a selection'})"

    def __str__(self) -> str:
        """The verdict on them all, as `print` shows it; of none what they are."""
        return str(self.verdict) if self._traces else repr(self)

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def where(self, text: str) -> Traces:
        """The traces that fit a filter, such as `by:react score>100 findings>=2 seed:1..20`, in order.

        The language is that of `tradefair view`. Traces are evaluated and re-executed where the filter asks for what
        that gives. Raises ScenarioError for an unknown key.
        """
        from tradefair.evaluation.viewer.filter import parse
        from tradefair.evaluation.viewer.row import row_of

        wanted = parse(text)
        fitting = [trace for trace in self if wanted.match(row_of(trace.place, whole=wanted.judged))]
        return Traces(fitting)

    @property
    def verdict(self) -> Verdict:
        """How the series went, of one trace its own verdict: means over episodes, the most frequent mistake, troubles.

        Of several traces that were loaded with `ledger` "auto" or "full" also the mean gap and the kinds of turns that
        hold it: `verdict.seats[0].ledgers`, with `to_rows()`. Never raises.
        """
        if len(self) == 1:
            return self[0].verdict
        return verdict_of_series([trace.verdict_among(len(self)) for trace in self])

    def verify(self) -> list[Check]:
        """The check of each trace, in order. Takes about as long as playing them did. Never raises."""
        return [trace.verify() for trace in self]

    def report(self, output: str | Path | None = None) -> Path:
        """Write one HTML page about all of them and return its path; see `tradefair.api.report`."""
        return report(self, output)

    def calls(self) -> Frame:
        """One row per tool call, whatever came of it: `trace` (the path) and the columns of the table `calls`.

        docs/how-to/python.md explains the columns; `tradefair trace` queries the same table.
        """
        return self._table("calls")

    def outcomes(self) -> Frame:
        """One row per number of an outcome: trace, episode, seat (empty for the market's own figures), name, value.

        Nested figures have dotted names; what is not known has no row. Units are those of the market's page.
        """
        return self._table("outcomes")

    def findings(self) -> Frame:
        """One row per failure mode and seat, found or not.

        Columns: trace, seat, mode, status (raised, condition, clear, unchecked, merged: see `Finding`), count and of
        (cases, out of how many), share, lost (what the turns of its cases lost, in the seat's metric; null without a
        ledger, see `load`), seq (the event that is cited first), because (why that event was wrong; of a mode
        that was not found its note, else the threshold). Rows may share turns, which are then counted in both. A mode
        that several seats share has the same row for each, with the seat's own share.
        """
        return self._frame(_FINDINGS, _findings)

    def messages(self) -> Frame:
        """One row per message that other seats could read, in the order of events.

        Columns: trace, seq (number of the event), round, phase, seat (the sender), tool, text, arguments (all of the
        call's arguments as JSON). Only messages that the market accepted.
        """
        return self._frame(_MESSAGES, _messages)

    def _table(self, name: str) -> Frame:
        types: dict[str, Any] = {"trace": "TEXT", **{column.name: column.type for column in TABLES[name].columns}}
        return self._frame(types, lambda trace: _stored(trace, name))

    def _frame(self, types: dict[str, Kind], read: Callable[[Trace], list[tuple[Cell, ...]]]) -> Frame:
        """The rows that `read` finds in each trace, behind the trace's name."""
        rows: list[tuple[Cell, ...]] = []
        unread: list[str] = []
        for trace in self:
            try:
                rows += [(trace.name, *row) for row in read(trace)]
            except TraceError as error:
                unread.append(str(error))
        if unread:
            # Raising would hide a sweep behind one bad file; leaving it out unsaid would bias every figure.
            warnings.warn(f"{len(unread)} of {len(self)} traces cannot be read: {unread[0]}", stacklevel=3)
        return Frame(types, rows)


def load(path: str | Path, *, ledger: LedgerExtent | None = None) -> Traces:
    """The traces of a file, of a folder and all folders below it, or of a shared store (`postgresql://…`).

    `ledger` is how far it is replayed what turns lost, once that is asked for: see `Trace`. Of several traces "auto"
    shares ten budgets of events among all.

    References, which `play(references=True)` puts into a folder `references` next to its traces, are loaded only where
    that folder is named. Nothing is read yet but names. Raises TraceError where there is no trace.
    """
    if is_store(str(path)):
        stored = [Trace(place.url, ledger=ledger) for place in stored_traces(str(path))]
        return Traces(stored, source=str(StorePlace.of(str(path))))
    folder = Path(path)
    # By the folders below the named one, so that a folder of references can be named itself.
    files = [file for file in find_traces(folder) if not is_reference(file, folder)]
    if not files:
        raise TraceError(f"{folder}: holds references only: name its folder {REFERENCES}")
    return Traces([Trace(file, ledger=ledger) for file in files], source=folder)


def evaluate(trace: str | Path | Trace) -> Evaluation:
    """What a trace says of its episode: `outcome`, `diagnosis`, and `unsound` where its chain does not hold.

    The same as `tradefair evaluate --json --ledger off`. Never raises: where nothing can be read, `outcome` is None and
    `problem` says why.
    """
    return evaluate_file(_place(trace))


def verify(trace: str | Path | Trace) -> Check:
    """Check a trace's hash chain and seal, and re-execute every event. Never raises: whatever it holds is a Check.

    `sound` says whether nothing is wrong, `verdict` and `message` what, `seq` at which event.
    """
    return verify_file(_place(trace))


def compare(
    a: str | Path | Traces,
    b: str | Path | Traces,
    *,
    seats: Sequence[SeatId] | None = None,
    success: str | None = None,
    reference: Path | None = None,
    passive: Path | None = None,
) -> Comparison:
    """B against A on every scenario and seed that both played; `verdict` is who is better, and what is missing.

    `seats` are compared (default: where the agent sat). `success` is what pass^k counts, "METRIC>NUMBER". `reference`
    and `passive` are folders of the oracle and of the passive policy (default: `references/` next to the traces), for
    regret. Raises TraceError when markets are mixed or nothing can be read, ScenarioError for a folder without traces,
    SeatError for a seat that there is not.
    """
    wanted = parse_success(success) if success else None
    return compare_sides(_side(a), _side(b), Options(seats, reference, passive, wanted))


def report(traces: str | Path | Trace | Traces, output: str | Path | None = None) -> Path:
    """Write one self-contained HTML page about up to 40 traces and return its path.

    `output` defaults to T.html next to the trace T.trace, for a folder to report.html in it. Every trace is verified by
    re-execution for the page; that of one trace says what its turns lost. Raises TraceError for what is no trace,
    ScenarioError for more than 40 traces and where there is no default, StorageUnavailable when the page cannot be
    written.
    """
    from tradefair.evaluation.report.build import write_report

    found = traces if isinstance(traces, Traces) else Traces([traces]) if isinstance(traces, Trace) else load(traces)
    target = Path(output) if output is not None else _page_of(found)
    # Of one trace only: what turns lost takes seconds to replay.
    write_report([trace.place for trace in found], target, ledgers=_with_ledgers if len(found) == 1 else None)
    return target


def _with_ledgers(
    place: str | Path, evaluation: Evaluation, extent: Extent = Extent.AUTO, episodes: int = 1
) -> Evaluation:
    # Imported here: whoever reads traces must not wait for what plays.
    from tradefair.runner.ledger.ledger import with_ledgers

    return with_ledgers(place, evaluation, extent=extent, episodes=episodes)


def _page_of(traces: Traces) -> Path:
    # T.trace and T.trace.jsonl both get T.html.
    if len(traces) == 1 and isinstance(place := traces[0].place, Path):
        return place.with_name(place.name.removesuffix(".jsonl").removesuffix(".trace") + ".html")
    if isinstance(traces.source, Path) and traces.source.is_dir():
        return traces.source / "report.html"
    raise ScenarioError("these traces lie in no folder of their own: name the page's file with output=")


def _place(trace: str | Path | Trace) -> str | Path:
    return trace.place if isinstance(trace, Trace) else trace


def _side(traces: str | Path | Traces) -> Side:
    place = traces.source if isinstance(traces, Traces) else traces
    # A folder or file is read as the command reads it, references included; a selection is its own files.
    if place is not None and not is_store(str(place)):
        return load_side(Path(place), proven=None)
    files = [trace.place for trace in traces] if isinstance(traces, Traces) else [place]
    paths = [file for file in files if isinstance(file, Path)]
    if len(paths) < len(files):
        raise ScenarioError("compare reads files: fetch a store's traces with tradefair export first")
    # The folder that holds all of them names the side.
    return load_files(Path(os.path.commonpath([path.parent.absolute() for path in paths] or ["."])), paths, proven=None)


def _stored(trace: Trace, table: str) -> list[tuple[Cell, ...]]:
    return [row for name, row in gather(trace.place) if name == table]


def _findings(trace: Trace) -> list[tuple[Cell, ...]]:
    # `outcome` raises where nothing can be read, and `_frame` then counts the trace as unread.
    diagnosis = trace.evaluate().diagnosis if trace.outcome else None
    rows: list[tuple[Cell, ...]] = []
    for finding in diagnosis.findings if diagnosis else ():
        first = finding.cases[0] if finding.cases else None
        because = first.because if first and finding.status != "clear" else finding.note or finding.threshold
        for seat in finding.seats:
            alone = len(finding.seats) == 1
            # Cases that were judged over several seats cannot be divided among them; only the share is the seat's own.
            counted = (finding.count, finding.of) if alone else (None, None)
            share = finding.share if alone else finding.parts.get(seat, finding.share)
            rows.append((seat, finding.id, finding.status, *counted, share, finding.lost, first and first.seq, because))
    return rows


def _messages(trace: Trace) -> list[tuple[Cell, ...]]:
    with open_trace(trace.place) as opened:
        # Only a market's evaluator knows which argument of which tool is a message.
        spoken = insight_of(opened, evaluator_of(opened.manifest.core.market)).messages
    rows: list[tuple[Cell, ...]] = []
    for cells in _stored(trace, "calls"):
        call = dict(zip(TABLES["calls"].names, cells, strict=True))
        # A refused message was never delivered.
        if call["status"] == "ok" and call["tool"] in spoken:
            # The trace may be foreign: arguments need not be what the market accepts today.
            arguments: Any = orjson.loads(str(call["arguments"]))
            text = arguments.get(spoken[call["tool"]]) if isinstance(arguments, dict) else None  # pyright: ignore
            when = (call["seq"], call["round"], call["phase"], call["seat"], call["tool"])
            rows.append((*when, text if isinstance(text, str) else None, call["arguments"]))
    return rows
