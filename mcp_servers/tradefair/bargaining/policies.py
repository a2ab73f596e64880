"""Scripted seats: the registry, the policy that drives tools, and the privileged oracle."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, cast

from tradefair.bargaining.model import PRICE_MAX, Role, role_of
from tradefair.bargaining.rules import HiddenTruth
from tradefair.bargaining.seats import strategies
from tradefair.bargaining.seats.strategies import Strategy
from tradefair.bargaining.seats.templates import Said, render
from tradefair.contract import Draw, PolicySpec, ToolAnswer, ToolCall, Turns, TurnView
from tradefair.contract.policy import scripted
from tradefair.trading.mirror import MirroredPolicy, TraderView

_ROLES = frozenset({"buyer", "seller"})


class BargainingPolicy:
    """Plays a strategy over tools: the own limit once, then per phase what is new, and one message or quote.

    Its first turn is its first round, whenever it joins. A refused reading or quote ends the turn; a refused message
    becomes silence.

    A seller's strategy sees and decides in buyer terms, through the mirror.
    """

    def __init__(self, strategy: Strategy, draw: Draw) -> None:
        self._strategy, self._draw = strategy, draw
        self._role: Role = "buyer"
        self._view: TraderView | None = None
        self._mirror: MirroredPolicy | None = None
        self._shown = 0
        self._heard = 0

    def turn(self, now: TurnView) -> Turns:
        """At most one view_my_value, the pages of new rounds, new messages, and one action."""
        if self._view is None:
            answer = yield ToolCall("view_my_value")
            if answer.error is not None:
                return
            self._start(answer.data, now)
        view = self._view
        assert view is not None
        # In the quote phase of a round these rows are known from its talk.
        if self._shown < now.round - 1:
            new = yield from self._rounds()
            if new is None:
                return
            for row in new:
                self._show(view, row)
        if now.phase == "quote":
            yield from self._quote(now, view)
        else:
            yield from self._speak(view)

    def _quote(self, now: TurnView, view: TraderView) -> Turns:
        # Without chat there is no message tool to ask.
        if now.market["speaking_order"] is not None:
            yield from self._listen()
        price = self._decided(view)
        if price is not None:
            yield ToolCall("submit_quote", {"price": price})

    def _speak(self, view: TraderView) -> Turns:
        said = self._said(view)
        answer = yield ToolCall("send_message", {"text": said})
        if answer.error is not None:
            # A refused message leaves the seat's act due; silence is always accepted.
            yield ToolCall("send_message", {})

    def _listen(self) -> Turns:
        """Let the strategy hear what the counterpart said since it listened last."""
        answer = yield ToolCall("read_messages", {"after": self._heard})
        if answer.error is not None:
            return
        for row in answer.data["messages"]:
            self._heard = row["number"]
            # Its own messages are in the list too.
            if row["untrusted"]:
                self._strategy.hear(row["text"])

    def _start(self, own: Mapping[str, Any], now: TurnView) -> None:
        self._role = own["role"]
        self._mirror = MirroredPolicy(self._strategy) if self._role == "seller" else None
        # The view counts the rounds of the whole game, so that time means the same to whoever joins late.
        self._view = TraderView(own["limit"], PRICE_MAX, cast("int", now.market["rounds"]), draw=self._draw)
        self._view.round = now.round
        self._shown = now.round - 1

    def _rounds(self) -> Generator[ToolCall, ToolAnswer, list[Mapping[str, Any]] | None]:
        """Rows of the rounds since the last look, oldest first; None when the reading was refused."""
        rows: list[Mapping[str, Any]] = []
        arguments: dict[str, Any] = {"from_round": self._shown + 1}
        while True:
            answer = yield ToolCall("view_history", dict(arguments))
            if answer.error is not None:
                return None
            rows += answer.data["rounds"]
            arguments["cursor"] = answer.data["next_cursor"]
            if arguments["cursor"] is None:
                return rows

    def _show(self, view: TraderView, row: Mapping[str, Any]) -> None:
        """Append a row of view_history to the seat's view.

        Prices are in the seat's own terms; lists are empty where the counterpart forfeited or nothing was traded.
        """
        own, theirs = (row["bid"], row["ask"]) if self._role == "buyer" else (row["ask"], row["bid"])
        price = row["price"]
        # There are no other quotes on the own side: one seat each.
        view.close_round(own, price, [], [] if theirs is None else [theirs], [] if price is None else [price])
        self._shown = row["round"]

    def _decided(self, view: TraderView) -> int | None:
        return self._strategy.quote(view) if self._mirror is None else self._mirror.quote(view)

    def _said(self, view: TraderView) -> str:
        if self._mirror is not None:
            # Messages are composed in buyer terms too; `render` turns them round.
            view = self._mirror.mirrored(view)
        said = self._strategy.message(view)
        if isinstance(said, Said):
            return render(said, self._role)
        return said or ""


class Oracle:
    """Knows both limits: opens just inside the counterpart's, and gives way a tenth of the gap after two dry rounds.

    Strong against stubborn counterparts, but no bound.

    Privileged: in process only. Opens with a tenth of the gap for the counterpart and gives up to half of it.
    """

    def __init__(self) -> None:
        self._truth: HiddenTruth | None = None
        self._tenths = 1
        self._dry = 0
        self._round = 0
        self._bid: int | None = None

    def see(self, truth: object) -> None:
        """Take in both limits."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth

    def turn(self, now: TurnView) -> Turns:
        """Silence, then a quote."""
        if now.phase != "quote":
            yield ToolCall("send_message", {})
            return
        traded = False
        if now.round > 1:
            answer = yield ToolCall("view_history", {"from_round": now.round - 1})
            if answer.error is not None:
                return
            traded = answer.data["rounds"][-1]["traded"]
        yield ToolCall("submit_quote", {"price": self._price(now, traded)})

    def _price(self, now: TurnView, traded: bool) -> int:
        assert self._truth is not None
        limits, buys = self._truth.limits, role_of(now.seat) == "buyer"
        value, cost = (limits.value, limits.cost) if buys else (PRICE_MAX - limits.cost, PRICE_MAX - limits.value)
        if self._bid is not None and not traded:
            self._dry += 1
            # A tenth more of the gap after two rounds without a trade, half of it at most (section 8).
            if self._dry == 2:
                self._tenths, self._dry = min(5, self._tenths + 1), 0
        if value <= cost:
            bid = value
        else:
            # Rounded up, and at least one tick: the counterpart must gain something.
            bid = cost + max(1, -(-(value - cost) * self._tenths // 10))
            # After a trade the same bid again, else never a retreat.
            bid = bid if self._bid is None else (self._bid if traded else max(bid, self._bid))
        self._bid = bid
        return bid if buys else PRICE_MAX - bid


_REFERENCES = (strategies.Passive, strategies.Truthful, strategies.LinearConcession)
_SPECS = (
    *(
        scripted(
            rule,
            _ROLES,
            BargainingPolicy,
            reference=rule in _REFERENCES,
            on_every_seat=rule is strategies.LinearEquilibrium,
            stand_in=rule is strategies.LinearConcession,
        )
        for rule in strategies.STRATEGIES
    ),
    scripted(Oracle, _ROLES, privileged=True, reference=True),
)
POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
