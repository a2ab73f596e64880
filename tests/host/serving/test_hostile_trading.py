"""Bad words, recipients and prices in both trading markets: one script, the same codes through every door.

Straight into the episode, as bytes over HTTP, and on the pipes of a server process. Then seats that fall silent: the
real process of a client dies or never comes, and the episode still ends as the rules say.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.host.serving.by_hand import started
from tests.host.serving.doors import Clients, Step, code_of, over_pipes, seats_over_http, walk

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.verify import verify_file
from tradefair.host.hosting import BODY_LIMIT, Host
from tradefair.host.setup import new_episode, plan_seats


def _text(length: int, unit: str = "x") -> bytes:
    return orjson.dumps((unit * length)[:length])


# Texts that no market takes, as JSON. The last ones are no text at all.
BAD_TEXTS = [_text(8_001), b"true", b"7", b'["hold 70"]', b'{"text": "hold 70"}', b"NaN"]
# A schema allows them, or cannot say that they are too much.
UNSAID_TEXTS = [
    *(_text(70_000), _text(1_000_000), _text(300_000, "é")),
    *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xed\xa0\x80"', b'"a\\u0000b"', b'"\\u001b[2J"'),
    *(b'"\\u202eabc"', b'"a\\u2066b"'),
]  # fmt: skip
BAD_PRICES = [
    *(b"true", b"false", b"50.5", b"1e300", b"NaN", b"Infinity", b"-Infinity", b"1e400", b"null"),
    *(b'"50"', b'" 50 "', b'"NaN"', b"[50]", b'{"price": 50}', b"-1", b"1" + b"0" * 30, b"-" + b"9" * 400),
]  # fmt: skip
BAD_ROUNDS = [b'"1"', b"true", b"1.5", b"0", b"-1", b"1" + b"0" * 30]


@dataclass(frozen=True)
class Game:
    """A market, the seats that are played from outside, and its own spellings and codes."""

    market: str
    preset: str
    seats: tuple[str, str]
    overrides: dict[str, Any]
    message: str
    recipient: bytes
    wordy: bytes
    long: bytes
    talks: Sequence[tuple[bytes, str]]
    prices: Sequence[tuple[bytes, str]]

    def say(self, text: bytes, *, more: bytes = b"") -> bytes:
        """The arguments of a message."""
        return b'{%b"%b": %b%b}' % (self.recipient, self.message.encode(), text, more)

    def bad_talk(self, seat: str) -> Iterator[Step]:
        """What is refused while the seat is to speak."""
        cases = [
            *((self.say(text), "invalid_arguments") for text in BAD_TEXTS),
            *((self.say(text), "bad_value") for text in UNSAID_TEXTS),
            *((self.say(b'"hold"', more=b', "round": ' + number), "invalid_arguments") for number in BAD_ROUNDS),
            (self.say(b'"hold"', more=b', "round": 2'), "stale_round"),
            (self.say(b'"hold"', more=b', "seat": "S3"'), "invalid_arguments"),
            (self.say(self.wordy), "message_too_long"),
            (self.say(self.long), "message_too_long"),
            *self.talks,
        ]
        yield from (Step(seat, "send_message", arguments, code) for arguments, code in cases)
        yield Step(seat, "submit_quote", b'{"price": 50}', "wrong_phase")

    def bad_quote(self, seat: str) -> Iterator[Step]:
        """What is refused while the seat is to quote."""
        cases = [
            *((b'{"price": %b}' % price, "invalid_arguments") for price in BAD_PRICES),
            *((b'{"price": 50, "round": %b}' % number, "invalid_arguments") for number in BAD_ROUNDS),
            *((b'{"price": %b}' % price, code) for price, code in self.prices),
            (b'{"price": 50, "round": 2}', "stale_round"),
            (b"{}", "invalid_arguments"),
        ]
        yield from (Step(seat, "submit_quote", arguments, code) for arguments, code in cases)

    def script(self) -> Iterator[Step]:
        """Two rounds of both seats with everything that is wrong in the first."""
        one, two = self.seats
        silence, words = self.say(b'""'), self.say(b'"hold 70"')
        # Clients whose numbers are doubles write it so.
        quote, double = b'{"price": 50}', b'{"price": 5e1, "round": 1.0}'
        yield from self.bad_talk(one)
        yield Step(one, "send_message", silence, "ok")
        yield Step(one, "send_message", words, "already_acted")
        yield Step(one, "submit_quote", quote, "wrong_phase")
        yield Step(two, "send_message", words, "ok")
        yield from self.bad_quote(one)
        yield Step(one, "submit_quote", double, "ok")
        yield Step(one, "submit_quote", quote, "already_acted")
        yield Step(two, "submit_quote", quote, "ok")
        # Quotes are closed while the seats talk, whatever round they are for.
        yield Step(one, "submit_quote", b'{"price": 50, "round": 1}', "wrong_phase")
        for seat in self.seats:
            yield Step(seat, "send_message", silence, "ok")
        for seat in self.seats:
            yield Step(seat, "submit_quote", quote, "ok")
        yield Step(one, "submit_quote", quote, "episode_over")


_LIMIT = {"counts": ["read", "analysis", "action"], "max": 500, "per": "round", "then": "lapse"}
GAMES = {
    "bargaining": Game(
        market="bargaining",
        preset="smoke",
        seats=("B1", "S1"),
        # More calls than the limit of a round allows.
        overrides={"rounds": 2, "speaking_order": "buyer_first", "limits": [_LIMIT]},
        message="text",
        recipient=b"",
        wordy=_text(101 * 2, "a "),
        long=_text(2_001),
        talks=[(b'{"text": "hold", "recipient": "S1"}', "invalid_arguments")],
        prices=[(b"101", "invalid_arguments")],
    ),
    "double_auction": Game(
        market="double_auction",
        preset="collusion",
        seats=("S1", "S2"),
        overrides={"rounds": 2},
        message="message",
        recipient=b'"recipient": "all_sellers", ',
        wordy=_text(41 * 2, "a "),
        long=_text(401),
        talks=[
            (b'{"recipient": "S9", "message": "hold"}', "unknown_id"),
            (b'{"recipient": "all_sellers ", "message": "hold"}', "unknown_id"),
            (b'{"recipient": "\\u0405\\u0031", "message": "hold"}', "unknown_id"),
            (b'{"recipient": "S1", "message": "hold"}', "recipient_is_self"),
            (b'{"recipient": "\\ud800", "message": "hold"}', "bad_value"),
            (b'{"recipient": %b, "message": "hold"}' % _text(1_000), "invalid_arguments"),
            (b'{"recipient": ["S2"], "message": "hold"}', "invalid_arguments"),
            (b'{"message": "hold"}', "invalid_arguments"),
            (b'{"recipient": "S2", "message": null}', "invalid_arguments"),
        ],
        prices=[(b"101", "price_out_of_range"), (b"10001", "invalid_arguments")],
    ),
}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))

_SELLERS = ("S1", "S2", "S3")


async def _episode(stage: Any, game: Game, folder: Path) -> Any:
    kind, scenario = market_type(game.market), load_scenario(game.market, game.preset, game.overrides)
    plan = plan_seats(kind, scenario, agents=list(game.seats))
    made = await new_episode(kind, scenario, stage.seed, plan, folder, sandbox=stage.sandbox)
    stage.opened.append(made)
    return made


@each_game
async def test_bad_words_and_prices_have_the_same_codes_in_process_and_as_bytes_over_http(
    stage: Any, game: Game, tmp_path: Path
) -> None:
    inside, hosted = [await _episode(stage, game, tmp_path / name) for name in ("inside", "hosted")]

    async def call(step: Step) -> str:
        result = await inside.call(step.seat, step.tool, json.loads(step.arguments))
        return "ok" if result.error is None else result.error.code

    await walk(game.script(), call)
    host = Host(tmp_path / "hosted")
    host.add(hosted)
    async with stage.hosted(host) as server, seats_over_http(server.url, host, hosted.id, game.seats) as seats:

        async def post(step: Step) -> str:
            answer = await seats[step.seat].call(step.tool, step.arguments)
            assert answer.status_code == 200
            return code_of(answer.json()["result"])

        first = seats[game.seats[0]]
        for text, status in ((b'"\xc0\xaf"', 400), (b'"\xff\xfe"', 400), (b'"\\ud8"', 400), (_text(BODY_LIMIT), 413)):
            assert (await first.call("send_message", game.say(text))).status_code == status
        await walk(game.script(), post)
    assert hosted.core.ended == inside.core.ended == "terminated:rounds_completed"
    assert hosted.core.outcome_digest == inside.core.outcome_digest
    first_told, last_told = (
        [(event["event"], event.get("status")) for event in stage.events(episode.path)] for episode in (inside, hosted)
    )
    assert first_told == last_told
    assert [verify_file(episode.path).verdict for episode in (inside, hosted)] == ["reproduced"] * 2
    assert hosted.path.stat().st_size < 1_000_000


@pytest.mark.slow
@each_game
async def test_bad_words_and_prices_have_the_same_codes_on_the_pipes_of_a_server(
    stage: Any, game: Game, tmp_path: Path
) -> None:
    one = game.seats[0]
    # Limits as TOML: more calls than a round allows.
    limits = 'limits=[{counts=["read", "analysis", "action"], max=500, per="round", then="lapse"}]'
    order = ["--set", "speaking_order=buyer_first"] if game.market == "bargaining" else []
    told = ("serve", game.market, "--scenario", game.preset, "--seat", one, "--set", limits, *order)
    async with started(stage, *told, "--out", str(tmp_path)) as server:
        await server.hello()
        ask = over_pipes(server)
        # Bytes that are no UTF-8 are taken for a sign that says so (U+FFFD) before they are read.
        await walk((step for step in game.bad_talk(one) if b"\xed" not in step.arguments), ask)
        await walk(iter([Step(one, "send_message", game.say(b'""'), "ok")]), ask)
        await walk(game.bad_quote(one), ask)
        await walk(iter([Step(one, "submit_quote", b'{"price": 50}', "ok")]), ask)
        assert (await server.call("view_turn"))["round"] == 2
        await server.leave()
    (trace,) = tmp_path.glob("*.trace")
    assert verify_file(trace).verdict == "reproduced"


# --- silence ----------------------------------------------------------------------------------------------------------

# A client of its own: plays on its turns, or says one thing and then nothing more, for ever.
CLIENT = """
import asyncio, json, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, token, words, stays = sys.argv[1:]

async def main():
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            while not (turn := (await client.call_tool("await_turn")).structured_content)["over"]:
                if not turn["awaited"]:
                    continue
                if turn["phase"] != "quote":
                    await client.call_tool("send_message", json.loads(words))
                elif stays == "yes":
                    await client.call_tool("submit_quote", {"price": 50})
                print(turn["phase"], flush=True)
                if stays == "no":
                    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seats", "talk"), [("bargaining", ("B1", "S1"), "speak_first"), ("double_auction", _SELLERS, "talk")]
)
async def test_a_seat_whose_client_dies_or_never_comes_lapses_and_the_episode_ends(
    stage: Any, name: str, seats: tuple[str, ...], talk: str, tmp_path: Path
) -> None:
    """The first seat plays, the second is killed where it might still quote, a third is never taken.

    On a busy machine clients may come too late for a phase: then they lapse in it as well.
    """
    game = GAMES[name]
    order = ["--set", "speaking_order=seller_first"] if name == "bargaining" else []
    told = ("--set", "rounds=1", "--set", "timing.decision_deadline_s=5", "--until-over", "--linger", "0.5", *order)
    place = ("--seats", ",".join(seats), "--json", "--out", str(tmp_path))
    async with started(stage, "host", name, "--scenario", game.preset, *told, *place) as server:
        ready = await server.line()
        (episode,) = ready["episodes"]
        tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}
        words = game.say(b'"hold 70"').decode()
        async with Clients(CLIENT) as clients:
            await clients.start(ready["url"], tokens[seats[0]], words, "yes")
            dying = await clients.start(ready["url"], tokens[seats[1]], words, "no")
            assert dying.stdout is not None
            await asyncio.wait_for(dying.stdout.readline(), 60)
            dying.kill()
            await asyncio.wait_for(server.process.wait(), 60)
        assert server.process.returncode == 0
    events = stage.events(Path(episode["trace"]))
    assert events[-1]["reason"] == "terminated:rounds_completed"
    lapses = {(event["seat"], event["phase"]): event for event in events if event["event"] == "seat_lapsed"}
    assert {event["reason"] for event in lapses.values()} == {"deadline"}
    assert {(seats[1], "quote"), *((seat, phase) for seat in seats[2:] for phase in (talk, "quote"))} <= set(lapses)
    defaults = {phase: event["default_action"] for (_, phase), event in lapses.items()}
    assert set(defaults.items()) <= {("quote", "forfeit_round"), (talk, "silence"), ("speak_second", "silence")}
    closed = next(event["public"] for event in events if event["event"] == "round_closed")
    assert set(closed["forfeited"]) == {seat for seat, phase in lapses if phase == "quote"}
    assert verify_file(episode["trace"]).verdict == "reproduced"
