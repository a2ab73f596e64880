"""A two-sided marketplace of customers' assistants and businesses' services (Magentic Marketplace)."""

from tradefair.marketplace.tools import MARKET

__all__ = ["MARKET"]
