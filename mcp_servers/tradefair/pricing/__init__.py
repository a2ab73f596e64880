"""Posted prices: firms set prices at once, consumers choose by logit, everybody sees the prices."""

from tradefair.pricing.tools import MARKET

__all__ = ["MARKET"]
