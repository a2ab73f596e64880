"""The rooms of the house, their floors and the arrows between them: `python -m tests.rooms` draws the table.

A room is a folder of modules; its face, `__init__.py`, only lists names and stands on no floor. A module stands one
floor above the highest module of its room that it imports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from tests.source_code import Module, all_modules, import_graph

MOST_FLOORS, _MARKETS = 7, "evaluation.markets."
WINGS = {
    "recording": "foreign",
    "evaluation.foreign": "foreign",
    **{f"{_MARKETS}double_auction.{name}": "foreign" for name in ("bazaar_compare", "bazaar_log", "collusion_log")},
    f"{_MARKETS}bargaining.pact_log": "foreign",
    **{f"{_MARKETS}{market}.collusion": "studies" for market in ("double_auction", "order_book", "pricing")},
    f"{_MARKETS}marketplace.experiments": "studies",
    f"{_MARKETS}supply_chain.population_command": "studies",
    "runner.commands.collusion_command": "studies",
}
"""Rooms and modules that may be taken away, with their wing (docs/explanation/why/evaluation.md)."""


def wing_of(module: str) -> str:
    """The wing in which a module lies, or nothing."""
    return next((wing for part, wing in WINGS.items() if f"{module}.".startswith(f"{part}.")), "")


def room_of(module: Module) -> str:
    """The folder of a module; that of a face is its own."""
    return module.name if module.face else module.name.rpartition(".")[0]


def floors(modules: Sequence[Module]) -> dict[str, dict[str, int]]:
    """By room, the floor of each of its modules but the face, from 1. The modules have no circle."""
    graph = import_graph(modules)
    room = {module.name: room_of(module) for module in modules if not module.face}

    @cache
    def floor(name: str) -> int:
        return 1 + max((floor(below) for below in graph[name] if room.get(below) == room[name]), default=0)

    rooms = sorted(set(room.values()))
    return {own: {name: floor(name) for name in sorted(room) if room[name] == own} for own in rooms}


def high_rooms(modules: Sequence[Module]) -> list[str]:
    """Rooms with too many floors, as `host has 8 floors: …` with the modules that stand on the highest one."""
    high = ((room, own, max(own.values())) for room, own in floors(modules).items())
    tops = ((room, most, [name for name in own if own[name] == most]) for room, own, most in high if most > MOST_FLOORS)
    return [f"{room} has {most} floors: {', '.join(names)}" for room, most, names in tops]


def arrows_into_wings(modules: Sequence[Module]) -> list[str]:
    """Imports of a wing from outside it."""
    arrows = [(name, target) for name, targets in import_graph(modules).items() for target in sorted(targets)]
    return [f"{name} imports {target}" for name, target in arrows if wing_of(target) not in ("", wing_of(name))]


def table(modules: Sequence[Module]) -> str:
    """A line per room: modules, floors, lines of code, its wing, and how many arrows lead to which rooms."""
    room = {module.name: room_of(module) for module in modules}
    high, graph = floors(modules), import_graph(modules)
    lines = [f"{'room':44} {'modules':>7} {'floors':>6} {'code':>7}  wing     arrows"]
    for name in sorted(set(room.values())):
        own = [module for module in modules if room[module.name] == name]
        to = Counter(room[target] for module in own for target in graph[module.name] if room[target] != name)
        arrows = ", ".join(f"{other} {count}" for other, count in sorted(to.items()))
        numbers = f"{len(own):7} {max(high.get(name, {}).values(), default=0):6} {sum(m.code_lines for m in own):7,}"
        lines.append(f"{name:44} {numbers}  {wing_of(name):8} {arrows}")
    parts = {part: sum(m.code_lines for m in modules if wing_of(m.name) == part) for part in ("", *WINGS.values())}
    return "\n".join([*lines, "code: " + ", ".join(f"{part or 'core'} {count:,}" for part, count in parts.items())])


if __name__ == "__main__":
    print(table(all_modules()))
