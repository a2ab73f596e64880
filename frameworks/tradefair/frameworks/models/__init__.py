"""Model endpoints as chat models or as addresses, opened lazily."""

from __future__ import annotations

from tradefair.frameworks.models.endpoint import ModelEndpoint, parse_model
from tradefair.frameworks.models.faults import Faults
from tradefair.frameworks.models.serving import open_chat_model

__all__ = ["Faults", "ModelEndpoint", "open_chat_model", "parse_model"]
