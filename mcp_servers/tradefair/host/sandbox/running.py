"""`execute_code`: an agent's Python program over its own read tools, on pydantic-monty.

    sandbox = Sandbox()                                     one per process, shared by episodes
    report = sandbox.run(code, constants=…, tools={"view_turn": ToolSignature(())}, call=inner_call, seed=7)

Programs run in worker processes without files, network, clock or entropy: `datetime.now()` is midnight of the market's
day, `random` starts from `seed`. The same program, answers and seed give the same report, except that a time limit
depends on the machine. `run` blocks: call it from a worker thread. Only the library's synchronous pool is used; its
asynchronous one can abort the interpreter at exit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import JsonValue

from tradefair.contract import ErrorInfo, HarnessFailure, Tool
from tradefair.contract.arguments import MAX_ARGUMENT_BYTES
from tradefair.contract.errors import CODE_ERRORS
from tradefair.host.sandbox.errors import CodeLimits, cut, explain_failure, limit_reached
from tradefair.host.sandbox.lint import CodeRefused, Prepared, prepare
from tradefair.host.sandbox.modules import module_source
from tradefair.host.sandbox.values import ForeignValue, TooLarge, plain_data

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, Monty, MontySession, SyncSnapshot

_EPOCH = datetime(2000, 1, 1)  # what round 0 is for a program that asks for today's date
_LAST_DAY = 2_000_000  # days from the epoch; datetime ends in the year 9999
_GRACE_S = 0.5  # what the library may take to notice that the time is up
_WAIT_FOR_WORKER_S = 60.0
_RUNS_PER_WORKER = 500  # then it is replaced, so that no leak of the interpreter grows without bound
# Looking an unknown name up suspends the program as a call does: this many on top of the allowed calls.
_SPARE_LOOKUPS = 300
_ATTEMPTS = 3


class CodeReport(NamedTuple):
    """What a program printed, the value of its last expression as plain JSON data, and the error that ended it."""

    output: str
    value: JsonValue
    error: ErrorInfo | None
    inner_calls: int


class ToolSignature(NamedTuple):
    """A tool as a plain function: its parameters in the order in which positional arguments fill them."""

    parameters: tuple[str, ...]

    @classmethod
    def of(cls, tool: Tool) -> ToolSignature:
        """The signature of a declared tool."""
        return cls(tuple(tool.parameters.model_fields))


class InnerAnswer(NamedTuple):
    """The answer to a tool call inside a program: its result, or the refusal that is raised there."""

    data: JsonValue = None
    error: ErrorInfo | None = None


InnerCall = Callable[[str, dict[str, JsonValue]], InnerAnswer]


class Sandbox:
    """A pool of worker processes, started at the first run. Safe to use from several threads."""

    def __init__(self, limits: CodeLimits | None = None, workers: int = 1) -> None:
        self.limits = limits or CodeLimits()
        self._workers = workers
        self._lock = threading.Lock()
        self._pool: Monty | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers. A later run starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def run(
        self,
        code: str,
        *,
        constants: Mapping[str, JsonValue],
        tools: Mapping[str, ToolSignature],
        call: InnerCall,
        seed: int,
        day: int = 0,
    ) -> CodeReport:
        """Run one program to its end. Blocks for at most `limits.seconds` of its computing, plus its tool calls.

        `call` answers each tool call, in this thread, one at a time; an exception of it ends the run and is raised
        here. `seed` must be something that the seat may know, never the episode's: a program can find it out. What the
        program does wrong is in the report: code_error, code_limit, busy (no worker came free). Raises HarnessFailure
        when the workers cannot be started.
        """
        # Before the code is read at all: the reader below takes time in proportion to its length.
        if len(code) > self.limits.code_chars:
            return CodeReport("", None, limit_reached("code", self.limits), 0)
        try:
            prepared = prepare(code, tools)
        except CodeRefused as refused:
            return CodeReport("", None, refused.info, 0)
        run = _Run(self.limits, tools, call)
        with ExitStack() as stack:
            session = self._enter(stack, seed, day)
            if session is None:
                return CodeReport("", None, CODE_ERRORS["no_worker"].filled(), 0)
            return run.report(session, prepared, constants)

    def _enter(self, stack: ExitStack, seed: int, day: int) -> MontySession | None:
        """A fresh session; None when no worker came free in time."""
        from pydantic_monty import MontyError

        for _ in range(_ATTEMPTS):
            try:
                return stack.enter_context(self._checkout(seed, day))
            except TimeoutError:
                return None
            except MontyError:
                continue  # the worker died while it was idle; the pool starts another
        raise HarnessFailure("the code sandbox loses its workers before they run anything")

    def _checkout(self, seed: int, day: int) -> MontySession:
        limits = self.limits
        return self._started().checkout(
            limits={
                "max_feed_duration_secs": limits.seconds,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion,
                "max_suspensions": limits.inner_calls + _SPARE_LOOKUPS,
            },
            # No clock and no entropy: the same program must give the same report when the trace is checked.
            os_policy={
                "datetime": _EPOCH + timedelta(days=min(max(day, 0), _LAST_DAY)),
                "sleep": "zero",
                "process_time": "zero",
                "random_start": {"seed": seed},
            },
        )

    def _started(self) -> Monty:
        from pydantic_monty import Monty

        # Locked: two first programs must not start two pools, of which one would never be closed.
        with self._lock:
            if self._pool is None:
                try:
                    self._pool = Monty(
                        min_processes=1,
                        max_processes=self._workers,
                        checkout_timeout=_WAIT_FOR_WORKER_S,
                        request_timeout=self.limits.seconds + 2 * _GRACE_S,
                        max_checkouts_per_worker=_RUNS_PER_WORKER,
                        feed_duration_limit_grace=_GRACE_S,
                    ).__enter__()
                except Exception as error:
                    raise HarnessFailure("the code sandbox cannot start; reinstall pydantic-monty") from error
            return self._pool


class _Stopped(Exception):
    """Ends a program from outside. The program cannot catch it, because it is never raised inside."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.code)
        self.info = info


class _OutputFull(Exception):
    """Raised into the library's print callback."""


class _Output:
    """Collects what a program prints, up to `max_bytes` bytes of UTF-8."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._pieces: list[str] = []
        self.full = False

    def write(self, _stream: str, text: str) -> None:
        """The print callback."""
        raw = text.encode(errors="replace")
        if len(raw) > self._left:
            raw = raw[: self._left]
            self.full = True
        self._left -= len(raw)
        self._pieces.append(raw.decode(errors="ignore"))
        if self.full:
            self._left = 0
            raise _OutputFull("output full")

    def text(self) -> str:
        return "".join(self._pieces)


class _Run:
    """One program in one session, which nothing else ever uses."""

    def __init__(self, limits: CodeLimits, tools: Mapping[str, ToolSignature], call: InnerCall) -> None:
        self._limits = limits
        self._tools = tools
        self._call = call
        self._output = _Output(limits.output_bytes)
        self._inner_calls = 0

    def report(self, session: MontySession, program: Prepared, constants: Mapping[str, JsonValue]) -> CodeReport:
        """Run the modules that the program imports, then the program."""
        from pydantic_monty import MontyError

        value: JsonValue = None
        error: ErrorInfo | None = None
        try:
            for module in program.modules:
                session.feed_run(module_source(module))
            value = self._plain(self._drive(session, program.source, {**constants, **self._functions()}))
        except _Stopped as stopped:
            error = stopped.info
        except MontyError as failure:
            error = explain_failure(failure, self._limits, len(program.modules), tuple(self._tools))
        # The program may have caught the exception of a full output and gone on: it counts all the same.
        if self._output.full:
            value, error = None, limit_reached("output", self._limits)
        return CodeReport(self._output.text(), value, error, self._inner_calls)

    def _functions(self) -> dict[str, Callable[[], None]]:
        """Stand-ins for the tools. The library reads only their names: each call comes back to `_answer`."""
        return {name: _stand_in(name) for name in self._tools}

    def _drive(self, session: MontySession, source: str, inputs: dict[str, Any]) -> object:
        from pydantic_monty import MontyComplete

        snapshot: SyncSnapshot = session.feed_start(source, inputs=inputs, print_callback=self._output.write)
        while not isinstance(snapshot, MontyComplete):
            snapshot = self._answer(snapshot)
        return snapshot.output

    def _answer(self, snapshot: SyncSnapshot) -> SyncSnapshot:
        from pydantic_monty import FunctionSnapshot, NameLookupSnapshot

        if isinstance(snapshot, NameLookupSnapshot):
            return snapshot.resume()
        if not isinstance(snapshot, FunctionSnapshot):
            raise _Stopped(_unsupported())
        # Files, network, processes: the library then raises in the program what an empty system would.
        if snapshot.is_os_function:
            return snapshot.resume_not_handled()
        name = str(snapshot.function_name)
        signature = self._tools.get(name)
        if signature is None:
            return snapshot.resume({"exc_type": "NameError", "message": f"name '{name[:40]}' is not defined"})
        answer = self._inner(name, signature, snapshot)
        if answer.error is None:
            return snapshot.resume({"return_value": answer.data})
        return snapshot.resume({"exc_type": "RuntimeError", "message": _refusal(answer.error)})

    def _inner(self, name: str, signature: ToolSignature, snapshot: FunctionSnapshot) -> InnerAnswer:
        # Not an exception that the program could catch: it would go on calling.
        if self._inner_calls >= self._limits.inner_calls:
            raise _Stopped(limit_reached("calls", self._limits))
        self._inner_calls += 1
        try:
            arguments = _bind(signature, snapshot.args, snapshot.kwargs)
        except (ForeignValue, TooLarge) as bad:
            takes = ", ".join(signature.parameters) or "no parameters"
            return InnerAnswer(error=ErrorInfo("invalid_arguments", str(bad), f"{name} takes {takes}", True))
        return self._call(name, arguments)

    def _plain(self, value: object) -> JsonValue:
        try:
            return plain_data(value, self._limits.output_bytes)
        except TooLarge:
            raise _Stopped(limit_reached("value", self._limits)) from None
        except ForeignValue as foreign:
            raise _Stopped(_not_plain(str(foreign))) from None


def _stand_in(name: str) -> Callable[[], None]:
    def function() -> None:
        raise HarnessFailure("tool calls are answered by the host")

    function.__name__ = name
    return function


def _bind(signature: ToolSignature, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, JsonValue]:
    """Arguments by name, as plain data. Raises ForeignValue and TooLarge."""
    if len(args) > len(signature.parameters):
        raise ForeignValue(f"{len(args)} positional arguments given")
    given: dict[str, object] = dict(zip(signature.parameters, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise ForeignValue(f"{name[:40]} given twice")
        given[name] = value
    return cast("dict[str, JsonValue]", plain_data(given, MAX_ARGUMENT_BYTES))


def _refusal(error: ErrorInfo) -> str:
    """`code: message. hint`, the text of the exception that the program sees."""
    text = f"{error.code}: {error.message.rstrip('.')}." + (f" {error.hint}" if error.hint else "")
    return cut(text)


def _not_plain(what: str) -> ErrorInfo:
    message = cut(f"the value of the last expression is no plain data: {what}")
    return ErrorInfo("code_error", message, "print what you need, or end with numbers, text, lists, dictionaries", True)


def _unsupported() -> ErrorInfo:
    return ErrorInfo("code_error", "the code waits for something that never comes", "call tools without await", True)
