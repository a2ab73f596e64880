"""The verdict on an episode, a series, a comparison or a ranking: figures that others computed, and their sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract import SeatId
from tradefair.evaluation.ledger import Ledger, LedgerSeries
from tradefair.evaluation.prove.verify import Conclusion
from tradefair.evaluation.reading import PersonMoves
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.ledger_text import MOST_KINDS, MOST_TURNS, ledger_table, series_table, show_ledgers

SCHEMA = "tradefair.verdict/1"
_WIDTH = 100

Status = Literal["played", "idle", "stopped", "running", "failed", "unsound"]
SeatKind = Literal["model", "script", "person", "outside", "unknown"]
TroubleKind = Literal[
    "unsound",
    "provider_failed",
    "never_called",
    "malformed",
    "unknown_tools",
    "all_refused",
    "gave_up",
    "stopped",
    "unread",
]


class _Record(BaseModel):
    """A frozen record that refuses unknown keys, also when it is read back from JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Score(_Record):
    """The first primary metric of a seat: its field, what people call it, its value (null: not known) and unit.

    `said` is how it went in words of the market ("earned 404 points"), `verb` what stands before a value, `loss` before
    the amount of a negative one, where it is not empty. `figures` are the other numbers that `said` names, by field:
    `wealth_rank`, and `seats`, how many have this role; `together` is the phrase that says what a mean is of. Of a
    series `value` is the mean over episodes, as are `figures` that `together` names, `low` and `high` its 95 %
    interval; null where there are too few.
    """

    metric: str
    title: str
    value: float | None
    unit: str
    higher_is_better: bool = True
    verb: str = "scored"
    loss: str = ""
    said: str = ""
    figures: Mapping[str, float] = {}
    together: str = ""
    aggregation: str = Field(default="", exclude=True)
    low: float | None = None
    high: float | None = None


class Beside(_Record):
    """What a reference scored in the same seat on the same seed; `privileged`: it knows hidden facts."""

    name: str
    value: float | None
    privileged: bool = False


class Mistake(_Record):
    """The first case of the finding to read first: the call `seq` of `seat`, and why it was wrong.

    `count` is how often the seat made it. `lost` is what the `turns` of all its cases lost by the seat's ledger, in
    `unit`; null where there is none; `agreed`: by every policy it has one sign. `protocol`: calls failed or were never
    made, which comes before what was decided. `raised` of `of` known policies' seats make such mistakes too; null where
    no base rate is shipped. Of a series it is the one in `seed`, of the mode that comes first in `episodes` of them.
    """

    mode: str
    seat: SeatId
    seq: int
    round: int
    because: str
    lost: float | None = None
    turns: int = 0
    agreed: bool = True
    unit: str = ""
    protocol: bool = False
    count: int = 1
    seed: int | None = None
    episodes: int | None = None
    raised: int | None = None
    of: int | None = None


class Effort(_Record):
    """What a seat took. Null: not known (tokens, seconds and cost), or no model (`model_calls`).

    `replies_without_call` counts model replies that called no tool, `malformed_calls` those whose arguments could not
    be read, `unknown_tools` calls of tools that do not exist. `estimated`: some tokens were not stated by the provider.
    `cost_usd_micro` is in millionths of a US dollar.
    """

    model_calls: int | None = None
    replies_without_call: int = 0
    malformed_calls: int = 0
    unknown_tools: int = 0
    tool_calls: int = 0
    refused: int = 0
    tokens: int | None = None
    estimated: bool = False
    cost_usd_micro: int | None = None
    seconds: float | None = None


class Trouble(_Record):
    """Why a score says little, in words; `exit` is what a command ends with."""

    kind: TroubleKind
    text: str
    exit: int


class SeatVerdict(_Record):
    """One seat under test, of a series in all its episodes.

    `share` is the part of `share_of` that it won, 0 to 1; `headline` its place between the headline's references,
    which `between` names: 0 is the first, 1 the second.
    `beside` has the references, best first. `at_stake`: what the seat could win, 0: nothing, whoever plays, null: not
    known. `referenced`: whether references were looked for. `rounds` are closed rounds, `lapsed` those of them that the
    seat let pass. By its ledger the policies `best_known` would have earned `reachable` in its place, `gap` more than
    it did (the sum of what its turns lost); null where there is none, and `no_ledger` says why. Of a series
    `ledgers` is which kinds of turns lost it, in those episodes that have a ledger. `raised`, `checked` and
    `unchecked` count failure modes. `acted`: whether any of its calls was accepted. `person_moves`: of a seat that is
    not a person's alone, how many moves somebody has clicked.
    """

    seat: SeatId
    role: str
    player: str
    kind: SeatKind
    score: Score
    headline: float | None = None
    share: float | None = None
    share_of: str = ""
    between: tuple[str, ...] = ()
    beside: tuple[Beside, ...] = ()
    referenced: bool = False
    at_stake: float | None = None
    rounds: int = 0
    lapsed: int = 0
    mistake: Mistake | None = None
    gap: float | None = None
    reachable: float | None = None
    best_known: tuple[str, ...] = ()
    no_ledger: str = ""
    round_word: str = Field(default="round", exclude=True)
    ledgers: LedgerSeries | None = Field(default=None, exclude_if=lambda ledgers: ledgers is None)
    because: str = Field(default="", exclude=True)
    """What a case of a finding says of the costliest turn."""
    ledger: Ledger | None = Field(default=None, exclude=True)
    raised: int = 0
    checked: int = 0
    unchecked: int = 0
    effort: Effort = Effort()
    acted: bool = True
    person_moves: PersonMoves | None = Field(default=None, exclude_if=lambda moves: moves is None)
    trouble: Trouble | None = None


class NextStep(_Record):
    """A command that goes on from here, and what it is for."""

    command: str
    why: str


class Reproduced(_Record):
    """What re-execution says: `up_to` event `seq` of a trace that is still written; `copied` came from outside.

    Of a series `traces` is how many there are and `sound` how many of them are reproduced.
    """

    state: Conclusion | Literal["not_checked", "up_to"] = "not_checked"
    events: int = 0
    seq: int | None = None
    copied: int = 0
    traces: int = 1
    sound: int | None = None


class FoundAt(_Record):
    """One case of a finding in a foreign run: its event, and the step that its source counts, null without one."""

    rule: str
    seq: int
    step: int | None
    because: str


class ForeignRun(_Record):
    """A run that no rules have made, of a series all of them: sums, and `runs` how many.

    `passed` is the source's own result, or a person's label (`labelled`); null where there is none. `steps` counts
    messages, spans or records of the source from 1. `refused` calls were answered by an error, `unanswered` ones by
    nothing. `raised`, `checked` and `unchecked` count findings, rules and modes; `rules` names the former, `found` has
    their first cases. `tools` are those that were called. `reconciled` is false where the import used other calls than
    the source holds by its own count.
    """

    how: Literal["imported", "recorded"]
    format: str
    file: str
    run: str
    passed: bool | None = None
    labelled: bool = False
    runs: int = 1
    steps: int = 0
    messages: int = 0
    calls: int = 0
    unanswered: int = 0
    refused: int = 0
    raised: int = 0
    checked: int = 0
    unchecked: int = 0
    rules: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    found: tuple[FoundAt, ...] = ()
    reconciled: bool = True


class Verdict(_Record):
    """How it went. `text` is `sentences` joined by spaces: two to five, of at most 240 characters each, and `world`.

    `world` is what the market says of its world under every result; empty where it says nothing.
    `trouble` is the first of the trace or its seats, and is said before all else. `seats` are those under test; empty
    where the trace names none: then `figure` is the market's own and `effort` that of all seats. `informative` counts
    seeds on which the seat had something to win, null for one episode; `unknown_stakes` those of them of which that is
    not known. `together` is what several seats of an episode are as one, without a name: means of scores, and of the
    references that sat in all of them. `versions` names rules and evaluator.
    """

    schema_: Literal["tradefair.verdict/1"] = Field(default=SCHEMA, alias="schema")
    kind: Literal["episode", "series", "comparison", "ranking"] = "episode"
    status: Status
    trouble: Trouble | None = None
    market: str
    scenario: str
    seeds: tuple[int, ...] = ()
    seats: tuple[SeatVerdict, ...] = ()
    together: SeatVerdict | None = None
    figure: Score | None = None
    effort: Effort = Effort()
    informative: int | None = None
    unknown_stakes: int = 0
    reproduced: Reproduced = Reproduced()
    sentences: tuple[str, ...] = ()
    text: str = ""
    next: tuple[NextStep, ...] = ()
    versions: Mapping[str, str] = {}
    world: str = ""
    foreign: ForeignRun | None = Field(default=None, exclude_if=lambda run: run is None)
    """What is said of a run that no rules have made; it has no seats under test, and its steps instead of rounds."""

    def saying(self, sentences: Iterable[str]) -> Self:
        """This verdict with these sentences and their text."""
        known = tuple(sentences)
        return self.model_copy(update={"sentences": known, "text": " ".join(known)})

    @property
    def exit_code(self) -> int:
        """What a command ends with: the worst trouble."""
        troubles = [self.trouble, *(seat.trouble for seat in self.seats)]
        return max((trouble.exit for trouble in troubles if trouble), default=0)

    def to_json(self) -> dict[str, object]:
        """Plain data, `schema` first."""
        return self.model_dump(mode="json", by_alias=True)

    def tables(self, *, whole: bool = False) -> list[Table]:
        """What turns lost, a table per seat: of an episode by turn, of a series by kind of turn; `whole`: all rows."""
        turns, kinds = (None, None) if whole else (MOST_TURNS, MOST_KINDS)
        found: list[Table] = []
        for seat in self.seats:
            if seat.ledger is not None:
                found.append(ledger_table(seat.ledger, word=seat.round_word, most=turns))
            if seat.ledgers is not None:
                found.append(series_table(seat.ledgers, seat.player, most=kinds))
        return found

    @property
    def frozen(self) -> bool:
        """Whether in a ledger other agents kept to what they did."""
        return any(seat.ledger is not None and seat.ledger.frozen for seat in self.seats)

    def __str__(self) -> str:
        """The text, and behind it the tables of what turns lost, in lines of 100 characters."""
        # Imported here: rich takes long.
        from tradefair.cli.console import Console

        console = Console(width=_WIDTH)
        with console.capture() as shown:
            show_ledgers(console, self.tables(), frozen=self.frozen)
        return f"{self.text}\n{shown.get()}".rstrip()

    def _repr_html_(self) -> str:
        """The lead block of a page, for notebooks: the first sentence large, red where it tells of trouble."""
        first, *others = map(escape, self.sentences or ("",))
        colour = "; color: #b3261e" if self.trouble and self.trouble.exit else ""
        rest = "".join(f"<div>{sentence}</div>" for sentence in others)
        tables = "".join(table.html() for table in self.tables())
        return f'<div><div style="font-size: 1.3em{colour}">{first}</div>{rest}{tables}</div>'
