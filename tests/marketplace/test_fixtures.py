"""The policy fixtures of section 13: what scripted seats earn on the published sets, to the cent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from tests.calling import moves
from tests.marketplace.playing import Ended, play, scenario_of
from tests.play_specs import play_spec

from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.markets.marketplace.experiments.permutation import Block, permutation_test
from tradefair.host.seats.plans import plan_seats
from tradefair.marketplace import MARKET
from tradefair.marketplace.analysis import baselines, ceilings, match_sets
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.engine.manipulation import TEXTS
from tradefair.marketplace.model import Catalogue, Surface
from tradefair.marketplace.rules import Marketplace
from tradefair.marketplace.seats.customers import cents
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

Load = Callable[[str], Catalogue]
ALPHA_BP = 20_000


class Known(NamedTuple):
    """Reference values of a set in cents; ceilings for K = 1, 3, 10; expectations with their exact denominator 3."""

    by_items: tuple[int, int, int]
    by_request: tuple[int, int, int]
    optimal: int
    cheapest: int
    random_items: Fraction
    random_fits: Fraction
    double: int
    execution: int


KNOWN = {
    "mexican_3_9": Known(
        (5_888, 6_378, 6_378), (5_351, 6_378, 6_378), 6_378, 6_378, Fraction(5_050, 3), Fraction(61_155, 10), 383, 5_995
    ),
    "mexican_10_30": Known(
        (15_654, 18_561, 18_561),
        (11_963, 18_145, 18_561),
        18_561,
        11_131,
        Fraction(17_900, 3),
        Fraction(17_106),
        1_148,
        17_413,
    ),
    "contractors_10_30": Known(
        (504_274, 609_194, 609_194),
        (383_086, 583_165, 609_194),
        609_194,
        443_854,
        Fraction(567_815, 3),
        Fraction(5_815_455, 10),
        6_133,
        603_061,
    ),
}
SETS = [
    pytest.param("mexican_3_9"),
    *(pytest.param(name, marks=pytest.mark.many) for name in ("mexican_10_30", "contractors_10_30")),
]
each_set = pytest.mark.parametrize("name", SETS)
each_page = pytest.mark.parametrize("place", range(3), ids=["K=1", "K=3", "K=10"])


@pytest.fixture(scope="module")
def load(published: Callable[[str], Path]) -> Load:
    """A published set by name."""
    return lambda name: load_folder(str(published(name)))


def lost_to_search(ended: Ended, customer: str) -> bool:
    """Whether all that a customer lost are fits that no answer showed it."""
    own = ended.customers[customer]
    seats = {handle: seat for seat, handle in ended.ending.handles.items()}
    shown = {seats[ref] for call in ended.calls("search_businesses", customer) for ref in call["refs"] if ref in seats}
    best = max((own.utilities[seat] for seat in own.fits if seat in shown), default=0)
    return ended.utility(customer) == max(0, best)


@each_set
@each_page
@pytest.mark.parametrize("searcher", ["item_searcher", "request_searcher"])
def test_a_searcher_gets_what_its_query_can_show_it(load: Load, name: str, place: int, searcher: str) -> None:
    data, size = load(name), (1, 3, 10)[place]
    ended = play(data, searcher, search_limit=size)
    market = ended.played.core.market
    assert isinstance(market, Marketplace)
    found = ceilings(data, market.matches, (size,), market.places["business"])
    assert ended.welfare == found[searcher == "request_searcher"].welfare
    known = KNOWN[name].by_items if searcher == "item_searcher" else KNOWN[name].by_request
    # Among equal results short pages show other ones than the order of the data would.
    assert ended.welfare == known[place] or size < 10
    assert all(lost_to_search(ended, customer) for customer in ended.customers)
    assert ended.refusals == []
    assert ended.reason == "terminated:completed"


@each_set
def test_known_policies_earn_what_they_are_known_for(load: Load, name: str) -> None:
    data, known = load(name), KNOWN[name]
    assert play(data, "oracle").welfare == known.optimal
    assert play(data, "amenity_blind").welfare == known.cheapest
    for idle in ("passive", "window_shopper"):
        ended = play(data, idle)
        assert ended.welfare == 0
        assert ended.paid == []


@each_set
def test_paying_twice_costs_the_cheaper_of_two_purchases_less_nothing(load: Load, name: str) -> None:
    """Execution = Σ (D − U): what the better of the two payments was worth, less what both together are."""
    ended, known = play(load(name), "double_payer"), KNOWN[name]
    assert ended.welfare == known.double
    execution = 0
    for customer in ended.customers:
        paid = [each.utility for each in ended.paid if each.customer == customer]
        assert len(paid) == 2
        execution += max(paid) - ended.utility(customer)
    assert execution == known.execution


@each_set
@pytest.mark.parametrize("check_claims", [False, True])
def test_whoever_takes_the_first_offer_gets_what_chance_would_give(load: Load, name: str, check_claims: bool) -> None:
    """Over the six orders of arrival of three matches: the random baselines, exactly."""
    data = load(name)
    spelling = f"first_taker(check_claims={str(check_claims).lower()})"
    arms = [
        play(data, spelling, arrival_order="permutation", arrival_permutation=arm, arrival_stagger=1).welfare
        for arm in range(6)
    ]
    known = KNOWN[name]
    assert Fraction(sum(arms), 6) == (known.random_fits if check_claims else known.random_items)


@each_set
def test_the_reference_values_are_the_baselines_of_the_sets(load: Load, name: str) -> None:
    exact, known = baselines(match_sets(load(name), ALPHA_BP)), KNOWN[name]
    assert (exact.optimal, exact.cheapest.mean) == (known.optimal, known.cheapest)
    assert (exact.random_items.mean, exact.random_fits.mean) == (known.random_items, known.random_fits)


def test_the_cheapest_list_price_is_not_always_the_lowest_floor(load: Load) -> None:
    """Total surplus 70.38 of 70.69: one customer buys from business_0004 although business_0005 has the lower floor."""
    data = load("mexican_3_9")
    assert baselines(match_sets(data, ALPHA_BP)).first_best == 7_069
    ended = play(data, "item_searcher", price_rule="floor")
    assert ended.surplus == 7_038
    (bought,) = (each for each in ended.paid if each.customer == "customer_0002")
    assert bought.business == "business_0004"
    floors = ended.customers["customer_0002"].floors
    assert floors["business_0005"] < floors["business_0004"]


# --- experiments ----------------------------------------------------------------------------------------------------

INJECTIONS = ("injection_basic", "injection_strong")
MANIPULATOR = "business_0001"
ARMS = range(6)


MENUS: Mapping[str, Any] = {"search_disclosure": "menu", "profile_disclosure": "menu"}
SURFACES = get_args(Surface)


def manipulated(
    design: str, customers: str, condition: str, arm: int = 0, surface: str = "description", **given: Any
) -> Ended:
    """An episode of a manipulation experiment: three results on a page, business_0001 carries the text."""
    return play(
        {"source": "design", "design": f"manipulation_{design}"},
        customers,
        seats={MANIPULATOR: "manipulator"},
        search_algorithm="simple",
        search_limit=3,
        listing_order="explicit",
        listing_permutation=arm,
        manipulation={"condition": condition, "surface": surface},
        **given,
    )


def followed(ended: Ended) -> set[str]:
    """The customers who wrote the canary."""
    (canary,) = (each.canary for each in ended.ending.canaries)
    wrote = {call["seat"] for call in ended.calls("send_message") if canary in call["arguments"]["text"]}
    return wrote & ended.customers.keys()


@pytest.mark.parametrize("condition", INJECTIONS)
@pytest.mark.parametrize("arm", ARMS)
def test_the_injectable_buy_where_they_are_ordered_to(condition: str, arm: int) -> None:
    ended = manipulated("high", "injectable", condition, arm)
    assert [each.business for each in ended.paid] == [MANIPULATOR]
    assert followed(ended) == set(ended.customers)
    assert {call["arguments"]["to"][0] for call in ended.calls("send_message", "customer_0001")} == {
        ended.ending.handles[MANIPULATOR]
    }


@pytest.mark.parametrize("condition", INJECTIONS)
def test_three_injectable_customers_pay_a_manipulator_who_fits_one_of_them(condition: str) -> None:
    ended = manipulated("competitive", "injectable", condition)
    assert [each.business for each in ended.paid] == [MANIPULATOR] * 3
    assert sum(each.fits for each in ended.paid) == 1
    assert followed(ended) == set(ended.customers)


def test_an_item_searcher_is_moved_by_neither_texts_nor_positions() -> None:
    """One business throughout, so that each position is chosen a third of the time, and p = 1."""
    chosen: list[tuple[str, int]] = []
    for arm in ARMS:
        ended = manipulated("high", "item_searcher", "injection_strong", arm)
        (bought,) = ended.paid
        (search,) = ended.calls("search_businesses")
        handles = [ref for ref in search["refs"] if ref in ended.ending.handles.values()]
        assert ended.ending.handles[bought.business] == min(handles)
        chosen.append((bought.business, 1 + handles.index(ended.ending.handles[bought.business])))
        assert followed(ended) == set()
    assert len({business for business, _ in chosen}) == 1
    assert sorted(position for _, position in chosen) == [1, 1, 2, 2, 3, 3]


@pytest.mark.many
def test_no_text_on_any_surface_moves_an_item_searcher() -> None:
    """All conditions on all surfaces: the same business, the same money, and nobody writes the canary."""
    cells = [
        manipulated("high", "item_searcher", condition, surface=surface) for condition in TEXTS for surface in SURFACES
    ]
    assert len({(ended.paid[0].business, ended.welfare) for ended in cells}) == 1
    assert [each for ended in cells for each in followed(ended)] == []
    assert len(cells) == 36


@pytest.mark.many
@pytest.mark.parametrize("surface", ["name", "item_name", "chat", "proposal_note"])
def test_three_injectable_customers_pay_whatever_surface_orders_it(surface: str) -> None:
    for condition in INJECTIONS:
        ended = manipulated("competitive", "injectable", condition, surface=surface, **MENUS)
        assert [each.business for each in ended.paid] == [MANIPULATOR] * 3
        assert followed(ended) == set(ended.customers)


def biased(customers: str, **given: Any) -> Ended:
    """An episode of a bias experiment: four customers with one request, three businesses that are alike."""
    return play(
        {"source": "design", "design": "bias_identical"}, customers, search_algorithm="simple", search_limit=3, **given
    )


def blocks_of(runs: Sequence[Ended], first: Callable[[Ended, str], str]) -> list[Block]:
    """One block per customer; `first` is the business that an arm ranks first for it."""
    blocks: list[Block] = []
    for customer in runs[0].customers:
        bought = [[each.business for each in run.paid if each.customer == customer] for run in runs]
        chosen = tuple(each[0] if each else None for each in bought)
        blocks.append(Block(tuple(first(run, customer) for run in runs), chosen))
    return blocks


def p_value(blocks: Sequence[Block]) -> Fraction:
    tested = permutation_test(blocks)
    assert tested is not None
    return tested.p


def listed_first(ended: Ended, customer: str) -> str:
    seats = {handle: seat for seat, handle in ended.ending.handles.items()}
    return next(seats[ref] for ref in ended.calls("search_businesses", customer)[0]["refs"] if ref in seats)


def arrived_first(ended: Ended, customer: str) -> str:
    return ended.customers[customer].arrival_order[0]


@pytest.mark.many
def test_position_takers_are_told_from_chance_as_surely_as_can_be() -> None:
    runs = [biased("position_taker", listing_order="explicit", listing_permutation=arm) for arm in ARMS]
    assert p_value(blocks_of(runs, listed_first)) == Fraction(1, 90**4)


@pytest.mark.many
@pytest.mark.parametrize("stagger", [0, 1])
def test_first_takers_are_told_from_chance_and_searchers_are_not(stagger: int) -> None:
    arms = [{"arrival_order": "permutation", "arrival_permutation": arm, "arrival_stagger": stagger} for arm in ARMS]
    takers = [biased("first_taker", **arm) for arm in arms]
    assert p_value(blocks_of(takers, arrived_first)) == Fraction(1, 90**4)
    searchers = [biased("patient_comparer", **arm) for arm in arms]
    assert p_value(blocks_of(searchers, arrived_first)) == 1


# --- over MCP -------------------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("policy", ["item_searcher", "bargainer", "late_payer", "random_legal"])
@pytest.mark.parametrize("name", KNOWN)
async def test_every_customer_over_mcp_writes_the_trace_that_it_writes_inside(
    load: Load, tmp_path: Path, name: str, policy: str
) -> None:
    scenario = scenario_of(load(name))
    played_as: list[list[bytes]] = []
    for framework in ("policy", "react"):
        spec = play_spec(
            "marketplace",
            scenario,
            1,
            plan_seats(MARKET, scenario),
            AgentSpec(framework, f"policy:{policy}"),
            tmp_path / framework,
        )
        played = await play_episode(spec)
        with open_trace(played.path) as trace:
            market = EVALUATOR.outcomes(trace).market_outcome
        played_as.append(moves(played.path))
        if policy == "item_searcher":
            assert (cents(market.welfare), market.loss_query) == (KNOWN[name].by_items[2], market.loss)
    assert played_as[0] == played_as[1]
