from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import Chance, HarnessFailure, ScenarioError, TraceError
from tradefair.trading.chance import (
    ChanceKind,
    Generation,
    KeyedTradingChance,
    LogSeedChance,
    RecordedChance,
    TradingChance,
    TradingStream,
    open_chance,
)
from tradefair.trading.clearing import Pair, clear
from tradefair.trading.values import Acceptance, Law, Mix, Roster

DUEL = Roster.of(1, 1)
PAIR = Pair("B1", "S1")
VECTOR_SEED = 20250821


def seats(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def log_duel(seed: int, generation: Generation = "maker_draw", *, chat: bool = True) -> LogSeedChance:
    return LogSeedChance(seed, DUEL, ("B1", "S1"), generation, chat=chat)


@pytest.mark.parametrize(
    ("seed", "min_gap", "limits"), [(60, 3, (39, 36)), (60, 4, (73, 19)), (92, 3, (97, 12)), (92, 2, (72, 70))]
)
def test_acceptance_vectors(seed: int, min_gap: int, limits: tuple[int, int]) -> None:
    values = log_duel(seed).limits("uniform", Acceptance(min_gap=min_gap)).values
    assert (values["B1"], values["S1"]) == limits


# The page prints B1 as the first quoter of the last round of the first row. CPython's own `shuffle` gives S1, and no
# other order is possible there: both take one accepted draw, and the coin and the maker after it agree with the page.
STREAM_VECTORS: list[tuple[Law, int, tuple[int, int], Generation, str]] = [
    ("uniform", 3, (78, 63), "maker_draw", "S1,B1,50,B1 S1,S1,51,S1 S1,S1,51,B1 S1,S1,50,B1"),
    ("uniform", 3, (78, 63), "maker_order", "S1,B1,50,B1 S1,S1,50,S1 B1,S1,51,S1 S1,S1,50,S1"),
    ("correlated_source", 0, (30, 23), "maker_draw", "B1,B1,51,B1 S1,S1,50,S1 S1,B1,51,B1 S1,S1,50,B1"),
    ("semi_bimodal", 4, (98, 16), "maker_draw", "S1,S1,51,B1 S1,S1,51,B1 S1,B1,50,B1 S1,S1,51,S1"),
    ("heavy_tailed", 2, (57, 0), "maker_order", "S1,S1,50,S1 S1,S1,50,S1 S1,S1,50,S1 S1,S1,51,S1"),
]


def played(chance: TradingChance, number: int) -> str:
    """First speaker, first quoter, price and maker of a round with bid 51 and ask 50."""
    speaker, quoter = chance.speaking_order(number)[0], chance.quote_order(number)
    (match,) = clear(
        {"B1": 51},
        {"S1": 50},
        quoter,
        lambda pair: chance.round_up(number, pair),
        lambda pair, earlier: chance.maker(number, pair, earlier),
    )
    return f"{speaker},{quoter[0]},{match.price},{match.maker}"


@pytest.mark.parametrize(("law", "redraws", "values", "generation", "rounds"), STREAM_VECTORS)
def test_stream_vectors(law: Law, redraws: int, values: tuple[int, int], generation: Generation, rounds: str) -> None:
    chance = log_duel(VECTOR_SEED, generation)
    limits = chance.limits(law, Acceptance())
    assert (limits.attempts - 1, tuple(limits.values.values()), limits.law) == (redraws, values, law)
    assert " ".join(played(chance, number) for number in range(1, 5)) == rounds


def test_fixture_a_follows_a_public_bazaar_game() -> None:
    order = seats("B1 B2 S1 S2 S3 B3 B4 S4")
    chance = LogSeedChance(3398199942, Roster.of(4, 4), order, "maker_draw", chat=False)
    values = chance.limits("semi_bimodal", Acceptance()).values
    assert list(values.values()) == [4, 13, 11, 13, 1, 80, 17, 9]
    assert chance.quote_order(1) == seats("B4 S1 S3 B2 S2 B3 B1 S4")


def test_fixture_b_follows_a_public_game_with_chat() -> None:
    chance = LogSeedChance(2677810155, Roster.of(3, 3), seats("S1 S2 S3 B1 B2 B3"), "maker_draw", chat=True)
    values = chance.limits("correlated_source", Acceptance()).values
    assert list(values.values()) == [17, 48, 86, 35, 72, 88]
    assert chance.speaking_order(1) == seats("B2 S2 S1 S3 B3 B1")
    assert chance.quote_order(1) == seats("B1 S2 B3 S1 S3 B2")
    (match,) = clear({"B1": 75}, {"S1": 47}, ("B1", "S1"), lambda _: False)
    assert (match.price, values["B1"] - match.price) == (61, -44)


Call = Callable[[LogSeedChance], object]


def draw(chance: LogSeedChance) -> object:
    return chance.limits("uniform", Acceptance())


def speak(number: int) -> Call:
    return lambda chance: chance.speaking_order(number)


def quote(number: int) -> Call:
    return lambda chance: chance.quote_order(number)


def coin(number: int, pair: Pair = PAIR) -> Call:
    return lambda chance: chance.round_up(number, pair)


def maker(number: int, pair: Pair = PAIR) -> Call:
    return lambda chance: chance.maker(number, pair, pair.buyer)


@pytest.mark.parametrize("generation", ["maker_draw", "maker_order"])
@pytest.mark.parametrize(
    ("chat", "done", "wrong"),
    [
        (False, [], quote(1)),
        (True, [], speak(1)),
        (False, [], coin(0)),
        (False, [draw], draw),
        (False, [draw], speak(1)),
        (False, [draw], quote(2)),
        (True, [draw], quote(1)),
        (True, [draw], speak(2)),
        (True, [draw, speak(1)], speak(1)),
        (True, [draw, speak(1)], coin(1)),
        (False, [draw], coin(0)),
        (False, [draw, quote(1)], quote(1)),
        (False, [draw, quote(1)], coin(2)),
        (False, [draw, quote(1), coin(1)], coin(1)),
        (False, [draw, quote(1), coin(1)], quote(2)),
        (False, [draw, quote(1), coin(1)], maker(1, Pair("B1", "S2"))),
        (False, [draw, quote(1), maker(1)], maker(1)),
        (False, [draw, quote(1), coin(1), maker(1)], coin(1)),
        (True, [draw, speak(1), quote(1), speak(2)], coin(1)),
        (True, [draw, speak(1), quote(1), coin(1)], speak(2)),
        (False, [draw, quote(1), quote(2)], coin(1)),
    ],
)
def test_a_call_out_of_the_streams_order_raises_and_draws_nothing(
    generation: Generation, chat: bool, done: list[Call], wrong: Call
) -> None:
    roster = Roster.of(2, 2)
    chance = LogSeedChance(5, roster, roster.seats, generation, chat=chat)
    for call in done:
        call(chance)
    with pytest.raises(HarnessFailure, match="out of order"):
        wrong(chance)


@given(st.integers(0, 2**32 - 1))
def test_a_refused_call_leaves_a_logs_stream_where_it_was(seed: int) -> None:
    plain, disturbed = log_duel(seed), log_duel(seed)
    for chance in (plain, disturbed):
        chance.limits("uniform", Acceptance())
    for wrong in (draw, quote(1), coin(1), maker(1), speak(3)):
        with pytest.raises(HarnessFailure):
            wrong(disturbed)
    assert [played(disturbed, number) for number in (1, 2, 3)] == [played(plain, number) for number in (1, 2, 3)]


@pytest.mark.parametrize("kind", ["log_maker_draw", "log_maker_order", "recorded"])
@pytest.mark.parametrize(
    ("law", "acceptance", "message"),
    [
        (Mix(), Acceptance(), "distribution = mix"),
        ("correlated_common", Acceptance(), "distribution = correlated_common"),
        ("uniform", Acceptance("per_seat"), "acceptance = per_seat"),
    ],
)
def test_what_no_log_has_is_the_scenarios_error(
    kind: ChanceKind, law: Law | Mix, acceptance: Acceptance, message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        open_chance(kind, 1, DUEL).limits(law, acceptance)


def test_a_seat_order_that_is_no_permutation_is_the_scenarios_error() -> None:
    with pytest.raises(ScenarioError, match="seat_order"):
        open_chance("log_maker_draw", 1, DUEL, seat_order=("B1", "B1"))


@pytest.mark.parametrize("kind", ["log_maker_draw", "recorded"])
def test_a_logs_chance_knows_only_the_grid_of_the_logs(kind: ChanceKind) -> None:
    with pytest.raises(ScenarioError, match="price_max = 1000"):
        open_chance(kind, 1, DUEL, price_max=1000)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("keyed", KeyedTradingChance),
        ("log_maker_draw", LogSeedChance),
        ("log_maker_order", LogSeedChance),
        ("recorded", RecordedChance),
    ],
)
def test_the_scenario_key_chooses_the_chance(kind: ChanceKind, kept: type) -> None:
    assert type(open_chance(kind, 1, DUEL)) is kept


def test_keyed_draws_are_the_stated_functions_of_their_uniforms() -> None:
    source = Chance(11)
    roster = Roster.of(3, 2)
    chance = KeyedTradingChance(Chance(11), roster)
    drawn = {seat: source.uniform(TradingStream.QUOTE_ORDER, 4, seat) for seat in roster.seats}
    assert chance.quote_order(4) == tuple(sorted(drawn, key=drawn.__getitem__))
    spoken = {seat: source.uniform(TradingStream.SPEAKING_ORDER, 4, seat) for seat in roster.seats}
    assert chance.speaking_order(4) == tuple(sorted(spoken, key=spoken.__getitem__))
    for number in range(1, 9):
        up = source.uniform(TradingStream.ROUND_UP, number, "B2", "S1") < 0.5
        assert chance.round_up(number, Pair("B2", "S1")) is up
    assert chance.maker(1, Pair("B2", "S1"), "S1") == "S1"
    values = chance.limits("uniform", Acceptance("none")).values
    assert values == {seat: int(101 * source.uniform(TradingStream.LIMIT, 1, seat, "value")) for seat in roster.seats}


def test_the_common_law_has_one_base_for_the_whole_market() -> None:
    spreads: list[int] = []
    for seed in range(50):
        limits = KeyedTradingChance(Chance(seed), Roster.of(8, 8)).limits("correlated_common", Acceptance("none"))
        spreads.append(max(limits.values.values()) - min(limits.values.values()))
    assert max(spreads) <= 20
    source = KeyedTradingChance(Chance(1), Roster.of(8, 8)).limits("correlated_source", Acceptance("none"))
    assert max(source.values.values()) - min(source.values.values()) > 20


@given(st.integers(0, 2**63), st.permutations(range(6)))
def test_keyed_draws_do_not_depend_on_what_was_asked_before(seed: int, order: list[int]) -> None:
    roster = Roster.of(2, 2)
    asks: list[Callable[[KeyedTradingChance], object]] = [
        lambda chance: chance.limits(Mix(), Acceptance()),
        lambda chance: chance.speaking_order(3),
        lambda chance: chance.quote_order(3),
        lambda chance: chance.quote_order(4),
        lambda chance: chance.round_up(3, Pair("B1", "S2")),
        lambda chance: chance.round_up(3, Pair("B2", "S1")),
    ]
    shared = KeyedTradingChance(Chance(seed), roster)
    for index in order:
        assert asks[index](shared) == asks[index](KeyedTradingChance(Chance(seed), roster))


def test_keyed_coins_and_orders_are_fair() -> None:
    chance = KeyedTradingChance(Chance(3), Roster.of(2, 2))
    ups = sum(chance.round_up(number, PAIR) for number in range(1, 4001))
    firsts = sum(chance.quote_order(number)[0] == "S2" for number in range(1, 4001))
    assert abs(ups - 2000) <= 4 * 1000**0.5
    assert abs(firsts - 1000) <= 4 * 750**0.5


def recorded_round(**changes: Any) -> dict[str, Any]:
    pair = {"buyer": "B1", "seller": "S1", "up": True, "maker": "S1"}
    return {"round": 1, "speaking_order": None, "quote_order": ["S1", "B1"], "pairs": [pair], **changes}


def test_recorded_chance_answers_with_what_it_was_fed() -> None:
    chance = RecordedChance(60, DUEL)
    assert chance.limits("uniform", Acceptance()).values == {"B1": 39, "S1": 36}
    assert not chance.has_round(1)
    assert chance.feed(recorded_round(speaking_order=["B1", "S1"])) == 1
    assert chance.has_round(1)
    assert played(chance, 1) == "B1,S1,51,S1"


PAIR_ROW = {"buyer": "B1", "seller": "S1", "up": None, "maker": "B1"}


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "round",
        recorded_round(round=True),
        recorded_round(round=0),
        recorded_round(quote_order=["S1"]),
        recorded_round(quote_order=["S1", "S1"]),
        recorded_round(speaking_order=["S1", "B2"]),
        recorded_round(extra=1),
        recorded_round(pairs=[{**PAIR_ROW, "buyer": "S1"}]),
        recorded_round(pairs=[{**PAIR_ROW, "maker": "B2"}]),
        recorded_round(pairs=[{**PAIR_ROW, "up": 1}]),
        {"round": 1},
    ],
)
def test_recorded_luck_that_does_not_fit_is_a_trace_error(payload: Any) -> None:
    chance = RecordedChance(60, DUEL)
    with pytest.raises(TraceError, match="recorded_chance"):
        chance.feed(payload)
    assert not chance.has_round(1)


def test_recorded_luck_is_fed_once_and_missing_luck_is_named() -> None:
    chance = RecordedChance(60, DUEL)
    with pytest.raises(TraceError, match="round 1 was not fed"):
        chance.quote_order(1)
    chance.feed(recorded_round(pairs=[PAIR_ROW]))
    with pytest.raises(TraceError, match="fed before"):
        chance.feed(recorded_round())
    with pytest.raises(TraceError, match="no speaking order"):
        chance.speaking_order(1)
    with pytest.raises(TraceError, match="no coin for B1 and S1"):
        chance.round_up(1, PAIR)
    with pytest.raises(TraceError, match="no trade of B1 and S2"):
        chance.maker(1, Pair("B1", "S2"), "B1")
