"""The bridge: calls of MCP tools over one open client, with timeouts, call keys and failures told apart.

    the tool refused             -> an outcome with `is_error`, for whoever asked
    no answer in time            -> an outcome with code `timeout`, counted
    the server owns to a fault   -> asked once more, then HarnessFailure
    transport, protocol, schema  -> HarnessFailure: ours, never the agent's mistake

Needs neither langchain nor langgraph, so that scripted policies use it as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson
from mcp.shared.exceptions import MCPError
from mcp.types import REQUEST_TIMEOUT, CallToolResult, TextContent, Tool

from tradefair.contract import ErrorInfo, HarnessFailure, ToolAnswer, TurnView

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT

# Names of the server's `_meta` entries (host/server/wire.py); agents know the wire, not the host.
_TURN = "tradefair/turn"
_CALL_KEY = "tradefair/call-key"
# With these codes the server says that nothing was changed, so asking once more is safe.
_FAULTS = frozenset({"internal_error", "storage_unavailable"})


class TurnMark(NamedTuple):
    """The clock that every result carries, and whether the seat's turn or the episode is over."""

    round: int
    phase: str
    turn_over: bool
    over: bool


@dataclass(frozen=True)
class ToolOutcome:
    """What one call came to. `content` is one string when the result was text only, else plain content blocks.

    `made` is false for a call that the harness refused and never sent.
    """

    tool: str
    content: str | list[dict[str, Any]]
    structured: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_error: bool = False
    made: bool = True

    @property
    def turn(self) -> TurnMark | None:
        """The clock in the result's `_meta`; None where the answer did not come from a market."""
        # A market's answer always has it; a stranger's server need not.
        mark = self.meta.get(_TURN)
        return None if mark is None else TurnMark(mark["round"], mark["phase"], mark["turn_over"], mark["over"])

    @property
    def artifact(self) -> dict[str, Any]:
        """What a tool message keeps in addition to its text, under the wire's names."""
        return {"structured_content": self.structured, "_meta": dict(self.meta), "is_error": self.is_error}

    @property
    def text(self) -> str:
        """The content as one string."""
        return self.content if isinstance(self.content, str) else orjson.dumps(self.content).decode()

    def ends(self, view: TurnView) -> bool:
        """Whether the turn that began with `view` is over, or its phase has closed without the seat (a deadline).

        A free clock awaits no seat, and its rounds pass while a seat acts.
        """
        turn = self.turn
        if turn is None:
            return False
        # Only where the seat is awaited: under a free clock rounds pass without ending a turn.
        passed = view.awaited and (turn.round, turn.phase) != (view.round, view.phase)
        return turn.turn_over or turn.over or passed

    def answer(self) -> ToolAnswer:
        """The outcome as a policy sees it."""
        turn = self.turn
        # The policy learns of the end from the mark, not from the answer's text.
        over = turn is not None and (turn.turn_over or turn.over)
        if self.is_error:
            return ToolAnswer(None, error_info(self.text), over)
        # Policies read data: the structured form where there is one, else the text as it came.
        return ToolAnswer(self.text.encode() if self.structured is None else orjson.dumps(self.structured), None, over)


class Act(NamedTuple):
    """One executed call: what was asked and what came back."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: ToolOutcome


@dataclass
# For the report; the trace counts for itself.
class BridgeCounts:
    """How the calls of one bridge went; retries are not calls of their own."""

    calls: int = 0
    errors: int = 0
    timeouts: int = 0
    retries: int = 0


def refusal(
    tool: str, code: str, message: str, *, hint: str = "", retryable: bool = True, made: bool = False
) -> ToolOutcome:
    """An error that the harness itself answers, in the one shape that refusals have everywhere."""
    body = {"code": code, "message": message, "hint": hint, "retryable": retryable}
    return ToolOutcome(tool, orjson.dumps(body).decode(), body, {}, is_error=True, made=made)


def error_info(text: str) -> ErrorInfo:
    """The refusal in an error's text; code `error` where a stranger's server answered in a form of its own."""
    try:
        body = orjson.loads(text)
        # A KeyError or TypeError: JSON, but not the four fields.
        return ErrorInfo(body["code"], body["message"], body["hint"], body["retryable"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ErrorInfo("error", text, "", True)


class Bridge:
    """The tools of one open client, by name, and the one coroutine that calls them.

    Calls of tools that are not read-only carry a call key `<key_prefix>-<n>`, the same on their one retry.
    `key_prefix` must differ from that of every earlier connection of the same seat to the same episode.
    """

    def __init__(
        self,
        client: Client,
        tools: Mapping[str, Tool],
        *,
        meta: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        on_progress: ProgressFnT | None = None,
        key_prefix: str = "call",
    ) -> None:
        self.tools = tools
        self.counts = BridgeCounts()
        self._client = client
        self._meta = dict(meta or {})
        self._timeout_s = timeout_s
        self._on_progress = on_progress
        self._key_prefix = key_prefix
        # Keys are counted per connection, in the order of the calls.
        self._keys = 0

    @classmethod
    async def open(cls, client: Client, **options: Any) -> Bridge:
        """List the client's tools, all pages of them. Options are those of the constructor."""
        tools: dict[str, Tool] = {}
        cursor: str | None = None
        # The server's list may have several pages; an agent must not miss the tools on a later one.
        while True:
            try:
                page = await client.list_tools(cursor=cursor)
            except Exception as error:
                raise _failure("list_tools", error) from error
            tools |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                return cls(client, tools, **options)

    def read_only(self, name: str) -> bool:
        """Whether a tool says that it changes nothing. An unknown tool is taken to change something."""
        tool = self.tools.get(name)
        return tool is not None and tool.annotations is not None and bool(tool.annotations.read_only_hint)

    async def call(self, name: str, arguments: Mapping[str, Any], *, timeout_s: float | None = None) -> ToolOutcome:
        """Call a tool; unknown names and bad arguments go to the server too, so that they are in the trace.

        Raises HarnessFailure for anything but an answer or its absence.
        """
        # A retry is the same call and is not counted again.
        self.counts.calls += 1
        meta = {**self._meta, **self._fresh_key(name)}
        wait = self._timeout_s if timeout_s is None else timeout_s
        outcome = await self._attempt(name, arguments, meta, wait)
        # Without a key a call is not repeated after silence: it may have been carried out.
        if _is_fault(outcome) or (outcome is None and _CALL_KEY in meta):
            self.counts.retries += 1
            outcome = await self._attempt(name, arguments, meta, wait)
        # No answer twice: the agent is told, and can look where the market stands.
        if outcome is None:
            outcome = _no_answer(name, wait)
        if _is_fault(outcome):
            raise HarnessFailure(f"{name}: the server failed twice: {outcome.text}")
        self.counts.errors += outcome.is_error
        return outcome

    def _fresh_key(self, name: str) -> dict[str, str]:
        # Reads need no key: repeating them changes nothing.
        if name not in self.tools or self.read_only(name):
            return {}
        self._keys += 1
        return {_CALL_KEY: f"{self._key_prefix}-{self._keys}"}

    async def _attempt(
        self, name: str, arguments: Mapping[str, Any], meta: dict[str, Any], timeout_s: float
    ) -> ToolOutcome | None:
        """One request; None when no answer came in time. Other errors of the protocol are HarnessFailures."""
        try:
            result = await self._client.call_tool(
                name, dict(arguments), timeout_s, self._on_progress, meta=cast("Any", meta or None)
            )
        except MCPError as error:
            # The SDK reports its own time-out as a protocol error with this code.
            if error.code == REQUEST_TIMEOUT:
                self.counts.timeouts += 1
                return None
            raise _failure(name, error) from error
        except Exception as error:
            # The SDK raises RuntimeError for results off their schema, and transports raise what they like.
            raise _failure(name, error) from error
        return _outcome(name, result)


def _outcome(name: str, result: CallToolResult) -> ToolOutcome:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    # Text only in the common case; other blocks keep their form, for models that can read them.
    content: str | list[dict[str, Any]] = "\n".join(texts)
    if len(texts) != len(result.content):
        content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    meta = cast("Mapping[str, Any]", result.meta or {})
    return ToolOutcome(name, content, result.structured_content, meta, result.is_error)


def _is_fault(outcome: ToolOutcome | None) -> bool:
    """Whether the server says that the failure is its own and that nothing has changed."""
    return outcome is not None and outcome.is_error and error_info(outcome.text).code in _FAULTS


def _no_answer(name: str, timeout_s: float) -> ToolOutcome:
    return refusal(
        name,
        "timeout",
        f"{name} did not answer within {timeout_s:g} s; it may or may not have been carried out",
        hint="call view_turn to see where the market stands",
        # `made`: it may have been carried out, so it counts against the limits.
        made=True,
    )


def _failure(name: str, error: Exception) -> HarnessFailure:
    return HarnessFailure(f"{name}: the MCP connection failed: {type(error).__name__}: {error}")
