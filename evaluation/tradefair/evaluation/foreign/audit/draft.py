"""A draft of an evidence map, from how values flow between the calls of several runs; a person corrects it.

Every line carries its counts, and `check` where it is a guess. No model is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from tradefair.contract import ScenarioError
from tradefair.contract.text import clean_line
from tradefair.evaluation.foreign.audit.confirmation import Confirmation
from tradefair.evaluation.foreign.audit.flows import Entity, Use, entities_of, fields_of, ids_in, tokens_of, uses_of
from tradefair.evaluation.foreign.audit.map_file import YES
from tradefair.evaluation.foreign.audit.run import Run, Said
from tradefair.evaluation.read.objects import mapping

MIN_RUNS = 3
_SUPPORT = 5
"""Uses of an object, or accepted uses of it by an action, below which nothing is drafted of them."""
_MOSTLY = 0.95
"""Share of cases in which a habit has to be seen, to be written down as one."""
_MAX_VALUES = 12
_BY_CHANCE = 0.01
"""Largest probability of a constant state, if states came as they do in all looks."""
_MAX_FIRST = 3
_MAX_NAME = 200


class State(NamedTuple):
    """The value that a field of an object had before every accepted use of an action, and another before refused."""

    field: str
    value: str
    accepted: int
    refused: int
    chance: float


class _Tools(NamedTuple):
    kinds: dict[str, str]
    calls: Counter[str]
    annotated: frozenset[str]

    def of(self, kind: str) -> list[str]:
        return sorted(tool for tool, known in self.kinds.items() if known == kind)


def draft_map(runs: Sequence[Run], source: str = "") -> str:
    """The text of a map file. ScenarioError where fewer than three runs hold a call."""
    called = [run for run in runs if any(True for _ in run.calls)]
    if len(called) < MIN_RUNS:
        raise ScenarioError(
            f"runs with calls: {len(called)}; habits show in {MIN_RUNS} or more; name more traces, or write the map"
        )
    tools = _tools(called)
    reads = frozenset(tools.of("read"))
    uses = [use for run in called for use in uses_of(run)]
    objects = {
        name: entity
        for name, entity in entities_of(uses, reads).items()
        if entity.flows and entity.uses >= _SUPPORT and _usable(entity)
    }
    states = {tool: state for tool in tools.of("action") if (state := _state(called, tool, objects.values()))}
    parts = [
        [f"# Drafted from {len(called)} runs{source and f' in {clean_line(source)}'}; correct what says check first."],
        ["version = 1"],
        _tool_lines(tools),
        _first_lines(called, reads),
        *(_object_lines(entity, states.values()) for entity in objects.values()),
        _confirm_lines(called, tools),
        *_rules(tools, uses, objects, states),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _tools(runs: Iterable[Run]) -> _Tools:
    calls: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    annotated: set[str] = set()
    for run in runs:
        for call in run.calls:
            # What no map can name is left out.
            if not 0 < len(call.tool) <= _MAX_NAME:
                continue
            calls[call.tool] += 1
            kinds[call.tool] = call.kind
            if "readOnlyHint" in run.hints.get(call.tool, {}):
                annotated.add(call.tool)
    return _Tools(kinds, calls, frozenset(annotated))


def _tool_lines(tools: _Tools) -> list[str]:
    lines = ["[tools]"]
    for kind in ("action", "note", "hand_over"):
        if named := tools.of(kind):
            by_name = [tool for tool in named if tool not in tools.annotated]
            guess = f"; check: {len(by_name)} by name" if by_name else ""
            count = sum(tools.calls[tool] for tool in named)
            lines.append(f"{kind} = {_json(named)}  # {count} calls{guess}")
    reads = tools.of("read")
    calls = sum(tools.calls[tool] for tool in reads)
    return [*lines, f"# {len(reads)} reads, {calls} calls: {clean_line(', '.join(reads))[:300]}"]


# --- first ------------------------------------------------------------------------------------------------------------


def _first_lines(runs: Iterable[Run], reads: Collection[str]) -> list[str]:
    """The reads with which nearly all runs with actions begin: fed by no answer, and their own feed others."""
    fed = [found for run in runs if (found := _roots(run, reads)) is not None]
    chosen: list[str] = []
    left = fed
    while left and len(chosen) < _MAX_FIRST and (len(fed) - len(left)) < _MOSTLY * len(fed):
        counts = Counter(tool for roots in left for tool in roots)
        if not counts:
            break
        chosen.append(min(counts, key=lambda tool: (-counts[tool], tool)))
        left = [roots for roots in left if chosen[-1] not in roots]
    met = len(fed) - len(left)
    if not fed or met < _MOSTLY * len(fed):
        return []
    return ["[first]", f"one_of = {_json(sorted(chosen))}  # before the actions of {met} of {len(fed)} runs; check"]


def _roots(run: Run, reads: Collection[str]) -> set[str] | None:
    """The reads before the first action that were fed by no answer and whose answers feed others; None: no action."""
    calls = list(run.calls)
    end = next((place for place, call in enumerate(calls) if call.kind == "action"), None)
    if end is None:
        return None
    roots: dict[str, set[str]] = {}
    found: set[str] = set()
    answered: set[str] = set()
    for call in calls[: end + 1]:
        given = {value for part in mapping(call.arguments).values() for value in ids_in(part)}
        found |= {tool for tool, brought in roots.items() if brought & given}
        if call.accepted:
            brought = set(tokens_of(call.answer)) - given
            if call.tool in reads and not given & answered and mapping(call.arguments):
                roots.setdefault(call.tool, set()).update(brought - answered)
            answered |= brought
    return found


# --- objects and states -----------------------------------------------------------------------------------------------


def _usable(entity: Entity) -> bool:
    """Whether a map can name it: a dot leads into an object."""
    return all(0 < len(name) <= _MAX_NAME and "." not in name for name in (entity.name, *entity.arguments))


def _object_lines(entity: Entity, states: Iterable[State]) -> list[str]:
    fields = sorted({state.field for state in states if state.field.partition("/")[0] == entity.name})
    named = [field.partition("/")[2] for field in fields]
    how = "takes it" if entity.takers else "held it most often; check"
    lines = [
        f"[objects.{_key(entity.name)}]",
        f"arguments = {_json([*entity.arguments])}  # {entity.known} of {entity.uses} uses were in an answer before",
        f"look = {_json(entity.looks)}  # {how}",
    ]
    if named:
        lines.append(
            f"fields = {{ {', '.join(f'{_key(path)} = {_json(path)}' for path in named)} }}  # states rest on it"
        )
    return lines


def _state(runs: Iterable[Run], tool: str, entities: Iterable[Entity]) -> State | None:
    """The field whose value was always the same before accepted calls of a tool, if it tells anything."""
    best: State | None = None
    runs = list(runs)
    taken = {name for run in runs for call in run.calls if call.tool == tool for name in mapping(call.arguments)}
    for entity in entities:
        if taken.isdisjoint(entity.arguments):
            continue
        looks, before = _looked(runs, tool, entity)
        for path, values in looks.items():
            accepted = Counter(seen[path] for done, seen in before if done and path in seen)
            refused = Counter(seen[path] for done, seen in before if not done and path in seen)
            if len(accepted) != 1 or not 2 <= len(values) <= _MAX_VALUES:
                continue
            ((value, times),) = accepted.items()
            state = State(
                f"{entity.name}/{path}",
                value,
                times,
                refused.total() - refused[value],
                (values[value] / values.total()) ** times,
            )
            told = state.refused > 0 or state.chance <= _BY_CHANCE
            if told and (best is None or (-state.refused, state.chance) < (-best.refused, best.chance)):
                best = state
    return best


def _looked(
    runs: Iterable[Run], tool: str, entity: Entity
) -> tuple[dict[str, Counter[str]], list[tuple[bool, dict[str, str]]]]:
    """Values by field in all looks at such objects; and the newest look before each call of `tool`, with what became.

    The answer of an action counts as a look at its object, too.
    """
    looks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    before: list[tuple[bool, dict[str, str]]] = []
    for run in runs:
        newest: dict[str, dict[str, str]] = {}
        for call in run.calls:
            given = (value for name, value in mapping(call.arguments).items() if name in entity.arguments)
            named = next((about for value in given if not isinstance(value, list) for about in ids_in(value)), "")
            if not named:
                continue
            if call.tool == tool and named in newest:
                before.append((call.accepted, newest[named]))
            if call.accepted and (call.tool in entity.looks or call.kind == "action"):
                newest[named] = fields_of(call.answer)
                if call.tool in entity.looks:
                    for path, value in newest[named].items():
                        looks[path][value] += 1
    return looks, before


# --- rules ------------------------------------------------------------------------------------------------------------


def _rules(
    tools: _Tools, uses: Sequence[Use], objects: Mapping[str, Entity], states: Mapping[str, State]
) -> Iterator[list[str]]:
    """A rule for each group of actions that rest on the same looks and the same state."""
    groups: defaultdict[tuple[tuple[str, ...], State | None], list[str]] = defaultdict(list)
    rested: dict[str, tuple[int, int]] = {}
    for tool in tools.of("action"):
        done = [use for use in uses if use.call.tool == tool and use.call.accepted]
        look: list[str] = []
        for name, entity in objects.items():
            rests = [_rests(use, entity) for use in done if use.argument in entity.arguments]
            if len(rests) >= _SUPPORT and sum(rests) >= _MOSTLY * len(rests):
                look.append(name)
                had, of = rested.get(tool, (0, 0))
                rested[tool] = had + sum(rests), of + len(rests)
        state = states.get(tool)
        if look or state:
            groups[tuple(look), state and state._replace(accepted=0, refused=0, chance=0)].append(tool)
    for (looks, state), named in groups.items():
        lines = ["[[rule]]", f"action = {_json(named)}  # {sum(tools.calls[tool] for tool in named)} calls"]
        if looks:
            had, of = (sum(rested.get(tool, (0, 0))[place] for tool in named) for place in (0, 1))
            lines.append(f"look = {_json(list(looks))}  # {had} of {of} accepted uses rest on one")
        if state:
            lines.append(_state_line(state, [states[tool] for tool in named]))
        yield lines


def _state_line(state: State, known: Sequence[State]) -> str:
    """The state that all actions of a group rest on; `known` has the counts of each."""
    refused = sum(found.refused for found in known)
    guess = "" if all(found.refused for found in known) else "; check"
    told = f"all {sum(found.accepted for found in known)} accepted, {refused} refused had another{guess}"
    return f"state = {{ {_json(state.field.replace('/', '.', 1))} = {_json(state.value)} }}  # {told}"


def _rests(use: Use, entity: Entity) -> bool:
    shown = frozenset[str]().union(*(use.shown.get(tool, ()) for tool in entity.looks))
    return shown.issuperset(use.values)


def _confirm_lines(runs: Iterable[Run], tools: _Tools) -> list[str]:
    """The actions that mostly followed a yes of the user; none where nobody is asked."""
    done: Counter[str] = Counter()
    agreed: Counter[str] = Counter()
    for run in runs:
        given = Confirmation(YES)
        for turn in run.turns:
            if isinstance(turn, Said):
                given.heard(turn, identified=True)
            elif turn.accepted and tools.kinds.get(turn.tool) == "action":
                done[turn.tool] += 1
                agreed[turn.tool] += given.open
                given.used()
    named = sorted(tool for tool in done if agreed[tool] * 2 >= done[tool])
    if not named:
        return []
    counts = f"{sum(agreed[tool] for tool in named)} of {sum(done[tool] for tool in named)} followed a yes; check"
    return ["[confirm]", f"actions = {_json(named)}  # {counts}"]


def _json(value: Any) -> str:
    """JSON of texts and lists of them is TOML, but for characters that nobody sees."""
    said = orjson.dumps(value).decode().replace('","', '", "')
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in said)


def _key(name: str) -> str:
    """A TOML key: bare where it may be."""
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _json(name)
