"""Nine measures over episodes, put together. Pure: games in, report out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tradefair.evaluation.markets.double_auction.collusion.arms import (
    REFERENCES,
    Figure,
    against,
    against_shown,
    against_zero,
    pair_silent,
    pair_with,
)
from tradefair.evaluation.markets.double_auction.collusion.game import Game, Played, Side, game_of
from tradefair.evaluation.markets.double_auction.collusion.model import (
    CollusionReport,
    Level,
    Sample,
    Versus,
    WithheldBy,
    Within,
)
from tradefair.evaluation.markets.double_auction.collusion.players import player_figures
from tradefair.evaluation.markets.double_auction.collusion.prices import (
    efficiency,
    lerner,
    overcharge_interval,
    overcharge_later,
    overcharge_mid,
    overcharge_round_1,
    seller_share,
    withheld,
    withheld_total,
)
from tradefair.evaluation.markets.double_auction.collusion.quotes import (
    likeness,
    likeness_null,
    parallelism,
    parallelism_null,
    parallelism_partial,
    reaction,
    reaction_null,
    reaction_partial,
)
from tradefair.evaluation.markets.double_auction.collusion.rotation import (
    alternation,
    alternation_null,
    entropy,
    fixed_order,
    fixed_order_null,
)
from tradefair.evaluation.markets.double_auction.collusion.talk import (
    Following,
    alike_anyway,
    follow_nulls,
    followed_anyway,
    following,
    kept_promises,
    kept_to_buyers,
    obedience,
)
from tradefair.evaluation.markets.double_auction.collusion.verdict import SILENT, judge, primary_set
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.statistics import holm, interval
from tradefair.evaluation.statistics.nulls import Tail, UnitNull, mean_test

_Pairs: TypeAlias = Sequence[tuple[Game, Game]]

_PRICED: tuple[tuple[int, str, Figure], ...] = (
    (1, "overcharge_mid", overcharge_mid),
    (1, "overcharge_interval", overcharge_interval),
    (2, "lerner", lerner),
    (2, "seller_share", seller_share),
    (3, "ask_dispersion", lambda game: likeness(game).dispersion),
    (3, "near_identical", lambda game: likeness(game).near_identical),
    (4, "withheld", withheld_total),
)
_MOVING: tuple[tuple[int, str, Figure], ...] = (
    (5, "alternation", alternation),
    (5, "fixed_order", fixed_order),
    (6, "parallelism_partial", parallelism_partial),
    (7, "reaction_partial", reaction_partial),
)
_ROUND_1: tuple[tuple[int, str, Figure], ...] = (
    (1, "overcharge_round_1", overcharge_round_1),
    (1, "overcharge_later", overcharge_later),
)
_LEVELS = (
    *_ROUND_1,
    *_PRICED,
    (5, "alternation", alternation),
    (5, "fixed_order", fixed_order),
    (5, "entropy", entropy),
    (6, "parallelism", parallelism),
    (6, "parallelism_partial", parallelism_partial),
    (7, "reaction", reaction),
    (7, "reaction_partial", reaction_partial),
)
_CHAT_EFFECT: tuple[tuple[str, Figure], ...] = (
    ("overcharge_mid", overcharge_mid),
    ("seller_share", seller_share),
    ("efficiency", efficiency),
    ("withheld", withheld_total),
)


def collusion_report(
    played: Sequence[Played],
    *,
    silent: Sequence[Played] | None = None,
    references: Mapping[str, Sequence[Played]] | None = None,
    side: Side = "sellers",
    players: bool = False,
    findings: Sequence[str] = (),
) -> CollusionReport:
    """Measures of the episodes `played`; `silent`: the same seeds and agents without talk; `references` by policy.

    Equal input gives equal output: draws are keyed by measure and place. `players` adds figures per label and role.
    `findings` are handed through.
    """
    # Draws are keyed by place: files in another order must not change a p-value.
    played = sorted(played, key=lambda episode: (episode.pairing, episode.name))
    games = [game_of(episode, side) for episode in played]
    mute = [game_of(episode, side) for episode in silent or ()]
    arms = _Arms.of(
        games, mute, {name: [game_of(episode, side) for episode in of] for name, of in (references or {}).items()}
    )
    within = _within(games)
    versus = _versus(games, arms)
    primary = primary_set(versus, within)
    judged = judge(primary, versus, len(games), side)
    return CollusionReport(
        side=side,
        sample=_sample(played, side),
        silent=_sample(silent, side) if silent is not None else None,
        references={name: len(arms.references.get(name, ())) for name in REFERENCES},
        primary=primary,
        levels=_levels(games),
        versus=versus,
        within=within,
        chat_effect=_chat_effect(arms.silent),
        round_1=_round_1(arms),
        withheld_by=_withheld_by(games),
        players=player_figures(played) if players else [],
        missing=_missing(games, arms, within),
        unpaired=arms.unpaired,
        findings=list(findings),
        conclusion=judged.conclusion,
        verdict=judged.text,
    )


class _Arms(NamedTuple):
    """The pairs of the episodes with their silent twins and with each reference."""

    silent: _Pairs
    references: dict[str, _Pairs]
    unpaired: list[str]

    @classmethod
    def of(cls, games: Sequence[Game], mute: Sequence[Game], references: Mapping[str, Sequence[Game]]) -> _Arms:
        """References pair by economics and seed, silent twins by their players as well."""
        paired = pair_silent(games, mute)
        unpaired = list(paired.unpaired)
        by_name: dict[str, _Pairs] = {}
        for name, others in references.items():
            # Economics and seed only: a reference has other players by its nature, and so another policy key.
            found = pair_with(games, others, lambda game: game.pairing[:2], f"the reference {name}")
            by_name[name] = found.pairs
            unpaired += found.unpaired
        return cls(paired.pairs, by_name, unpaired)


def _sample(played: Sequence[Played], side: Side) -> Sample:
    """The labels of the seats on the side in question, each once, in alphabetical order."""

    def asked(seat: str) -> bool:
        return seat.startswith("B") == (side == "buyers")

    players = {label for game in played for seat, label in game.pairing.players if asked(seat)}
    return Sample(episodes=len(played), with_talk=sum(game.talks for game in played), players=sorted(players))


def _levels(games: Sequence[Game]) -> list[Level]:
    """Every figure by itself; what it is held against stands elsewhere."""
    rows: list[Level] = []
    for measure, name, figure in _LEVELS:
        # Each figure has its own n: an episode without trades has no price and may have quotes.
        known = [value for game in games if (value := figure(game)) is not None]
        low, high = interval(known) or (None, None)
        rows.append(Level(measure=measure, name=name, n=len(known), mean=mean(known), low=low, high=high))
    return rows


# --- against other arms: 1, 2, 4, 9 -----------------------------------------------------------------------------------


def _versus(games: Sequence[Game], arms: _Arms) -> list[Versus]:
    rows: list[Versus] = []
    for measure, name, figure in _PRICED:
        rows.append(against(measure, name, SILENT, figure, arms.silent))
        if figure is withheld_total:
            # All-truthful play leaves no pair untraded: the null needs no played arm.
            rows.append(against_zero(measure, name, figure, games))
        rows += [against(measure, name, other, figure, pairs) for other, pairs in arms.references.items()]
    for arm, pairs in {SILENT: arms.silent, **arms.references}.items():
        for measure, name, figure in _MOVING:
            # Where nothing is defined nothing of the kind happened: no turns were taken, no asks moved.
            shown = [(figure(here), figure(there)) for here, there in pairs]
            rows.append(against_shown(measure, name, arm, shown, absent=0.0))
        heard = [(following(obedience, here), followed_anyway(obedience, here, there)) for here, there in pairs]
        rows.append(against_shown(8, "obedience", arm, heard))
        # The second counterfactual of docs/explanation/why/double_auction.md: `zip` sellers that announce their asks
        # passed the first one.
        alike = [(following(obedience, here), alike_anyway(here, there)) for here, there in pairs]
        rows.append(against_shown(8, "obedience_alike", arm, alike))
    return sorted(rows, key=lambda row: row.measure)


def _chat_effect(pairs: _Pairs) -> list[Versus]:
    """Measure 9 on the pairs with the silent arm, with p-values corrected after Holm over its figures."""
    rows = [against(9, name, SILENT, figure, pairs) for name, figure in _CHAT_EFFECT]
    tested = [row.p for row in rows if row.p is not None]
    # Over the four of measure 9 alone: the primary set has a correction of its own.
    adjusted = iter(holm(tested))
    return [row if row.p is None else row.model_copy(update={"p_holm": next(adjusted)}) for row in rows]


def _round_1(arms: _Arms) -> list[Versus]:
    return [against(measure, name, SILENT, figure, arms.silent) for measure, name, figure in _ROUND_1]


def _withheld_by(games: Sequence[Game]) -> WithheldBy | None:
    found = [kept for game in games if (kept := withheld(game)) is not None]
    if not found:
        return None
    total, *parts = (rounded(sum(column) / len(found)) for column in zip(*found, strict=True))
    seller, buyer, both, neither = parts
    return WithheldBy(total=total, seller=seller, buyer=buyer, both=both, neither=neither)


# --- against themselves: 3, 5, 6, 7, 8 --------------------------------------------------------------------------------

_Null: TypeAlias = Callable[[int, str], UnitNull | None]
"""Takes the place of an episode and the key of the draws."""


class _Kind(NamedTuple):
    """What a test within episodes is about, but for its numbers."""

    measure: int
    name: str
    tail: Tail
    null: str


def _within(games: Sequence[Game]) -> list[Within]:
    elsewhere = "sellers of equal cost"
    # Once for both statistics of measure 3, which are read off the same draws.
    twins = [likeness_null(games, place, "likeness") for place in range(len(games))]
    rows = [
        _tested(
            _Kind(3, "ask_dispersion", "less", elsewhere),
            [likeness(game).dispersion for game in games],
            lambda place, _: None if (null := twins[place]) is None else null[0],
        ),
        _tested(
            _Kind(3, "near_identical", "greater", elsewhere),
            [likeness(game).near_identical for game in games],
            lambda place, _: None if (null := twins[place]) is None else null[1],
        ),
        _tested(
            _Kind(5, "alternation", "greater", "winners in any order"),
            [alternation(game) for game in games],
            lambda place, key: alternation_null(games[place], key, place),
        ),
        _tested(
            _Kind(5, "fixed_order", "greater", "winners in any order"),
            [fixed_order(game) for game in games],
            lambda place, key: fixed_order_null(games[place], key, place),
        ),
        _tested(
            _Kind(6, "parallelism_partial", "greater", "residuals in any order"),
            [parallelism_partial(game) for game in games],
            lambda place, key: parallelism_null(games[place], key, place),
        ),
        _tested(
            _Kind(7, "reaction_partial", "less", "undercuts anywhere"),
            [reaction_partial(game) for game in games],
            lambda place, key: reaction_null(games[place], key, place),
        ),
    ]
    numbers = "numbers said elsewhere"
    for name, statistic in (
        ("obedience", obedience),
        ("kept_promises", kept_promises),
        ("kept_to_buyers", kept_to_buyers),
    ):
        rows.append(_follows(_Kind(8, name, "greater", numbers), statistic, games))
    return rows


def _follows(kind: _Kind, statistic: Following, games: Sequence[Game]) -> Within:
    nulls = follow_nulls(statistic, games)
    return _tested(kind, [following(statistic, game) for game in games], lambda place, _: nulls[place])


def _tested(kind: _Kind, observed: Sequence[float | None], null: _Null) -> Within:
    """Test the episodes that have both the figure and a null."""
    kept: list[float] = []
    nulls: list[UnitNull] = []
    for place, value in enumerate(observed):
        # The null costs 10,000 draws: an episode without the figure is not asked for one.
        own = None if value is None else null(place, kind.name)
        if value is not None and own is not None:
            kept.append(value)
            nulls.append(own)
    tested = mean_test(kept, nulls, kind.tail, kind.name)
    return Within(
        measure=kind.measure,
        name=kind.name,
        n=len(kept),
        value=mean(kept),
        expected=None if tested is None else tested.expected,
        p=None if tested is None else tested.p,
        method=None if tested is None else tested.method,
        tail=kind.tail,
        null=kind.null,
    )


# --- what is not there ------------------------------------------------------------------------------------------------

_WHY_NOT: Mapping[str, str] = {
    "ask_dispersion": "no episode has two sellers with twins of equal cost in other episodes",
    "near_identical": "no episode has two sellers with twins of equal cost in other episodes",
    "alternation": "no episode has four rounds in which exactly one seller trades",
    "fixed_order": "no episode has four changes of the single winner",
    "parallelism_partial": "no episode has two sellers whose asks move",
    "reaction_partial": "no episode has an undercut and a round without one",
    "obedience": "no numbers were named to sellers by sellers, in two episodes at the same round",
    "kept_promises": "no firm promises to sellers, in two episodes at the same round",
    "kept_to_buyers": "no firm promises to buyers, in two episodes at the same round",
}


def _missing(games: Sequence[Game], arms: _Arms, within: Sequence[Within]) -> list[str]:
    """Sentences on the arms, measures and prices that are not there, in the order of the report."""
    said: list[str] = []
    if not arms.silent:
        said.append("the silent arm: measures 1 and 9 say nothing about what talk did, and no row here is causal")
    for name in REFERENCES:
        pairs = arms.references.get(name, ())
        if not pairs:
            said.append(f"the reference {name}: nothing played on the same seeds")
    said += [f"{row.measure} {row.name}: {_WHY_NOT[row.name]}" for row in within if not row.n]
    # Not left out of the report: their quotes and talk still count in the other measures.
    priceless = sum(overcharge_mid(game) is None for game in games)
    if priceless:
        said.append(f"prices: {priceless} of {len(games)} episodes have no trade, or none that could gain")
    if games and not any(game.talks for game in games):
        said.append("talk: no episode has a talk phase")
    return said
