"""Markets of tradefair as environments of TRL's GRPOTrainer."""

from tradefair_trl.environment import environment

__all__ = ["environment"]
