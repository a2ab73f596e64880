"""Episodes of a marketplace sweep as experiments need them: small rows, so that thousands fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.contract import Chance, TraceError
from tradefair.evaluation.markets.marketplace.modes.exposure import Exposure, exposures, payments_to, unseen_echoes
from tradefair.evaluation.markets.marketplace.modes.play import Buyer
from tradefair.evaluation.markets.marketplace.modes.reading import read_bazaar
from tradefair.evaluation.markets.marketplace.play import read_marketplace
from tradefair.evaluation.progress import Progress
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.reading import imported, read_each
from tradefair.marketplace.answers.search import base_ranks
from tradefair.marketplace.engine.delivery import lexicographic
from tradefair.marketplace.engine.participants import places
from tradefair.marketplace.model import BUSINESS, MarketplaceScenario
from tradefair.tracestore import Trace

_MARKET = "marketplace"
# They name or bound a scenario and say nothing about what was varied.
_UNNAMED = frozenset({"id", "version", "description", "catalogue", "limits"})


class Shopper(NamedTuple):
    """One customer of an episode. Money in cents; businesses by seat id.

    `listed` and `arriving` are the businesses in the order that the arm gave them, empty where no arm gives one.
    `to_it` counts payments to manipulating businesses, `misdirected` those with something better known, `cost` how much
    better; `unseen` texts whose canary it wrote without having been shown them; `messages` what it sent, one to each.
    """

    seat: str
    chosen: str | None
    utility: int
    worths: Mapping[str, int]
    listed: tuple[str, ...]
    arriving: tuple[str, ...]
    payments: int
    to_it: int
    misdirected: int
    cost: int
    unseen: int
    exposures: Sequence[Exposure]
    messages: int = 0


class Episode(NamedTuple):
    """A trace: its scenario, seed and trial, what played the agent seats, and the customers that it played.

    Where the agent played no customer (it may play businesses), all customers count.
    """

    path: Path
    scenario: MarketplaceScenario
    settings: Mapping[str, Any]
    seed: int
    trial: int
    agent: str
    shoppers: Sequence[Shopper]

    @property
    def welfare(self) -> float:
        """W = Σ U_i of these customers, in currency units."""
        return sum(shopper.utility for shopper in self.shoppers) / 100

    @property
    def arm(self) -> tuple[int, int]:
        """Which permutations of list and arrival it has."""
        return (self.scenario.listing_permutation, self.scenario.arrival_permutation)


class Episodes(NamedTuple):
    """What could be read, and (path, reason) of what could not."""

    episodes: list[Episode]
    left_out: list[tuple[Path, str]]


class Cell(NamedTuple):
    """What episodes share that differ only in what is compared: scenario, agent, and (setting, value) pairs.

    Only settings that vary over the sweep are named.
    """

    scenario: str
    agent: str
    settings: tuple[tuple[str, str], ...]

    @property
    def where(self) -> str:
        """The settings as text."""
        return ", ".join(f"{name} = {value}" for name, value in self.settings)


def read_episodes(paths: Iterable[Path], progress: Progress | None = None) -> Episodes:
    """The episodes of traces, read one by one; an unfinished or foreign trace is left out and named."""
    return Episodes(*read_each(list(paths), progress, episode_of))


def episode_of(trace: Trace) -> Episode:
    """An ended episode of the marketplace. Raises TraceError naming what is missing."""
    core = trace.manifest.core
    if core.market != _MARKET:
        raise TraceError(f"a trace of {core.market}: experiments are of the {_MARKET}")
    game = read_bazaar(trace)
    if game.problem is not None or game.scenario is None:
        raise TraceError(game.problem or "the scenario cannot be read")
    # An episode that the harness broke says nothing about its agents.
    if game.ended is None or game.ended.endswith("harness_failure"):
        raise TraceError(f"not played to an end ({game.ended or 'unfinished'})")
    # By rules of any version: what the end says is what was played.
    ending = read_marketplace(trace).ending
    arrivals = {} if ending is None else {seat: tuple(facts.arrival_order) for seat, facts in ending.customers.items()}
    seating = trace.seating()
    # Scripted customers among the agent's would dilute every rate.
    ours = [] if imported(seating) else seating.agents
    customers = [buyer for seat, buyer in game.customers.items() if seat in ours] or list(game.customers.values())
    return Episode(
        path=trace.path,
        scenario=game.scenario,
        settings=dict(_flat("", core.scenario)),
        seed=core.seed,
        trial=seating.policy_key,
        agent=", ".join(dict.fromkeys(seating.players[seat].label[:80] for seat in ours or game.customers)),
        shoppers=[_shopper(buyer, core.seed, arrivals.get(buyer.seat, ())) for buyer in customers],
    )


def _flat(prefix: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings by dotted name, as a sweep's plan writes them."""
    for name, inner in value.items():
        # At the top level only: a nested setting of such a name is one like any other.
        if prefix or name not in _UNNAMED:
            if isinstance(inner, dict):
                yield from _flat(f"{prefix}{name}.", mapping(inner))  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield prefix + name, inner


def _shopper(buyer: Buyer, seed: int, arrivals: tuple[str, ...]) -> Shopper:
    """Small figures only: the trace is closed when the next one is read."""
    game = buyer.game
    # Seat ids: experiments compare episodes, and an index has a meaning within one data set only.
    ids = {seller.index: seat for seat, seller in game.businesses.items()}
    paid = payments_to(buyer)
    wrong = [payment for payment in paid if payment.misdirected]
    return Shopper(
        seat=buyer.seat,
        chosen=ids[buyer.bought[0].business] if buyer.bought else None,
        utility=buyer.utility,
        worths={ids[business]: worth for business, worth in buyer.worths.items()},
        listed=tuple(ids[business] for business in _listed(buyer, seed)),
        arriving=arrivals if game.rules.arrival_order == "permutation" else (),
        payments=len(buyer.bought),
        to_it=len(paid),
        misdirected=len(wrong),
        cost=sum(payment.better for payment in wrong),
        unseen=unseen_echoes(buyer),
        exposures=exposures(buyer),
        messages=len(buyer.letters),
    )


def _listed(buyer: Buyer, seed: int) -> tuple[int, ...]:
    """The first page as the arm orders it, empty where no arm does.

    The search `simple` shows all customers the same page, so that it is known for those who never searched too; other
    searches depend on the query, and the page is the first one that was shown.
    """
    game, rules = buyer.game, buyer.game.rules
    if rules.listing_order != "explicit":
        return ()
    # With reputation the base order changes during the episode.
    alike = rules.search_algorithm == "simple" and not rules.reputation
    shown = (search.shown for other in (game.customers.values() if alike else (buyer,)) for search in other.searches
             if search.page == 1)  # fmt: skip
    first = next(shown, ())
    if first or not alike:
        return first
    sellers = [seller.business for seller in game.businesses.values()]
    ratings = [0 if business is None else business.rating_bp for business in sellers]
    ranks = base_ranks(ratings, places(Chance(seed), BUSINESS, len(sellers)))
    # The first page by base order; the arm permutes it afterwards, as the directory does.
    page = sorted(range(len(ranks)), key=ranks.__getitem__)[: rules.search_limit]
    return lexicographic(page, rules.listing_permutation)


def cells(episodes: Sequence[Episode], without: frozenset[str]) -> dict[Cell, list[Episode]]:
    """Episodes by cell, sorted; settings in `without` never distinguish cells, nor do settings that never vary."""
    values: dict[str, dict[str, set[str]]] = {}
    for episode in episodes:
        known = values.setdefault(episode.scenario.id, {})
        for name, value in episode.settings.items():
            known.setdefault(name, set()).add(str(value))
    found: dict[Cell, list[Episode]] = {}
    for episode in episodes:
        # Per scenario: what never varies there is no part of the cell's name.
        varied = [name for name, held in values[episode.scenario.id].items() if len(held) > 1 and name not in without]
        settings = tuple((name, str(episode.settings.get(name))) for name in sorted(varied))
        found.setdefault(Cell(episode.scenario.id, episode.agent, settings), []).append(episode)
    return dict(sorted(found.items()))
