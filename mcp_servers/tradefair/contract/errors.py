"""Every error that tradefair raises on purpose, in one tree.

    TradefairError
    ├── IllegalAction      the rules refuse an action; the agent may try another one
    │   └── EpisodeOver    nothing can be done any more
    ├── SeatError          a credential or seat that does not fit (auth)
    ├── ScenarioError      a scenario, plan or data file is wrong (its author mends it)
    ├── TraceError         a trace is damaged, foreign or diverges (the auditor's concern)
    │   └── Divergence     re-execution gives other bytes
    ├── StorageUnavailable the log could not be written; nothing was done, a repeat may succeed
    └── HarnessFailure     our fault or our provider's: never scored as the agent's mistake

A refusal that an agent can read has one shape everywhere: `ErrorInfo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from tradefair.contract.text import clean_line

SHARED_CODES: dict[str, str] = {
    "invalid_arguments": "an argument has the wrong type, is missing, unknown, too large or out of its constant bounds",
    "bad_value": "the tool's schema allows it, its rules do not: repeated, unseen signs, too many decimals, too large",
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
    "code_lost": "the host was restarted while the code ran",
    "internal_error": "a fault of the server; nothing changed",
}


# In this order: a longer phrase before the shorter one in it, and "it should be" before what builds on it.
_VALIDATORS_WORDS = (
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    (", unable to interpret input", ""),
    ("Value error, ", ""),
    ("Tuple should have", "it should have"),
    ("List should have", "it should have"),
    (" after validation", ""),
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


def needs_extra(what: str, extra: str, others: str = "") -> str:
    """`WHAT needs an extra: pip install 'tradefair[{extra}]'`; `others` are packages of third parties on the same line.

    Every extra of ours is asked for in these words, so that the line can be copied wherever it is missing.
    """
    return f"{what} needs an extra: pip install 'tradefair[{extra}]'{others and ' ' + others}"


MAX_UNKNOWN = 160
"""Characters of a message about a wrong name."""

_LISTED_BY = {
    "market": "tradefair show markets",
    "scenario": "tradefair show scenarios",
    "plan": "tradefair show plans",
    "policy": "tradefair show policies {of}",
    "tool": "tradefair show tools {of}",
    "export format": "tradefair export --help",
    "command": "tradefair {of}--help",
}


def unknown(what: str, given: str, known: Iterable[str], *, of: str = "") -> str:
    """`there is no WHAT 'GIVEN'; did you mean NAME or NAME? all: …`: up to three similar names, then the place of all.

    One line of at most `MAX_UNKNOWN` characters, whatever the names hold. The place is a command; for kinds of names
    that no command lists, and where nothing is similar, as many of the names as fit. `of` is the market of a policy
    or tool, or a group of commands: part of the command.
    """
    # Names may come from a trace or from a pasted line: both are hostile.
    names = [name for name in (clean_line(name)[:40].rstrip() for name in known) if name]
    listing = f"`{_LISTED_BY[what].format(of=of)}`" if what in _LISTED_BY else ""
    near = _near(clean_line(given)[:80], names)
    message = f"there is no {what} '{clean_line(given)[:40]}'; "
    if near:
        # Fewer of them where three are too long: the place of all names must stay.
        while len(near) > 1 and len(message) + len(" or ".join(near)) + len(listing) > MAX_UNKNOWN - 30:
            near.pop()
        message += f"did you mean {' or '.join(near)}? all: "
        return message + (listing or _first(names, MAX_UNKNOWN - len(message)))
    end = f" … all: {listing}" if listing else ""
    shown = _first(names, MAX_UNKNOWN - len(message) - len("there are ") - len(end))
    return f"{message}there are {shown}{end}"


def _first(names: Sequence[str], room: int) -> str:
    """As many names as fit into `room` characters; a sign for the others."""
    listed = ", ".join(names) or "none"
    if len(listed) <= room:
        return listed
    more = f" … {len(names)} in all"
    # Where no name fits the sign stands alone.
    return (listed[: max(room - len(more), 0)].rpartition(",")[0].rstrip() + more).lstrip()


def _near(name: str, known: Sequence[str]) -> list[str]:
    """Up to three of the known names that are like `name`: the most similar first, then in the order of `known`."""
    # Imported here: it costs every start a millisecond, and few names are wrong.
    from difflib import SequenceMatcher

    def like(last: str, ends: Mapping[str, str]) -> list[str]:
        ratios = {end: SequenceMatcher(None, end.casefold(), last.casefold()).ratio() for end in ends}
        near = [end for end in ends if ratios[end] >= 0.5]
        # Of equals the one with the same letters: two swapped keys are the commonest slip.
        near.sort(key=lambda end: (-ratios[end], sorted(end) != sorted(last)))
        return [ends[end] for end in near[:3]]

    # The market in front of a preset would make all of its presets alike: what follows it is compared.
    market, _, last = name.rpartition("/")
    presets = {full.removeprefix(f"{market}/"): full for full in known if full.rpartition("/")[0] == market}
    # The whole name too: the market itself may be the part that was mistyped.
    return like(last, presets) or like(name, {full: full for full in known})


class ErrorInfo(NamedTuple):
    """What a refused call answers, in results and in the trace alike; `hint` names the next useful call."""

    code: str
    message: str
    hint: str
    retryable: bool


INTERNAL_ERROR = ErrorInfo("internal_error", "the server failed; the call changed nothing", "try again or go on", True)
"""What agents and clients read of a fault of ours; the fault itself goes to the server's own log."""

NO_STORAGE = ErrorInfo("storage_unavailable", "the log could not be written; nothing has changed", "call again", True)
"""Never an event: there is no log to write it to."""

MAX_CALL_KEY = 128
"""Characters of a call key; a UUID has 36."""

BUSY = ErrorInfo("busy", "your code is still running", "wait for the answer of execute_code", True)
NO_CODE = ErrorInfo("tool_unavailable", "this server runs no code", "call the read tools one by one", False)
KEY_REUSED = ErrorInfo("key_reused", "this call key belongs to another call", "use a fresh key for a new call", False)
BAD_KEY = ErrorInfo("invalid_arguments", f"a call key has 1 to {MAX_CALL_KEY} printable characters", "use a UUID", True)

HOST_REFUSALS: tuple[ErrorInfo, ...] = (BUSY, NO_CODE, KEY_REUSED, BAD_KEY, INTERNAL_ERROR)
"""With `no_service`, every refusal that a host can write into a log in place of the rules.

`Core.refuse` takes no other, and so a log that holds another diverges.
"""


def no_service(source: str) -> ErrorInfo:
    """The refusal of a call that needs an outside service which gives no answer."""
    return ErrorInfo(f"{source}_unavailable", f"the service {source} gives no answer", "try again later", True)


MAX_TEXT_BYTES = 2_048
"""Bytes of a message or hint that quotes a program: it could raise an exception of megabytes."""

# What a field of a template may be filled with. A number as Python's `g` writes it: 2, 0.5, 1e+06.
_FIELDS = {"number": r"[0-9]{1,12}(?:\.[0-9]{1,6})?(?:e[+-][0-9]{2})?", "text": r".*"}


class Template(NamedTuple):
    """An `ErrorInfo` with parts that vary: `{number}`, and `{text}` of at most `MAX_TEXT_BYTES` bytes."""

    code: str
    message: str
    hint: str = ""
    retryable: bool = True

    def filled(self, **fields: object) -> ErrorInfo:
        """The error with its fields filled in; numbers as the format `g` shows them."""
        shown = {name: f"{value:g}" if isinstance(value, float) else value for name, value in fields.items()}
        return ErrorInfo(self.code, self.message.format(**shown), self.hint.format(**shown), self.retryable)

    def fits(self, error: ErrorInfo) -> bool:
        """Whether `error` is this template with its fields filled in. Never raises, whatever the error holds."""
        fixed = error.code == self.code and error.retryable is self.retryable
        return fixed and fits(self.message, error.message) and fits(self.hint, error.hint)


def fits(template: str, text: object) -> bool:
    """Whether a text is the template with its fields filled in."""
    return (
        isinstance(text, str)
        and len(text.encode(errors="replace")) <= len(template) + MAX_TEXT_BYTES
        and (_pattern(template).fullmatch(text) is not None)
    )


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{([a-z]+)\}", template)
    # Fixed text and names of fields take turns.
    return re.compile("".join(_FIELDS[part] if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.DOTALL)


CODE_LOST = ErrorInfo(
    "code_lost", "the host was restarted while your program ran; nothing of it was kept", "run it again", True
)

CODE_ERRORS: Mapping[str, Template] = {
    "time": Template(
        "code_limit", "the code ran longer than {number} s", "do less in one run, or split it over several"
    ),
    "memory": Template(
        "code_limit",
        "the code needed more than {number} MiB",
        "keep fewer and smaller values; work through the data in parts",
    ),
    "recursion": Template(
        "code_limit", "functions nested deeper than {number} calls", "use a loop instead of recursion"
    ),
    "calls": Template(
        "code_limit",
        "the code made more than {number} tool calls",
        "ask for more with each call, keep answers in variables, or split the work over several runs",
    ),
    "lookups": Template(
        "code_limit", "the code left the sandbox too often", "do not look unknown names or files up in a loop"
    ),
    "output": Template("code_limit", "the code printed more than {number} bytes", "print a summary"),
    "value": Template(
        "code_limit",
        "the value of the last expression takes more than {number} bytes",
        "end with a summary, or with None",
    ),
    "code": Template("code_limit", "the code is longer than {number} characters", "send a shorter program"),
    # What a program raises, or is refused for, quotes the program.
    "raised": Template("code_error", "{text}", "{text}"),
    "no_worker": Template("busy", "too many programs are running", "call execute_code again in a moment"),
    "lost": Template(*CODE_LOST),
    "fault": Template(*INTERNAL_ERROR),
}
"""Every error that a program can end with. `Core.finish` takes no other, and so a log that holds another diverges."""


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


class Divergence(TraceError):
    """Re-execution gives other bytes than the trace holds, from event `seq` on; 0 is the manifest's core.

    `in_log` and `re_executed` are the bytes of the event; for a field of the core, JSON of both values.
    """

    def __init__(self, seq: int, reason: str, *, in_log: bytes = b"", re_executed: bytes = b"") -> None:
        super().__init__(f"event {seq}: {reason}" if seq else f"the core: {reason}")
        self.seq = seq
        self.reason = reason
        self.in_log = in_log
        self.re_executed = re_executed


class StorageUnavailable(TradefairError):
    """The log could not be written. The state is as it was before the call."""


class HarnessFailure(TradefairError):
    """A failure of the harness or of a provider, never the agent's mistake."""
