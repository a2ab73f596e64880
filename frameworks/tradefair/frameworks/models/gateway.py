"""The gateway: asks a backend once per question, records, replays, injects faults, and tells of every call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from tradefair.frameworks.models.attempts import Attempts, Ticket
from tradefair.frameworks.models.backends import Backend
from tradefair.frameworks.models.canonical import Canonical, canonical
from tradefair.frameworks.models.fault_replies import fault_reply, refused
from tradefair.frameworks.models.faults import Fault, Faults
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.recording import Recorder
from tradefair.frameworks.models.reply import reason_of, usage_of
from tradefair.frameworks.models.wire import Answer, ChatRequest, RequestError, error_answer


@dataclass(frozen=True)
class ModelCall:
    """One request as the gateway saw it; retries are requests of their own.

    Tokens are None where the endpoint did not say; `latency_s` is in seconds, with injected stalls left out. `key` and
    `occurrence` name the question in a recording; `fault` is the injected one.
    """

    number: int
    seat: str | None
    model: str
    key: str
    occurrence: int
    status: int
    finish_reason: str | None
    fault: str | None
    retried: bool
    latency_s: float
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    usage_estimated: bool


OnCall: TypeAlias = Callable[[ModelCall], Awaitable[None] | None]
"""Told of every call before its answer is sent; may be a coroutine function."""


def noting(note: Callable[[dict[str, Any]], Awaitable[None]]) -> OnCall:
    """An `on_call` that notes what went wrong on the way: `{"kind": "endpoint_fault", …}` in `agent_events`.

    A call that went well leaves no such note: its `model_call` comes from the agent's own side.
    """

    async def on_call(call: ModelCall) -> None:
        if call.fault is None and call.status < 400:
            return
        told = {name: getattr(call, name) for name in ("model", "status", "fault", "retried", "latency_s")}
        await note({"kind": "endpoint_fault", "request": call.number, **told})

    return on_call


class Delivery(NamedTuple):
    """What is to be sent, how (`fault` is a stall or a drop), and the ticket to mark when it does not arrive."""

    answer: Answer
    fault: Fault | None
    ticket: Ticket


class _Question(NamedTuple):
    """A request on its way; `started` on the clock of `perf_counter`."""

    number: int
    request: ChatRequest
    asked: Canonical
    ticket: Ticket
    fault: Fault | None
    retried: bool
    started: float


class Gateway:
    """One backend behind one door. `options` are fields that a request has unless it says otherwise.

    A question is asked once however often its client repeats it; answers come in the order in which they are ready.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        seat: str | None = None,
        options: Mapping[str, Any] | None = None,
        recorder: Recorder | None = None,
        prompts: Prompts | None = None,
        faults: Faults | None = None,
        on_call: OnCall | None = None,
    ) -> None:
        self.model = backend.model
        self._backend = backend
        self._seat = seat
        self._options = dict(options or {})
        self._recorder = recorder
        self._prompts = prompts
        self._faults = faults or Faults()
        self._on_call = on_call
        # A recording that is appended to goes on with its occurrences, or a replay would find the first run's answers.
        self._attempts = Attempts(recorder.counts if recorder else None)
        # The event loop holds tasks weakly; without this set a running question could be collected.
        self._running: set[asyncio.Task[Answer]] = set()
        self._number = 0

    async def complete(self, request: ChatRequest, *, retried: bool = False) -> Delivery:
        """The answer to a request; `retried` when the client says that it asks again.

        Raises HarnessFailure when the call cannot be recorded, and what `on_call` raises.
        """
        started = perf_counter()
        # Every request has a number, retries too: schedules of faults are written in requests.
        self._number += 1
        fault, request = self._faults.at(self._number), self._with_options(request)
        # After the options were added: they decide the answer as much as what the client sent.
        asked = canonical(request.raw)
        ticket = self._attempts.take(asked.key, retried=retried)
        question = _Question(self._number, request, asked, ticket, fault, retried, started)
        # Not asked at all: the repeat after such a fault must be the question's first time at the backend.
        if fault is not None and fault.kind in ("429", "500"):
            answer = refused(fault)
            # Not every client says that it tries again; a lost answer makes the next equal request a repeat.
            ticket.lost = True
            self._record(question, answer)
        else:
            answer = await self._ask(question)
        # Told before the answer goes out, so that a note cannot arrive after the agent has gone on.
        await self._tell(question, answer)
        return Delivery(answer, fault, ticket)

    async def close(self) -> None:
        """Give up what is under way and close the recording; the backend is its opener's.

        Cancels the questions that are still running and waits for them, so that none writes into a closed file.
        """
        # Safe to iterate: a task leaves the set in a callback, which runs at the next await at the earliest.
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._recorder is not None:
            self._recorder.close()

    def _with_options(self, request: ChatRequest) -> ChatRequest:
        if not self._options:
            return request
        # The request's own fields win: a framework may set a field that the endpoint's options also name.
        return request.model_copy(update={"raw": {**self._options, **request.raw}})

    async def _ask(self, question: _Question) -> Answer:
        """The ticket's answer: the one there is, the one under way, or a new one."""
        ticket = question.ticket
        if ticket.task is None:
            ticket.task = asyncio.create_task(self._answer(question))
            self._running.add(ticket.task)
            ticket.task.add_done_callback(self._running.discard)
        # A client that gives up must not cancel the question: its retry gets the answer.
        answer = await asyncio.shield(ticket.task)
        # An error is no answer to keep: the client's retry asks again under the same ticket.
        if not answer.ok:
            ticket.task, ticket.lost = None, True
        return answer

    async def _answer(self, question: _Question) -> Answer:
        request, fault = question.request, question.fault
        # A fault is recorded as the reply that it was: a replay must meet it without a schedule.
        if fault is not None and fault.replaces:
            answer = fault_reply(fault, request, question.number)
        else:
            try:
                answer = await self._backend.answer(request, question.asked, question.ticket.occurrence)
            except RequestError as error:
                answer = error_answer(error.status, str(error), error.code, retry=False)
            except Exception as error:
                # A policy is not the agent's code: its fault ends the run, and must not look like the agent's.
                answer = error_answer(400, f"{self.model} failed: {error!r}"[:1_000], "harness_failure", retry=False)
        self._record(question, answer)
        return answer

    def _record(self, question: _Question, answer: Answer) -> None:
        _, request, asked, ticket, fault, _, started = question
        if self._prompts is not None:
            self._prompts.heard(request.raw, {"status": answer.status, "body": answer.body})
        if self._recorder is not None:
            # Latency is recorded and not replayed (docs/explanation/why/frameworks.md).
            self._recorder.add(asked, ticket.occurrence, answer, perf_counter() - started, fault and fault.kind)

    async def _tell(self, question: _Question, answer: Answer) -> None:
        if self._on_call is None:
            return
        number, _, asked, ticket, fault, retried, started = question
        # From the body and not from the backend: a fault's reply states its usage in the same form.
        usage = usage_of(answer.body)
        told = self._on_call(
            ModelCall(
                number=number,
                seat=self._seat,
                model=self.model,
                key=asked.key,
                occurrence=ticket.occurrence,
                status=answer.status,
                finish_reason=reason_of(answer.body),
                fault=fault and fault.kind,
                retried=retried,
                latency_s=round(perf_counter() - started, 4),
                input_tokens=usage.input_tokens,
                cached_input_tokens=usage.cached_input_tokens,
                output_tokens=usage.output_tokens,
                usage_estimated=usage.estimated,
            )
        )
        # `on_call` may be a plain function: tests and counters need no coroutine.
        if inspect.isawaitable(told):
            await told
