"""A person's word before actions are made, through langgraph's `interrupt`."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt, interrupt

from tradefair.agents.bridge import Bridge
from tradefair.agents.options import Approve
from tradefair.agents.round_calls import Call
from tradefair.agents.rounds import Note
from tradefair.agents.tool_node import calls_of
from tradefair.contract import HarnessFailure, TurnView

# An approver may say no by False alone; the model is told at least that.
_NO_REASON = "no reason given"


def ask_person(bridge: Bridge, message: AIMessage, budget: int) -> list[str | None]:
    """Per call of `message` the reason why it was declined, None where it may be made.

    Interrupts the graph, unless every call only reads, is malformed or lies beyond the budget: no person is asked then.
    """
    calls = calls_of(message)
    # Beyond the budget a call is refused anyway: a person should not decide about what cannot happen.
    asked = [index for index, call in enumerate(calls[:budget]) if _needs_a_word(bridge, call)]
    if not asked:
        return []
    # Raises out of the node; on resuming, the node runs again and `interrupt` returns the answers.
    answers: list[str | None] = interrupt([calls[index]._asdict() for index in asked])
    declined: list[str | None] = [None] * len(calls)
    for index, answer in zip(asked, answers, strict=True):
        declined[index] = answer
    return declined


def _needs_a_word(bridge: Bridge, call: Call) -> bool:
    """Whether a person must agree: malformed calls are never made, and reads change nothing."""
    return call.arguments is not None and not bridge.read_only(call.tool)


class _Copies:
    """Keeps states as pickled copies: they never leave the process, and every type of any graph's state comes back."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """A copy of a value."""
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a copy that was made here."""
        return pickle.loads(data[1])


class Approvals:
    """Carries the questions of interrupted graphs to a person and the answers back; notes each of them.

    Its checkpointer is in memory and forgets each round at its end: the market's log is what resumes an episode.
    """

    def __init__(self, approve: Approve, note: Note | None) -> None:
        self.checkpointer = InMemorySaver(serde=_Copies())
        self._approve = approve
        self._note = note

    async def run(self, graph: Any, start: Any, config: Mapping[str, Any], context: Any) -> Any:
        """Invoke a graph that was compiled with `checkpointer`; its final state. Raises HarnessFailure."""
        # One thread for all rounds, since it is deleted after each.
        thread = "round"
        settings = {**config, "configurable": {"thread_id": thread}}
        try:
            state = await graph.ainvoke(start, settings, context=context)
            # A round may be interrupted several times, once per message with actions.
            while "__interrupt__" in state:
                answers = await self._ask(state["__interrupt__"][0], state["view"])
                state = await graph.ainvoke(Command(resume=answers), settings, context=context)
            return state
        finally:
            # Also after a failure: the next round must not find the state of this one.
            await self.checkpointer.adelete_thread(thread)

    async def _ask(self, question: Interrupt, view: TurnView) -> list[str | None]:
        asked = cast("list[dict[str, Any]]", question.value)
        calls = [Call(**fields) for fields in asked]
        answers = await self._approve(calls)
        # An approver is a caller's code; a wrong number of answers would shift decisions to other calls.
        if len(answers) != len(calls):
            raise HarnessFailure(f"the approver gave {len(answers)} answers to {len(calls)} calls: one for each is due")
        # Anything but True declines: an approver that returns None by mistake must not approve.
        declined = [None if answer is True else str(answer or _NO_REASON) for answer in answers]
        await self._note_all(view, calls, declined)
        return declined

    async def _note_all(self, view: TurnView, calls: Sequence[Call], declined: Sequence[str | None]) -> None:
        """Note each decision for `agent_events`, approved or not."""
        if self._note is None:
            return
        for call, reason in zip(calls, declined, strict=True):
            note = {"kind": "approval", "round": view.round, "phase": view.phase, "call": call.id, "tool": call.tool}
            await self._note({**note, "approved": reason is None, "reason": reason})
