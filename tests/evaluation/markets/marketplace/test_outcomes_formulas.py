"""Formulas of the marketplace: losses, shares of a bargain, the best assignment (marketplace page, 6 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tradefair.evaluation.markets.marketplace.assignment import best_assignment
from tradefair.evaluation.markets.marketplace.bargain import Trade, bargains
from tradefair.evaluation.markets.marketplace.loss import CustomerRecord, Loss, Offer, Try, loss_of

VALUE = 2_696
PRICES = {0: 1_351, 1: 1_376, 2: 1_434}
"""customer_0001 of mexican_3_9: business 2 has no seating (6.6)."""
OPTIONS = {0: 1_345, 1: 1_320, 2: -1_434}
OFFERS = {
    "third": Offer(2, 1_434, fits=False, visible=10),
    "first": Offer(0, 1_351, fits=True, visible=20),
    "second": Offer(1, 1_376, fits=True, visible=30),
}
"""List-price proposals of 0003, 0001, 0002, one round apart."""


def _record(
    tries: Sequence[tuple[str, int]] = (),
    paid: Sequence[str] = (),
    *,
    seen: Sequence[int] = (0, 1, 2),
    asked: Sequence[int] = (0, 1, 2),
    offers: Mapping[str, Offer] = OFFERS,
    options: Mapping[int, int] = OPTIONS,
) -> CustomerRecord:
    attempts = tuple(Try(name, seq) for name, seq in tries)
    return CustomerRecord(VALUE, options, frozenset(seen), frozenset(asked), offers, attempts, tuple(paid))


def _terms(loss: Loss) -> tuple[int, ...]:
    return loss.query, loss.outreach, loss.offer, loss.impatience, loss.misjudgement, loss.execution


def test_paying_the_first_offer_at_once_costs_what_the_worked_example_says() -> None:
    loss = loss_of(_record([("third", 11)], ["third"]))
    assert (loss.utility, loss.query, loss.outreach, loss.selection, loss.execution) == (-1_434, 0, 0, 2_779, 0)
    assert (loss.offer, loss.impatience, loss.misjudgement) == (0, 1_345, 1_434)
    assert loss.total == 2_779 == 1_345 + 1_434


def test_paying_a_second_time_is_a_loss_of_execution_only() -> None:
    loss = loss_of(_record([("third", 11), ("first", 21)], ["third", "first"]))
    assert (loss.utility, loss.selection, loss.execution) == (-89, 0, 1_434)
    assert loss.total == 1_434 == 1_345 + 89


def test_whoever_never_acted_has_lost_everything_to_the_query() -> None:
    loss = loss_of(_record(seen=(), asked=(), offers={}))
    assert _terms(loss) == (1_345, 0, 0, 0, 0, 0)


def test_a_business_that_was_seen_and_not_asked_is_a_loss_of_outreach() -> None:
    loss = loss_of(_record([("second", 40)], ["second"], asked=(1,), offers={"second": OFFERS["second"]}))
    assert _terms(loss) == (0, 25, 0, 0, 0, 0)


def test_whoever_asks_or_proposes_counts_as_seen() -> None:
    loss = loss_of(_record([("first", 40)], ["first"], seen=(), asked=(), offers={"first": OFFERS["first"]}))
    assert _terms(loss) == (0, 0, 0, 0, 0, 0)


def test_whoever_tries_nothing_has_every_offer_in_hand_at_the_end() -> None:
    assert _terms(loss_of(_record())) == (0, 0, 0, 0, 1_345, 0)


def test_a_payment_that_was_refused_is_tried_and_not_paid() -> None:
    refused = loss_of(_record([("first", 25)]))
    assert _terms(refused) == (0, 0, 0, 0, 0, 1_345)
    # Nothing was paid, so that trying what could only lose is as good as trying nothing.
    assert _terms(loss_of(_record([("third", 11)]))) == (0, 0, 0, 1_345, 0, 0)


def test_the_earliest_try_on_the_best_of_what_was_tried_is_the_decision() -> None:
    twice = loss_of(_record([("second", 31), ("third", 11), ("second", 35)], ["second"]))
    assert _terms(twice) == (0, 0, 0, 0, 25, 0)
    before = {**OFFERS, "better": Offer(0, 1_000, fits=True, visible=33)}
    assert _terms(loss_of(_record([("second", 31), ("second", 35)], ["second"], offers=before))) == (
        0, 0, -351, 351, 25, 0,
    )  # fmt: skip


def test_sellers_who_go_below_list_make_the_term_of_the_offer_negative() -> None:
    cheap = {"first": Offer(0, 1_200, fits=True, visible=20)}
    loss = loss_of(_record([("first", 25)], ["first"], offers=cheap))
    assert (loss.offer, loss.total) == (-151, -151)


def test_a_customer_without_a_match_has_nothing_to_lose_until_it_pays() -> None:
    assert _terms(loss_of(_record(options={}, offers={}))) == (0,) * 6
    useless = {"p": Offer(7, 400, fits=False, visible=5)}
    loss = loss_of(_record([("p", 6)], ["p"], options={}, offers=useless))
    assert (_terms(loss), loss.utility) == ((0, 0, 0, 0, 400, 0), -400)


@st.composite
def records(draw: st.DrawFn, *, posted: bool) -> CustomerRecord:
    """Any history of a customer; `posted`: nobody offers the order below its list price, and only matches fit."""
    value = draw(st.integers(0, 40))
    businesses = range(6)
    places = st.frozensets(st.sampled_from(businesses))
    matches = draw(st.dictionaries(st.sampled_from(businesses), st.tuples(st.integers(0, 30), st.booleans())))
    offers: dict[str, Offer] = {}
    for number in range(draw(st.integers(0, 5))):
        business = draw(st.sampled_from(businesses))
        price, fitting = matches.get(business, (0, False))
        fits = fitting and draw(st.booleans()) if posted else draw(st.booleans())
        least = price if posted and fits else 0
        offers[str(number)] = Offer(business, draw(st.integers(least, 40)), fits, draw(st.integers(0, 9)))
    names = list(offers)
    tried = draw(st.lists(st.sampled_from(names), max_size=4)) if names else []
    tries = tuple(Try(name, offers[name].visible + draw(st.integers(1, 9))) for name in tried)
    paid = tuple(draw(st.lists(st.sampled_from(tried), unique=True))) if tried else ()
    options = {business: value * fitting - price for business, (price, fitting) in matches.items()}
    return CustomerRecord(value, options, draw(places), draw(places), offers, tries, paid)


@given(records(posted=False))
def test_the_terms_always_sum_to_what_was_lost(record: CustomerRecord) -> None:
    loss = loss_of(record)
    assert sum(_terms(loss)) == loss.total == loss.optimum - record.utility
    assert loss.query + loss.outreach + loss.selection + loss.execution == loss.total
    assert all(term >= 0 for term in (loss.query, loss.outreach, loss.impatience, loss.misjudgement, loss.execution))


@given(records(posted=True))
def test_no_term_is_negative_at_list_prices(record: CustomerRecord) -> None:
    assert min(_terms(loss_of(record))) >= 0


# --- bargains -------------------------------------------------------------------------------------------------------


def test_the_shares_of_the_worked_bargain() -> None:
    found = bargains([Trade(0, VALUE, 1_161, 1_054, fits=True)], VALUE - 1_054)
    assert found.buyer_share == Fraction(1_535, 1_642)
    assert found.seller_share == Fraction(107, 1_642)
    assert (found.seller_surplus, found.surplus, found.efficiency) == (107, 1_642, 1)
    assert round(float(found.buyer_share or 0), 4) == 0.9348


def test_a_second_purchase_creates_no_second_value() -> None:
    trades = [Trade(0, 100, 60, 50, fits=True), Trade(0, 100, 45, 40, fits=True), Trade(1, 80, 30, 35, fits=False)]
    found = bargains(trades, 60)
    assert (found.surplus, found.efficiency) == (100 - 50 - 40 - 35, Fraction(-25, 60))
    assert (found.shared, found.buyer_share, found.seller_share) == (2, Fraction(95, 110), Fraction(15, 110))
    assert found.seller_surplus == 10 + 5 - 5


def test_shares_of_nothing_are_undefined() -> None:
    nothing = bargains([], 0)
    assert (nothing.buyer_share, nothing.seller_share, nothing.efficiency, nothing.surplus) == (None, None, None, 0)
    unfit = bargains([Trade(0, 100, 100, 100, fits=True), Trade(1, 100, 9, 5, fits=False)], 20)
    assert (unfit.shared, unfit.buyer_share, unfit.efficiency) == (0, None, Fraction(-5, 20))


# --- assignment -----------------------------------------------------------------------------------------------------


def _by_trying_everything(options: Sequence[Mapping[int, int]], capacity: int) -> int:
    best = 0
    for choice in product(*([None, *worths] for worths in options)):
        orders = [business for business in choice if business is not None]
        if all(orders.count(business) <= capacity for business in orders):
            worth = sum(
                worths[business] for worths, business in zip(options, choice, strict=True) if business is not None
            )
            best = max(best, worth)
    return best


_OPTIONS = st.lists(st.dictionaries(st.integers(0, 3), st.integers(-5, 12), max_size=4), max_size=5)


@given(_OPTIONS, st.integers(1, 3))
def test_the_best_assignment_is_the_best_of_all(options: list[dict[int, int]], capacity: int) -> None:
    assert best_assignment(options, capacity) == _by_trying_everything(options, capacity)


def test_two_who_want_the_same_business_share_what_there_is() -> None:
    assert best_assignment([{0: 10, 1: 9}, {0: 10, 1: 2}], 1) == 19
    assert best_assignment([{0: 10, 1: 9}, {0: 10, 1: 2}], 2) == 20
    assert best_assignment([{0: 10}, {0: 8}], 1) == 10
    assert best_assignment([{0: -3}, {}], 1) == best_assignment([], 1) == 0
