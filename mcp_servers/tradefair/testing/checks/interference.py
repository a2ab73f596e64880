"""Non-interference: nothing that is private to another seat reaches this one, in any byte, before it is public.

Two worlds with the same public past are asked the same questions. Any byte that differs can only come
from a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tradefair.contract import SeatId, ToolAnswer
from tradefair.contract.kernel.core import Answer, Core
from tradefair.host.seats.scripted import Scripted
from tradefair.testing.asking import Question, Seated, some_seats
from tradefair.testing.bench import RANDOM, Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, policy_maker

# Places per episode, seats per place, calls per turn: each question is asked twice, in two replayed episodes.
_PLACES = 5
_SEATS = 4
_MAX_CALLS = 50


def non_interference(bench: Bench) -> list[Failure]:
    """Another seat's private data and sealed actions change no byte that a seat can get until the next closure.

    At places all over the episode each seat asks everything it can ask, twice: in the episode as it was played, and
    in one where `MarketType.perturb_private` changed what is private to the others and where the others then act
    differently. Results, refusals, receipts, turn marks and tool lists must be equal.
    """
    return check("non_interference", bench, bench.probed, lambda played: _Trial(bench, played).complaints())


class _Heard(NamedTuple):
    """All that one call told the seat; `question` is the call as text."""

    question: str
    told: tuple[object, ...]


class _Trial:
    """One playthrough that is put to the test, seat by seat and place by place."""

    def __init__(self, bench: Bench, played: Playthrough) -> None:
        self._bench = bench
        self._played = played
        self._perturbed = False

    def complaints(self) -> Iterator[str]:
        """The first leak, or that nothing was put to the test."""
        for turn, place in enumerate(self._played.spread(_PLACES)):
            for seat in some_seats(self._played.core, turn, _SEATS):
                for complaint in self._seat(place, seat, salt=turn + 1):
                    yield f"{seat} at event {place}: {complaint}"
                    return
        # Otherwise a market whose `perturb_private` does nothing would always pass.
        if not self._perturbed and len(self._played.core.market.seats) > 1:
            yield "perturb_private never changed the state's digest: nothing was put to the test"

    def _seat(self, place: int, seat: SeatId, salt: int) -> Iterator[str]:
        """What differs for one seat between the two worlds at one place.

        Compared are: all it can read, the same after the other seats have acted differently, and its own turn.
        """
        here, there = self._at(place, seat), self._at(place, seat)
        given = there.core.market
        before = given.digest()
        # Only this copy of the episode: the method must return a new market and leave the given one as it was.
        there.core.market = self._played.market_type.perturb_private(given, seat, salt)
        if given.digest() != before:
            yield "perturb_private changed the market that it was given"
        self._perturbed |= there.core.market.digest() != before
        key = (self._played.seed, place, salt)
        questions = list(here.readings(key))
        # Refusals of nonsense rarely depend on the moment: once per episode is enough.
        if salt == 1:
            questions += here.nonsense()
        yield from _differences("before others act", _look(here, questions), _look(there, questions))
        first = here
        # With the free clock no seat waits for another, so there is no phase in which others act first.
        if here.core.scenario.clock == "turns" and here.core.awaits(seat):
            first = self._at(place, seat)
            # Another policy key gives other draws: in the second world the others choose differently.
            self._others_act(here.core, seat, 0)
            self._others_act(there.core, seat, salt)
            yield from _differences("after others acted", _look(here, questions), _look(there, questions))
        # Every other time with made-up actions, which are mostly refused.
        attempts = list(here.actions(key, times=4)) if salt % 2 else []
        own = self._act(here, attempts)
        yield from _differences("in its own turn", own, self._act(there, attempts))
        if first is not here:
            # The order within a sealed phase must not show either.
            yield from _differences("in its own turn, as last and as first", own, self._act(first, attempts))

    def _at(self, place: int, seat: SeatId) -> Seated:
        """A seat in a fresh copy of the episode as it was at a place."""
        return Seated(self._played.at(place), seat, self._bench)

    def _others_act(self, core: Core, seat: SeatId, policy_key: int) -> None:
        """All other awaited seats act; the phase stays open, because it waits for `seat`."""
        others = [core.market.seats[other] for other in core.market.awaited() if other != seat]
        kind, seed = self._played.market_type, self._played.seed
        Scripted({spec.id: policy_maker(kind, spec, RANDOM, seed, policy_key) for spec in others}).run(core)

    def _act(self, seated: Seated, attempts: Sequence[Question]) -> list[_Heard]:
        """The attempts up to the first that ends the turn, then `random_legal` while the seat is still awaited.

        Returns what each call told, up to a closure: after it, more may be known by right.
        """
        core = seated.core
        awaited, revision = core.awaits(seated.seat), core.market.clock.revision
        heard: list[_Heard] = []
        for question in attempts:
            if _hear(seated, question, heard).turn.turn_over and awaited:
                break
        if core.awaits(seated.seat) and core.market.clock.revision == revision:
            heard += self._turn(seated)
        return heard

    def _turn(self, seated: Seated) -> list[_Heard]:
        """`random_legal` in the seat's own phase."""
        core = seated.core
        spec = core.market.seats[seated.seat]
        policy = policy_maker(self._played.market_type, spec, RANDOM, self._played.seed)()
        turns = policy.turn(core.turn_view(seated.seat))
        heard: list[_Heard] = []
        call = next(turns, None)
        while call is not None and len(heard) < _MAX_CALLS:
            answer = _hear(seated, Question(call.tool, dict(call.arguments)), heard)
            if answer.turn.turn_over:
                break
            try:
                call = turns.send(ToolAnswer(answer.body, answer.error, False))
            except StopIteration:
                break
        turns.close()
        return heard


def _hear(seated: Seated, question: Question, heard: list[_Heard]) -> Answer:
    """Ask, and note what was told; a result that was completed after a closure may tell what the closure revealed."""
    revision = seated.core.market.clock.revision
    answer = seated.ask(question)
    completed = answer.tool is not None and answer.tool.finish is not None
    # An answer completed after the closure may differ: the closure has made public what it rests on.
    if not (completed and seated.core.market.clock.revision != revision):
        heard.append(_Heard(str(question), (answer.body, answer.error, answer.turn)))
    return answer


def _look(seated: Seated, questions: Sequence[Question]) -> list[_Heard]:
    """Everything that the seat can learn without acting."""
    # Imported here: it brings what speaks MCP, which no other check needs.
    from tradefair.host.server.board import board_state

    core, seat = seated.core, seated.seat
    heard = [
        _Heard("the list of tools", tuple(core.tools(seat))),
        _Heard("whether it is awaited", (core.awaits(seat),)),
        _Heard("the constants of its code", (core.market.code_constants(seat),)),
        _Heard("the news mark", (core.market.news_mark(seat),)),
        _Heard("the state of its board", (board_state.function(core, seat),)),
    ]
    for question in questions:
        _hear(seated, question, heard)
    return heard


def _differences(when: str, mine: Sequence[_Heard], other: Sequence[_Heard]) -> Iterator[str]:
    """The first call with different answers, as one line; or that one world allowed more calls than the other."""
    for first, second in zip(mine, other, strict=False):
        if first != second:
            answers = f"{_cut(first.told)} or {_cut(second.told)}"
            yield f"{first.question} {when} tells {answers}, depending on what is private"
            return
    if len(mine) != len(other):
        yield f"{when}: {len(mine)} or {len(other)} calls are possible, depending on what is private"


def _cut(told: tuple[object, ...]) -> str:
    return repr(told)[:200]
