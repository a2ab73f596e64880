"""A planted flaw: a policy whose calls, answers or turns are altered on their way, by a man in the middle."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from tradefair.contract import Draw, ErrorInfo, Policy, ToolAnswer, ToolCall, Turns, TurnView

Kind: TypeAlias = Literal[
    "perception", "memory", "arithmetic", "judgement", "persistence", "timing", "protocol", "talk"
]
Onset: TypeAlias = Literal["always", "rare", "late"]
Marks: TypeAlias = set[tuple[int, str]]
"""(round, tool) of each altered call; the tool is `ANY` where a call or a whole turn was left out."""
Place: TypeAlias = tuple[int, str, int]
"""A turn of a seat as the ledger counts it: round, phase, and the market's step or the how manieth turn of the two."""

ANY = "*"
_RARE = 0.2
_LEFT_OUT = ToolAnswer(None, ErrorInfo("left_out", "the call was not made", "go on", False), False)


class Course(NamedTuple):
    """A seat's turns in order, the numbers (from 1) of those in which a flaw altered something, and what it altered."""

    turns: list[Place]
    altered: set[int]
    marks: Marks

    @classmethod
    def empty(cls) -> Course:
        """Before the first turn."""
        return cls([], set(), set())

    def begin(self, now: TurnView) -> None:
        """A turn begins."""
        step = now.market.get("step")
        turn = [place for place in self.turns if place[:2] == (now.round, now.phase)]
        self.turns.append((now.round, now.phase, step if isinstance(step, int) else len(turn)))

    def mark(self, *tools: str) -> None:
        """The flaw alters calls of these tools in the open turn."""
        self.altered.add(len(self.turns))
        self.marks.update((self.turns[-1][0], tool) for tool in tools)


@dataclass
class Scene:
    """What a flaw knows of the seat that it bends: clock, last answers as they truly were, its own notes and draws."""

    draw: Draw
    rounds: int
    now: TurnView = field(init=False)
    heard: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def round(self) -> int:
        """The open round."""
        return self.now.round

    @property
    def buys(self) -> bool:
        """Whether the seat is a buyer."""
        return self.now.role == "buyer"

    def chance(self, share: float, *key: int | str) -> bool:
        """True in that share of rounds and keys."""
        return self.draw.uniform("flaw", self.round, *key) < share


Altered: TypeAlias = ToolCall | list[ToolCall] | None


class Wrap(NamedTuple):
    """What is altered while the flaw is active; what is None passes as it is.

    `call` gives the calls to make in place of one (None: none; the policy is told of a refusal), `answer` the data to
    show in place of an accepted answer, `begin` calls before the turn, `instead` the calls of a turn that the policy
    does not get to play (None: it plays), `view` the turn that it is shown. `recalls` names tools whose last answer is
    shown again instead of a look. `lasting`: once misled, all later actions rest on it.
    """

    call: Callable[[Scene, ToolCall], Altered] | None = None
    answer: Callable[[Scene, ToolCall, Any], Any] | None = None
    begin: Callable[[Scene], Iterable[ToolCall]] | None = None
    instead: Callable[[Scene], Iterable[ToolCall] | None] | None = None
    view: Callable[[Scene], TurnView] | None = None
    recalls: frozenset[str] = frozenset()
    lasting: bool = False


@dataclass(frozen=True)
class Flaw:
    """One planted flaw. `accepted` are the findings that an auditor would call right, `says` what it does.

    `base` is the policy that is bent, `role` whose seats it takes in turns (empty: all seats that agents may take),
    `preset` and `changes` the scenario (by default the market's own, `benchmarks.planted.play`), `others` the policy of
    all other seats (None: the scenario's).
    """

    name: str
    market: str
    kind: Kind
    base: str
    accepted: frozenset[str]
    says: str
    wrap: Wrap
    onset: Onset = "always"
    harmless: bool = False
    role: str = ""
    preset: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    others: str | None = None

    def active(self, scene: Scene) -> bool:
        """Whether it acts in the open round."""
        if self.onset == "rare":
            # Where a round has steps, in one step of five.
            step = scene.now.market.get("step")
            key = (scene.round,) if step is None else (scene.round, int(str(step)))
            return scene.draw.uniform("onset", *key) < _RARE
        return self.onset == "always" or scene.round > scene.rounds // 2


def planter(market: str) -> Callable[..., Flaw]:
    """Makes the flaws of a market; in `accepted` a leading dot stands for the market's name."""

    def plant(
        name: str, kind: Kind, base: str, accepted: str, says: str, onset: Onset, wrap: Wrap, **more: Any
    ) -> Flaw:
        ids = frozenset(f"{market}{mode}" if mode.startswith(".") else mode for mode in accepted.split())
        return Flaw(name, market, kind, base, ids, says, wrap, onset, **more)

    return plant


class Flawed:
    """A policy with a flaw planted in it; without `flaw` it is the policy itself."""

    def __init__(self, base: Policy, flaw: Flaw | None, scene: Scene, actions: frozenset[str], course: Course) -> None:
        self._base, self._scene, self._actions, self._course = base, scene, actions, course
        self._flaw, self._wrap = flaw, flaw.wrap if flaw else Wrap()
        self._misled = False
        self._round = 0
        self._shown: dict[str, ToolAnswer] = {}

    def turn(self, now: TurnView) -> Turns:
        """The calls of the policy, altered where the flaw is active."""
        scene, wrap = self._scene, self._wrap
        scene.now = now
        self._course.begin(now)
        if self._flaw is None or not self._flaw.active(scene):
            wrap = Wrap(lasting=wrap.lasting)
        # What was misread in the talk of a round misleads its quote too.
        self._misled = self._misled and (wrap.lasting or now.round == self._round)
        self._round = now.round
        seen = wrap.view(scene) if wrap.view else now
        self._misled |= seen != now
        instead = wrap.instead(scene) if wrap.instead else None
        for call in [*(wrap.begin(scene) if wrap.begin else ()), *(instead or ())]:
            self._course.mark(call.tool)
            yield from self._made(call)
        if instead is not None:
            self._course.mark(ANY)
            return
        inner = self._base.turn(seen)
        try:
            call = next(inner, None)
            while call is not None:
                answer = yield from self._altered(wrap, call)
                call = inner.send(answer)
        except StopIteration:
            pass
        finally:
            inner.close()

    def _altered(self, wrap: Wrap, call: ToolCall) -> Generator[ToolCall, ToolAnswer, ToolAnswer]:
        """Make what the flaw makes of a call; returns what the policy is shown."""
        if call.tool in wrap.recalls and call.tool in self._shown:
            self._course.mark(call.tool, ANY)
            self._misled = True
            return self._shown[call.tool]
        made = wrap.call(self._scene, call) if wrap.call else call
        answer = _LEFT_OUT
        calls = [made] if isinstance(made, ToolCall) else made or []
        if not calls:
            self._course.mark(call.tool, ANY)
        for made_call in calls:
            if calls != [call] or (self._misled and made_call.tool in self._actions):
                self._course.mark(made_call.tool)
            answer = yield from self._made(made_call)
        if wrap.answer and answer.body is not None:
            shown = wrap.answer(self._scene, call, copy.deepcopy(answer.data))
            if shown != answer.data:
                self._course.mark(call.tool)
                self._misled = True
                answer = ToolAnswer(orjson.dumps(shown), None, answer.turn_over)
        self._shown[call.tool] = answer
        return answer

    def _made(self, call: ToolCall) -> Generator[ToolCall, ToolAnswer, ToolAnswer]:
        answer = yield call
        if answer.body is not None:
            self._scene.heard[call.tool] = answer.data
        return answer
