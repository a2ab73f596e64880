"""Episodes of scripted seats as sealed traces, for tests that need real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.calling import seating
from tests.evaluation.modes.failing import Scripted as ScriptedTurns
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw, MarketType, Policy, Turns, TurnView
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.players import Seating
from tradefair.contract.policy import parse_policy
from tradefair.host.seats.scripted import Scripted
from tradefair.tracestore import Written, write_trace

Player = str | Callable[[TurnView], Turns]
"""A policy as scenarios spell it, or the turns of a seat that does what no policy does."""


BY_HAND = "by_hand"
"""What a seat that plays turns of a test's own is called."""


def store(path: Path, core: Core, records: Iterable[Record], **about: Any) -> Path:
    """The events of a finished episode as a sealed trace; `about` is said of it beside how it ended."""
    ended = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, {**ended, **about}, [Written(record) for record in records])
    return path


def played(path: Path, scenario: str, policy: Player = "zip", seed: int = 1, **overrides: Any) -> Path:
    """An episode with one player on all seats."""
    return played_by(path, scenario, {}, seed, policy, **overrides)


@kept
def played_by(
    path: Path,
    scenario: str,
    seats: Mapping[str, Player],
    /,
    seed: int = 1,
    others: Player | None = "zip",
    **overrides: Any,
) -> Path:
    """An episode with a player of its own on each seat that is named, and one, if any, on all others."""
    kind = market_type(scenario.partition("/")[0])
    core = Core.create(kind, load_scenario(kind.name, scenario, overrides), seed)
    players = {**({} if others is None else dict.fromkeys(core.market.seats, others)), **seats}
    return played_out(path, core, players)


def played_out(path: Path, core: Core, players: Mapping[str, Player], who: Seating | None = None, **about: Any) -> Path:
    """An episode from its start to its end, each seat by its player; `who` is said to play instead of these."""
    kind, scenario, seed = core.market_type, core.scenario, core.manifest.seed
    named = {seat: parse_policy(player)[0] if isinstance(player, str) else BY_HAND for seat, player in players.items()}
    knowing = frozenset(
        seat for seat, name in named.items() if name != BY_HAND and kind.policies[name].knows_hidden(scenario)
    )
    makers = {seat: _maker(kind, player, Draw.of(seed, seat)) for seat, player in players.items()}
    scripted = Scripted(makers, privileged=knowing)
    records = list(core.start(who or seating(core.market.seats, named, privileged=knowing)).records)
    while stretch := scripted.run(core):
        records += stretch
    return store(path, core, records, **about)


def _maker(kind: MarketType, player: Player, draw: Draw) -> Callable[[], Policy]:
    if not isinstance(player, str):
        return partial(ScriptedTurns, player)
    name, params = parse_policy(player)
    return partial(kind.policies[name].make, params, draw)
