"""Markets of a tradefair server as tasks of verifiers: `vf-eval tradefair-verifiers`."""

from tradefair_verifiers.taskset import MarketHarness, MarketTaskset

__all__ = ["MarketHarness", "MarketTaskset"]
