"""The `openai_loop` framework: chat completions with the `openai` package and a loop of our own. The reference.

Ask, make the calls, show their answers, ask again, until the turn is over: what the other frameworks do as well, with
nothing around it. docs/how-to/frameworks.md shows how the others differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tradefair.agents.prompt import load_prompt
from tradefair.agents.round_calls import Call
from tradefair.contract import Brief
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.client import ChatClient
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.reply import calls_in, text_of
from tradefair.frameworks.models.serving import open_client
from tradefair.frameworks.models.wire import Json, function_call, resent_arguments
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import ShownTool, model_reply, play_talks, required, shown_tools


class OpenAILoop:
    """A seat played by a loop over chat completions."""

    name = "openai_loop"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        endpoint = required(model, self.name)
        bridge = await open_bridge(seat)
        system = load_prompt("react").system(brief)
        async with open_client(self.name, endpoint) as client:
            open_talk = partial(CompletionsTalk, client, shown_tools(bridge), system)
            return await play_talks(self.name, open_talk, bridge, seat, endpoint, limits)


class CompletionsTalk:
    """A `Talk` over chat completions: one round's messages, as they go over the wire."""

    def __init__(self, client: ChatClient, tools: Sequence[ShownTool], system: str, turn: SeatRound) -> None:
        self._client = client
        self._fields = {**client.fields, "model": client.model, "tools": list(map(_tool, tools))}
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        self._turn = turn

    async def say(self, words: str) -> None:
        """As `Talk.say`."""
        if words:
            self._messages.append({"role": "user", "content": words})
        while calls := await self._ask():
            # The reply reached a limit: its calls are refused by `SeatRound`, and the talk is over.
            if self._turn.finished:
                return
            for call in calls:
                # By id and in order; the first of them makes the calls of the whole reply.
                outcome = await self._turn.answer(call.id)
                self._messages.append({"role": "tool", "tool_call_id": call.id, "content": outcome.text})
            if self._turn.finished:
                return

    async def _ask(self) -> list[Call]:
        """One request; the calls of the reply.

        Empty when the model only spoke. Raises HarnessFailure for the provider's errors.
        """
        body = await self._client.ask({**self._fields, "messages": self._messages})
        self._messages.append(_resent(body))
        reply = model_reply(body, self._client.seconds)
        await self._turn.reply(reply)
        return list(reply.calls)


def _tool(tool: ShownTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _resent(body: Json) -> Json:
    """The reply as it stands in the history, without arguments that some endpoints would refuse."""
    calls = [function_call(call.id, call.name, resent_arguments(call.text)) for call in calls_in(body)]
    return {"role": "assistant", "content": text_of(body), **({"tool_calls": calls} if calls else {})}
