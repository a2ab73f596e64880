"""What the model calls of an episode may take, and have taken: the one place that prices and counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tradefair.contract.money import dollars_text
from tradefair.frameworks.models.access import IDLE_ROUNDS, Stopped
from tradefair.frameworks.models.prices import cost_usd_micro
from tradefair.frameworks.models.wire import Json, as_object, count_of
from tradefair.tracestore import Exchange

BUDGET_SPENT = "budget_spent"
"""The code of an answer to a request that a budget forbids."""

_COST, _TOKENS = "cost", "tokens_total"
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")
_BYTES_PER_TOKEN = 4
"""By rule of thumb: what an endpoint does not count is not free."""
_CENT = 10_000


@dataclass
class Budget:
    """The limits of an episode, over all of its seats, and what its model calls have taken; tokens in and out.

    `cost` is in dollars, as a person gave it; None where there is no limit. `model` is what is asked: its price is
    taken where a reply names none that has one. Checked before each request, so exceeded by one reply at most.
    """

    model: str | None = None
    cost: float | None = None
    tokens_total: int | None = None
    calls: int = 0
    tokens: int = 0
    cost_usd_micro: int = 0
    _priced: bool = field(default=True, repr=False)

    def count(self, note: Mapping[str, Any], exchanges: Sequence[Exchange] = ()) -> Json:
        """The note about an agent, counted: a model call's with its `cost_usd_micro`, null where that is not known.

        What the endpoint did not count is noted as `uncounted`, by the bytes of the last of `exchanges`, and counts
        here alone. A note of an earlier run has both and stays as it is.
        """
        if note.get("kind") != "model_call":
            return dict(note)
        noted = dict(note) if "cost_usd_micro" in note else self._with_cost(note, exchanges)
        stated = as_object(noted["uncounted"]) if "uncounted" in noted else noted
        read, cached, written = (count_of(stated.get(name)) or 0 for name in _COUNTS)
        cost = count_of(noted["cost_usd_micro"])
        cost = cost_usd_micro(self.model, read, cached, written) if cost is None else cost
        self.calls += 1
        self.tokens += read + written
        self.cost_usd_micro += cost or 0
        self._priced = self._priced and cost is not None
        return noted

    def _with_cost(self, note: Mapping[str, Any], exchanges: Sequence[Exchange]) -> Json:
        read, cached, written = (count_of(note.get(name)) for name in _COUNTS)
        cost = cost_usd_micro(note.get("model") or self.model, read, cached, written)
        if not exchanges or (read is not None and written is not None):
            return {**note, "cost_usd_micro": cost}
        asked, answered = (len(orjson.dumps(said)) // _BYTES_PER_TOKEN for said in exchanges[-1][:2])
        return {**note, "cost_usd_micro": cost, "uncounted": {"input_tokens": asked, "output_tokens": answered}}

    @property
    def spent(self) -> Json:
        """Tokens and micro-dollars, as a note keeps them."""
        return {"tokens": self.tokens, "cost_usd_micro": self.cost_usd_micro}

    @property
    def reached(self) -> str:
        """The name of the limit that forbids another request; "" while there is room."""
        if self.cost is not None and self.cost_usd_micro >= round(self.cost * 1_000_000):
            return _COST
        return _TOKENS if self.tokens_total is not None and self.tokens >= self.tokens_total else ""

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._limits)

    def check(self) -> None:
        """Raises Stopped where a limit is reached."""
        name = self.reached
        if name:
            own, *other = sorted(self._limits, key=lambda limit: limit != name)
            beside = "".join(f" (the other: {limit}={self._limits[limit]:.12g})" for limit in other)
            raise Stopped(name, f"--limit {own}={self._limits[own]:.12g} is reached{beside}")

    def again(self, reached: str = "") -> str:
        """How to go on: the limits, that which was reached twice as large, as options of the command; "" for none."""
        limits = {name: most * (1 + (name == reached)) for name, most in self._limits.items()}
        limits |= {IDLE_ROUNDS: 0} if reached == IDLE_ROUNDS else {}
        return f"--limit {','.join(f'{name}={most:.12g}' for name, most in limits.items())}" if limits else ""

    def words(self, short: bool) -> list[str]:
        """Calls, tokens and dollars, of how many, to be shown; `short`: tokens in thousands."""
        if not self.calls:
            return []
        tokens = f"{self.tokens / 1_000:.1f}k" if short and self.tokens >= 1_000 else f"{self.tokens:,}"
        tokens += "" if self.tokens_total is None else f" of {self.tokens_total:,}"
        said = [f"{self.calls:,} calls", f"{tokens} tokens"]
        if self.cost is not None:
            places = 2 if self.cost * 1_000_000 >= _CENT else 6
            return [*said, f"{dollars_text(self.cost_usd_micro, places)} of {dollars_text(self.cost * 1e6, places)}"]
        # One call without a price makes the sum too small to be shown.
        return [*said, dollars_text(self.cost_usd_micro)] if self._priced and self.cost_usd_micro else said

    @property
    def _limits(self) -> dict[str, float]:
        limits = {_COST: self.cost, _TOKENS: self.tokens_total}
        return {name: most for name, most in limits.items() if most is not None}
