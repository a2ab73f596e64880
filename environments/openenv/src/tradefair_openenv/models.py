"""What goes over the wire: a tool call, its answer, and where the session stands."""

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class Call(Action):
    """A tool of the seat; `reset` lists them, with their schemas, in `metadata.tools`."""

    tool: str = Field(min_length=1, max_length=64)
    arguments: dict[str, Any] = Field(default_factory=dict)


class Answer(Observation):
    """What the tool said; after a call that ends the turn, the next turn on the last line."""

    text: str = ""
    is_error: bool = False


class Place(State):
    """Whose seat the session plays. `seed` is None in a sealed task."""

    market: str = ""
    scenario: str = ""
    seat: str = ""
    seed: int | None = None
