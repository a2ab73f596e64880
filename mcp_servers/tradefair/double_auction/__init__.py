"""A repeated sealed call double auction (BAZAAR): one quote per seat and round, matched by rank, paid at midpoints."""

from tradefair.double_auction.tools import MARKET

__all__ = ["MARKET"]
