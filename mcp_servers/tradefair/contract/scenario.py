"""Scenarios: versioned configurations of a market, without a seed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.errors import ScenarioError, in_plain_words, unknown
from tradefair.contract.limits import Limit


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
