"""The reference tables of `surplus_alpha`: all-truthful episodes by the real rules, and the statistics of their seats.

All seats quote their values, so that no seat reads anything: the rules alone play an episode.
Tables do not depend on how the seeds are shared out.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import canonical
from tradefair.double_auction.model import DoubleAuctionScenario, role_of
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    ALL,
    CAUTION,
    MIN_SEATS,
    VECTOR_SEATS,
    Form,
    ReferenceFile,
    ReferenceTable,
    Row,
    SeatResult,
    Shape,
    Side,
    share_of,
    spread_bucket,
    value_bucket,
)
from tradefair.trading.chance import open_chance
from tradefair.trading.clearing import Pair, clear, potentials, residual_spread
from tradefair.trading.values import LAWS

EPISODES = 60_000
"""Of one table, on the keyed seeds 1, 2, …"""
SLICE = 2_000
"""So many of the first seeds are replayed by a check."""
ALL_LAWS: tuple[str, ...] = LAWS
"""Of a shape that is built on demand; the package has the four that the benchmark mixes."""
BUNDLED_SHAPES = tuple(
    Shape(n_buyers, n_sellers, rounds, 100, law)
    for n_buyers, n_sellers, rounds in ((4, 4, 30), (3, 3, 8), (1, 1, 30))
    for law in ("heavy_tailed", "correlated_source", "uniform", "semi_bimodal")
)
_RECIPE = "python -m benchmarks.references_tables --out FILE"
_SIDES: tuple[Side, Side] = ("buyer", "seller")
_DECIMALS = 6


class Played(NamedTuple):
    """Results of the seats of consecutive seeds: how often each occurred, and a digest of them in their order."""

    seats: Counter[SeatResult]
    digest: str


def play_truthful(shape: Shape, seeds: Iterable[int], *, round_by_round: bool = False) -> Played:
    """All-truthful episodes of the shape by the rules, quotes and all; nothing is logged.

    Where no two seats of a side have the same value, every round brings the same pairs and only coins differ: such an
    episode is cleared once. `round_by_round` takes the engine through every round of every episode; results are equal.
    """
    scenario = _scenario(shape)
    seats: Counter[SeatResult] = Counter()
    digest = hashlib.blake2b(digest_size=32)
    for seed in seeds:
        # The short way takes a fifth of the time; `--check` holds it against the long one.
        results = None if round_by_round else _cleared_once(scenario, seed)
        results = results or _results(_episode(scenario, seed))
        seats.update(results)
        # The seed goes in as well: equal results of exchanged seeds must not give an equal digest.
        digest.update(canonical([seed, [list(result) for result in results]]))
    return Played(seats, digest.hexdigest())


def _cleared_once(scenario: DoubleAuctionScenario, seed: int) -> list[SeatResult] | None:
    """The episode by its values, one clearing and the coins of uneven prices; None where ties need the quote order.

    Payoffs are totals over all rounds, in points. Equal to what the engine gives, seat by seat.
    """
    roster, law = scenario.roster, scenario.distribution
    # A table is for one law: a mix would average four distributions into one that no episode has.
    assert law not in ("mix", "explicit")
    chance = open_chance("keyed", seed, roster, price_max=scenario.price_max)
    values = chance.limits(law, scenario.accepted).values
    bids, asks = ({seat: values[seat] for seat in side} for side in roster)
    # Equal values let the quote order decide who trades, and that order is drawn again for every round.
    if len(set(bids.values())) < len(bids) or len(set(asks.values())) < len(asks):
        return None
    rounds = range(1, scenario.rounds + 1)
    payoff = dict.fromkeys(values, 0)
    # Quotes never change, so that one clearing gives the pairs of every round. Coins are left at "down" here and added
    # below, since one is drawn per round and pair.
    matches = clear(bids, asks, roster.seats, lambda pair: False)
    for match in matches:
        pair = Pair(match.buyer, match.seller)
        ups = sum(chance.round_up(number, pair) for number in rounds) if match.coin else 0
        # A coin moves a half point from one to the other: "up" costs the buyer one point and gives it to the seller.
        payoff[match.buyer] = len(rounds) * (match.bid - match.price) - ups
        payoff[match.seller] = len(rounds) * (match.price - match.ask) + ups
    # The pairs of all rounds are the same, so that the spread of any round is that of the last one.
    spread, most = residual_spread(bids, asks, matches), potentials(bids, asks)
    return [SeatResult(role_of(seat), value, payoff[seat], most[seat], spread) for seat, value in values.items()]


def _scenario(shape: Shape) -> DoubleAuctionScenario:
    """The bundled scenario `bazaar` in the sizes of the shape.

    Values are accepted by the usual rule for that many seats.
    """
    values = shape._asdict()
    if shape.n_buyers + shape.n_sellers > VECTOR_SEATS:
        # As the scenarios do: beyond 16 seats a whole vector is hardly ever accepted, and redrawing never ends.
        values["acceptance"] = "per_seat"
    return cast(DoubleAuctionScenario, load_scenario("double_auction", "bazaar", values))


def _episode(scenario: DoubleAuctionScenario, seed: int) -> DoubleAuction:
    """A finished episode in which every seat quotes its value in each round."""
    market = DoubleAuction(scenario, seed)
    # Straight from the state: a truthful seat quotes its value whatever it could read.
    quotes = list(market.state.private.by_seat.items())
    while market.terminated is None:
        for seat, value in quotes:
            market.place(seat, value)
        market.close_round()
    return market


def _results(market: DoubleAuction) -> list[SeatResult]:
    """Results of all seats, in the order of the seats."""
    state = market.state
    # Of the last round, as the source's key has it: what was left to trade when the episode ended.
    spread = state.rounds[-1].residual_spread
    return [
        SeatResult(role_of(seat), value, state.payoff[seat], state.private.potential[seat], spread)
        for seat, value in state.private.by_seat.items()
    ]


# --- statistics -----------------------------------------------------------------------------------------------------


def table_of(shape: Shape, seats: Mapping[SeatResult, int], episodes: int, slice_digest: str) -> ReferenceTable:
    """Table of a shape from how often each result occurred: means and deviations by key, rounded to six decimals.

    Keys with fewer than MIN_SEATS seats are left out, since no score would use them.
    """
    return ReferenceTable(
        **shape._asdict(),
        episodes=episodes,
        slice_digest=slice_digest,
        source={side: _source_rows(shape, side, seats) for side in _SIDES},
        clean={side: _clean_rows(shape, side, seats) for side in _SIDES},
    )


_Shares = dict[float, int]
"""How often each share occurred."""


def _source_rows(shape: Shape, side: Side, seats: Mapping[SeatResult, int]) -> dict[str, dict[str, Row]]:
    """Rows of the source's form for one side: by value bucket, then by bucket of the last round's spread."""
    cells: dict[str, dict[str, _Shares]] = {}
    for seat, count in seats.items():
        if seat.side == side:
            share = share_of("source", seat, shape.rounds)
            bucket, spread = _value(shape, "source", seat), spread_bucket(seat.last_spread, shape.price_max)
            # Every seat counts in all three keys, from fine to coarse, so that a thin key has something to fall back
            # to.
            for value, cell in ((bucket, spread), (bucket, ALL), (ALL, ALL)):
                _count(cells.setdefault(value, {}).setdefault(cell, {}), share, count)
    # Sorted, so that a file built twice is equal byte for byte.
    rows = {value: _thick(found, coarsest=value == ALL) for value, found in sorted(cells.items(), key=_by_number)}
    return {value: found for value, found in rows.items() if found}


def _clean_rows(shape: Shape, side: Side, seats: Mapping[SeatResult, int]) -> dict[str, Row]:
    """Rows of our form for one side, by value bucket in buyer terms; `all` holds every seat of the side."""
    cells: dict[str, _Shares] = {}
    for seat, count in seats.items():
        if seat.side == side:
            for value in (_value(shape, "clean", seat), ALL):
                _count(cells.setdefault(value, {}), share_of("clean", seat, shape.rounds), count)
    # The coarsest row is kept however thin it is: without it small builds would score nothing.
    return _thick(cells, coarsest=False) | {ALL: _row(cells[ALL])}


def _value(shape: Shape, form: Form, seat: SeatResult) -> str:
    return value_bucket(form, seat.side, seat.value, shape.price_max)


def _count(cell: _Shares, share: float, count: int) -> None:
    cell[share] = cell.get(share, 0) + count


def _thick(cells: Mapping[str, _Shares], *, coarsest: bool) -> dict[str, Row]:
    """Rows of the cells with at least MIN_SEATS seats; `coarsest` keeps the others too."""
    rows = {name: _row(cell) for name, cell in sorted(cells.items(), key=_by_number)}
    return {name: row for name, row in rows.items() if coarsest or row.seats >= MIN_SEATS}


def _by_number(item: tuple[str, Any]) -> tuple[bool, float]:
    """Buckets by their points, words after them."""
    name = item[0]
    number = name.lstrip("-").replace(".", "", 1).isdecimal()
    return not number, float(name) if number else 0.0


def _row(cell: _Shares) -> Row:
    """Population mean and deviation; `fsum` of sorted terms, so that no order of counting shows."""
    seats = sum(cell.values())
    # Processes bring counts in any order, and float sums depend on the order of their terms.
    shares = sorted(cell.items())
    mean = math.fsum(share * count for share, count in shares) / seats
    variance = math.fsum(count * (share - mean) ** 2 for share, count in shares) / seats
    return Row(round(mean, _DECIMALS), round(math.sqrt(variance), _DECIMALS), seats)


# --- the file -------------------------------------------------------------------------------------------------------


def file_of(tables: Iterable[ReferenceTable]) -> ReferenceFile:
    """The tables with what made them."""
    listed = list(tables)
    # Of the tables alone: the recipe and the caution may be worded otherwise without making the tables foreign.
    content = canonical([table.model_dump(mode="json") for table in listed])
    return ReferenceFile(
        about=f"All-truthful play of the double auction, for csa and csa_clean (page, 9.4). Rows: mean, sd, seats. "
        f"Caution: {CAUTION}.",
        market="double_auction",
        rules_version=market_type("double_auction").version,
        recipe=_RECIPE,
        digest=hashlib.blake2b(content, digest_size=32).hexdigest(),
        tables=listed,
    )


def file_text(file: ReferenceFile) -> str:
    """The file as JSON; rows of one value stand in one line, so that a change is a readable one."""
    return _written(file.model_dump(mode="json"), 0) + "\n"


def _written(value: Any, depth: int) -> str:
    """JSON text with one line per innermost mapping; `depth` is the indentation in spaces."""
    if not isinstance(value, dict | list) or not _holds_mappings(value):
        return json.dumps(value, ensure_ascii=False)
    pad, close = " " * (depth + 1), " " * depth
    if isinstance(value, list):
        lines = [_written(item, depth + 1) for item in cast(list[object], value)]
    else:
        named = cast(dict[str, object], value).items()
        lines = [f"{json.dumps(key)}: {_written(item, depth + 1)}" for key, item in named]
    begin, end = "[]" if isinstance(value, list) else "{}"
    body = ",\n".join(f"{pad}{line}" for line in lines)
    return f"{begin}\n{body}\n{close}{end}"


def _holds_mappings(value: Any) -> bool:
    """Whether it gets lines of its own: rows, which are lists of numbers, and mappings of rows do not."""
    inner = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(list[Any], value)
    return any(isinstance(item, dict) or (isinstance(item, list) and _holds_mappings(item)) for item in inner)
