"""The `openai_agents` framework: the OpenAI Agents SDK, its `Agent` and its `Runner` (extra `openai-agents`).

The SDK would run a message's tools at once and trace runs to its maker: calls are made in order by `SeatRound`, and
tracing is off for every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tradefair.agents.prompt import load_prompt
from tradefair.contract import Brief
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.client import ChatClient
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.serving import open_client
from tradefair.frameworks.models.wire import resent_arguments
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import ShownTool, model_reply, play_talks, required, shown_tools


class OpenAIAgentsAgent:
    """A seat played by the SDK's runner, one run for each time that the model is spoken to."""

    name = "openai_agents"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        endpoint = required(model, self.name)
        bridge = await open_bridge(seat)
        # Any, here and below: the package may be missing where types are checked.
        sdk: Any = import_module("agents")
        async with open_client(self.name, endpoint) as client:
            agent = sdk.Agent(
                name=seat.seat,
                instructions=load_prompt("react").system(brief),
                model=sdk.OpenAIChatCompletionsModel(client.model, client.openai),
                model_settings=sdk.ModelSettings(extra_body=dict(client.fields) or None),
                tools=[_tool(sdk, tool) for tool in shown_tools(bridge)],
                # Otherwise the SDK asks the model once more after the calls that ended the turn.
                tool_use_behavior=_stop_when_finished(sdk),
            )
            return await play_talks(
                self.name, lambda turn: _Conversation(sdk, agent, client, turn), bridge, seat, endpoint, limits
            )


class _Enough(Exception):
    """The runner would ask the model again; what it says next is ours to decide.

    Raised by a hook and caught in `say`, since the SDK has no other way to leave a run between two requests.
    """


class _Conversation:
    """One round's items. The hooks see a reply before its tools run."""

    def __init__(self, sdk: Any, agent: Any, client: ChatClient, turn: SeatRound) -> None:
        self._sdk = sdk
        self._agent = agent
        self._client = client
        self._turn = turn
        self._items: list[Any] = []
        # Whether the last reply made calls: after one without, the SDK would go on by itself, and a nudge is ours to
        # send.
        self._acting = True
        # Tells a reply that nobody heard from one that the SDK could not act on.
        self._asking = False
        # Tracing would send the run to the SDK's maker; an unknown tool must not end the run but be answered by us.
        self._config = sdk.RunConfig(
            tracing_disabled=True,
            tool_not_found_behavior="return_error_to_model",
            tool_error_formatter=self._not_found,
            call_model_input_filter=_resent,
        )
        self._hooks = sdk.RunHooks()
        self._hooks.on_llm_start = self._asks
        self._hooks.on_llm_end = self._hears

    async def say(self, words: str) -> None:
        """Add a user message, run the SDK until a reply has no call or the round is finished; keep the items."""
        self._acting = True
        said = [{"role": "user", "content": words}] if words else []
        try:
            result = await self._sdk.Runner.run(
                self._agent,
                [*self._items, *said],
                context=self._turn,
                # The round's own limits end it (docs/explanation/why/frameworks.md).
                max_turns=None,
                hooks=self._hooks,
                run_config=self._config,
                error_handlers={"model_refusal": _refusal},
            )
        except _Enough:
            return
        # Anything: hooks, tools and the provider's client raise through the SDK, partly wrapped.
        except Exception as error:
            # What a call raised comes first: the SDK wraps it as an error of the tool.
            if self._turn.failure is not None:
                raise self._turn.failure from error
            # A reply that the SDK cannot use is the model's; everything else is the provider's.
            if not isinstance(error, self._sdk.ModelBehaviorError):
                raise self._client.failure(error) from error
            if not self._asking:
                self._turn.give_up("framework_error")
                return
            # Refused before anybody heard it, as one that was cut before its first word.
            await self._hears(None, None, None)
            return
        self._items = result.to_input_list()

    async def _asks(self, context: Any, agent: Any, system: str | None, items: list[Any]) -> None:
        # The items before this request: `result` is not reached where a run is left in its middle.
        self._items = list(items)
        if self._turn.finished or not self._acting:
            raise _Enough
        self._asking = True
        self._client.asks()

    async def _hears(self, context: Any, agent: Any, response: Any) -> None:
        reply = model_reply(self._client.heard, self._client.seconds)
        self._asking, self._acting = False, bool(reply.calls)
        await self._turn.reply(reply)

    async def _not_found(self, problem: Any) -> str | None:
        """What the market says of a tool that it does not have."""
        # Other problems keep the SDK's own text.
        if problem.kind != "tool_not_found":
            return None
        return (await self._turn.answer(problem.call_id)).text


def _tool(sdk: Any, tool: ShownTool) -> Any:
    async def invoke(context: Any, arguments: str) -> str:
        turn: SeatRound = context.context
        return (await turn.answer(context.tool_call_id)).text

    return sdk.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        # The market's schemas are not in OpenAI's strict form (optional fields), which the SDK would demand.
        strict_json_schema=False,
    )


def _stop_when_finished(sdk: Any) -> Any:
    def decide(context: Any, _: Any) -> Any:
        return sdk.ToolsToFinalOutputResult(context.context.finished, "")

    return decide


def _resent(data: Any) -> Any:
    """The history as every endpoint takes it: some parse arguments, and refuse a message without words or calls.

    A refusal's words stand there once more as the text that `_refusal` gives.
    """
    items: list[dict[str, Any]] = data.model_data.input
    data.model_data.input = [
        {**item, "arguments": resent_arguments(item["arguments"])} if item.get("type") == "function_call" else item
        for item in items
        if not (item.get("type") == "message" and [part["type"] for part in item["content"]] == ["refusal"])
    ]
    return data.model_data


def _refusal(refused: Any) -> str:
    """A refusal is a reply without a call; the runner would raise it."""
    return refused.error.refusal
