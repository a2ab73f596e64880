"""Exactly once: a repeated call key gets the stored answer, in flight, later and after the episode was reopened.

An agent's network may fail after the call and before the answer; it then sends the same call again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from tradefair.contract import Scenario, SeatId, ToolAnswer, ToolCall
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE
from tradefair.host.episode.call_keys import takes_key
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.looking import CallResult
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.scripted import Scripted
from tradefair.host.seats.services import Services
from tradefair.testing.bench import RANDOM, Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, Service, policy_maker

# Actions that are repeated; each is sent five times in all, and so are a note and a program.
_ACTIONS = 3
_OTHERS = (ToolCall("add_note", {"text": "once"}), ToolCall(EXECUTE_CODE, {"code": "1 + 1"}))
# Calls of one turn: a policy that never ends its turn must not hang the check.
_MAX_CALLS = 200


def call_keys(bench: Bench) -> list[Failure]:
    """Actions of the first seat, a note and a program are sent several times with one call key each, through a host.

    Every repetition must get the stored answer and leave state and log alone; the key with another
    request is refused.
    """
    first_seed = [played for played in bench.probed if played.seed == bench.seeds[0]]
    return check("call_keys", bench, first_seed, lambda played: _complaints(bench, played))


def _complaints(bench: Bench, played: Playthrough) -> list[str]:
    """What is wrong with the keys in one scenario, played again in a temporary folder."""
    # A thread of its own, so that the check can also be called where an event loop runs.
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        trial = _Trial(bench, played, Path(folder) / "keys.trace")
        return pool.submit(asyncio.run, trial.run()).result()


class _Sent:
    """A call that was carried out or refused under a key."""

    def __init__(self, call: ToolCall, key: str, answer: CallResult) -> None:
        self.call = call
        self.key = key
        self.answer = answer


class _Trial:
    """One episode that is played through the host, with what was sent and what was wrong."""

    def __init__(self, bench: Bench, played: Playthrough, path: Path) -> None:
        self._kind = bench.market_type
        self._scenario: Scenario = played.scenario
        self._seed = played.seed
        self._path = path
        seats = played.core.market.seats
        # Call keys are the host's work: one seat shows what all seats would.
        self._seat: SeatId = next(iter(seats))
        self._makers = {spec.id: policy_maker(self._kind, spec, RANDOM, self._seed) for spec in seats.values()}
        self._services = Services({name: partial(_answer, service) for name, service in bench.services.items()})
        self._sandbox = Sandbox()
        self._sent: list[_Sent] = []
        self._said: list[str] = []

    async def run(self) -> list[str]:
        """Play the first seat's actions with repeated keys, reopen the episode, repeat them again; what was wrong."""
        others = {seat: maker for seat, maker in self._makers.items() if seat != self._seat}
        episode = await Episode.create(
            self._path,
            self._kind,
            self._scenario,
            self._seed,
            episode_id="keys",
            scripted=Scripted(others),
            services=self._services,
            sandbox=self._sandbox,
        )
        try:
            for call in _OTHERS:
                await self._send(episode, call)
            await self._play(episode)
        finally:
            await episode.close()
            self._sandbox.close()
        if len(self._sent) == len(_OTHERS):
            return [f"random_legal took no action in seat {self._seat}: nothing was put to the test"]
        again = await Episode.open(self._path, self._kind, scripted=Scripted(others), services=self._services)
        try:
            for sent in self._sent:
                await self._repeat(again, sent, "after the episode was opened again")
        finally:
            await again.close()
        return self._said

    async def _play(self, episode: Episode) -> None:
        """Play `random_legal` in the seat until enough actions were sent, or something was wrong."""
        policy = self._makers[self._seat]()
        while len(self._sent) < len(_OTHERS) + _ACTIONS and not self._said:
            view = await episode.await_turn(self._seat)
            if view.over:
                return
            turns = policy.turn(view)
            call = next(turns, None)
            for _ in range(_MAX_CALLS):
                if call is None:
                    break
                answer = await self._send(episode, call)
                if answer.turn.turn_over:
                    break
                try:
                    call = turns.send(ToolAnswer(answer.body, answer.error, False))
                except StopIteration:
                    call = None
            turns.close()
            if episode.core.awaits(self._seat) and episode.core.market.clock.revision == view.revision:
                # The policy stopped without ending its turn: it lapses, or the other seats would wait
                # without an end.
                await episode.lapse(self._seat, "agent_limit")

    async def _send(self, episode: Episode, call: ToolCall) -> CallResult:
        """Make a call; what takes a key is sent twice at once, later again, and with another request."""
        tool = episode.core.tools(self._seat).get(call.tool)
        if tool is None or not takes_key(tool):
            return await episode.call(self._seat, call.tool, dict(call.arguments))
        key = f"key-{len(self._sent)}"
        send = partial(episode.call, self._seat, call.tool, dict(call.arguments), call_key=key)
        # Both are in flight together: the second must wait for the first one's answer, not carry the
        # action out again.
        answer, twin = await asyncio.gather(send(), send())
        sent = _Sent(call, key, answer)
        self._said += _differences(sent, twin, "in flight")
        # After the end every call is refused (docs/explanation/why/contract.md), so there is nothing left to compare.
        if episode.core.ended is None:
            await self._repeat(episode, sent, "later")
            await self._reuse(episode, sent)
        self._sent.append(sent)
        return answer

    async def _repeat(self, episode: Episode, sent: _Sent, when: str) -> None:
        """Send the same call under the same key; the stored answer must come back, and nothing may change."""
        before, events = episode.core.market.digest(), episode.core.seq
        answer = await episode.call(self._seat, sent.call.tool, dict(sent.call.arguments), call_key=sent.key)
        self._said += _differences(sent, answer, when)
        if (episode.core.market.digest(), episode.core.seq) != (before, events):
            self._said.append(f"{sent.call.tool} was carried out again when its key was repeated {when}")

    async def _reuse(self, episode: Episode, sent: _Sent) -> None:
        """Send another request under a used key: it must be refused as `key_reused`."""
        before = episode.core.market.digest()
        answer = await episode.call(self._seat, sent.call.tool, {"another": "request"}, call_key=sent.key)
        code = answer.error.code if answer.error else answer.status
        if code != "key_reused" or episode.core.market.digest() != before:
            self._said.append(f"the key of {sent.call.tool} with other arguments gave {code}, not key_reused")


async def _answer(service: Service, payload: JsonValue) -> JsonValue:
    return service(payload)


def _differences(sent: _Sent, other: CallResult, when: str) -> Iterator[str]:
    """At most one line: what a repetition was answered, and what the first answer was."""
    first = sent.answer
    if (first.call, first.status, first.body, first.error) != (other.call, other.status, other.body, other.error):
        yield f"{sent.call.tool} repeated {when} gave {other[2:5]!r:.200} and not {first[2:5]!r:.200}"
