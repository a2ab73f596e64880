"""Scripted seats: the registry and the policy that drives tools."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from tradefair.contract import Draw, PolicySpec, SeatId, ToolAnswer, ToolCall, Turns, TurnView
from tradefair.contract.policy import Passive, scripted
from tradefair.double_auction.model import Role
from tradefair.double_auction.seats.controls import CONTROLS, Blind, Contrary, OracleSealed, OracleValues
from tradefair.double_auction.seats.talkers import TALKERS, CartelBuyers, CartelSellers
from tradefair.double_auction.seats.talking import SILENCE, Heard, Said, Speaker, Talker
from tradefair.double_auction.seats.traders import TRADERS, Kaplan, Truthful, Zip
from tradefair.double_auction.seats.traders_identified import IDENTIFIED_TRADERS
from tradefair.double_auction.seats.traders_learning import LEARNING_TRADERS
from tradefair.trading.mirror import MirroredPolicy, Trader, TraderView


class Revealed(NamedTuple):
    """A closed round for the traders' views; bids highest first, asks lowest first, prices in rank order."""

    quotes: Mapping[SeatId, int]
    fills: Mapping[SeatId, int]
    bids: list[int]
    asks: list[int]
    prices: list[int]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Revealed:
        """From a row of view_history."""
        quotes: dict[SeatId, int] = {}
        sides: dict[str, list[int]] = {"buyer": [], "seller": []}
        for quote in row["quotes"]:
            quotes[quote["trader"]] = quote["price"]
            sides[quote["role"]].append(quote["price"])
        trades = row["trades"]
        fills = {trade[side]: trade["price"] for trade in trades for side in ("buyer", "seller")}
        bids, asks = sorted(sides["buyer"], reverse=True), sorted(sides["seller"])
        return cls(quotes, fills, bids, asks, [trade["price"] for trade in trades])

    def show(self, view: TraderView, seat: SeatId, role: Role) -> None:
        """Append the round to the view of `seat`."""
        own, opposite = (self.bids, self.asks) if role == "buyer" else (self.asks, self.bids)
        quote = self.quotes.get(seat)
        if quote is not None:
            # The list is shared by the views of all seats.
            own = own.copy()
            own.remove(quote)
        view.close_round(quote, self.fills.get(seat), own, opposite, self.prices)


class TradingPolicy:
    """Plays a trader over tools: the own value once, then per round the new history and one quote.

    Where there is talk, a talker also says something and reads what it was sent; others stay silent unseen. Its first
    turn is its first round, whenever it joins. A refused reading ends the turn: the seat forfeits the round, or stays
    silent. So does a refused message.
    """

    def __init__(self, trader: Trader, draw: Draw) -> None:
        self._trader, self._draw = trader, draw
        self._talker = trader if isinstance(trader, Talker) else None
        self._mirror: MirroredPolicy | None = None
        self._heard: int | None = None
        """Number of the last message that was read; null before the first talk."""
        self._recipients: Sequence[str] | None = None
        self._role: Role = "buyer"
        self._view: TraderView | None = None
        self._shown = 0
        """Last round of the market that the view holds."""

    def turn(self, now: TurnView) -> Turns:
        """At most one view_my_value, the pages of new rounds and messages, one action."""
        # Without a look: a trader that does not talk has nothing to read yet.
        if now.phase == "talk" and self._talker is None:
            yield ToolCall("send_message", SILENCE)
            return
        if self._view is None:
            answer = yield ToolCall("view_my_value")
            if answer.error is not None:
                return
            self._start(answer.data)
        view = self._view
        assert view is not None
        if self._shown < now.round - 1:
            new = yield from self._new_rounds()
            if new is None:
                return
            self._take_in(view, new, now.seat)
        if now.phase == "talk":
            yield from self._speak(view, now.seat)
            return
        if self._heard is not None:
            yield from self._listen(Speaker(now.seat, view.price_max))
        price = self._trader.quote(view)
        if price is not None:
            yield ToolCall("submit_quote", {"price": price})

    def _speak(self, view: TraderView, seat: SeatId) -> Turns:
        assert self._talker is not None
        # From the first talk on it listens before each quote.
        self._heard = self._heard or 0
        if self._recipients is None and self._talker.looks_up_recipients:
            rules = yield ToolCall("view_rules")
            if rules.error is not None:
                return
            self._recipients = rules.data["rules"]["chat"]["recipients"]
        seen = view if self._mirror is None else self._mirror.mirrored(view)
        said = self._talker.say(seen, Speaker(seat, view.price_max, self._recipients or ()))
        answer = yield ToolCall("send_message", _arguments(said))
        # A refused message leaves the seat's act due; silence is always accepted.
        if answer.error is not None and said is not None:
            yield ToolCall("send_message", SILENCE)

    def _listen(self, speaker: Speaker) -> Turns:
        """Let the talker hear what others have sent since it listened last."""
        assert self._talker is not None
        more: int | None = self._heard
        while more is not None:
            answer = yield ToolCall("read_messages", {"after": more})
            if answer.error is not None:
                return
            for row in answer.data["messages"]:
                self._heard = row["number"]
                # Its own messages are in the list too.
                if row["untrusted"]:
                    self._talker.hear(Heard(row["sender"], row["text"]), speaker)
            more = answer.data["next_cursor"]

    def _new_rounds(self) -> Generator[ToolCall, ToolAnswer, list[tuple[int, Revealed]] | None]:
        """The pages of the rounds that the view lacks, newest first; None where one was refused."""
        new: list[tuple[int, Revealed]] = []
        # With a first round the rows are full, even with more than 40 seats.
        arguments: dict[str, Any] = {"first_round": self._shown + 1}
        while True:
            answer = yield ToolCall("view_history", dict(arguments))
            if answer.body is None:
                return None
            rounds, arguments["cursor"] = _page(answer.body)
            new += rounds
            if arguments["cursor"] is None:
                return new

    def _start(self, own: Mapping[str, Any]) -> None:
        self._role = own["role"]
        # Only now is the role known: the same trader object serves either side.
        if self._role == "seller":
            self._trader = self._mirror = MirroredPolicy(self._trader)
        # Rounds are those that are left: for a seat that joins late the game begins with its first turn.
        self._view = TraderView(own["value"], own["price_max"], own["rounds_left"], draw=self._draw)
        self._shown = own["round"] - 1

    def _take_in(self, view: TraderView, newest_first: Sequence[tuple[int, Revealed]], seat: SeatId) -> None:
        # The view grows by rounds, oldest first; the tool answers newest first.
        for number, revealed in reversed(newest_first):
            revealed.show(view, seat, self._role)
            self._shown = number


@lru_cache(maxsize=16)
def _page(body: bytes) -> tuple[list[tuple[int, Revealed]], str | None]:
    """An answer of view_history, newest round first with its number, and its cursor.

    All seats are answered the same bytes: read once, for all of them.
    """
    page = orjson.loads(body)
    return [(row["round"], Revealed.of_row(row)) for row in page["rounds"]], page["next_cursor"]


def _arguments(said: Said | None) -> Mapping[str, Any]:
    """Of send_message."""
    return SILENCE if said is None else {"recipient": said.recipient, "message": said.text}


_PLAIN = (*TRADERS, *LEARNING_TRADERS, *IDENTIFIED_TRADERS, *CONTROLS, *TALKERS)
_BUYERS, _SELLERS = frozenset({"buyer"}), frozenset({"seller"})
_ROLES = _BUYERS | _SELLERS
_ROLES_OF: Mapping[type[Any], frozenset[str]] = {CartelBuyers: _BUYERS, CartelSellers: _SELLERS}
_SPECS = (
    scripted(Passive, _ROLES, reference=True),
    *(
        scripted(
            rule, _ROLES_OF.get(rule, _ROLES), TradingPolicy, reference=rule in (Truthful, Kaplan), stand_in=rule is Zip
        )
        for rule in _PLAIN
    ),
    scripted(Blind, _ROLES),
    scripted(Contrary, _ROLES),
    scripted(OracleSealed, _ROLES, privileged=True),
    scripted(OracleValues, _ROLES, privileged=True),
)
POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
