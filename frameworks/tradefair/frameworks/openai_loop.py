"""The `openai_loop` framework: chat completions with the `openai` package and a loop of our own. The reference.

Ask, make the calls, show their answers, ask again, until the turn is over: what the other frameworks do as well, with
nothing around it. docs/how-to/frameworks.md shows how the others differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from openai import OpenAIError
from openai.types.chat import ChatCompletion

from tradefair.agents.model_calls import ModelReply
from tradefair.agents.prompt import load_prompt
from tradefair.agents.round_calls import Call
from tradefair.contract import Brief
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.chat_client import ChatClient, open_client
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.wire import read_arguments, resent_arguments
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import ShownTool, play_talks, required, shown_tools


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

        Empty when the model only spoke. Raises HarnessFailure for the provider's errors and for a body that is no
        completion.
        """
        self._client.asks()
        body = {**self._fields, "messages": self._messages}
        try:
            # Not `chat.completions.create`: it reads the types of every message again in each request.
            answer = await self._client.openai.post("/chat/completions", cast_to=ChatCompletion, body=body)
        except OpenAIError as error:
            raise self._client.failure(error) from error
        # A body that is not JSON at all.
        except ValueError as error:
            raise self._client.no_completion(str(error)) from error
        try:
            reply = _reply(answer, self._client.seconds)
            self._messages.append(_resent(answer, reply))
        except (AttributeError, IndexError, TypeError) as error:
            # The package checks nothing: plain text comes back as a string, and fields may be missing.
            raise self._client.no_completion(str(answer)) from error
        await self._turn.reply(reply)
        return list(reply.calls)


def _tool(tool: ShownTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _functions(answer: ChatCompletion) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    calls = answer.choices[0].message.tool_calls or ()
    return [
        (call.id or f"call-{index}", call.function.name, call.function.arguments)
        for index, call in enumerate(calls)
        if call.type == "function"
    ]


def _reply(answer: ChatCompletion, latency_s: float) -> ModelReply:
    message, usage = answer.choices[0].message, answer.usage
    details = usage.prompt_tokens_details if usage else None
    return ModelReply(
        text=message.content or message.refusal or "",
        calls=[Call(call_id, name, read_arguments(arguments)) for call_id, name, arguments in _functions(answer)],
        model=answer.model,
        input_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        cached_input_tokens=details.cached_tokens if details else None,
        estimated=bool((usage.model_extra or {}).get("usage_estimated")) if usage else False,
        latency_s=latency_s,
        finish_reason=answer.choices[0].finish_reason,
    )


def _resent(answer: ChatCompletion, reply: ModelReply) -> dict[str, Any]:
    """The reply as it stands in the history.

    With arguments that some endpoints would refuse replaced (`resent_arguments`).
    """
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": resent_arguments(arguments)}}
        for call_id, name, arguments in _functions(answer)
    ]
    return {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
