"""Two agents at one market, by verifiers' name of an environment: `--env.id tradefair-selfplay`."""

from tradefair_verifiers.selfplay import SelfPlayEnv

__all__ = ["SelfPlayEnv"]
