"""A two-sided marketplace of customers' assistants and businesses' services (Magentic Marketplace)."""

from fairground.marketplace.tools import MARKET

__all__ = ["MARKET"]
