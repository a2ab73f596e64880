"""The talk phase: sealed until it closes, delivered to the addressees, known to nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tradefair.catalog import load_scenario
from tradefair.contract import ErrorInfo, HarnessFailure, IllegalAction
from tradefair.contract.kernel.core import Core
from tradefair.double_auction import MARKET
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.rules import DoubleAuction

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
