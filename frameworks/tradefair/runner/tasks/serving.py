"""What `tradefair host --tasks` adds to the control plane of a host: tasks, and the score of what was played.

    GET /tasks                       -> splits
    GET /tasks/{split}[?start=&limit=]  -> tasks
    GET /tasks/{split}/{index}       -> one task, with what to tell a model first
    GET /episodes/{id}/outcome[?end=true][&verify=true][&ledger=true][&seats=all]  -> the score
    GET /episodes/{id}/ledger[?seat=&turns=]  -> what each turn of a seat lost

Behind the same door as all of the control plane: its token decides, and no agent may have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import Response

from tradefair.catalog import Tier, load_scenario, market_type
from tradefair.contract import EpisodeOver, SeatError, TraceError
from tradefair.contract.errors import ErrorInfo
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.judge.reward import SCORE_RANGE
from tradefair.host.doors.control import ControlRefused, Handler
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.orders import Mark, Order
from tradefair.runner.ledger.ledger import TURNS, ledger_of
from tradefair.runner.ledger.replays import NotReplayed
from tradefair.runner.tasks.scoring import scale_of, score_file
from tradefair.runner.tasks.tasks import Choice, Split, Task, Tasks
from tradefair.tracestore import open_trace

CALLS: Mapping[Tier, tuple[int, int] | None] = {"first": (3, 10), "short": (11, 300), "full": None}
"""Calls of a competent seat in an episode of a tier, from and to; None: more, as many as the market takes."""
MOST_LISTED = 1_000
# Outcomes are worked out in threads of one process, and episodes play on meanwhile.
_AT_ONCE = 4
_SEALED_WITHIN_S = 10.0
_EPISODE = re.compile(r"[0-9a-f]{12}")
_YES = {"true": True, "false": False}


class EnvExtension:
    """Tasks and outcomes, as routes of a host's control plane (`ControlExtension`)."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._scaled: dict[Choice, bool] = {}
        self._threads = anyio.CapacityLimiter(_AT_ONCE)
        # A ledger plays for seconds: one at a time, so that outcomes do not wait for several.
        self._replaying = anyio.CapacityLimiter(1)

    def order(self, task: str) -> Order:
        """The order of a task. Raises SeatError for an unknown one."""
        return self._tasks.task(task).order

    def routes(self, host: Host) -> Sequence[tuple[str, str, Handler]]:
        """Path, method and handler of each."""

        async def outcome(request: Request) -> Response:
            return await self._outcome(host, request)

        async def ledger(request: Request) -> Response:
            return await self._ledger(host, request)

        return (
            ("/tasks", "GET", self._splits),
            ("/tasks/{split}", "GET", self._split),
            ("/tasks/{split}/{index}", "GET", self._task),
            ("/episodes/{episode}/outcome", "GET", outcome),
            ("/episodes/{episode}/ledger", "GET", ledger),
        )

    # --- tasks ------------------------------------------------------------------------------------------------------

    async def _splits(self, request: Request) -> Response:
        _asked(request)
        return _json({"splits": [_described(split) for split in self._tasks.splits.values()]})

    async def _split(self, request: Request) -> Response:
        asked = _asked(request, start=_number(0, 10**12), limit=_number(1, MOST_LISTED))
        split = self._named(lambda: self._tasks.split(request.path_params["split"]))
        start, limit = asked.get("start", 0), asked.get("limit", 100)
        tasks = [split.task(index) for index in range(start, min(start + limit, len(split)))]
        rows = await anyio.to_thread.run_sync(lambda: [self._row(task) for task in tasks], limiter=self._threads)
        return _json({**_described(split), "start": start, "limit": limit, "items": rows})

    async def _task(self, request: Request) -> Response:
        _asked(request)
        names = request.path_params
        task = self._named(lambda: self._tasks.task(f"{names['split']}/{names['index']}"))
        return _json(await anyio.to_thread.run_sync(self._told, task, limiter=self._threads))

    def _named(self, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except SeatError as unknown:
            raise _unknown_task(unknown) from None

    def _row(self, task: Task) -> dict[str, Any]:
        choice = task.choice
        return {
            "task": task.id,
            "market": choice.market,
            "scenario": choice.scenario,
            "seats": choice.seats,
            "tier": choice.tier,
            "sealed": task.sealed,
            "seed": None if task.sealed else task.seed,
            "score_range": SCORE_RANGE if self._has_scale(choice) else None,
        }

    def _has_scale(self, choice: Choice) -> bool:
        """Whether each of its seats has a scale. Looked up once: a listing asks for a thousand tasks of one choice."""
        if choice not in self._scaled:
            kind, scenario = market_type(choice.market), load_scenario(choice.market, choice.scenario)
            content, roles = scenario.model_dump(mode="json"), seat_roles(kind, scenario, choice.seats)
            self._scaled[choice] = all(
                scale_of(kind.name, content, kind.version, role) is not None for role in set(roles.values())
            )
        return self._scaled[choice]

    def _told(self, task: Task) -> dict[str, Any]:
        """A task, and what a first message to a model needs. Of the scenario alone: no seed has a part in it."""
        choice = task.choice
        kind, scenario = market_type(choice.market), load_scenario(choice.market, choice.scenario)
        briefs = {seat: kind.brief(scenario, seat)._asdict() for seat in choice.seats}
        return {**self._row(task), "brief": briefs}

    # --- outcomes ---------------------------------------------------------------------------------------------------

    async def _outcome(self, host: Host, request: Request) -> Response:
        asked = _asked(request, end=_flag, verify=_flag, ledger=_flag, seats=_all)
        name = request.path_params["episode"]
        place = await self._ended(host, name, end=asked.get("end", False))
        every, check, ledger = asked.get("seats", False), asked.get("verify", False), asked.get("ledger", False)
        if ledger:
            await anyio.to_thread.run_sync(_refuse_sealed, place)
        try:
            scored = await anyio.to_thread.run_sync(
                lambda: score_file(place, name, every_seat=every, check=check, ledger=ledger),
                limiter=self._replaying if ledger else self._threads,
            )
        except TraceError as wrong:
            hint = "nothing can be worked out of it: leave the episode out"
            raise ControlRefused(409, ErrorInfo("no_outcome", str(wrong)[:300], hint, False)) from None
        return _json(scored.model_dump(mode="json"))

    async def _ledger(self, host: Host, request: Request) -> Response:
        asked = _asked(request, seat=str, turns=_number(1, TURNS))
        place = await self._ended(host, request.path_params["episode"], end=False)
        await anyio.to_thread.run_sync(_refuse_sealed, place)
        try:
            ledger = await anyio.to_thread.run_sync(
                lambda: ledger_of(
                    place, asked.get("seat"), most=asked.get("turns"), diagnosis=evaluate_file(place).diagnosis
                ),
                limiter=self._replaying,
            )
        except SeatError as unknown:
            raise _invalid(f"seat: {unknown}") from None
        except (TraceError, NotReplayed) as wrong:
            hint = "only what the rules have ended has a ledger: play to the end, or leave the episode out"
            raise ControlRefused(409, ErrorInfo("no_ledger", str(wrong)[:300], hint, False)) from None
        return _json({"ledger": ledger.model_dump(mode="json")})

    async def _ended(self, host: Host, name: str, *, end: bool) -> str:
        """Where the trace of an episode is read that is over; `end` ends it first. Raises ControlRefused, SeatError."""
        if name in host.pending:
            hint = "POST /episodes/{id}/start begins it, DELETE /episodes/{id} drops it"
            raise ControlRefused(409, ErrorInfo("not_started", f"{name} has not begun", hint, True))
        live = host.episodes.get(name)
        if live is not None and live.core.ended is None:
            if not end:
                clock = live.core.market.clock
                told = f"round {clock.round} is open (phase {clock.phase})"
                hint = "play on, or ask for the outcome with ?end=true"
                raise ControlRefused(409, ErrorInfo("episode_running", told, hint, True))
            # It may have ended, or have been taken away, since.
            with suppress(EpisodeOver, SeatError):
                await host.cancel(name)
        if live is not None:
            # Over is not yet sealed: the last commit may still be on its way to the disk.
            with anyio.move_on_after(_SEALED_WITHIN_S):
                await live.wait_ended()
        return await self._place(host, name)

    async def _place(self, host: Host, name: str) -> str:
        """Where the trace of an episode is read, of a closed one too, and after a restart."""
        try:
            path = host.trace_of(name)
        except SeatError:
            # A host remembers few of those that are over. The name becomes part of a path: an id and nothing else.
            if host.folder is None or not _EPISODE.fullmatch(name):
                raise
            path = host.folder / f"{name}.trace"
            if not await anyio.to_thread.run_sync(host.logs.holds, path):
                raise
        return str(host.logs.reading(path))


def _refuse_sealed(place: str) -> None:
    """What would have been better on a sealed seed is not answered before the seed is revealed."""
    with suppress(TraceError), open_trace(place) as trace:
        if Mark.of(trace.manifest.about).sealed:
            hint = "ask for the outcome without it: whoever has the trace can evaluate it after the reveal"
            raise ControlRefused(403, ErrorInfo("sealed", "a sealed episode shows no ledger", hint, False))


def _described(split: Split) -> dict[str, Any]:
    bounds = [CALLS[tier] for tier in split.tiers]
    known = [bound for bound in bounds if bound is not None]
    # Of a benchmark nobody says beforehand how many calls it takes.
    calls = (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(bounds) else None
    return {
        "split": split.name,
        "tasks": len(split),
        "sealed": split.sealed,
        "commitment": split.commitment,
        "scenarios": split.scenarios,
        "seeds": split.seeds,
        "calls": calls,
    }


# --- questions and answers ------------------------------------------------------------------------------------------


def _asked(request: Request, **known: Callable[[str], Any]) -> dict[str, Any]:
    """The query, read by one function per name; refused where a name is unknown, stands twice or has another value."""
    found: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        if name not in known:
            listed = ", ".join(known) or "nothing"
            raise _invalid(f"there is no parameter {name[:40]!r} here; known: {listed}")
        if name in found:
            raise _invalid(f"{name} stands there twice")
        try:
            found[name] = known[name](text)
        except ValueError as wrong:
            raise _invalid(f"{name} is {wrong}") from None
    return found


def _flag(text: str) -> bool:
    if text not in _YES:
        raise ValueError("true or false")
    return _YES[text]


def _all(text: str) -> bool:
    if text != "all":
        raise ValueError("all, or left out: the seats that are played from outside")
    return True


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        # As text first: `int` also reads signs, spaces and digits of other scripts.
        if not (text.isascii() and text.isdigit() and len(text) <= 13 and least <= int(text) <= most):
            raise ValueError(f"a number from {least} to {most}")
        return int(text)

    return read


def _invalid(message: str) -> ControlRefused:
    return ControlRefused(400, ErrorInfo("invalid_arguments", message, "correct it and ask again", True))


def _unknown_task(error: SeatError) -> ControlRefused:
    return ControlRefused(404, ErrorInfo("unknown_id", str(error), "GET /tasks lists what there is", False))


def _json(content: Any) -> Response:
    # An outcome says how a seat did: no cache between client and host may keep it.
    return Response(orjson.dumps(content), headers={"Cache-Control": "no-store"}, media_type="application/json")
