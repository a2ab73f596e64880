"""Markets of a tradefair server as a task of Inspect: `inspect eval tradefair_inspect/market`."""

from tradefair_inspect.task import earned, market, seat

__all__ = ["earned", "market", "seat"]
