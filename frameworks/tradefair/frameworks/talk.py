"""Plays a seat with a framework that holds a conversation: one talk per market round, the same words for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from tradefair.agents.bridge import Bridge
from tradefair.agents.memory import Memory
from tradefair.agents.model_calls import ModelReply
from tradefair.agents.prompt import load_prompt
from tradefair.agents.round_calls import Call
from tradefair.agents.rounds import NextTurn, Note, RoundBudget, RoundEnd, RoundLimits, opening
from tradefair.contract import HarnessFailure, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.driver import play_rounds
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.reply import calls_in, reason_of, text_of, usage_of
from tradefair.frameworks.models.wire import Json
from tradefair.frameworks.seat_clock import SeatClock
from tradefair.frameworks.seat_round import SeatRound


class Talk(Protocol):
    """One round's conversation: it begins with the system prompt and no other message."""

    async def say(self, words: str) -> None:
        """Add a user message, unless `words` are "", and let the model act.

        Returns when a reply has no call or the `SeatRound` is finished; raises HarnessFailure.
        """
        ...


OpenTalk: TypeAlias = Callable[[SeatRound], Talk]
"""Opens the conversation of a round."""


class ShownTool(NamedTuple):
    """A tool as a model is told of it; `schema` is the server's JSON schema as it is.

    The schema is passed on unchanged, so that every framework shows the model the same tool.
    """

    name: str
    description: str
    schema: dict[str, Any]


def shown_tools(bridge: Bridge) -> list[ShownTool]:
    """The bridge's tools in the server's order. Waiting is the driver's: a model that waits would only pay for it."""
    return [
        ShownTool(name, tool.description or tool.title or name, tool.input_schema)
        for name, tool in bridge.tools.items()
        if name != "await_turn"
    ]


def required(model: ModelEndpoint | None, framework: str) -> ModelEndpoint:
    """The endpoint; HarnessFailure where there is none."""
    if model is None:
        raise HarnessFailure(f"the {framework} framework needs a model")
    return model


def model_reply(body: Json, latency_s: float) -> ModelReply:
    """A clean reply in plain values: what counts is what the endpoint said, not what a framework makes of it."""
    usage = usage_of(body)
    return ModelReply(
        text=text_of(body),
        calls=[Call(call.id, call.name, call.arguments, call.cut) for call in calls_in(body)],
        model=body["model"] or None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        estimated=usage.estimated,
        latency_s=latency_s,
        finish_reason=reason_of(body),
    )


class TalkPlayer:
    """A `RoundPlayer` that talks: a fresh conversation per round, so that its cost stays flat.

    What was done in earlier rounds reaches the next one as a record in its opening message (`agents.memory`).
    """

    def __init__(
        self, bridge: Bridge, open_talk: OpenTalk, limits: RoundLimits, next_turn: NextTurn, note: Note | None = None
    ) -> None:
        # One prompt for all frameworks that talk, and the react graph's: only the loop differs.
        self.prompt = load_prompt("react")
        self._bridge = bridge
        self._open_talk = open_talk
        # Kept between rounds: a round that goes on after a passed phase gets what is left, not a fresh budget.
        self._budget = RoundBudget(limits)
        self._next_turn = next_turn
        self._note = note
        # By calls that change something it knows which notes to read again.
        self._memory = Memory(bridge)

    async def play_round(self, view: TurnView) -> RoundEnd:
        """Play the round that `view` opens, or the rest of one. Raises HarnessFailure."""
        # The opening shows the turn; `words` are None when the round is over.
        words: str | None = opening(view, await self._memory.open_round(view.round))
        turn = SeatRound(self._bridge, self._budget.open(view), self._next_turn, self._note, view)
        talk = self._open_talk(turn)
        while words is not None:
            await talk.say(words)
            words = await turn.following()
        # Before the end is returned: the next round's opening reads this record.
        self._memory.close_round(view.round, turn.acts, turn.stop)
        end = turn.end()
        self._budget.spend(end)
        return end


async def play_talks(
    framework: str, open_talk: OpenTalk, bridge: Bridge, seat: SeatConnection, model: ModelEndpoint, limits: Limits
) -> SeatReport:
    """Play to the end of the episode; raises HarnessFailure.

    `open_talk` is called once per round, with its `SeatRound`.
    """
    clock = SeatClock(seat, bridge)
    bounds = RoundLimits(limits.calls_per_round, limits.tokens_per_round)
    player = TalkPlayer(bridge, open_talk, bounds, clock.next_turn, seat.note)
    report = SeatReport(framework, model.label, player.prompt.label)
    return await play_rounds(player, clock, bridge, seat, report)
