"""Bad bids, prices and slogans in the supply chain: one script, the same codes in process, over HTTP and on pipes.

Then four clients in processes of their own, and seats whose client dies or never comes.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.host.serving.by_hand import started
from tests.host.serving.doors import Clients, Step, happened, over_pipes, walk, walk_alike
from tests.options_files import options_file
from tests.waiting import LONG, LONGER, SOON

from tradefair.evaluation.markets.supply_chain.evaluator import EVALUATOR
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

FOUR = A, B, C, D = "retailer_01", "retailer_02", "retailer_03", "retailer_04"
LIMITS = [{"counts": ["read", "analysis", "action"], "max": 500, "per": "phase", "then": "lapse"}]

NO_NUMBERS = [
    *(b"true", b"false", b'"3"', b"null", b"[3]", b'{"quantity": 3}'),
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1", b"1" + b"0" * 30, b"-" + b"9" * 400),
]
NO_QUANTITIES = [*NO_NUMBERS, b"1.5", b"1000000001"]
NO_PRICES = [*NO_NUMBERS, b"0", b"-0.0", b"1000000001"]
# A schema allows them.
UNSAID_PRICES = [b"10.001", b"1e-300"]
NO_SLOGANS = [b'"%b"' % (b"x" * 1_001), b"true", b"7", b'["cheap"]', b'{"text": "cheap"}', b"NaN"]
UNSAID_SLOGANS = [
    b'"%b"' % (b"x" * 1_000_000),
    *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xed\xa0\x80"', b'"a\\u0000b"', b'"\\u001b[2J"', b'"\\u0085"'),
    *(b'"\\u202eabc"', b'"a\\u2066b"', b'"che\\u200bap"', b'"\\ufeffcheap"', b'"che\\u200dap"'),
]


def _bids(*lines: tuple[bytes, bytes, bytes]) -> bytes:
    rows = b", ".join(b'{"item": %b, "quantity": %b, "price": %b}' % line for line in lines)
    return b'{"bids": [%b]}' % rows


def _offer(price: bytes = b"12", *, item: bytes = b'"beans"', more: bytes = b"") -> bytes:
    return b'{"prices": [{"item": %b, "price": %b}]%b}' % (item, price, more)


BEANS = (b'"beans"', b"5", b"11")
BAD_BIDS = [
    *((_bids((b'"beans"', units, b"11")), "invalid_arguments") for units in NO_QUANTITIES),
    *((_bids((b'"beans"', b"5", price)), "invalid_arguments") for price in NO_PRICES),
    *((_bids((b'"beans"', b"5", price)), "bad_value") for price in UNSAID_PRICES),
    (_bids(BEANS, BEANS), "bad_value"),
    (_bids(*[BEANS] * 21), "invalid_arguments"),
    (b'{"bids": null}', "invalid_arguments"),
    (b"{}", "invalid_arguments"),
    (b'{"bids": [], "seat": "retailer_02"}', "invalid_arguments"),
    (_bids((b'"\\ud800"', b"5", b"11")), "bad_value"),
    (_bids((b'"%b"' % (b"x" * 41), b"5", b"11")), "invalid_arguments"),
    (_bids(BEANS, (b'"pony"', b"5", b"11")), "unknown_id"),
    (_bids((b'"Beans"', b"5", b"11")), "unknown_id"),
    (_bids((b'"beans"', b"31", b"11")), "quantity_out_of_range"),
    (_bids((b'"beans"', b"1000000000", b"11")), "quantity_out_of_range"),
    (_bids((b'"beans"', b"5", b"9")), "price_below_reserve"),
    (_bids((b'"beans"', b"5", b"10001")), "price_out_of_range"),
    (_bids((b'"beans"', b"5", b"1e9")), "price_out_of_range"),
    (_bids((b'"beans"', b"5", b"11.5")), "price_off_tick"),
    (_bids((b'"beans"', b"30", b"10000")), "insufficient_funds"),
    (_bids((b'"watch"', b"2", b"400"), (b'"lamp"', b"9", b"80")), "insufficient_funds"),
]
BAD_OFFERS = [
    *((_offer(price), "invalid_arguments") for price in NO_PRICES),
    *((_offer(more=b', "slogan": %b' % text), "invalid_arguments") for text in NO_SLOGANS),
    *((_offer(more=b', "slogan": %b' % text), "bad_value") for text in UNSAID_SLOGANS),
    *((_offer(price), "bad_value") for price in UNSAID_PRICES),
    (b'{"prices": [{"item": "beans", "price": 12}, {"item": "beans", "price": 12}]}', "bad_value"),
    (b'{"slogan": "cheap"}', "invalid_arguments"),
    (_offer(more=b', "slogan": "%b"' % (b"word " * 26)), "message_too_long"),
    (_offer(more=b', "slogan": "%b"' % (b"x" * 241)), "message_too_long"),
    (_offer(item=b'"pony"'), "unknown_id"),
    (_offer(b"10001"), "price_out_of_range"),
    (_offer(b"0.5"), "price_out_of_range"),
    (_offer(b"12.5"), "price_off_tick"),
]


def bad_bids(seat: str) -> Iterator[Step]:
    """What is refused while bids are due, and never read by the seat's books."""
    yield from (Step(seat, "submit_bids", arguments, code) for arguments, code in BAD_BIDS)
    yield Step(seat, "submit_offer", _offer(), "wrong_phase")
    yield Step(seat, "view_market_history", b"{}", "round_out_of_range")
    yield Step(seat, "check_bid_cost", _bids((b'"beans"', b"30", b"10000"), (b'"pony"', b"5", b"11")), "ok")


def bad_offers(seat: str) -> Iterator[Step]:
    """What is refused while an offer is due."""
    yield from (Step(seat, "submit_offer", arguments, code) for arguments, code in BAD_OFFERS)
    yield Step(seat, "submit_bids", _bids(), "wrong_phase")
    yield Step(seat, "score_slogan", b'{"slogan": "%b"}' % (b"word " * 26), "message_too_long")
    yield Step(seat, "compare_prices", _offer(item=b'"pony"'), "unknown_id")


UNHELD = (
    b'{"prices": [{"item": "beans", "price": 12}, {"item": "watch", "price": 500}], "slogan": " fair\\u2028 beans "}'
)


def script() -> Iterator[Step]:
    """A round of both seats with everything that is wrong, and one of silence."""
    yield from bad_bids(A)
    yield Step(A, "submit_bids", _bids(BEANS), "ok")
    yield Step(A, "submit_bids", _bids(BEANS), "already_acted")
    yield Step(A, "skip_phase", b"{}", "already_acted")
    yield Step(B, "submit_bids", _bids((b'"lamp"', b"0", b"80")), "ok")
    for seat in (A, B):
        yield Step(seat, "skip_phase", b"{}", "ok")
    yield from bad_offers(A)
    # What is not held may be posted.
    yield Step(A, "submit_offer", UNHELD, "ok")
    yield Step(A, "submit_offer", UNHELD, "already_acted")
    yield Step(B, "submit_offer", b'{"prices": []}', "ok")
    for _ in range(3):
        for seat in (A, B):
            yield Step(seat, "skip_phase", b"{}", "ok")
    yield Step(A, "submit_bids", _bids(), "episode_over")


async def test_bad_input_has_the_same_codes_in_process_and_over_http_and_changes_nothing(
    stage: Any, tmp_path: Path
) -> None:
    inside, hosted = [
        await stage.game("supply_chain", "duel", (A, B), tmp_path / name, overrides={"rounds": 2, "limits": LIMITS})
        for name in ("inside", "hosted")
    ]
    await walk_alike(stage, inside, hosted, (A, B), script())
    assert inside.core.ended == "terminated:final_round"
    closed = next(event["public"] for event in stage.events(inside.path) if event["event"] == "round_closed")
    assert (closed["rows"][0]["slogan"], closed["rows"][0]["prices"]) == ("fair beans", [12, None, None, 500])


async def test_bad_input_has_the_same_codes_on_the_pipes_of_a_server(stage: Any, tmp_path: Path) -> None:
    limits = 'limits=[{counts=["read", "analysis", "action"], max=500, per="phase", then="lapse"}]'
    told = ("serve", "supply_chain", "--scenario", "duel", "--seat", A, "--set", limits, "--set", "rounds=1")
    async with started(stage, *told, "--out", str(tmp_path)) as server:
        await server.hello()
        ask = over_pipes(server)
        await walk(bad_bids(A), ask)
        await walk([Step(A, "submit_bids", _bids(BEANS), "ok"), Step(A, "skip_phase", b"{}", "ok")], ask)
        # Bytes that are no UTF-8 are taken for a sign that says so (U+FFFD) before they are read.
        await walk((step for step in bad_offers(A) if b"\xed" not in step.arguments), ask)
        await walk([Step(A, "submit_offer", UNHELD, "ok"), Step(A, "skip_phase", b"{}", "episode_over")], ask)
        await server.leave()
    (trace,) = tmp_path.glob("*.trace")
    assert verify_file(trace).verdict == "reproduced"


# --- any order of arrival -----------------------------------------------------------------------------------------

ACTIONS = {
    "bidding_1": [
        _bids((b'"watch"', b"2", b"405"), (b'"beans"', b"10", b"12")),
        _bids((b'"watch"', b"2", b"405")),
        _bids((b'"watch"', b"1", b"405"), (b'"lamp"', b"4", b"82")),
        _bids((b'"beans"', b"25", b"12")),
    ],
    "bidding_2": [_bids((b'"watch"', b"1", b"410")), _bids((b'"watch"', b"2", b"406")), b"{}", b"{}"],
    "retail": [
        _offer(b"450", item=b'"watch"', more=b', "slogan": "exclusive and rare"'),
        _offer(b"450", item=b'"watch"', more=b', "slogan": "exclusive and rare"'),
        _offer(b"90", item=b'"lamp"', more=b', "slogan": "crafted to last"'),
        _offer(b"14"),
    ],
}
TOOLS = {"bidding_1": "submit_bids", "bidding_2": "submit_bids", "retail": "submit_offer"}


def _ordered(episode: Any, order: Sequence[int]) -> Iterator[Step]:
    """Two rounds of four seats that act in `order`."""
    for phase in [*TOOLS, *TOOLS]:
        assert episode.core.market.clock.phase == phase
        for place in order:
            arguments = ACTIONS[phase][place]
            yield Step(FOUR[place], TOOLS[phase] if arguments != b"{}" else "skip_phase", arguments, "ok")


async def test_submissions_may_arrive_in_any_order_over_any_transport(stage: Any, tmp_path: Path) -> None:
    wanted = {"rounds": 2, "seats": 4, "funds_factor": 6.0}
    found: list[Any] = []
    for order, over_http in (((0, 1, 2, 3), False), ((3, 2, 1, 0), False), ((2, 0, 3, 1), True), ((1, 3, 0, 2), True)):
        episode = await stage.game("supply_chain", "duel", FOUR, tmp_path / str(len(found)), overrides=wanted)
        found.append(await happened(stage, episode, FOUR, _ordered(episode, order), over_http=over_http))
    assert found == [found[0]] * 4
    acted, closed, _ = found[0]
    assert (len(acted), len(closed)) == (24, 7)


# --- clients of their own, and silence ----------------------------------------------------------------------------

# Bids a little above the reserve for its share, posts a quarter more; or stops for ever in a phase.
CLIENT = """
import asyncio, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, token, slogan, stops_in = sys.argv[1:]

async def main():
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            async def ask(tool, **arguments):
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content
                return answer.structured_content

            while not (turn := (await client.call_tool("await_turn")).structured_content)["over"]:
                if not turn["awaited"]:
                    continue
                print(turn["phase"], flush=True)
                if turn["phase"] == stops_in:
                    await asyncio.sleep(600)
                offers = (await ask("list_supplier_offers"))["offers"]
                if turn["phase"] != "retail":
                    lines = [{"item": one["item"], "quantity": one["quantity"] // 4, "price": one["reserve"] + 1}
                             for one in offers]
                    await ask("submit_bids", bids=[line for line in lines if line["quantity"]])
                else:
                    prices = [{"item": one["item"], "price": one["reserve"] * 5 // 4} for one in offers]
                    await ask("submit_offer", prices=prices, slogan=slogan)

asyncio.run(main())
"""


async def test_four_client_processes_play_a_game_of_four_over_http(stage: Any, tmp_path: Path) -> None:
    slogans = {A: "Low prices and big savings.", B: "Fair trade, green makers.", C: "Exclusive and rare.", D: ""}
    told = ("host", "supply_chain", "--scenario", "duel", "--set", "seats=4", "--seats", ",".join(slogans))
    rest = ("--seed", "3", *options_file(tmp_path / "told", linger=LONG), "--json", "--out", str(tmp_path))
    async with started(stage, *told, *rest) as server:
        ready = await server.line()
        (episode,) = ready["episodes"]
        async with Clients(CLIENT) as clients:
            for seat in episode["seats"]:
                await clients.start(ready["url"], seat["token"], slogans[seat["seat"]], "")
            assert [await asyncio.wait_for(client.wait(), LONGER) for client in clients.processes] == [0] * 4
        server.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(server.process.wait(), LONG)
    assert verify_file(episode["trace"]).verdict == "reproduced"
    with open_trace(Path(episode["trace"])) as trace:
        outcome = EVALUATOR.outcomes(trace)
    assert (outcome.rounds_closed, outcome.findings) == (4, [])
    assert [own.lapses for own in outcome.seats.values()] == [{}] * 4
    assert all(own.units_won > 0 for own in outcome.seats.values())


async def test_a_seat_whose_client_dies_or_never_comes_lapses_and_the_episode_ends(stage: Any, tmp_path: Path) -> None:
    """A plays, B is killed where it might still post, C is never taken, D is scripted.

    On a busy machine clients may come too late for a phase: then they lapse in it as well.
    """
    told = ("host", "supply_chain", "--scenario", "duel", "--set", "seats=4", "--set", "rounds=1")
    given = options_file(tmp_path / "told", until_over=True, linger=SOON)
    timing = ("--set", f"timing.decision_deadline_s={100 * SOON}", *given, "--json")
    async with started(stage, *told, *timing, "--seats", f"{A},{B},{C}", "--out", str(tmp_path)) as server:
        ready = await server.line()
        (episode,) = ready["episodes"]
        tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}
        async with Clients(CLIENT) as clients:
            await clients.start(ready["url"], tokens[A], "cheap", "")
            dying = await clients.start(ready["url"], tokens[B], "cheap", "retail")
            assert dying.stdout is not None
            while await asyncio.wait_for(dying.stdout.readline(), LONG) not in (b"retail\n", b""):
                pass
            dying.kill()
            await asyncio.wait_for(server.process.wait(), LONG)
        assert server.process.returncode == 0
    events = stage.events(Path(episode["trace"]))
    assert events[-1]["reason"] == "terminated:final_round"
    lapses = {(event["seat"], event["phase"]): event for event in events if event["event"] == "seat_lapsed"}
    assert {event["reason"] for event in lapses.values()} == {"deadline"}
    assert {(B, "retail"), (C, "bidding_1"), (C, "bidding_2"), (C, "retail")} <= set(lapses)
    assert D not in {seat for seat, _ in lapses}
    defaults = {(phase, event["default_action"]) for (_, phase), event in lapses.items()}
    assert defaults <= {("bidding_1", "no_bids"), ("bidding_2", "previous_bids_stand"), ("retail", "offer_stands")}
    closed = next(event["public"] for event in events if event["event"] == "round_closed")
    assert [closed["rows"][place]["prices"] for place in (1, 2)] == [[None] * 4] * 2
    assert verify_file(episode["trace"]).verdict == "reproduced"
