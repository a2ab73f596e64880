"""Public game logs of the BAZAAR, emergent-collusion and PACT studies: typed records and a total parser.

One JSONL file per game, first row `init`, last row `final` (double_auction page, 11.1; bargaining page, 11). The parser
gets lines, never opens a file, and never raises on invalid content: what is wrong becomes a `Finding` that names file,
line and field. Whether a game's numbers follow from its seed and quotes is the importers' concern, not this module's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, Self, cast

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, PrivateAttr, ValidationError

from tradefair.trading.chance import RecordedPair, RecordedRound
from tradefair.trading.values import Law, Roster

# What the public logs carry. Another version is a finding, but its rows are still read.
SCHEMA_VERSIONS = ("1.4.0", "1.7.0")
STREAM_SHARING = frozenset({"adaptive", "collusive", "random", "roth_erev", "signal_jammer"})
"""Log ids of baselines that drew from the game's own stream while quoting (double_auction page, 7.2, step 6)."""
MAX_FINDINGS = 200

_GROUPS = frozenset({"all_traders", "all_sellers", "all_buyers"})
# Far below Python's own limit, which the recursion of `_odd_value` would meet.
_MAX_JSON_DEPTH = 64
_MAX_PATH = 120
_TWICE = object()
_LOG_LAWS: dict[str, Law] = {
    "uniform": "uniform",
    "semi_bimodal": "semi_bimodal",
    "heavy_tailed": "heavy_tailed",
    # The logs' name: a base per seat, so nothing is correlated (double_auction page, 6.1).
    "correlated": "correlated_source",
}


def _whole(number: object) -> object:
    """Older logs write whole amounts as floats."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _given(scores: object) -> object:
    """A map without the seats that it has no number for; null is an empty one."""
    if isinstance(scores, dict):
        known = cast("dict[object, object]", scores)
        return {seat: score for seat, score in known.items() if score is not None}
    return {} if scores is None else scores


# The grid of all public logs is 0..100; up to 1,000 rounds, as in our own scenarios.
Price = Annotated[int, Field(ge=0, le=100)]
WholePrice = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=100)]
Points = Annotated[int, BeforeValidator(_whole)]
MAX_SCORE = 1e6
# The public logs clip their scores at 5; that was read off them, so that a bound of ours only keeps sums finite.
Score = Annotated[float, Field(ge=-MAX_SCORE, le=MAX_SCORE)]
RoundNumber = Annotated[int, Field(ge=1, le=1000)]


class Finding(NamedTuple):
    """Something wrong in a log: `line` counts from 1, `field` is a dotted path into the row."""

    file: str
    line: int
    field: str
    message: str


class _Record(BaseModel):
    """Unknown fields are kept (`model_extra`), known ones are exact: no bool for int, no NaN."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)


class Row(_Record):
    """What every row of a log has."""

    _line: int = PrivateAttr(default=0)

    schema_version: str
    game_id: str
    type: str
    model_name: str | None
    log_sequence: Annotated[int, Field(ge=1)]

    @property
    def line(self) -> int:
        """The row's line number in its file, from 1."""
        return self._line

    def at(self, line: int) -> Self:
        """This row, with its line number."""
        self._line = line
        return self


class AgentEntry(_Record):
    """One seat in `init`: a buyer has a valuation, a seller a cost."""

    role: Literal["buyer", "seller"]
    model_name: str
    is_llm: bool
    valuation: Price | None
    cost: Price | None


class InitData(_Record):
    """The game's set-up; the key order of `agents` is the seat order of the log's random stream."""

    distribution: Literal["uniform", "semi_bimodal", "heavy_tailed", "correlated"]
    communication_enabled: bool
    num_rounds: RoundNumber
    num_buyers: Annotated[int, Field(ge=1, le=500)]
    num_sellers: Annotated[int, Field(ge=1, le=500)]
    random_seed_value: Annotated[int, Field(ge=0, lt=2**32)]
    agents: dict[str, AgentEntry]


class Init(Row):
    """First row: who plays, on which seed and law."""

    data: InitData

    @property
    def law(self) -> Law:
        """Our name of the log's distribution."""
        return _LOG_LAWS[self.data.distribution]

    @property
    def seed(self) -> int:
        """Seed of the log's single random stream."""
        return self.data.random_seed_value

    @property
    def roster(self) -> Roster:
        """B1..Bn and S1..Sm."""
        return Roster.of(self.data.num_buyers, self.data.num_sellers)

    @property
    def seat_order(self) -> tuple[str, ...]:
        """The seats in the log's own order."""
        return tuple(self.data.agents)

    @property
    def values(self) -> dict[str, int]:
        """Valuation or cost by seat, B1..Bn then S1..Sm."""
        return {seat: _limit_of(self.data.agents[seat]) for seat in self.roster.seats}

    @property
    def labels(self) -> dict[str, str]:
        """What played each seat, in seat order."""
        return {seat: agent.model_name for seat, agent in self.data.agents.items()}

    @property
    def shares_stream(self) -> bool:
        """Whether a baseline drew from the game's stream, so that it can be followed only through the values."""
        return any(not agent.is_llm and agent.model_name in STREAM_SHARING for agent in self.data.agents.values())


class Conversation(Row):
    """A message; a round's messages stand in speaking order, silent seats have none."""

    round: RoundNumber
    player_id: str
    recipient_id: str
    message: str


class Violation(Row):
    """A message that the source dropped (schema 1.7.0)."""

    round: RoundNumber
    player_id: str
    reason: str


class BidAsk(Row):
    """A quote; a round's quotes stand in quote order."""

    round: RoundNumber
    agent_id: str
    role: Literal["buyer", "seller"]
    price: Price


class Trade(Row):
    """A trade; a round's trades stand in rank order. `clearing_random_pick` is true iff a half tick went up."""

    round: RoundNumber
    buyer_id: str
    seller_id: str
    bid: Price
    ask: Price
    cleared_price: WholePrice
    midpoint_exact: float
    clearing_random_pick: bool
    maker_id: str


class PayoffChange(Row):
    """A seat's cumulative payoff before and after a trade."""

    round: RoundNumber
    seat_id: str
    old_payoff: Points
    new_payoff: Points
    delta: Points


class RoundEndData(_Record):
    """A round's totals; `payoff_map` is cumulative, `max_surplus` is W*."""

    round: RoundNumber
    payoff_map: dict[str, Points]
    clearing_prices: list[WholePrice]
    round_surplus: Points
    max_surplus: Points
    trade_count: int
    avg_price: float
    price_volatility: float


class RoundEnd(Row):
    """Last row of a round."""

    round: RoundNumber
    data: RoundEndData


class Snapshot(Row):
    """A `propensity_snapshot` row: it repeats a quote and is ignored."""

    round: RoundNumber


class FinalData(_Record):
    """The game's totals; all else that the log computes is kept unread. `seat_csa_map` may lack seats, or all."""

    aborted: bool
    final_payoff_map: dict[str, Points]
    seat_max_potential_surplus_map: dict[str, Points]
    seat_surplus_share_map: dict[str, float]
    seat_csa_map: Annotated[dict[str, Score], BeforeValidator(_given), Field(default_factory=dict)]
    total_surplus: Points
    max_surplus: Points
    market_efficiency: float


class Final(Row):
    """Last row of a game."""

    data: FinalData


_AnyRow = Init | Conversation | Violation | BidAsk | Trade | PayoffChange | RoundEnd | Snapshot | Final
_RoundRow = Conversation | Violation | BidAsk | Trade | PayoffChange | RoundEnd | Snapshot
_ROWS: dict[str, type[_AnyRow]] = {
    "init": Init,
    "conversation": Conversation,
    "communication_violation": Violation,
    "bid_ask": BidAsk,
    "trade": Trade,
    "payoff_change": PayoffChange,
    "round_end": RoundEnd,
    "propensity_snapshot": Snapshot,
    "final": Final,
}
# A payoff change follows its trade, so both share a place. Snapshots have none: they are dropped before.
_PLACE_IN_ROUND: dict[type[Row], int] = {
    Conversation: 0,
    Violation: 0,
    BidAsk: 1,
    Trade: 2,
    PayoffChange: 2,
    RoundEnd: 3,
}


@dataclass(slots=True)
class LoggedRound:
    """The rows of one round, in file order; `end` is null in a damaged log only."""

    number: int
    messages: list[Conversation] = field(default_factory=list[Conversation])
    violations: list[Violation] = field(default_factory=list[Violation])
    quotes: list[BidAsk] = field(default_factory=list[BidAsk])
    trades: list[Trade] = field(default_factory=list[Trade])
    payoff_changes: list[PayoffChange] = field(default_factory=list[PayoffChange])
    end: RoundEnd | None = None

    @property
    def quote_order(self) -> tuple[str, ...]:
        """Seats in the order of their quotes."""
        return tuple(quote.agent_id for quote in self.quotes)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Seats that sent a message, in speaking order."""
        return tuple(message.player_id for message in self.messages)

    @property
    def bids(self) -> dict[str, int]:
        """Buyers' prices by seat, in quote order."""
        return {quote.agent_id: quote.price for quote in self.quotes if quote.role == "buyer"}

    @property
    def asks(self) -> dict[str, int]:
        """Sellers' prices by seat, in quote order."""
        return {quote.agent_id: quote.price for quote in self.quotes if quote.role == "seller"}

    def recorded(self, *, chat: bool) -> RecordedRound:
        """The round's orders, coins and makers for `RecordedChance`; silent seats speak last, in quote order."""
        silent = tuple(seat for seat in self.quote_order if seat not in self.speakers)
        return RecordedRound(
            round=self.number,
            speaking_order=list(self.speakers + silent) if chat else None,
            quote_order=list(self.quote_order),
            pairs=[
                RecordedPair(
                    buyer=trade.buyer_id,
                    seller=trade.seller_id,
                    # Logs write false for an even sum too; here a coin that was not needed is null.
                    up=trade.clearing_random_pick if (trade.bid + trade.ask) % 2 else None,
                    maker=trade.maker_id,
                )
                for trade in self.trades
            ],
        )


@dataclass(frozen=True, slots=True)
class GameLog:
    """A parsed log. With no findings `init` and `final` are there and every round is complete."""

    name: str
    init: Init | None
    rounds: tuple[LoggedRound, ...]
    final: Final | None
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the file."""
        return not self.findings


def read_game(lines: Iterable[bytes], name: str) -> GameLog:
    """Parse the lines of one log file called `name`, with or without their line ends; never raises on their content."""
    reader = _Reader(name)
    for line, raw in enumerate(lines, 1):
        reader.take(line, raw)
    return reader.finish()


def _limit_of(agent: AgentEntry) -> int:
    """A buyer's value or a seller's cost, in points."""
    limit = agent.valuation if agent.role == "buyer" else agent.cost
    assert limit is not None, "the parser keeps no init with a seat that lacks its limit"
    return limit


def _odd_value(node: object, path: str = "", depth: int = 0) -> tuple[str, str] | None:
    """The first value that is not strict JSON: (path, what it is)."""
    if isinstance(node, float) and not math.isfinite(node):
        return path, f"{node} is not a number in JSON"
    # A lone surrogate is never printable: most texts are done without the loop over their characters.
    if isinstance(node, str) and not node.isprintable() and any("\ud800" <= char <= "\udfff" for char in node):
        return path, "the text holds half of a surrogate pair"
    if node is _TWICE:
        return path, "the name stands twice in one object"
    if depth >= _MAX_JSON_DEPTH:
        return path, f"nested deeper than {_MAX_JSON_DEPTH} levels"
    for key, child in _children(node):
        found = _odd_value(child, f"{path}.{key}" if path else key, depth + 1)
        if found:
            return found
    return None


def _children(node: object) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict):
        yield from cast("dict[str, object]", node).items()
    elif isinstance(node, list):
        for index, child in enumerate(cast("list[object]", node)):
            yield str(index), child


def _why_not_json(raw: bytes) -> tuple[str, str]:
    """Which field keeps a line from being strict JSON: (field, message); the field is empty if the line has none."""
    try:
        # json reads what orjson refuses (NaN, lone surrogates), so it can name the field.
        invalid = _odd_value(json.loads(raw))
    except (ValueError, RecursionError):
        invalid = None
    return invalid or ("", "the line is not JSON")


def _named_twice(raw: bytes) -> tuple[str, str] | None:
    """The first name that an object of the line has twice: which value counts is not for us to say."""
    try:
        return _odd_value(json.loads(raw, object_pairs_hook=_marked))
    # What this parser gives up on, the row's own check reads.
    except (ValueError, RecursionError):
        return None


def _marked(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object, with the mark `_TWICE` for every name that it has twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        found[name] = _TWICE if name in found else value
    return found


class _Reader:
    """Takes lines one by one; keeps the rows that are sound and a finding for each thing that is not."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._findings: list[Finding] = []
        self._line = 0
        self._sequence = 0
        self._init: Init | None = None
        # Seen, not kept: rows behind a damaged init or final are not blamed for its absence.
        self._init_seen = False
        self._final: Final | None = None
        self._final_seen = False
        self._seats: dict[str, str] = {}
        self._rounds: list[LoggedRound] = []
        self._place = 0

    def _found(self, field_path: str, message: str) -> None:
        # Names of seats are part of paths, and a log may hold any.
        if len(field_path) > _MAX_PATH:
            field_path = field_path[: _MAX_PATH - 1] + "…"
        # Bounded: a file of another kind would give a finding per line.
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(Finding(self._name, self._line, field_path, message))
        elif len(self._findings) == MAX_FINDINGS:
            text = f"more than {MAX_FINDINGS} findings; the rest is left out"
            self._findings.append(Finding(self._name, self._line, field_path, text))

    def take(self, line: int, raw: bytes) -> None:
        """Check one line and keep its row."""
        self._line = line
        try:
            content: JsonValue = orjson.loads(raw)
        except ValueError:
            # An unreadable line has used up a sequence number too, else each later line would be reported.
            self._sequence += 1
            self._found(*_why_not_json(raw))
            return
        if not isinstance(content, dict):
            self._sequence += 1
            self._found("", "the line is not a JSON object")
            return
        self._check_sequence(content.get("log_sequence"))
        row = self._typed(content, raw)
        if row is not None:
            self._keep(row.at(line))

    def finish(self) -> GameLog:
        """The log, once all lines were taken."""
        if self._line == 0:
            # A finding needs a line, and an empty file has none.
            self._line = 1
            self._found("type", "the file is empty; the first row must be init")
        elif not self._final_seen:
            self._found("type", f"no final row: the file ends in round {len(self._rounds)}")
        return GameLog(self._name, self._init, tuple(self._rounds), self._final, tuple(self._findings))

    def _check_sequence(self, sequence: JsonValue) -> None:
        """A wrong type is left to the row's own check."""
        expected = self._sequence + 1
        if isinstance(sequence, bool) or not isinstance(sequence, int):
            self._sequence = expected
            return
        if sequence > expected:
            missing = f"{expected}" if sequence == expected + 1 else f"{expected} to {sequence - 1}"
            self._found("log_sequence", f"gap: {missing} missing before {sequence}")
        elif sequence < expected:
            self._found("log_sequence", f"{sequence} where {expected} was due: a row is repeated or out of order")
        # From the number that was found: one gap is one finding, not one for each later line.
        self._sequence = sequence

    def _typed(self, content: Mapping[str, JsonValue], raw: bytes) -> _AnyRow | None:
        kind = content.get("type")
        model = _ROWS.get(kind) if isinstance(kind, str) else None
        if model is None:
            self._found("type", f"{_shown(kind)} is not a row type; known: {', '.join(_ROWS)}")
            return None
        self._init_seen |= model is Init
        self._final_seen |= model is Final
        # Totals and seats only: other rows are many, and what they say is re-executed.
        if model in (Init, Final) and (twice := _named_twice(raw)):
            self._found(*twice)
            return None
        try:
            return model.model_validate(content)
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                path = ".".join(map(str, problem["loc"]))
                given = "" if problem["type"] == "missing" else f", not {_shown(problem['input'])}"
                self._found(path, problem["msg"] + given)
            return None

    def _keep(self, row: _AnyRow) -> None:
        if row.schema_version not in SCHEMA_VERSIONS:
            self._found("schema_version", f"{_shown(row.schema_version)}: known are {', '.join(SCHEMA_VERSIONS)}")
        if isinstance(row, Init):
            self._keep_init(row)
            return
        if self._init is None:
            # Without seats and rounds no row can be placed: said once, and the rest is skipped.
            if not self._init_seen:
                self._init_seen = True
                self._found("type", f"{row.type} before init: the first row must be init")
            return
        if row.game_id != self._init.game_id:
            self._found("game_id", f"{_shown(row.game_id)}: the game is {_shown(self._init.game_id)}")
        if self._final is not None:
            self._found("type", f"{row.type} after final")
        elif isinstance(row, Final):
            self._keep_final(row)
        else:
            self._keep_in_round(row)

    def _keep_init(self, row: Init) -> None:
        if self._init is not None:
            self._found("type", f"a second init; the first is on line {self._init.line}")
            return
        if row.line != 1:
            self._found("type", "init must be the first row")
        if self._sound_agents(row):
            self._init = row
            self._seats = {seat: agent.role for seat, agent in row.data.agents.items()}

    def _sound_agents(self, row: Init) -> bool:
        before = len(self._findings)
        roster = row.roster
        self._check_seats("data.agents", row.data.agents, roster.seats)
        for seat, agent in row.data.agents.items():
            path = f"data.agents.{seat}"
            if agent.role != ("buyer" if seat in roster.buyers else "seller"):
                self._found(f"{path}.role", f"{seat} cannot be a {agent.role}")
            own, other = ("valuation", "cost") if agent.role == "buyer" else ("cost", "valuation")
            if getattr(agent, own) is None:
                self._found(f"{path}.{own}", f"a {agent.role} must have a {own}")
            if getattr(agent, other) is not None:
                self._found(f"{path}.{other}", f"a {agent.role} has no {other}")
        return len(self._findings) == before

    def _check_seats(self, path: str, given: Iterable[str], known: Iterable[str]) -> None:
        """Every seat of the roster once, and no other."""
        present, expected = set(given), set(known)
        for seat in sorted(present - expected):
            self._found(f"{path}.{seat}", f"{_shown(seat)} is not a seat of this game")
        for seat in sorted(expected - present):
            self._found(f"{path}.{seat}", f"seat {seat} is missing")

    def _keep_final(self, row: Final) -> None:
        self._final = row
        for name in ("final_payoff_map", "seat_max_potential_surplus_map", "seat_surplus_share_map"):
            self._check_seats(f"data.{name}", getattr(row.data, name), self._seats)
        # Seats may lack a score; nobody else may have one.
        scores = row.data.seat_csa_map
        self._check_seats("data.seat_csa_map", scores, scores.keys() & self._seats.keys())
        closed = sum(logged.end is not None for logged in self._rounds)
        due = self._init.data.num_rounds if self._init else closed
        if row.data.aborted:
            self._found("data.aborted", f"the game was aborted after {closed} of {due} rounds")
        # Not of an aborted game, which has said already why rounds are missing.
        elif closed != due:
            self._found("type", f"final after {closed} of {due} rounds")

    def _keep_in_round(self, row: _RoundRow) -> None:
        if isinstance(row, Snapshot):
            return
        logged = self._open_round(row)
        if logged is None or not self._in_place(row):
            return
        if isinstance(row, Conversation):
            self._keep_message(logged, row)
        elif isinstance(row, Violation):
            if self._known("player_id", row.player_id):
                logged.violations.append(row)
        elif isinstance(row, BidAsk):
            self._keep_quote(logged, row)
        elif isinstance(row, Trade):
            self._keep_trade(logged, row)
        elif isinstance(row, PayoffChange):
            if self._known("seat_id", row.seat_id):
                logged.payoff_changes.append(row)
        else:
            self._close_round(logged, row)

    def _open_round(self, row: _RoundRow) -> LoggedRound | None:
        """The round that the row belongs to, opened if it is the next; None (and a finding) if it is closed."""
        current = self._rounds[-1] if self._rounds else LoggedRound(0)
        ended = current.number == 0 or current.end is not None
        if row.round == current.number and not ended:
            return current
        due = current.number + ended
        limit = self._init.data.num_rounds if self._init else 0
        if row.round < due or row.round > limit:
            self._found("round", f"round {row.round} while round {due} of {limit} is open")
            return None
        if row.round > due:
            # Reported, and opened all the same: its rows can still be checked.
            self._found("round", f"round {row.round} although round {due} has not ended")
        self._rounds.append(LoggedRound(row.round))
        self._place = 0
        return self._rounds[-1]

    def _in_place(self, row: _RoundRow) -> bool:
        place = _PLACE_IN_ROUND[type(row)]
        if place < self._place:
            self._found("type", f"{row.type} too late in round {row.round}: messages, then quotes, then trades")
            return False
        self._place = place
        return True

    def _known(self, path: str, seat: str, role: str | None = None) -> bool:
        if seat not in self._seats:
            self._found(path, f"{_shown(seat)} is not a seat of this game")
            return False
        if role is not None and self._seats[seat] != role:
            self._found(path, f"{seat} is not a {role}")
            return False
        return True

    def _keep_message(self, logged: LoggedRound, row: Conversation) -> None:
        if not self._known("player_id", row.player_id):
            return
        if self._init and not self._init.data.communication_enabled:
            self._found("type", "a message in a game without communication")
        elif row.recipient_id not in _GROUPS and row.recipient_id not in self._seats:
            self._found("recipient_id", f"{_shown(row.recipient_id)} is neither a seat nor a group")
        elif row.player_id in logged.speakers:
            self._found("player_id", f"a second message of {row.player_id} in round {row.round}")
        else:
            logged.messages.append(row)

    def _keep_quote(self, logged: LoggedRound, row: BidAsk) -> None:
        if not self._known("agent_id", row.agent_id):
            return
        if self._seats[row.agent_id] != row.role:
            self._found("role", f"{row.agent_id} is not a {row.role}")
        elif row.agent_id in logged.quote_order:
            self._found("agent_id", f"a second quote of {row.agent_id} in round {row.round}")
        else:
            logged.quotes.append(row)

    def _keep_trade(self, logged: LoggedRound, row: Trade) -> None:
        sides = (self._known("buyer_id", row.buyer_id, "buyer"), self._known("seller_id", row.seller_id, "seller"))
        if not all(sides):
            return
        if row.maker_id not in (row.buyer_id, row.seller_id):
            self._found("maker_id", f"{_shown(row.maker_id)} is neither {row.buyer_id} nor {row.seller_id}")
            return
        logged.trades.append(row)

    def _close_round(self, logged: LoggedRound, row: RoundEnd) -> None:
        logged.end = row
        if row.data.round != row.round:
            self._found("data.round", f"{row.data.round} in the end of round {row.round}")
        self._check_seats("data.payoff_map", row.data.payoff_map, self._seats)
        # Every seat of a public log quotes in every round: without this a lost row would pass for a forfeit.
        for seat in self._seats:
            if seat not in logged.quote_order:
                self._found("agent_id", f"no quote of {seat} in round {row.round}")


def _shown(content: object) -> str:
    """A short, one-line form of whatever was found."""
    try:
        text = repr(content)
    # What pydantic quotes may be nested as deep as the line's JSON was.
    except RecursionError:
        text = f"a deeply nested {type(content).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
