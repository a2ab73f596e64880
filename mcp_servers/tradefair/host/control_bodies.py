"""What the control plane takes and answers: typed, bounded, closed. The client's commands use the same models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tradefair.contract import SeatId
from tradefair.contract.bounds import MAX_SEED
from tradefair.host.orders import MAX_TTL_S, Labels
from tradefair.host.seat_auth import GrantScope
from tradefair.host.status import EpisodeSummary

# Bounds of a stranger's text; a market checks the names themselves.
_Seat = Annotated[str, Field(min_length=1, max_length=64)]


class _Body(BaseModel):
    # Unknown fields are refused, so that a mistyped option is not silently ignored.
    model_config = ConfigDict(extra="forbid", frozen=True)


class Create(_Body):
    """Episodes to make: `count` of them on consecutive seeds, from a fresh seed where none is named.

    With `start` false they wait for it: seats can be invited meanwhile, and no clock runs. `observers` is a number of
    tokens for each.
    """

    # A name from the catalogue and no path: what is named here is loaded.
    market: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    scenario: Annotated[str, Field(pattern=r"^[a-z_]{1,40}(/[a-z0-9_]{1,40})?$")] | None = None
    overrides: Annotated[dict[str, JsonValue], Field(max_length=100)] = {}
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    # As many as a host keeps by default.
    count: Annotated[int, Field(ge=1, le=1_000)] = 1
    seats: Literal["all"] | Annotated[tuple[_Seat, ...], Field(max_length=1_000)] | None = None
    others: Annotated[str, Field(max_length=200)] | None = None
    ttl_s: Annotated[float, Field(gt=0, le=MAX_TTL_S)] | None = None
    labels: Labels = {}
    start: bool = True
    invite: bool = True
    observers: Annotated[int, Field(ge=0, le=16)] = 0


class Invite(_Body):
    """One more token: of a seat, or of an observer; with `subject` the seat is opened by an issuer's tokens instead."""

    seat: _Seat | None = None
    observer: bool = False
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Label(_Body):
    """What the players of seats are called from now on: the operator's word, which the trace keeps."""

    labels: Annotated[Labels, Field(min_length=1)]


class Labelled(_Body):
    """What the players of all outside seats are called."""

    labels: dict[SeatId, str]


class Lapse(_Body):
    """The default action for a seat that is awaited."""

    seat: _Seat
    reason: Literal["deadline", "disconnected", "retired", "agent_limit"] = "disconnected"


class Invitation(_Body):
    """A token, shown this once; empty where those of an issuer's `subject` open the seat."""

    episode: str
    scope: GrantScope
    seat: SeatId | None
    grant: str
    token: str
    subject: str | None = None


class Invitations(_Body):
    """Tokens, and where they are good."""

    url: str
    invitations: list[Invitation]


class Created(Invitations):
    """New episodes and their tokens."""

    episodes: list[EpisodeSummary]


class Started(_Body):
    """An episode that has begun."""

    episode: EpisodeSummary


class Lapsed(_Body):
    """Whether the clock waited for the seat; where not, nothing has happened."""

    lapsed: bool


class Cancelled(_Body):
    """How the episode ended: `truncated:cancelled`, or as it had before; null for one that had not started."""

    end_reason: str | None


class Revoked(_Body):
    """The grant that opens nothing from now on."""

    grant: str
