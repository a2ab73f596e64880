"""Retailers between an auction of scarce stock and buyers who notice slogans (Market-Bench)."""

from tradefair.supply_chain.tools import MARKET

__all__ = ["MARKET"]
