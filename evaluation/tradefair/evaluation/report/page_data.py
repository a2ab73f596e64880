"""What the page is told, as plain records; `web/src/data.ts` has the same names. All texts may be hostile."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from tradefair.evaluation.charts import Chart, HeatChart, XYChart
from tradefair.evaluation.compare.comparison import Attribute, Divergence
from tradefair.evaluation.figure import Figure
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.record import Record
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.verdict import Verdict


class Packed(Record):
    """Rows of texts in chunks of base64 of raw deflate of JSON; `starts[i]` is the number of the first row of chunk i.

    A row is a list of [text or null, length before it was cut or null]. `limit` is the length at which texts were cut.
    """

    starts: list[int]
    chunks: list[str]
    rows: int
    limit: int
    cut: int


class Verification(Record):
    """What the check of verify said, by the names of its fields; `findings` are their messages."""

    verdict: str
    sound: bool
    sentence: str
    events: int
    seq: int | None
    sealed: bool
    head_hash: str | None
    seal: str | None
    signed_by: str | None
    in_log: str | None
    re_executed: str | None
    findings: list[str]


class SeatPage(Record):
    """A seat: who sat there, what it took, and its economic result by the columns of its market's evaluator.

    `privileged`: it was played by a policy that sees what seats cannot see.
    """

    id: str
    role: str
    label: str | None
    privileged: bool
    outcome: dict[str, Any]
    account: dict[str, Any]


class TablePage(Record):
    """A table of the evaluator; the first column holds names."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, table: Table) -> Self:
        """The same title, columns and cells."""
        return cls(title=table.title, columns=list(table.columns), rows=[list(row) for row in table.rows])


class EvidenceRow(Record):
    """Executed actions of one kind, and how many had a look at each category earlier in the same round.

    `looked` counts by category; `needed` are the categories that the evidence map asks for.
    """

    seat: str
    action: str
    count: int
    looked: dict[str, int]
    needed: list[str]


class AuditRow(Record):
    """A tool that shows something: how often the seat used it. `rounds` counts rounds with an answered call."""

    seat: str
    tool: str
    title: str
    evidence: list[str]
    offered: bool
    answered: int
    refused: int
    rounds: int
    first: int | None
    last: int | None


class Problem(Record):
    """Something in the trace that could not be used; `seq` is the event's number, null when it belongs to no event."""

    seq: int | None
    message: str


class RaisedPage(Record):
    """A raised finding, what its turns lost and how many competent seats do it in words, its cases' events."""

    finding: Finding
    told: list[str]
    events: list[int]


class TurnPage(Record):
    """A turn in words, or a stretch of turns that was not resolved: where it is, what the seat did in it.

    `lost` is in the ledger's unit, below 0 where it gained; `would` is what the best policy would have done, empty for
    a stretch: a line an action. `seqs` are the seat's events in it.
    """

    place: str
    lost: float
    did: list[str]
    would: list[str]
    seqs: list[int]


class LedgerPage(Record):
    """What the turns of a seat lost, in `unit`: the course of its position, and the table of the turns that lost most.

    `seqs` are the events to which the table's rows lead, one a row, null for a row that is no turn. `turns` are all of
    them, in the order of the chart's bars; `best` is the policy that would have done otherwise. Money is in currency
    units; `per_unit` of the evaluator's units are one of them.
    """

    seat: str
    unit: str
    per_unit: int
    best: str
    chart: XYChart
    table: TablePage
    seqs: list[int | None]
    turns: list[TurnPage]


class ToolUse(Record):
    """How a foreign run used one tool; latencies in microseconds, null where the source has no times.

    `known` says where `kind` comes from: annotation, name, source or map. `refused` calls were answered by an error.
    """

    tool: str
    kind: str
    known: str
    calls: int
    refused: int
    unanswered: int
    median_us: int | None
    p95_us: int | None


class ForeignPage(Record):
    """What a page tells of a run that no rules have made. Its rows of `bodies` are [text or arguments, answer].

    `left_out` and `redacted` are (name, count); `digest` is that of the source's file, `reader` the reader's version.
    """

    title: str
    reader: str
    digest: str
    tools: list[ToolUse]
    left_out: list[tuple[str, int]]
    redacted: list[tuple[str, int]]


class EpisodePage(Record):
    """One trace. `events` and `notes` are columns, packed like texts: one row that holds JSON.

    `bytes` is the size of the file; `wall_seconds` the time from the first to the last event, null
    where unknown. `bodies` and `note_bodies` have one row per event or note. `manifest` and `about` are
    JSON as it is stored. `raised` are findings in the order in which to read them, `asides` lines about all of them.
    `figures` explains the fields that the page shows, by name. `transcript` is a list of `SeatTranscript`, one per seat
    under test. `ledgers` are those of the seats under test; where they were asked for and there are none, `no_ledger`
    says why. `foreign` is there for a run that no rules have made: its page opens on what was said and called.
    """

    verdict: Verdict
    name: str
    bytes: int
    market: str
    scenario: str
    description: str
    seed: int | None
    rules_version: str
    rounds_closed: int
    end_reason: str | None
    censored: bool
    wall_seconds: float | None
    manifest: str
    about: str
    verification: Verification | None
    seats: list[SeatPage]
    seat_columns: list[str]
    figures: dict[str, Figure]
    results: list[tuple[str, Any]]
    tables: list[TablePage]
    charts: list[Chart]
    diagnosis: Diagnosis | None
    raised: list[RaisedPage]
    asides: list[str]
    evidence_categories: list[str]
    evidence: list[EvidenceRow]
    looks: list[HeatChart]
    audit: list[AuditRow]
    problems: list[Problem]
    events: Packed
    bodies: Packed
    notes: Packed
    note_bodies: Packed
    transcript: Packed
    foreign: ForeignPage | None = Field(default=None, exclude_if=lambda page: page is None)
    ledgers: list[LedgerPage] = Field(default=[], exclude_if=lambda pages: not pages)
    no_ledger: str = Field(default="", exclude_if=lambda reason: not reason)


class PairPage(Record):
    """Two traces side by side: what differs in how they were made, and the first decision that differs.

    `note` says why there is no divergence: none differs, or the events cannot be compared.
    """

    attributes: list[Attribute]
    divergence: Divergence | None
    note: str


class BoardPage(Record):
    """One leaderboard: its charts and tables, how it is misread, what it leaves out, how it was made."""

    title: str
    charts: list[Chart]
    tables: list[TablePage]
    cautions: list[str]
    left_out: list[str]
    method: list[str]


class FigureRecord(Record):
    """A page of figures: what was found in words, charts, tables, remarks on them, and how they were made."""

    title: str
    verdict: Verdict | None
    charts: list[Chart]
    tables: list[TablePage]
    notes: list[str]
    method: str


class SiteIndex(Record):
    """The first page of a site: verdicts as (who, text, address), boards as (name, line, address), pages and files as
    (name, address). `left_out` are traces that nothing was ranked of: (file, reason).
    """

    title: str
    newest: list[tuple[str, str, str]]
    boards: list[tuple[str, str, str]]
    pairs: list[tuple[str, str]]
    parts: list[tuple[str, str]]
    files: list[tuple[str, str]]
    left_out: list[tuple[str, str]]


class Live(Record):
    """Where a page of the viewer asks for more; a report has none. `ledger`: what turns lost can be asked for."""

    id: str
    open: bool
    ledger: bool = False


class PageData(Record):
    """All of a page. `mode` says which page it is; `listing` is the viewer's list, made in `viewer/listing.py`.

    `rated` says in a line what the leaderboards `boards` count; `ask` is where a page of the viewer gets them.
    `verdict` is the one on all episodes of a report, where there are several. `rates` is how often each rule speaks in
    failed and in passed foreign runs, `rates_note` what to mind.
    """

    mode: Literal["report", "compare", "list", "boards", "figure"]
    version: str
    verdict: Verdict | None = None
    episodes: list[EpisodePage] = Field(default=[])
    pair: PairPage | None = None
    live: list[Live] = Field(default=[])
    listing: dict[str, Any] | None = None
    site: SiteIndex | None = None
    folder: str = ""
    boards: list[BoardPage] = Field(default=[])
    rated: str = ""
    ask: str = ""
    figure: FigureRecord | None = None
    rates: TablePage | None = Field(default=None, exclude_if=lambda table: table is None)
    rates_note: str = Field(default="", exclude_if=lambda note: not note)
