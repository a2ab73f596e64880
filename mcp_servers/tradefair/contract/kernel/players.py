"""Who plays: what the first event says of every seat, what a later one says of those that change hands.

Both lie in the chain, so that the head of a trace binds them. A policy that is named here can be played again; what an
outside player is called stays the word of whoever ran the episode.
"""

from __future__ import annotations

import unicodedata
import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from tradefair.contract.errors import ScenarioError, SeatError, unknown
from tradefair.contract.market import MarketType
from tradefair.contract.policy import Draw, Policy, PolicySpec, parse_policy
from tradefair.contract.scenario import Scenario, SeatId, SeatSpec
from tradefair.contract.text import clean, clean_line, is_bare_url

AGENT = "agent"
"""The label of a seat that is played from outside and that nobody has named; in scenarios, what plays it."""

PERSON = "person"
"""`by` of a call that somebody has clicked; label and framework of a seat that was seated so."""

MAX_LABEL = 200
"""Characters of a label."""

MAX_SEATINGS = 1_000
"""Events of one trace that say who plays."""

_Key = Annotated[int, Field(ge=0, lt=2**63)]
# Cleaned when it is written, and when it is read: a trace that says otherwise does not re-execute.
_Text = Annotated[str, AfterValidator(clean), Field(max_length=MAX_LABEL)]


# By market and identity of the scenario, which has no hash: it holds dicts.
_seats: dict[tuple[MarketType, int], Mapping[SeatId, SeatSpec]] = {}


@dataclass(frozen=True)
class Limits:
    """Bounds that the runner sets on an agent, apart from the scenario's; reaching one ends the round by lapsing.

    `calls_per_round` counts every tool call that the agent asks for, `tokens_per_round` input and output tokens.
    """

    # A bound for a model that loops; the scenario's own limits count what the market accepts.
    calls_per_round: int = 60
    # None by default: what a round costs depends on the model, so there is no bound that fits all.
    tokens_per_round: int | None = None


class AgentRecord(BaseModel):
    """What an outside agent was made of, as far as its runner knows: nothing here is text of a prompt or a path.

    `endpoint` is `scheme://host[:port]/path`. `trials` and `replay` are digests (BLAKE2b-256, hex) of what was carried
    over from earlier episodes and of the recording that answered. `options` holds what else tells it apart.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    framework: _Text
    model: _Text | None = None
    endpoint: Annotated[str, Field(max_length=2_048)] | None = None
    limits: Limits = Limits()
    window: _Text | None = None
    approve: bool = False
    timeout_s: Annotated[float, Field(gt=0, lt=float("inf"))] | None = None
    trials: _Text | None = None
    replay: _Text | None = None
    options: dict[str, JsonValue] = {}

    @field_validator("endpoint")
    @classmethod
    def _no_secret(cls, endpoint: str | None) -> str | None:
        # A trace is given to others.
        if endpoint is not None and not is_bare_url(endpoint):
            raise ValueError("an endpoint is scheme://host[:port]/path, without user, query or fragment")
        return endpoint


class Player(BaseModel):
    """Who plays one seat.

    `label` is shown in tables (`react/openai:gpt-5`, `policy:zip`). `policy` is the spelling of a scripted policy; None
    where decisions come from outside. A label that begins with `policy:`, however it is written, is that of the policy
    that plays. `late` seats are asked after the others, as an agent would be; `privileged` ones know hidden truth.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: _Text
    policy: Annotated[str, Field(max_length=2_048)] | None = None
    late: bool = False
    privileged: bool = False
    agent: AgentRecord | None = None

    @model_validator(mode="after")
    def _named_after_it(self) -> Self:
        own = "no policy" if self.policy is None else shown_label(f"policy:{self.policy}")
        if _names_policy(self.label) and self.label != own:
            raise ValueError(f"the label {self.label!r} names another policy than {own}: choose another label")
        return self


class Seating(BaseModel):
    """Who plays which seat, on which draws, written by which release: content of `episode_started` and `seated`.

    `policy_key` gives scripted seats other draws under the same luck of the market, `agent_key` the seat under test
    alone. `compared` names seats under test, `commitment` that of sealed seeds. `origin` says where the episode comes
    from, if it was not simply played: `{"forked_from": …}`, `{"imported_from": …}`, `{"recorded_from": …}`,
    `{"resumed": true}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    players: dict[SeatId, Player]
    policy_key: _Key = 0
    agent_key: _Key = 0
    written_by: _Text = ""
    compared: tuple[SeatId, ...] = ()
    commitment: _Text | None = None
    origin: dict[str, JsonValue] | None = None
    bound: bool = Field(default=True, exclude=True)
    """False where it is only what an old trace says beside its chain."""

    def later(self, change: Seating) -> Seating:
        """This seating after `change`; what the change leaves empty (compared, commitment, origin) stays."""
        said = {name: getattr(change, name) for name in ("policy_key", "agent_key", "written_by")}
        kept = {name: getattr(change, name) or getattr(self, name) for name in ("compared", "commitment", "origin")}
        return self.model_copy(update={"players": {**self.players, **change.players}, **said, **kept})

    def check(self, seats: Collection[SeatId], *, whole: bool = False) -> None:
        """Raises SeatError where it names a seat that is not among `seats`; `whole`: or not all, in this order."""
        if whole and list(self.players) != list(seats):
            raise SeatError(f"the seating names {_few(self.players)}; the seats are {_few(seats)}")
        for seat in (*self.players, *self.compared):
            if seat not in seats:
                raise SeatError(unknown("seat", seat, seats))

    def relabelled(self, labels: Mapping[SeatId, str]) -> Seating:
        """The change after which the players of these seats are called otherwise."""
        named = {seat: {"label": outside_label(label)} for seat, label in labels.items()}
        players = {seat: self.players[seat].model_copy(update=shown) for seat, shown in named.items()}
        return self.model_copy(update={"players": players, "compared": (), "commitment": None, "origin": None})

    @classmethod
    def outside(cls, seats: Iterable[SeatId]) -> Seating:
        """Every seat played by an agent that nobody has named."""
        return cls(players={seat: Player(label=AGENT) for seat in seats})

    @classmethod
    def of_about(cls, about: Mapping[str, Any], seats: Iterable[SeatId]) -> Seating:
        """What a trace of schema 1 says beside its chain, where anybody may have edited it: `bound` is False.

        Values of other types than expected are left out.
        """
        labels, policies = _texts(about.get("labels")), _texts(about.get("seats"))
        late, knowing = _listed(about.get("late")), _listed(about.get("privileged"))
        key: Any = about.get("policy_key")
        key = key if isinstance(key, int) and 0 <= key < 2**63 else 0
        origin = {name: about[name] for name in ("forked_from", "imported_from") if about.get(name) is not None}
        players = {
            seat: Player.model_construct(
                # Marked, so that no table shows it as what it is in other traces.
                label=f"{labels.get(seat, AGENT)[:MAX_LABEL]} (not bound)",
                policy=None if policies.get(seat, AGENT) == AGENT else policies[seat][:2_048].removeprefix("policy:"),
                late=seat in late,
                privileged=seat in knowing,
                agent=None,
            )
            for seat in seats
        }
        return cls.model_construct(
            players=players, policy_key=key, agent_key=key, origin=cast("Any", origin) or None, bound=False
        )

    def draw(self, seed: int, seat: SeatId) -> Draw:
        """The draws of the policy that plays or stands in for `seat`."""
        player = self.players[seat]
        tested = player.policy is None or player.late
        return Draw.of(seed, seat, self.agent_key if tested else self.policy_key)

    @property
    def scripted(self) -> dict[SeatId, str]:
        """The policies of the scripted seats, as they are spelt."""
        return {seat: player.policy for seat, player in self.players.items() if player.policy is not None}

    @property
    def agents(self) -> list[SeatId]:
        """The seats that are played from outside."""
        return [seat for seat, player in self.players.items() if player.policy is None]

    @property
    def labels(self) -> dict[SeatId, str]:
        """What each seat's player is called."""
        return {seat: player.label for seat, player in self.players.items()}

    @property
    def late(self) -> frozenset[SeatId]:
        """The seats that are asked after the others."""
        return frozenset(seat for seat, player in self.players.items() if player.late)

    @property
    def privileged(self) -> frozenset[SeatId]:
        """The seats whose policies know hidden truth."""
        return frozenset(seat for seat, player in self.players.items() if player.privileged)


def shown_label(text: str) -> str:
    """A label as tables may show it: on one line, without what a terminal obeys, at most `MAX_LABEL` characters."""
    return clean_line(text)[:MAX_LABEL]


def outside_label(text: str) -> str:
    """As `shown_label`, in brackets where it would name a policy: such labels are of seats that this policy plays."""
    label = shown_label(text)
    return f"({label[: MAX_LABEL - 2]})" if _names_policy(label) else label


def _names_policy(label: str) -> bool:
    # Wide letters, capitals and spaces look the same in a table.
    return "".join(unicodedata.normalize("NFKC", label).casefold().split()).startswith("policy:")


def seats_of(kind: MarketType, scenario: Scenario) -> Mapping[SeatId, SeatSpec]:
    """The seats of a scenario's market, in its order. Raises ScenarioError when it cannot be played."""
    key = kind, id(scenario)
    if key not in _seats:
        # The seats do not depend on the seed, so any will do; but only a market says what they are, and one of
        # thousands takes seconds to make. Many ask, so the answer is kept for as long as the scenario lives.
        _seats[key] = dict(kind.create(scenario, 0).seats)
        weakref.finalize(scenario, _seats.pop, key, None)
    return _seats[key]


def seat_roles(kind: MarketType, scenario: Scenario, seats: Iterable[SeatId] | None = None) -> dict[SeatId, str]:
    """The role of each seat, or of `seats` only, in the market's order; no seat's role depends on the seed."""
    known = seats_of(kind, scenario)
    return {seat: known[seat].role for seat in (known if seats is None else seats)}


def stand_ins(kind: MarketType, scenario: Scenario, roles: Collection[str] = ()) -> list[str]:
    """The policies that stand in for an agent and can play each of `roles`, in the market's order.

    None of them knows what the scenario hides from an agent.
    """
    able = (spec for spec in kind.policies.values() if spec.stand_in and spec.roles.issuperset(roles))
    return [spec.name for spec in able if not spec.knows_hidden(scenario)]


def policy_spec(kind: MarketType, spelling: str, role: str) -> PolicySpec:
    """The policy that a spelling names. Raises ScenarioError when it does not exist or does not fit the role."""
    name = parse_policy(spelling)[0]
    spec = kind.policies.get(name)
    if spec is None:
        raise ScenarioError(unknown("policy", name, sorted(kind.policies), of=kind.name))
    if role not in spec.roles:
        raise ScenarioError(f"the policy {name} plays {', '.join(sorted(spec.roles))}, not {role}")
    return spec


def seat_policy(kind: MarketType, spelling: str, role: str, draw: Draw) -> Policy:
    """A fresh policy object. Raises ScenarioError when it does not exist or does not fit the role."""
    return policy_spec(kind, spelling, role).make(parse_policy(spelling)[1], draw)


def check_told(kind: MarketType, spelling: str, role: str, scenario: Scenario | None) -> None:
    """Raises ScenarioError where a policy would have to be told what no seat may know: it plays over no connection.

    Without a scenario only policies that know hidden truth everywhere are refused.
    """
    spec = policy_spec(kind, spelling, role)
    if spec.privileged:
        raise ScenarioError(f"policy:{spec.name} knows hidden truth and plays in process only: --agent policy")
    if scenario is not None and spec.knows_hidden(scenario):
        raise ScenarioError(
            f"policy:{spec.name} has to know what {scenario.id} hides and plays in process only: --agent policy"
        )


def _few(seats: Iterable[SeatId]) -> str:
    """Names of seats for a message, which a stranger may have chosen."""
    names = [seat[:80] for seat in seats]
    return ", ".join(names[:10]) + (f" … ({len(names)} in all)" if len(names) > 10 else "")


def _texts(value: object) -> dict[str, str]:
    held = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    return {key: text for key, text in held.items() if isinstance(key, str) and isinstance(text, str)}


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
