"""Whole episodes of the double auction by rules and traders alone: an oracle of tests, the engine of benchmarks.

`TradingPolicy` fills a trader's view from tool answers, `play_fast` fills it from the rules; both through `Revealed`,
and tests hold the quotes equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from tradefair.contract import Draw, IllegalAction, ScenarioError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.policy import parse_policy, with_parameters
from tradefair.double_auction.engine.talk import recipients
from tradefair.double_auction.model import ClosedRound, DoubleAuctionScenario, Role, role_of
from tradefair.double_auction.policies import POLICIES, Revealed
from tradefair.double_auction.rules import DoubleAuction
from tradefair.double_auction.seats.talking import Heard, Speaker, Talker
from tradefair.trading.mirror import MirroredPolicy, TraderView


def play_fast(
    scenario: DoubleAuctionScenario,
    seed: int,
    policies: Mapping[SeatId, str],
    policy_key: int = 0,
    inputs: Sequence[JsonValue] = (),
) -> DoubleAuction:
    """A whole episode by rules and traders alone, no tools and no events; the finished market.

    `policies` names one policy per seat (`zip`, `policy:zic`). The quotes are those that the same policies make over
    tools; `policy_key` gives them other draws. `inputs` is the luck of each round for `chance = recorded`.
    ScenarioError for a missing seat or an unknown policy, IllegalAction for luck that does not fit.
    """
    market = DoubleAuction(scenario, seed)
    if missing := [seat for seat in market.seats if seat not in policies]:
        raise ScenarioError(f"no policy for {', '.join(missing)}")
    players = [_Player(market, seat, policies[seat], policy_key) for seat in market.seats]
    while market.terminated is None:
        if market.clock.round <= len(inputs):
            market.feed("recorded_chance", inputs[market.clock.round - 1])
        if market.clock.phase == "talk":
            # All speak before any of them hears, and all hear before any quotes.
            for player in players:
                player.speak(market)
            market.advance()
            for player in players:
                player.listen(market)
        for player in players:
            player.act(market)
        revealed = _revealed(market.close_round())
        for player in players:
            revealed.show(player.view, player.seat, player.role)
    return market


def _revealed(closed: ClosedRound) -> Revealed:
    quotes = {**closed.bids, **closed.asks}
    prices = [match.price for match in closed.matches]
    return Revealed(
        quotes, closed.fills, sorted(closed.bids.values(), reverse=True), sorted(closed.asks.values()), prices
    )


class _Player:
    """A seat of `play_fast`: its trader and the view that the rules fill."""

    def __init__(self, market: DoubleAuction, seat: SeatId, policy: str, policy_key: int) -> None:
        name, params = parse_policy(policy)
        spec = POLICIES.get(name)
        # Rules without a quote of their own live on tools alone and cannot be played here.
        if spec is None or not (name == "passive" or hasattr(spec.rule, "quote")):
            raise ScenarioError(unknown("policy", policy, POLICIES, of="double_auction"))
        trader: Any = with_parameters(spec.rule, params)
        self.seat = seat
        self.role: Role = role_of(seat)
        scenario = market.scenario
        if self.role not in spec.roles:
            raise ScenarioError(f"{seat} = {policy!r}: not for a {self.role}")
        self.view = TraderView(market.state.private.by_seat[seat], scenario.price_max, scenario.rounds)
        self.view.draw = Draw.of(market.seed, seat, policy_key)
        self._talker = trader if isinstance(trader, Talker) else None
        self._mirror = None if self.role == "buyer" else MirroredPolicy(trader)
        self._heard = 0
        # `passive` is no trader.
        silent: Callable[[TraderView], int | None] = lambda view: None  # noqa: E731
        self.decide = silent if name == "passive" else (self._mirror or trader).quote

    def speak(self, market: DoubleAuction) -> None:
        """Say something, or stay silent: by choice or because the rules refuse the message."""
        said = None
        if self._talker is not None:
            seen = self.view if self._mirror is None else self._mirror.mirrored(self.view)
            said = self._talker.say(seen, Speaker(self.seat, self.view.price_max, recipients(market.scenario)))
        try:
            market.say(self.seat, said.recipient if said else "", said.text if said else "")
        except IllegalAction:
            # As over tools: what the rules refuse becomes silence.
            market.say(self.seat, "", "")

    def listen(self, market: DoubleAuction) -> None:
        """Hear what the others have sent."""
        inbox = market.state.inbox[self.seat]
        if self._talker is not None:
            for message in inbox[self._heard :]:
                if message.sender != self.seat:
                    self._talker.hear(Heard(message.sender, message.text), Speaker(self.seat, self.view.price_max))
        self._heard = len(inbox)

    def act(self, market: DoubleAuction) -> None:
        """Quote, or forfeit the round: by choice or because the rules refuse the quote."""
        price = self.decide(self.view)
        if price is not None:
            try:
                market.place(self.seat, price)
                return
            except IllegalAction:
                # Off the grid or through the value: over tools too the turn then ends without a quote.
                pass
        market.lapse(self.seat, "agent_limit")
