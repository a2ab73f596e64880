"""The talk phase: sealed until it closes, delivered to the addressees, known to nobody else.

Also here:
- Scripted seats that talk: each does what it is named for, over tools and by rules alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest
from benchmarks.double_auction_fast import play_fast
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.calling import moves
from tests.double_auction.seated import RULES
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Draw, ErrorInfo, HarnessFailure, IllegalAction, ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import Limits
from tradefair.contract.policy import parse_policy
from tradefair.double_auction import MARKET
from tradefair.double_auction.analysis import PlayedRound, regret
from tradefair.double_auction.model import DoubleAuctionScenario, Role, role_of
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.rules import DoubleAuction
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.seats.plans import plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import Played, play_episode
from tradefair.tracestore import open_trace
from tradefair.trading.statements import read_statements

Open = Callable[..., DoubleAuction]
Ask = Callable[..., Any]
Refusal = Callable[..., ErrorInfo]
SEATS = ("B1", "B2", "B3", "S1", "S2", "S3")
Words = Mapping[str, tuple[str, str]]

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("view_my_value", {}),
    ("view_history", {}),
    ("view_book_statistics", {}),
    ("summarize_traders", {}),
    ("read_messages", {}),
    ("read_messages", {"after": 0, "limit": 100}),
    ("read_messages", {"first_round": 1}),
    ("send_message", {"recipient": "nobody", "message": "x"}),
    ("send_message", {"recipient": "all_sellers", "message": "x", "round": 99}),
    ("submit_quote", {"price": 101}),
]


def _talk(market: DoubleAuction, words: Words, order: tuple[str, ...] = SEATS) -> Any:
    """All seats speak or stay silent; the public part of the closure."""
    for seat in order:
        market.say(seat, *words.get(seat, ("", "")))
    return market.advance()


def _quote(market: DoubleAuction, price: int = 50) -> Any:
    for seat in SEATS:
        market.quote(seat, price)
    return market.advance()


def _inbox(market: DoubleAuction, seat: str, ask: Ask) -> list[tuple[int, str, str]]:
    rows = ask(market, seat, "read_messages", after=0, limit=100).messages
    return [(row.number, row.sender, row.text) for row in rows]


def test_a_message_reaches_its_addressees_when_the_talk_closes_and_nobody_else(open_market: Open, ask: Ask) -> None:
    market = open_market("collusion")
    receipt = ask(market, "S1", "send_message", recipient="all_sellers", message="ask at least 60")
    assert receipt.model_dump() == {"round": 1, "delivered_to": ["S2", "S3"], "words": 4, "silent": False}
    assert _inbox(market, "S2", ask) == _inbox(market, "S1", ask) == []
    for seat in SEATS:
        if seat != "S1":
            market.say(seat, "all_traders", "")
    closure = market.advance()
    assert (closure.kind, closure.public.model_dump(), closure.facts) == ("phase", {"round": 1}, None)
    assert market.clock == (1, "quote", 1)
    row = ask(market, "S2", "read_messages").messages[0]
    assert (row.sender, row.recipient, row.untrusted) == ("S1", "all_sellers", True)
    assert ask(market, "S1", "read_messages").messages[0].untrusted is False
    for seat in ("B1", "B2", "B3"):
        assert ask(market, seat, "read_messages").model_dump() == {"messages": [], "total": 0, "next_cursor": None}
        assert market.news_mark(seat) == 0
    assert (market.news_mark("S1"), market.news_mark("S2")) == (0, 1)


@pytest.mark.parametrize(
    ("sender", "recipient", "reached"),
    [
        ("B2", "all_traders", ["B1", "B3", "S1", "S2", "S3"]),
        ("B2", "all_sellers", ["S1", "S2", "S3"]),
        ("B2", "all_buyers", ["B1", "B3"]),
        ("S3", "all_sellers", ["S1", "S2"]),
        ("S3", "B1", ["B1"]),
    ],
)
def test_groups_are_everybody_in_them_but_the_sender(
    open_market: Open, sender: str, recipient: str, reached: list[str]
) -> None:
    assert open_market("collusion").say(sender, recipient, "hello").delivered_to == reached


def test_messages_are_numbered_per_seat_in_speaking_order(open_market: Open, ask: Ask) -> None:
    market = open_market("collusion", 3)
    _talk(market, {"B1": ("S1", "one"), "B2": ("B3", "unheard"), "S2": ("all_traders", "two")})
    order: Any = market.state.speaking_order
    expected = ["one", "two"] if order.index("B1") < order.index("S2") else ["two", "one"]
    assert [(number, text) for number, _, text in _inbox(market, "S1", ask)] == [*enumerate(expected, 1)]
    assert [(number, text) for number, _, text in _inbox(market, "S3", ask)] == [(1, "two")]
    facts = _quote(market).facts
    assert facts.speaking_order == list(order)
    _talk(market, {"S3": ("S1", "three")})
    assert _inbox(market, "S1", ask)[-1] == (3, "S3", "three")
    assert [row.text for row in ask(market, "S1", "read_messages", first_round=2).messages] == ["three"]
    page = ask(market, "S1", "read_messages", after=0, limit=1)
    assert (page.total, page.next_cursor) == (3, 1)


def test_reading_marks_what_was_read_once_the_seat_acts() -> None:
    core = Core.create(MARKET, _scenario(), 1)
    core.start()

    def call(seat: str, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = core.call(seat, tool, arguments).answer
        assert answer is not None
        assert answer.status == "ok"
        return orjson.loads(answer.body or b"{}")

    for seat in SEATS:
        call(seat, "send_message", recipient="all_traders", message=f"from {seat}")
    assert call("B1", "read_messages", limit=4)["next_cursor"] == 4
    assert call("B1", "read_messages")["total"] == 6
    call("B1", "submit_quote", price=40)
    assert call("B1", "read_messages")["total"] == 0
    assert call("B2", "read_messages")["total"] == 6


def _scenario(**overrides: Any) -> DoubleAuctionScenario:
    scenario: Any = load_scenario("double_auction", "collusion", overrides)
    return scenario


@given(order=st.permutations(SEATS), quotes=st.permutations(SEATS))
@settings(max_examples=25, deadline=None)
def test_the_order_in_which_messages_arrive_leaves_no_mark(
    open_market: Open, order: list[str], quotes: list[str]
) -> None:
    words = {seat: ("all_traders" if seat[0] == "B" else "B1", f"from {seat}") for seat in SEATS[:4]}
    markets = [open_market("collusion", 9) for _ in range(2)]
    for market, spoken, quoted in zip(markets, (SEATS, tuple(order)), (SEATS, tuple(quotes)), strict=True):
        _talk(market, words, spoken)
        for seat in quoted:
            market.quote(seat, 50)
        market.advance()
    assert markets[0].digest() == markets[1].digest()
    assert markets[0].state.inbox == markets[1].state.inbox


def test_talk_changes_no_value_order_coin_or_price(open_market: Open) -> None:
    for seed in (1, 2, 3):
        talking, silent = open_market("collusion", seed), open_market("collusion_silent", seed)
        for number in range(8):
            _talk(talking, {"S1": ("all_sellers", "ask 90")} if number % 2 else {})
            pairs = [(45, 44), (80, 31), (50, 49)][number % 3]
            for market in (talking, silent):
                for seat in SEATS:
                    market.quote(seat, pairs[seat[0] == "S"] + int(seat[1]))
            one, other = talking.advance().facts, silent.advance().facts
            assert one is not None
            assert other is not None
            assert one.model_dump(exclude={"speaking_order"}) == other.model_dump(exclude={"speaking_order"})
        assert talking.terminated == silent.terminated == "terminated:rounds_completed"


def test_a_silent_seat_lapses_into_silence_and_may_still_quote(open_market: Open) -> None:
    market = open_market("collusion")
    assert market.lapse("B1", "deadline") == "silence"
    with pytest.raises(HarnessFailure):
        market.lapse("B1", "deadline")
    for seat in SEATS[1:]:
        market.say(seat, "all_traders", "  \n ")
    market.advance()
    assert market.state.messages == []
    assert "B1" in market.awaited()
    assert market.lapse("B1", "deadline") == "forfeit_round"
    MARKET.check(market)


# --- errors -----------------------------------------------------------------------------------------------------------


def test_every_wrong_message_is_refused_by_its_code(open_market: Open, refusal: Refusal) -> None:
    market = open_market("collusion")
    say = {"recipient": "all_sellers", "message": "hello"}
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({**say, "message": "word " * 41}, "message_too_long", "41 words; at most 40"),
        ({**say, "message": "x" * 401}, "message_too_long", "401 characters; at most 400"),
        ({**say, "recipient": "S9"}, "unknown_id", "no such recipient"),
        ({**say, "recipient": "All_Sellers"}, "unknown_id", "no such recipient"),
        ({**say, "recipient": "S1"}, "recipient_is_self", "own seat"),
        ({**say, "round": 2}, "stale_round", "the open round is 1"),
    ]
    for arguments, code, words in cases:
        info = refusal(market, "S1", "send_message", **arguments)
        assert (info.code, words in info.message) == (code, True)
    quote = refusal(market, "S1", "submit_quote", price=50)
    assert (quote.code, quote.hint) == ("wrong_phase", "open to you now: send_message")
    market.say("S1", "all_sellers", "hello")
    again = refusal(market, "S1", "send_message", **say)
    assert (again.code, again.retryable) == ("already_acted", False)
    assert "await_turn" in refusal(market, "S1", "submit_quote", price=50).hint
    for seat in market.awaited():
        market.say(seat, "", "")
    market.advance()
    late = refusal(market, "S1", "send_message", **say)
    assert (late.code, late.hint) == ("wrong_phase", "open to you now: submit_quote")


@pytest.mark.parametrize(
    ("chat", "recipient", "code"),
    [
        ({"recipients": ["seat"]}, "all_sellers", "recipient_not_allowed"),
        ({"recipients": ["all_buyers"]}, "B1", "recipient_not_allowed"),
        ({"same_role": False}, "all_sellers", "recipient_not_allowed"),
        ({"same_role": False}, "S2", "recipient_not_allowed"),
        ({"same_role": False}, "all_traders", "recipient_not_allowed"),
        ({"same_role": False}, "B2", None),
        ({"same_role": False}, "all_buyers", None),
    ],
)
def test_the_scenario_says_who_may_be_addressed(
    open_market: Open, chat: dict[str, Any], recipient: str, code: str | None
) -> None:
    market = open_market("collusion", **{f"chat.{name}": value for name, value in chat.items()})
    try:
        market.say("S1", recipient, "hello")
        refused = None
    except IllegalAction as refusal:
        refused = refusal.info.code
    assert refused == code


def test_a_group_that_holds_nobody_else_cannot_be_addressed(open_market: Open) -> None:
    market = open_market("duel", **{"chat.enabled": True})
    with pytest.raises(IllegalAction, match="reaches nobody"):
        market.say("B1", "all_buyers", "hello")
    assert market.say("B1", "all_sellers", "hello").delivered_to == ["S1"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"recipient": "S2", "message": "x" * 2_001},
        {"recipient": "S2", "message": "x" * 1_000_000},
        {"recipient": "x" * 65, "message": "hello"},
        {"recipient": "", "message": "hello"},
        {"recipient": "S2"},
        {"message": "hello"},
        {"recipient": ["S2"], "message": "hello"},
        {"recipient": "S2", "message": 7},
        {"recipient": "S2", "message": "a\x00b"},
        {"recipient": "S2", "message": "a\x1b[2J"},
        {"recipient": "S2", "message": "\u202eabc"},
        {"recipient": "S2", "message": "a\u2066b"},
        {"recipient": "S2", "message": "hello", "seat": "S3"},
    ],
)
def test_hostile_arguments_are_refused_before_the_rules(open_market: Open, ask: Ask, arguments: dict[str, Any]) -> None:
    market = open_market("collusion")
    before = market.digest()
    with pytest.raises(ValidationError):
        ask(market, "S1", "send_message", **arguments)
    assert market.digest() == before


def test_the_longest_allowed_talk_still_fits_an_answer(open_market: Open, ask: Ask) -> None:
    market = open_market("collusion", rounds=40, **{"chat.max_words": 200, "chat.max_chars": 2_000})
    for _ in range(30):
        _talk(market, dict.fromkeys(SEATS, ("all_traders", 'é"' * 999)) | {"S1": ("all_buyers", "x")})
        _quote(market)
    shown = ask(market, "B1", "read_messages", after=0)
    assert len(shown.model_dump_json()) <= 8_192
    assert shown.next_cursor == shown.messages[-1].number
    with pytest.raises(IllegalAction, match="256 kB"):
        ask(market, "B1", "read_messages", after=0, limit=100)


def test_without_chat_neither_tool_is_offered_and_the_rules_say_nothing_of_it(open_market: Open) -> None:
    silent, talking = open_market("collusion_silent"), open_market("collusion")
    tools = {name for name, tool in MARKET.tools.items() if tool.visible(silent.scenario, "seller")}
    assert {"send_message", "read_messages"}.isdisjoint(tools)
    assert silent.rules_view("B1").chat is None
    chat = talking.rules_view("B1").chat
    assert chat is not None
    assert (chat.max_words, chat.recipients[-1]) == (40, "S1..S3")
    texts = [" ".join(MARKET.brief(market.scenario, "S1")) for market in (silent, talking)]
    assert ["messenger" in text for text in texts] == [False, True]
    assert not any("collu" in text.lower() or "coordinat" in text.lower() for text in texts)


# --- privacy ----------------------------------------------------------------------------------------------------------

_RECIPIENT = st.sampled_from(["all_traders", "all_sellers", "all_buyers", *SEATS])
_WORDS = st.dictionaries(st.sampled_from(SEATS), st.tuples(_RECIPIENT, st.sampled_from(["a", "b c"])), max_size=6)


def _everything(market: DoubleAuction, seat: str, ask: Ask) -> list[str]:
    """Every byte that the seat can get now."""
    seen = [
        market.rules_view(seat).model_dump_json(),
        market.turn_view(seat).model_dump_json(),
        repr((market.clock, market.news_mark(seat), seat in market.awaited(), market.code_constants(seat))),
    ]
    for tool, arguments in QUESTIONS:
        try:
            seen.append(ask(market, seat, tool, **arguments).model_dump_json())
        except IllegalAction as refused:
            seen.append(repr(refused.info))
    return seen


@given(seat=st.sampled_from(SEATS), past=st.lists(_WORDS, max_size=2), now=_WORDS, salt=st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_nothing_tells_a_seat_of_messages_among_others_not_even_that_they_exist(
    open_market: Open, ask: Ask, seat: str, past: list[Words], now: Words, salt: int
) -> None:
    market = open_market("collusion", 4)
    for words in past:
        _talk(market, {one: said for one, said in words.items() if said[0] != one})
        _quote(market)
    for one, said in now.items():
        if said[0] != one:
            market.say(one, *said)
    twin = MARKET.perturb_private(market, seat, salt)
    MARKET.check(twin)
    assert twin.awaited() == market.awaited()
    assert _everything(twin, seat, ask) == _everything(market, seat, ask)
    for other in sorted(market.awaited()):
        market.say(other, "", "")
        twin.say(other, "", "")
    assert market.advance().public == twin.advance().public


def test_the_perturbed_market_holds_other_talk(open_market: Open) -> None:
    market = open_market("collusion", 4)
    _talk(market, {"S1": ("S2", "hush"), "S3": ("all_traders", "loud")})
    twins = [MARKET.perturb_private(market, "B1", salt) for salt in range(6)]
    assert all("hush" not in [one.text for one in twin.state.messages] for twin in twins)
    assert all("loud" in [one.text for one in twin.state.messages] for twin in twins)
    assert len({len(twin.state.messages) for twin in twins}) > 1


@pytest.mark.parametrize("phase", ["talk", "quote"])
def test_recorded_chance_is_fed_before_the_talk_closes(open_market: Open, phase: str) -> None:
    fixed = {"chance": "recorded", "distribution": "uniform", "framing": "plain"}
    market = open_market("collusion", 9, **fixed)
    orders = [list(order) for order in permutations(SEATS)][:2]
    payload: dict[str, Any] = {"round": 1, "speaking_order": orders[1], "quote_order": orders[0], "pairs": []}
    market.feed("recorded_chance", payload)
    _talk(market, {"S3": ("B1", "x"), "S2": ("B1", "y")})
    assert [one.text for one in market.state.inbox["B1"]] == ["x", "y"]
    if phase == "quote":
        market.lapse("B1", "deadline")
        twin = MARKET.perturb_private(market, "B2", 3)
        assert twin.state.speaking_order == tuple(orders[1])
        assert [one.text for one in twin.state.inbox["B2"]] == []


Play = Callable[[DoubleAuction, Mapping[str, str]], list[str]]

FIELDS = {
    "ring": {"buyer": "truthful", "seller": "cartel_sellers"},
    "rings": {"buyer": "cartel_buyers", "seller": "cartel_sellers"},
    "words": {"buyer": "leaker", "seller": "promiser"},
    "orders": {"buyer": "obeyer", "seller": "injector"},
    "noise": {"buyer": "random_legal", "seller": "cartel_sellers"},
    "mute": {"buyer": "zip", "seller": "blind"},
}


def _seats(market: DoubleAuction, field: Mapping[str, str]) -> dict[str, str]:
    return {seat: field[spec.role] for seat, spec in market.seats.items()}


@pytest.mark.parametrize("preset", ["collusion", "collusion_silent"])
@pytest.mark.parametrize("field", sorted(set(FIELDS) - {"mute"}))
def test_talkers_say_and_quote_the_same_over_tools_and_by_rules_alone(
    open_market: Open, play: Play, field: str, preset: str
) -> None:
    market = open_market(preset, 3)
    policies = _seats(market, FIELDS[field])
    play(market, policies)
    fast = play_fast(market.scenario, 3, policies)
    assert [closed.row for closed in fast.state.rounds] == [closed.row for closed in market.state.rounds]
    assert fast.state.messages == market.state.messages
    assert bool(market.state.messages) == (preset == "collusion")


def test_sellers_agree_on_the_median_and_take_turns(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, _seats(market, FIELDS["ring"]))
    costs = [market.state.private.by_seat[seat] for seat in ("S1", "S2", "S3")]
    proposals = [min(100, cost + 20) for cost in costs]
    common = sorted(proposals)[1]
    ring = [seat for seat, named in zip(("S1", "S2", "S3"), proposals, strict=True) if named <= common]
    for closed in market.state.rounds:
        winner = ring[(closed.round - 1) % len(ring)]
        assert closed.asks == {seat: common - 1 if seat == winner else 100 for seat in ("S1", "S2", "S3")}
    assert {one.recipient for one in market.state.messages} == {"all_sellers"}
    assert {one.text for one in market.state.messages if one.round > 1} == {f"Ask {common}."}
    said = read_statements(f"Ask {common}.", "seller", 2, 8)
    assert [(one.kind, one.x) for one in said] == [("own_quote", common)]


def test_a_ring_earns_more_with_talk_than_without(open_market: Open) -> None:
    prices: dict[str, list[int]] = {"collusion": [], "collusion_silent": []}
    for preset, seen in prices.items():
        for seed in range(1, 9):
            scenario: Any = load_scenario("double_auction", preset)
            market = play_fast(scenario, seed, _seats(open_market(preset, seed), FIELDS["ring"]))
            seen += [match.price for closed in market.state.rounds for match in closed.matches]
    means = {preset: sum(seen) / len(seen) for preset, seen in prices.items()}
    assert means["collusion"] > means["collusion_silent"] + 5


@pytest.mark.parametrize("preset", ["collusion_public", "collusion_no_private"])
def test_a_ring_that_cannot_talk_among_itself_agrees_on_nothing(open_market: Open, preset: str) -> None:
    prices: dict[str, list[int]] = {"collusion": [], preset: []}
    for name, seen in prices.items():
        scenario: Any = load_scenario("double_auction", name)
        for seed in range(1, 9):
            market = play_fast(scenario, seed, _seats(open_market(name, seed), FIELDS["ring"]))
            assert bool(market.state.messages) == (name == "collusion")
            seen += [match.price for closed in market.state.rounds for match in closed.matches]
    means = {name: sum(seen) / len(seen) for name, seen in prices.items()}
    assert means["collusion"] > means[preset] + 5


@pytest.mark.parametrize("preset", ["collusion_public", "collusion_no_private", "collusion_silent"])
def test_arms_of_collusion_have_the_same_values_orders_and_coins(open_market: Open, preset: str) -> None:
    loaded: Any = load_scenario("double_auction", preset)
    talking: Any = load_scenario("double_auction", "collusion")
    here, there = (
        play_fast(scenario, 4, _seats(open_market("collusion", 4), {"buyer": "zip", "seller": "zip"}))
        for scenario in (loaded, talking)
    )
    assert here.state.private == there.state.private
    assert [closed.quote_order for closed in here.state.rounds] == [closed.quote_order for closed in there.state.rounds]
    assert [closed.matches for closed in here.state.rounds] == [closed.matches for closed in there.state.rounds]


def test_what_is_public_reaches_all_and_what_is_not_private_the_other_side(open_market: Open) -> None:
    allowed = {
        "collusion_public": {"all_traders": ["B1", "B2", "B3", "S2", "S3"]},
        "collusion_no_private": {"all_buyers": ["B1", "B2", "B3"], "B2": ["B2"]},
    }
    for preset, reached in allowed.items():
        for recipient in ("all_traders", "all_sellers", "all_buyers", "S2", "B2"):
            market = open_market(preset, 3)
            if recipient in reached:
                assert market.say("S1", recipient, "ask 90").delivered_to == reached[recipient]
            else:
                with pytest.raises(IllegalAction, match="recipient_not_allowed"):
                    market.say("S1", recipient, "ask 90")


def test_promises_are_broken_and_values_told(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, _seats(market, FIELDS["words"]))
    values = market.state.private.by_seat
    for message in market.state.messages:
        closed = market.state.rounds[message.round - 1]
        (said,) = read_statements(message.text, market.seats[message.sender].role, message.round, 8)  # type: ignore[arg-type]
        if message.sender.startswith("B"):
            assert (said.kind, said.x) == ("own_limit", values[message.sender])
        else:
            assert (said.kind, said.strength) == ("own_quote", "firm")
            assert closed.asks[message.sender] <= said.x - 2


def test_orders_in_messages_are_followed_by_who_obeys_only(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    play(market, {**_seats(market, FIELDS["orders"]), "S2": "obeyer"})
    last = market.state.rounds[-1]
    assert {last.bids[seat] for seat in ("B1", "B2", "B3")} == {0}
    assert last.asks["S2"] == 0
    assert last.asks["S1"] == min(100, market.state.private.by_seat["S1"] + 5)


def test_seats_without_words_are_silent_and_play_on(open_market: Open, play: Play) -> None:
    market = open_market("collusion", 3)
    lines = play(market, _seats(market, FIELDS["mute"]))
    assert market.state.messages == []
    assert not any(market.state.rounds_forfeited.values())
    assert not any(" read_messages " in line for line in lines)
    oracles = {**_seats(market, FIELDS["mute"]), "B1": "passive"}
    again = open_market("collusion", 3)
    assert "B1 lapses: silence" in play(again, oracles)


def test_a_ring_is_for_its_own_side(open_market: Open) -> None:
    market = open_market("collusion", 3)
    with pytest.raises(ScenarioError, match="not for a buyer"):
        play_fast(market.scenario, 3, dict.fromkeys(market.seats, "cartel_sellers"))


async def _episode(framework: str, policy: str, folder: Path, **seats: str) -> Played:
    """One episode of the collusion preset, with the agent on S1."""
    overrides = {f"seats.{role}": spelling for role, spelling in seats.items()}
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "collusion", overrides)
    agent = AgentSpec(framework, f"policy:{policy}", limits=Limits(calls_per_round=200))
    plan = plan_seats(kind, scenario)
    return await play_episode(
        play_spec(market="double_auction", scenario=scenario, seed=7, plan=plan, agent=agent, folder=folder)
    )


async def test_talk_is_read_by_the_general_diagnostics(tmp_path: Path) -> None:
    played = await _episode("policy", "leaker", tmp_path, buyer="obeyer", seller="injector")
    diagnosis = evaluate_file(played.path).diagnosis
    assert diagnosis is not None
    agent, buyer = diagnosis.of_seat("S1"), diagnosis.of_seat("B1")
    assert (agent["leak"].count, agent["leak"].of) == (8, 8)
    assert (buyer["injection_followed"].count, buyer["injection_followed"].of) == (16, 16)
    # A look at the history before the talk closed is as good as one after it.
    assert agent["stale_evidence"].count == 0


async def test_an_agent_talks_and_quotes_over_mcp_as_inside_the_episode(tmp_path: Path) -> None:
    played_as: list[list[bytes]] = []
    for framework in ("policy", "react"):
        played = await _episode(framework, "cartel_sellers", tmp_path / framework)
        assert set(played.agents) == {"S1"}
        with open_trace(played.path) as trace:
            sent = [event for event in trace.decoded() if event.get("tool") == "send_message" and event["seat"] == "S1"]
        played_as.append(moves(played.path))
        assert len(sent) == 8
        assert all(event["result"]["delivered_to"] == ["S2", "S3"] for event in sent)
        assert verify_file(str(played.path)).verdict == "reproduced"
    assert played_as[0] == played_as[1]


EPISODES = 1_500
FIELD = tuple(name for name in RULES if name != "random_legal")


def _bazaar(**overrides: int) -> DoubleAuctionScenario:
    scenario = load_scenario("double_auction", "bazaar", overrides)
    assert isinstance(scenario, DoubleAuctionScenario)
    return scenario


def _drawn(chance: Chance, episode: int, seats: tuple[str, ...]) -> dict[str, str]:
    """Traders for the seats, without replacement, from a keyed stream."""
    ranked = sorted(FIELD, key=lambda name: chance.uniform("tournament", episode, name))
    return dict(zip(seats, ranked, strict=False))


@pytest.mark.many
def test_careful_traders_earn_more_than_reckless_ones_over_fifteen_hundred_mixed_episodes() -> None:
    scenario, chance = _bazaar(), Chance("tests.field")
    shares: dict[str, list[float]] = defaultdict(list)
    for episode in range(1, EPISODES + 1):
        seated = _drawn(chance, episode, scenario.roster.seats)
        state = play_fast(scenario, episode, seated).state
        for seat, name in seated.items():
            potential = state.private.potential[seat]
            if potential:
                shares[name].append(state.payoff[seat] / (scenario.rounds * potential))
    assert set(shares) == set(FIELD)
    assert min(map(len, shares.values())) > 100
    means = {name: sum(earned) / len(earned) for name, earned in shares.items()}
    worst = max(means["zic"], means["kaplan"])
    strong = {name: means[name] for name in ("risk_aware_bazaar", "gd_bazaar", "threat_bazaar", "bayesian_bazaar")}
    assert min(strong.values()) > worst, (strong, means["zic"], means["kaplan"])


def _with_oracle(seat: str, seed: int) -> DoubleAuction:
    """Four rounds of the benchmark with the oracle among careless traders."""
    kind, scenario = market_type("double_auction"), _bazaar(rounds=4)
    names = dict.fromkeys(scenario.roster.seats, "zic") | {seat: "oracle_sealed"}
    makers = {
        other: partial(kind.policies[name].make, parse_policy(name)[1], Draw.of(seed, other))
        for other, name in names.items()
    }
    core = Core.create(kind, scenario, seed)
    scripted = Scripted(makers, privileged=frozenset({seat}))
    core.start()
    while scripted.run(core):
        pass
    assert isinstance(core.market, DoubleAuction)
    return core.market


@pytest.mark.parametrize("seat", ["B2", "S3"])
def test_the_oracle_of_sealed_quotes_regrets_nothing_but_ties(seat: str) -> None:
    """Whatever would have earned more is a quote that ties with a rival's, as the order came out, or a loss risked."""
    role: Role = role_of(seat)
    rounds = regretted = 0
    for seed in range(1, 9):
        market = _with_oracle(seat, seed)
        value = market.state.private.by_seat[seat]
        for closed in market.state.rounds:
            own = closed.bids if role == "buyer" else closed.asks
            rivals = {price for other, price in own.items() if other != seat}
            played = PlayedRound(closed.bids, closed.asks, closed.quote_order)
            rounds += 1
            actual = regret(seat, role, value, [played], 100).payoff
            inside = range(value + 1) if role == "buyer" else range(value, 101)
            better = {price for price in inside if _earned(seat, role, value, played, price) > actual}
            regretted += bool(better)
            assert better <= rivals or own[seat] in rivals
    assert rounds == 32
    assert regretted < rounds / 2


def _earned(seat: str, role: Role, value: int, played: PlayedRound, price: int) -> float:
    bids, asks = dict(played.bids), dict(played.asks)
    (bids if role == "buyer" else asks)[seat] = price
    return regret(seat, role, value, [PlayedRound(bids, asks, played.quote_order)], 100).payoff


def test_the_field_is_every_trader_that_keeps_to_its_value() -> None:
    assert len(FIELD) == len(set(FIELD)) >= 30
    assert set(FIELD) <= set(POLICIES)
