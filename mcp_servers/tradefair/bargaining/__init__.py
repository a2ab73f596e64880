"""Repeated bargaining of one buyer and one seller, with talk (PACT)."""

from tradefair.bargaining.tools import MARKET

__all__ = ["MARKET"]
