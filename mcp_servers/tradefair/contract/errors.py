"""Every error that tradefair raises on purpose, in one tree.

    TradefairError
    ├── IllegalAction      the rules refuse an action; the agent may try another one
    │   └── EpisodeOver    nothing can be done any more
    ├── SeatError          a credential or seat that does not fit (auth)
    ├── ScenarioError      a scenario, plan or data file is wrong (its author mends it)
    ├── TraceError         a trace is damaged, foreign or diverges (the auditor's concern)
    ├── StorageUnavailable the log could not be written; nothing was done, a repeat may succeed
    └── HarnessFailure     our fault or our provider's: never scored as the agent's mistake

A refusal that an agent can read has one shape everywhere: `ErrorInfo`.
"""

from __future__ import annotations

from typing import NamedTuple

SHARED_CODES: dict[str, str] = {
    "invalid_arguments": "an argument has the wrong type, is missing, unknown, too large or out of its constant bounds",
    "wrong_phase": "the action does not belong to the open phase",
    "already_acted": "the seat has already acted in this phase",
    "stale_round": "the call was meant for a round that is no longer open",
    "tool_unavailable": "the tool does not exist for this seat in this scenario",
    "call_limit": "the seat has used up a limit on its calls",
    "message_too_long": "a message exceeds the scenario's length limit",
    "key_reused": "a call key was used before with another tool or other arguments",
    "too_many_rows": "the answer would exceed its size bound; narrow the question",
    "unknown_id": "an id that does not exist",
    "insufficient_funds": "the seat cannot pay for the action",
    "episode_over": "the episode has ended",
    "storage_unavailable": "the log could not be written; nothing changed, try again",
    "busy": "the seat is running code, asks too much at once, or the host is going down; wait as the hint says",
    "notes_full": "the seat has as many notes as it may keep",
    "code_error": "the code given to execute_code failed",
    "code_limit": "the code given to execute_code reached one of its limits",
    "internal_error": "a fault of the server; nothing changed",
}


# In this order: a longer phrase before the shorter one in it, and "it should be" before what builds on it.
_VALIDATORS_WORDS = (
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    (", unable to interpret input", ""),
    ("Value error, ", ""),
    ("Input should be", "it should be"),
    ("a valid integer", "a whole number"),
    ("a valid number", "a number"),
    ("a valid boolean", "true or false"),
    ("a valid string", "text"),
    ("a valid list", "a list"),
    ("a valid array", "a list"),
    ("a valid dictionary", "a table"),
    ("it should be an object", "it should be a table"),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("greater than", "more than"),
)


def in_plain_words(message: str) -> str:
    """A validation library's message as a person would put it; for files and command lines, never for agents."""
    for theirs, ours in _VALIDATORS_WORDS:
        message = message.replace(theirs, ours)
    return message


class ErrorInfo(NamedTuple):
    """What a refused call answers, in results and in the trace alike; `hint` names the next useful call."""

    code: str
    message: str
    hint: str
    retryable: bool


INTERNAL_ERROR = ErrorInfo("internal_error", "the server failed; the call changed nothing", "try again or go on", True)
"""What agents and clients read of a fault of ours; the fault itself goes to the server's own log."""


class TradefairError(Exception):
    """Base of every error raised on purpose."""


class IllegalAction(TradefairError):
    """The rules refuse an action. Raised before anything has changed."""

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = True) -> None:
        super().__init__(f"{code}: {message}")
        # The same four fields in the answer, in the trace and in what a Python client raises.
        self.info = ErrorInfo(code, message, hint, retryable)


class EpisodeOver(IllegalAction):
    """The episode has ended: no further call can change anything."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "episode_over",
            f"the episode has ended ({reason})",
            hint="await_turn shows how it ended; stop here",
            retryable=False,
        )


class SeatError(TradefairError):
    """A credential, seat or scope that does not fit."""


class ScenarioError(TradefairError):
    """A scenario, plan or data file is wrong; the message names key, value and what is allowed."""


class TraceError(TradefairError):
    """A trace is damaged, of an unknown kind, or diverges from re-execution."""


class StorageUnavailable(TradefairError):
    """The log could not be written. The state is as it was before the call."""


class HarnessFailure(TradefairError):
    """A failure of the harness or of a provider, never the agent's mistake."""
