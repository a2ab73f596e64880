"""Policies: scripted agents. They see tool answers only, wherever they run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, get_type_hints

import orjson
from pydantic import JsonValue, TypeAdapter, ValidationError

from tradefair.contract import salts
from tradefair.contract.chance import Chance, KeyPart
from tradefair.contract.errors import ErrorInfo, ScenarioError, unknown
from tradefair.contract.scenario import LimitState, SeatId
from tradefair.contract.schema_text import allowed_text
from tradefair.contract.tool import Result

Params: TypeAlias = Mapping[str, JsonValue]


class TurnView(Result):
    """What `view_turn` and `await_turn` answer: clock, whether this seat is awaited, limits, the market's word.

    `actions` are the actions that the seat may take now: none while the clock waits for others, and after the end.
    """

    seat: SeatId
    role: str
    round: int
    phase: str
    revision: int
    awaited: bool
    actions: list[str]
    over: bool
    end_reason: str | None
    still_open: bool
    limits: list[LimitState]
    market: dict[str, JsonValue]


class ToolCall(NamedTuple):
    """One call that a policy wants made."""

    tool: str
    arguments: Mapping[str, JsonValue] = {}


@dataclass(slots=True)
class ToolAnswer:
    """What came back: the result's JSON bytes or the refusal, and whether the seat's turn is over."""

    body: bytes | None
    error: ErrorInfo | None
    turn_over: bool
    _data: Any = field(default=None, init=False, repr=False, compare=False)

    @property
    def data(self) -> Any:
        """The result as plain data; {} for a refusal."""
        if self._data is None:
            self._data = {} if self.body is None else orjson.loads(self.body)
        return self._data


Turns: TypeAlias = Generator[ToolCall, ToolAnswer, None]


class Policy(Protocol):
    """One object per seat and episode. A policy that starts in mid-episode treats its first turn as its first round."""

    def turn(self, now: TurnView) -> Turns:
        """One awaited phase: yields calls, gets answers; closed by the driver at the first answer with `turn_over`."""
        ...


class PrivilegedPolicy(Policy, Protocol):
    """A policy that knows hidden truth: only ever a scripted seat in process, asked last, marked in the manifest."""

    def see(self, truth: object) -> None:
        """Take in `market.privileged()`; called before each turn."""
        ...


class Draw:
    """A policy's own uniforms, keyed one-way from (seed, seat): no client holds the seed."""

    def __init__(self, secret: str) -> None:
        self._chance = Chance(secret)

    @classmethod
    def of(cls, seed: int, seat: SeatId, policy_key: int = 0) -> Draw:
        """The draws of one seat under a seed; another `policy_key` gives other draws under the same market luck."""
        # Hashed, so that no draw of a policy tells the seed, which decides the market's luck.
        text = f"{salts.POLICY}:{seed}:{seat}:{policy_key}".encode()
        return cls(hashlib.blake2b(text, digest_size=32).hexdigest())

    def uniform(self, *key: KeyPart) -> float:
        """One uniform in (0, 1) under `key`."""
        return self._chance.uniform("policy", *key)

    def uniforms(self, *key: KeyPart, n: int) -> list[float]:
        """`n` uniforms in (0, 1) under `key`, sooner than one at a time."""
        return self._chance.uniforms("policy", *key, n=n)


@dataclass(frozen=True)
class PolicySpec:
    """A named scripted policy; `make` of a privileged one gives a `PrivilegedPolicy`.

    A `reference` is played in an agent's seat on the same seed, to compare with; a reference `on_every_seat`, such as
    an equilibrium or a population, plays all seats at once.
    The `stand_in` of a role decides for an agent in such a seat when no model is named. A `control` has a flaw on
    purpose: whatever it earns, it is no example of play without one.

    `hidden_where(scenario)` says where a policy has to know what the scenario does not publish: there it is privileged,
    elsewhere it plays like any other.

    `rule` is the class that decides, where `scripted` has made the policy: its fields are the parameters.
    """

    name: str
    make: Callable[[Params, Draw], Policy]
    roles: frozenset[str]
    description: str = ""
    privileged: bool = False
    reference: bool = False
    on_every_seat: bool = False
    stand_in: bool = False
    control: bool = False
    hidden_where: Callable[[Any], bool] | None = None
    rule: type[Any] = object

    def knows_hidden(self, scenario: Any) -> bool:
        """Whether a seat that plays it in this scenario knows hidden truth."""
        return self.privileged or (self.hidden_where is not None and self.hidden_where(scenario))


class Parameter(NamedTuple):
    """A parameter of a rule: its value where none is given, in words what it may be ("integer 1..1000"), and as schema.

    Keys of the schema are those of JSON Schema: `type`, `minimum`, `maximum`, `enum` and the like.
    """

    default: JsonValue
    allowed: str
    schema: Mapping[str, JsonValue]


@cache
def _adapters(rule: type[Any]) -> dict[str, TypeAdapter[Any]]:
    if not is_dataclass(rule):
        return {}
    hints = get_type_hints(rule, include_extras=True)
    return {known.name: TypeAdapter(hints[known.name]) for known in fields(rule) if known.init}


def parameters_of(rule: type[Any]) -> dict[str, Parameter]:
    """The fields of a rule's constructor by name, all of which have defaults; none where it is no dataclass."""
    schemas = {name: adapter.json_schema() for name, adapter in _adapters(rule).items()}
    return {name: Parameter(getattr(rule, name), allowed_text(known), known) for name, known in schemas.items()}


_Rule = TypeVar("_Rule")


def with_parameters(rule: type[_Rule], params: Params) -> _Rule:
    """The rule with these values, strictly of the types of its fields and within their bounds.

    ScenarioError names the parameter, its value and what is allowed, or the parameters that there are.
    """
    if not params:
        return rule()
    known = _adapters(rule)
    given: dict[str, Any] = {}
    for name, value in params.items():
        if name not in known:
            raise ScenarioError(f"no parameter {name}: it has {', '.join(known) or 'none'}")
        try:
            given[name] = known[name].validate_python(value, strict=True)
        except ValidationError:
            raise ScenarioError(f"{name} = {value}: {allowed_text(known[name].json_schema())}") from None
    return rule(**given)


def _in_the_seat(rule: Any, draw: Draw) -> Policy:
    rule.draw = draw
    return rule


def rule_name(rule: type[Any]) -> str:
    """The name of the policy that plays a rule: of `QLearning` q_learning, of `Shading5` shading_5."""
    return re.sub(r"(?<!^)(?=[A-Z])|(?<=[a-z])(?=\d)", "_", rule.__name__).lower()


def scripted(
    rule: type[Any], roles: frozenset[str], seat: Callable[[Any, Draw], Policy] = _in_the_seat, **marks: Any
) -> PolicySpec:
    """The policy of a rule: named after its class, described by the first line of its docstring.

    A description that begins with "Control: " makes it one. `seat(rule, draw)` makes what plays a rule over tools; by
    default the rule does it itself and gets its draws as `draw`. `marks` are further fields of `PolicySpec`.
    """

    def make(params: Params, draw: Draw) -> Policy:
        return seat(with_parameters(rule, params), draw)

    description = (rule.__doc__ or "").partition("\n")[0].removesuffix(".")
    control = description.startswith("Control: ")
    return PolicySpec(rule_name(rule), make, roles, description, control=control, rule=rule, **marks)


class Passive:
    """Never acts."""

    call: ClassVar[ToolCall | None] = None
    """The one call of each of its turns; without one the host lapses the seat."""

    def turn(self, now: TurnView) -> Turns:
        """The call, if there is one."""
        if self.call is not None:
            yield self.call


_SPELLING = re.compile(r"(?:policy:)?([a-z][a-z0-9_]*)(?:\((.*)\))?", re.DOTALL)


def check_occupants(market: str, seats: Mapping[str, str], policies: Collection[str]) -> None:
    """Raises ScenarioError where a scenario's `seats`, selector -> `agent` or a policy, name none of `policies`."""
    # Not among the checks of a market's scenario: its policies import the model.
    for selector, occupant in seats.items():
        if occupant != "agent" and parse_policy(occupant)[0] not in policies:
            raise ScenarioError(f"seats.{selector}: {unknown('policy', occupant, ['agent', *policies], of=market)}")


def parse_policy(text: str) -> tuple[str, dict[str, JsonValue]]:
    """`policy:name(param=value, …)` as name and parameters; values are JSON, bare words are text.

    ScenarioError for text in another form. Whether such a policy exists is the market's to say.
    """
    match = _SPELLING.fullmatch(text.strip())
    if match is None:
        raise ScenarioError(f"{text!r} is not a policy: write name or name(param=value)")
    params: dict[str, JsonValue] = {}
    # Parameters are numbers and bare words; a text with a comma in it cannot be written here.
    for part in filter(None, (piece.strip() for piece in (match[2] or "").split(","))):
        key, sign, value = part.partition("=")
        if not sign:
            raise ScenarioError(f"{text!r}: {part!r} is not param=value")
        try:
            params[key.strip()] = orjson.loads(value.strip())
        # A bare word, which needs no quotes on a command line.
        except orjson.JSONDecodeError:
            params[key.strip()] = value.strip()
    return match[1], params
