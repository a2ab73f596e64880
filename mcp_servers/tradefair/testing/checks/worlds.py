"""Checks that play one phase in two worlds: in another order of arrival, over other secrets, with other acts.

A world is a Core brought to the same event number. What the two worlds may not tell apart is compared whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from pydantic import JsonValue

from tradefair.contract import Policy, SeatId
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.market import Reveals
from tradefair.host.seats.scripted import Scripted
from tradefair.testing.asking import Seated, some_seats
from tradefair.testing.bench import PASSIVE, RANDOM, Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough, evenly, policy_maker

# Openings of phases that are studied, more with --slow, and seats that are asked at each of them.
_PLACES = 4
_SLOW_PLACES = 16
_SEATS = 4
_CLOSINGS = ("phase_closed", "round_closed", "episode_ended")
# Closures after the act: what is kept as history may show only in the next round.
_LATER = 2
_DIGEST = "the digest of the state"


# --- order of arrival ---------------------------------------------------------------------------------------------


def arrival_leaves_no_mark(bench: Bench) -> list[Failure]:
    """A phase that awaits several seats ends alike, whoever acts first: closures (public and facts), digest, views.

    Played in the seats' order and in reverse: `random_legal` in every seat, some or all seats lapsing, and all seats
    acting alike, so that ties have to be broken. A market with the free clock awaits no seat, and is left out.
    """
    return check("arrival_leaves_no_mark", bench, _studied(bench), lambda played: _arrivals(bench, played))


def _arrivals(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first difference that the order of arrival makes: a closure, the digest, or what a seat can read."""
    # With a single awaited seat there is no order of arrival.
    crowded = [place for place in played.openings if len(played.awaited[place]) > 1]
    for turn, place in enumerate(evenly(crowded, _places(bench))):
        seats = [seat for seat in played.core.market.seats if seat in played.awaited[place]]
        some = {seat: PASSIVE if (number + turn) % 2 else RANDOM for number, seat in enumerate(seats)}
        ways: list[Callable[[Core, Sequence[SeatId]], list[Record]]] = [
            partial(_phase, played, players=dict.fromkeys(seats, RANDOM), key=turn),
            partial(_phase, played, players=dict.fromkeys(seats, PASSIVE) if turn == 1 else some, key=turn),
            # All seats doing the same makes ties, which must not be broken by arrival.
            partial(_alike, _turn(played, place, seats[0], key=turn)),
        ]
        for play in ways:
            worlds = [(played.at(place), order) for order in (seats, seats[::-1])]
            told = [_told(bench, core, play(core, order), turn) for core, order in worlds]
            difference = _difference(*told)
            if difference:
                yield f"{difference}, depending on which seat acts first in {_open(played.at(place))}"
                return


def _turn(played: Playthrough, place: int, seat: SeatId, *, key: int) -> list[tuple[str, Any]]:
    """What `random_legal` does in one seat's turn: its actions that are accepted."""
    records = _phase(played, played.at(place), [seat], {seat: RANDOM}, key=key)
    events = [orjson.loads(record.body) for record in records]
    return [
        (event["tool"], event["arguments"])
        for event in events
        if event["event"] == "tool_called" and event["kind"] == "action" and event["status"] == "ok"
    ]


def _alike(actions: Sequence[tuple[str, Any]], core: Core, seats: Iterable[SeatId]) -> list[Record]:
    """One phase in which all seats do the same; one that may not lapses."""
    records: list[Record] = []
    revision = core.market.clock.revision
    for seat in seats:
        for tool, arguments in actions:
            # The phase may close with any of the acts; what comes later belongs to the next one.
            if core.awaits(seat) and core.market.clock.revision == revision:
                records += core.call(seat, tool, arguments).records
        if core.market.clock.revision == revision:
            records += core.lapse(seat, "agent_limit").records
    return records


def _phase(
    played: Playthrough, core: Core, seats: Iterable[SeatId], players: Mapping[SeatId, str], key: int
) -> list[Record]:
    """One phase of policies in the given order of seats, up to the closure."""
    makers: dict[SeatId, Callable[[], Policy]] = {
        seat: policy_maker(played.market_type, core.market.seats[seat], players[seat], played.seed, key)
        for seat in seats
    }
    return Scripted(makers).run(core)


def _told(bench: Bench, core: Core, records: Sequence[Record], turn: int) -> dict[str, Any]:
    """All that a phase has left behind: closures, digest, and what seats can read now."""
    told: dict[str, Any] = {}
    for event in _closures(records):
        for path, leaf in _leaves({**event, "state_digest": None}, ()):
            told[f"the closure of {event['phase'] or 'a round'}: {'.'.join(path)}"] = leaf
    told[_DIGEST] = core.market.digest().hex()
    for seat in some_seats(core, turn, _SEATS) if core.ended is None else ():
        seated = Seated(core, seat, bench)
        for question in seated.readings((), times=0):
            answer = seated.ask(question)
            told[f"{question} of {seat}"] = (answer.body, answer.error)
    return told


def _closures(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The closing events, without their numbers: how many calls came before is no part of the result."""
    events = [orjson.loads(record.body) for record in records]
    return [{**event, "seq": None} for event in events if event["event"] in _CLOSINGS]


# --- what closures tell -------------------------------------------------------------------------------------------


def closures_tell_nothing(bench: Bench) -> list[Failure]:
    """What everyone sees of a closed phase depends on the acts in it, and on nothing that is private to a seat.

    At the start of a phase, when nothing is sealed, `perturb_private` changes what is private to the others; the
    recorded acts are then played in both worlds. Fields that a market means to reveal stand in `MarketType.revealed`.
    """
    crowds = [played for played in _studied(bench) if len(played.core.market.seats) > 1]
    return check("closures_tell_nothing", bench, crowds, lambda played: _tellings(bench, played))


def _tellings(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first field of a closure that depends on what is private to seats other than the one looked at."""
    kind = bench.market_type
    revealed = [tuple(path.split(".")) for path in (kind.revealed if isinstance(kind, Reveals) else ())]
    for turn, place in enumerate(evenly(played.openings, 2 * _places(bench))):
        acts = _acts(played, place)
        for seat in some_seats(played.core, turn, 2) if acts else ():
            here, there = played.at(place), played.at(place)
            there.market = kind.perturb_private(there.market, seat, turn + 1)
            worlds = [_public(_carried_out(core, acts), revealed) for core in (here, there)]
            # A world in which an act was not allowed is no comparison; `_carried_out` returns nothing then.
            difference = _difference(*worlds) if all(worlds) else None
            if difference:
                yield f"{difference}, depending on what is private to others than {seat} ({_open(played.at(place))})"
                return


def _acts(played: Playthrough, place: int) -> list[dict[str, Any]]:
    """The recorded actions and inputs from `place` to the next closure; none when a seat lapsed in between.

    What a lapse does may rest on secrets by the rules (quote the own limit): there is no act to hold equal.
    """
    acts: list[dict[str, Any]] = []
    for event in played.events[place:]:
        if event["event"] in _CLOSINGS:
            return acts
        if event["event"] == "seat_lapsed":
            return []
        if event["event"] == "input" or (event["kind"] == "action" and event["status"] == "ok"):
            acts.append(event)
    return []


def _carried_out(core: Core, acts: Sequence[Mapping[str, Any]]) -> list[Record]:
    """The same acts in one world; nothing when it allows one of them less (a purse that is too small there)."""
    records: list[Record] = []
    inputs: dict[str, JsonValue] = {}
    for act in acts:
        if act["event"] == "input":
            if act["for"] is None:
                records += core.feed(act["source"], act["payload"]).records
            else:
                inputs[act["source"]] = act["payload"]
            continue
        done = core.call(act["seat"], act["tool"], act["arguments"], inputs=inputs)
        if done.answer is None or done.answer.status != "ok":
            return []
        records += done.records
        inputs = {}
    return records


def _public(records: Sequence[Record], revealed: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """The leaves of what the closures tell everyone, by path; without those that the market means to reveal."""
    told: dict[str, Any] = {}
    for event in _closures(records):
        for path, leaf in _leaves(event.get("public"), ()):
            if not any(_covers(pattern, path) for pattern in revealed):
                told[f"the public {'.'.join(path)} of a closed {event['phase'] or 'round'}"] = leaf
    return told


def _covers(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a path lies at or below a pattern; `*` stands for any key or index."""
    return len(pattern) <= len(path) and all(part in ("*", found) for part, found in zip(pattern, path, strict=False))


# --- what the digest sees -----------------------------------------------------------------------------------------


def digest_sees_everything(bench: Bench) -> list[Failure]:
    """The digest changes with every sealed act, lapse and closure, and differs where what can be read differs.

    The second half plays a phase twice with other acts of one seat: if closures or views then differ, so must the
    digest before the closure (sealed acts) and after it and the next ones (history).
    """
    first_seed = [played for played in (*bench.played, *bench.lapsed) if played.seed == bench.seeds[0]]
    failures = check("digest_sees_everything", bench, first_seed, _changes)
    return [*failures, *check("digest_sees_everything", bench, _studied(bench), lambda item: _histories(bench, item))]


def _changes(played: Playthrough) -> Iterator[str]:
    """The first act, lapse or closure that leaves the digest as it was."""
    follower = played.follower()
    core = follower.core
    before: bytes = b""
    awaited: frozenset[SeatId] = frozenset()
    for body in played.bodies:
        event = follower.step(body).event
        if follower.due():
            continue  # in the middle of what one command has done
        now, waits = core.market.digest(), core.market.awaited()
        seat = event["seat"]
        if before == now and (event["event"] in _CLOSINGS or (seat in awaited and seat not in waits)):
            what = {"tool_called": f"{event.get('tool')} of {seat}", "seat_lapsed": f"the lapse of {seat}"}
            yield f"event {event['seq']}: {what.get(event['event'], 'a closure')} leaves the digest as it was"
            return
        before, awaited = now, waits


def _histories(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first opening at which two worlds with different acts of one seat have the same digest."""
    for turn, place in enumerate(evenly(played.openings, _places(bench))):
        seats = [seat for seat in played.core.market.seats if seat in played.awaited[place]]
        for seat in seats[turn % len(seats) :][:1] if seats else ():
            complaint = _two_histories(bench, played, place, seat, turn)
            if complaint:
                yield f"{complaint} ({_open(played.at(place))}, other acts of {seat})"
                return


def _two_histories(bench: Bench, played: Playthrough, place: int, seat: SeatId, turn: int) -> str | None:
    """What two worlds show that part at one act of `seat`, or None while their digests tell them apart."""
    worlds = [played.at(place), played.at(place)]
    everyone = dict.fromkeys(worlds[0].market.seats, RANDOM)
    first = [_phase(played, core, [seat], everyone, key=key) for key, core in enumerate(worlds)]
    sealed = [core.market.digest() for core in worlds]
    closed = any(_closures(records) for records in first)
    parted = False
    for closure in range(_LATER):
        for number, core in enumerate(worlds):
            others = [other for other in core.market.seats if other in core.market.awaited()]
            if closure or not _closures(first[number]):
                first[number] = [*first[number], *_phase(played, core, others, everyone, key=0)]
        digests, difference = _compared(
            [_told(bench, core, records, turn) for core, records in zip(worlds, first, strict=True)]
        )
        parted = parted or difference is not None
        if difference and not closed and sealed[0] == sealed[1]:
            return f"the digest misses what is sealed: it was equal before a closure after which {difference}"
        if parted and digests[0] == digests[1]:
            return f"the digest misses history: it is equal in two worlds in which {difference or 'the past differs'}"
        closed = True
        if any(core.ended for core in worlds):
            break
    return None


def _compared(told: Sequence[dict[str, Any]]) -> tuple[list[Any], str | None]:
    """The digests of two worlds, and the first difference of what can be read in them."""
    digests = [views.pop(_DIGEST) for views in told]
    seen = [{path: leaf for path, leaf in views.items() if ": facts" not in path} for views in told]
    return digests, _difference(*seen)


# --- comparing ----------------------------------------------------------------------------------------------------


def _studied(bench: Bench) -> list[Playthrough]:
    """The playthroughs that the costly checks look at."""
    # Two worlds at each index are costly in a market of twenty seats: one seed keeps the kit below twice its old cost.
    return [played for played in bench.probed if bench.slow or played.seed == bench.seeds[0]]


def _places(bench: Bench) -> int:
    return _SLOW_PLACES if bench.slow else _PLACES


def _open(core: Core) -> str:
    clock = core.market.clock
    return f"round {clock.round}, {clock.phase}"


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every scalar, empty list and empty table of a JSON value, with its path."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(inner, (*path, str(key)))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _leaves(inner, (*path, str(index)))
    else:
        yield path, value


def _difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """The first entry that differs, with both values cut to a readable length."""
    for key in [*first, *(key for key in second if key not in first)]:
        if (first.get(key, _ABSENT)) != second.get(key, _ABSENT):
            return f"{key} is {first.get(key, _ABSENT)!s:.100} or {second.get(key, _ABSENT)!s:.100}"
    return None


_ABSENT = "absent"
