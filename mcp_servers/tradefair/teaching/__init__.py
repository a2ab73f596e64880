"""A tiny market for tests and docs: two seats divide a pie, three times."""

from tradefair.teaching.tools import MARKET

__all__ = ["MARKET"]
