"""What a finding cost: the episode replayed with the failure repaired, others reacting on the same luck."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

import tradefair.api as tf
from tradefair.catalog import market_type
from tradefair.cli import run as command
from tradefair.contract import Draw, ToolCall, TraceError, TurnView
from tradefair.contract.policy import Turns
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.findings_text import price_text
from tradefair.evaluation.modes.diagnosis import CaseRecord, Finding, Price
from tradefair.host.prefix import copied_records, write_prefix
from tradefair.runner.price import price, price_rounds, priced
from tradefair.runner.replays import NotPriced, Repair, Replays
from tradefair.tracestore import open_trace

SEED = 5
# Market, scenario, settings, the seat, policies of three kinds: a good one, a poor one, one that draws.
MARKETS: dict[str, tuple[str, dict[str, Any], str, tuple[str, str, str]]] = {
    "double_auction": ("bazaar", {"rounds": 10}, "B1", ("zip", "stubborn", "zic")),
    "bargaining": ("pact", {"rounds": 8}, "B1", ("linear_concession", "gifter", "random_within_value")),
    "retail": ("smoke", {}, "manager", ("careful_reader", "bare_shelf", "random_legal")),
    "supply_chain": ("duel", {}, "retailer_01", ("adaptive", "passive", "random_legal")),
    "marketplace": ("small_demo", {}, "customer_0001", ("item_searcher", "double_payer", "random_legal")),
    "pricing": ("duel", {"rounds": 12}, "F1", ("leader", "jumpy", "random_legal")),
    "order_book": ("smith", {"periods": 2, "sweeps": 4}, "B1", ("gd", "sleeper", "zi_c")),
}


def played(folder: Path, market: str, agent: Any, *, seed: int = SEED, **more: Any) -> Path:
    scenario, settings, seat, _ = MARKETS[market]
    given: dict[str, Any] = {"seat": seat, "settings": settings, **more}
    return tf.play(market, scenario=f"{market}/{scenario}", seed=seed, agent=agent, folder=folder, **given).path


def events(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return list(trace.decoded())


def acts(path: Path, seat: str, tool: str | None = None) -> list[dict[str, Any]]:
    """The seat's accepted actions."""
    own = (event for event in events(path) if event["event"] == "tool_called" and event["seat"] == seat)
    return [
        event for event in own if event["kind"] == "action" and not event["error"] and tool in (None, event["tool"])
    ]


def metric(path: Path, market: str) -> float:
    name = evaluator_of(market).primary_metrics[0].name
    return getattr(tf.load(path)[0].outcome.seats[MARKETS[market][2]], name)


def wrapped(market: str, name: str, alter: Callable[[TurnView, ToolCall], list[ToolCall]]) -> type:
    """A bundled policy behind a man in the middle, as an agent from outside: `alter` says what becomes of a call."""
    kind, seat = market_type(market), MARKETS[market][2]

    class Wrapped:
        def __init__(self) -> None:
            self.inner = kind.policies[name].make({}, Draw.of(SEED, seat, 0))

        def turn(self, now: TurnView) -> Turns:
            turns = self.inner.turn(now)
            wanted = next(turns, None)
            while wanted is not None:
                answer = None
                for call in alter(now, wanted):
                    answer = yield call
                if answer is None:
                    return
                try:
                    wanted = turns.send(answer)
                except StopIteration:
                    return

    return Wrapped


def finding(name: str, seat: str, *seqs: int, shown_by: int | None = None) -> Finding:
    cases = [CaseRecord(seq=seq, round=1, because="round 1: made for a test", shown_by=shown_by) for seq in seqs]
    counted: dict[str, Any] = {"count": len(cases), "of": 9.0, "amount": float(len(cases)), "share": len(cases) / 9}
    return Finding(id=name, seats=[seat], status="raised", says="", counts="", threshold="", cases=cases, **counted)


@pytest.mark.parametrize("market", MARKETS)
def test_an_unchanged_tape_gives_the_original_figure_to_the_last_digit(market: str, tmp_path: Path) -> None:
    seat, policies = MARKETS[market][2:]
    # As a scripted policy in the agent's place, and as code from outside that the replay can only know by its tape.
    agents = [*(f"policy:{policy}" for policy in policies), wrapped(market, policies[0], lambda now, call: [call])]
    for seed, agent in enumerate(agents, SEED):
        replays = Replays(played(tmp_path, market, agent, seed=seed))
        replays.control(seat)
        assert replays.price(seat, Repair(amend={0: None}), None) == 0.0


@pytest.mark.parametrize("market", MARKETS)
def test_a_reference_costs_nothing_against_itself(market: str, tmp_path: Path) -> None:
    seat, (policy, _, random) = MARKETS[market][2:]
    for name in (policy, random):
        path = played(tmp_path, market, f"policy:{name}")
        first = acts(path, seat)[0]
        assert price_rounds(path, seat, onwards_from=first["seq"], player=name) == 0.0
        assert price_rounds(path, seat, rounds={first["round"], first["round"] + 2}, player=name) == 0.0
        assert Replays(path).whole(seat, name) == metric(path, market)


@pytest.mark.parametrize("market", MARKETS)
def test_a_failure_from_some_turn_on_costs_what_the_unflawed_twin_earns_more(market: str, tmp_path: Path) -> None:
    seat, (policy, *_) = MARKETS[market][2:]
    twin = played(tmp_path, market, f"policy:{policy}")
    turns = sorted({event["round"] for event in acts(twin, seat)})
    onset = turns[len(turns) // 2]

    def silent(now: TurnView, call: ToolCall) -> list[ToolCall]:
        acting = market_type(market).tools.get(call.tool)
        return [] if now.round >= onset and acting is not None and not acting.read_only else [call]

    path = played(tmp_path, market, wrapped(market, policy, silent))
    lapse = next(event for event in events(path) if event["event"] == "seat_lapsed" and event["seat"] == seat)
    assert price_rounds(path, seat, onwards_from=lapse["seq"], player=policy) == pytest.approx(
        metric(twin, market) - metric(path, market), abs=1e-6
    )
    # What went before is the policy's own play: it is the nearest without being named.
    assert Replays(path).nearest(seat, Repair(onwards_from=lapse["seq"])) == policy


def test_a_call_that_was_planted_prices_at_the_twins_difference(tmp_path: Path) -> None:
    def twice(now: TurnView, call: ToolCall) -> list[ToolCall]:
        return [call, call] if call.tool == "place_order" and now.round == 1 else [call]

    # It orders once and never looks again, so the doubled orders change nothing that it does later.
    twin = played(tmp_path, "retail", "policy:bare_shelf")
    path = played(tmp_path, "retail", wrapped("retail", "bare_shelf", twice))
    orders = [event["seq"] for event in acts(path, "manager", "place_order")]
    assert len(orders) == 2 * len(acts(twin, "manager", "place_order"))
    whole = price_rounds(path, "manager", amend=dict.fromkeys(orders[1::2]))
    assert whole == pytest.approx(metric(twin, "retail") - metric(path, "retail"), abs=1e-6)
    assert whole != 0.0
    assert price_rounds(path, "manager", amend=dict.fromkeys(orders[1:2])) != whole


def test_a_refused_call_is_made_where_it_stood_with_the_arguments_that_it_should_have_had(tmp_path: Path) -> None:
    def off_grid(now: TurnView, call: ToolCall) -> list[ToolCall]:
        return [ToolCall(call.tool, {"price": 1_000})] if call.tool == "submit_quote" and now.round == 4 else [call]

    twin = played(tmp_path, "double_auction", "policy:truthful")
    path = played(tmp_path, "double_auction", wrapped("double_auction", "truthful", off_grid))
    refused = next(event for event in events(path) if event["event"] == "tool_called" and event["error"])
    value = next(event for event in acts(twin, "B1") if event["round"] == 4)["arguments"]
    found = price_rounds(path, "B1", amend={refused["seq"]: value})
    assert found == metric(twin, "double_auction") - metric(path, "double_auction")


def test_only_cited_rounds_are_played_by_the_reference(tmp_path: Path) -> None:
    path = played(tmp_path, "double_auction", "policy:stubborn")
    replays = Replays(path)
    single = [replays.price("B1", Repair(frozenset({number})), "truthful") for number in range(1, 11)]
    assert replays.price("B1", Repair(frozenset(range(1, 11))), "truthful") == replays.whole(
        "B1", "truthful"
    ) - replays.original("B1")
    assert sum(amount > 0 for amount in single) >= 1
    assert replays.price("B1", Repair(frozenset({99})), "truthful") == 0.0


def price_in(call: ToolCall) -> int:
    price = call.arguments["price"]
    assert isinstance(price, int)
    return price


def slip(now: TurnView, call: ToolCall) -> list[ToolCall]:
    if call.tool != "set_price" or now.round != 3:
        return [call]
    return [ToolCall("set_price", {"price": price_in(call) // 10})]


def slip_and_grope(now: TurnView, call: ToolCall) -> list[ToolCall]:
    if call.tool != "set_price" or now.round <= 3:
        return slip(now, call)
    return [ToolCall("set_price", {"price": price_in(call) + 7})]


def third_price(path: Path) -> int:
    return next(event["seq"] for event in acts(path, "F1", "set_price") if event["round"] == 3)


def test_a_reference_that_plays_as_the_seat_does_elsewhere_plays_what_follows_too(tmp_path: Path) -> None:
    # Rivals answer a price that is lost, and the seat answers them: its tape tells nothing of the course without it.
    twin = played(tmp_path, "pricing", "policy:matcher", others="matcher")
    path = played(tmp_path, "pricing", wrapped("pricing", "matcher", slip), others="matcher")
    replays, slipped = Replays(path), third_price(path)
    found = priced(replays, finding("unit_mistake", "F1", slipped), "matcher")
    assert (found.against, found.note) == ("matcher", "which plays as the seat elsewhere, and so on from there")
    assert found.amount == metric(twin, "pricing") - metric(path, "pricing")
    assert found.amount != replays.price("F1", Repair(frozenset({3})), "matcher")


def test_a_seat_that_plays_like_no_reference_keeps_its_later_turns(tmp_path: Path) -> None:
    path = played(tmp_path, "pricing", wrapped("pricing", "matcher", slip_and_grope))
    replays, slipped = Replays(path), third_price(path)
    found = priced(replays, finding("pricing.contradicted_analysis", "F1", slipped))
    assert found.against is not None
    assert found.note is None
    assert found.amount == replays.price("F1", Repair(frozenset({3})), found.against)


def test_rounds_beyond_the_cited_cases_are_repaired_too(tmp_path: Path) -> None:
    path = played(tmp_path, "double_auction", "policy:stubborn")
    replays, quotes = Replays(path), [event["seq"] for event in acts(path, "B1")]
    cited = finding("double_auction.missed_profit", "B1", *quotes[:2])
    assert priced(replays, cited, "truthful").amount == replays.price("B1", Repair(frozenset({1, 2})), "truthful")
    found = priced(replays, cited.model_copy(update={"seqs": tuple(quotes)}), "truthful")
    assert found.amount == replays.whole("B1", "truthful") - replays.original("B1")


def test_from_the_first_event_on_every_phase_is_played_by_the_reference(tmp_path: Path) -> None:
    replays = Replays(played(tmp_path, "bargaining", "policy:gifter"))
    # It speaks before it quotes: the later phases of the first round are repaired too.
    first = next(event["seq"] for event in replays.events if event["seat"] == "B1")
    for name in ("truthful", "linear_concession", "boulware"):
        found = replays.price("B1", Repair(onwards_from=first), name)
        assert found == replays.whole("B1", name) - replays.original("B1")


def test_the_mode_of_a_finding_says_how_it_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = played(tmp_path, "double_auction", "policy:stubborn")
    replays, quotes = Replays(path), [event["seq"] for event in acts(path, "B1")]
    turns = priced(replays, finding("double_auction.missed_profit", "B1", *quotes), "truthful")
    assert (turns.repair, turns.against, turns.unit, turns.note) == ("turns", "truthful", "points", None)
    assert turns.amount == replays.whole("B1", "truthful") - replays.original("B1")
    onwards = priced(replays, finding("missing_evidence", "B1", quotes[4], quotes[2]), "truthful")
    assert onwards.amount == replays.price("B1", Repair(onwards_from=quotes[2]), "truthful")

    def lower(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
        assert facts is not None
        return {**arguments, "price": 0}

    closed = next(event["seq"] for event in events(path) if event["event"] == "round_closed")
    monkeypatch.setattr(type(evaluator_of("double_auction")), "repairs", {"unit_mistake": lower})
    amend = priced(replays, finding("unit_mistake", "B1", quotes[0], shown_by=closed))
    assert (amend.repair, amend.against) == ("amend", None)
    assert amend.amount == replays.price("B1", Repair(amend={quotes[0]: {"price": 0}}), None)
    monkeypatch.setattr(type(evaluator_of("double_auction")), "repairs", {})
    assert priced(replays, finding("unit_mistake", "B1", quotes[0])).reason == (
        "double_auction does not say how to amend such a call"
    )


def test_a_finding_without_a_price_says_why(tmp_path: Path) -> None:
    replays = Replays(played(tmp_path, "double_auction", "policy:stubborn"))
    leak = priced(replays, finding("leak", "B1", 9))
    assert leak.amount is None
    assert leak.reason == "what others would have done without the number is not known"
    assert priced(replays, finding("lapse", "B1")).reason == "it cites no event"
    assert priced(replays, finding("lapse", "B1", 10_000)).reason == "there is no event 10000"
    assert price_text(leak) == f"not priced: {leak.reason}"


def test_a_tape_that_does_not_reproduce_is_a_reason_and_no_price(tmp_path: Path) -> None:
    path = played(tmp_path, "double_auction", "policy:truthful", others="zic")
    forged = tmp_path / "forged.trace"
    with open_trace(path) as trace:
        first, *rest = copied_records(trace, 1_000_000)
        core = trace.manifest.core_bytes
    drawn = first._replace(body=first.body.replace(b'"policy_key":0', b'"policy_key":17'))
    asyncio.run(write_prefix(forged, core, {}, [drawn, *rest]))
    replays = Replays(forged)
    with pytest.raises(NotPriced, match=r"^the tape gives \d+, the trace \d+$"):
        replays.control("B1")
    found = priced(replays, finding("lapse", "B1", 9))
    assert found.amount is None
    assert str(found.reason).startswith("the tape gives ")


def test_all_competent_references_can_be_asked_and_a_negative_price_is_said_as_it_is(tmp_path: Path) -> None:
    path = played(tmp_path, "retail", "policy:careful_reader")
    first = acts(path, "manager")[0]["seq"]
    found = price(path, finding("lapse", "manager", first), against="all")
    names = Replays(path).competent("manager")
    assert set(found.spread) == set(names)
    assert found.spread["careful_reader"] == 0.0
    worse = price(path, finding("lapse", "manager", first), against="passive")
    assert worse.amount is not None
    assert worse.amount < 0
    text = price_text(worse)
    assert text is not None
    assert text.startswith("repaired it would have earned ")
    assert text.endswith(" currency units less (replayed, onwards as passive)")
    with pytest.raises(tf.ScenarioError, match="no policy 'nobody'"):
        price(path, finding("lapse", "manager", first), against="nobody")


def test_other_agents_stay_on_their_tapes_and_the_price_says_so(tmp_path: Path) -> None:
    class Echo:
        """Quotes what the other side quoted last: it would react, were it asked."""

        def turn(self, now: TurnView) -> Turns:
            seen = yield ToolCall("view_market_history")
            rows = seen.data.get("rounds", [])
            yield ToolCall("submit_quote", {"price": 50 + len(rows)})

    path = played(tmp_path, "bargaining", Echo, seat=("B1", "S1"))
    replays = Replays(path)
    assert replays.frozen == ["B1", "S1"]
    first = acts(path, "B1")[0]["seq"]
    assert priced(replays, finding("lapse", "B1", first), "truthful").note == "other agents frozen"


@pytest.mark.parametrize("broken", ["unfinished", "fork", "imported", "chain", "rules"])
def test_a_trace_that_cannot_be_replayed_says_why(
    broken: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = played(tmp_path, "double_auction", "policy:truthful")
    bad, until = tmp_path / "bad.trace", 60 if broken == "unfinished" else 1_000_000
    reasons = {
        "unfinished": "the episode is unfinished (it has no end)",
        "fork": "it is a fork: who played its seats changed in the middle",
        "imported": "it was imported: only episodes that tradefair has played can be replayed",
        "chain": "has changed or is missing",
        "rules": "the trace was written by double_auction",
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
        bad.write_bytes(bad.read_bytes().replace(b'"price":', b'"prise":', 1))
    with pytest.raises(TraceError, match=re.escape(reasons[broken])) as refused:
        Replays(bad)
    code = command(["evaluate", str(bad), "--price", "2", "--json"])
    shown = capsysbinary.readouterr()
    assert f"cannot be replayed: {refused.value}" in shown.err.decode()
    # A broken chain is a complaint of its own, with or without prices.
    assert code == (1 if broken == "chain" else 0)
    assert orjson.loads(shown.out)["traces"][0]["outcome"] is not None


@pytest.mark.parametrize("options", [["--price", "0"], ["--price", "21"], ["--price", "x"], ["--against", "all"]])
def test_a_wrong_number_of_findings_is_an_error_of_usage(options: list[str], tmp_path: Path) -> None:
    assert command(["evaluate", str(tmp_path), *options]) == 2


def test_the_command_prices_the_first_findings_ranks_them_again_and_closes_the_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played(tmp_path, "retail", "policy:bare_shelf")
    assert command(["evaluate", str(path), "--price", "2", "--json"]) == 0
    found = [Finding.model_validate(item) for item in _findings(capsys.readouterr().out)]
    assert command(["evaluate", str(path), "--json"]) == 0
    before = [Finding.model_validate(item) for item in _findings(capsys.readouterr().out)]
    priced_ones = [item for item in found if item.price is not None]
    first = sorted((item for item in before if item.raised), key=lambda item: item.rank or 99)[:2]
    assert {item.id for item in priced_ones} == {item.id for item in first}
    assert [item.id for item in before] == [item.id for item in found if item.id != "unexplained_loss"]
    raised = sorted((item for item in found if item.raised), key=lambda item: item.rank or 99)
    assert [item.rank for item in raised] == list(range(1, len(raised) + 1))
    assert next(item for item in found if item.id == "unexplained_loss").seats == ["manager"]
    monkeypatch.setenv("COLUMNS", "200")
    assert command(["evaluate", str(path), "--price", "2", "--all"]) == 0
    shown = capsys.readouterr().out
    # Each with its finding, and the costliest in the verdict.
    assert shown.count("(replayed, ") == 1 + sum(item.price.amount is not None for item in priced_ones if item.price)
    assert "regret" in shown


def test_prices_are_read_back_as_they_were_written() -> None:
    whole = Price(
        amount=-2.5, unit="points", repair="turns", against="zip", note="other agents frozen", spread={"gd": 1.0}
    )
    assert Price.model_validate_json(whole.model_dump_json()) == whole


def _findings(printed: str) -> list[dict[str, Any]]:
    return orjson.loads(printed)["traces"][0]["diagnosis"]["findings"]
