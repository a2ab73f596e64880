"""What the control plane takes and answers: typed, bounded, closed. The client's commands use the same models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tradefair.contract import SeatId
from tradefair.contract.bounds import MAX_SEED, Refusals
from tradefair.host.doors.status import EpisodeSummary
from tradefair.host.episode.orders import MAX_TTL_S, IdleS, Labels, TaskId
from tradefair.host.server.seat_auth import GrantScope

# Bounds of a stranger's text; a market checks the names themselves.
_OF_A_TASK = ("scenario", "overrides", "seed", "seats", "others")
MAX_GROUP = 64  # episodes on one seed; trainers take 2 to 16 for a group
_Seat = Annotated[str, Field(min_length=1, max_length=64)]


class _Body(BaseModel):
    # Unknown fields are refused, so that a mistyped option is not silently ignored.
    model_config = ConfigDict(extra="forbid", frozen=True)


class Create(_Body):
    """Episodes to make: `count` of them on consecutive seeds, from a fresh seed where none is named.

    Of a market, or of a task of the host, which says the seed and who plays, too. With `same_seed` all are on one
    seed: a group that differs in what its agents do alone. With `start` false they wait for it: seats can be invited
    meanwhile, and no clock runs. `observers` is a number of tokens for each.
    """

    # A name from the catalogue and no path: what is named here is loaded.
    market: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")] | None = None
    task: TaskId | None = None
    scenario: Annotated[str, Field(pattern=r"^[a-z_]{1,40}(/[a-z0-9_]{1,40})?$")] | None = None
    overrides: Annotated[dict[str, JsonValue], Field(max_length=100)] = {}
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    # As many as a host keeps by default.
    count: Annotated[int, Field(ge=1, le=1_000)] = 1
    same_seed: bool = False
    seats: Literal["all"] | Annotated[tuple[_Seat, ...], Field(max_length=1_000)] | None = None
    others: Annotated[str, Field(max_length=200)] | None = None
    ttl_s: Annotated[float, Field(gt=0, le=MAX_TTL_S)] | None = None
    idle_s: IdleS | None = None
    tools: Literal["full", "slim"] = "full"
    refusals: Refusals | None = None
    labels: Labels = {}
    start: bool = True
    invite: bool = True
    observers: Annotated[int, Field(ge=0, le=16)] = 0

    @model_validator(mode="after")
    def _agrees(self) -> Create:
        if (self.market is None) is (self.task is None):
            raise ValueError("name a market or a task, and not both")
        said = [name for name in _OF_A_TASK if name in self.model_fields_set]
        if self.task is not None and said:
            raise ValueError(f"a task says itself who plays what: leave out {', '.join(said)}")
        if self.same_seed and not 2 <= self.count <= MAX_GROUP:
            raise ValueError(f"a group on the same seed has 2 to {MAX_GROUP} episodes: set count")
        if self.task is not None and self.count > 1 and not self.same_seed:
            raise ValueError("a task has one seed: several episodes of it need same_seed")
        return self


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
