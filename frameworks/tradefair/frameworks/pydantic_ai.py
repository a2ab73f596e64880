"""The `pydantic_ai` framework: a pydantic-ai `Agent`, run node by node (extra `pydantic-ai`)."""

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
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import ShownTool, model_reply, play_talks, required, shown_tools


class PydanticAIAgent:
    """A seat played by a pydantic-ai agent, one run for each time that the model is spoken to."""

    name = "pydantic_ai"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        endpoint = required(model, self.name)
        bridge = await open_bridge(seat)
        # Any, here and below: the package may be missing where types are checked.
        ai: Any = import_module("pydantic_ai")
        openai_model: Any = import_module("pydantic_ai.models.openai").OpenAIChatModel
        provider: Any = import_module("pydantic_ai.providers.openai").OpenAIProvider
        async with open_client(self.name, endpoint) as client:
            agent = ai.Agent(
                openai_model(client.model, provider=provider(openai_client=client.openai)),
                instructions=load_prompt("react").system(brief),
                tools=[_tool(ai, tool) for tool in shown_tools(bridge)],
                # Malformed arguments and unknown tools are bounded by our call limit, not by a count of its own.
                retries=limits.calls_per_round,
                model_settings={"extra_body": dict(client.fields)} if client.fields else None,
            )
            # Instrumentation would send prompts to wherever the environment's telemetry points.
            agent.instrument = False
            return await play_talks(
                self.name, lambda turn: _Conversation(ai, agent, client, turn), bridge, seat, endpoint, limits
            )


class _Conversation:
    """One round's messages. Each node is run by us, so that nothing is asked once the round is finished."""

    def __init__(self, ai: Any, agent: Any, client: ChatClient, turn: SeatRound) -> None:
        self._ai = ai
        self._agent = agent
        self._client = client
        self._turn = turn
        self._messages: list[Any] = []

    async def say(self, words: str) -> None:
        """Add a user message, run the agent until a reply has no call or the round is finished; keep the messages."""
        try:
            self._messages = await self._run(words)
        # pydantic-ai wraps what its tools raise, so the type says nothing; the state does.
        except Exception as error:
            if self._turn.failure is not None:
                raise self._turn.failure from error
            if not isinstance(error, self._ai.UnexpectedModelBehavior):
                raise self._client.failure(error) from error
            self._turn.give_up("framework_error")

    async def _run(self, words: str) -> list[Any]:
        """Run the agent until a reply has no call or the round is finished; all messages of the round."""
        # Its own limit of requests is lifted: the round's limits end it.
        limits = self._ai.UsageLimits(request_limit=None)
        given: dict[str, Any] = {"message_history": self._messages, "deps": self._turn, "usage_limits": limits}
        # No words mean no user message.
        async with self._agent.iter(words or None, **given) as run:
            # The first node prepares the request and asks nothing.
            node = await run.next(run.next_node)
            # Node by node, so that the reply is known before its tools run.
            while self._ai.Agent.is_model_request_node(node):
                self._client.asks()
                heard = True
                try:
                    node = await run.next(node)
                except self._ai.UnexpectedModelBehavior:
                    # The package has no use for the reply, as for one that was stopped before its first word.
                    heard = False
                reply = model_reply(self._client.heard, self._client.seconds)
                await self._turn.reply(reply)
                # The run is left here: what is said after a reply without a call is ours to decide.
                if not (reply.calls and heard):
                    break
                node = await run.next(node)
                # Calls that pydantic-ai refused itself never reach a tool of ours; they are made here, for the trace.
                await self._turn.settle()
                await self._reword(node.request)
                if self._turn.finished:
                    # The answers of the last calls wait in the request that is not made.
                    return [*run.all_messages(), node.request]
            return list(run.all_messages())

    async def _reword(self, request: Any) -> None:
        """Answer as we do where pydantic-ai refused a call itself: an unknown tool, malformed arguments."""
        returned: Any = self._ai.ToolReturnPart
        parts: list[Any] = []
        for part in request.parts:
            # A refusal of its own has words of its own; the model shall read the market's.
            if isinstance(part, returned) and part.outcome != "success":
                outcome = await self._turn.answer(part.tool_call_id)
                parts.append(returned(part.tool_name, outcome.text, part.tool_call_id))
            else:
                parts.append(part)
        request.parts = parts


def _tool(ai: Any, tool: ShownTool) -> Any:
    async def call(context: Any, **_: Any) -> str:
        turn: SeatRound = context.deps
        return (await turn.answer(context.tool_call_id)).text

    # In sequence: the package would otherwise start all tools of a reply at once.
    return ai.Tool.from_schema(call, tool.name, tool.description, tool.schema, takes_ctx=True, sequential=True)
