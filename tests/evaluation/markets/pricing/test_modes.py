"""Every failure mode of pricing against tiny plays: one case too few, just enough, and twice as many.

A play is the textbook duopoly with 1,000 consumers: F1's prices against F2's. The price of round n is event 10n (a
lapse where F1 kept silent), its closure 10n + 5.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from tests.evaluation.plays import Play, check_play, plays_of

from tradefair.evaluation.markets.pricing.insight import scales
from tradefair.evaluation.markets.pricing.modes.detectors import MODES
from tradefair.evaluation.markets.pricing.modes.play import Firm, Game, Period, World
from tradefair.evaluation.markets.pricing.modes.prices import below_cost
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.model import PricingScenario

NASH, JOINT = 1473, 1925
QUALITY, MU, CONSUMERS = (2000, 2000), 250, 1_000


def firm(
    own: Sequence[int | None],
    rival: Sequence[int | None] | int | None = NASH,
    *,
    index: Sequence[int] = (),
    silent: Collection[int] = (),
    asked: Mapping[int, Mapping[int, int] | Sequence[Mapping[int, int]]] | None = None,
    known: bool = True,
    rounds: int = 0,
) -> Firm:
    """F1 of a hand-made game; rounds of `silent` are lapses.

    `asked` are by round its own profit_if rows, several of them for several ideas of what rivals do.
    """
    rivals = list(rival) if isinstance(rival, Sequence) else [rival] * len(own)
    moved = [*index, *[index[-1] if index else 0] * len(own)]
    given = {"quality": QUALITY, "cost": (1000, 1000), "consumers": CONSUMERS, "rounds": rounds or len(own)}
    shock = {"shock": "common_cost" if index else "none", "shock_size": 400}
    rules = PricingScenario.model_validate({"id": "pricing/plays", "demand_known": known, **given, **shock})
    world = World(QUALITY, (1000, 1000), MU, 0, rules)
    game = Game(("F1", "F2"), world)
    for number, (price, other) in enumerate(zip(own, rivals, strict=True), 1):
        cost = 1000 + moved[number - 1]
        prices = (price, other)
        units = units_sold(prices, QUALITY, MU, 0, CONSUMERS)
        profits = tuple((p or 0) and u * (p - cost) for p, u in zip(prices, units, strict=True))
        posted = {} if price is None or number in silent else {"F1": 10 * number}
        ideas = (asked or {}).get(number, ())
        rows = [
            {tried: (10 * number - 1, profit) for tried, profit in idea.items()}
            for idea in ([ideas] if isinstance(ideas, Mapping) else ideas)
        ]
        game.periods.append(
            Period(
                number, 10 * number + 5, prices, tuple(units), (cost, cost), profits, moved[number - 1], 0,
                {"F1": 10 * number}, posted, {"F1": rows} if rows else {},
            )
        )  # fmt: skip
    return game.firms["F1"]


def play(record: Firm, status: str, count: int, of: float, because: str | None = None, **more: Any) -> Play:
    return Play(record, status, count, of, because, role="firm", **more)


FAR, HIGH, LOW = 2600, 2100, 1150
BEST = "the best reply was 14.94"
CLOSED_SAID = "round 1: no price, rivals at 14.73"
FAR_SAID = f"round {{}}: posted 26.00, rivals at 14.73: 10 sold; {BEST}"
LOWER_SAID = "round 1: posted 19.25, rivals at 14.00; the best reply was 14.39"
STUCK_SAID = "round 1: 19.00 stood to round 10, while the best reply to its rivals lay between 14.94 and 16.56"
SHOCK_SAID = "round {}: the index moved by 4.00, the best price from 14.94 to 17.25, the own stayed 14.73"
FEW_SAID = "round 1: 2 distinct prices in the first 3 rounds; three are needed to tell how demand reacts"
JUMP_SAID = f"round 11: moved from 14.73 to 21.00; {BEST}"
WORSE_SAID = "round 2: posted 16.00, whose profit_if was 0.79; the same round's analysis put 14.73 at 1.00"
TO_AND_FRO = [NASH, JOINT] * 10
WORSE = {NASH: 100, 1600: 79}


def shocks(moves: int, ignored: int) -> Firm:
    """The index moves to 400 and back every three rounds; the last `ignored` moves leave the price as it was."""
    index, own = [0, 0], [NASH, NASH]
    for move in range(moves):
        index += [400 * (1 - move % 2)] * 3
        own += [NASH + 300 * (1 - move % 2) if move < moves - ignored else own[-1]] * 3
    return firm(own, index=index)


def jumps(count: int) -> Firm:
    """A second half of ten rounds whose first `count` jump between two bad prices."""
    return firm([NASH] * 10 + [(HIGH, LOW)[at % 2] if at < count else NASH for at in range(10)])


PLAYS: dict[str, list[Play]] = {
    "closed_round": [
        play(firm([NASH]), "clear", 0, 1),
        play(firm([None, NASH]), "raised", 1, 2, CLOSED_SAID),
        play(firm([None, None]), "raised", 2, 2, CLOSED_SAID),
        # A silent firm keeps its price: it lapses, and is open.
        play(firm([NASH, NASH], silent={2}), "clear", 0, 2),
    ],
    "priced_out": [
        play(firm([NASH] * 9 + [FAR] * 2), "clear", 2, 11, FAR_SAID.format(10)),
        play(firm([NASH] * 13 + [FAR] * 3), "raised", 3, 16, FAR_SAID.format(14)),
        play(firm([FAR, *[NASH] * 4] * 2), "raised", 2, 10, FAR_SAID.format(1), share=0.2),
        play(firm([FAR] * 6 + [NASH] * 26), "raised", 6, 32, FAR_SAID.format(1)),
        # A tenth of the best units is a sale; beside a closed rival the best is another.
        play(firm([2330], None), "clear", 0, 1),
    ],
    "undercut_endured": [
        play(firm([JOINT] * 4 + [NASH] * 20, 1400), "clear", 4, 24, LOWER_SAID),
        play(firm([JOINT] * 5 + [NASH] * 20, 1400), "raised", 5, 25, LOWER_SAID),
        play(firm([JOINT] * 10 + [NASH] * 20, 1400), "raised", 10, 30, LOWER_SAID),
        # 4 % lower is no undercut; without a rival there is none.
        play(firm([JOINT] * 6, 1848), "clear", 0, 6),
        play(firm([FAR] * 6, None), "clear", 0, 6),
    ],
    "stuck_price": [
        play(firm([1900] * 9, TO_AND_FRO[:9]), "clear", 0, 9),
        play(firm([1900] * 10, TO_AND_FRO[:10]), "raised", 1, 10, STUCK_SAID, share=1.0),
        play(firm([1900] * 10 + [1899] * 10, TO_AND_FRO), "raised", 2, 20, STUCK_SAID),
        # The best stood as well; the price earned nearly all; a closed firm has no price.
        play(firm([1900] * 10, NASH), "clear", 0, 10),
        play(firm([1560] * 10, TO_AND_FRO[:10]), "clear", 0, 10),
        play(firm([None] * 10, TO_AND_FRO[:10]), "clear", 0, 10),
    ],
    "shock_ignored": [
        play(shocks(2, 2), "unchecked", 2, 2, SHOCK_SAID.format(4)),
        play(shocks(3, 1), "clear", 1, 3, SHOCK_SAID.format(10)),
        play(shocks(4, 2), "raised", 2, 4, SHOCK_SAID.format(10), share=0.5),
        play(shocks(4, 4), "raised", 4, 4, SHOCK_SAID.format(4)),
        play(firm([NASH] * 6), "unchecked", 0, 0),
    ],
    "war_joined": [
        play(firm([1700, 1600, 1460]), "clear", 0, 2),
        play(
            firm([1700, 1600, 1500, 1460]), "raised", 1, 3,
            "round 4: cut 3 times in a row from 17.00 to 14.60, below the competitive 14.73", share=1.0,
        ),
        play(
            firm([1700, 1650, 1600, 1550, 1500, 1460, 1400, 1700, 1650, 1600, 1460]), "raised", 2, 9,
            "round 6: cut 6 times in a row from 17.00 to 14.00, below the competitive 14.73", share=1.0,
        ),
        # A war that stops at the competitive price; steps of less than 1 %.
        play(firm([1700, 1650, 1600, 1550, 1500, NASH]), "clear", 0, 5),
        play(firm([1490, 1480, 1470, 1460]), "unchecked", 0, 0),
    ],
    "no_experiment": [
        play(firm([1200, 1300, 1400, *[1400] * 9], known=False), "clear", 0, 1),
        play(firm([1200, 1300, 1300, *[1400] * 9], known=False), "raised", 1, 1, FEW_SAID),
        play(firm([1300] * 12, known=False), "raised", 1, 1, FEW_SAID.replace("2 distinct prices", "1 distinct price")),
        play(firm([1300] * 12), "unchecked", 0, 0),
        play(firm([1300] * 11, known=False), "unchecked", 0, 0),
        # The first quarter has not been played to its end.
        play(firm([1300] * 4, known=False, rounds=24), "clear", 0, 1),
    ],
    "endless_experiment": [
        play(jumps(3), "clear", 3, 10, JUMP_SAID, share=0.3),
        play(jumps(4), "raised", 4, 10, JUMP_SAID, share=0.4),
        play(jumps(8), "raised", 8, 10, JUMP_SAID),
        # Jumps that pay, and small moves that do not.
        play(firm([1494, 1660] * 6, [NASH, JOINT] * 6), "clear", 0, 6),
        play(firm([2100 + 90 * (at % 2) for at in range(12)]), "clear", 0, 6),
    ],
    "contradicted_analysis": [
        play(firm([NASH, 1600], asked={2: {NASH: 100, 1600: 80}}), "clear", 0, 1),
        play(firm([NASH, 1600], asked={2: WORSE}), "raised", 1, 1, WORSE_SAID),
        play(firm([NASH, 1600, 1600], asked={2: WORSE, 3: WORSE}), "raised", 2, 2, WORSE_SAID),
        # Asked and then silent; posted what was not asked for.
        play(firm([NASH, NASH], asked={2: WORSE}, silent={2}), "unchecked", 0, 0),
        play(firm([NASH, 1700], asked={2: WORSE}), "unchecked", 0, 0),
        # With rivals at other prices another price is better: of two ideas the one that speaks for the price counts.
        play(firm([NASH, 1600], asked={2: [{1600: 79}, {NASH: 100}]}), "clear", 0, 1),
        play(firm([NASH, 1600], asked={2: [WORSE, {NASH: 98, 1600: 79}]}), "clear", 0, 1),
        play(firm([NASH, 1600], asked={2: [{NASH: 200, 1600: 79}, WORSE]}), "raised", 1, 1, WORSE_SAID),
        # The best price of the round is no mistake, whatever was said of it.
        play(firm([NASH, 1494], asked={2: {1494: 10, 1600: 100}}), "clear", 0, 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("mode", "expected"), [*plays_of(MODES, PLAYS)])
def test_a_mode_is_raised_from_its_threshold_on(mode: str, expected: Play) -> None:
    check_play(MODES, mode, expected)


def test_only_units_that_were_sold_are_below_cost() -> None:
    seen = below_cost(firm([900, 1000, 4000, NASH]))
    assert [(case.seq, case.round, case.shown_by) for case in seen.cases] == [(10, 1, 15)]
    assert seen.of == 4
    assert seen.cases[0].because == "round 1: sold 898 at 9.00 with a unit cost of 10.00"


def test_a_price_that_follows_a_slip_is_not_off_because_the_slip_was() -> None:
    found = [(scale.round, scale.value, scale.seen) for scale in scales(firm([NASH, 147, NASH, 160], silent={4}))]
    assert found == [(2, 147, NASH), (2, 147, 1000), (2, 147, NASH)]
    # Alone at a cost of 150 the best price is near ten times that: 1500 earns .985 of it, 1000 earns .69.
    alone = firm([1500, 1000], None)
    for at, period in enumerate(alone.game.periods):
        earned = period.units[0] * ((period.prices[0] or 0) - 150)
        alone.game.periods[at] = period._replace(costs=(150, 150), profits=(earned, 0))
    assert [(scale.round, scale.value, scale.seen) for scale in scales(alone)] == [(2, 1000, 150)]
    # Nothing in scale was posted before it: cost and the rival's last price are in sight. A price of 0 has no scale.
    own = firm([0, 100, 4000], 1600)
    assert [(scale.round, scale.seen) for scale in scales(own)] == [(2, 1000), (2, 1600), (3, 1000), (3, 1600)]
    assert [scale.seen for scale in scales(firm([100], 1600))] == [1000]


def test_a_shock_counts_from_half_its_size_and_is_ignored_where_the_best_moved_by_a_quarter_of_it() -> None:
    def seen(moved: int, rival: int) -> tuple[float, list[int]]:
        index, rivals = [0, 0, moved, moved, moved, moved], [NASH, NASH, NASH, rival, NASH, NASH]
        found = MODES.detect("shock_ignored", firm([NASH] * 6, rivals, index=index))
        return found.of, [case.round for case in found.cases]

    assert seen(199, 1600) == (0, [])
    assert seen(200, 1430) == (1, [])
    assert seen(200, 1600) == (1, [4])


def test_a_price_that_stood_beside_a_best_that_hardly_moved_is_not_stuck() -> None:
    own = firm([1900] * 10, [1473, 1510] * 5)
    assert [best.price for best in own.best[:2]] == [1494, 1488]
    assert not MODES.detect("stuck_price", own).cases


def test_an_analysis_that_shows_a_profit_of_one_is_still_one() -> None:
    assert len(MODES.detect("contradicted_analysis", firm([1600], asked={1: {NASH: 1, 1600: 0}})).cases) == 1
    assert not MODES.detect("contradicted_analysis", firm([1600], asked={1: {NASH: 0, 1600: -5}})).cases
