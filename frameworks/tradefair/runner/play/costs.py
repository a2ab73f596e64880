"""The one place where model calls get their price: whatever framework made them, their notes pass through here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tradefair.frameworks.models.prices import cost_usd_micro

if TYPE_CHECKING:
    from tradefair.agents.rounds import Note


def with_costs(note: Note, model: str | None) -> Note:
    """`note`, with `cost_usd_micro` added to each model call: micro-dollars, null where tokens or price are unknown.

    The price is that of the name with which the endpoint answered, else of `model`, the name that was asked for: an
    alias such as a provider's "latest" has no price of its own.
    """

    async def noting(record: dict[str, Any]) -> None:
        # Other notes (reports, texts) pass unchanged; the price belongs to what was asked of a model.
        if record.get("kind") == "model_call":
            tokens = (record.get(name) for name in ("input_tokens", "cached_input_tokens", "output_tokens"))
            # A new dict: the framework may still hold the one that it passed.
            record = {**record, "cost_usd_micro": cost_usd_micro(record.get("model") or model, *tokens)}
        await note(record)

    return noting
