"""The marketplace: making a large one, searching it, mail and payments among many stored messages, and waiting.

What calls cost over HTTP is in `benchmarks.marketplace_load`.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.figures import Figure, Stopwatch
from tradefair.catalog import load_scenario
from tradefair.contract import Chance, HarnessFailure, Scenario
from tradefair.contract.kernel.core import Core
from tradefair.host.episode.episode import Episode
from tradefair.marketplace import MARKET
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.answers.directory import Directory, Filters
from tradefair.marketplace.answers.search import document_of, pieces
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.model import Business, Catalogue, MarketplaceScenario, Source
from tradefair.marketplace.rules import Marketplace

_SEED = 7
_LIMIT_MS = 2.0
_STORED = (1_000, 10_000, 100_000)
_TEXT = "Good day. Could you serve all of this, and at which price?"


def plain_score(query: str, document: str) -> Fraction:
    """|S4(query) ∩ S4(document)| / |S4(query)|: the definition that the index must equal in tests."""
    wanted = pieces(query)
    return Fraction(len(wanted & pieces(document)), len(wanted))


def measure(*, tiny: bool) -> list[Figure]:
    """Making large markets, searches by size of the directory, calls by number of stored messages, then waiting."""
    sizes = (30, 300) if tiny else (300, 3_000)
    stored = (100, 1_000) if tiny else _STORED
    figures = _making(10 if tiny else 10_000, 10 if tiny else 2_500)
    figures += [figure for size in sizes for figure in _searches(size, 20 if tiny else 200)]
    figures += _whole_calls(sizes[1], 5 if tiny else 40)
    figures += asyncio.run(_mail(stored, 20 if tiny else 200))
    figures += asyncio.run(_waiting(100 if tiny else 10_000))
    return figures


# --- a large market -------------------------------------------------------------------------------------------------


def _making(customers: int, seated: int) -> list[Figure]:
    """CPU and peak memory of a process that makes a market and searches it once; then of one that makes an episode."""
    whole, episode = _child("whole", customers), _child("episode", seated)
    large, seats = f"{3 * customers:,} businesses", f"{4 * seated:,} seats"
    shares = ", ".join(f"{name} {seconds:.2f}" for name, seconds in whole["cpu_s"].items())
    how = f"a process of its own, imports included ({shares} s); {4 * customers:,} seats are no episode, rules alone"
    return [
        Figure(f"create {large} and search once", sum(whole["cpu_s"].values()), "CPU s", 6, how=how),
        Figure(f"create {large} and search once: memory", whole["peak_mib"], "MiB", 300, how="the process's peak"),
        Figure(
            f"a search among {3 * customers:,}", whole["search_s"] * 1e3, "CPU ms", how="mean of 50 distinct queries"
        ),
        Figure(
            f"create an episode of {seats}", sum(episode["cpu_s"].values()), "CPU s", how="with its trace, one search"
        ),
        Figure(f"create an episode of {seats}: memory", episode["peak_mib"], "MiB", how="the process's peak"),
    ]


def _child(kind: str, customers: int) -> dict[str, Any]:
    code = "from benchmarks.marketplace import make; make()"
    command = [sys.executable, "-c", code, kind, str(customers)]
    return orjson.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]).stdout
    )


def make() -> None:
    """Make what the command line says, search it, and print what that took as JSON."""
    kind, customers = sys.argv[1], int(sys.argv[2])
    # As every command of ours has it.
    gc.set_threshold(100_000, 50, 100)
    laps, before = {"imports": time.process_time()}, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        market = (
            MARKET.create(_scenario(customers), _SEED) if kind == "whole" else asyncio.run(_begun(folder, customers))
        )
    laps["market"] = time.process_time() - before
    before = time.process_time()
    market.directory.page(0, "Midnight Spiced Mushroom", 1, Filters())
    laps["first search"] = time.process_time() - before
    mean = _each(lambda query: market.directory.page(0, query, 1, Filters()), list(_queries(market.catalogue, 50)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.buffer.write(orjson.dumps({"cpu_s": laps, "search_s": mean, "peak_mib": peak}))


async def _begun(folder: str, customers: int) -> Marketplace:
    episode = await _episode(folder, customers)
    market = episode.core.market
    assert isinstance(market, Marketplace)
    await episode.close()
    return market


# --- search ---------------------------------------------------------------------------------------------------------


def _scenario(customers: int, **overrides: Any) -> MarketplaceScenario:
    scenario: Scenario = load_scenario("marketplace", "restaurants_10", {"data.customers": customers, **overrides})
    assert isinstance(scenario, MarketplaceScenario)
    return scenario


def _queries(catalogue: Catalogue, count: int) -> Iterator[str]:
    """Distinct queries: requests in prose and names of items in turn."""
    for number in range(count):
        customer = catalogue.customers[number % len(catalogue.customers)]
        yield f"{customer.request if number % 2 else customer.wants[0].item} {number}"


def _searches(businesses: int, count: int) -> list[Figure]:
    """CPU of one search in the engine, index made beforehand, and of the definition over all profiles."""
    catalogue = generate(Source(domain="restaurants", customers=businesses // 3), _SEED)
    scenario = _scenario(businesses // 3)
    ratings = [Fraction(0)] * businesses
    directory = Directory(scenario, catalogue, match_sets(catalogue, 20_000), Chance(_SEED), ratings)
    queries = list(_queries(catalogue, count))
    watch = Stopwatch()
    directory.page(0, queries[0], 1, Filters())
    making = watch.seconds()
    indexed = _each(lambda query: directory.page(0, query, 1, Filters()), queries)
    plain = _each(lambda query: _by_definition(query, catalogue.businesses), queries[:3])
    goal = _LIMIT_MS if businesses == 3_000 else None
    how = f"mean of {count} distinct queries, page of 10"
    return [
        Figure(f"search among {businesses:,}", indexed * 1e3, "CPU ms", goal, how=how),
        Figure(f"definition over index, {businesses:,}", plain / indexed, "x", 20, "at least", "all profiles scored"),
        Figure(f"making the index of {businesses:,}", making * 1e3, "CPU ms", how="once per data set and process"),
    ]


def _by_definition(query: str, businesses: Sequence[Business]) -> list[int]:
    """The page by the plain definition: every profile is cut into pieces and scored."""
    wanted = pieces(query)
    scores = [len(wanted & pieces(document_of(business))) for business in businesses]
    assert Fraction(scores[0], len(wanted)) == plain_score(query, document_of(businesses[0]))
    return sorted(range(len(businesses)), key=lambda place: (-scores[place], place))[:10]


def _each(work: Callable[[str], object], queries: Sequence[str]) -> float:
    watch = Stopwatch()
    for query in queries:
        work(query)
    return watch.seconds() / len(queries)


def _whole_calls(businesses: int, count: int) -> list[Figure]:
    """A search as a tool call: validated, carried out, encoded and chained; beside the definition alone."""
    core = Core.create(MARKET, _scenario(businesses // 3), _SEED)
    core.start()
    seats = [seat for seat, spec in core.market.seats.items() if spec.role == "customer"]
    market = core.market
    assert isinstance(market, Marketplace)
    catalogue = market.catalogue
    queries = [query[:500] for query in _queries(catalogue, count)]
    _search(core, seats[0], "warm")
    watch = Stopwatch()
    for number, query in enumerate(queries):
        _search(core, seats[number % len(seats)], query)
    call = watch.seconds() / count
    plain = _each(lambda query: _by_definition(query, catalogue.businesses), queries[:2])
    return [
        Figure(f"search_businesses among {businesses:,}", call * 1e3, "CPU ms", how=f"whole call, mean of {count}"),
        Figure("definition over whole call", plain / call, "x", 20, "at least", f"{businesses:,} businesses"),
    ]


def _search(core: Core, seat: str, query: str) -> None:
    answer = core.call(seat, "search_businesses", {"query": query}).answer
    if answer is None or answer.status != "ok":
        raise HarnessFailure(f"search_businesses was refused: {answer}")


# --- mail and payments ------------------------------------------------------------------------------------------------


async def _episode(folder: str, customers: int, **overrides: Any) -> Episode:
    limits = [{"counts": ["accepted"], "max": 1_000_000, "per": "phase", "then": "refuse"}]
    told = {"clock": "free", "rounds_max": 1_000, "limits": limits, "timing.free_tick_s": 3_600.0, **overrides}
    path = Path(folder) / f"market{customers}-{len(list(Path(folder).iterdir()))}.trace"
    return await Episode.create(path, MARKET, _scenario(customers, **told), _SEED, episode_id=path.stem)


class _Town:
    """A free-running episode whose customers and businesses are called directly, durable trace and all."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        market: Any = episode.core.market
        self.market = market
        self.customers = [seat for seat, spec in market.seats.items() if spec.role == "customer"]
        self.businesses = [seat for seat, spec in market.seats.items() if spec.role == "business"]

    def handle(self, seat: str) -> str:
        return self.market.participants[seat].handle

    async def call(self, seat: str, tool: str, **arguments: Any) -> Any:
        answer = await self.episode.call(seat, tool, arguments)
        if answer.status != "ok":
            raise HarnessFailure(f"{tool} of {seat} was refused: {answer.error}")
        return answer

    async def fill(self, messages: int) -> None:
        """Store that many messages, spread over all pairs; twenty a call."""
        handles = [self.handle(seat) for seat in self.businesses]
        sent = 0
        while sent < messages:
            number = sent // 20
            start = (number * 7) % (len(handles) - 19)
            customer = self.customers[number % len(self.customers)]
            await self.call(customer, "send_message", to=handles[start : start + 20], text=f"{_TEXT} {number}")
            sent += 20


async def _mail(stored: Sequence[int], times: int) -> list[Figure]:
    """CPU per durable call with so many stored messages."""
    costs: dict[str, list[float]] = {"send_message": [], "receive_messages": [], "pay_proposal": []}
    with tempfile.TemporaryDirectory() as folder:
        for count in stored:
            town = _Town(await _episode(folder, 10))
            await town.fill(count)
            for tool, cost in (await _three(town, times)).items():
                costs[tool].append(cost)
            await town.episode.close()
    how = f"durable, mean of {times}, {stored[-1]:,} stored messages over {stored[0]:,}"
    figures: list[Figure] = []
    for tool, (first, *rest) in costs.items():
        figures.append(Figure(f"{tool}, {stored[0]:,} stored", first * 1e6, "CPU µs", how="with its commit"))
        figures += [
            Figure(f"{tool}, {count:,} stored", cost / first, "x", 1.5 if count == stored[-1] else None, how=how)
            for count, cost in zip(stored[1:], rest, strict=True)
        ]
    return figures


async def _three(town: _Town, times: int) -> dict[str, float]:
    """Mean CPU seconds of a message sent, of twenty new ones received, of a proposal paid."""
    sending: list[float] = []
    receiving: list[float] = []
    paying: list[float] = []
    gc.collect()
    for number in range(times + 5):
        customer = town.customers[number % len(town.customers)]
        business = town.businesses[(number * 11) % len(town.businesses)]
        menu = town.market.catalogue.businesses[(number * 11) % len(town.businesses)].menu
        begun = time.process_time()
        await town.call(customer, "send_message", to=[town.handle(business)], text=_TEXT)
        sending.append(time.process_time() - begun)
        line = {"item": menu[0].item, "quantity": 1, "unit_price": 1.25}
        await town.call(business, "send_proposal", to=town.handle(customer), lines=[line])
        begun = time.process_time()
        await town.call(business, "receive_messages", after=0, max=20)
        receiving.append(time.process_time() - begun)
        newest = next(reversed(town.market.proposals))
        begun = time.process_time()
        await town.call(customer, "pay_proposal", proposal=newest)
        paying.append(time.process_time() - begun)
    warm = 5
    named = {"send_message": sending, "receive_messages": receiving, "pay_proposal": paying}
    return {name: median(costs[warm:]) for name, costs in named.items()}


# --- waiting ----------------------------------------------------------------------------------------------------------


async def _waiting(polls: int) -> list[Figure]:
    """Bytes of the store per empty poll and per wait that timed out."""
    with tempfile.TemporaryDirectory() as folder:
        town = _Town(await _episode(folder, 10))
        before, digest = _size(town.episode.path), town.market.digest()
        for _ in range(polls):
            await town.call(town.customers[0], "receive_messages")
        await town.episode.await_turn(town.customers[0], 0)  # everything queued is committed
        polled = _size(town.episode.path)
        for _ in range(polls):
            await town.episode.await_turn(town.customers[0], 0)
        waited = _size(town.episode.path)
        same = town.market.digest() == digest
        await town.episode.close()
    if not same:
        raise HarnessFailure("polling changed the state")
    how = f"{polls:,} in a row, store and journal; the state's digest is unchanged"
    return [
        Figure("an empty poll", (polled - before) / polls, "bytes", 300, how=how),
        Figure("an await_turn that timed out", (waited - polled) / polls, "bytes", 0, how=how),
    ]


def _size(path: Path) -> int:
    """Bytes that the trace takes, with its journal folded in."""
    with closing(sqlite3.connect(path)) as reader:
        (pages,) = reader.execute("PRAGMA page_count").fetchone()
        (size,) = reader.execute("PRAGMA page_size").fetchone()
    return pages * size
