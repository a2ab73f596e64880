"""A supermarket over many days: prices, orders, suppliers, shelf, ageing stock, reviews, returns and news."""

from tradefair.retail.tools import MARKET

__all__ = ["MARKET"]
