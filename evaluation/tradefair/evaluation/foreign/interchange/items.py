"""What a reader yields: calls, answers, what was said, facts about runs, and what could not be used.

A reader only reads. Which call an answer belongs to, what became of it and what a tool does is decided once, in
`foreign`. `run` is the source's own name of the run, `seat` the source's own name of who acts ("" where it has none),
`key` what ties an answer to its call within the run, `step` the ordinal from 1 of the message, span or record in its
run; 0 where only the order of times tells, and then items are numbered in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class Call(NamedTuple):
    """A tool call. `arguments` are as the source has them: an object, or its text. `parent` is a key of the run.

    `round` where the source has rounds (our own exports): the first call of a later one closes the round before.
    """

    run: str
    seat: str
    key: str
    tool: str
    arguments: Any
    step: int
    at_ns: int | None = None
    parent: str | None = None
    kind: str | None = None
    round: int | None = None


class Answer(NamedTuple):
    """The answer to the call `key`; `error` is None, True, a text or an object {code, message} where it failed.

    `status` is one of ours where the source has it (our own exports), and then the error's object is kept as it is;
    "withdrawn" where the call is to be asked once more and is none itself (`InputRequiredResult`). `error` False: the
    format says that there is none, so the result's text is not looked at.
    """

    run: str
    key: str
    result: Any
    error: Any = None
    step: int = 0
    at_ns: int | None = None
    status: str | None = None
    round: int | None = None


EVERYBODY = "*"
"""The seat of what was said to all seats, as a public result is: its event has no seat."""


class Said(NamedTuple):
    """A message; roles and parts as in `contract.kernel.event.Message`. `media` is {media_type, size, digest}."""

    run: str
    seat: str
    role: str
    part: str
    content: Any
    step: int
    at_ns: int | None = None
    name: str | None = None


class Fact(NamedTuple):
    """Something about a run or one of its seats.

    `tools` (list of {name, description, schema, readOnlyHint, destructiveHint}), `agent` (label), `role` (agent,
    subagent, user), `model`, `tokens` ({input, output, …} of one call of a model), `usd`, `stop`, `passed` (true,
    false), `title`, `reference` ({actions, outputs}), `round` (later items belong to it).
    """

    run: str
    seat: str | None
    name: str
    value: Any


class Odd(NamedTuple):
    """Something that could not be used. `line` counts from 1; in a document 0, and `field` says where."""

    line: int
    field: str
    message: str


class Tallied(NamedTuple):
    """Records that went by: `records` met, `understood` of them used, what was left out by name and count."""

    records: int = 0
    understood: int = 0
    left_out: tuple[tuple[str, int], ...] = ()


Item: TypeAlias = Call | Answer | Said | Fact | Odd | Tallied
