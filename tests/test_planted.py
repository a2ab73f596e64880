"""The instrument test itself: flaws are what they say, twins are unflawed, and findings name most of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from benchmarks.planted.bills import Bill, bill_of, named_turns
from benchmarks.planted.flaw import ANY, Course, Flaw, Flawed, Scene, Wrap
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from benchmarks.planted.kept import keep, kept
from benchmarks.planted.measure import Part, Row, Run, Twin, flaws, goals, rows_of, run_of
from benchmarks.planted.page import page
from benchmarks.planted.play import PRESETS, Episode, Setting, play

from tests.evaluation.verdict.test_words import ledger_with, turn_of
from tradefair.catalog import market_type
from tradefair.contract import Draw, ToolAnswer, ToolCall, Turns, TurnView
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.runner.ledger.ledger import ledger_of

_ALL = {(flaw.market, flaw.name): flaw for flaw in flaws()}
_FEW = [
    *(("double_auction", name) for name in ("margin_added", "gives_up", "walks_away", "text_first")),
    *(("bargaining", name) for name in ("limit_read_lax", "digit_slip", "obeys_messages", "tells_its_limit")),
    *(("retail", name) for name in ("prices_too_low", "only_closes")),
    *(("supply_chain", name) for name in ("pays_half_more", "price_a_tenth")),
    *(("marketplace", name) for name in ("pays_again", "leaves_unpaid", "polls")),
    *(("pricing", name) for name in ("cost_added_twice", "starts_late")),
    *(("order_book", name) for name in ("digit_off", "walks_away")),
]
_SEED = 1

Planted = Callable[[Flaw], tuple[Episode, Episode]]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Twin and flawed episode of a flaw, each played once."""
    folder, known = tmp_path_factory.mktemp("planted"), dict[tuple[Setting, str], Episode]()

    def played(flaw: Flaw | None, setting: Setting) -> Episode:
        name = setting, flaw.name if flaw else ""
        if name not in known:
            known[name] = play(setting, flaw, _SEED, folder)
        return known[name]

    def _planted(flaw: Flaw) -> tuple[Episode, Episode]:
        return played(None, Setting.of(flaw)), played(flaw, Setting.of(flaw))

    return _planted


def test_flaws_are_many_of_every_kind_and_in_every_market() -> None:
    assert len(_ALL) == len(flaws()) >= 60
    assert all(len(flaws([market])) >= 12 for market in PRESETS)
    kinds = {(flaw.market, flaw.kind) for flaw in _ALL.values()}
    assert len({kind for _, kind in kinds}) == 8
    assert {flaw.onset for flaw in _ALL.values()} == {"always", "rare", "late"}
    assert sum(flaw.harmless for flaw in _ALL.values()) >= 10
    best = {"gd", "linear_concession", "careful_reader", "adaptive", "item_searcher", "grim", "kaplan"}
    assert 3 * sum(flaw.base not in best for flaw in _ALL.values()) >= len(_ALL)


def test_what_flaws_should_be_called_are_modes_of_their_market() -> None:
    known = {market: {f"{market}.{mode}" for mode in evaluator_of(market).modes.rows} for market in PRESETS}
    unknown = {key: flaw.accepted - known[flaw.market] - GENERAL.rows.keys() for key, flaw in _ALL.items()}
    assert not {key: modes for key, modes in unknown.items() if modes}
    # Of these the ledger tells alone: no name says more than that something better was possible.
    nameless = {key for key, flaw in _ALL.items() if not flaw.accepted and not flaw.harmless}
    late = {("double_auction", "a_turn_late"), ("bargaining", "a_turn_late")}
    assert nameless == late | {("double_auction", "gives_all"), ("supply_chain", "timid")}


@pytest.mark.parametrize("key", _FEW, ids="-".join)
def test_a_flaw_alters_what_it_marks_and_nothing_before(planted: Planted, key: tuple[str, str]) -> None:
    flaw = _ALL[key]
    twin, bent = planted(flaw)
    assert twin.course.marks == twin.course.altered == set()
    assert bent.course.marks
    assert {bent.course.turns[number - 1][0] for number in bent.course.altered} == {at for at, _ in bent.course.marks}
    if flaw.onset == "late":
        assert min(bent.course.altered) > 1
    tools = set(market_type(flaw.market).tools)
    assert {tool for _, tool in bent.course.marks} <= tools | {ANY}
    if flaw.harmless:
        assert bent.metric == twin.metric
    else:
        assert run_of(flaw, _SEED, twin, bent).harmful


def test_a_flaw_that_never_acts_leaves_the_twin(tmp_path: Path) -> None:
    flaw = _ALL["bargaining", "anchored"]
    setting = Setting.of(flaw)
    idle = play(setting, Flaw("idle", "bargaining", "talk", flaw.base, frozenset(), "nothing", Wrap()), 3, tmp_path)
    twin = play(setting, None, 3, tmp_path)
    assert (idle.digest, idle.metric, idle.course) == (twin.digest, twin.metric, twin.course)
    assert idle.course.altered == set()


def test_most_of_a_few_harmful_flaws_are_named(planted: Planted) -> None:
    """Loose on purpose: the whole benchmark holds the goals, one seed of few flaws is a smoke test."""
    runs = [run_of(flaw, _SEED, *planted(flaw)) for flaw in map(_ALL.__getitem__, _FEW)]
    harmful = [run for run in runs if run.harmful]
    assert len(harmful) >= 9
    assert sum(run.named is not None for run in harmful) >= 0.7 * len(harmful)
    assert sum(run.cited for run in harmful) >= 0.6 * len(harmful)


# --- the man in the middle ------------------------------------------------------------------------------------------


class _Asks:
    """Looks, then acts, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[ToolAnswer] = []

    def turn(self, now: TurnView) -> Turns:
        for tool in ("look", "act"):
            self.told.append((yield ToolCall(tool, {"price": 40})))


def _turn(number: int = 1) -> TurnView:
    return TurnView(
        seat="B1", role="buyer", round=number, phase="quote", revision=number, awaited=True, actions=[],
        over=False, end_reason=None, still_open=True, limits=[], market={},
    )  # fmt: skip


def _drive(wrap: Wrap, turns: int = 1) -> tuple[list[ToolCall], _Asks, Course]:
    """Each call is answered with how many were made."""
    base, course, made = _Asks(), Course.empty(), list[ToolCall]()
    flaw = Flaw("x", "bargaining", "talk", "", frozenset(), "", wrap)
    policy = Flawed(base, flaw, Scene(Draw("x"), 10), frozenset({"act"}), course)
    for number in range(1, turns + 1):
        calls = policy.turn(_turn(number))
        call = next(calls, None)
        while call is not None:
            made.append(call)
            try:
                call = calls.send(ToolAnswer(b'{"value":%d}' % len(made), None, False))
            except StopIteration:
                break
    return made, base, course


def test_an_altered_answer_marks_the_look_and_what_was_done_upon_it() -> None:
    def misread(scene: Scene, call: ToolCall, data: dict[str, int]) -> dict[str, int]:
        return {**data, "value": 9} if call.tool == "look" else data

    _, base, course = _drive(Wrap(answer=misread))
    assert [answer.data["value"] for answer in base.told] == [9, 2]
    assert course == ([(1, "quote", 0)], {1}, {(1, "look"), (1, "act")})


def test_a_dropped_call_is_not_made_and_the_policy_is_told_of_a_refusal() -> None:
    def drop(scene: Scene, call: ToolCall) -> ToolCall | None:
        return None if call.tool == "act" else call

    made, base, course = _drive(Wrap(call=drop))
    assert [call.tool for call in made] == ["look"]
    assert base.told[1].error is not None
    assert course.marks == {(1, "act"), (1, ANY)}


def test_a_recalled_look_is_shown_again_and_not_made() -> None:
    made, base, course = _drive(Wrap(recalls=frozenset({"look"})), turns=2)
    assert [call.tool for call in made] == ["look", "act", "act"]
    assert base.told[2] == base.told[0]
    assert (course.altered, course.marks) == ({2}, {(2, "look"), (2, ANY), (2, "act")})


def test_a_view_that_is_a_turn_late_shows_what_was_answered_in_the_turn_before() -> None:
    made, base, course = _drive(TURN_LATE, turns=3)
    assert len(made) == 6
    assert [answer.data["value"] for answer in base.told] == [1, 2, 1, 2, 3, 4]
    assert course.altered == {2, 3}


def test_panic_changes_the_named_numbers_wherever_they_stand() -> None:
    made, _, course = _drive(panicking("price"), turns=12)
    prices = [call.arguments["price"] for call in made if call.tool == "act"]
    assert set(prices) == {20, 40, 60}
    assert course.altered == {turn for turn, price in enumerate(prices, 1) if price != 40}


def test_two_flaws_act_at_once() -> None:
    def dearer(scene: Scene, call: ToolCall) -> ToolCall:
        return ToolCall(call.tool, {"price": 50})

    def twice(scene: Scene, call: ToolCall) -> list[ToolCall]:
        return [call, call]

    one = Flaw("one", "bargaining", "talk", "", frozenset({"a"}), "dearer", Wrap(call=dearer), "late")
    two = Flaw("two", "bargaining", "memory", "", frozenset({"b"}), "twice", Wrap(call=twice))
    both = two_at_once([one, two], "one", "two")
    assert (both.onset, both.accepted, both.says) == ("late", {"a", "b"}, "dearer; and twice")
    made, _, _ = _drive(both.wrap)
    assert made == [ToolCall(tool, {"price": 50}) for tool in ("look", "look", "act", "act")]


# --- counting -------------------------------------------------------------------------------------------------------


def _run(seed: int, cost: float, named: str | None, bill: Bill | None = None, **more: bool) -> Run:
    top, cited = more.get("top", False), more.get("cited", False)
    return Run("bargaining", "anchored", seed, 100.0, cost, 1, cost > 2, named, top, cited, named, (), bill)


def _bill(gap: float, part: float, named: bool | None = True) -> Bill:
    return Bill(turns=0.25, gap=gap, altered=True, more=gap, altered_turns=part, named=named, by_chance=0.5)


def test_shares_are_of_harmful_runs() -> None:
    flaw = _ALL["bargaining", "anchored"]
    runs = [
        _run(1, 40, "deadlock", _bill(40, 21), top=True, cited=True),
        _run(2, 20, "deadlock", _bill(60, 41, named=False)),
        _run(3, 30, None, _bill(30, 14.9, named=None)),
        _run(4, -2, "deadlock"),
    ]
    row = next(rows_of([flaw], runs))
    assert row == Row(flaw, 4, 3, 22.0, 100.0, 2 / 3, 1 / 3, 1 / 2, 1.0, 21 / 40, 0.5)
    found = {
        goal.name: (goal.value, goal.runs)
        for goal in goals([row], runs, [Twin("bargaining", "x", ("deadlock",))])
        if goal.market == "all"
    }
    assert found["name: harmful flaws detected"] == (pytest.approx(2 / 3), 3)
    assert found["own base: gap is the true cost"] == (pytest.approx(2 / 3), 3)
    assert found["best known: its part at altered turns is within ×2"] == (pytest.approx(1 / 3), 3)
    assert found["verdict's turn or stretch holds an altered turn"] == (0.5, 2)
    assert found["findings an episode on unflawed competent seats"] == (1.0, 1)


def test_a_flaw_without_a_name_is_not_detected_by_whatever_else_is_raised() -> None:
    flaw = _ALL["double_auction", "gives_all"]
    run = _run(1, 40, None)._replace(market=flaw.market, flaw=flaw.name, extra=("lapse",))
    row = next(rows_of([flaw], [run]))
    assert (row.detected, row.first) == (None, None)
    assert all(goal.value is None for goal in goals([row], [run], []) if goal.name.startswith("name:"))
    assert "`double_auction/gives_all`" in page([row], goals([row], [run], []), Part([run], [], 0.0), {flaw.market: 1})


def test_the_page_lists_every_flaw_with_what_it_should_be_called() -> None:
    flaw = _ALL["bargaining", "anchored"]
    runs = [_run(1, 40, "deadlock")]
    rows = list(rows_of([flaw], runs))
    text = page(rows, goals(rows, runs, []), Part(runs, [], 61.0), {"bargaining": 1})
    assert "| anchored | judgement | linear_concession | always |" in text
    assert "deadlock, persistent_no_trade, promise_break" in text
    assert "CPU: 1 minutes" in text
    assert "repaired turns" not in text


def test_runs_are_kept_by_market_and_come_back_as_they_were(tmp_path: Path) -> None:
    runs = [_run(1, 40.25, "deadlock", _bill(40, 30)), _run(2, -1, None)]
    twin = Twin("bargaining", "linear_concession", ("deadlock",))
    keep(Part(runs, [twin], 61.0), ["bargaining"], 2, tmp_path)
    held = kept(["bargaining", "retail"], tmp_path)
    assert held.part == Part(runs, [twin], 60)
    assert held.seeds == {"bargaining": 2}
    # Another market is written beside it.
    keep(Part([run._replace(market="retail") for run in runs], [], 9.0), ["retail"], 3, tmp_path)
    assert kept(["bargaining", "retail"], tmp_path).seeds == {"bargaining": 2, "retail": 3}


# --- the ledger -----------------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("key", [("supply_chain", "price_times_ten"), ("pricing", "digit_lost_early")], ids="-".join)
def test_the_ledgers_of_a_flawed_seat_hold_the_true_cost(planted: Planted, key: tuple[str, str]) -> None:
    flaw = _ALL[key]
    twin, bent = planted(flaw)
    known = ledger_of(twin.path, twin.seat, most=8)
    run = run_of(flaw, _SEED, twin, bent)
    bill = bill_of(flaw, twin, bent, known)
    assert known.turns[-1].until == len(twin.course.turns) == len(bent.course.turns)
    assert run.is_cost(bill.gap)
    assert run.is_cost(bill.more)
    assert not run.is_cost(bill.gap + 1)
    assert bill.altered
    assert 0 < bill.turns < 0.5


def _ledger(lost: Sequence[float], *, agreed: bool = True) -> Ledger:
    return ledger_with([turn_of(number, amount, agreed=agreed) for number, amount in enumerate(lost, 1)])


def test_the_named_turns_are_those_of_the_verdict() -> None:
    assert [turn.turn for turn in named_turns(_ledger([1, 9, 1, 8, 1]))] == [2, 4]
    assert [turn.turn for turn in named_turns(_ledger([1, 8, 1, 8, 1], agreed=False))] == [2, 3, 4]
    assert [turn.turn for turn in named_turns(_ledger([1.0] * 30))] == [1]
    assert named_turns(_ledger([1.0] * 30, agreed=False)) == []
