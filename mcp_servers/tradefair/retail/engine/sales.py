"""One day of trade: customers choose, goods are sold lot by lot, some come back, some are reviewed (6.1 to 6.6).

History and episode use the same steps; they differ in luck, in where the lots come from, and in ρ_rev, which is 0 in
the history.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

from tradefair.retail.engine.day_records import DayColumns, ReviewedLot, ReviewLog
from tradefair.retail.engine.demand import (
    attraction,
    binomial_inverse,
    category_mass,
    customers,
    return_probability,
    season_week,
    star,
    take_share,
)
from tradefair.retail.engine.luck import Luck
from tradefair.retail.engine.stock import Taken
from tradefair.retail.model import FeedbackRules, RetailScenario, Store, Streams

# As many uniforms as one digest gives.
_DRAWS_AT_ONCE = 8


class Shoppers:
    """The customers of a store: how many come, how attractive products are to them, what they want.

    All functions take the day's `luck` and `day_key`; they draw, but remember nothing of a day except the season's
    slopes.
    """

    def __init__(self, scenario: RetailScenario, store: Store) -> None:
        self._scenario = scenario
        self._store = store
        self._mean = scenario.traffic.customers_per_day * scenario.traffic.scale
        # Month and day, so that a long episode is closed every year.
        self._closed = frozenset(scenario.traffic.closed_dates)
        self._week = -1
        self._slopes: list[float] = []
        # Products by category, in store order: the split of buyers depends on that order (6.5).
        self.by_category: list[list[int]] = [[] for _ in store.categories]
        for place, product in enumerate(store.products):
            self.by_category[product.category].append(place)

    def count(self, luck: Luck, day_key: int, day: date) -> int:
        """N_t, the customers of a day; 0 on closed dates."""
        if day.isoformat()[5:] in self._closed:
            return 0
        z = luck.normals(Streams.TRAFFIC, day_key, n=1)
        return customers(self._mean, self._scenario.traffic.noise_sd, day, float(z[0]))

    def attractions(
        self, luck: Luck, day_key: int, day: date, prices: Sequence[int], shelf: Sequence[int], effects: Sequence[float]
    ) -> list[float]:
        """A_jt by product: of the products on the shelf, 0 for all others.

        `prices` in cents and `effects` (ρ_rev + ρ_news) are by product, `shelf` holds product indices.
        """
        slopes, divisor = self._slopes_at(day), self._scenario.demand.noise_divisor
        found = [0.0] * len(self._store.products)
        # Drawn for all products, so that the shelf shifts no draw.
        draws = luck.normals(Streams.NOISE, day_key, n=len(found)).tolist()
        for place in shelf:
            product = self._store.products[place]
            noise = product.sigma * draws[place] / divisor
            found[place] = attraction(product.alpha, slopes[place], prices[place], noise, effects[place])
        return found

    def _slopes_at(self, day: date) -> list[float]:
        """β + βs·sin(2πw/52) + βc·cos(2πw/52) by product; the same for a whole week."""
        # Slopes change by the week, so they are computed on its first day.
        week = season_week(day)
        if week != self._week:
            angle = 2 * math.pi * week / 52
            sine, cosine = math.sin(angle), math.cos(angle)
            self._slopes = [
                product.beta + product.beta_sin * sine + product.beta_cos * cosine for product in self._store.products
            ]
            self._week = week
        return self._slopes

    def demand(
        self, luck: Luck, day_key: int, visitors: int, attractions: Sequence[float], available: Sequence[bool]
    ) -> list[int]:
        """d_jt by product in units (6.5).

        Per category one binomial draw of all buyers, which is then split in product order. `available` says by product
        whether it is on the shelf with stock in the morning.
        """
        wanted = [0] * len(attractions)
        # One draw per category, so that a price in another category changes nothing here.
        totals = luck.uniforms(Streams.CATEGORY, day_key, n=len(self.by_category))
        splits = luck.uniforms(Streams.ALLOCATION, day_key, n=len(wanted))
        for category, members in enumerate(self.by_category):
            # Only what can be bought: the last product takes the rest, so it must be one of these.
            seen = [place for place in members if available[place] and attractions[place] > 0.0]
            if not seen:
                continue
            share = take_share(category_mass([attractions[place] for place in seen], self._scenario.demand.rho))
            left = binomial_inverse(totals[category], visitors, share)
            self._split(splits, left, seen, attractions, wanted)
        return wanted

    @staticmethod
    def _split(
        draws: Sequence[float], left: int, seen: Sequence[int], attractions: Sequence[float], wanted: list[int]
    ) -> None:
        """Split the buyers of a category: conditional binomial draws in product order, the rest to the last product.

        `draws` are uniforms by product of the store.
        """
        mass = math.fsum(attractions[place] for place in seen)
        for place in seen[:-1]:
            # The later draws are left out; each product has its own, so this shifts nothing.
            if not left:
                return
            wanted[place] = taken = binomial_inverse(draws[place], left, attractions[place] / mass)
            left -= taken
            mass -= attractions[place]
        # No draw is left for the last one: its share of the rest is 1.
        wanted[seen[-1]] = left

    def lost(self, visitors: int, attractions: Sequence[float], available: Sequence[bool]) -> tuple[float, float]:
        """Expected losses of a day by shelf products without stock, in units: (their demand, lost sales).

        No demand is drawn for a product that is not there, so these are expectations (9). The second figure is what
        their categories sell less; it is smaller, because some customers take a sibling instead. `attractions` > 0 are
        the products on the shelf, `available` those of them with opening stock.
        """
        missed: list[float] = []
        shrunk: list[float] = []
        rho = self._scenario.demand.rho
        for members in self.by_category:
            shelf = [place for place in members if attractions[place] > 0.0]
            empty = [attractions[place] for place in shelf if not available[place]]
            if not empty:
                continue
            # With all shelf products of the category, then with those that can be bought.
            full = take_share(category_mass([attractions[place] for place in shelf], rho))
            rest = take_share(category_mass([attractions[place] for place in shelf if available[place]], rho))
            total = math.fsum(attractions[place] for place in shelf)
            missed.append(visitors * full * math.fsum(empty) / total)
            shrunk.append(visitors * (full - rest))
        return round(math.fsum(missed), 6), round(math.fsum(shrunk), 6)


class DayBook:
    """What one day adds to the records, filled sale by sale.

    Product lists and pair lists (product·suppliers + supplier); money in cents.
    """

    def __init__(self, rules: FeedbackRules, luck: Luck, day_key: int, index: int, products: int, suppliers: int):
        self._rules = rules
        self._luck, self._day_key = luck, day_key
        self._index = index
        self._suppliers = suppliers
        self.units = [0] * products
        self.below_cost_units = [0] * products
        self.revenue = [0] * products
        self.refunds = [0] * products
        self.cost_of_goods = [0] * products
        self.returned = [0] * products
        self.stars = [0] * products
        self.reviews = [0] * products
        self.pair_units = [0] * (products * suppliers)
        self.pair_returned = [0] * (products * suppliers)
        self.pair_cost = [0] * (products * suppliers)

    def sell(self, product: int, price: int, taken: Sequence[Taken], log: ReviewLog) -> None:
        """Book the lots of one product that were sold at a price (cents), with their returns and reviews.

        `taken` is in the order of the sale; reviews go to `log`.
        """
        used = [0] * self._suppliers
        for sale in taken:
            # The ordinal of the lot by product and supplier keys its luck, so that another supplier's lots shift no
            # draw.
            used[sale.supplier] += 1
            pair = product * self._suppliers + sale.supplier
            self.units[product] += sale.units
            self.pair_units[pair] += sale.units
            self.revenue[product] += sale.units * price
            self.cost_of_goods[product] += sale.cost
            self.pair_cost[pair] += sale.cost
            # In whole numbers: price below unit cost, without a division that rounds.
            if price * sale.lot_quantity < sale.lot_cost:
                self.below_cost_units[product] += sale.units
            if self._rules.enabled:
                self._feedback(product, price, sale, used[sale.supplier], log)

    def _feedback(self, product: int, price: int, sale: Taken, lot: int, log: ReviewLog) -> None:
        """Returns and reviews of the `lot`-th lot that was used today for this product and supplier (6.6)."""
        pair = product * self._suppliers + sale.supplier
        # Return, number of reviews, then their stars: one digest has them all for most lots.
        key = (self._day_key, product, sale.supplier, lot)
        draws = self._luck.uniforms(Streams.FEEDBACK, *key, n=_DRAWS_AT_ONCE)
        returned = binomial_inverse(draws[0], sale.units, return_probability(sale.quality))
        if returned:
            # Returned goods are refunded and lost: nothing goes back into stock (6.6).
            self.returned[product] += returned
            self.refunds[product] += returned * price
            self.pair_returned[pair] += returned
        reviews = binomial_inverse(draws[1], sale.units, self._rules.review_share)
        if not reviews:
            return
        if reviews > _DRAWS_AT_ONCE - 2:
            draws = self._luck.uniforms(Streams.FEEDBACK, *key, n=reviews + 2)
        stars = [star(draw, sale.quality) for draw in draws[2 : reviews + 2]]
        self.stars[product] += sum(stars)
        self.reviews[product] += reviews
        # Below three stars of true quality, a bad review speaks of the quality (6.6). A price above three times the
        # unit cost gets complaints about the price.
        dear = 3 * sale.lot_cost < price * sale.lot_quantity
        log.add(product, ReviewedLot(self._index, sale.supplier, lot, sale.quality < 3000, dear), stars)

    def columns(
        self,
        *,
        price: Sequence[int],
        in_stock: Sequence[int],
        expired: Sequence[int],
        sold_out: Sequence[int],
        quotes: Sequence[int],
        ordered: Sequence[int],
    ) -> DayColumns:
        """The day's row for the records: what was booked here, and what only the caller knows."""
        return DayColumns(
            price=price,
            in_stock=in_stock,
            units=self.units,
            revenue=self.revenue,
            refunds=self.refunds,
            cost_of_goods=self.cost_of_goods,
            returned=self.returned,
            expired=expired,
            sold_out=sold_out,
            stars=self.stars,
            reviews=self.reviews,
            pair_quote=quotes,
            pair_units=self.pair_units,
            pair_returned=self.pair_returned,
            pair_ordered=ordered,
            pair_cost=self.pair_cost,
        )
