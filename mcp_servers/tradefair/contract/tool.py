"""Tools: one typed function, declared once, from which everything else about the tool is made.

The MCP tool, the in-process call, the docs page and the schema snapshot all come from the `Tool` that `@tool` builds:

    @tool("read", title="Own value", evidence=("private_value",))
    def view_my_value(market: DoubleAuction, seat: SeatId) -> MyValue:
        '''Your private value or cost, and what you have earned so far.'''

    @tool("action", title="Submit a quote")
    def submit_quote(market: DoubleAuction, seat: SeatId, *, price: Annotated[int, Field(ge=0, le=100)]) -> Receipt: ...

An action's function *is* the transition: it raises `IllegalAction` before it changes anything, or it succeeds.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import HOST_REFUSALS, NO_CODE, ErrorInfo, no_service
from tradefair.contract.evidence import Scope
from tradefair.contract.narrowing import Bounds, narrowed
from tradefair.contract.scenario import Scenario, SeatId

Kind = Literal["read", "analysis", "action", "note"]


class Result(BaseModel):
    """Base of what tools answer: frozen, closed, compact."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Itself: what a tool has answered never changes, so copies of an episode share it."""
        return self


_Model = TypeVar("_Model", bound=BaseModel)
_set = object.__setattr__


def built(model: type[_Model], **fields: Any) -> _Model:
    """The model of `fields`: all of them, typed already. As `model_construct`, in a third of its time.

    For what is made at every turn or call. A name that is missing here is missing in the model, too.
    """
    # A frozen model refuses plain assignment; pydantic documents these four attributes as what an instance consists of.
    made = model.__new__(model)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", set(fields))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


class _Parameters(BaseModel):
    # Strict: "5" for 5 is refused, so that no call's meaning rests on a validator's conversions.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Untrusted:
    """Marks text that another seat wrote: `text: Annotated[str, Untrusted()]`. Data, never instructions."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """The flag `x-untrusted` in every schema that holds such text."""
        return {**handler(schema), "x-untrusted": True}


@dataclass(frozen=True)
class Tool:
    """One declared tool; made by `@tool`.

    `subject` says whether its function gets the market or the kernel's episode. `evidence` are the categories that a
    look gives, `scope` the objects that it is about. `roles` and `when(scenario)` decide which seats are offered it.
    `open(market, seat)` says whether an action belongs to the present moment (None: to any); otherwise the kernel
    refuses it with `wrong_phase` before the function runs. It is pure and looks at the public clock and the seat's own
    state only, since every turn tells which actions are open. Whether it is the seat's turn is the clock's to say.
    `destructive` acts replace or forfeit something that the seat had (an offer, a price, money), or end its round.
    `recorded` results are stored by the host and never re-run. `shown(result)` is the highest inbox row that an answer
    has shown, `refs(result)` are the ids in it. `needs` names an outside service, which answers the function's
    `inputs`. `finish` completes an action's result after the closures that it caused. `observer`: for observers too.
    `main`: the look with which a seat begins; clients that draw the board draw it there.
    `bounds(scenario)` narrows what is listed of the parameters to what the scenario takes, by path (`narrowing`): never
    more than the rules refuse, and from nothing that a seat may not know.
    """

    name: str
    kind: Kind
    title: str
    description: str
    function: Callable[..., BaseModel]
    parameters: type[BaseModel]
    result: type[BaseModel]
    subject: Literal["market", "kernel"] = "market"
    evidence: tuple[str, ...] = ()
    scope: Scope = "all"
    roles: frozenset[str] | None = None
    when: Callable[[Any], bool] | None = None
    open: Callable[[Any, SeatId], bool] | None = None
    destructive: bool = False
    idempotent: bool = False
    # Never counted against a limit, or a seat at its limit could not end its turn.
    ends_turn: bool = False
    observer: bool = False
    # Not in the declaration: it moves no rule, only where a client shows the board.
    main: bool = False
    # digest: the trace keeps digest and size of an answer instead of its body.
    record: Literal["full", "digest"] = "full"
    recorded: bool = False
    refs: Callable[[Any], Sequence[str]] | None = None
    shown: Callable[[Any], int | None] | None = None
    # The host asks the service before the rules run and records its answer as an input.
    needs: str | None = None
    # Not for sealed actions: a result that waits for the closure would tell the last seat that it was the last.
    finish: Callable[..., BaseModel] | None = None
    # Not in the declaration: what is validated, and so what a trace holds, is the same for every scenario.
    bounds: Callable[[Any], Mapping[str, Bounds]] | None = None

    @property
    def counted(self) -> bool:
        """Kernel tools (but execute_code) and tools that end the turn count against no limit."""
        return not self.ends_turn and (self.subject == "market" or self.recorded)

    @cached_property
    def read_only(self) -> bool:
        """Whether a call leaves the market and the notes as they are."""
        return self.kind in ("read", "analysis")

    def visible(self, scenario: Scenario, role: str) -> bool:
        """Whether a seat of `role` is offered this tool under `scenario`."""
        return (self.roles is None or role in self.roles) and (self.when is None or self.when(scenario))

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments of any scenario: what is declared and validated."""
        return published(self.parameters)

    def listed_schema(self, scenario: Scenario) -> dict[str, Any]:
        """JSON schema of the arguments as clients are shown it: narrowed to what `scenario` takes."""
        return self.input_schema if self.bounds is None else narrowed(self.input_schema, self.bounds(scenario))

    @cached_property
    def result_schema(self) -> dict[str, Any]:
        """Full JSON schema of the result, for docs, snapshot and digest."""
        return _tidy(self.result.model_json_schema(mode="serialization"))

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """Top-level names and types only: clients check every result against it, and nesting costs them.

        Clients on the TypeScript SDK check refusals too, and would show the agent their own complaint instead: the four
        fields of an error fit as well.
        """
        schema = self.result_schema
        defs = schema.get("$defs", {})
        properties = {name: _shallow(prop, defs) for name, prop in schema.get("properties", {}).items()}
        # A result has its fields, a refusal those of ErrorInfo.
        shapes = [{"required": sorted(properties)}, {"required": list(ErrorInfo._fields)}]
        # No `required` at the top: refusals have none of the result's fields.
        return {"type": "object", "properties": properties, "anyOf": shapes}

    @cached_property
    def untrusted_paths(self) -> tuple[tuple[str, ...], ...]:
        """Paths to text by others in the result: ("messages", "*", "text"), where `*` is any item of a list or map."""
        schema = self.result_schema
        return tuple(_untrusted(schema, schema.get("$defs", {}), (), 0))

    def declaration(self) -> dict[str, Any]:
        """What the schema digest and the snapshot hold."""
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            "description": self.description,
            "evidence": list(self.evidence),
            "destructive": self.destructive,
            "idempotent": self.idempotent,
            "ends_turn": self.ends_turn,
            "input_schema": self.input_schema,
            "result_schema": self.result_schema,
        }


class ToolTable(Mapping[str, Tool]):
    """A market's tools by name, in the order of their declaration."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = {item.name: item for item in tools}
        # The later one would silently replace the earlier, also a kernel tool.
        if len(self._tools) != len(tools):
            raise ValueError("two tools share a name")

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def items(self) -> ItemsView[str, Tool]:
        """Names and tools; the table of a market is walked through for each episode."""
        return self._tools.items()

    def looks(self, scenario: Scenario, role: str) -> list[Tool]:
        """The read and analysis tools that a seat of `role` is offered under `scenario`, in order."""
        return [item for item in self._tools.values() if item.read_only and item.visible(scenario, role)]

    def declarations(self) -> list[dict[str, Any]]:
        """Every declaration, in order: the schema snapshot."""
        return [item.declaration() for item in self._tools.values()]

    @cached_property
    def schema_digest(self) -> str:
        """Digest over the full table: a changed name, type or description is another market version."""
        return digest(canonical(self.declarations()))


def tool(
    kind: Kind,
    *,
    title: str,
    open: Callable[[Any, SeatId], bool] | None = None,  # noqa: A002  # the field's name
    **options: Any,
) -> Callable[[Callable[..., BaseModel]], Tool]:
    """Declare a plain synchronous function `(market, seat, *, parameters) -> Result` as a tool.

    Options are the fields of `Tool`. Parameter types and bounds come from the annotations, the description from the
    docstring (effect, units and limits, never strategy).
    """

    # Whatever a seat may look at, it may look at any time: what it sees is the view's to decide.
    if kind != "action" and open is not None:
        raise ValueError("only an action is open or closed")

    def declare(function: Callable[..., BaseModel]) -> Tool:
        hints = _hints(function)
        roles = options.pop("roles", None)
        return Tool(
            name=function.__name__,
            kind=kind,
            title=title,
            description=inspect.getdoc(function) or "",
            function=function,
            parameters=_parameters(function, hints),
            result=hints["return"],
            roles=None if roles is None else frozenset(roles),
            open=open,
            **options,
        )

    return declare


def during(*phases: str) -> Callable[[Any, SeatId], bool]:
    """For `open`: the action belongs to these phases of the clock."""
    return lambda market, seat: market.clock.phase in phases


def _hints(function: Callable[..., BaseModel]) -> dict[str, Any]:
    """Types of the keyword parameters and of the result."""
    # Market and seat stay unresolved: a market's tools may import their type for type checkers only.
    positional = {
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    }
    asked = {name: hint for name, hint in inspect.get_annotations(function).items() if name not in positional}
    return typing.get_type_hints(SimpleNamespace(__annotations__=asked), function.__globals__, include_extras=True)


def _parameters(function: Callable[..., BaseModel], hints: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        # `inputs` come from the host, so no client may send them.
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "inputs":
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints[name], Field(default=default))
    return create_model(f"{function.__name__}_parameters", __base__=_Parameters, **fields)


def published(parameters: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a model of arguments, as clients read it: whatever fits it can be sent.

    What may be left out has a plain type, though null is taken for it: of `anyOf [.., null]` some adapters make a
    text that is required.
    """
    return _tidy(parameters.model_json_schema(), plain=True)


def _tidy(schema: Any, *, plain: bool = False) -> Any:
    """Without the titles that pydantic derives from names; `plain`: without null where a value may be left out."""
    if isinstance(schema, list):
        return [_tidy(item, plain=plain) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    items: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    tidied: dict[str, Any] = {}
    for key, value in items.items():
        if key in ("properties", "$defs"):
            tidied[key] = {name: _tidy(prop, plain=plain) for name, prop in value.items()}
        elif key != "title" or not isinstance(value, str):
            tidied[key] = _tidy(value, plain=plain)
    if plain and "properties" in tidied:
        required = tidied.get("required", ())
        named: dict[str, Any] = tidied["properties"]
        tidied["properties"] = {name: prop if name in required else _not_null(prop) for name, prop in named.items()}
    return tidied


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that may be left out, without null as a type, choice or default."""
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    if "enum" in rest:
        rest["enum"] = [choice for choice in rest["enum"] if choice is not None]
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        # What is said of the parameter goes before what is said of its type.
        return {**options[0], **rest}
    return {**rest, "anyOf": options} if options else rest


def _shallow(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """The outer type of one property; nothing where it can be anything."""
    if "anyOf" in schema:
        options = [_shallow(option, defs) for option in schema["anyOf"]]
        # One branch may be anything, so the whole may.
        if not all("type" in option for option in options):
            return {}
        # Branches, not a list of types: several readers of schemas know no such list.
        kinds = {option["type"]: {key: option[key] for key in ("type", "items") if key in option} for option in options}
        branches = [kinds[kind] for kind in sorted(kinds)]
        return branches[0] if len(branches) == 1 else {"anyOf": branches}
    if "$ref" in schema:
        return _shallow(defs[schema["$ref"].rpartition("/")[2]], defs)
    shown = {key: schema[key] for key in ("type", "description", "x-untrusted") if key in schema}
    # Readers of schemas refuse a list of unknown items.
    if shown.get("type") == "array":
        inner = _shallow(schema.get("items", {}), defs)
        shown["items"] = {key: inner[key] for key in ("type", "items", "anyOf") if key in inner}
    return shown


def _untrusted(
    schema: dict[str, Any], defs: dict[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[tuple[str, ...]]:
    # A model that contains itself has no end; no market nests results half as deep.
    if depth > 12:
        return
    if schema.get("x-untrusted"):
        yield path
        return
    if "$ref" in schema:
        yield from _untrusted(defs[schema["$ref"].rpartition("/")[2]], defs, path, depth + 1)
    for option in schema.get("anyOf", ()):
        yield from _untrusted(option, defs, path, depth + 1)
    for name, prop in schema.get("properties", {}).items():
        yield from _untrusted(prop, defs, (*path, name), depth + 1)
    # Lists and mappings: the path says * for any of their items.
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from _untrusted(inner, defs, (*path, "*"), depth + 1)  # pyright: ignore[reportUnknownArgumentType]


def may_deny(error: ErrorInfo, tool: Tool | None) -> bool:
    """Whether a host can deny a call of this tool (None: there is no such tool) with this error."""
    if error == NO_CODE:
        return tool is not None and tool.recorded
    return error in HOST_REFUSALS or (tool is not None and tool.needs is not None and error == no_service(tool.needs))
