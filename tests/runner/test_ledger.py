"""The ledger of a seat: what its turns lost adds up, and each value is what a replay from the start gives."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.play_specs import events_of

import tradefair.api as tf
from tradefair.catalog import market_type
from tradefair.contract import Draw, ScenarioError, SeatError, ToolCall, TraceError, TurnView
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.players import seat_policy
from tradefair.contract.policy import Policy, Turns
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import reward_of
from tradefair.evaluation.ledger import Ledger
from tradefair.host.episode.prefix import copied_records, write_prefix
from tradefair.host.episode.setup import scripted_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.ledger.ledger import Ledgers, ledger_of
from tradefair.runner.ledger.replays import NotReplayed, Replays
from tradefair.runner.ledger.tape import Shadow, TapePlayer, held_trace, looking, read_tapes
from tradefair.tracestore import open_trace

SEED = 5
# Market, scenario, settings, the seat, policies of three kinds: a strong one, a weak one, one that draws.
MARKETS: dict[str, tuple[str, dict[str, Any], str, tuple[str, str, str]]] = {
    "double_auction": ("bazaar", {"rounds": 5}, "B1", ("zip", "stubborn", "zic")),
    "bargaining": ("pact", {"rounds": 4}, "B1", ("linear_concession", "gifter", "random_within_value")),
    "retail": ("smoke", {"horizon_days": 6}, "manager", ("careful_reader", "bare_shelf", "random_legal")),
    "supply_chain": ("duel", {}, "retailer_01", ("adaptive", "passive", "random_legal")),
    "marketplace": ("small_demo", {}, "customer_0001", ("item_searcher", "double_payer", "random_legal")),
    "pricing": ("duel", {"rounds": 6}, "F1", ("leader", "jumpy", "random_legal")),
    "order_book": ("smith", {"periods": 1, "sweeps": 5}, "B1", ("gd", "sleeper", "zi_c")),
}
KINDS = {"strong": 0, "weak": 1, "random": 2}
Alter = Callable[[TurnView, ToolCall], list[ToolCall]]


@cache
def _played(market: str, agent: str, seed: int) -> Path:
    return played(Path(mkdtemp()), market, f"policy:{agent}", seed=seed)


def played(folder: Path, market: str, agent: Any, *, seed: int = SEED, **more: Any) -> Path:
    scenario, given_settings, seat, _ = MARKETS[market]
    asked: dict[str, Any] = {"seat": seat, "settings": given_settings, "scenario": f"{market}/{scenario}", **more}
    return tf.play(market, seed=seed, agent=agent, folder=folder, **asked).path


def pie(folder: Path, agent: Any, **more: Any) -> Path:
    asked: dict[str, Any] = {"seat": "P1", "others": "half", "seed": SEED, **more}
    return tf.play("teaching", scenario="teaching/pie", agent=agent, folder=folder, **asked).path


def metric(path: Path, seat: str) -> Any:
    with open_trace(path) as trace:
        return reward_of(evaluate(trace), seat).value


def adds_up(ledger: Ledger) -> None:
    """What must hold in every ledger, whole or of part of the turns."""
    turns = ledger.turns
    sign = 1 if ledger.higher_is_better else -1
    # Of large figures a double holds fewer digits after the point.
    close = max(1e-9, 4 * math.ulp(max(abs(turn.value) for turn in turns)))
    assert ledger.gap == sign * (ledger.reachable - ledger.own)
    assert abs(math.fsum(turn.lost for turn in turns) - ledger.gap) <= close
    assert turns[0].value == pytest.approx(ledger.reachable, abs=close)
    assert (turns[0].turn, turns[-1].after) == (1, ledger.own)
    for turn, later in pairwise(turns):
        assert (later.turn, later.value) == (turn.until + 1, turn.after)
    for turn in turns:
        assert tuple(turn.values) == ledger.of
        assert turn.band[0] - close <= turn.lost <= turn.band[1] + close


def covers(ledger: Ledger, path: Path) -> None:
    """Each of the seat's events is in one turn, and its turns did what the trace says that it did."""
    own = [event for event in events_of(path) if event["seat"] == ledger.seat and event.get("parent") is None]
    calls = [event for event in own if event["event"] == "tool_called"]
    lapses = [event for event in own if event["event"] == "seat_lapsed"]
    assert [seq for turn in ledger.turns for seq in turn.seqs] == sorted(event["seq"] for event in calls + lapses)
    assert [action for turn in ledger.turns for action in turn.did] == [
        (event["tool"], event["arguments"]) for event in calls if event["kind"] == "action" and event["status"] == "ok"
    ]


def _as_it_is(now: TurnView, call: ToolCall) -> list[ToolCall]:
    return [call]


class Wrapped:
    """A bundled policy behind a man in the middle: `alter` says what becomes of a call, none of it ends the turn."""

    market, seat, name = "teaching", "P1", "half"
    alter: Alter = staticmethod(_as_it_is)

    def __init__(self) -> None:
        kind = market_type(self.market)
        self.inner = kind.policies[self.name].make({}, Draw.of(SEED, self.seat, 0))

    def turn(self, now: TurnView) -> Turns:
        turns = self.inner.turn(now)
        wanted = next(turns, None)
        while wanted is not None:
            answer = None
            for call in type(self).alter(now, wanted):
                answer = yield call
            if answer is None:
                return
            try:
                wanted = turns.send(answer)
            except StopIteration:
                return


def wrapped(market: str, policy: str, alter: Alter, seat: str = "") -> type[Wrapped]:
    own = {"market": market, "seat": seat or MARKETS[market][2], "name": policy, "alter": staticmethod(alter)}
    return type("Altered", (Wrapped,), own)


def claims(*slices: int | None) -> type:
    """A person's play of the teaching market: a claim in each round; None is silence."""

    class Claims:
        def turn(self, now: TurnView) -> Turns:
            if now.phase == "talk":
                yield ToolCall("say", {"text": "give me all"})
            wanted = slices[now.round - 1]
            if wanted is not None:
                yield ToolCall("claim", {"slices": wanted})

    return Claims


# --- it adds up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("market", MARKETS)
def test_what_turns_lost_sums_to_the_gap(market: str, kind: str) -> None:
    path, seat = _played(market, MARKETS[market][3][KINDS[kind]], SEED), MARKETS[market][2]
    ledger = ledger_of(path, seat, most=1_000)
    adds_up(ledger)
    covers(ledger, path)
    assert all(turn.turn == turn.until for turn in ledger.turns)
    assert ledger.own == metric(path, seat)
    assert ledger.reachable == pytest.approx(sum(ledger.known[name] for name in ledger.of) / len(ledger.of))


@pytest.mark.parametrize("market", MARKETS)
def test_a_seat_that_was_played_from_outside_and_lapses_adds_up_too(market: str, tmp_path: Path) -> None:
    def silent(now: TurnView, call: ToolCall) -> list[ToolCall]:
        acting = market_type(market).tools.get(call.tool)
        return [] if now.round % 2 == 0 and acting is not None and not acting.read_only else [call]

    seat, policies = MARKETS[market][2:]
    path = played(tmp_path, market, wrapped(market, policies[0], silent))
    ledger = ledger_of(path, seat, most=1_000)
    adds_up(ledger)
    covers(ledger, path)
    # In the marketplace it plays all customers.
    assert ledger.frozen == (market == "marketplace")


def test_other_agents_keep_to_what_they_did(tmp_path: Path) -> None:
    class Echo:
        """Quotes by what was quoted before: it would react, were it asked."""

        def turn(self, now: TurnView) -> Turns:
            seen = yield ToolCall("view_market_history")
            yield ToolCall("submit_quote", {"price": 50 + len(seen.data.get("rounds", []))})

    path = played(tmp_path, "bargaining", Echo, seat=("B1", "S1"))
    ledger = ledger_of(path, "S1", against=["truthful"])
    adds_up(ledger)
    covers(ledger, path)
    assert ledger.frozen


@pytest.mark.parametrize(("market", "seat"), [("double_auction", "S1"), ("order_book", "S2"), ("pricing", "F2")])
def test_a_seat_that_no_agent_played_has_a_ledger_too(market: str, seat: str) -> None:
    path = _played(market, MARKETS[market][3][2], SEED)
    ledger = ledger_of(path, seat)
    adds_up(ledger)
    covers(ledger, path)


def test_an_episode_that_ended_early_adds_up(tmp_path: Path) -> None:
    rent = {"horizon_days": 12, "rent_per_day": "9000.00", "insolvency_days": 2}
    path = played(tmp_path, "retail", "policy:random_legal", settings=rent)
    assert events_of(path)[-1]["reason"] == "terminated:insolvent"
    ledger = ledger_of(path, "manager")
    adds_up(ledger)
    assert ledger.turns[-1].last_round < 12


# --- against the seat's own policy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("market", MARKETS)
def test_against_its_own_policy_no_turn_lost_anything(market: str, kind: str) -> None:
    policy, seat = MARKETS[market][3][KINDS[kind]], MARKETS[market][2]
    ledger = ledger_of(_played(market, policy, SEED), seat, against=[policy])
    assert (ledger.gap, ledger.of, ledger.reachable) == (0.0, (policy,), ledger.own)
    assert all(turn.values == {policy: ledger.own} for turn in ledger.turns)
    assert all(turn.lost == 0.0 and turn.agreed and turn.would == turn.did for turn in ledger.turns)
    assert ledger.lost == ledger.half == []


def test_a_turn_in_which_nothing_can_be_done_lost_nothing(tmp_path: Path) -> None:
    # What is said reaches a seat that does not listen.
    path = pie(tmp_path, claims(7, None, 5), settings={"talk": True})
    ledger = ledger_of(path, "P1", against=["half"])
    adds_up(ledger)
    talk = [turn for turn in ledger.turns if turn.phase == "talk"]
    assert len(talk) == 3
    assert all(turn.lost == 0.0 and turn.would != turn.did for turn in talk)


def test_a_turn_in_which_every_action_is_refused_lost_what_silence_does(tmp_path: Path) -> None:
    silent = ledger_of(pie(tmp_path / "a", claims(5, None, 5)), "P1", against=["half"])
    refused = ledger_of(pie(tmp_path / "b", claims(5, 99, 5)), "P1", against=["half"])
    assert [turn.lost for turn in refused.turns] == [turn.lost for turn in silent.turns]
    assert (refused.turns[1].did, refused.turns[1].would) == ((), (("claim", {"slices": 5}),))
    # A policy that is refused itself loses nothing by another refusal.
    own = ledger_of(pie(tmp_path / "c", claims(99, 99, 99)), "P1", against=["half(greed=-5)", "passive"])
    assert all(turn.lost == 0.0 for turn in own.turns)


# --- a copy that is played on is a replay from the start --------------------------------------------------------------


class Takeover:
    """The seat's own calls up to a turn, counted from 0; then a policy that has watched them."""

    def __init__(self, tape: TapePlayer, turn: int) -> None:
        self.tape, self.left = tape, turn

    def turn(self, now: TurnView) -> Turns:
        self.left -= 1
        return (self.tape if self.left >= 0 else self.tape.shadows[0].policy).turn(now)


def set_up(path: Path, seat: str, player: Policy | None = None) -> tuple[Core, Scripted, list[Record]]:
    """The episode of a trace before its first turn; without a player as it was."""
    with open_trace(path) as trace:
        manifest, seating = trace.manifest.core, trace.seating()
    kind = market_type(manifest.market)
    core = Core.restore(kind, manifest)
    seated = {} if player is None else {seat: player}
    scripted = scripted_seats(kind, core.scenario, seating, manifest.seed, seated=seated)
    return core, scripted, list(core.start(seating).records)


def to_the_end(core: Core, scripted: Scripted, records: list[Record]) -> list[Record]:
    while core.ended is None:
        records += scripted.run(core)
    return records


def from_the_start(path: Path, seat: str, policy: str, turn: int) -> Any:
    """What the seat earns in a fresh episode that `policy` takes over at a turn."""
    with open_trace(path) as trace:
        manifest, seating = trace.manifest, trace.seating()
    draw = seating.draw(manifest.core.seed, seat)
    role = next(spec.role for spec in manifest.core.seats if spec.id == seat)
    shadow = Shadow(policy, seat_policy(market_type(manifest.core.market), policy, role, draw))
    tape = TapePlayer(read_tapes(events_of(path)).get(seat, read_tapes([])), [shadow])  # pyright: ignore
    core, scripted, records = set_up(path, seat, Takeover(tape, turn))
    tape.look = looking(core, scripted, seat)
    return reward_of(evaluate(held_trace(manifest, to_the_end(core, scripted, records))), seat).value


def same_as_from_the_start(path: Path, seat: str, turns: Callable[[Ledger], Collection[int]]) -> None:
    ledger = ledger_of(path, seat, most=1_000)
    for number in turns(ledger):
        for name, value in ledger.turns[number].values.items():
            assert from_the_start(path, seat, name, number) == value, (number, name)


@pytest.mark.parametrize("market", MARKETS)
def test_a_copy_that_is_played_on_gives_what_a_replay_from_the_start_gives(market: str) -> None:
    path = _played(market, MARKETS[market][3][2], SEED)
    same_as_from_the_start(path, MARKETS[market][2], lambda ledger: [len(ledger.turns) // 2, len(ledger.turns) - 1])


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("market", MARKETS)
def test_every_value_is_that_of_a_replay_from_the_start(market: str, kind: str) -> None:
    path = _played(market, MARKETS[market][3][KINDS[kind]], SEED + 1)
    same_as_from_the_start(path, MARKETS[market][2], lambda ledger: range(len(ledger.turns)))


@pytest.mark.many
@pytest.mark.parametrize("kind", ["strong", "random"])
@pytest.mark.parametrize("market", MARKETS)
def test_turns_that_are_not_played_have_the_value_that_they_would_have(
    market: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, seat = MARKETS[market][3][KINDS[kind]], MARKETS[market][2]
    path = _played(market, policy, SEED)
    # Its own policy, so that there is something to skip, and another one.
    against = [policy, next(name for name in Replays(path).known(seat) if name != policy)]
    skipped = ledger_of(path, seat, against=against, most=1_000)
    monkeypatch.setattr(Shadow, "same", property(lambda shadow: False, lambda shadow, value: None), raising=False)
    assert ledger_of(path, seat, against=against, most=1_000) == skipped


# --- part of the turns ------------------------------------------------------------------------------------------------


def part_agrees(market: str, policy: str, against: Sequence[str], mosts: Sequence[int]) -> None:
    seat = MARKETS[market][2]
    ledgers = Ledgers(Replays(_played(market, policy, SEED)))
    whole = ledgers.of(seat, against=against, most=1_000)
    known = {turn.turn: turn for turn in whole.turns}
    for most in mosts:
        part = ledgers.of(seat, against=against, most=most)
        adds_up(part)
        assert (part.gap, part.own, part.of) == (whole.gap, whole.own, whole.of)
        assert part.turns[-1].until == whole.turns[-1].until
        assert [seq for turn in part.turns for seq in turn.seqs] == [seq for turn in whole.turns for seq in turn.seqs]
        for turn in part.turns:
            assert turn.values == known[turn.turn].values
            assert (turn.would is None) == (turn.until > turn.turn)
            assert turn.turn < turn.until or turn == known[turn.turn]


@pytest.mark.parametrize("against", [[], ["matcher"], ["leader", "nash"]])
def test_where_only_some_values_are_computed_the_sum_is_exact_and_they_are_those_of_all(against: list[str]) -> None:
    # `leader` plays as the seat itself: a middle may be a turn in which nothing is to be played.
    part_agrees("pricing", "leader", against, [0, 1, 2, 3, 5])


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("market", MARKETS)
def test_part_of_the_turns_agrees_with_all_of_them(market: str, kind: str) -> None:
    policy, seat = MARKETS[market][3][KINDS[kind]], MARKETS[market][2]
    others = [name for name in Replays(_played(market, policy, SEED)).known(seat) if name != policy][:2]
    for against in ([], [policy, *others]):
        part_agrees(market, policy, against, [1, 4])


def test_a_ledger_re_executes_no_more_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _played("pricing", "jumpy", SEED)
    monkeypatch.setattr("tradefair.runner.ledger.ledger.BUDGET", 0)
    monkeypatch.setattr("tradefair.runner.ledger.ledger._LEAST", 2)
    part = ledger_of(path, "F1")
    adds_up(part)
    assert len(part.turns) == 2


# --- planted flaws ----------------------------------------------------------------------------------------------------


def scaled(tool: str, key: str, by: float, rounds: Collection[int]) -> Alter:
    def alter(now: TurnView, call: ToolCall) -> list[ToolCall]:
        if call.tool != tool or now.round not in rounds:
            return [call]
        amount = call.arguments[key]
        assert isinstance(amount, int)
        return [ToolCall(tool, {**call.arguments, key: max(1, round(amount * by))})]

    return alter


def left_out(market: str, rounds: Collection[int]) -> Alter:
    def alter(now: TurnView, call: ToolCall) -> list[ToolCall]:
        acting = market_type(market).tools.get(call.tool)
        return [] if now.round in rounds and acting is not None and not acting.read_only else [call]

    return alter


PLANTED: dict[str, tuple[str, str, Alter, set[int]]] = {
    "price in the wrong unit": ("pricing", "matcher", scaled("set_price", "price", 0.1, {3}), {3}),
    "no price": ("pricing", "leader", left_out("pricing", {4}), {4}),
    "no offer": ("supply_chain", "adaptive", left_out("supply_chain", {2}), {2}),
    "day without orders": ("retail", "careful_reader", left_out("retail", {1}), {1}),
}


@pytest.mark.parametrize("flaw", PLANTED)
def test_a_planted_flaw_costs_what_its_twin_earns_more_at_the_turn_that_it_altered(flaw: str, tmp_path: Path) -> None:
    market, policy, alter, rounds = PLANTED[flaw]
    seat = MARKETS[market][2]
    twin = played(tmp_path / "twin", market, f"policy:{policy}")
    path = played(tmp_path / "flawed", market, wrapped(market, policy, alter))
    ledger = ledger_of(path, seat, against=[policy])
    adds_up(ledger)
    assert ledger.reachable == metric(twin, seat)
    assert ledger.gap == metric(twin, seat) - metric(path, seat) > 0
    assert ledger.lost[0].round in rounds
    assert ledger.lost[0].would != ledger.lost[0].did
    # Before the flaw the seat is the policy itself.
    assert all(turn.lost == 0.0 for turn in ledger.turns if turn.last_round < min(rounds))


# --- the worked example of docs/explanation/ledger.md -----------------------------------------------------------------


def test_three_rounds_of_the_teaching_market_by_hand(tmp_path: Path) -> None:
    path = pie(tmp_path, claims(7, 4, None), seed=1)
    value = next(event["facts"]["values"]["P1"] for event in events_of(path) if event["event"] == "round_closed")
    ledger = ledger_of(path, "P1")
    assert (value, ledger.of, dict(ledger.known)) == (6, ("half",), {"half": 90, "passive": 0})
    assert (ledger.own, ledger.reachable, ledger.gap, ledger.idle) == (24, 90, 66, 0)
    assert [(turn.value, turn.lost) for turn in ledger.turns] == [(90, 30), (60, 6), (54, 30)]
    assert [turn.did for turn in ledger.turns] == [(("claim", {"slices": 7}),), (("claim", {"slices": 4}),), ()]
    assert all(turn.would == (("claim", {"slices": 5}),) for turn in ledger.turns)
    page = (Path(__file__).parents[2] / "docs/explanation/ledger.md").read_text()
    for turn in ledger.turns:
        assert re.search(rf"\| {turn.round} \|.*\| {turn.value:g} \| {turn.lost:g} \|", page)
    assert "90 − 24 = 66" in page


# --- random legal play ------------------------------------------------------------------------------------------------

_CLAIMS = st.lists(st.none() | st.integers(0, 12), min_size=4, max_size=4)


@pytest.mark.many
@settings(max_examples=150)
@given(_CLAIMS, _CLAIMS, st.integers(1, 4), st.booleans(), st.booleans(), st.integers(1, 5), st.integers(0, 3))
def test_whatever_is_played_adds_up(
    own: list[int | None], others: list[int | None], rounds: int, talk: bool, seated: bool, most: int, seed: int
) -> None:
    class Both:
        """Plays either seat by its own list."""

        def __init__(self) -> None:
            self.play = {"P1": claims(*own)(), "P2": claims(*others)()}

        def turn(self, now: TurnView) -> Turns:
            return self.play[now.seat].turn(now)

    folder = Path(mkdtemp())
    settings_of: dict[str, Any] = {"rounds": rounds, "talk": talk}
    seats = ("P1", "P2") if seated else "P1"
    path = pie(folder, Both, settings=settings_of, seat=seats, others="random_legal", seed=seed)
    ledgers = Ledgers(Replays(path))
    for seat in ("P1", "P2"):
        for against in ([], ["half", "random_legal"]):
            ledger = ledgers.of(seat, against=against, most=most)
            adds_up(ledger)
            covers(ledger, path)


# --- what has none ----------------------------------------------------------------------------------------------------


def test_a_tape_that_does_not_reproduce_has_no_ledger(tmp_path: Path) -> None:
    path = played(tmp_path, "double_auction", "policy:truthful", others="zic", settings={"rounds": 10})
    forged = tmp_path / "forged.trace"
    with open_trace(path) as trace:
        first, *rest = copied_records(trace, 1_000_000)
        core = trace.manifest.core_bytes
    drawn = first._replace(body=first.body.replace(b'"policy_key":0', b'"policy_key":17'))
    asyncio.run(write_prefix(forged, core, {}, [drawn, *rest]))
    with pytest.raises(NotReplayed, match=r"^the episode cannot be replayed: the tape gives \d+, the trace \d+$"):
        ledger_of(forged, "B1")


@pytest.mark.parametrize("broken", ["unfinished", "fork", "imported", "chain", "rules"])
def test_a_trace_that_cannot_be_replayed_says_why(broken: str, tmp_path: Path) -> None:
    path = pie(tmp_path, claims(5, 5, 5))
    bad, until = tmp_path / "bad.trace", 5 if broken == "unfinished" else 1_000_000
    reasons = {
        "unfinished": "the episode is unfinished (it has no end)",
        "fork": "it is a fork: who played its seats changed in the middle",
        "imported": "it was imported: only episodes that tradefair has played can be replayed",
        "chain": "has changed or is missing",
        "rules": "the trace was written by teaching",
    }
    with open_trace(path) as trace:
        records, core = list(copied_records(trace, until)), trace.manifest.core_bytes
    if broken == "rules":
        core = core.replace(b'"rules_version":"', b'"rules_version":"0')
    if broken in ("fork", "imported"):
        origin = b'"origin":{"%s_from":{}}' % (b"forked" if broken == "fork" else broken.encode())
        records[0] = records[0]._replace(body=records[0].body.replace(b'"origin":null', origin))
    asyncio.run(write_prefix(bad, core, {}, records))
    if broken == "chain":
        bad.write_bytes(bad.read_bytes().replace(b'"slices":', b'"slicez":', 1))
    with pytest.raises(TraceError, match=re.escape(reasons[broken])):
        ledger_of(bad, "P1")


def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    path = pie(tmp_path, claims(5, 5, 5))
    with pytest.raises(SeatError, match=r"no seat 'P9'.*P1, P2"):
        ledger_of(path, "P9")
    with pytest.raises(ScenarioError, match="no policy 'nobody'"):
        ledger_of(path, "P1", against=["nobody"])
    told = played(tmp_path, "pricing", "policy:leader")
    with pytest.raises(NotReplayed, match=r"^planner has to know what pricing/duel hides, so it cannot watch a seat$"):
        ledger_of(told, "F1", against=["planner"])


def test_a_policy_is_counted_once_however_often_it_is_named() -> None:
    path = _played("pricing", "leader", SEED)
    assert ledger_of(path, "F1", against=["nash", "nash"]).of == ("nash",)
    assert ledger_of(path, "F1", against=["nash", "leader"]).of == ("nash", "leader")


def test_a_policy_that_fails_at_what_it_sees_is_a_reason_and_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pie(tmp_path, claims(10, 10, 10), others="passive", settings={"rounds": 3})
    kind = market_type("teaching")
    half = kind.policies["half"]

    class Strict:
        def turn(self, now: TurnView) -> Turns:
            last = now.market["last"]
            if isinstance(last, dict) and last["claims"] != {"P1": 5, "P2": None}:
                raise KeyError("a round that it would not have played")
            yield ToolCall("claim", {"slices": 5})

    def make(params: object, draw: object) -> Strict:
        return Strict()

    strict = replace(half, make=make)
    monkeypatch.setattr(kind, "policies", {**kind.policies, "half": strict})
    with pytest.raises(
        NotReplayed, match=r"^half cannot watch this episode: the replay fails: the policy of P1 failed: KeyError"
    ):
        ledger_of(path, "P1", against=["half"])


# --- copies -----------------------------------------------------------------------------------------------------------


def disturbed(path: Path, seat: str, policy: str, at: Collection[int]) -> list[bytes]:
    """The bodies of an episode's events, where at these turns of the seat copies are played on by another policy."""
    with open_trace(path) as trace:
        manifest, seating = trace.manifest.core, trace.seating()
    role = next(spec.role for spec in manifest.seats if spec.id == seat)
    core, scripted, records = set_up(path, seat)
    taken = 0

    def before(core: Core, scripted: Scripted, asked: str, _: Sequence[Record]) -> None:
        nonlocal taken
        if asked == seat:
            taken += 1
            if taken - 1 in at:
                draw = seating.draw(manifest.seed, seat)
                for player in (None, seat_policy(market_type(manifest.market), policy, role, draw)):
                    twin, others = deepcopy((core, scripted))
                    if player is not None:
                        others.replace(seat, player)
                    ends.append([record.body for record in to_the_end(twin, others, [])])

    ends: list[list[bytes]] = []
    scripted.before_turn = before
    whole = [record.body for record in to_the_end(core, scripted, records)]
    # A copy that nobody disturbs goes on as the episode does.
    assert ends
    assert all(end == whole[len(whole) - len(end) :] for end in ends[::2])
    return whole


@pytest.mark.parametrize("market", MARKETS)
def test_a_copy_shares_nothing_that_changes_with_what_it_was_copied_from(market: str) -> None:
    seat, (strong, _, random) = MARKETS[market][2:]
    path = _played(market, random, SEED)
    with open_trace(path) as trace:
        original = [stored.body for stored in trace.events()]
    assert [orjson.loads(body) for body in disturbed(path, seat, strong, {0, 1})] == [
        orjson.loads(body) for body in original
    ]


@pytest.mark.many
@pytest.mark.parametrize("market", MARKETS)
def test_copies_at_every_turn_leave_the_episode_as_it_was(market: str) -> None:
    seat, (strong, weak, _) = MARKETS[market][2:]
    path = _played(market, strong, SEED)
    assert disturbed(path, seat, weak, range(1_000)) == disturbed(path, seat, weak, {0})
