"""What a sweep may take: episodes, time, tokens, dollars, and how much each provider of models may be asked.

A limit is checked before an episode begins. An episode that has begun is finished, so a sweep may exceed a limit by the
episodes that were being played when it was reached.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from tradefair.contract import ScenarioError
from tradefair.frameworks.models.access import endpoint_url
from tradefair.frameworks.models.prices import check_priced
from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.plan import Budget, ProviderLimits
from tradefair.runner.plans.play import Spent
from tradefair.runner.play.agent_spec import AgentSpec


def provider_of(agent: AgentSpec) -> str | None:
    """The provider of an agent's model calls: `host[:port]` of its endpoint, or the name of a provider's package.

    None for an agent that asks no provider: a policy, a model of this machine, or a recording.
    """
    endpoint = agent.endpoint
    # A recording answers in the endpoint's place, so its provider is never asked.
    if endpoint is None or agent.replay is not None or endpoint.kind in ("policy", "replay", "local"):
        return None
    if endpoint.kind == "langchain":
        return endpoint.label.partition(":")[0]
    # Without user and password: this name is shown, and is written in plans.
    return urlsplit(endpoint_url(endpoint.base_url)).netloc


class _Limit(NamedTuple):
    """A limit of the budget: its key, what is used of it, and the most that is allowed (None: no limit)."""

    name: str
    used: float
    most: float | None


@dataclass
class Account:
    """What a command has begun and its folder has spent, against the budget.

    `limits` and `spent` (tokens) are by provider, `asks` names the provider that each agent asks, by label.
    """

    budget: Budget
    limits: Mapping[str, ProviderLimits]
    asks: Mapping[str, str]
    spent: Counter[str] = field(default_factory=Counter[str])
    cost_usd_micro: int = 0
    begun: int = 0
    _since: float = field(default_factory=time.monotonic)
    _asking: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, agents: Mapping[str, AgentSpec], budget: Budget, limits: Mapping[str, ProviderLimits]) -> Account:
        """An account that has spent nothing.

        Raises ScenarioError for a provider that no agent asks, and for a budget in dollars where a model has no price.
        """
        asks = {label: provider for label, agent in agents.items() if (provider := provider_of(agent)) is not None}
        for provider in limits:
            if provider not in asks.values():
                asked = ", ".join(sorted(set(asks.values()))) or "nobody"
                raise ScenarioError(f"provider.{provider}: no agent of the plan asks it; they ask {asked}")
        for label in asks if budget.cost_usd is not None else ():
            check_priced(agents[label].model, "budget.cost_usd")
        return cls(budget, limits, asks)

    def spend(self, spent: Mapping[str, Spent]) -> None:
        """Set what the folder has spent: tokens and micro-dollars by label of agent; policies spend nothing."""
        # Set, not added: the table's sums hold what other commands and earlier runs have spent too.
        self.spent = Counter[str]()
        for label, provider in self.asks.items():
            self.spent[provider] += spent.get(label, Spent()).tokens
        self.cost_usd_micro = sum(spent[label].cost_usd_micro for label in self.asks if label in spent)

    @property
    def tokens(self) -> int:
        """Tokens of all providers."""
        return self.spent.total()

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.monotonic() - self._since

    @property
    def used_up(self) -> str | None:
        """The limit that forbids another episode, as a sentence; None while there is room."""
        budget, dollars = self.budget, self.cost_usd_micro / 1e6
        for name, used, most in (
            _Limit("episodes", self.begun, budget.episodes),
            _Limit("wall_time_s", self.seconds, budget.wall_time_s),
            _Limit("tokens", self.tokens, budget.tokens),
            _Limit("cost_usd", dollars, budget.cost_usd),
        ):
            if most is not None and used >= most:
                return f"budget.{name} = {most:,g} is used up"
        return None

    def forbids(self, episode: EpisodeSpec) -> str | None:
        """The provider's limit that forbids this episode for good, as a sentence; None where none does.

        Only limits of tokens: a provider without room now may have some later, which `has_room` tells.
        """
        for provider in self._seats(episode):
            most = self.limits[provider].tokens if provider in self.limits else None
            if most is not None and self.spent[provider] >= most:
                return f'provider."{provider}".tokens = {most:,} is used up'
        return None

    def has_room(self, episode: EpisodeSpec) -> bool:
        """Whether the episode's seats may ask their providers now.

        `concurrency` counts seats and not episodes: each seat of an agent asks by itself.
        """
        # An episode with more seats than a provider takes at a time would otherwise never begin: it begins alone.
        return all(
            provider not in self.limits
            or (most := self.limits[provider].concurrency) is None
            or not self._asking[provider]
            or self._asking[provider] + seats <= most
            for provider, seats in self._seats(episode).items()
        )

    def begin(self, episode: EpisodeSpec) -> None:
        """Count an episode as begun."""
        self.begun += 1
        self._asking += self._seats(episode)

    def take_back(self, episode: EpisodeSpec) -> None:
        """Undo `begin` for an episode that was not played."""
        self.begun -= 1
        self.end(episode)

    def end(self, episode: EpisodeSpec) -> None:
        """Free the provider's places that an episode's seats held."""
        self._asking -= self._seats(episode)

    def _seats(self, episode: EpisodeSpec) -> Counter[str]:
        # A sweep of policies asks no provider, so nothing has to be counted.
        if not self.asks:
            return Counter()
        return Counter(self.asks[label] for label in episode.players.values() if label in self.asks)
