"""What can be chosen about a graph, apart from its model and its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tradefair.agents.offers import ALL, Offer
from tradefair.agents.round_calls import Call
from tradefair.agents.window import FULL_ROUND, Window

Approve: TypeAlias = Callable[[list[Call]], Awaitable[Sequence[bool | str]]]
"""Asked before actions of one message are made: per call True (make it), False or a reason (decline it)."""


@dataclass(frozen=True)
class GraphOptions:
    """Options of every graph; each graph takes what concerns it.

    `window` says what of a round the model is shown, `offer` which tools it is offered per reply. With `approve` no
    call of a tool that is not read-only is made before a person has agreed. `replan_every` (plan_and_act) is the number
    of calls after which a new plan is made. `trials` (reflection) switches the outer loop over repeated episodes on and
    holds what was written after earlier ones: () in the first. `small` is for models of few parameters: a prompt of
    their size, no notes and no programs.
    """

    window: Window = FULL_ROUND
    approve: Approve | None = None
    replan_every: int = 12
    trials: Sequence[str] | None = None
    offer: Offer = ALL
    small: bool = False
