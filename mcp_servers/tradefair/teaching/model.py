"""Scenario and records of the teaching market."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tradefair.contract import Result, Scenario, SeatId, Untrusted


class PieScenario(Scenario):
    """Two seats name their shares of a pie of `slices`; both get them if there is enough, else neither gets any."""

    rounds: int = Field(default=3, ge=1, le=1_000)
    slices: int = Field(default=10, ge=2, le=1_000)
    talk: bool = False

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases of every round, in order."""
        return ("talk", "claim") if self.talk else ("claim",)


class Streams(StrEnum):
    """Chance streams."""

    VALUE = "value"


class Message(Result):
    """One message as its receiver keeps it."""

    number: int
    round: int
    sender: SeatId
    text: Annotated[str, Untrusted()]


class RoundRow(Result):
    """A closed round as everyone sees it; null where a seat made no claim."""

    round: int
    claims: dict[SeatId, int | None]
    shared: bool


class PieFacts(Result):
    """The truth of one round."""

    row: RoundRow
    values: dict[SeatId, int]
    payoffs: dict[SeatId, int]


class PieLedger(Result):
    """The truth at the end."""

    values: dict[SeatId, int]
    payoffs: dict[SeatId, int]
