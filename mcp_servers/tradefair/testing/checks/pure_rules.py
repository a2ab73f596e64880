"""Checks of the rules: what leaves the state alone, what is conserved, how large answers are, how an episode ends.

Also whether the actions that a turn lists are those that the rules take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tradefair.contract.kernel.replay import Divergence
from tradefair.testing.asking import Question, Seated, some_seats
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.failures import check
from tradefair.testing.playthrough import Playthrough

# An agent pays for an answer with its context, and its first look at a tool has no arguments.
DEFAULT_RESULT_BYTES = 8_192
# Places per episode and seats per place: replaying to a place costs as much as playing up to it.
_PLACES = 6
_SEATS = 4


def random_legal_finishes(bench: Bench) -> list[Failure]:
    """`random_legal` in every seat acts, is refused no action, and brings each scenario to its end by the rules.

    A game without an end is stopped after a bounded number of closures or events (`BoundedCore`).
    """
    failures = check("random_legal_finishes", bench, bench.played, _finishes)
    return [*(failure for failure in bench.unplayable if failure.check == "random_legal_finishes"), *failures]


def _finishes(played: Playthrough) -> Iterator[str]:
    """How an episode of `random_legal` ended if not by the rules, and the first action that was refused."""
    if not (played.core.ended or "").startswith("terminated:"):
        yield f"the episode ended as {played.core.ended}"
    called = [event for event in played.events if event["event"] == "tool_called"]
    actions = [event for event in called if event["kind"] == "action"]
    if not actions:
        yield "random_legal never took an action"
    refused = next((event for event in actions if event["status"] != "ok"), None)
    if refused is not None:
        told = f"{refused['tool']}({str(refused['arguments'])[:100]}) gave {refused['error']}"
        yield f"random_legal was refused in round {refused['round']}: {told}"


def replay_is_identical(bench: Bench) -> list[Failure]:
    """Re-executing the events gives the same bytes."""
    return check("replay_is_identical", bench, bench.played, _replays)


def _replays(played: Playthrough) -> Iterator[str]:
    follower = played.follower()
    try:
        for body in played.bodies:
            follower.step(body)
        follower.finish()
    except Divergence as error:
        yield str(error)


def conservation(bench: Bench) -> list[Failure]:
    """`MarketType.check` holds at the start and after every closure."""
    return check("conservation", bench, bench.played, _conserves)


def _conserves(played: Playthrough) -> Iterator[str]:
    """The first closure after which `MarketType.check` objects."""
    follower = played.follower()
    for body in played.bodies:
        step = follower.step(body)
        # In the middle of a command sums need not balance yet.
        if follower.due() or step.event["event"] not in ("episode_started", "phase_closed", "round_closed"):
            continue
        try:
            played.market_type.check(follower.core.market)
        except AssertionError as error:
            yield f"round {step.event['round']}: {error}"
            return


def reads_change_nothing(bench: Bench) -> list[Failure]:
    """Reads and analyses leave the state's digest as it is, and a second look shows the same."""
    return check("reads_change_nothing", bench, bench.probed, lambda played: _reads(bench, played))


def _reads(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first look that changes the state or is answered differently when repeated."""
    for turn, place in enumerate(played.spread(_PLACES)):
        core = played.at(place)
        before = core.market.digest()
        for seat in some_seats(core, turn, _SEATS):
            seated = Seated(core, seat, bench)
            for question in seated.readings((played.seed, place)):
                # The second look also finds cursors and caches that move with the first.
                first, second = seated.ask(question), seated.ask(question)
                if core.market.digest() != before:
                    yield f"{question} of {seat} changed the state at event {place}"
                    return
                if (first.body, first.error) != (second.body, second.error):
                    yield f"{question} of {seat} answered differently when repeated at event {place}"
                    return


def refusals_change_nothing(bench: Bench) -> list[Failure]:
    """Invalid and rejected calls leave the state's digest as it is."""
    return check("refusals_change_nothing", bench, bench.probed, lambda played: _refusals(bench, played))


def _refusals(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first refused call after which the state's digest is another."""
    for turn, place in enumerate(played.spread(_PLACES)):
        core = played.at(place)
        for seat in some_seats(core, turn, _SEATS):
            seated = Seated(core, seat, bench)
            nonsense = seated.nonsense() if turn == 0 else ()
            for question in (*nonsense, *seated.actions((played.seed, place), times=6)):
                # An accepted action may have ended the episode: a fresh copy of the same moment goes on.
                if core.ended is not None:
                    core = played.at(place)
                    seated = Seated(core, seat, bench)
                before = core.market.digest()
                answer = seated.ask(question)
                if answer.status != "ok" and core.market.digest() != before:
                    yield f"{question} of {seat} was {answer.status} and yet changed the state at event {place}"
                    return


def open_actions_are_taken(bench: Bench) -> list[Failure]:
    """What a turn lists as open is what may be done: an action that is listed is never refused as `wrong_phase`, one
    that is not listed is always refused. Asking what is open changes nothing that the log holds.
    """
    return check("open_actions_are_taken", bench, bench.probed, lambda played: _opens(bench, played))


def _opens(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first action, recorded or tried, of which the list of open actions was wrong."""
    follower, given = played.follower(), dict[tuple[str, str], Any]()
    for event, body in zip(played.events, played.bodies, strict=True):
        if event["event"] == "tool_called" and event["kind"] == "action":
            seat, code = event["seat"], None if event["error"] is None else event["error"]["code"]
            complaint = _misled(follower.core.open_actions(seat), event["tool"], event["status"], code)
            if complaint:
                yield f"{event['tool']} of {seat} {complaint} at event {event['seq']}"
                return
            if event["status"] == "ok":
                given[follower.core.market.seats[seat].role, event["tool"]] = event["arguments"]
        follower.step(body)
    for turn, place in enumerate(played.spread(_PLACES)):
        core = played.at(place)
        for seat in some_seats(core, turn, _SEATS):
            role = core.market.seats[seat].role
            # With arguments that were taken at some time: what is wrong about the call is then its moment.
            for name in [tool for who, tool in given if who == role]:
                listed = core.open_actions(seat)
                answer = Seated(core, seat, bench).ask(Question(name, given[role, name]))
                complaint = _misled(listed, name, answer.status, answer.error and answer.error.code)
                if complaint:
                    yield f"{name} of {seat} {complaint} at event {place}"
                    return
                if answer.status == "ok":
                    core = played.at(place)


def _misled(listed: Collection[str], name: str, status: str, code: str | None) -> str | None:
    """How a call contradicts the actions that were listed before it."""
    if name in listed:
        return "was refused as wrong_phase though it was listed as open" if code == "wrong_phase" else None
    return "was accepted though it was not listed as open" if status == "ok" else None


def default_results_are_small(bench: Bench) -> list[Failure]:
    """With default arguments no result takes more than 8 kB."""
    return check("default_results_are_small", bench, bench.probed, lambda played: _sizes(bench, played))


def _sizes(bench: Bench, played: Playthrough) -> Iterator[str]:
    """The first answer without arguments that is larger than `DEFAULT_RESULT_BYTES`."""
    # From the end: histories are longest there, so answers are as large as they get.
    for turn, place in enumerate(reversed(played.spread(_PLACES))):
        core = played.at(place)
        for seat in some_seats(core, turn, _SEATS):
            seated = Seated(core, seat, bench)
            for tool in seated.tools:
                if not tool.read_only or tool.input_schema.get("required"):
                    continue
                body = seated.ask(Question(tool.name, {})).body or b""
                if len(body) > DEFAULT_RESULT_BYTES:
                    yield f"{tool.name} of {seat} took {len(body)} bytes; {DEFAULT_RESULT_BYTES} are allowed"
                    return
