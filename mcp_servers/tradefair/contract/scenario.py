"""Scenarios: versioned configurations of a market, without a seed; their seats, and the limits on their calls."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.errors import ScenarioError, SeatError, in_plain_words, unknown

SeatId: TypeAlias = str

# No newline and no dot: a noted hash ends the seat with a newline (chain.py), and call ids are split at dots (core.py).
_SEAT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MAX_SEAT_ID = 40
"""Characters of the longest seat id."""


class SeatSpec(NamedTuple):
    """One seat of a market: its id (`B1`) and its role (`buyer`)."""

    id: SeatId
    role: str


class Addressee:
    """Marks an argument that names the recipient of a message: `to: Annotated[SeatId, Addressee()]`.

    No other argument of a tool names a seat. The mark leaves no trace in the tool's schema.
    """


def check_seat_id(text: str) -> SeatId:
    """`text` as a seat id; SeatError when it cannot be one."""
    if len(text) > MAX_SEAT_ID or not _SEAT_ID.fullmatch(text):
        raise SeatError(
            f"{text[:80]!r} is not a seat id: a letter, then letters, digits, - or _, at most {MAX_SEAT_ID}"
        )
    return text


def natural_order(seat: SeatId) -> tuple[str, int]:
    """Sort key that puts B2 before B10 and all B before all S; an id without a number comes before B1."""
    head = seat.rstrip("0123456789")
    tail = seat[len(head) :]
    return head, int(tail) if tail else -1


Counted = Literal["read", "analysis", "action", "rejected", "inner", "accepted"]


class Limit(BaseModel):
    """At most `max` calls of the counted sorts per seat and phase or round; `then` says what one call more does.

    `rejected` counts refused arguments too; `inner` counts calls made by `execute_code`, which count as nothing else;
    `accepted` counts calls that were carried out. `refuse` answers `call_limit`; `lapse` also lapses the seat for the
    rest of the round; `end_turn` lapses it in the open phase only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: tuple[Counted, ...] = Field(min_length=1, max_length=20)
    max: int = Field(ge=1, le=1_000_000)
    per: Literal["phase", "round"] = "round"
    then: Literal["refuse", "lapse", "end_turn"] = "refuse"


class LimitState(BaseModel):
    """How far a seat has used one limit up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: tuple[Counted, ...]
    used: int
    max: int
    per: Literal["phase", "round"]
    then: Literal["refuse", "lapse", "end_turn"]


class LimitBook:
    """Counts the calls of every seat against the scenario's limits."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self._limits = limits
        self._counts = [frozenset(limit.counts) for limit in limits]
        # (index of the limit, seat) -> (window in which it was counted, calls); a later window overwrites it
        self._used: dict[tuple[int, SeatId], tuple[object, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._limits)

    def exceeded(self, seat: SeatId, sorts: tuple[str, ...], window: tuple[int, str]) -> Limit | None:
        """The first limit that one more call of `sorts` would break; `window` is (round, phase)."""
        for index, limit in enumerate(self._limits):
            # Whether a call will be rejected is not known yet, so a limit on rejections watches every call.
            counts = self._counts[index]
            if ("rejected" in counts or not counts.isdisjoint(sorts)) and self._count(index, seat, window) >= limit.max:
                return limit
        return None

    def add(self, seat: SeatId, sorts: tuple[str, ...], window: tuple[int, str]) -> None:
        """Count one call of `sorts`, at most once per limit; `window` is (round, phase)."""
        for index, limit in enumerate(self._limits):
            # At most once per limit, though a call has two sorts: a limit on reads and accepted calls counts an
            # accepted read once.
            if not self._counts[index].isdisjoint(sorts):
                key = self._window(limit, window)
                self._used[index, seat] = (key, self._count(index, seat, window) + 1)

    def states(self, seat: SeatId, window: tuple[int, str]) -> list[LimitState]:
        """What `view_turn` shows: each limit with the calls used in the open window."""
        return [
            LimitState(
                counts=limit.counts,
                used=self._count(index, seat, window),
                max=limit.max,
                per=limit.per,
                then=limit.then,
            )
            for index, limit in enumerate(self._limits)
        ]

    def _count(self, index: int, seat: SeatId, window: tuple[int, str]) -> int:
        key, used = self._used.get((index, seat), (None, 0))
        # A count of an earlier window is 0 now; it is overwritten at the next call.
        return used if key == self._window(self._limits[index], window) else 0

    @staticmethod
    def _window(limit: Limit, window: tuple[int, str]) -> object:
        # The round alone: a limit per round goes on counting when a phase closes.
        return window[0] if limit.per == "round" else window


class Timing(BaseModel):
    """Wall-clock rules, off by default; they reach the rules as recorded lapses or ticks only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decision_deadline_s: float | None = Field(default=None, gt=0, le=86_400, description="a silent seat lapses after")
    # Popular frameworks give a call up after 5 s by default; a client that can wait longer asks for it.
    wait_s: float = Field(default=4, ge=0, le=MAX_WAIT_S, description="how long an await_turn without a time waits")

    @property
    def tick_s(self) -> float | None:
        """Seconds between the ticks that a host posts under the free clock; None in a market without that clock."""
        return None


class FreeTiming(Timing):
    """Wall-clock rules of a market that knows the free clock."""

    free_tick_s: float = Field(default=5.0, ge=0.1, le=3_600, description="length of a tick of the free clock")

    @property
    def tick_s(self) -> float:
        """Seconds between ticks of the free clock."""
        return self.free_tick_s


class Scenario(BaseModel):
    """Base of every market's scenario; its full content is part of the manifest's hashed core."""

    # Unknown keys are refused: a mistyped setting would silently play another market.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # Where seats differ in what they can win, a fixed seat measures the seat: an agent that plays many seeds then sits
    # in each in turn. A property of the market, not of one configuration, so that no scenario's digest knows it.
    by_turns: ClassVar[bool] = False

    id: str = Field(pattern=r"^[a-z_][a-z0-9_]*/[a-z0-9_]+$", max_length=80)
    # Bounds here and in every market are far beyond what is played: a stranger's trace holds a scenario, too.
    version: int = Field(default=1, ge=1, le=1_000_000)
    description: str = Field(default="", max_length=500)
    clock: Literal["turns", "free"] = "turns"
    record: Literal["full", "digests"] = "full"
    limits: tuple[Limit, ...] = Field(default=(), max_length=100)
    timing: Timing = Timing()
    seats: dict[str, str] = Field(
        default_factory=dict, max_length=50_000, description="selector (seat id or role) -> policy or 'agent'"
    )

    @classmethod
    def prepared(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content of a file with a market's shorthands written out; what is wrong is left for validation."""
        return content


S = TypeVar("S", bound=Scenario)
M = TypeVar("M", bound=BaseModel)


def build_scenario(model: type[S], content: Mapping[str, Any], *, source: str) -> S:
    """A checked scenario; ScenarioError names every wrong key, its value and what is allowed."""
    return checked_content(model, model.prepared(content), source=source)


def checked_content(
    model: type[M],
    content: Mapping[str, Any],
    *,
    source: str,
    line_of: Callable[[Sequence[str]], int | None] | None = None,
) -> M:
    """What a TOML file holds as its model. ScenarioError names every wrong key, its value and what is allowed.

    `line_of` gives the line of a key by its path, which then stands in front of it.
    """
    try:
        # JSON mode is strict about numbers and booleans, and takes lists for tuples.
        return model.model_validate_json(_to_json(content), strict=True)
    except ValidationError as error:
        raise ScenarioError(f"{source}: {_complaints(model, content, error, line_of)}") from None


def parse_override(text: str) -> tuple[str, JsonValue]:
    """`key=value` of `--set`: a TOML value where it is one (4, true, [1, 2]), else the bare text."""
    key, sign, value = text.partition("=")
    key = key.strip()
    if not sign or not key:
        raise ScenarioError(f"{text!r} is not an override: write key=value, such as rounds=10")
    try:
        # TOML, as in the files: `--set` and a file then agree on what a number or a list is.
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value.strip()


def with_overrides(content: Mapping[str, Any], overrides: Mapping[str, JsonValue]) -> dict[str, Any]:
    """`content` with dotted keys replaced; the overrides become part of the scenario."""
    # Tables are copied along the path only: the caller's content must stay as it is.
    merged: dict[str, Any] = dict(content)
    for dotted, value in overrides.items():
        *path, last = dotted.split(".")
        table = merged
        for name in path:
            inner = table.get(name, {})
            if not isinstance(inner, dict):
                raise ScenarioError(f"--set {dotted}: {name} is a value, not a table")
            table[name] = dict(inner)  # pyright: ignore[reportUnknownArgumentType]
            table = table[name]
        table[last] = value
    return merged


def _to_json(content: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(content)
    except orjson.JSONEncodeError as error:
        raise ScenarioError(f"the scenario holds a value that is not plain data: {error}") from None


def _complaints(
    model: type[BaseModel],
    content: Mapping[str, Any],
    error: ValidationError,
    line_of: Callable[[Sequence[str]], int | None] | None,
) -> str:
    """Every wrong key once; where it may be one of several things, what all of them allow."""
    # Of a union the validator complains once per member: joined, they say what is allowed.
    told: dict[str, list[str]] = {}
    for item in _of_its_own(error.errors(include_url=False)):
        keys = _keys(content, item)
        subject, complaint = _described(model, item, keys)
        line = line_of(keys) if line_of is not None else None
        subject = subject if line is None else f"line {line}: {subject}"
        told.setdefault(subject, []).append(complaint)
    joined = {subject: " or ".join(complaints) for subject, complaints in told.items()}
    return "; ".join(subject + said.replace(" or it should be ", " or ") for subject, said in joined.items())


def _of_its_own(errors: Sequence[Any]) -> list[Any]:
    """Without a list that is "too short" because of an item in it that is wrong: the item says what to mend."""
    wrong = [error["loc"] for error in errors]
    return [
        error
        for error in errors
        if error["type"] != "too_short"
        or not any(len(loc) > len(error["loc"]) and loc[: len(error["loc"])] == error["loc"] for loc in wrong)
    ]


def _described(model: type[BaseModel], error: Any, keys: Sequence[str]) -> tuple[str, str]:
    """A complaint in two parts: of what, and what is wrong with it."""
    if not error["loc"] and error["type"] == "value_error":
        return "", str(error["ctx"]["error"])  # of the whole: it names its keys itself
    where = ".".join(keys) or "scenario"
    if error["type"] == "extra_forbidden":
        known = _known(model, keys)
        # The key stands in front already.
        hint = unknown("key", keys[-1], known).partition("; ")[2] if known else ""
        return f"{where}: ", "unknown key" + (f"; {hint}" if hint else "")
    if error["type"] == "missing":
        return f"{where}: ", "required"
    given = error["input"]
    # "10" in quotes where a number is due: without them the complaint would contradict itself.
    quoted = isinstance(given, str) and error["type"].endswith("_type")
    return f"{where} = {(repr(given) if quoted else str(given))[:60]}: ", in_plain_words(error["msg"])


def _known(model: type[BaseModel], keys: Sequence[str]) -> Sequence[str]:
    """The keys that are allowed beside the last of `keys`; none where a table has no model of its own."""
    inner: type[BaseModel] | None = model
    for key in keys[:-1]:
        # What is no field is a place in a list, or a name that the file gives.
        if inner is not None and key in inner.model_fields:
            inner = _model_in(inner.model_fields[key].annotation)
    return list(inner.model_fields) if inner is not None else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a table, or of the tables in a list or table; None where they have none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _keys(content: Any, error: Any) -> list[str]:
    """The path to an error as the file has it: the validator puts types in between, which the file does not have."""
    keys: list[str] = []
    for place in error["loc"]:
        try:
            content = content[place]
        except (LookupError, TypeError):
            continue
        keys.append(str(place))
    return [*keys, str(error["loc"][-1])] if error["type"] == "missing" else keys
