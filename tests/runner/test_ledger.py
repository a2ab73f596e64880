"""The ledger: what each turn lost adds up to the gap, in every market, and is what a replay from the start says."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tradefair.api as tf
from tradefair.catalog import market_type
from tradefair.contract import Draw, ScenarioError, SeatError, ToolCall, TraceError, TurnView
from tradefair.contract.policy import Turns
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.ledger import Extent, Ledger
from tradefair.runner.ledger import Ledgers, ledger_of, with_ledgers
from tradefair.runner.replays import NotReplayed, Replays
from tradefair.runner.tape import TapePlayer

# Each ledger plays its episode again for every turn and policy.
pytestmark = pytest.mark.many

SEED = 5
# Market, scenario, settings, the seat, policies of three kinds: a good one, a poor one, one that draws.
MARKETS: dict[str, tuple[str, dict[str, Any], str, tuple[str, str, str]]] = {
    "teaching": ("pie", {}, "P1", ("half", "passive", "random_legal")),
    "double_auction": ("bazaar", {"rounds": 10}, "S3", ("zip", "stubborn", "zic")),
    "bargaining": ("pact", {"rounds": 8}, "B1", ("linear_concession", "gifter", "random_within_value")),
    "retail": ("smoke", {}, "manager", ("careful_reader", "bare_shelf", "random_legal")),
    "supply_chain": ("duel", {}, "retailer_01", ("adaptive", "passive", "random_legal")),
    "marketplace": ("small_demo", {}, "customer_0001", ("item_searcher", "double_payer", "random_legal")),
    "pricing": ("duel", {"rounds": 12}, "F1", ("leader", "jumpy", "random_legal")),
    "order_book": ("smith", {"periods": 2, "sweeps": 4}, "B1", ("gd", "sleeper", "zi_c")),
}
CASES = [(market, name) for market, (*_, policies) in MARKETS.items() for name in policies]


def played(folder: Path, market: str, agent: Any, *, seed: int = SEED, **more: Any) -> Path:
    scenario, settings, seat, _ = MARKETS[market]
    given: dict[str, Any] = {"seat": seat, "settings": settings, **more}
    return tf.play(market, scenario=f"{market}/{scenario}", seed=seed, agent=agent, folder=folder, **given).path


def adds_up(ledger: Ledger) -> None:
    """Whatever a ledger is of: sums, places, bands."""
    sign = 1 if ledger.higher_is_better else -1
    assert math.fsum(turn.lost for turn in ledger.turns) == pytest.approx(ledger.gap, abs=1e-9, rel=1e-12)
    assert ledger.gap == pytest.approx(sign * (ledger.reachable - ledger.own), abs=1e-9)
    assert ledger.turns[-1].after == ledger.own
    assert [turn.turn for turn in ledger.turns[1:]] == [turn.until + 1 for turn in ledger.turns[:-1]]
    for before, turn in zip(ledger.turns, ledger.turns[1:], strict=False):
        assert turn.value == before.after
    for turn in ledger.turns:
        assert turn.band[0] - 1e-9 <= turn.lost <= turn.band[1] + 1e-9
        assert tuple(turn.values) == ledger.of


@pytest.mark.parametrize(("market", "policy"), CASES)
def test_what_the_turns_lost_is_the_gap(tmp_path: Path, market: str, policy: str) -> None:
    path = played(tmp_path, market, f"policy:{policy}")
    ledger = ledger_of(path, MARKETS[market][2])
    adds_up(ledger)
    assert ledger.own == ledger.known.get(policy, ledger.own)


@pytest.mark.parametrize("market", MARKETS)
def test_against_the_seats_own_policy_no_turn_loses_anything(tmp_path: Path, market: str) -> None:
    name = MARKETS[market][3][0]
    ledger = ledger_of(played(tmp_path, market, f"policy:{name}"), MARKETS[market][2], against=[name])
    assert [turn.lost for turn in ledger.turns] == [0.0] * len(ledger.turns)
    assert ledger.turns[0].would == ledger.turns[0].did


class _Switch(TapePlayer):
    """The tape up to a turn, then its shadow: the slow way, without copies."""

    until = 0

    def turn(self, now: TurnView) -> Turns:
        self.until -= 1
        return super().turn(now) if self.until >= 0 else self.shadows[0].policy.turn(now)


@pytest.mark.parametrize("market", MARKETS)
def test_a_value_is_what_a_replay_from_the_start_earns(tmp_path: Path, market: str) -> None:
    seat, weak = MARKETS[market][2], MARKETS[market][3][1]
    replays = Replays(played(tmp_path, market, f"policy:{weak}"))
    ledger = Ledgers(replays).of(seat)
    turns = [turn for turn in ledger.turns if turn.until == turn.turn]
    for turn in turns[:: max(1, len(turns) // 4)]:
        for name in ledger.of:
            player = _Switch(replays.tape(seat), [replays.shadow(seat, name)])
            player.until = turn.turn - 1
            assert replays.rest(replays.game(seat, player), seat) == turn.values[name]


def test_few_values_leave_stretches_and_the_same_sum(tmp_path: Path) -> None:
    path = played(tmp_path, "pricing", "policy:jumpy")
    whole, some = ledger_of(path, "F1"), ledger_of(path, "F1", most=5)
    adds_up(some)
    assert len(some.turns) < len(whole.turns)
    known = {turn.turn: turn.value for turn in whole.turns}
    assert all(known[turn.turn] == turn.value for turn in some.turns)
    assert any(turn.would is None and turn.until > turn.turn for turn in some.turns)


def slip(market: str, name: str, at: int, alter: Mapping[str, Any]) -> type:
    """A bundled policy that does one thing wrong in one round, as an agent of one's own."""
    kind, seat = market_type(market), MARKETS[market][2]

    class Slips:
        def __init__(self) -> None:
            self.inner = kind.policies[name].make({}, Draw.of(SEED, seat, 0))

        def turn(self, now: TurnView) -> Turns:
            turns = self.inner.turn(now)
            wanted = next(turns, None)
            while wanted is not None:
                bent = wanted
                if now.round == at and alter.keys() <= wanted.arguments.keys():
                    bent = ToolCall(wanted.tool, {**wanted.arguments, **alter})
                try:
                    wanted = turns.send((yield bent))
                except StopIteration:
                    return

    return Slips


@pytest.mark.parametrize(
    ("market", "policy", "alter"),
    [("pricing", "best_reply", {"price": 9_000}), ("double_auction", "truthful", {"price": 100})],
)
def test_one_slip_costs_what_the_policy_without_it_earns_more_at_its_turn(
    tmp_path: Path, market: str, policy: str, alter: dict[str, Any]
) -> None:
    seat = MARKETS[market][2]
    bent = played(tmp_path / "bent", market, slip(market, policy, 4, alter))
    ledger = ledger_of(bent, seat, against=[policy])
    assert ledger.gap == ledger.known[policy] - ledger.own
    assert {turn.round for turn in ledger.turns if turn.lost} <= {4}


def test_other_agents_keep_to_what_they_did_and_a_seat_that_lapses_has_turns(tmp_path: Path) -> None:
    path = played(tmp_path, "double_auction", slip("double_auction", "passive", 1, {}), seat=["S3", "S4"])
    for seat in ("S3", "S4"):
        ledger = ledger_of(path, seat)
        adds_up(ledger)
        assert ledger.frozen
        assert not any(turn.did for turn in ledger.turns)


def test_a_broken_or_other_trace_has_no_ledger_and_says_why(tmp_path: Path) -> None:
    path = played(tmp_path, "teaching", "policy:half")
    with pytest.raises(SeatError, match="P9"):
        ledger_of(path, "P9")
    with pytest.raises(ScenarioError, match="nobody"):
        ledger_of(path, "P1", against=["nobody"])
    bad = tmp_path / "bad.trace"
    shutil.copy(path, bad)
    bad.write_bytes(bad.read_bytes()[:-4_000])
    with pytest.raises(TraceError):
        ledger_of(bad, "P1")
    told = with_ledgers(bad, evaluate_file(path))
    assert told.no_ledger
    assert not told.ledgers


def test_an_evaluation_with_ledgers_names_turns_and_ranks_findings_by_what_they_lost(tmp_path: Path) -> None:
    path = played(tmp_path, "retail", "policy:bare_shelf")
    told = with_ledgers(path, evaluate_file(path), extent=Extent.FULL)
    assert told.diagnosis is not None
    ledger = told.ledgers["manager"]
    for finding in told.diagnosis.raised:
        turns = [turn for turn in ledger.turns if turn.turn in finding.turns]
        assert finding.lost == pytest.approx(math.fsum(turn.lost for turn in turns))
        assert all(finding.id in turn.names for turn in turns)
    ordered = [finding.lost or 0.0 for finding in told.diagnosis.raised if not finding.protocol]
    assert ordered == sorted(ordered, reverse=True)


def test_a_policy_that_cannot_watch_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = played(tmp_path, "pricing", "policy:jumpy")
    first = ledger_of(path, "F1").of[0]

    class Fails:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def turn(self, now: TurnView) -> Turns:
            if now.round == 3:
                raise KeyError("price")
            return self.inner.turn(now)

    usual = Replays.shadow

    def shadow(self: Replays, seat: str, name: str) -> Any:
        made = usual(self, seat, name)
        made.policy = Fails(made.policy) if name == first else made.policy
        return made

    monkeypatch.setattr(Replays, "shadow", shadow)
    ledger = ledger_of(path, "F1")
    adds_up(ledger)
    assert first not in ledger.of
    with pytest.raises(NotReplayed, match="cannot watch"):
        ledger_of(path, "F1", against=[first])
