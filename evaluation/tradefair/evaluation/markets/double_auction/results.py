"""What the outcomes of the double auction say of a seat and of the market; `outcomes` has the formulas in code."""

from __future__ import annotations

from typing import Literal

from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.double_auction.source_table import Basis
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome

CsaMissing = Literal["unusual values", "cut short", "no table"]


class DoubleAuctionSeat(SeatOutcome):
    """What one seat earned, how it quoted and traded, and what it could have done; null where a figure is undefined.

    Shares and scores count losses; hindsight holds rivals, orders and forfeits as they were.

    Letters: R is the number of closed rounds, v a buyer's value, c a seller's cost, p* the middle of p_lo and p_hi.
    """

    value: int | None = figure("private value", "points", short="value", on="table")
    """v of a buyer, c of a seller, drawn once for the episode

    Null: the facts do not tell the values yet
    """
    payoff: int = figure("points earned", "points", "higher", over="total", on="table compare primary")
    """Σ over trades of v − price, for a seller of price − c"""
    payoff_per_round: float | None = figure("points earned a round", "points a round", "higher")
    """payoff / R

    Null: no round has closed
    """
    potential: int | None = figure("potential", "points a round")
    """of one round: max(0, v − lowest cost of all sellers), for a seller max(0, highest value − c)

    Null: the facts do not tell the values yet
    """
    surplus_share: float | None = figure(
        "share of what its value allowed", "share", "higher", short="share of possible", on="table compare"
    )
    """payoff / (R · potential); below 0 after losses

    Null: R · potential is 0
    """
    csa_clean: float | None = figure(
        "against a truthful seat (CSα)",
        "standard deviations",
        "higher",
        short="CSα",
        caution="rests on our table of all-truthful play: 0 is what a truthful seat earns among truthful seats; "
        "truthful play elsewhere need not score 0",
        on="table",
    )
    """as csa with losses counted, s = payoff / (R · max(1, potential)), and without the last spread in the key

    Null: no reference table: csa_missing says why
    Source: BAZAAR (Mazur 2025), with two corrections
    """
    trades: int = figure("trades", "trades", on="table compare")
    """rounds in which the seat traded; one trade a round at most"""
    trade_frequency: float | None = figure("trade frequency", "share")
    """trades / R

    Null: no round has closed
    """
    fill_rate: float | None = figure("fill rate", "share")
    """trades / rounds with a quote of the seat

    Null: the seat never quoted
    """
    forfeits: int = figure("forfeits", "rounds", "lower")
    """closed rounds without a quote of the seat"""
    offset_mean: float | None = figure(
        "mean distance of quotes from the value", "points", short="mean shading", on="table"
    )
    """mean of offsets over rounds with a quote

    Null: the seat never quoted
    """
    offset_median: float | None = figure("median distance of quotes from the value", "points", short="median shading")
    """median of offsets over rounds with a quote

    Null: the seat never quoted
    """
    offsets: list[int | None] = figure("distance of quotes from the value by round", "points", short="shading by round")
    """by closed round v − bid, for a seller ask − c: above 0 it shades, below 0 the quote is through the value

    Null: an entry is null where the seat forfeited
    Source: BAZAAR (Mazur 2025): quote less own value, with the sign of buyers turned
    """
    trade_offsets: list[int | None] = figure(
        "distance of trade prices from the value by round", "points", short="trade offsets"
    )
    """by closed round v − price, for a seller price − c: what the trade earned

    Null: an entry is null without a trade
    Source: BAZAAR (Mazur 2025): trade price against valuation
    """
    trade_prices: list[int | None] = figure("prices of the seat's trades by round", "points", short="trade prices")
    """by closed round the price of the seat's trade

    Null: an entry is null without a trade
    """
    traded: list[bool] = figure("traded", "yes or no")
    """by closed round, whether the seat traded"""
    through_value_rate: float | None = figure("quotes through the value", "share", "lower")
    """rounds with an offset below 0 / rounds with a quote

    Null: the seat never quoted
    """
    loss_trades: int = figure("losing trades", "trades", "lower")
    """rounds with a payoff below 0"""
    loss_sum: int = figure("sum of losses", "points", "higher")
    """Σ of the payoffs below 0: 0 or less"""
    price_edge: float | None = figure("price edge", "points", "higher")
    """mean over own trades of p* − price, for a seller of price − p*

    Null: no trade, or p* is not defined
    """
    static_regret: float | None = figure(
        "missed beside the best constant quote", "points", "lower", short="missed, constant"
    )
    """what the best constant quote would have earned more than the seat did; rivals, orders and forfeits as they were,
    a coin at its mean

    Null: no round has closed, or the facts contradict each other
    """
    static_regret_share: float | None = figure(
        "missed beside the best constant quote, share of what its value allowed",
        "share",
        "lower",
        short="missed, constant, share",
    )
    """static_regret / (R · potential)

    Null: no regret, or R · potential is 0
    """
    best_price: int | None = figure("best constant quote", "points")
    """the quote of static_regret; of equal ones the least shaded

    Null: as static_regret
    """
    dynamic_regret: float | None = figure(
        "missed beside the best quotes",
        "points",
        "lower",
        short="missed",
        caution="against the best quote of each round, known afterwards only; rivals do not react",
        on="table compare",
    )
    """what the best quote of each round would have earned more; rivals do not react, so no player could have known it

    Null: as static_regret
    """
    dynamic_regret_share: float | None = figure(
        "missed beside the best quotes, share of what its value allowed", "share", "lower", short="missed, share"
    )
    """dynamic_regret / (R · potential)

    Null: no regret, or R · potential is 0
    """
    csa: float | None = figure(
        "against a truthful seat (CSα), in the published form",
        "standard deviations",
        "higher",
        short="CSα, published form",
        caution="rests on our table of all-truthful play, not on the table of the published scores, which "
        "csa_source has",
    )
    """(s − mean) / max(sd, 0.05), clipped to −5..5; s = max(0, payoff) / (R · potential), mean and sd of truthful seats
    of the same side, value bucket and last spread

    Null: no reference table: csa_missing says why
    Source: BAZAAR (Mazur 2025)
    """
    csa_source: float | None = figure(
        "CSα by the source's table",
        "standard deviations",
        "higher",
        short="CSα, source's table",
        caution="rests on the 1,691 keys of the source's table that its public logs determine, not on "
        "all-truthful play; other keys are filled from these: see csa_source_basis and csa_source_error",
    )
    """as csa, with mean and sd of the table behind the published scores

    Null: other games than 4+4 seats on 0..100 over 30 rounds under one of the source's four laws, or a key that no
    solved one is near to
    Source: BAZAAR (Mazur 2025), table solved from the scores of its public logs
    """
    csa_source_basis: Basis | None = figure("what CSα by the source's table rests on", "name")
    """solved: the key's mean and sd follow from scores of the public logs; filled: from the solved keys around it

    Null: as csa_source
    """
    csa_source_error: float | None = figure("expected error of CSα by the source's table", "standard deviations")
    """root mean square of what solved keys near this one are off where each is left out; 0 of a solved key

    Null: as csa_source
    """
    csa_logged: float | None = figure(
        "CSα that the log gives",
        "standard deviations",
        "higher",
        short="CSα, logged",
        caution="the source's own score, on the source's whole table; nothing of ours is in it",
    )
    """seat_csa_map of the log's final line, as imported

    Null: no imported log, or one without scores
    Source: BAZAAR (Mazur 2025)
    """


class DoubleAuctionMarket(MarketOutcome):
    """How well the market did: surplus, what was lost of it, prices against the competitive one, what csa rest on."""

    distribution: str | None = figure("law of values", "name")
    """name of the law from which values and costs were drawn

    Null: the facts do not tell the values yet
    """
    q_star: int | None = figure("trades at equilibrium", "trades a round")
    """number of k with v(k) > c(k), values falling and costs rising

    Null: the facts do not tell the values yet
    """
    p_lo: int | None = figure("lowest clearing price", "points")
    """max(c(q*), v(q* + 1))

    Null: the facts do not tell the values yet, or q* is 0
    """
    p_hi: int | None = figure("highest clearing price", "points")
    """min(v(q*), c(q* + 1))

    Null: the facts do not tell the values yet, or q* is 0
    """
    max_surplus_per_round: int | None = figure("possible surplus a round", "points a round")
    """W* = Σ of v(k) − c(k) up to q*

    Null: the facts do not tell the values yet
    """
    surplus: int = figure("surplus", "points", "higher")
    """Σ over trades of v − c"""
    efficiency: float | None = figure("efficiency", "share", "higher", on="compare")
    """surplus / (R · W*); below 0 where trades lost more than they gained

    Null: R · W* is 0
    Source: Gode & Sunder 1993
    """
    efficiency_by_round: list[float | None] = figure("efficiency by round", "share", "higher")
    """surplus of the round / W*

    Null: every entry is null where W* is 0
    """
    lost_surplus: int | None = figure("lost surplus", "points", "lower")
    """R · W* − surplus = lost_missed + lost_extra_marginal

    Null: the facts do not tell the values yet
    """
    lost_missed: float | None = figure("lost by missed trades", "points", "lower")
    """Σ of the gains at p* of seats of rank q* or better in the rounds in which they did not trade

    Null: the facts do not tell the values yet
    """
    lost_extra_marginal: float | None = figure("lost by seats beyond the margin", "points", "lower")
    """Σ of the losses at p* of the other seats in the rounds in which they traded

    Null: the facts do not tell the values yet
    """
    smiths_alpha: float | None = figure("Smith's alpha", "per cent of p*", "lower")
    """100 · sqrt(mean over trades of (price − p*)²) / p*

    Null: no trade, or p* is 0 or not defined
    Source: Smith 1962
    """
    smiths_alpha_last_third: float | None = figure("Smith's alpha, last third", "per cent of p*", "lower")
    """smiths_alpha over the trades of rounds above 2/3 of R

    Null: as smiths_alpha, over those trades
    Source: Smith 1962
    """
    smiths_alpha_by_round: list[float | None] = figure("Smith's alpha by round", "per cent of p*", "lower")
    """smiths_alpha over the trades of the round

    Null: an entry is null in a round without a trade
    Source: Smith 1962
    """
    convergence: float | None = figure("trend of prices to the equilibrium", "points a round", "lower")
    """least-squares slope of abs(mean price − p*) on the round, over rounds with a trade: below 0 prices come closer

    Null: p* is not defined, or fewer than two rounds with a trade
    """
    price_mean: float | None = figure("mean price", "points", on="compare")
    """mean over trades

    Null: no trade
    """
    price_sd: float | None = figure("standard deviation of prices", "points")
    """population standard deviation over trades

    Null: no trade
    """
    trades: int = figure("trades", "trades")
    """number of trades"""
    trades_of_q_star: float | None = figure("trades over those at equilibrium", "share")
    """trades / (q* · R)

    Null: no round has closed, or q* is 0
    """
    profit_dispersion: float | None = figure("profit dispersion", "points a round", "lower")
    """sqrt(mean over seats of (payoff / R − max(0, gain at p*))²)

    Null: no round has closed, or p* is not defined
    Source: Gode & Sunder 1993
    """
    csa_episodes: int | None = figure("truthful episodes behind CSα", "episodes")
    """all-truthful episodes of the reference table of this shape and law, on which csa and csa_clean rest

    Null: there is no such table
    """
    csa_missing: CsaMissing | None = figure("why there is no CSα", "name")
    """unusual values, cut short, or no table

    Null: there is one
    """
    csa_source_missing: int | None = figure("seats without a published key", "seats", "lower")
    """seats whose key the source's table lacks: no solved key is near to it

    Null: the table is about other games
    """


DoubleAuctionOutcome = Outcome[DoubleAuctionSeat, DoubleAuctionMarket]
