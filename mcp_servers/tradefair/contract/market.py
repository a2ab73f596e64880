"""The two protocols of a market: MarketType (what it is) and Market (one live economy)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, JsonValue

from tradefair.contract.evidence import EvidenceMap
from tradefair.contract.policy import PolicySpec
from tradefair.contract.scenario import Scenario, SeatId, SeatSpec
from tradefair.contract.tool import ToolTable

EndReason: TypeAlias = str
"""`terminated:<code>` by the rules, `truncated:<code>` by a limit or the harness."""

# A closed list, because replay refuses any other. The two limits come from Core, agent_limit from the runner.
LapseReason = Literal["deadline", "call_limit", "reject_limit", "agent_limit", "disconnected", "retired"]


class Clock(NamedTuple):
    """The logical clock; rounds count from 1. `revision` counts closures only, never sealed actions.

    A revision that moved with sealed actions would tell a seat that another one has acted.
    """

    round: int
    phase: str
    revision: int


class Closure(NamedTuple):
    """A phase or round that has just closed: what everyone now sees, and the hidden truth for the trace (rounds)."""

    kind: Literal["phase", "round"]
    public: BaseModel
    facts: BaseModel | None = None


class InputRequest(NamedTuple):
    """An external input that a tool call needs before the rules can run."""

    source: str
    payload: JsonValue


class Brief(NamedTuple):
    """What a seat reads about itself before it plays; `view_rules` repeats it."""

    role: str
    objective: str
    round_semantics: str


class DataCheck(NamedTuple):
    """What a market finds in a folder of data: `report` for programs, rows (what, figure, share) for people.

    `problems` make the data unplayable; each names the file and the field.
    """

    report: BaseModel
    rows: tuple[tuple[str, str, str], ...]
    problems: tuple[str, ...]


class Market(Protocol):
    """A live economy: pure, in memory, single-threaded, mutable in one place.

    An action's tool function is its only door for seats: it raises `IllegalAction` before it changes anything.
    """

    @property
    def seats(self) -> Mapping[SeatId, SeatSpec]:
        """Every seat, in the order in which seats are asked."""
        ...

    clock: Clock
    terminated: EndReason | None
    read_marks: dict[SeatId, int]
    """Highest row number of a numbered inbox that each seat has acted upon; moved by Core on the seat's next action."""

    # A sleeping seat is simply not in it; under the free clock no seat ever is.
    def awaited(self) -> frozenset[SeatId]:
        """The seats that the clock waits for: their decisions are due."""
        ...

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Take the stated default action for a silent seat; its name. The seat must not be awaited afterwards."""
        ...

    def advance(self) -> Closure:
        """Close the open phase; called while no seat is awaited. May jump several rounds.

        Returns what all seats now see, and for a round its hidden truth.
        """
        ...

    # Rules never fetch: what comes from outside is recorded first, so that re-execution needs no clock, model or
    # network.
    def feed(self, source: str, payload: JsonValue) -> None:
        """Take in a recorded external input. Raises IllegalAction for an unknown source or a wrong payload."""
        ...

    def rules_view(self, seat: SeatId) -> BaseModel:
        """The rules as this seat may know them."""
        ...

    def turn_view(self, seat: SeatId) -> BaseModel:
        """The market's part of `view_turn`."""
        ...

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """Named constants for `execute_code`."""
        ...

    def news_mark(self, seat: SeatId) -> int:
        """A count that grows when something has reached the seat; `await_turn` waits on it under a free clock."""
        ...

    # Typed as object, because only the market's own privileged policies know what it is.
    def privileged(self) -> object:
        """Hidden truth, for privileged policies in process only; no tool answers it."""
        ...

    def ending_facts(self) -> BaseModel:
        """The truth that `episode_ended` carries, whatever ended the episode."""
        ...

    # It goes into each closed round's event: replay then finds a state that differs even where no answer shows it.
    def digest(self) -> bytes:
        """Canonical, order-free digest of the whole state, 32 bytes.

        Equal states have equal digests, whatever order the seats acted in. The cost must stay flat over an episode:
        closed history enters as a running hash.
        """
        ...


class MarketType(Protocol):
    """One market, exported by its package as MARKET."""

    @property
    def name(self) -> str:
        """The package's name, `double_auction`."""
        ...

    @property
    def version(self) -> str:
        """Version of the rules: a change of any outcome is a new one."""
        ...

    @property
    def title(self) -> str:
        """The market in one sentence."""
        ...

    @property
    def scenario_model(self) -> type[Scenario]:
        """The typed scenario."""
        ...

    @property
    def tools(self) -> ToolTable:
        """The market's own tools."""
        ...

    @property
    def evidence_map(self) -> EvidenceMap:
        """What each action should rest on."""
        ...

    @property
    def policies(self) -> Mapping[str, PolicySpec]:
        """Scripted seats."""
        ...

    @property
    def streams(self) -> type[StrEnum]:
        """Names of the chance streams."""
        ...

    @property
    def errors(self) -> Mapping[str, str]:
        """The market's own error codes and their meaning."""
        ...

    # Any, here and below: each market takes its own scenario and market class, which a Protocol cannot say.
    def create(self, scenario: Any, seed: int) -> Market:
        """A fresh economy. Raises ScenarioError when the scenario cannot be played."""
        ...

    def brief(self, scenario: Any, seat: SeatId) -> Brief:
        """Role, objective and round semantics of a seat."""
        ...

    # Pure: it is asked again right before the rules run, when other seats may have acted.
    def request(self, market: Any, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        """The external input that this call needs now; None when the market can answer by itself."""
        ...

    # The conformance kit compares every byte that the seat can read in both worlds: a difference is a leak.
    def perturb_private(self, market: Any, seat: SeatId, salt: int) -> Market:
        """A market with the same public past in which everything private to *other* seats differs."""
        ...

    def check(self, market: Any) -> None:
        """Conservation laws; raises AssertionError."""
        ...


@runtime_checkable
class Wakes(Protocol):
    """A market with a free clock: it awaits no seat, and says which seats have a reason to act."""

    def wants_turn(self, seat: SeatId) -> bool:
        """Whether news or a tick that it waited for has reached this seat since it ended its turn."""
        ...


@runtime_checkable
class Leaves(Protocol):
    """A market with a free clock that a seat can leave before the end; under the other clock it is awaited no more."""

    def has_left(self, seat: SeatId) -> bool:
        """Whether this seat has left for good, and can act no more."""
        ...


@runtime_checkable
class Ranks(Protocol):
    """A market with a free clock in which the order of the seats' ids would tell who suits whom."""

    def turn_rank(self, seat: SeatId) -> int:
        """When this seat is asked among scripted ones with a reason to act: smaller numbers first."""
        ...


@runtime_checkable
class Resolves(Protocol):
    """A market with scenarios that may need an outside service; the host asks it before the manifest is fixed."""

    def needs(self, scenario: Any) -> tuple[InputRequest, ...]:
        """What must be known to play this scenario; none when it depends on nothing outside. Pure, and always equal."""
        ...

    def resolve(self, scenario: Any, answers: Sequence[JsonValue]) -> Scenario:
        """The scenario with what was answered in it: the content of the manifest. Raises ScenarioError."""
        ...


@runtime_checkable
class ReadsData(Protocol):
    """A market with scenarios that may name data of the user, which becomes part of their content when loaded."""

    def with_data(self, scenario: Any, root: str) -> Scenario:
        """The scenario with the data that it names below the folder `root`; unchanged where it names none or none is
        there, which `create` refuses. ScenarioError for malformed data."""
        ...

    def lacks_data(self, scenario: Any) -> bool:
        """Whether it names data that is not in it."""
        ...


@runtime_checkable
class ChecksData(Protocol):
    """A market that plays data of its author's own and can say what is in a folder of it."""

    def check_data(self, folder: str) -> DataCheck:
        """Reads and measures the data in `folder`. Never raises for what is in its files."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """A market that says of some scenarios what should be known about them: logged, and in the manifest."""

    def remarks(self, scenario: Any) -> Mapping[str, str]:
        """Sentences by name; none for a scenario that holds no surprise."""
        ...


@runtime_checkable
class Reveals(Protocol):
    """A market that tells everyone at a closure something that was private to a seat until then."""

    @property
    def revealed(self) -> Collection[str]:
        """Dotted paths into what closures tell, such as `row.sold.*`; `*` stands for any key or index."""
        ...
