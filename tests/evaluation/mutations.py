"""Traces as an accident, a later version or a hostile hand would leave them: hypothesis strategies over mutations.

A trace is taken apart into `Parts`, some mutations change them, and `write_parts` makes a file of what is left, with a
chain and a seal that fit again: what reads it is not saved by the check of the chain. `damage` cuts or garbles the
bytes of a file afterwards.

    parts = parts_of(path)
    @given(changes=mutations())
    def test_…(changes): mutated = write_parts(mutated_parts(parts, changes), target)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson
from hypothesis import strategies as st
from tests.corpus.forge import Forge

HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 2**62, -(2**63), 2**64 - 1, 1e308, -0.0, 0.1, "", "x" * 5_000, "\x00", "\u202e[red]x[/red]",
    "<script>alert(1)</script>", "'; DROP TABLE calls; --", "../../etc/passwd", "=1+1", [], {}, [None], [[[]]],
    {"": {}}, {"__proto__": 1}, ["B1"], {"product_id": {"product_id": ["P001", None, 7]}},
)  # fmt: skip
"""Values that fit nowhere in particular."""

_RAW = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b"{",
    b"\xff\xfe",
    b'{"seq":1}',
    b'{"event":"tool_called"}',
    b'"\\ud800"',
    b"[" * 2_000,
)
"""Bodies that are no events, and some that are not even JSON."""


Parts: TypeAlias = Forge


class Mutation(NamedTuple):
    """One change; `name` and its numbers are what hypothesis prints of a failing example."""

    name: str
    place: int
    other: int

    def apply(self, parts: Parts) -> None:
        """Change `parts` in place; does nothing where there is nothing left to change."""
        _KINDS[self.name](parts, self.place, self.other)


Damage: TypeAlias = tuple[str, int]
DAMAGES = ("empty", "truncated", "garbled", "text")


def mutations(most: int = 4) -> st.SearchStrategy[Sequence[Mutation]]:
    """One to `most` mutations, one after another."""
    numbers = st.integers(0, 10_000)
    return st.lists(st.builds(Mutation, st.sampled_from(sorted(_KINDS)), numbers, numbers), min_size=1, max_size=most)


def parts_of(path: Path) -> Parts:
    """A trace taken apart, without times and call keys: what is made of it depends on its events alone."""
    parts = Forge.load(path)
    parts.side = []
    return parts


def reseat(parts: Parts, **changes: Any) -> None:
    """Change fields of the first event's seating, as who edits a trace would."""
    parts.edit(1, lambda event: event["seating"].update(changes))


def mutated_parts(parts: Parts, changes: Sequence[Mutation]) -> Parts:
    """A changed copy."""
    changed = parts.copy()
    for change in changes:
        change.apply(changed)
    return changed


def write_parts(parts: Parts, path: Path) -> Path:
    """A trace file of these parts: SQLite, or JSONL where the name ends in `.jsonl`. An existing file is replaced."""
    return parts.save(path)


def damage(path: Path, how: Damage) -> Path:
    """Spoil the bytes of a file: cut it, garble some, or leave nothing that is a trace."""
    kind, number = how
    raw = path.read_bytes()
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            os.truncate(path, number % (len(raw) or 1))
        case "garbled":
            at = number % (len(raw) or 1)
            path.write_bytes(raw[:at] + b"\x00\xff\x7f"[: len(raw) - at] + raw[at + 3 :])
        case _:
            path.write_bytes(b"this is no trace\n" * 3)
    return path


class Harm(NamedTuple):
    """What is done to a trace: its parts are changed, and then, perhaps, the bytes of the file."""

    changes: Sequence[Mutation]
    how: Damage | None

    def write(self, parts: Parts, path: Path) -> Path:
        """The file of a trace with these parts that was spoilt so."""
        write_parts(mutated_parts(parts, self.changes), path)
        return path if self.how is None else damage(path, self.how)


def harms() -> st.SearchStrategy[Harm]:
    """Up to four mutations, with or without damage."""
    return st.builds(Harm, mutations(), st.none() | st.tuples(st.sampled_from(DAMAGES), st.integers(0, 100_000)))


# --- the kinds of mutation: (parts, place, other) ------------------------------------------------------------------


def _cut(parts: Parts, place: int, other: int) -> None:
    """The tail is missing."""
    keep = place % (len(parts.bodies) + 1)
    del parts.bodies[keep:], parts.numbers[keep:]


def _drop(parts: Parts, place: int, other: int) -> None:
    """One event is missing; the numbers of the others stay, or close up."""
    if parts.bodies:
        at = place % len(parts.bodies)
        del parts.bodies[at], parts.numbers[at if other % 2 else -1]


def _swap(parts: Parts, place: int, other: int) -> None:
    """Two events stand in each other's place."""
    if parts.bodies:
        one, two = place % len(parts.bodies), other % len(parts.bodies)
        parts.bodies[one], parts.bodies[two] = parts.bodies[two], parts.bodies[one]


def _duplicate(parts: Parts, place: int, other: int) -> None:
    """An event is there twice."""
    if parts.bodies:
        parts.bodies.insert(other % len(parts.bodies), parts.bodies[place % len(parts.bodies)])
        parts.numbers.append(parts.numbers[-1] + 1)


def _empty(parts: Parts, place: int, other: int) -> None:
    """A manifest, and nothing else."""
    parts.bodies.clear()
    parts.numbers.clear()


def _raw(parts: Parts, place: int, other: int) -> None:
    """An event is no event, or no JSON."""
    if parts.bodies:
        parts.bodies[place % len(parts.bodies)] = _RAW[other % len(_RAW)]


def _edit(parts: Parts, place: int, change: Callable[[dict[str, Any]], object]) -> None:
    if not parts.bodies:
        return
    at = place % len(parts.bodies)
    try:
        event = orjson.loads(parts.bodies[at])
    except orjson.JSONDecodeError:
        return
    if isinstance(event, dict) and event:
        change(event)  # pyright: ignore[reportUnknownArgumentType]
        parts.bodies[at] = orjson.dumps(event)


def _field(parts: Parts, place: int, other: int) -> None:
    """A field holds something that does not belong there."""
    value = HOSTILE[other % len(HOSTILE)]
    _edit(parts, place, lambda event: event.update({[*event][other % len(event)]: value}))


def _inner_field(parts: Parts, place: int, other: int) -> None:
    """Something inside arguments, a result, facts or what is public does not belong there."""
    value = HOSTILE[other % len(HOSTILE)]

    def change(event: dict[str, Any]) -> None:
        inner: list[dict[str, Any]] = [item for item in event.values() if isinstance(item, dict) and item]
        if inner:
            chosen = inner[other % len(inner)]
            chosen[[*chosen][place % len(chosen)]] = value

    _edit(parts, place, change)


def _lost_field(parts: Parts, place: int, other: int) -> None:
    """A field is missing."""
    _edit(parts, place, lambda event: event.pop([*event][other % len(event)]))


def _future_field(parts: Parts, place: int, other: int) -> None:
    """A later version has more to say about an event."""
    _edit(parts, place, lambda event: event.update({"from_the_future": HOSTILE[other % len(HOSTILE)]}))


def _future_event(parts: Parts, place: int, other: int) -> None:
    """An event of a kind that this version does not know."""
    _edit(parts, place, lambda event: event.update({"event": "message_sent"}))


def _core(parts: Parts, change: Callable[[dict[str, Any]], object]) -> None:
    core = orjson.loads(parts.core)
    change(core)
    parts.core = orjson.dumps(core, option=orjson.OPT_SORT_KEYS)


def _future_schema(parts: Parts, place: int, other: int) -> None:
    """The whole trace is of a later schema."""
    _core(parts, lambda core: core.update({"trace_schema": "tradefair.trace/9"}))


def _core_field(parts: Parts, place: int, other: int) -> None:
    """Something in the manifest's core does not belong there."""
    value = HOSTILE[other % len(HOSTILE)]
    _core(parts, lambda core: core.update({[*core][place % len(core)]: value}))


def _scenario_field(parts: Parts, place: int, other: int) -> None:
    """The scenario is not one of this market."""

    def change(core: dict[str, Any]) -> None:
        scenario = core.get("scenario")
        if isinstance(scenario, dict) and scenario:
            scenario[[*scenario][place % len(scenario)]] = HOSTILE[other % len(HOSTILE)]  # pyright: ignore[reportUnknownArgumentType]

    _core(parts, change)


def _strange_market(parts: Parts, place: int, other: int) -> None:
    """A market that is not installed here."""
    _core(parts, lambda core: core.update({"market": "atlantis"}))


def _about_field(parts: Parts, place: int, other: int) -> None:
    """What is said about the episode is odd."""
    if parts.about:
        parts.about[sorted(parts.about)[place % len(parts.about)]] = HOSTILE[other % len(HOSTILE)]


def _lost_blob(parts: Parts, place: int, other: int) -> None:
    """A large result is missing, or is no JSON."""
    if parts.blobs:
        name = sorted(parts.blobs)[place % len(parts.blobs)]
        if other % 2:
            del parts.blobs[name]
        else:
            parts.blobs[name] = _RAW[other % len(_RAW)]


def _odd_note(parts: Parts, place: int, other: int) -> None:
    """A note about an agent says something odd."""
    bodies = (*_RAW, *(orjson.dumps({"kind": "model_call", "round": value, "calls": value}) for value in HOSTILE))
    parts.notes.insert(place % (len(parts.notes) + 1), ("B1", bodies[other % len(bodies)]))


_KINDS: dict[str, Callable[[Parts, int, int], None]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _cut, _drop, _swap, _duplicate, _empty, _raw, _field, _inner_field, _lost_field, _future_field, _future_event,
        _future_schema, _core_field, _scenario_field, _strange_market, _about_field, _lost_blob, _odd_note,
    )
}  # fmt: skip
