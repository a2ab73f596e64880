"""Whatever arguments a client sends: a typed refusal that says what is allowed, and nothing has changed.

Bad arguments are made from each tool's own input schema, for every tool that the seat is offered.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client, types

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Tool
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import new_episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.testing.questions import invent_arguments
from tradefair.tracestore import open_trace

T = TypeVar("T")

MARKETS = {
    "double_auction": ("smoke", "B1", "truthful", [("submit_quote", {"price": 60})]),
    "teaching": ("talk", "P1", "half", [("say", {"text": "half?"}), ("claim", {"slices": 4})]),
    "pricing": ("duel", "F1", "best_reply", [("set_price", {"price": 1_500})]),
    "order_book": ("smith", "B1", "zi_c", [("submit_order", {"side": "buy", "price": 40})]),
}
# More calls than a round allows: a seat that had none left would be refused for that.
SETTINGS_OF: Mapping[str, dict[str, Any]] = {
    market: {"limits": [{"counts": ["read", "analysis", "action"], "max": 1_000_000, "per": "round", "then": "lapse"}]}
    for market in ("pricing", "order_book")
}
# Calls whose arguments fit the schema and which the rules refuse, in each market.
AGAINST_THE_RULES: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "double_auction": [("submit_quote", {"price": 101}), ("submit_quote", {"price": 50, "round": 99})],
    "teaching": [("claim", {"slices": 999}), ("claim", {"slices": 4})],
    "pricing": [
        ("set_price", {"price": 4_001}),
        ("set_price", {"price": 1_500, "round": 1}),
        ("profit_if", {"prices": [1_500], "rivals": []}),
        ("profit_if", {"prices": [1_500], "rivals": [1_500, 1_500]}),
        ("profit_if", {"prices": [4_001]}),
    ],
    "order_book": [
        ("submit_order", {"side": "sell", "price": 100}),
        ("submit_order", {"side": "buy", "price": 201}),
        ("submit_order", {"side": "buy", "price": 100, "quantity": 1_000}),
        ("submit_order", {"side": "buy", "price": 100, "period": 99}),
        ("cancel_order", {"order": 10_000_000}),
    ],
}
FOUR_FIELDS = {"code", "message", "hint", "retryable"}
KIBIBYTE = 1_024
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# What a refusal says that is about the arguments as a whole.
OF_THE_WHOLE = ("arguments must be an object", "only finite numbers", "valid Unicode", f"at most {64 * KIBIBYTE}")
# No shrinking: the examples act on one episode, and each is small already.
SETTINGS = settings(
    max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


def nested(depth: int) -> list[Any]:
    """A list in a list in a list …"""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


ODD_VALUES: list[object] = [
    *(None, True, False, 0, -1, 1.0, 1.5, -0.0, 1e308, math.nan, math.inf, -math.inf),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, 10**4_000),
    *("", "1", "12.5", "NaN", "true", "null", "[1]", "0x10"),
    *("\0", "\ud800", "\udfff1", "ＢＩＤ", "round-0", "B1; DROP"),
    *("x" * (70 * KIBIBYTE), "x" * KIBIBYTE**2, "é" * KIBIBYTE**2),
    *([], [1], [[1]], ["1"], [None] * 30, [7, 7], {}, {"price": 1}, {"": None}),
    *([0] * 40_000, nested(15), nested(17), nested(90)),
]
UNENCODABLE: list[object] = [nested(3_000), (1, 2), {1, 2}, b"1", object(), {1: 2}, range(3), 1j]
TEXTS = st.text(st.characters(), max_size=30)
NAMES = st.text(max_size=30)  # mcp's client itself fails at lone surrogates here
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


class Bad(NamedTuple):
    """Arguments that must be refused, and the name of a parameter that is wrong with them."""

    tool: Tool
    arguments: Any
    wrong: str


def as_sent(value: Any) -> Any:
    """What mcp's client makes of a value before it sends it: null of what is not finite."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            rows: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
            return [as_sent(row) for row in rows]
        case dict():
            items: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
            return {name: as_sent(item) for name, item in items.items()}
        case _:
            return value


# --- bad arguments from a schema ----------------------------------------------------------------------------------


def fits(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether a tool may take `value`: JSON schema's reading."""
    if "anyOf" in schema:
        return any(fits(value, option) for option in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return type(value) is str and value in schema.get("enum", [schema.get("const")])
    match schema["type"], value:
        case ("null", None) | ("boolean", bool()):
            return True
        case ("integer", float()) if not value.is_integer() or abs(value) > 2**53:
            return False
        case ("integer" | "number", int() | float()):
            within = schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
            return type(value) is not bool and within
        case ("string", str()):
            within = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
            return within and not LONE_SURROGATE.search(value) and bool(re.search(schema.get("pattern", ""), value))
        case ("array", list()):
            rows: list[object] = value  # pyright: ignore[reportUnknownVariableType]
            within = schema.get("minItems", 0) <= len(rows) <= schema.get("maxItems", math.inf)
            return within and all(fits(row, schema["items"]) for row in rows)
        case _:
            return False


def bad_arguments(tool: Tool, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Bad]:
    """Good arguments with something missing, something more or something wrong."""
    schema = tool.input_schema
    properties: dict[str, Any] = schema["properties"]
    good = invent_arguments(tool, ("good",), ["round-1", "B1"]) or {}
    missing = [
        st.just(Bad(tool, {other: given for other, given in good.items() if other != name}, name))
        for name in schema.get("required", ())
    ]
    unknown = st.sampled_from(["seat", "token", "self", "inputs", "market", "core", "_meta"]) | NAMES
    extra = st.tuples(unknown.filter(lambda name: name not in properties), values).map(
        lambda more: Bad(tool, {**good, more[0]: more[1]}, more[0])
    )
    wrong = [_wrong(tool, good, name, values) for name in properties]
    return st.one_of(extra, *missing, *wrong)


def takes(tool: Tool, name: str, value: object) -> bool:
    """Whether a tool takes `value` for a parameter; null stands for one that is left out."""
    schema = tool.input_schema
    return (value is None and name not in schema.get("required", ())) or fits(value, schema["properties"][name])


def _wrong(tool: Tool, good: Mapping[str, Any], name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Bad]:
    unfit = values.filter(lambda value: not takes(tool, name, value))
    return unfit.map(lambda value: Bad(tool, {**good, name: value}, name))


def one_per_tool(tools: Mapping[str, Tool], values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Bad, ...]]:
    """A bad call of every tool."""
    return st.tuples(*(bad_arguments(tool, values) for tool in tools.values()))


# --- the seat that they are sent to -------------------------------------------------------------------------------


class Seat:
    """A seat in mid-episode, on an event loop of its own; `refused` counts what was sent to it in vain."""

    def __init__(self, episode: Episode, seat: str, runner: asyncio.Runner) -> None:
        self.episode = episode
        self.name = seat
        self.tools = episode.core.tools(seat)
        self.refused = 0
        self._runner = runner

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """On the episode's loop."""
        return self._runner.run(coroutine)

    def state(self) -> tuple[object, ...]:
        """Everything that a refused call must leave as it was."""
        core = self.episode.core
        notes = {seat: dict(kept) for seat, kept in core.notes.items()}
        return core.market.digest(), core.market.clock, core.market.awaited(), notes, core.ended

    def call(self, bad: Bad) -> Mapping[str, Any]:
        """The refusal, straight from the episode."""
        result = self.run(self.episode.call(self.name, bad.tool.name, bad.arguments))
        self.refused += 1
        assert result.error is not None
        assert (result.status, result.body) == ("invalid", None)
        return result.error._asdict()

    def ask(self, bad_calls: tuple[Bad, ...]) -> list[types.CallToolResult]:
        """The results that an MCP client gets in process."""
        self.refused += len(bad_calls)

        async def ask() -> list[types.CallToolResult]:
            async with Client(build_server(self.episode, self.name)) as client:
                return [await client.call_tool(bad.tool.name, bad.arguments) for bad in bad_calls]

        return self.run(ask())


@contextmanager
def seated(market: str, folder: Path) -> Generator[Seat]:
    """A seat after its first round, with a note; in the end its trace must hold every refusal, and verify."""
    preset, seat, others, moves = MARKETS[market]
    kind, scenario = market_type(market), load_scenario(market, preset, SETTINGS_OF.get(market))
    plan = plan_seats(kind, scenario, agents=[seat], others=others)
    with Sandbox() as sandbox, asyncio.Runner() as runner:
        episode = runner.run(new_episode(kind, scenario, 7, plan, folder, sandbox=sandbox))
        try:
            for tool, arguments in [*moves, ("add_note", {"text": "mine"})]:
                assert runner.run(episode.call(seat, tool, arguments)).status == "ok"
            made = Seat(episode, seat, runner)
            yield made
        finally:
            runner.run(episode.close())
    assert verify_file(episode.path).verdict == "reproduced"
    with open_trace(episode.path) as trace:
        called = [event for event in trace.decoded() if event["event"] == "tool_called" and event["seat"] == seat]
        assert sum(event["status"] == "invalid" for event in called) == made.refused
        assert max(len(stored.body) for stored in trace.events()) < 16 * KIBIBYTE


def check_refusal(bad: Bad, error: Mapping[str, Any]) -> None:
    """The four fields, and in them what is wrong and what is allowed."""
    assert set(error) == FOUR_FIELDS
    message, hint = error["message"], error["hint"]
    # No schema tells the size of the whole, nor what is no Unicode.
    code = "bad_value" if any(words in message for words in OF_THE_WHOLE[2:]) else "invalid_arguments"
    assert (error["code"], error["retryable"]) == (code, True)
    if any(words in message for words in OF_THE_WHOLE):
        assert bad.tool.name in hint
    else:
        assert bad.wrong[:80] in message
        assert all(name in hint for name in bad.tool.input_schema["properties"])
    assert len(message) + len(hint) < 4 * KIBIBYTE
    # Without what was sent: a name of a parameter may be any of these words.
    said = (message + hint).replace(bad.wrong[:80], "")
    assert not re.search("Traceback|pydantic|input_value|object at 0x", said)


def every_tool(check: Callable[[Seat, tuple[Bad, ...]], None], seat: Seat, *values: st.SearchStrategy[Any]) -> None:
    """Run `check` on many sets of bad calls, one per tool; none may change anything."""
    before = seat.state()

    @SETTINGS
    @given(one_per_tool(seat.tools, st.one_of(*values)))
    def each(bad_calls: tuple[Bad, ...]) -> None:
        check(seat, bad_calls)
        assert seat.state() == before

    each()


# --- the tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("market", MARKETS)
def test_every_tool_refuses_bad_arguments_and_changes_nothing(market: str, tmp_path: Path) -> None:
    def check(seat: Seat, bad_calls: tuple[Bad, ...]) -> None:
        for bad in bad_calls:
            check_refusal(bad, seat.call(bad))

    with seated(market, tmp_path) as seat:
        every_tool(check, seat, st.sampled_from(ODD_VALUES), st.sampled_from(UNENCODABLE), JSON_VALUES)


@pytest.mark.parametrize("market", MARKETS)
def test_a_client_gets_bad_arguments_back_as_a_typed_result(market: str, tmp_path: Path) -> None:
    def check(seat: Seat, bad_calls: tuple[Bad, ...]) -> None:
        for bad, result in zip(bad_calls, seat.ask(bad_calls), strict=True):
            assert result.is_error
            (block,) = result.content
            assert isinstance(block, types.TextContent)
            assert orjson.loads(block.text) == result.structured_content
            check_refusal(bad, result.structured_content or {})
            # Clients on the TypeScript SDK hold refusals against the output schema too.
            Draft202012Validator(bad.tool.output_schema).validate(result.structured_content)  # pyright: ignore[reportUnknownMemberType]

    with seated(market, tmp_path) as seat:
        every_tool(check, seat, st.sampled_from(list(map(as_sent, ODD_VALUES))), JSON_VALUES.map(as_sent))


@pytest.mark.parametrize("market", MARKETS)
def test_every_parameter_refuses_every_odd_value(market: str, tmp_path: Path) -> None:
    """The same without chance, so that no pair of parameter and value is left out."""
    with seated(market, tmp_path) as seat:
        before = seat.state()
        for tool in seat.tools.values():
            good = invent_arguments(tool, ("good",), ["round-1", "B1"]) or {}
            for name in tool.input_schema["properties"]:
                for value in [*ODD_VALUES, *UNENCODABLE]:
                    if not takes(tool, name, value):
                        bad = Bad(tool, {**good, name: value}, name)
                        check_refusal(bad, seat.call(bad))
        assert seat.state() == before
        assert seat.refused > 300


@pytest.mark.parametrize("market", MARKETS)
def test_arguments_that_are_no_object_are_refused(market: str, tmp_path: Path) -> None:
    no_objects: list[Any] = [[], [{}], "{}", 5, math.nan, None, True, b"{}", object(), {1: 1}, {"\ud800": 1}]
    with seated(market, tmp_path) as seat:
        before = seat.state()
        for tool in seat.tools.values():
            for arguments in no_objects:
                bad = Bad(tool, arguments, "\ud800")
                check_refusal(bad, seat.call(bad))
        assert seat.state() == before


def test_a_call_key_that_cannot_be_stored_is_refused_as_an_argument(tmp_path: Path) -> None:
    """It must not look like a lost log, which would cost the other seats their uncommitted calls."""

    keys: list[Any] = ["\ud800", "\0", "a\nb", "", "k" * 129, 7, True, [], {}]

    async def ask(seat: Seat) -> None:
        async with Client(build_server(seat.episode, seat.name)) as client:
            for key in keys:
                meta: Any = {"tradefair/call-key": key, "traceparent": "\ud800"}
                result = await client.call_tool("submit_quote", {"price": 50}, meta=meta)
                assert (result.structured_content or {})["code"] == "invalid_arguments"

    with seated("double_auction", tmp_path) as seat:
        before = seat.state()
        seat.run(ask(seat))
        assert seat.state() == before
        with open_trace(seat.episode.path) as trace:
            denied = [event for event in trace.decoded() if event.get("status") == "denied"]
        assert [event["error"]["code"] for event in denied] == ["invalid_arguments"] * len(keys)


@pytest.mark.parametrize("market", MARKETS)
def test_what_the_rules_refuse_changes_nothing(market: str, tmp_path: Path) -> None:
    with seated(market, tmp_path) as seat:
        before = seat.state()
        for tool, arguments in AGAINST_THE_RULES[market]:
            answer = seat.run(seat.episode.call(seat.name, tool, arguments))
            assert answer.error is not None, (tool, arguments)
            assert answer.status == "rejected", (tool, arguments)
            assert set(answer.error._asdict()) == FOUR_FIELDS
            assert seat.state() == before


@pytest.mark.many
@pytest.mark.parametrize("market", MARKETS)
def test_ten_thousand_bad_calls_change_nothing(market: str, tmp_path: Path) -> None:
    """Over all markets, straight to the core, between two closures: what is refused leaves no trace in the market."""
    preset, seat, others, moves = MARKETS[market]
    kind, scenario = market_type(market), load_scenario(market, preset, SETTINGS_OF.get(market))
    with asyncio.Runner() as runner:
        plan = plan_seats(kind, scenario, agents=[seat], others=others)
        episode = runner.run(new_episode(kind, scenario, 7, plan, tmp_path))
        try:
            for tool, arguments in moves:
                assert runner.run(episode.call(seat, tool, arguments)).status == "ok"
            core = episode.core
            # A program is the host's to refuse, not the core's.
            tools = {name: tool for name, tool in core.tools(seat).items() if not tool.recorded}
            before, sent, least = (core.market.digest(), core.market.clock, core.ended), 0, 10_000 // len(MARKETS)

            @settings(SETTINGS, max_examples=least // len(tools) + 1)
            @given(one_per_tool(tools, st.one_of(st.sampled_from(ODD_VALUES), JSON_VALUES)))
            def each(bad_calls: tuple[Bad, ...]) -> None:
                nonlocal sent
                for bad in bad_calls:
                    answer = core.call(seat, bad.tool.name, bad.arguments).answer
                    sent += 1
                    assert answer is not None
                    assert (answer.status, answer.body) == ("invalid", None)
                    assert (core.market.digest(), core.market.clock, core.ended) == before

            each()
            assert sent >= least
        finally:
            runner.run(episode.close())
