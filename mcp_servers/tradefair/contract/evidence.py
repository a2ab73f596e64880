"""What an action should rest on: needs over the evidence categories that tools give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Scope: TypeAlias = str | Callable[[Mapping[str, Any], Any], Collection[str] | None]
"""Which objects a look was about: "all", "args" (those named in the arguments), or `(arguments, scene)` -> their ids.

`scene` is the market's own record of what evaluation knows of the moment; None stands for every object.
"""


@dataclass(frozen=True)
class Need:
    """One of the categories in `any_of` should have been looked at within `window` before the action.

    Declared per action by a market, read by evaluation: whether an agent looked before it acted. Core enforces nothing.

    An integer window counts rounds; `since_close` counts from the last closure of any kind. `from_round` is the first
    round in which the need exists, `when(scenario)` whether it exists at all, `object_arg` a path into the action's
    arguments (`lines.product_id`) when the evidence must be about the same object.
    """

    any_of: tuple[str, ...]
    window: int | Literal["round", "episode", "since_close"] = "round"
    from_round: int = 1
    when: Callable[[Any], bool] | None = None
    object_arg: str | None = None


EvidenceMap: TypeAlias = Mapping[str, tuple[Need, ...]]
