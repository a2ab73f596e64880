"""Divergence of a run from a reference: other actions than it has, or an output that was never said, and where first.

Only actions are compared, as a multiset: what else was read, in which order, and what was tried, refused and made good
is the agent's own business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from tradefair.evaluation.foreign.audit.run import Call, Run, Said, as_json
from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.read.objects import mapping, sequence

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# What a list counts its items with is no number that anybody states.
_MARKER = re.compile(r"^\s*(?:#+\s*)?\d+[.)]\s", re.MULTILINE)
# Shorter values are in some answer by chance.
_TELLING = 4

# How arguments end that name a thing.
_NAMING = ("id", "path", "key", "number", "uri", "url")

Kind = Literal["blocked", "other_action", "wrong_output", "unsaid_output", "missing_action"]


class Action(NamedTuple):
    """What a reference has done: tool and arguments."""

    tool: str
    arguments: Any

    @property
    def key(self) -> tuple[str, str]:
        """Equal for actions that do the same: the order of a list's items means nothing (see `unordered`)."""
        return self.tool, as_json(unordered(self.arguments))


class Reference(NamedTuple):
    """What solves the task of run `id`: its actions in order, and what the agent has to say."""

    id: str
    actions: tuple[Action, ...]
    outputs: tuple[str, ...] = ()


class Divergence(NamedTuple):
    """Where a run first left its reference: the call or message, and why in one sentence."""

    step: int | None
    seq: int
    kind: Kind
    why: str


def read_reference(value: Any, is_action: Callable[[str], bool], id_: str = "") -> Reference | None:
    """A reference from {id, actions: [{tool, arguments}], outputs}; None where the value has not that shape."""
    fields = mapping(value)
    actions = [mapping(action) for action in sequence(fields.get("actions"))]
    if not isinstance(fields.get("actions"), list) or not all(
        isinstance(action.get("tool"), str) for action in actions
    ):
        return None
    made = (Action(action["tool"], action.get("arguments") or {}) for action in actions)
    said = tuple(str(output) for output in sequence(fields.get("outputs")))
    return Reference(text(fields.get("id")) or id_, tuple(action for action in made if is_action(action.tool)), said)


def reference_of(run: Run, id_: str) -> Reference:
    """What another run did, as the reference of run `id_`; it asks for no outputs."""
    return Reference(id_, tuple(Action(call.tool, call.arguments) for call in actions_of(run) if call.accepted))


def actions_of(run: Run) -> Iterator[Call]:
    """The actions that agents tried, refused ones too; hand-overs are none, since their words are free."""
    return (call for call in run.calls if call.kind == "action")


def divergence(run: Run, reference: Reference) -> Divergence | None:
    """Where the run left its reference; None where its accepted actions are the reference's and all outputs were said.

    Located at the first that applies: an action that made a later one of the reference impossible; the first tried
    action that the reference does not have; where a missing output went wrong; the hand-over or the last message.
    """
    tried = list(actions_of(run))
    wanted = Counter(action.key for action in reference.actions)
    done = Counter(_key(call) for call in tried if call.accepted)
    unsaid = [output for output in reference.outputs if not _was_said(run, output)]
    if wanted == done and not unsaid:
        return None
    return (
        _blocking(tried, reference)
        or _unwanted(tried, wanted)
        or next((found for output in unsaid if (found := _misstated(run, output, reference.outputs))), None)
        or _ending(run, wanted - done, unsaid)
    )


def _blocking(tried: list[Call], reference: Reference) -> Divergence | None:
    """An accepted action of the reference after which another one of it, on the same object, was refused."""
    order = {action.key: place for place, action in enumerate(reference.actions)}
    accepted: list[tuple[int, Call]] = []
    ended_well = {_key(call) for call in tried if call.accepted}
    for call in tried:
        place = order.get(_key(call))
        if place is None:
            continue
        if call.accepted:
            accepted.append((place, call))
        elif _key(call) not in ended_well:
            for other_place, other in accepted:
                if other_place > place and _same_object(other, call):
                    why = f"after {other.tool}, {call.tool} on the same object was refused; the reference has it before"
                    return Divergence(other.step, other.seq, "blocked", why)
    return None


def _unwanted(tried: Iterable[Call], wanted: Counter[tuple[str, str]]) -> Divergence | None:
    left = wanted.copy()
    for call in tried:
        key = _key(call)
        if left[key] <= 0:
            same = [arguments for tool, arguments in wanted if tool == call.tool]
            why = (
                f"{call.tool} with arguments that the reference has not"
                if same
                else f"the reference has no {call.tool}"
            )
            return Divergence(
                call.step, call.seq, "other_action", why if wanted[key] == 0 else f"{call.tool} once more"
            )
        left[key] -= call.accepted
    return None


def _misstated(run: Run, output: str, outputs: Iterable[str]) -> Divergence | None:
    """The first message with a number of the output's form that nothing before it held; or the output was at hand."""
    numeric = _NUMBER.fullmatch(output.strip())
    known = {plain(other) for other in outputs}
    last: Said | None = None
    at_hand = False
    for turn in run.turns:
        if isinstance(turn, Call):
            known |= _numbers(turn.words)
            at_hand = at_hand or (len(output) >= _TELLING and plain(output) in plain(turn.words))
        elif turn.role != "assistant":
            known |= _numbers(turn.text)
        else:
            last = turn
            if numeric:
                for number in _stated(turn.text):
                    if ("." in number) == ("." in output) and number not in known:
                        why = f"{number} is in no answer before, and {output} was never said"
                        return Divergence(turn.step, turn.seq, "wrong_output", why)
    if at_hand and last is not None:
        return Divergence(last.step, last.seq, "unsaid_output", f"{output} was in an answer and never said")
    return None


def _ending(run: Run, missing: Counter[tuple[str, str]], unsaid: list[str]) -> Divergence:
    why = f"never done: {', '.join(sorted({tool for tool, _ in missing}))}" if missing else f"never said: {unsaid[0]}"
    kind: Kind = "missing_action" if missing else "unsaid_output"
    ends = [call for call in run.calls if call.kind == "hand_over"] or [s for s in run.said if s.role == "assistant"][
        -1:
    ]
    ends = ends or list(run.turns[-1:])
    return Divergence(ends[0].step, ends[0].seq, kind, why) if ends else Divergence(None, 0, kind, why)


def plain(words: str) -> str:
    """Text as outputs are looked for in it: case and the commas of numbers do not matter."""
    return words.replace(",", "").lower()


def _was_said(run: Run, output: str) -> bool:
    # "10" is said by "10.00", and not by "1031", "0.10" or "10.50".
    wanted = re.compile(rf"(?<!\d)(?<!\d\.){re.escape(plain(output))}(?!\d|\.\d*[1-9])")
    return any(wanted.search(plain(said.text)) for said in run.said if said.role == "assistant")


def _stated(words: str) -> Iterator[str]:
    return (found.replace(",", "") for found in _NUMBER.findall(_MARKER.sub(" ", words)))


def _numbers(words: str) -> set[str]:
    return {found.replace(",", "") for found in _NUMBER.findall(words)}


def _key(call: Call) -> tuple[str, str]:
    return Action(call.tool, call.arguments).key


def unordered(arguments: Any) -> Any:
    """Arguments in which lists stand sorted; those of one length are sorted together, because they belong in pairs."""
    given = mapping(arguments)
    lists: dict[int, list[str]] = {}
    for name, value in sorted(given.items()):
        if isinstance(value, list):
            lists.setdefault(len(sequence(value)), []).append(name)
    made: dict[str, Any] = dict(given) if given else {}
    for names in lists.values():
        rows = sorted(zip(*(given[name] for name in names), strict=True), key=lambda row: as_json(list(row)))
        made |= {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return made if given else arguments


def _same_object(one: Call, other: Call) -> bool:
    """Whether all names of things that both calls give (`order_id`, `path`) are the same, and there is one."""
    here, there = (
        {name: value for name, value in mapping(call.arguments).items() if name.lower().endswith(_NAMING)}
        for call in (one, other)
    )
    shared = here.keys() & there.keys()
    return bool(shared) and all(here[name] == there[name] for name in shared)
