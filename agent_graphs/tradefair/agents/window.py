"""What of a round's messages a model is shown. A window is a view: the round keeps all of its messages.

A message with calls and the results of these calls come and go together, so that neither ever stands alone. System and
human messages always stay: the prompt, what was carried over, and every turn that was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import JsonValue

from tradefair.contract import ScenarioError
from tradefair.contract.policy import parse_policy

_SPELLINGS = "full_round, last_results(k=6) or cleared_results(k=6)"


@dataclass(frozen=True)
class Window:
    """A named view over the messages of a round; `label` is its name with its parameters."""

    # The label stands in the manifest, so a resumed run is shown the same.
    label: str
    view: Callable[[Sequence[AnyMessage]], Sequence[AnyMessage]]

    def __call__(self, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        """The messages that the model is shown."""
        return self.view(messages)


def last_results(k: int) -> Window:
    """The newest exchanges with at most `k` tool results between them, the newest one always; older ones are left out.

    Thoughts from before the oldest exchange that is shown are left out with it. `k` is at least 1.
    """
    return Window(f"last_results(k={k})", partial(_last, k=k))


def cleared_results(k: int) -> Window:
    """Every call, but of the results only the newest `k`; the others say how to get them again. `k` is at least 1."""
    return Window(f"cleared_results(k={k})", partial(_cleared, k=k))


def parse_window(text: str) -> Window:
    """A window from its text form; ScenarioError says what is allowed."""
    try:
        # Policies and windows share their form: `name(k=6)`.
        name, given = parse_policy(text)
    # What has no such form may still be the bare name of a window.
    except ScenarioError:
        name, given = text, {}
    if name == FULL_ROUND.label and not given:
        return FULL_ROUND
    make = {"last_results": last_results, "cleared_results": cleared_results}.get(name)
    k: JsonValue = given.get("k")
    # `True` is an int in Python, and would be a window of one result.
    if make is None or given.keys() != {"k"} or not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ScenarioError(f"{text!r} is not a window: write {_SPELLINGS}, k from 1 on")
    return make(k)


def _whole(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    return messages


FULL_ROUND = Window("full_round", _whole)
"""Everything since the round began."""


def _last(messages: Sequence[AnyMessage], k: int) -> Sequence[AnyMessage]:
    first = _oldest_shown(messages, k)
    # Nothing to leave out: the same list, so that no copy is made per request.
    if first == 0:
        return messages
    return [*(message for message in messages[:first] if _stays(message)), *messages[first:]]


def _stays(message: AnyMessage) -> bool:
    return isinstance(message, SystemMessage | HumanMessage)


def _oldest_shown(messages: Sequence[AnyMessage], k: int) -> int:
    """Where the oldest exchange that fits begins; 0 when all of them fit."""
    shown = results = 0
    # Backwards, because the newest results are kept.
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ToolMessage):
            results += 1
        elif isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            # The newest exchange is shown even when it alone has more than `k` results.
            if shown and results > k:
                return shown
            shown = index
    return 0


def _cleared(messages: Sequence[AnyMessage], k: int) -> Sequence[AnyMessage]:
    # `[:-k]`: all but the newest k; k is at least 1, so this is never everything.
    places = [index for index, message in enumerate(messages) if isinstance(message, ToolMessage)][:-k]
    if not places:
        return messages
    shown = list(messages)
    for place in places:
        shown[place] = _without_content(cast("ToolMessage", shown[place]))
    return shown


def _without_content(message: ToolMessage) -> ToolMessage:
    size = len(str(message.content))
    # How to get it again stands in place of the content: the call itself is still shown.
    words = f"(cleared: {size} characters; call {message.name or 'the tool'} again if you need them)"
    return message.model_copy(update={"content": words})
