"""Sentences of objects that no short play gives: headline, many seats, no seat under test, seeds that tell nothing.

Also here:
- Units and aggregation of what a verdict says come from `figure(...)` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tradefair.catalog import market_names, market_type
from tradefair.contract.kernel.players import AgentRecord, Player
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.figures import figure_of
from tradefair.evaluation.ledger import Ledger, LedgerTurn
from tradefair.evaluation.modes.table import NO_MODES
from tradefair.evaluation.phrases import missing, phrases_for
from tradefair.evaluation.read.accounts import SeatAccount
from tradefair.evaluation.verdict.amounts import amount, dollars, number, number_apart, percent, seconds
from tradefair.evaluation.verdict.of_trace import kind_of, worded
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.verdict import (
    Beside,
    Effort,
    Mistake,
    Reproduced,
    Score,
    SeatVerdict,
    Trouble,
    Verdict,
)


def seat(
    value: float | None = 12.0, name: str = "B1", player: str = "react/openai:small-1", **more: Any
) -> SeatVerdict:
    said = f"earned {amount(value, 'points')}"
    score = Score(metric="payoff", title="points", value=value, unit="points", verb="earned", loss="lost", said=said)
    return SeatVerdict.model_validate(
        {"seat": name, "role": "buyer", "player": player, "kind": "model", "score": score, **more}
    )


def verdict(*seats: SeatVerdict, seed: int = 7, **more: Any) -> Verdict:
    return worded(
        Verdict(
            status="played",
            market="double_auction",
            scenario="double_auction/bazaar",
            seeds=(seed,),
            seats=seats,
            reproduced=Reproduced(state="reproduced", events=512),
            **more,
        )
    )


def test_the_headline_stands_before_the_references() -> None:
    beside = (Beside(name="gd", value=20.0), Beside(name="oracle", value=15.0, privileged=True))
    told = verdict(seat(headline=0.4142, between=("truthful", "gd"), beside=beside, referenced=True))
    assert told.sentences[0].endswith(
        "seed 7: 41 % of the way from truthful to gd, less than gd (20) and oracle (15, knows hidden facts)."
    )


def test_beyond_the_ends_of_a_scale_there_is_no_share_but_the_difference() -> None:
    beside = (Beside(name="gd", value=20.0), Beside(name="truthful", value=15.0), Beside(name="passive", value=0.0))
    told = verdict(seat(headline=-0.6, between=("truthful", "gd"), beside=beside, referenced=True))
    assert told.sentences[0].endswith("seed 7: less than gd (20) and truthful (15), more than passive (0).")
    less = verdict(seat(-129.0, share=-0.4, share_of="of what its value allowed", beside=beside, referenced=True))
    assert ": 129 less than doing nothing, less than gd (20)" in less.sentences[0]
    more = verdict(seat(share=1.25, share_of="of what its value allowed"))
    assert more.sentences[0].endswith("seed 7.")


def test_money_of_minor_units_is_read_as_money() -> None:
    score = seat().score.model_copy(
        update={"unit": "minor units", "value": 1_615.0, "said": "earned 16.15 currency units"}
    )
    ledger = ledger_with([turn_of(1, 2_000.0)], own=1_615.0, unit="minor units")
    told = verdict(seat(score=score, ledger=ledger, gap=ledger.gap, best_known=ledger.of))
    assert told.sentences[0].endswith("would have earned 36.15 (mean of gd and zip), 20 more.")
    assert told.sentences[1] == "All of it was lost in 1 of 1 turn: round 1 (20); both policies agree."
    assert told.sentences[2] == (
        "Round 1: it called submit_quote price 0.4; gd would have called submit_quote price 0.6; "
        "from there the best known policies would have ended with 0.5, a turn later with -19.5."
    )


def test_two_calls_are_told_apart_by_what_differs() -> None:
    many = [{"item": f"item {number}", "price": number} for number in range(9)]
    dearer = [*many[:8], {"item": "item 8", "price": 99}]
    offers = ((("submit_offer", {"prices": many, "slogan": "new"}),), (("submit_offer", {"prices": dearer}),))
    turn = turn_of(1, 20.0).model_copy(update=dict(zip(("did", "would"), offers, strict=True)))
    assert _lost(ledger_with([turn]))[2].startswith(
        'Round 1: it called submit_offer prices "item 8" price 8 slogan new; '
        'gd would have called submit_offer prices "item 8" price 99; from'
    )
    more = turn.model_copy(update={"would": (*turn.did, ("skip_phase", {}))})
    assert _lost(ledger_with([more]))[2].startswith("Round 1: gd would also have called skip_phase; from")


def test_what_is_lower_the_better_is_listed_best_first_too() -> None:
    score = seat().score.model_copy(update={"higher_is_better": False})
    beside = (Beside(name="careful", value=3.0), Beside(name="hasty", value=30.0))
    told = verdict(seat(score=score, beside=beside, referenced=True))
    assert told.sentences[0].endswith("seed 7: more than careful (3), less than hasty (30).")


def test_a_reference_that_earned_as_much_is_neither_above_nor_below() -> None:
    beside = (Beside(name="gd", value=20.0), Beside(name="zip", value=12.0), Beside(name="passive", value=0.0))
    told = verdict(seat(12.0, beside=beside, referenced=True))
    assert told.sentences[0].endswith("seed 7: less than gd (20), as much as zip (12), more than passive (0).")


def test_references_that_do_not_fit_are_left_out_whole() -> None:
    beside = tuple(Beside(name=f"policy_with_a_long_name_{place}" * 2, value=float(place)) for place in (30, 20, 10))
    sentence = verdict(seat(beside=beside, referenced=True)).sentences[0]
    assert len(sentence) <= 240
    assert "…" not in sentence
    assert sentence.endswith(").")


def test_of_many_seats_the_range_is_told() -> None:
    told = verdict(*(seat(float(value), f"S{value}") for value in (404, 12, 120, 130)))
    assert told.sentences[0] == (
        "react/openai:small-1 earned 12 to 404 points in 4 seats of double_auction/bazaar, seed 7 (median 125); "
        "worst S12."
    )


def test_three_seats_of_two_players_have_one_sentence() -> None:
    told = verdict(seat(404.0, "B1"), seat(12.0, "B2"), seat(-3.0, "S1", "policy:zip"))
    assert told.sentences[0] == (
        "react/openai:small-1 earned 404 points in seat B1, 12 in seat B2 and policy:zip lost 3 points in seat S1 "
        "of double_auction/bazaar, seed 7."
    )


def test_without_a_seat_under_test_there_is_no_mean_over_seats() -> None:
    told = verdict(
        figure=Score(metric="efficiency", title="efficiency", value=0.93, unit=""), effort=Effort(tool_calls=480)
    )
    assert told.text == (
        "No seat was under test in double_auction/bazaar, seed 7; efficiency: 0.93. "
        "480 tool calls; 512 events, reproduced."
    )


_MISTAKE = Mistake(mode="m", seat="B1", seq=102, round=7, because="round 7: bid 40")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "Mistake, round 7: bid 40."),
        (
            {"lost": 61.0, "turns": 3, "unit": "points", "raised": 8, "of": 48},
            "Mistake, round 7: bid 40; 3 turns of its kind lost 61 points; 8 of 48 seats of known policies made one.",
        ),
        (
            {"lost": -1.0, "turns": 1, "unit": "points", "raised": 0, "of": 48},
            "Mistake, round 7: bid 40; its turn gained, as it came out, 1 point; "
            "none of 48 seats of known policies made one.",
        ),
    ],
)
def test_without_a_ledger_the_mistake_to_read_first_is_said(change: dict[str, Any], sentence: str) -> None:
    assert verdict(seat(mistake=_MISTAKE.model_copy(update=change))).sentences[1] == sentence


def turn_of(number: int, lost: float, *, agreed: bool = True, until: int = 0) -> LedgerTurn:
    last = until or number
    return LedgerTurn(
        turn=number,
        until=last,
        round=number,
        last_round=last,
        phase="quote",
        step=0,
        seqs=(number,),
        value=50.0,
        after=50.0 - lost,
        lost=lost,
        band=(lost, lost),
        agreed=agreed,
        did=(("submit_quote", {"price": 40}),),
        would=(("submit_quote", {"price": 60}),),
        values={"gd": 50.0, "zip": 50.0},
    )


def ledger_with(turns: Sequence[LedgerTurn], own: float = 12.0, unit: str = "points", **more: Any) -> Ledger:
    gap = sum(turn.lost for turn in turns)
    known = {"gd": own + gap, "zip": own + gap}
    # What a policy still has before a turn is what it loses from there on.
    later = [own + sum(turn.lost for turn in turns[place:]) for place in range(len(turns))]
    turns = [
        turn.model_copy(update={"values": dict.fromkeys(known, value)})
        for turn, value in zip(turns, later, strict=True)
    ]
    about: dict[str, Any] = {"of": ("gd", "zip"), "known": known, **more}
    return Ledger(seat="B1", unit=unit, own=own, reachable=own + gap, gap=gap, turns=tuple(turns), **about)


def _lost(ledger: Ledger, **more: Any) -> tuple[str, ...]:
    return verdict(seat(ledger=ledger, gap=ledger.gap, best_known=ledger.of, **more)).sentences


def test_the_gap_stands_beside_the_score_and_the_fewest_turns_that_hold_half_of_it_behind() -> None:
    score, where, costliest, _ = _lost(
        ledger_with([turn_of(1, 20.0), turn_of(2, 0.0), turn_of(3, 9.0), turn_of(4, 5.0)])
    )
    assert score.endswith("seed 7; the best known policies would have earned 46 (mean of gd and zip), 34 more.")
    assert where == "Most of it was lost in 1 of 4 turns: round 1 (20); both policies agree."
    assert costliest == (
        "Round 1: it called submit_quote price 40; gd would have called submit_quote price 60; "
        "from there the best known policies would have ended with 50, a turn later with 30."
    )


def test_a_case_of_a_mistake_takes_the_place_of_what_was_done() -> None:
    sentences = _lost(ledger_with([turn_of(1, 20.0)]), because="round 1: bid 40 with a value of 90")
    assert sentences[2].startswith("Round 1: bid 40 with a value of 90; gd would have called submit_quote price 60;")


def test_turns_about_which_the_policies_differ_are_a_stretch() -> None:
    turns = [turn_of(1, 1.0), turn_of(2, 30.0, agreed=False), turn_of(3, -12.0), turn_of(4, 10.0), turn_of(5, 1.0)]
    assert _lost(ledger_with(turns))[1] == "All of it, 30, was lost in round 2."
    assert (
        _lost(ledger_with([*turns, turn_of(6, -25.0)]))[1]
        == "30 was lost in round 2; the other turns together gained 25."
    )


def test_a_stretch_is_named_only_if_it_lost_by_every_policy() -> None:
    ledger = ledger_with([turn_of(1, 30.0, agreed=False), turn_of(2, 10.0, agreed=False)])
    for first in ({"gd": 72, "zip": 32}, {"gd": 92, "zip": 12}):
        pairs = zip(ledger.turns, (first, {"gd": 12, "zip": 32}), strict=True)
        turns = tuple(turn.model_copy(update={"values": values}) for turn, values in pairs)
        said = _lost(ledger.model_copy(update={"turns": turns}))[1]
        assert said == "The 2 policies do not agree where it was lost."


def test_a_turn_that_lost_no_more_than_is_noise_here_is_named_with_its_neighbours_only() -> None:
    turns = [turn_of(1, 8.0), turn_of(2, 7.0), turn_of(3, 6.0), turn_of(4, -1.0)]
    where, costliest = _lost(ledger_with(turns, noise=7.9))[1:3]
    assert where == "Most of it, 15, was lost from round 1 to round 2."
    assert costliest.startswith("Round 1: it called submit_quote price 40;")
    # The costliest turn is noise itself: the stretch is all that is said.
    quiet = _lost(ledger_with(turns, noise=8.0))
    assert quiet[1] == where
    assert len(quiet) == 3
    named = _lost(ledger_with(turns, noise=6.9))[1]
    assert named == "Most of it was lost in 2 of 4 turns: round 1 (8) and round 2 (7); both policies agree."
    # What a stretch lost is compared with no turn's noise.
    assert "from round 1" not in _lost(ledger_with([turn_of(1, 8.0, until=6)], noise=8.0))[1]


@pytest.mark.parametrize(("usual", "told"), [(None, True), (20.0, True), (20.5, False), (-3.0, True)])
def test_the_costliest_turn_is_told_where_the_gap_is_that_of_competent_seats_or_more(
    usual: float | None, told: bool
) -> None:
    sentences = _lost(ledger_with([turn_of(1, 20.0)], median_gap=usual))
    assert any(sentence.startswith("Round 1: it called") for sentence in sentences) == told
    assert sentences[1] == "All of it was lost in 1 of 1 turn: round 1 (20); both policies agree."


def test_a_stretch_that_was_not_resolved_counts_as_its_turns() -> None:
    where = _lost(ledger_with([turn_of(1, 9.0), turn_of(2, 20.0, until=8), turn_of(9, 2.0)]))[1]
    assert where.startswith("Most of it was lost in 7 of 9 turns:")


def test_what_was_lost_all_over_names_no_turn_as_the_place() -> None:
    sentences = _lost(ledger_with([turn_of(number, 1.0) for number in range(1, 31)]))
    assert sentences[1] == "It was lost evenly over 30 of 30 turns."


def test_who_earned_as_much_lost_nothing() -> None:
    score, nothing, _ = _lost(ledger_with([turn_of(1, 0.0)]))
    assert score.endswith("; as much as the mean of the best known policies (gd and zip).")
    assert nothing == "No mistake was found of 0 kinds that were looked for."
    assert _lost(ledger_with([turn_of(1, -3.0)]))[0].endswith(
        "; 3 more than the mean of the best known policies (gd and zip)."
    )


def test_where_no_known_policy_earns_anything_nothing_could_be_won() -> None:
    ledger = ledger_with([turn_of(1, 0.0)], own=0.0)
    told = verdict(seat(0.0, ledger=ledger, gap=0.0, best_known=ledger.of))
    assert told.sentences[0].endswith(": nothing could be won: 0 for each of 2 known policies on this seed.")


def test_what_kept_a_seat_from_acting_comes_before_what_it_lost() -> None:
    refused = _MISTAKE.model_copy(update={"protocol": True, "because": "round 1: both bids were refused"})
    sentences = _lost(ledger_with([turn_of(1, 20.0)]), mistake=refused)
    assert sentences[1] == "Mistake, round 1: both bids were refused."
    assert sentences[2].startswith("All of it was lost in 1 of 1 turn")


def test_seeds_on_which_nothing_could_be_won_are_said_with_what_to_take() -> None:
    # Of three seeds one has nothing to win; a reference that won something would have made its stake more than 0.
    episodes = [
        verdict(seat(value, at_stake=stake), seed=seed) for seed, value, stake in [(1, 0, 0), (2, 9, 20), (3, 3, 5)]
    ]
    series = verdict_of_series(episodes)
    assert (series.informative, series.unknown_stakes, series.seeds) == (2, 0, (1, 2, 3))
    assert series.sentences[0].startswith("react/openai:small-1 earned 4 points on average in seat B1 of")
    assert series.sentences[0].endswith("over 3 seeds (95 % interval -7.384 to 15.38).")
    assert series.sentences[1] == (
        "On 1 of 3 seeds the seat had nothing to win, whoever plays; take `--scenario double_auction/duel`."
    )
    assert [step.command for step in series.next] == [
        "tradefair play double_auction --scenario double_auction/duel --seeds 3"
    ]


def test_what_is_not_known_counts_as_something_to_win_and_is_said() -> None:
    series = verdict_of_series([verdict(seat(at_stake=stake), seed=seed) for seed, stake in [(1, None), (2, 0.0)]])
    assert (series.informative, series.unknown_stakes) == (1, 1)
    assert "; what there was to win is not known on 1 seed; 2 of 2 reproduced." in series.text


def test_a_reference_that_some_seeds_lack_has_no_mean() -> None:
    both, one = Beside(name="zip", value=5.0), Beside(name="gd", value=9.0)
    series = verdict_of_series([verdict(seat(beside=(one, both)), seed=1), verdict(seat(beside=(both,)), seed=2)])
    assert [reference.name for reference in series.seats[0].beside] == ["zip"]


def test_a_series_says_how_far_its_mean_is_from_each_reference() -> None:
    beside = (
        Beside(name="gd", value=20.0, privileged=True),
        Beside(name="zip", value=12.0),
        Beside(name="x", value=2.0),
    )
    series = verdict_of_series([verdict(seat(12.0, beside=beside), seed=seed) for seed in (1, 2)])
    # Two episodes that are alike have no interval either.
    assert series.sentences[0].endswith(
        "over 2 seeds; 8 less than gd (20, knows hidden facts), as much as zip (12), 10 more than x (2) "
        "on the same seeds."
    )


def test_seats_of_one_episode_are_one_of_the_episodes_in_which_a_mistake_comes_first() -> None:
    seats = [seat(0.0, name, mistake=_MISTAKE.model_copy(update={"seat": name})) for name in ("B1", "B2", "B3")]
    series = verdict_of_series([verdict(*seats, seed=seed) for seed in (1, 2)])
    assert "such mistakes come first in 2 episodes" in series.text


def test_of_an_agent_that_never_acted_it_is_not_said_that_it_made_no_mistake() -> None:
    trouble = Trouble(kind="never_called", text="it never called a tool.", exit=1)
    idle = verdict(seat(0.0, trouble=trouble)).model_copy(update={"status": "idle", "trouble": trouble})
    series = verdict_of_series([idle, idle])
    assert series.sentences[0] == "In 2 of 2 episodes the agent never called a tool."
    assert "mistake" not in series.text


def test_the_mode_that_comes_first_most_often_is_told_by_its_costliest_instance() -> None:
    rare = _MISTAKE.model_copy(update={"mode": "rare", "lost": 900.0})
    mistakes = [_MISTAKE, rare, _MISTAKE.model_copy(update={"lost": 70.0, "because": "round 9: bid 1"})]
    series = verdict_of_series(
        [verdict(seat(mistake=found), seed=seed) for seed, found in enumerate(mistakes, start=1)]
    )
    assert series.sentences[1] == "Mistake, seed 3, round 9: bid 1; such mistakes come first in 2 episodes."


_REACT = AgentRecord(framework="react", model="openai:small-1")


@pytest.mark.parametrize(
    ("player", "took", "kind"),
    [
        (Player(label="policy:zip", policy="zip"), {}, "script"),
        (Player(label="react", agent=_REACT), {}, "model"),
        (Player(label="r", agent=_REACT.model_copy(update={"model": "policy:zip"})), {"model_calls": 9}, "script"),
        (Player(label="r", agent=AgentRecord(framework="react", replay="ab")), {}, "model"),
        (Player(label="agent"), {"calls": 4, "person_calls": 3}, "person"),
        (Player(label="agent"), {"calls": 4, "person_calls": 1}, "outside"),
        (Player(label="external", agent=AgentRecord(framework="external")), {}, "outside"),
        (Player(label="mine", agent=AgentRecord(framework="mine")), {}, "unknown"),
        (None, {}, "unknown"),
    ],
)
def test_who_decides_for_a_seat_is_read_from_the_seating(
    player: Player | None, took: dict[str, Any], kind: str
) -> None:
    counted = SeatAccount.model_validate(took)
    assert kind_of(player, counted, foreign=False) == kind
    assert kind_of(player, counted, foreign=True) == "unknown"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(41_234), "41,230"),
        (number(0.0), "0"),
        (number(-0.04), "-0.04"),
        (number(123.456), "123.5"),
        (number(99_999), "100,000"),
        (number(12_550_123_456), "12.55 billion"),
        (number(-31_440_000), "-31.44 million"),
        (number(5_020_000), "5.02 million"),
        (number_apart(12_553_456_000, 12_550_123_456), "12.553 billion"),
        (number_apart(404.0, 404.0), "404"),
        (number_apart(200_000, 199_980), "200,000, 20 more"),
        (number_apart(-200_000, -199_980), "-200,000, 20 less"),
        (number_apart(199_980, 200_000), "199,980"),
        (number_apart(404.0, None), "404"),
        (number(float("nan")), "an unknown number"),
        (amount(1.0, "points"), "1 point"),
        (amount(None, "points"), "an unknown number of points"),
        (percent(0.2249), "22 %"),
        (percent(0.9999), "99.99 %"),
        (dollars(57_000), "$0.06"),
        (dollars(1_240), "$0.0012"),
        (dollars(0), "$0.00"),
        (seconds(71.2), "71 s"),
        (seconds(0.043), "0.043 s"),
    ],
)
def test_numbers_have_one_rule(shown: str, expected: str) -> None:
    assert shown == expected


MARKETS = sorted(market_names())


@pytest.mark.parametrize(
    ("phrase", "stated"),
    [
        ("{verb} {value} per round", "per round"),
        ("{verb} {value} on average", "on average"),
        ("{verb} {value} in all", "in all"),
        ("{verb} {value} currency units", "currency units"),
        ("{verb} {value} ticks", "ticks"),
        ("{verb} {value} by day {days}", "day"),
        ("{verb} {value}, ending with {days}", None),
        ("{verb} {value}, 40 % of it", "4"),
        ("{verb} {value} in 14 days", "1"),
    ],
)
def test_a_phrase_that_states_a_unit_or_an_aggregation_is_refused(phrase: str, stated: str | None) -> None:
    complaints = [*missing({"all": {"scored": phrase}}, ["buyer"], NO_MODES, {"days"})]
    expected = f"the phrase scored of buyer states {stated!r}, which figure(...) has to say"
    assert complaints == ([] if stated is None else [expected])


@pytest.mark.parametrize("market", MARKETS)
def test_figures_say_what_phrases_leave_out(market: str) -> None:
    evaluator = evaluator_of(market)
    roles = {role for spec in market_type(market).policies.values() for role in spec.roles}
    assert evaluator.missing_phrases(roles) == []
    metrics = {metric.name: figure_of(market, metric.name) for metric in evaluator.primary_metrics}
    assert all(figure is not None and figure.aggregation for figure in metrics.values())
    first = evaluator.primary_metrics[0]
    assert figure_of(market, first.name).unit == first.unit  # pyright: ignore[reportOptionalMemberAccess]
    for role in sorted(roles):
        part = phrases_for(evaluator.phrases, role).get("part")
        figures = [figure_of(market, part), figure_of(market, part, "relative")] if part else []
        assert [figure.unit for figure in figures if figure] == ["share"] * bool(part)
