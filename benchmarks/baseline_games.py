"""Public BAZAAR games in compact form: one JSON object a line, as `bazaar/baseline_games.jsonl.gz` has them."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tradefair.contract import Draw, ScenarioError
from tradefair.contract.errors import in_plain_words
from tradefair.evaluation.markets.double_auction.source_table import csa_source
from tradefair.evaluation.markets.double_auction.surplus_alpha import SeatResult, Shape
from tradefair.trading.clearing import Match, potentials, residual_spread
from tradefair.trading.game_log import Price, WholePrice
from tradefair.trading.mirror import MirroredPolicy, Trader, TraderView

FILE = Path("bazaar", "baseline_games.jsonl.gz")
"""Under the folder of `TRADEFAIR_DATA`."""
Half = Literal["train", "test"]
PRICE_MAX = 100
_ROUNDS = 30
# Our names of the laws, by the source's.
_LAWS = {name: name for name in ("uniform", "semi_bimodal", "heavy_tailed")} | {"correlated": "correlated_source"}

Trade = tuple[Annotated[int, Field(ge=1, le=_ROUNDS)], str, str, WholePrice]
"""Round from 1, buyer, seller, price."""


class BaselineSeat(BaseModel):
    """A seat: its value or cost and the log id of who played it, `llm` for a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    role: Literal["buyer", "seller"]
    value: Price
    player: Annotated[str, Field(min_length=1, max_length=60)]


class BaselineGame(BaseModel):
    """One game of 30 rounds; quotes by seat and round, null where a seat quoted nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    game: Annotated[str, Field(min_length=1, max_length=60)]
    law: Literal["correlated", "heavy_tailed", "semi_bimodal", "uniform"]
    seats: Annotated[dict[str, BaselineSeat], Field(min_length=2, max_length=20)]
    quotes: dict[str, Annotated[list[Price | None], Field(min_length=_ROUNDS, max_length=_ROUNDS)]]
    trades: list[Trade]

    @model_validator(mode="after")
    def _seats_agree(self) -> Self:
        sides = {seat.role for seat in self.seats.values()}
        if set(self.quotes) != set(self.seats) or len(sides) < 2:
            raise ValueError("quotes and seats must name the same seats, of both roles")
        for number, buyer, seller, _ in self.trades:
            for role, seat in (("buyer", buyer), ("seller", seller)):
                if seat not in self.seats or self.seats[seat].role != role:
                    raise ValueError(f"a trade of round {number} names {seat[:20]!r} as its {role}")
                if self.quotes[seat][number - 1] is None:
                    raise ValueError(f"{seat} trades in round {number} without a quote")
        return self

    @property
    def half(self) -> Half:
        """The half of the games that this one belongs to, by a keyed hash of its name."""
        keyed = hashlib.blake2b(self.game.encode(), key=b"bazaar_traders", digest_size=1).digest()[0]
        return "test" if keyed % 2 else "train"

    def side(self, role: str) -> list[str]:
        """The seats of one role."""
        return [seat for seat, entry in self.seats.items() if entry.role == role]

    def quoted(self, place: int, role: str) -> dict[str, int]:
        """The quotes of one role in round index `place`, by seat."""
        found = {seat: self.quotes[seat][place] for seat in self.side(role)}
        return {seat: price for seat, price in found.items() if price is not None}

    def traded(self, place: int) -> list[Trade]:
        """The trades of round index `place`, in rank order."""
        return [trade for trade in self.trades if trade[0] == place + 1]


class Asked(NamedTuple):
    """One logged quote and a trader's for the same past, as shades below the value in buyer terms."""

    place: int
    logged: int
    ours: int


def read_games(path: Path) -> Iterator[BaselineGame]:
    """The games of the file. ScenarioError that names file, line and field for anything unexpected."""
    line = 0
    try:
        with gzip.open(path, "rb") as lines:
            for content in lines:
                line += 1
                yield BaselineGame.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, problem["loc"])) or "the whole line"
        raise ScenarioError(f"{path.name}, line {line}, {field}: {in_plain_words(problem['msg'])}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ScenarioError(f"{path.name}, line {line + 1}, the whole line: {error}") from None


def ask(game: BaselineGame, seat: str, trader: Trader, draw: Draw) -> Iterator[Asked]:
    """A trader's answers in each round of a seat's game, with the logged past before it, its own quotes included."""
    entry = game.seats[seat]
    buyer = entry.role == "buyer"
    sign = 1 if buyer else -1
    seated = trader if buyer else MirroredPolicy(trader)
    view = TraderView(entry.value, PRICE_MAX, _ROUNDS, draw=draw)
    for place in range(_ROUNDS):
        ours, logged = seated.quote(view), game.quotes[seat][place]
        if logged is not None and ours is not None:
            yield Asked(place, sign * (entry.value - logged), sign * (entry.value - ours))
        _show(view, game, seat, place)


def _show(view: TraderView, game: BaselineGame, seat: str, place: int) -> None:
    buyer = game.seats[seat].role == "buyer"
    own = game.quoted(place, "buyer" if buyer else "seller")
    opposite = game.quoted(place, "seller" if buyer else "buyer")
    quote = own.pop(seat, None)
    trades = game.traded(place)
    fill = next((price for _, *pair, price in trades if seat in pair), None)
    view.close_round(
        quote,
        fill,
        sorted(own.values(), reverse=buyer),
        sorted(opposite.values(), reverse=not buyer),
        [price for *_, price in trades],
    )


def scores(game: BaselineGame) -> Mapping[str, float | None]:
    """`csa_source` of each seat; null of a key that no solved one is near to."""
    costs, values = ({seat: game.seats[seat].value for seat in game.side(role)} for role in ("seller", "buyer"))
    bids, asks = (game.quoted(_ROUNDS - 1, role) for role in ("buyer", "seller"))
    last = [
        Match(buyer, seller, bids[buyer], asks[seller], None, price, buyer)
        for _, buyer, seller, price in game.traded(_ROUNDS - 1)
    ]
    spread = residual_spread(bids, asks, last)
    most = potentials(values, costs)
    payoffs = dict.fromkeys(game.seats, 0)
    for _, buyer, seller, price in game.trades:
        payoffs[buyer] += values[buyer] - price
        payoffs[seller] += price - costs[seller]
    shape = Shape(len(values), len(costs), _ROUNDS, PRICE_MAX, _LAWS[game.law])
    found = {
        seat: csa_source(shape, SeatResult(entry.role, entry.value, payoffs[seat], most[seat], spread))
        for seat, entry in game.seats.items()
    }
    return {seat: score and score.score for seat, score in found.items()}
