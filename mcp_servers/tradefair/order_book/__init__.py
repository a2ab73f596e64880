"""A continuous double auction with a limit order book."""

from tradefair.order_book.tools import MARKET

__all__ = ["MARKET"]
