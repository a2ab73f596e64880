"""Checks of what a market declares: protocol, tools' arguments, error codes, listing, presets and policies."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from tradefair.catalog import evaluator, market_listing, market_names, market_type
from tradefair.catalog.listing import LISTING, listing_of
from tradefair.contract import (
    Addressee,
    Clock,
    Market,
    MarketType,
    PolicySpec,
    Scenario,
    SeatId,
    SeatSpec,
    Tool,
    ToolTable,
)
from tradefair.contract.errors import SHARED_CODES
from tradefair.contract.market import Wakes
from tradefair.testing.asking import Seated, some_seats
from tradefair.testing.bench import PASSIVE, RANDOM, Bench, Failure
from tradefair.testing.checks.sources import raised_codes, sources
from tradefair.testing.failures import check_once
from tradefair.testing.playthrough import Playthrough

# Places per episode, seats per place, events of a policy's episode: what keeps the kit at seconds per check.
_PLACES = 4
_SEATS = 3
_EVENTS = 500
# Words of a parameter's name: `seat_id` and `my_token` are found as well.
_FORBIDDEN = frozenset({"seat", "token", "episode"})
# What Core and the checks do with an attribute before they call anything.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "version": (str,),
    "title": (str,),
    "tools": (ToolTable,),
    "evidence_map": (Mapping,),
    "policies": (Mapping,),
    "errors": (Mapping,),
    "seats": (Mapping,),
    "clock": (Clock,),
    "terminated": (str, type(None)),
    "read_marks": (dict,),
}


# --- the protocol -------------------------------------------------------------------------------------------------


def keeps_the_protocol(bench: Bench) -> list[Failure]:
    """Each attribute and method of `MarketType` and `Market` exists, with its parameters."""
    return check_once("keeps_the_protocol", bench, _protocol)


def _protocol(bench: Bench) -> Iterator[str]:
    """What breaks the protocol: first attributes of the type, then of the first market that is created."""
    kind = bench.market_type
    missing = list(_missing(kind, MarketType))
    yield from missing
    # A class that lacks a method would fail every line below for the same reason.
    if missing:
        return
    for name in (RANDOM, PASSIVE):
        if name not in kind.policies:
            yield f"policies has no {name!r}: the checks play it in every seat"
    if not bench.scenarios:
        yield "there is no scenario to play: bundle one in the folder scenarios of the package, or give scenarios="
    for scenario in bench.scenarios:
        market = kind.create(scenario, bench.seeds[0])
        complaints = list(_missing(market, Market))
        if scenario.clock == "free" and not isinstance(market, Wakes):
            complaints.append("Market.wants_turn is missing: a scenario with the free clock needs it")
        if not complaints:
            complaints += _seats(market)
        yield from complaints
        # The same class plays all scenarios nearly always: one list of complaints is enough.
        if complaints:
            return


def _missing(subject: object, protocol: type) -> Iterator[str]:
    """Attributes and methods of a protocol that `subject` lacks, or that have another type or other parameters."""
    annotated = inspect.get_annotations(protocol)
    for name, declared in {**dict.fromkeys(annotated), **vars(protocol)}.items():
        # Protocols have private names of `typing`, which no market needs.
        if name.startswith("_"):
            continue
        label = f"{protocol.__name__}.{name}"
        if not hasattr(subject, name):
            yield f"{label} is missing"
        elif inspect.isfunction(declared):
            yield from _misfit(label, getattr(subject, name), declared)
        elif name in _KINDS and not isinstance(found := getattr(subject, name), _KINDS[name]):
            wanted = " or ".join(kind.__name__ for kind in _KINDS[name])
            yield f"{label} is a {type(found).__name__}; it must be a {wanted}"


def _misfit(label: str, found: Any, declared: Callable[..., Any]) -> Iterator[str]:
    """At most one line: a method that is none, or that cannot take the protocol's parameters."""
    if not callable(found):
        yield f"{label} is a {type(found).__name__}; it must be a method"
        return
    wanted = list(inspect.signature(declared).parameters)[1:]
    try:
        # Core passes them by place.
        inspect.signature(found).bind(*wanted)
    except TypeError as error:
        yield f"{label} must take ({', '.join(wanted)}): {error}"


def _seats(market: Market) -> Iterator[str]:
    """What is wrong with a market's seats: none, a wrong spec, or an awaited seat that does not exist."""
    if not market.seats:
        yield "Market.seats is empty"
    for seat, spec in market.seats.items():
        if not isinstance(spec, SeatSpec) or spec.id != seat:  # pyright: ignore[reportUnnecessaryIsInstance]
            yield f"Market.seats[{seat!r}] must be SeatSpec({seat!r}, role)"
            return
    for seat in market.awaited():
        if seat not in market.seats:
            yield f"Market.awaited names {seat!r}, which is no seat"
            return


# --- tools --------------------------------------------------------------------------------------------------------


def tools_take_no_seat(bench: Bench) -> list[Failure]:
    """No tool takes a seat, token or episode: the caller's seat comes from its credential.

    Recipients of messages are marked: `to: Annotated[SeatId, Addressee()]`.
    """
    return check_once("tools_take_no_seat", bench, _named_seats)


def _named_seats(bench: Bench) -> Iterator[str]:
    """Parameters that name a seat, token or episode: by their name, their choices, or by what they accept."""
    seats = {seat for played in bench.played for seat in played.core.market.seats}
    for tool in bench.market_type.tools.values():
        for parameter in _parameters(tool):
            label = f"{tool.name} takes {parameter.name!r}"
            words = sorted(_FORBIDDEN.intersection(parameter.name.lower().split("_")))
            named = sorted(seats & parameter.constants)
            # An `Addressee` names the receiver, which is another seat by intention.
            if parameter.marked:
                continue
            if words:
                yield f"{label}: no tool takes a {words[0]}, the caller's credential says which it is"
            elif named:
                yield f"{label}, which names the seat {named[0]}: {_LEAVE_OUT}"
    # The other seeds play the same tools; one is enough to see which arguments are accepted.
    first_seed = [played for played in bench.probed if played.seed == bench.seeds[0]]
    yield from dict.fromkeys(text for played in first_seed for text in _callers_seat(bench, played))


_LEAVE_OUT = "leave it out, or mark the recipient of a message with Annotated[SeatId, Addressee()]"


def _callers_seat(bench: Bench, played: Playthrough) -> Iterator[str]:
    """Actions that take free text which must be the caller's own seat: P1 is accepted, an unknown name is not."""
    for turn, place in enumerate(played.spread(_PLACES)):
        core = played.at(place)
        for seat in (seat for seat in some_seats(core, turn, _SEATS) if core.awaits(seat)):
            for question in Seated(core, seat, bench).actions((played.seed, place), times=2):
                tool = bench.market_type.tools[question.tool]
                for parameter in _parameters(tool):
                    if parameter.text and not parameter.marked and parameter.name in tool.parameters.model_fields:
                        # Each answer in a fresh copy of the same moment, since an accepted action
                        # changes the state.
                        own, unknown = (
                            Seated(played.at(place), seat, bench).ask(
                                question._replace(arguments={**question.arguments, parameter.name: value})
                            )
                            for value in (seat, _NO_SEAT)
                        )
                        if own.status == "ok" and unknown.status == "rejected":
                            yield f"{question.tool} takes {parameter.name!r}, the caller's own seat: {_LEAVE_OUT}"


# Free text that is accepted whatever it says (a message) accepts this one too, and is not reported.
_NO_SEAT = "no-seat-of-this-name"


class _Parameter(NamedTuple):
    """One argument of a tool, or a field within one; `constants` are texts among its choices and its default."""

    name: str
    marked: bool
    constants: frozenset[str]
    text: bool


def _parameters(tool: Tool) -> Iterator[_Parameter]:
    return _fields(tool.parameters, frozenset())


def _fields(model: type[BaseModel], above: frozenset[type]) -> Iterator[_Parameter]:
    """The fields of a model and of the models within it. `above` are the models that hold this one."""
    for name, field in model.model_fields.items():
        hints = list(_hints(field.annotation))
        marks = [*field.metadata, *(mark for hint in hints for mark in getattr(hint, "__metadata__", ()))]
        choices = {str(choice) for hint in hints if get_origin(hint) is Literal for choice in get_args(hint)}
        choices |= {str(member.value) for hint in hints if _is(hint, Enum) for member in hint}
        # A default such as "P1" gives the caller's seat away as surely as a choice does.
        choices |= {field.default} if isinstance(field.default, str) else set()
        yield _Parameter(
            name,
            any(isinstance(mark, Addressee) or mark is Addressee for mark in marks),
            frozenset(choices),
            str in hints,
        )
        for hint in hints:
            # A model that holds itself, such as a tree of filters, is read once.
            if _is(hint, BaseModel) and hint not in above:
                yield from _fields(hint, above | {hint})


def _hints(hint: Any) -> Iterator[Any]:
    """A type and all types that stand within it: items of lists, members of unions."""
    yield hint
    if get_origin(hint) is not Literal:
        for inner in get_args(hint):
            # Of Annotated only the type counts: its other arguments are marks, not types.
            if get_origin(hint) is not Annotated or inner is get_args(hint)[0]:
                yield from _hints(inner)


def _is(hint: Any, kind: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


# --- error codes --------------------------------------------------------------------------------------------------


def errors_are_declared(bench: Bench) -> list[Failure]:
    """Every error code is a shared one or stands in `MarketType.errors`, with a text that explains it.

    Codes come from the calls of all checks so far, from questions of this one, and from the source of the rules.
    """
    return check_once("errors_are_declared", bench, _codes)


def _codes(bench: Bench) -> Iterator[str]:
    """Codes without a text, and codes that were met or stand in the source and are declared nowhere."""
    declared = bench.market_type.errors
    for code, text in declared.items():
        if not (isinstance(text, str) and text.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
            yield f"errors has no text for {code!r}"
    known = SHARED_CODES.keys() | declared.keys()
    _ask_around(bench)
    # Codes met in play first: they come with a call that the author can repeat.
    seen = {code: f"{place} gave" for code, place in bench.codes.items()}
    for source in sources(bench.market_type, bench):
        for line, code in raised_codes(source):
            seen.setdefault(code, f"{source.name}, line {line} raises")
    for code, place in seen.items():
        if code not in known:
            yield f"{place} {code!r}, which is neither a shared code nor declared in errors"


def phrases_are_whole(bench: Bench) -> list[Failure]:
    """The sentences of the market's evaluator, where it has one, find a phrase or a figure for every placeholder."""
    return check_once("phrases_are_whole", bench, _phrases)


def _phrases(bench: Bench) -> Iterable[str]:
    known = evaluator(bench.market_type.name)
    roles = {role for policy in bench.market_type.policies.values() for role in policy.roles}
    # By its method and not by its class, which stands above this package.
    return known.missing_phrases(roles) if hasattr(known, "missing_phrases") else ()


def _ask_around(bench: Bench) -> None:
    """Ask what is refused now and then; the answers' codes are noted by the bench."""
    for played in bench.probed:
        for event in played.events:
            if event["event"] == "tool_called" and event["error"] is not None:
                bench.codes.setdefault(event["error"]["code"], f"{event['tool']} of {event['seat']}")
        for turn, place in enumerate(played.spread(_PLACES)):
            core = played.at(place)
            for seat in some_seats(core, turn, _SEATS):
                seated = Seated(core, seat, bench)
                for question in (*seated.readings((played.seed, place), times=2), *seated.actions((played.seed, turn))):
                    # A made-up action may have ended the episode; afterwards every answer is the same refusal.
                    if core.ended is None:
                        seated.ask(question)


# --- what lists show ----------------------------------------------------------------------------------------------


def listing_is_current(bench: Bench) -> list[Failure]:
    """The `listing.toml` of an installed market says what the market says; one without it is imported for lists."""
    return check_once("listing_is_current", bench, _listing)


def _listing(bench: Bench) -> Iterator[str]:
    kind = bench.market_type
    # By name the catalog finds the installed market, of which this may be a variant.
    if kind.name in market_names() and market_type(kind.name) is kind and market_listing(kind.name) != listing_of(kind):
        yield f"{LISTING} says something else; write it again: tradefair check {kind.name} --write {LISTING}"


# --- presets and policies -----------------------------------------------------------------------------------------


def presets_play(bench: Bench) -> list[Failure]:
    """Each preset plays to its end with its own seats, and each policy in each of its roles, once (slow: everywhere).

    Seats for agents are played by the stand-in of their role. A policy has shown after 500 events that it can play.
    """
    # Episodes that other checks could not play are reported by those; here count only the new ones and
    # the presets' own.
    before = len(bench.unplayable)
    failures = check_once("presets_play", bench, _presets)
    noted = [failure for failure in bench.unplayable[:before] if failure.check == "presets_play"]
    return [*noted, *bench.unplayable[before:], *failures]


def _presets(bench: Bench) -> Iterator[str]:
    kind, seed = bench.market_type, bench.seeds[0]
    smallest: dict[str, Playthrough] = {}
    # Each policy is tried in the shortest episode that has its role.
    for played in sorted(bench.played, key=lambda played: len(played.bodies)):
        for role in {spec.role for spec in played.core.market.seats.values()}:
            smallest.setdefault(role, played)
    for scenario in bench.scenarios:
        seats = kind.create(scenario, seed).seats
        roles = {spec.role for spec in seats.values()}
        for selector in scenario.seats:
            if selector not in seats and selector not in roles:
                yield f"{scenario.id}: seats.{selector} is no seat and no role; seats are {', '.join(seats)}"[:200]
        play = partial(bench.play, scenario, (seed,), "presets_play", services=bench.services)
        deque(play(_occupants(kind, scenario, seats)), maxlen=0)
    for spec in kind.policies.values():
        for role in sorted(spec.roles):
            if role not in smallest:
                yield f"policy {spec.name!r} is for the role {role!r}, which no seat of these scenarios has"
                continue
            for scenario in bench.scenarios if bench.slow else [smallest[role].scenario]:
                seats = kind.create(scenario, seed).seats
                players = {seat: spec.name if seats[seat].role == role else RANDOM for seat in seats}
                events = None if bench.slow else _EVENTS
                play = partial(bench.play, scenario, (seed,), "presets_play", services=bench.services, events=events)
                deque(play(players), maxlen=0)


def _occupants(kind: MarketType, scenario: Scenario, seats: Mapping[SeatId, SeatSpec]) -> dict[SeatId, str]:
    """Who plays each seat of a preset: as the scenario says; seats for agents by the stand-in of their role."""
    stand_ins: dict[str, PolicySpec] = {}
    for spec in kind.policies.values():
        if spec.stand_in:
            stand_ins |= {role: spec for role in spec.roles if role not in stand_ins}
    named = {seat: scenario.seats.get(seat, scenario.seats.get(spec.role, "agent")) for seat, spec in seats.items()}
    return {
        seat: occupant if occupant != "agent" else getattr(stand_ins.get(seats[seat].role), "name", RANDOM)
        for seat, occupant in named.items()
    }
