"""The terms of an arena, `arena.toml`: what is played, in which seat, against whom, on which seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.sealed_seeds import SealedSeeds
from tradefair.evaluation.record import Record
from tradefair.files.user_files import parse_toml, text_file

MAX_GAMES = 10_000
"""Games of one entry at most."""
_Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[\w. -]+$")]
_Text = Annotated[str, Field(max_length=200)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Setting(Record):
    """One scenario: its id, the digest of its content, and the versions of rules and evaluator."""

    id: _Text
    digest: _Digest
    rules: _Text
    evaluator: _Text


class Arena(Record):
    """What every entry has to keep to.

    Each seed of the plan is played `games` times in `seat` (one, or several that one agent plays all of), game g under
    the policy key `policy_key` + g. `opponents` names policies by seat or role, over what the scenario says. Seeds are
    `seeds`, or sealed: `commit` is what `tradefair seeds new --label "NAME SCENARIO"` printed for each scenario id,
    `secrets` what it kept, published when the games are over. `committed` holds the commitments of agents that came in
    before. `min_games` is the least number of games of an entry; dates are what pages show.
    """

    name: _Name
    seat: SeatId | Annotated[tuple[SeatId, ...], Field(min_length=1, max_length=1_000)]
    scenarios: Annotated[tuple[Setting, ...], Field(min_length=1, max_length=100)]
    seeds: Annotated[tuple[_Seed, ...], Field(max_length=MAX_GAMES)] = ()
    commit: Annotated[Mapping[_Text, _Digest], Field(max_length=100)] = {}
    secrets: Annotated[Mapping[_Text, _Digest], Field(max_length=100)] = {}
    count: Annotated[int, Field(ge=0, le=MAX_GAMES)] = 0
    games: Annotated[int, Field(ge=1, le=100)] = 1
    policy_key: Annotated[int, Field(ge=0, lt=2**62)] = 0
    opponents: Annotated[Mapping[_Text, _Text], Field(max_length=1_000)] = {}
    min_games: Annotated[int, Field(ge=1, le=MAX_GAMES)] = 1
    opens: _Text = ""
    closes: _Text = ""
    committed: Annotated[tuple[_Digest, ...], Field(max_length=10_000)] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Either kind of seeds, each once, no more games than are bearable."""
        if bool(self.seeds) == bool(self.commit):
            raise ValueError("name seeds, or commit and count for sealed ones")
        if self.commit and (set(self.commit) != {setting.id for setting in self.scenarios} or not self.count):
            raise ValueError("sealed seeds need count, and a commitment for each scenario")
        if len(set(self.seeds)) < len(self.seeds) or len({setting.digest for setting in self.scenarios}) < len(
            self.scenarios
        ):
            raise ValueError("a seed or a scenario is named twice")
        games = (len(self.seeds) or self.count) * self.games * len(self.scenarios)
        if not self.min_games <= games <= MAX_GAMES:
            raise ValueError(f"the plan has {games} games; at least {self.min_games}, at most {MAX_GAMES}")
        return self

    @property
    def seats(self) -> tuple[SeatId, ...]:
        """The seats that an entry's agent plays, all of them in every game."""
        return (self.seat,) if isinstance(self.seat, str) else self.seat

    @property
    def sealed(self) -> bool:
        """Whether nobody knew the seeds before."""
        return bool(self.commit)

    def seeds_of(self, scenario: str) -> frozenset[int]:
        """The seeds of a scenario id. Raises ScenarioError while they are sealed, or where a secret is another one."""
        if not self.sealed:
            return frozenset(self.seeds)
        secret = self.secrets.get(scenario)
        if secret is None:
            raise ScenarioError(f"the seeds of {scenario} are still sealed: publish its secret in [secrets] first")
        kept = SealedSeeds(secret=secret, label=f"{self.name} {scenario}"[:80], count=self.count)
        if kept.commitment != self.commit[scenario]:
            raise ScenarioError(f"the secret of {scenario} is not the one that was committed to")
        return frozenset(kept.seeds)


def load_arena(path: Path) -> Arena:
    """Read `arena.toml`. Raises ScenarioError that names the first thing that is wrong."""
    content = parse_toml(text_file(path), source=str(path))
    try:
        return Arena.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise ScenarioError(f"{path}: {where}{': ' * bool(where)}{first['msg']}") from None
