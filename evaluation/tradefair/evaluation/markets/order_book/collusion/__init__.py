"""Levels of an order book beside honest populations: how dear, how much withheld, which ticks are quoted."""
