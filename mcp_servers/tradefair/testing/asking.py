"""Puts questions to a Core as a seat would: every tool it is offered, with whatever arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson
from pydantic import JsonValue

from tradefair.contract import HarnessFailure, SeatId, Tool
from tradefair.contract.arguments import accepted_arguments
from tradefair.contract.chance import KeyPart
from tradefair.contract.kernel.core import Answer, Core
from tradefair.testing.bench import Bench
from tradefair.testing.questions import hostile_arguments, invent_arguments, words_in

# Texts that are remembered as ids and cursors: a market can show thousands, and made-up calls use a few.
_MAX_WORDS = 200


class Question(NamedTuple):
    """A call to make; `arguments` may be anything at all."""

    tool: str
    arguments: Any

    def __str__(self) -> str:
        return f"{self.tool}({repr(self.arguments)[:100]})"


class Seated:
    """One seat of a Core; remembers the words that it has read, to use them as ids and cursors.

    Answers' error codes are noted in `bench.codes`, where `errors_are_declared` looks for them.
    """

    def __init__(self, core: Core, seat: SeatId, bench: Bench) -> None:
        self.core = core
        self.seat = seat
        # Names of seats are what an action most often addresses.
        self.words: list[str] = list(core.market.seats)
        self._services = bench.services
        self._codes = bench.codes

    @property
    def tools(self) -> list[Tool]:
        """The offered tools that Core itself carries out and for which there are services, in the market's order.

        Recorded tools are left out: their results come from the host and not from the rules.
        """
        return [
            tool
            for tool in self.core.tools(self.seat).values()
            if not tool.recorded and (tool.needs is None or tool.needs in self._services)
        ]

    def ask(self, question: Question) -> Answer:
        """Make the call and note what it showed: ids for later questions, and the error code.

        Raises HarnessFailure when the market fails at it; a refusal is an answer like any other.
        """
        tool = self.core.tools(self.seat).get(question.tool)
        inputs = {} if tool is None else self._inputs(tool, question.arguments)
        answer = self.core.call(self.seat, question.tool, question.arguments, inputs=inputs).answer
        assert answer is not None
        if answer.status == "failed":
            raise HarnessFailure(f"{question} of {self.seat} failed: {answer.fault!r}") from answer.fault
        if answer.error is not None:
            self._codes.setdefault(answer.error.code, f"{question} of {self.seat}")
        if answer.body is not None and len(self.words) < _MAX_WORDS:
            self.words += [word for word in words_in(orjson.loads(answer.body)) if word not in self.words]
        return answer

    def readings(self, key: Sequence[KeyPart], *, times: int = 3) -> Iterator[Question]:
        """Every read and analysis tool: with its defaults first, then `times` times with made-up arguments.

        `key` names the place in the episode: the same key gives the same questions.
        """
        reads = [tool for tool in self.tools if tool.read_only]
        yield from (Question(tool.name, {}) for tool in reads)
        # The kernel's own tools are tested in the project; the author's market is what the kit is for.
        yield from self._invented([tool for tool in reads if tool.subject == "market"], key, times)

    def actions(self, key: Sequence[KeyPart], *, times: int = 3) -> Iterator[Question]:
        """Every action, `times` times with made-up arguments. `key` names the place in the episode."""
        yield from self._invented([tool for tool in self.tools if tool.kind == "action"], key, times)

    def nonsense(self) -> Iterator[Question]:
        """What is refused whatever the market: unknown tools, and every market tool with hostile arguments."""
        yield Question("no_such_tool", {})
        for tool in self.tools:
            if tool.subject == "market":
                yield from (
                    Question(tool.name, arguments) for arguments in hostile_arguments(tool) if _refused(tool, arguments)
                )

    def _invented(self, tools: Sequence[Tool], key: Sequence[KeyPart], times: int) -> Iterator[Question]:
        """Questions with arguments that fit the schemas; a tool without parameters is asked once."""
        for tool in tools:
            for number in range(times if tool.input_schema.get("properties") else 1):
                arguments = invent_arguments(tool, (self.seat, *key, number), self.words)
                if arguments is not None:
                    yield Question(tool.name, arguments)

    def _inputs(self, tool: Tool, arguments: object) -> dict[str, JsonValue]:
        """The answers of outside services that a call needs, as the host would fetch them before the call."""
        if tool.needs is None or tool.needs not in self._services:
            return {}
        given = accepted_arguments(arguments, tool)
        if given is None:
            return {}
        request = self.core.market_type.request(self.core.market, self.seat, tool.name, given)
        return {} if request is None else {request.source: self._services[request.source](request.payload)}


def _refused(tool: Tool, arguments: object) -> bool:
    """Whether Core refuses these arguments; where all of them may be left out, some nonsense is a valid call."""
    return accepted_arguments(arguments, tool) is None


def some_seats(core: Core, turn: int, most: int) -> list[SeatId]:
    """At most `most` seats, different ones at each `turn`, so that many turns reach every seat.

    Where the market has no more than `most` seats, all of them at each turn.
    """
    seats = list(core.market.seats)
    if len(seats) <= most:
        return seats
    return [seats[(turn * most + index) % len(seats)] for index in range(most)]
