"""Scripted seats are played again: a trace that names another policy, key or flag than played is found.

Also here:
- Forgers who hand a scripted seat to somebody else for a while, or answer it as hosts answer players outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.corpus.forge import Forge
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import canonical
from tradefair.contract.errors import KEY_REUSED, SeatError
from tradefair.contract.kernel.core import Core, Done
from tradefair.contract.kernel.players import Player, Seating, seat_policy, seat_roles
from tradefair.contract.policy import ToolAnswer, ToolCall
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import WRITTEN_BY, open_trace

Edit = Callable[[Path], Any]


def _played(folder: Path, market: str = "double_auction", preset: str = "smoke", **options: Any) -> Path:
    """A scripted episode; `late` and `agents` name seats."""
    kind, scenario = market_type(market), load_scenario(market, preset, options.pop("overrides", {}))
    others, agents = options.pop("others", None), options.pop("agents", None)
    plan = plan_seats(kind, scenario, agents=agents, others=others)
    # Without outside seats, stand-ins play those of agents.
    for seat in plan.agents[:] if agents is None else ():
        role = seat_roles(kind, scenario)[seat]
        plan = plan.with_policy(seat, next(spec.name for spec in kind.policies.values() if role in spec.roles))
    for seat in options.pop("late", ()):
        plan = plan.with_policy(seat, plan.seats[seat])

    async def play() -> Path:
        episode = await new_episode(kind, scenario, 3, plan, folder, **options)
        if not plan.agents:
            await episode.wait_ended()
        await episode.close()
        return episode.path

    return asyncio.run(play())


def _reseated(editor: Edit, path: Path, change: Callable[[dict[str, Any]], object]) -> Check:
    """Verify after the first event was changed, and everything that covers it made to fit."""
    edit = editor(path)
    first, *rest = edit.bodies()
    event = orjson.loads(first)
    change(event["seating"])
    edit.rewrite([orjson.dumps(event), *rest])
    return verify_file(path)


def _policies(seating: dict[str, Any], policy: str) -> None:
    for player in seating["players"].values():
        player.update(policy=policy, label=f"policy:{policy}")


def test_every_seat_of_an_honest_trace_is_reproduced(tmp_path: Path) -> None:
    check = verify_file(_played(tmp_path, agents=[], others="zip"))
    assert check.verdict == "reproduced"
    assert {seat.state for seat in check.seats.values()} == {"replayed"}
    seats = len(check.seats)
    assert check.sentence == f"{check.events} events, reproduced. {seats} of {seats} scripted seats reproduced."
    assert check.to_json()["seats"]["B1"] == {"label": "policy:zip", "state": "replayed", "why": None}


@pytest.mark.parametrize(
    ("market", "preset", "overrides"),
    [
        ("teaching", "talk", {}),
        ("bargaining", "smoke", {}),
        ("retail", "smoke", {}),
        ("supply_chain", "duel", {}),
        ("pricing", "hidden_cost", {"rounds": 5}),
        ("order_book", "smoke", {}),
        ("order_book", "live", {"periods": 1, "sweeps": 3}),
        ("marketplace", "small_demo", {}),
        ("marketplace", "small_demo", {"clock": "free", "timing.free_tick_s": LONG}),
    ],
)
def test_the_seats_of_every_market_are_reproduced(tmp_path: Path, market: str, preset: str, overrides: Any) -> None:
    check = verify_file(_played(tmp_path, market, preset, overrides=overrides))
    states = {seat.state for seat in check.seats.values()}
    assert (check.verdict, states) == ("reproduced", {"replayed"}), check.sentence


def test_a_policy_that_was_not_played_is_found_and_both_calls_are_shown(tmp_path: Path, editor: Edit) -> None:
    check = _reseated(editor, _played(tmp_path), lambda seating: _policies(seating, "zip"))
    assert (check.verdict, check.events) == ("diverged", (check.seq or 0) - 1)
    assert "does not play as in the trace" in check.sentence
    assert check.in_log != check.re_executed
    assert "unproven" in {seat.state for seat in check.seats.values()}
    seats = verify_file(tmp_path / Path(check.path).name, seats=False)
    assert (seats.verdict, seats.seats) == ("reproduced", {})
    assert seats.sentence.endswith("Scripted seats were not played again.")


@pytest.mark.parametrize("key", ["policy_key", "agent_key"])
def test_another_key_is_found_where_a_seat_draws_from_it(tmp_path: Path, editor: Edit, key: str) -> None:
    late: list[SeatId] = ["B1"] if key == "agent_key" else []
    path = _played(tmp_path, agents=[], others="random_legal", late=late)
    assert verify_file(path).verdict == "reproduced"
    assert _reseated(editor, path, lambda seating: seating.update({key: 9})).verdict == "diverged"


def test_a_flag_that_hides_what_a_policy_knows_is_found(tmp_path: Path, editor: Edit) -> None:
    kind = market_type("teaching")
    name = next((spec.name for spec in kind.policies.values() if spec.privileged), None)
    market = "teaching" if name else "double_auction"
    name = name or next(spec.name for spec in market_type(market).policies.values() if spec.privileged)
    path = _played(tmp_path, market, "pie" if market == "teaching" else "smoke", others=name)
    assert verify_file(path).verdict == "reproduced"

    def hide(seating: dict[str, Any]) -> None:
        for player in seating["players"].values():
            player["privileged"] = False

    assert _reseated(editor, path, hide).verdict == "diverged"


def test_a_lapse_in_place_of_a_policys_action_is_found(tmp_path: Path, editor: Edit) -> None:
    path = _played(tmp_path, "teaching", "pie", agents=["P1"], others="half")
    edit = editor(path)
    events = [orjson.loads(body) for body in edit.bodies()]
    acted = next(event for event in events if event.get("tool") == "claim")
    head = {name: acted[name] for name in ("round", "phase", "revision", "seat")}
    lapse = {"seq": 2, "event": "seat_lapsed", **head, "reason": "deadline", "default_action": "no_claim"}
    for seq in range(len(events), 2, -1):
        edit.run("DELETE FROM events WHERE seq = ?", seq)
    edit.rewrite([edit.bodies()[0], orjson.dumps(lapse)])
    edit.unseal()
    edit.run("DELETE FROM meta WHERE key = 'closed_head'")
    check = verify_file(path)
    assert (check.verdict, check.seq) == ("diverged", 2)
    assert (check.in_log, '"tool":"view_my_value"' in (check.re_executed or "")) == ("null", True)
    without = verify_file(path, seats=False)
    assert without.verdict == "reproduced", without.sentence


def test_a_look_that_a_scripted_seat_takes_outside_its_turn_is_found(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke", {})
    plan = plan_seats(kind, scenario, agents=["B1"], others="zip")

    async def play() -> tuple[Path, str]:
        episode = await new_episode(kind, scenario, 3, plan, tmp_path)
        with open_trace(episode.path) as trace:
            events = list(trace.decoded())
        first = next(event for event in events if event.get("seat") == "S1")
        # What its policy begins every turn with, after it has quoted: it is awaited no more.
        await episode.call("S1", first["tool"], first["arguments"])
        await episode.close()
        return episode.path, first["tool"]

    path, tool = asyncio.run(play())
    check = verify_file(path)
    assert (check.verdict, check.seats["S1"].state, tool in (check.in_log or "")) == ("diverged", "unproven", True)


_ROUNDS = 3
Cheat = Callable[["_Game"], object]


class _Game:
    """An auction of one policy in all seats, played through Core; B1 does in round 2 what `cheat` does."""

    def __init__(self, said: Mapping[str, Any] | None = None, policy: str = "truthful") -> None:
        kind = market_type("double_auction")
        scenario = load_scenario(kind.name, f"{kind.name}/smoke", {"rounds": _ROUNDS, "n_buyers": 2, "n_sellers": 2})
        self.core = Core.create(kind, scenario, 3)
        self.bodies: list[bytes] = []
        player = Player(label=f"policy:{policy}", policy=policy)
        self.seating = Seating(players=dict.fromkeys(self.core.market.seats, player), written_by=WRITTEN_BY)
        first: dict[str, Any] = {"policy": policy, **(said or {})}
        claimed = {**self.seating.players, "B1": Player(label=f"policy:{first['policy']}", **first)}
        self.take(self.core.start(self.seating.model_copy(update={"players": claimed})))
        self.fresh(*self.core.market.seats)

    def take(self, done: Done) -> ToolAnswer | None:
        self.bodies += [record.body for record in done.records]
        answer = done.answer
        return answer and ToolAnswer(answer.body, answer.error, answer.turn.turn_over)

    def fresh(self, *seats: SeatId) -> None:
        kind, roles, policies = self.core.market_type, self.core.market.seats, self.seating.scripted
        made = {seat: seat_policy(kind, policies[seat], roles[seat].role, self.seating.draw(3, seat)) for seat in seats}
        self.policies = {**getattr(self, "policies", {}), **made}

    def seat(self, label: str | None = None, policy: str | None = "truthful", **said: Any) -> None:
        """B1 changes hands."""
        players = {"B1": {"label": label or f"policy:{policy}", "policy": policy}}
        self.take(self.core.seat(Seating.model_validate({"players": players, "written_by": WRITTEN_BY, **said})))

    def turn(self, seat: SeatId, quote: Callable[[ToolCall], Done] | None = None) -> None:
        """The policy's turn; `quote` does its quotes instead."""
        turns = self.policies[seat].turn(self.core.turn_view(seat))
        call = next(turns, None)
        while call is not None:
            instead = quote if call.tool == "submit_quote" else None
            answer = self.take(instead(call) if instead else self.core.call(seat, call.tool, dict(call.arguments)))
            assert answer is not None
            if answer.turn_over:
                return
            try:
                call = turns.send(answer)
            except StopIteration:
                call = None
        self.take(self.core.lapse(seat, "agent_limit"))

    def played(self, path: Path, cheat: Cheat, back: Cheat = lambda game: None) -> Check:
        returned = False
        while self.core.ended is None:
            now = self.core.market.clock.round
            seat = next(name for name in self.core.market.seats if self.core.awaits(name))
            if (seat, now) == ("B1", 2):
                cheat(self)
                continue
            if (seat, now, returned) == ("B1", 3, False):
                back(self)
                returned = True
            self.turn(seat)
        core = canonical(self.core.manifest.model_dump(mode="json"))
        return verify_file(Forge(core, {}, self.bodies, [*range(1, len(self.bodies) + 1)]).save(path))


def _quotes_one(game: _Game) -> None:
    game.take(game.core.call("B1", "submit_quote", {"price": 1}))


def _comes_back(**said: Any) -> Cheat:
    def back(game: _Game) -> None:
        game.seat(**said)
        game.fresh("B1")

    return back


WITHHELD = {"origin": {"forked_from": {"head": "00", "seq": 1, "loose": True}}}


@pytest.mark.parametrize(
    ("away", "back"),
    [
        ({"label": "react/model", "policy": None}, {}),
        ({"policy": "truthful()", "origin": {"imported_from": "a log"}}, {"origin": {"resumed": True}}),
        ({"policy": "oracle_of_delphi"}, {}),
        ({"written_by": "tradefair 0.0.1"}, {"policy": "truthful()"}),
        ({}, WITHHELD),
    ],
)
def test_a_seat_that_somebody_else_had_for_a_while_is_not_reproduced_when_it_comes_back(
    tmp_path: Path, away: dict[str, Any], back: dict[str, Any]
) -> None:
    def cheat(game: _Game) -> None:
        game.seat(**away)
        _quotes_one(game)

    check = _Game().played(tmp_path / "a.trace", cheat, _comes_back(**back))
    assert check.verdict == "reproduced in part", check.sentence
    assert check.seats["B1"].state == "unproven"
    assert (check.seats["B1"].why or "").startswith("until event ")
    assert "3 of 4 scripted seats reproduced; not replayed: B1 (until event " in check.sentence


def test_a_quote_of_a_policy_that_a_host_refused_is_found(tmp_path: Path) -> None:
    check = _Game().played(
        tmp_path / "a.trace",
        lambda game: game.turn("B1", lambda call: game.core.refuse("B1", call.tool, call.arguments, KEY_REUSED)),
    )
    assert (check.verdict, check.seats["B1"].state) == ("diverged", "unproven"), check.sentence


def test_a_quote_of_a_policy_that_failed_is_not_reproduced(tmp_path: Path) -> None:
    check = _Game().played(
        tmp_path / "a.trace", lambda game: game.turn("B1", lambda call: game.core.fail("B1", call.tool, call.arguments))
    )
    assert (check.verdict, check.copied["faults"]) == ("reproduced in part", 1), check.sentence
    assert "a fault of the host" in (check.seats["B1"].why or "")


@pytest.mark.parametrize(
    "said",
    [{"privileged": True}, {"policy": "truthful(depth=2)"}, {"policy": "truth ful"}, {"policy": "sniper_of_no_role()"}],
)
def test_a_player_that_this_release_would_not_seat_is_no_excuse_for_its_lapses(tmp_path: Path, said: Any) -> None:
    check = _Game(said).played(tmp_path / "a.trace", lambda game: game.take(game.core.lapse("B1", "deadline")))
    installed = said.get("policy") != "sniper_of_no_role()"
    assert check.verdict == ("diverged" if installed else "reproduced in part"), check.sentence
    assert (check.seq == 1) == installed


@pytest.mark.parametrize(("reason", "verdict"), [("agent_limit", "reproduced"), ("retired", "diverged")])
def test_a_policy_that_does_nothing_lapses_as_policies_do(tmp_path: Path, reason: Any, verdict: str) -> None:
    check = _Game(policy="passive").played(tmp_path / "a.trace", lambda game: game.take(game.core.lapse("B1", reason)))
    assert check.verdict == verdict, check.sentence


def test_seats_under_test_exist_and_an_end_has_a_code() -> None:
    game = _Game()
    with pytest.raises(SeatError, match="no seat 'B9'"):
        game.core.seat(Seating(players={}, compared=("B9",), written_by=WRITTEN_BY))
    for reason in ("truncated:", "truncated:\x1b[31m", "truncated:a\nb", "terminated:agreement"):
        with pytest.raises(TraceError, match="cut short"):
            game.core.end(reason)
