"""Whole episodes of scripted seats on a data set, and what came of them, computed from the facts of the trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tradefair.contract.scenario import build_scenario
from tradefair.marketplace import MARKET
from tradefair.marketplace.engine.facts import CustomerFacts, EndingFacts, ProposalFacts, RoundFacts
from tradefair.marketplace.model import Catalogue, MarketplaceScenario
from tradefair.testing import Playthrough, play_scripted


class Ended:
    """A finished episode: its truth and its money, in cents."""

    def __init__(self, played: Playthrough) -> None:
        self.played = played
        self.reason = played.core.ended

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """All events in order."""
        return [json.loads(body) for body in self.played.bodies]

    @cached_property
    def ending(self) -> EndingFacts:
        """The facts of the end."""
        return EndingFacts.model_validate(self.events[-1]["facts"])

    @cached_property
    def rounds(self) -> list[RoundFacts]:
        """The facts of every closed round."""
        return [RoundFacts.model_validate(event["facts"]) for event in self.events if event["event"] == "round_closed"]

    @cached_property
    def proposals(self) -> dict[str, ProposalFacts]:
        """Every proposal that was sent."""
        return {each.proposal: each for one in self.rounds for each in one.proposals}

    @cached_property
    def paid(self) -> list[ProposalFacts]:
        """What was paid and not refunded, in order."""
        settled = [each for one in self.rounds for each in one.settlements]
        refunded = {each.proposal for each in settled if each.kind == "refund"}
        return [
            self.proposals[each.proposal]
            for each in settled
            if each.kind == "payment" and each.proposal not in refunded
        ]

    @property
    def customers(self) -> Mapping[str, CustomerFacts]:
        """The hidden truth of every customer."""
        return self.ending.customers

    def utility(self, customer: str) -> int:
        """U_i = V_i·[some paid p fits] − Σ totals."""
        own = [each for each in self.paid if each.customer == customer]
        return self.customers[customer].value * any(each.fits for each in own) - sum(each.total for each in own)

    @property
    def welfare(self) -> int:
        """W = Σ U_i."""
        return sum(map(self.utility, self.customers))

    @property
    def surplus(self) -> int:
        """Σ over first fitting purchases of V − floor, and of others of − floor: buyers' and sellers' together."""
        gained, served = 0, set[str]()
        for each in self.paid:
            value = self.customers[each.customer].value if each.fits and each.customer not in served else 0
            served |= {each.customer} if each.fits else set()
            gained += value - each.floor
        return gained

    def calls(self, tool: str, seat: str | None = None) -> list[dict[str, Any]]:
        """Calls of a tool, of one seat if one is named."""
        found = [event for event in self.events if event["event"] == "tool_called" and event["tool"] == tool]
        return found if seat is None else [event for event in found if event["seat"] == seat]

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """(tool, code) of every call that was refused."""
        called = [event for event in self.events if event["event"] == "tool_called" and event["status"] != "ok"]
        return [(event["tool"], event["error"]["code"]) for event in called]


def scenario_of(data: Catalogue | Mapping[str, Any], **given: Any) -> MarketplaceScenario:
    """A scenario on a data set, or on what the keys of `data` have generated; the rest are its other keys."""
    source: dict[str, Any] = {"data": dict(data)} if isinstance(data, Mapping) else {}
    if isinstance(data, Catalogue):
        source = {"data": {"source": "folder", "path": "x"}, "catalogue": data.model_dump()}
    return build_scenario(MarketplaceScenario, {"id": "marketplace/x", **source, **given}, source="test")


def play(
    data: Catalogue | Mapping[str, Any],
    customers: str,
    businesses: str = "honest",
    *,
    seed: int = 1,
    seats: Mapping[str, str] | None = None,
    **given: Any,
) -> Ended:
    """An episode of `scenario_of(data, **given)`; `seats` says what single seats play."""
    roles = {"customer": customers, "business": businesses, **(seats or {})}
    return Ended(play_scripted(MARKET, scenario_of(data, **given), seed, roles))
