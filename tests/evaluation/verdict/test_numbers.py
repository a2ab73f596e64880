"""Every number of a verdict's sentences on score, gap and turns comes out again from exported events and replays.

Twenty-one episodes; TRADEFAIR_VERDICTS=N plays N of them on further seeds.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.verdicts.play import SETTINGS, play
from tests.evaluation import recomputed
from tests.evaluation.playing import store
from tests.play_specs import events_of
from tests.runner.test_ledger import Takeover, set_up, to_the_end

from tradefair.catalog import market_type
from tradefair.contract import TurnView
from tradefair.contract.kernel.players import seat_policy
from tradefair.contract.policy import Turns
from tradefair.runner.ledger.tape import Shadow, TapePlayer, looking, read_tapes
from tradefair.tracestore import jsonl_lines, open_trace

FIGURES = {
    "double_auction": ("payoff", "point", 1),
    "bargaining": ("profit", "tick", 1),
    "retail": ("gain", "currency unit", 1),
    "supply_chain": ("pi", "currency unit", 1),
    "marketplace": ("utility", "currency unit", 1),
    "pricing": ("profit", "currency unit", 100),
    "order_book": ("profit", "tick", 1),
}
"""The field of a seat's score, its unit in words, and how many of the field's units one of them is."""
NUMBER = r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?: (?:million|billion))?"
PHASE = r"(?:, (?!step)(?P<phase>[a-z][a-z ]*?(?: \d+)?))?"
PLACE = rf"(?P<word>round|day|period) (?P<round>\d+){PHASE}(?:, step (?P<step>\d+))?"
BAND = rf"(?: \(({NUMBER}) to ({NUMBER}) by policy\))?"
BACK = rf"(?:; the other turns together gained (?P<back>{NUMBER}))?"
LOSSES = ("lost", "made a loss of")
EPISODES = int(os.environ.get("TRADEFAIR_VERDICTS", "21"))


def value_of(text: str) -> float:
    number, _, size = text.partition(" ")
    return float(number.replace(",", "")) * {"": 1, "million": 1e6, "billion": 1e9}[size]


def reads(text: str, value: float) -> bool:
    """Whether this is the number, at four significant digits."""
    return abs(value_of(text) - value) <= 0.500001 * 10.0 ** (math.floor(math.log10(abs(value) or 1)) - 3)


class Noting:
    """The seat's own calls, and where each of its turns is."""

    def __init__(self, tape: TapePlayer) -> None:
        self.tape = tape
        self.places: list[tuple[int, str, int]] = []

    def turn(self, now: TurnView) -> Turns:
        self.places.append(self.tape.place(now))
        return self.tape.turn(now)


@dataclass(frozen=True)
class Again:
    """A trace that is played again, from the start, and read from its exported events alone."""

    market: str
    seat: str
    path: Path
    known: dict[tuple[int, str], recomputed.Trace]

    def trace(self, path: Path) -> recomputed.Trace:
        exported = path.with_suffix(".jsonl")
        with open_trace(path) as trace:
            exported.write_bytes(b"".join(line + b"\n" for line in jsonl_lines(trace)))
        return recomputed.Trace(exported)

    def row(self, field: str, trace: recomputed.Trace) -> Any:
        return recomputed.RECOMPUTED[self.market](trace)[field]

    def own(self, trace: recomputed.Trace) -> float:
        field, _, size = FIGURES[self.market]
        return self.row(field, trace)[self.seat] / size

    def replay(self, player: Any) -> recomputed.Trace:
        core, scripted, records = set_up(self.path, self.seat, player)
        getattr(player, "tape", player).look = looking(core, scripted, self.seat)
        path = self.path.with_name(f"again-{len(list(self.path.parent.iterdir()))}.trace")
        return self.trace(store(path, core, to_the_end(core, scripted, records)))

    def tape(self, policy: str = "") -> TapePlayer:
        """The seat's own calls, watched by a policy."""
        with open_trace(self.path) as trace:
            core, seating = trace.manifest.core, trace.seating()
        role = next(spec.role for spec in core.seats if spec.id == self.seat)
        kind, draw = market_type(self.market), seating.draw(core.seed, self.seat)
        shadows = [Shadow(policy, seat_policy(kind, policy, role, draw))] if policy else []
        return TapePlayer(read_tapes(events_of(self.path))[self.seat], shadows)

    def after(self, turn: int, policy: str) -> recomputed.Trace:
        """The episode that the policy takes over at a turn, counted from 0."""
        if (turn, policy) not in self.known:
            self.known[turn, policy] = self.replay(Takeover(self.tape(policy), turn))
        return self.known[turn, policy]

    def value(self, turn: int, policies: Sequence[str]) -> list[float]:
        """What each policy earns from a turn on; behind the last one what the seat earned."""
        if turn == len(self.places):
            return [self.own(self.trace(self.path))] * len(policies)
        return [self.own(self.after(turn, policy)) for policy in policies]

    @cached_property
    def places(self) -> list[tuple[int, str, int]]:
        """Round, phase and step of each turn."""
        noting = Noting(self.tape())
        self.replay(noting)
        return noting.places

    def turn(self, place: str) -> int:
        """The number of the turn at a place that a sentence names."""
        found = re.fullmatch(PLACE, place, re.IGNORECASE)
        assert found, place
        from_one = any(step == 0 for _, _, step in self.places)
        (number,) = (
            number
            for number, (round_, phase, step) in enumerate(self.places)
            if round_ == int(found["round"])
            and found["phase"] in (None, phase.replace("_", " "))
            and (found["step"] is None or int(found["step"]) == step + from_one)
        )
        return number

    def did(self, trace: recomputed.Trace, turn: int) -> str:
        """The accepted calls of the seat in the round of a turn."""
        calls = [
            (row["tool"], row["arguments"])
            for row in trace.events
            if row["event"] == "tool_called" and (row["seat"], row["round"]) == (self.seat, self.places[turn][0])
        ]
        return json.dumps(calls)


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def check_score(sentence: str, again: Again, best: Sequence[str]) -> None:
    """Score, unit, rounds, rank and net worth; then what the best known policies earn, and the gap."""
    trace = again.trace(again.path)
    own, unit = again.own(trace), FIGURES[again.market][1]
    if found := re.search(
        rf" (lost|earned|gained|made a (?:profit|loss) of|got a utility of) ({NUMBER}) ([a-z ]+?)s?"
        r" in (\d+) (\w+?)s?[, ]",
        sentence,
    ):
        assert reads(found[2], -own if found[1] in LOSSES else own), sentence
        assert found[3] == unit, sentence
        assert int(found[4]) == len(trace.rounds), sentence
        assert found[5] == {"retail": "day", "order_book": "period"}.get(again.market, "round")
    else:
        assert ("bought nothing" in sentence, own) == (True, 0), sentence
    if found := re.search(r"rank (\d+) of (\d+) by wealth", sentence):
        wealth = again.row("wealth", trace)
        assert int(found[1]) == 1 + sum(value > wealth[again.seat] for value in wealth.values()), sentence
        assert int(found[2]) == len(wealth)
    if found := re.search(rf"utility of (?:{NUMBER} [^,]*, of at most )?({NUMBER})[a-z ]* at list prices", sentence):
        assert reads(found[1], again.row("list_price_optimum", trace)[again.seat]), sentence
    if found := re.search(rf": ({NUMBER}) % of (what its value allowed|the surplus|what list prices)", sentence):
        field = "achieved" if "list" in found[2] else "surplus_share"
        assert abs(value_of(found[1]) - 100 * again.row(field, trace)[again.seat]) <= 0.5, sentence
    reachable = again.value(0, best)
    if found := re.search(rf"would have \D+?({NUMBER})(?: \(mean of [^)]*\))?, ({NUMBER}) more", sentence):
        assert reads(found[1], mean(reachable)), sentence
        assert reads(found[2], mean(reachable) - own), sentence
    elif found := re.search(rf"({NUMBER}) more than (?:the mean of )?the best known", sentence):
        assert reads(found[1], own - mean(reachable)), sentence
    elif "nothing could be won" in sentence:
        assert own == max(reachable) == 0, sentence
    else:
        assert ("as much as" in sentence, own) == (True, pytest.approx(mean(reachable))), sentence


def check_turns(sentence: str, again: Again, best: Sequence[str]) -> None:
    """Where it was lost: how many turns there are, what each that is named lost, whether all policies agree."""
    if found := re.search(rf" (\d+) of (\d+) turns?: (.*?)(; (?:both|all (\d+)) policies agree)?{BACK}\.$", sentence):
        named = re.findall(rf"((?:round|day|period) \d+[^(]*?) \(({NUMBER})\)", found[3])
        assert (int(found[1]), int(found[2])) == (len(named), len(again.places)), sentence
        assert not found[4] or int(found[5] or 2) == len(best), sentence
        parts = list[float]()
        for place, lost in named:
            turn = again.turn(place)
            before, after = again.value(turn, best), again.value(turn + 1, best)
            parts.append(mean(before) - mean(after))
            assert reads(lost, parts[-1]), (sentence, before, after)
            assert all(one > other for one, other in zip(before, after, strict=True)), (sentence, before, after)
        check_part(sentence, math.fsum(parts), found["back"], again, best)
    elif found := re.search(
        rf"(?:(?:Most|All) of it, )?({NUMBER}),? was lost (?:in|from) ([^(]*?)(?: to ([^(]*?))?{BAND}{BACK}\.$",
        sentence,
    ):
        first = again.turn(found[2])
        last = again.turn(found[3]) if found[3] else first
        ends = zip(again.value(first, best), again.value(last + 1, best), strict=True)
        each = [before - after for before, after in ends]
        assert reads(found[1], mean(each)), (sentence, each)
        assert not found[4] or (reads(found[4], min(each)) and reads(found[5], max(each))), (sentence, each)
        check_part(sentence, mean(each), found["back"], again, best)
    elif found := re.search(r"lost evenly over (\d+) of (\d+) turns", sentence):
        course = [mean(again.value(turn, best)) for turn in range(len(again.places) + 1)]
        lost = [before - after for before, after in pairwise(course)]
        assert int(found[1]) == sum(part == pytest.approx(max(lost)) for part in lost), (sentence, lost)
        assert int(found[2]) == len(lost), sentence
    elif found := re.search(rf"lost over (\d+) of (\d+) turns, none more than ({NUMBER})", sentence):
        course = [mean(again.value(turn, best)) for turn in range(len(again.places) + 1)]
        lost = [before - after for before, after in pairwise(course)]
        assert int(found[1]) == sum(part > 1e-9 for part in lost), (sentence, lost)
        assert int(found[2]) == len(lost), sentence
        assert reads(found[3], max(lost)), (sentence, lost)
    elif f"The {len(best)} policies do not agree" in sentence:
        course = [again.value(turn, best) for turn in range(len(again.places) + 1)]
        for (start, before), (end, after) in combinations(enumerate(course), 2):
            each = [one - other for one, other in zip(before, after, strict=True)]
            # All turns together are no place.
            if end - start < len(course) - 1:
                assert mean(each) < (mean(course[0]) - mean(course[-1])) / 2 or min(each) <= 0, (sentence, each)
    else:
        raise AssertionError(sentence)


def check_part(sentence: str, lost: float, back: str | None, again: Again, best: Sequence[str]) -> None:
    """Most of the gap, all of it, or more, of which the others gained some."""
    gap = mean(again.value(0, best)) - mean(again.value(len(again.places), best))
    assert (back is not None) == (lost > gap + 1e-9), (sentence, lost, gap)
    assert back is None or reads(back, lost - gap), (sentence, lost, gap)
    assert sentence.startswith("All of it") == (lost == pytest.approx(gap)), (sentence, lost, gap)


def check_costliest(sentence: str, again: Again, best: Sequence[str]) -> None:
    """The costliest turn: what it was worth before and behind it, and the calls that it names."""
    found = re.fullmatch(
        rf"({PLACE}): (?P<what>.*); from there the best known polic(?:y|ies) would have ended with "
        rf"(?P<before>{NUMBER}), a turn later with (?P<after>{NUMBER})\.",
        sentence,
        re.IGNORECASE,
    )
    assert found, sentence
    turn = again.turn(found[1])
    assert reads(found["before"], mean(again.value(turn, best))), sentence
    assert reads(found["after"], mean(again.value(turn + 1, best))), sentence
    size = FIGURES[again.market][2]
    for who, words in re.findall(r"(it called|would (?:also )?have called) ([^;]*)", found["what"]):
        trace = again.trace(again.path) if who == "it called" else again.after(turn, best[0])
        calls = again.did(trace, turn)
        tool, *rest = words.split(" ")
        assert tool in calls.replace('"', " ").split(), (sentence, calls)
        for number in re.findall(r"(?:price|quantity|item) (\d+(?:\.\d+)?)(?= |,|$)", " ".join(rest)):
            assert f"{float(number) * size:g}" in calls, (sentence, calls)


def episodes() -> Iterator[tuple[str, str, int]]:
    for number in range(EPISODES):
        market = list(FIGURES)[number % len(FIGURES)]
        seed, kind = divmod(number // len(FIGURES), 3)
        yield market, ("weak", "good", "random_legal")[kind], seed + 1


@pytest.mark.many
@pytest.mark.parametrize(("market", "kind", "seed"), [*episodes()])
def test_every_number_comes_out_again(market: str, kind: str, seed: int, tmp_path: Path) -> None:
    setting = SETTINGS[market]
    policy = {"weak": setting.weak, "good": setting.good}.get(kind, kind)
    played = play(tmp_path / "script.trace", setting, {setting.seat: policy}, seed=seed)
    verdict = played.verdict()
    seat = verdict.seats[0]
    again = Again(market, setting.seat, played.path, {})
    # What stopped it stands in front; a gap that would make the score too long is a sentence of its own.
    score, *others = [sentence for sentence in verdict.sentences[:-1] if not sentence.startswith("Stopped")]
    if others and others[0].startswith("The best known policies"):
        score, *others = [f"{score} {others[0]}", *others[1:]]
    check_score(score, again, seat.best_known)
    for sentence in others:
        if re.match(rf"{PLACE}: ", sentence, re.IGNORECASE):
            check_costliest(sentence, again, seat.best_known)
        elif not sentence.startswith(("Mistake", "Also seen", "No mistake")):
            check_turns(sentence, again, seat.best_known)


def test_a_wrong_number_is_seen(tmp_path: Path) -> None:
    setting = SETTINGS["double_auction"]
    played = play(tmp_path / "script.trace", setting, {setting.seat: "zip"})
    verdict = played.verdict()
    again, best = Again("double_auction", setting.seat, played.path, {}), verdict.seats[0].best_known
    score, turns, costliest, *_ = verdict.sentences
    for check, sentence in ((check_score, score), (check_turns, turns), (check_costliest, costliest)):
        check(sentence, again, best)
        for number in re.findall(NUMBER, sentence.partition("seed 1")[2] or sentence):
            wrong = sentence.replace(number, f"{value_of(number) + 3:g}")
            with pytest.raises((AssertionError, ValueError)):
                check(wrong, again, best)
