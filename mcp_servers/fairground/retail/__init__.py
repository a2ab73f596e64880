"""A supermarket over many days: prices, orders, suppliers, shelf, ageing stock, reviews, returns and news."""

from fairground.retail.tools import MARKET

__all__ = ["MARKET"]
