"""A tape plays a seat's accepted actions again; shadows watch it and know what they would know had they been there.

Also here:
- Playing an episode again with one action otherwise: what is the same, what answers it, what cannot be played.
- Scripted episodes of every trading market, pinned byte by byte: what is made cheaper must not change a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.calling import blank_view
from tests.evaluation.playing import played, store
from tests.play_specs import preset_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ErrorInfo, ToolAnswer, ToolCall, TurnView
from tradefair.contract.chain import first_hash, next_hash
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.policy import Turns
from tradefair.evaluation.collusion import Deviation, NotPlayed
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.runner.fork.fork import ForkSpec, fork_episode
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.runner.ledger.tape import Shadow, Tape, TapePlayer, read_tapes
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import Trace, open_trace

OK = ToolAnswer(b'{"ok":true}', None, False)


def event(seq: int, tool: str, number: int = 1, revision: int = 1, **more: Any) -> dict[str, Any]:
    head = {"seq": seq, "event": "tool_called", "round": number, "phase": "open", "revision": revision, "seat": "B1"}
    call = {"parent": None, "tool": tool, "kind": "action", "arguments": {"n": seq}, "status": "ok"}
    return {**head, **call, **more}


def opened(number: int = 1) -> TurnView:
    return blank_view(round=number, phase="open", revision=1)


def drive(turns: Turns, answers: dict[str, ToolAnswer] | None = None) -> list[str]:
    """The tools that a turn calls; it is closed at the first answer that ends it."""
    made: list[str] = []
    wanted = next(turns, None)
    while wanted is not None:
        made.append(wanted.tool)
        answer = (answers or {}).get(wanted.tool, OK)
        if answer.turn_over:
            turns.close()
            return made
        try:
            wanted = turns.send(answer)
        except StopIteration:
            wanted = None
    return made


class Wants:
    """A policy that wants these calls in every turn, and keeps what it was answered."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.heard: list[ToolAnswer] = []

    def turn(self, now: TurnView) -> Turns:
        for tool in self.tools:
            self.heard.append((yield ToolCall(tool, {})))


def closed(revision: int, step: int, *, last: bool = False) -> dict[str, Any]:
    public: dict[str, Any] = {"step": step}
    head = {"seq": 90 + step, "round": 1, "phase": "open", "revision": revision, "seat": None}
    if last:
        return {**head, "event": "round_closed", "public": {"last_step": public}}
    return {**head, "event": "phase_closed", "public": public}


def at_step(step: int) -> TurnView:
    return opened().model_copy(update={"market": {"step": step}})


def test_a_market_with_steps_is_played_by_its_steps_and_not_by_the_number_of_its_turns() -> None:
    events = [
        event(1, "bid", revision=3),
        closed(3, 4),
        event(2, "raise", revision=7, arguments={}),
        closed(7, 9, last=True),
    ]
    tape = read_tapes(events)["B1"]
    assert tape.stepped
    assert tape.places == {1: (1, "open", 4), 2: (1, "open", 9)}
    player = TapePlayer(tape, [shadow := Shadow("x", Wants("raise"))])
    # In a replay the seat may be asked in a step in which it was passed over, and not in one of its own.
    assert [drive(player.turn(at_step(step))) for step in (2, 9)] == [[], ["raise"]]
    assert shadow.same


def test_only_accepted_actions_of_the_seat_itself_are_on_its_tape() -> None:
    refused: dict[str, Any] = {"status": "rejected"}
    events = [
        event(1, "look", kind="read"),
        event(2, "refused", **refused),
        event(3, "bid"),
        event(4, "inner", parent="r1.B1.1"),
        event(5, "note", kind="note"),
        event(6, "bid", seat="B2"),
        event(7, "", event="phase_closed", seat=None),
    ]
    tapes = read_tapes(events)
    assert tapes["B1"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 3})]}
    assert tapes["B2"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 6})]}
    # The turn of a look or a refused call is known too: a finding may cite it.
    assert set(tapes["B1"].places) == {1, 2, 3, 5}


def test_a_phase_that_asks_a_seat_twice_is_two_turns_also_where_one_lapsed() -> None:
    lapse: dict[str, Any] = {"event": "seat_lapsed"}
    events = [event(1, "bid"), event(2, "", revision=2, **lapse), event(3, "raise", revision=3), event(4, "bid", 2, 4)]
    player = TapePlayer(read_tapes(events)["B1"])
    assert [drive(player.turn(opened())) for _ in range(4)] == [["bid"], [], ["raise"], []]
    assert drive(player.turn(opened(2))) == ["bid"]


def test_a_shadow_is_answered_where_the_tape_does_the_same_and_refused_where_it_does_not() -> None:
    policy = Wants("look", "b", "c", "a")
    shadow = Shadow("x", policy)
    tape = Tape({(1, "open", 0): [ToolCall("a"), ToolCall("b"), ToolCall("d")]}, {})
    player = TapePlayer(tape, [shadow])
    looked = ToolAnswer(b'{"seen":1}', None, False)
    player.look = lambda call: looked if call.tool == "look" else None
    answers = {name: ToolAnswer(f'"{name}"'.encode(), None, False) for name in "abd"}
    # The tape's order is kept; what the shadow wants later is answered when the tape has done it.
    assert drive(player.turn(opened()), answers) == ["a", "b", "d"]
    skipped = policy.heard[2]
    assert policy.heard == [looked, answers["b"], skipped, answers["a"]]
    assert skipped.error == ErrorInfo("skipped", "this turn is played from a tape", "", False)
    # Equal: a and b. Different: its own c, the tape's d.
    assert not shadow.same


@pytest.mark.parametrize(
    ("wants", "same"),
    [(("a", "end"), True), (("end",), False), (("a",), False), (("end", "a"), False), (("a", "b", "end"), False)],
)
def test_a_shadow_does_the_same_where_it_wants_the_same_calls_in_the_same_order(
    wants: tuple[str, ...], same: bool
) -> None:
    shadow, tape = Shadow("x", Wants(*wants)), Tape({(1, "open", 0): [ToolCall("a"), ToolCall("end")]}, {})
    over = {"end": ToolAnswer(b"{}", None, True)}
    assert drive(TapePlayer(tape, [shadow]).turn(opened()), over) == ["a", "end"]
    assert shadow.same is same


def test_a_copy_of_a_player_goes_on_by_itself() -> None:
    tape = Tape({(1, "open", number): [ToolCall("abc"[number])] for number in range(3)}, {})
    player = TapePlayer(tape, [Shadow("x", Wants())])
    assert drive(player.turn(opened())) == ["a"]
    twin = deepcopy(player)
    assert twin.shadows[0].policy is not player.shadows[0].policy
    assert [drive(one.turn(opened())) for one in (twin, player, twin)] == [["b"], ["b"], ["c"]]


def test_a_shadow_that_fails_leaves_the_tape_alone() -> None:
    class Fails:
        def turn(self, now: TurnView) -> Turns:
            answer = yield ToolCall("b")
            raise KeyError(answer.data["price"])

    shadow = Shadow("x", Fails())
    player = TapePlayer(Tape({(1, "open", 0): [ToolCall("a")]}, {}), [shadow])
    assert drive(player.turn(opened())) == ["a"]
    assert isinstance(shadow.broken, KeyError)
    assert drive(player.turn(opened())) == []


ROUNDS = 12


def duopoly(path: Path, *policies: str, seed: int = 3, said: Sequence[str] = (), **changes: Any) -> Path:
    """An episode of the textbook market, one policy per firm; firms that have to be told are told.

    The trace may say that others played: `said`.
    """
    kind = market_type("pricing")
    scenario = load_scenario("pricing", "pricing/textbook", {"rounds": ROUNDS, **changes})
    core = Core.create(kind, scenario, seed)
    playing, named = (SeatPlan(dict(zip(core.market.seats, who, strict=True))) for who in (policies, said or policies))
    scripted = scripted_seats(kind, scenario, playing, seed)
    records = list(core.start(seating_of(kind, scenario, named)).records)
    while core.ended is None:
        records += scripted.run(core)
    return store(path, core, records)


def prices(trace: Trace) -> list[list[int | None]]:
    """By round, firms in seat order."""
    events = (orjson.loads(stored.body) for stored in trace.events())
    return [[*event["facts"]["prices"].values()] for event in events if event["event"] == "round_closed"]


def posting(price: int, number: int, until: int = ROUNDS, seat: str = "F1") -> Deviation:
    return Deviation(seat, number, "set_price", {"price": price}, until)


def test_one_price_is_another_and_all_go_on_by_their_own_rules(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "g.trace", "grim", "matcher")) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1700, 8)))
    assert was == [[1925, 1925]] * ROUNDS
    assert now[:7] == was[:7]
    # F1 does not know that it has deviated; the matcher follows it, and that grim does not forgive.
    assert now[7:] == [[1700, 1925], [1925, 1700], [1473, 1925], [1473, 1473], [1473, 1473]]


def test_a_firm_that_keeps_silent_posts_the_deviation_too(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "s.trace", "sleeper", "best_reply")) as trace:
        now = prices(PlayedAgain().deviating(trace, posting(1500, 6, 7)))
    assert [row[0] for row in now] == [2000, 2000, 2000, 2000, 2000, 1500, 1500]


def test_firms_that_are_told_hidden_truth_are_told_it_again(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "h.trace", "nash", "best_reply(noise=9)", demand_known=False)) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1600, 5)))
    assert now[:4] == was[:4]
    assert now[4] == [1600, was[4][1]]
    # The draws of the noise are those of the round: common luck.
    assert now[6:] == was[6:]


def test_without_a_change_the_episode_is_the_same(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "e.trace", "edgeworth", "q_limit(session=5)", shock="common_cost")) as trace:
        was = prices(trace)
        price = was[5][0]
        assert price is not None
        assert prices(PlayedAgain().deviating(trace, posting(price, 6))) == was


def test_a_deviation_that_the_rules_refuse_is_none(tmp_path: Path) -> None:
    refused = pytest.raises(NotPlayed, match="set_price of F1 in round 4 is refused")
    with open_trace(duopoly(tmp_path / "r.trace", "nash", "nash")) as trace, refused:
        PlayedAgain().deviating(trace, posting(4001, 4))


def test_one_policy_sits_on_every_seat_of_the_same_luck(tmp_path: Path) -> None:
    drawn: dict[str, Any] = {"drawn": True, "quality": None, "cost": None, "shock": "own_cost"}
    with open_trace(duopoly(tmp_path / "a.trace", "nash", "matcher", **drawn)) as trace:
        again = prices(PlayedAgain().on_every_seat(trace, "edgeworth"))
    with open_trace(duopoly(tmp_path / "b.trace", "edgeworth", "edgeworth", **drawn)) as trace:
        assert again == prices(trace)


def test_a_policy_that_cannot_sit_everywhere_is_no_reference(tmp_path: Path) -> None:
    unfit = pytest.raises(NotPlayed, match="no reference zip: the policy zip plays buyer, seller, not trader")
    with open_trace(played(tmp_path / "a.trace", "order_book/asset_short", "hold", periods=1)) as trace, unfit:
        PlayedAgain().on_every_seat(trace, "zip")


async def test_a_seat_that_was_played_from_outside_cannot_be_asked_again(tmp_path: Path) -> None:
    agent = AgentSpec("react", "policy:best_reply")
    path = (await play_episode(preset_spec("pricing", "smoke", agent, tmp_path, seed=3, agents=["F1"]))).path
    with open_trace(path) as trace, pytest.raises(NotPlayed, match="F1 was played from outside"):
        PlayedAgain().deviating(trace, posting(1500, 2, 3))


async def test_a_fork_is_not_played_again(tmp_path: Path) -> None:
    path = duopoly(tmp_path / "o.trace", "nash", "nash")
    with open_trace(path) as trace:
        calls = [event for event in trace.decoded() if event["event"] == "tool_called" and event["round"] == 5]
    matcher = AgentSpec("policy", "policy:matcher")
    forked = await fork_episode(ForkSpec(path, tmp_path / "arms", calls[0]["seq"], matcher, "F1"))
    with open_trace(forked.futures[0].fork) as trace, pytest.raises(NotPlayed, match="it is a fork"):
        PlayedAgain().deviating(trace, posting(1500, 9))


def test_policies_that_play_otherwise_today_are_found_out(tmp_path: Path) -> None:
    """A trace whose seating names another policy than the one that played is what an older release leaves."""
    path = duopoly(tmp_path / "x.trace", "nash", "edgeworth(step=30)", said=("nash", "edgeworth"))
    with open_trace(path) as trace:
        with pytest.raises(NotPlayed, match="do not play again what the trace says"):
            PlayedAgain().deviating(trace, posting(1500, 9))
        # Before they differ nobody can tell.
        assert prices(PlayedAgain().deviating(trace, posting(1500, 2, 2)))[0] == prices(trace)[0]


_SEED = 11
_FIELD = ("gdx_bazaar", "risk_aware_bazaar", "gdx", "kaplan", "adaptive_bazaar", "zip", "forfeiter", "random_legal")
_TALKERS = ("leaker", "obeyer", "promiser", "cartel_sellers", "injector", "random_legal")
_BARGAINERS, _SUPPLIERS = ("boulware", "promise_breaker"), ("adaptive", "cost_plus", "floor_bidder")
_PINNED = [
    ("double_auction", "bazaar", 8, _FIELD, "8849e630a3915239b9206aa94ac430165c32720cfa57004038e048224039639d"),
    ("double_auction", "collusion", 3, _TALKERS, "fce780a51c22f44ed513c28dd2676766924abe8de61fe247ad8068c5a17ea7a5"),
    ("bargaining", "pact", 6, _BARGAINERS, "7192ad7e86fb59ca9b402e2b0decd242f5a6858a9467070aa16f9f46b52e429f"),
    ("supply_chain", "duel", 2, _SUPPLIERS, "568e6b72da5be82511eaf493de725ce9d6acd30bb134a01670d43bdfcbdae142"),
]


def _events(market: str, preset: str, rounds: int, policies: tuple[str, ...]) -> list[Record]:
    """All events of an episode of policies, named in the market's order of seats."""
    kind = market_type(market)
    scenario = load_scenario(market, preset, {"rounds": rounds})
    core = Core.create(kind, scenario, _SEED)
    seats: Mapping[str, str] = dict(zip(core.market.seats, policies, strict=True))
    scripted = scripted_seats(kind, scenario, SeatPlan(seats), _SEED)
    records = core.start().records
    while core.ended is None:
        records += scripted.run(core)
    return records


@pytest.mark.parametrize(("market", "preset", "rounds", "policies", "head"), _PINNED)
def test_a_scripted_episode_has_the_bytes_that_were_written_down(
    market: str, preset: str, rounds: int, policies: tuple[str, ...], head: str
) -> None:
    # Of the events alone: the manifest holds the descriptions of all tools, whose wording may change.
    found = first_hash(market.encode())
    for record in _events(market, preset, rounds, policies):
        event = orjson.loads(record.body)
        # Who plays is the release's and the runner's word, not the market's.
        event.pop("seating", None)
        found = next_hash(found, orjson.dumps(event) if record.seq == 1 else record.body)
    assert found.hex() == head
