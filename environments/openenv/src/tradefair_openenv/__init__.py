"""Markets of tradefair as an OpenEnv environment."""

from tradefair_openenv.models import Answer, Call, Place

__all__ = ["Answer", "Call", "Place"]
