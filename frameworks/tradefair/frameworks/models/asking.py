"""One question at a time to a model, within a budget of tokens, with what it cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tradefair.contract import ScenarioError, TradefairError
from tradefair.contract.money import nearest
from tradefair.frameworks.models import ModelEndpoint, open_chat_model
from tradefair.frameworks.models.prices import cost_usd_micro

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# A rule of thumb for English text, used for the budget only; costs come from what the endpoint counted.
_CHARACTERS_PER_TOKEN = 4


class Said(NamedTuple):
    """A message of the conversation: `system`, `user` or `assistant`."""

    role: str
    text: str


class Reply(NamedTuple):
    """What a model answered. `refusal` is its own word for it where the endpoint marks one."""

    text: str
    refusal: str | None


class BudgetSpent(TradefairError):
    """The next request would go beyond the budget of tokens; nothing was sent."""


@dataclass
class Spent:
    """Tokens and cost of some requests; null as soon as one of them did not say."""

    requests: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd_micro: int | None = 0

    def add(self, input_tokens: int | None, output_tokens: int | None, cost: int | None) -> None:
        """One request more.

        An unknown amount makes the sum unknown for good: a sum without it would look complete and be too small.
        """
        self.requests += 1
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)
        self.cost_usd_micro = _sum(self.cost_usd_micro, cost)

    def in_words(self) -> str:
        """For people.

        For example `3 requests; tokens 1,200 in, 340 out; cost 0.0041 US dollars`; `unknown` stands for a null.
        """
        counted = self.input_tokens is not None and self.output_tokens is not None
        tokens = f"{self.input_tokens:,} in, {self.output_tokens:,} out" if counted else "unknown"
        cost = (
            "unknown"
            if self.cost_usd_micro is None
            else f"{nearest(self.cost_usd_micro / 1_000_000, 4):.4f} US dollars"
        )
        return f"{self.requests} requests; tokens {tokens}; cost {cost}"


@dataclass
class Asker:
    """A model that is asked. `max_tokens` bounds all requests together; null: nothing does.

    Tokens that an endpoint does not count are taken as a fourth of the characters.
    """

    label: str
    max_tokens: int | None
    _model: BaseChatModel
    _used: int = 0
    spent: Spent = field(default_factory=Spent)

    async def ask(self, messages: Sequence[Said], *accounts: Spent) -> Reply:
        """The reply to a conversation, noted in `spent` and in every account given.

        Raises BudgetSpent before a request that is too large, HarnessFailure where the provider fails.
        """
        # The conversation only: the reply's length is not known before it is there, so a budget may be passed by one
        # reply.
        size = tokens_of(*(said.text for said in messages))
        if self.max_tokens is not None and self._used + size > self.max_tokens:
            left = max(0, self.max_tokens - self._used)
            raise BudgetSpent(f"a request of about {size:,} tokens is more than the {left:,} left of --max-tokens")
        # Any: langchain's message type has no field for what providers add to it.
        reply: Any = await self._model.ainvoke([(said.role, said.text) for said in messages])
        text, refused = _sendable(str(reply.text)), reply.response_metadata.get("refusal")
        usage = cast("dict[str, Any]", reply.usage_metadata or {})
        # Providers send nulls and floats here; what is no whole number counts as not said.
        counts = tuple(_whole(usage.get(name)) for name in ("input_tokens", "output_tokens"))
        cached = _whole(usage.get("input_token_details", {}).get("cache_read"))
        # A provider may answer with a dated snapshot of the model that was asked; its price is looked up first.
        model = reply.response_metadata.get("model_name") or self.label
        cost = cost_usd_micro(str(model), counts[0], cached, counts[1])
        cost = cost_usd_micro(self.label, counts[0], cached, counts[1]) if cost is None else cost
        # What was not counted is estimated for the budget, so that an endpoint without usage cannot run past it.
        self._used += (size if counts[0] is None else counts[0]) + (tokens_of(text) if counts[1] is None else counts[1])
        for account in (self.spent, *accounts):
            account.add(counts[0], counts[1], cost)
        return Reply(text, _sendable(refused) if isinstance(refused, str) else None)


@asynccontextmanager
async def open_asker(
    endpoint: ModelEndpoint, *, max_tokens: int | None = None, record: Path | None = None, replay: Path | None = None
) -> AsyncGenerator[Asker]:
    """An asker of a model endpoint, closed afterwards. Raises ScenarioError for a policy, which cannot read."""
    # Refused here and not at the first question: a policy fails at every message that shows no market's turn.
    if endpoint.kind == "policy":
        raise ScenarioError(f"{endpoint.label} is a policy: it plays, it does not read; write openai:<model>")
    async with open_chat_model(endpoint, record=record, replay=replay) as model:
        yield Asker(endpoint.label, max_tokens, model)


def tokens_of(*texts: str) -> int:
    """About how many tokens texts are: a fourth of their characters.

    Rounded up, so that a text of one character is one token and no request is free.
    """
    return -(-sum(map(len, texts)) // _CHARACTERS_PER_TOKEN)


def _sendable(text: str) -> str:
    """The text with a question mark for every half of a surrogate pair: those can be neither stored nor sent again.

    JSON escapes let a model write such a half alone; UTF-8 has no form for it.
    """
    return text.encode(errors="replace").decode()


def _sum(before: int | None, amount: int | None) -> int | None:
    return None if before is None or amount is None else before + amount


def _whole(value: object) -> int | None:
    # `True` is an int in Python; an endpoint that sends it did not count.
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
