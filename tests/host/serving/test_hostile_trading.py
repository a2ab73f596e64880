"""Bad words, recipients, prices and orders in the markets of prices: one script, the same codes through every door.

Straight into the episode, as bytes over HTTP, and on the pipes of a server process. Then seats that fall silent: the
real process of a client dies or never comes, and the episode still ends as the rules say.

Also here:
- Bad arguments as bytes on the wire: what no client library would send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
import pytest
from tests.host.serving.by_hand import HEADERS, Seat, started
from tests.host.serving.doors import Clients, Step, over_pipes, seats_over_http, walk, walk_alike
from tests.options_files import options_file
from tests.waiting import LONG, SOON

from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import BODY_LIMIT, Host


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
    """A market and the seats that are played from outside."""

    market: str
    preset: str
    seats: tuple[str, ...]
    overrides: dict[str, Any]

    def script(self) -> Iterator[Step]:
        """All seats to the end of a short episode, with everything that is wrong."""
        raise NotImplementedError

    def alone(self) -> Iterator[Step]:
        """What the first seat is refused, and then its first turn."""
        raise NotImplementedError


@dataclass(frozen=True)
class Orders(Game):
    """A market in which seats act with one tool: good arguments, calls with the codes of their refusals."""

    tool: str
    good: bytes
    double: bytes
    wrong: Sequence[tuple[str, bytes, str]]
    turns: int

    def script(self) -> Iterator[Step]:
        """The last turn is followed by one too many."""
        yield from self._wrong()
        for number in range(self.turns):
            for seat in self.seats:
                yield Step(seat, self.tool, self.double if number == 0 else self.good, "ok")
                # Whoever is last closes the turn.
                if seat != self.seats[-1]:
                    yield Step(seat, self.tool, self.good, "already_acted")
        yield Step(self.seats[0], self.tool, self.good, "episode_over")

    def alone(self) -> Iterator[Step]:
        """Bytes that are no UTF-8 are left out."""
        yield from (step for step in self._wrong() if b"\xed" not in step.arguments)
        yield Step(self.seats[0], self.tool, self.good, "ok")

    def _wrong(self) -> Iterator[Step]:
        return (Step(self.seats[0], tool, arguments, code) for tool, arguments, code in self.wrong)


@dataclass(frozen=True)
class Talks(Game):
    """A market of talk and quotes, and its own spellings and codes."""

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

    def alone(self) -> Iterator[Step]:
        """Bytes that are no UTF-8 are taken for a sign that says so (U+FFFD) before they are read."""
        one = self.seats[0]
        yield from (step for step in self.bad_talk(one) if b"\xed" not in step.arguments)
        yield Step(one, "send_message", self.say(b'""'), "ok")
        yield from self.bad_quote(one)
        yield Step(one, "submit_quote", b'{"price": 50}', "ok")


def _wrong_values(tool: str, good: bytes, values: Sequence[bytes]) -> list[tuple[str, bytes, str]]:
    """Calls of a tool that are good but for the value that stands for ?."""
    return [(tool, good.replace(b"?", value), "invalid_arguments") for value in values]


_LIMIT = {"counts": ["read", "analysis", "action"], "max": 500, "per": "round", "then": "lapse"}
GAMES: dict[str, Game] = {
    "bargaining": Talks(
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
    "double_auction": Talks(
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
    "pricing": Orders(
        market="pricing",
        preset="textbook",
        seats=("F1", "F2"),
        overrides={"rounds": 2, "limits": [_LIMIT]},
        tool="set_price",
        good=b'{"price": 1500}',
        double=b'{"price": 1.5e3, "round": 1.0}',
        wrong=[
            *_wrong_values("set_price", b'{"price": ?}', BAD_PRICES),
            *_wrong_values("set_price", b'{"price": 1500, "round": ?}', BAD_ROUNDS),
            ("set_price", b'{"price": 4001}', "price_above_max"),
            ("set_price", b'{"price": 1000001}', "invalid_arguments"),
            ("set_price", b'{"price": 1500, "round": 2}', "stale_round"),
            ("set_price", b'{"price": 1500, "seat": "F2"}', "invalid_arguments"),
            ("set_price", b"{}", "invalid_arguments"),
            ("estimate_demand", b"{}", "no_history"),
            ("summarize_rivals", b"{}", "no_history"),
            ("profit_if", b'{"prices": [1500]}', "no_history"),
            ("profit_if", b'{"prices": [1500], "rivals": []}', "wrong_rivals"),
            ("profit_if", b'{"prices": [1500], "rivals": [1500, 1500]}', "wrong_rivals"),
            ("profit_if", b'{"prices": [4001], "rivals": [1500]}', "price_above_max"),
            ("profit_if", b'{"prices": [1500, 1500]}', "bad_value"),
            *_wrong_values("profit_if", b'{"prices": ?}', [b"[]", b"[true]", b"[-1]", b"1500", b"[1.5]", b"[[1]]"]),
            *_wrong_values("view_prices", b'{"last": ?}', [b"0", b"501", b"1.5", b'"9"']),
            *_wrong_values("view_my_sales", b'{"cursor": ?}', [b"0", b"10001", b"true"]),
        ],
        turns=2,
    ),
    # Seats at a book act one after another: one is played from outside.
    "order_book": Orders(
        market="order_book",
        preset="smoke",
        seats=("B1",),
        overrides={"sweeps": 2, "limits": [_LIMIT]},
        tool="submit_order",
        good=b'{"side": "buy", "price": 20}',
        double=b'{"side": "buy", "price": 2e1, "quantity": 1.0}',
        wrong=[
            *_wrong_values("submit_order", b'{"side": "buy", "price": ?}', [*BAD_PRICES, b"0"]),
            *_wrong_values("submit_order", b'{"side": "buy", "price": 20, "quantity": ?}', [b"0", b"1001", b"true"]),
            *_wrong_values("submit_order", b'{"side": "buy", "price": 20, "period": ?}', BAD_ROUNDS),
            *_wrong_values("submit_order", b'{"side": ?, "price": 20}', [b'"up"', b'"BUY"', b"1", b"null", b'["buy"]']),
            *_wrong_values("submit_order", b'{"side": "buy", "price": 20, "rest": ?}', [b'"no"', b"0", b"1.0"]),
            ("submit_order", b'{"side": "buy", "price": 20, "seat": "B2"}', "invalid_arguments"),
            ("submit_order", b'{"price": 20}', "invalid_arguments"),
            ("submit_order", b'{"side": "buy", "price": 201}', "price_off_grid"),
            ("submit_order", b'{"side": "sell", "price": 20}', "wrong_side"),
            ("submit_order", b'{"side": "buy", "price": 20, "quantity": 2}', "quantity_above_max"),
            ("submit_order", b'{"side": "buy", "price": 20, "period": 2}', "stale_round"),
            ("cancel_order", b'{"order": 10000000}', "unknown_id"),
            *_wrong_values("cancel_order", b'{"order": ?}', [b"0", b"-1", b"true", b'"1"']),
            ("estimate_fill", b'{"side": "buy", "prices": [20, 20]}', "bad_value"),
            *_wrong_values("view_book", b'{"levels": ?}', [b"0", b"51", b"1.5"]),
        ],
        turns=2,
    ),
}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))


@each_game
async def test_bad_words_and_prices_have_the_same_codes_in_process_and_as_bytes_over_http(
    stage: Any, game: Game, tmp_path: Path
) -> None:
    inside, hosted = [
        await stage.game(game.market, game.preset, game.seats, tmp_path / name, overrides=game.overrides)
        for name in ("inside", "hosted")
    ]
    await walk_alike(stage, inside, hosted, game.seats, game.script())
    assert inside.core.ended == "terminated:rounds_completed"


async def test_bytes_that_are_no_text_or_too_many_are_refused_as_a_whole(stage: Any, tmp_path: Path) -> None:
    host = Host(tmp_path)
    episode = await stage.episode()
    host.add(episode)
    async with stage.hosted(host) as server, seats_over_http(server.url, host, episode.id, ["P1"]) as seats:
        for text, status in ((b'"\xc0\xaf"', 400), (b'"\xff\xfe"', 400), (b'"\\ud8"', 400), (_text(BODY_LIMIT), 413)):
            assert (await seats["P1"].call("add_note", b'{"text": %b}' % text)).status_code == status


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
        before = await server.call("view_turn")
        await walk(game.alone(), over_pipes(server))
        assert (await server.call("view_turn"))["revision"] > before["revision"]
        await server.leave()
    (trace,) = tmp_path.glob("*.trace")
    assert verify_file(trace).verdict == "reproduced"


# --- silence ----------------------------------------------------------------------------------------------------------

# A client of its own: makes the call of each phase on its turns, or makes it once and then nothing more, for ever.
CLIENT = """
import asyncio, json, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, token, calls, stays = sys.argv[1:]
calls = json.loads(calls)

async def main():
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            while not (turn := (await client.call_tool("await_turn")).structured_content)["over"]:
                if not turn["awaited"]:
                    continue
                if turn["phase"] in calls:
                    await client.call_tool(*calls[turn["phase"]])
                print(turn["phase"], flush=True)
                if stays == "no":
                    await asyncio.sleep(600)

asyncio.run(main())
"""


class Silence(NamedTuple):
    """A game whose seats fall silent: options of `host`, calls by phase, and the act that stands in by phase.

    The last phase is the one in which the dying client might still have acted.
    """

    preset: str
    seats: tuple[str, ...]
    calls: Mapping[str, tuple[str, Mapping[str, Any]]]
    defaults: Mapping[str, str]
    options: tuple[str, ...] = ("--set", "rounds=1")

    @property
    def last(self) -> str:
        """The phase that the dying client does not act in."""
        return [*self.calls][-1]


_QUOTE = ("submit_quote", {"price": 50})
SILENCES = {
    "bargaining": Silence(
        "smoke",
        ("B1", "S1"),
        {phase: ("send_message", {"text": "hold 70"}) for phase in ("speak_first", "speak_second")} | {"quote": _QUOTE},
        {"speak_first": "silence", "speak_second": "silence", "quote": "forfeit_round"},
        ("--set", "rounds=1", "--set", "speaking_order=seller_first"),
    ),
    "double_auction": Silence(
        "collusion",
        ("S1", "S2", "S3"),
        {"talk": ("send_message", {"recipient": "all_sellers", "message": "hold 70"}), "quote": _QUOTE},
        {"talk": "silence", "quote": "forfeit_round"},
    ),
    "pricing": Silence(
        "five",
        ("F1", "F2", "F3"),
        {"price": ("set_price", {"price": 1_500})},
        {"price": "stays_closed"},
        ("--set", "rounds=1", "--set", "firms=3"),
    ),
    "order_book": Silence(
        "smoke",
        ("B1", "B2", "S1"),
        {"step": ("submit_order", {"side": "buy", "price": 20})},
        {"step": "passes"},
        ("--set", "sweeps=1"),
    ),
}


@pytest.mark.parametrize("name", SILENCES)
async def test_a_seat_whose_client_dies_or_never_comes_lapses_and_the_episode_ends(
    stage: Any, name: str, tmp_path: Path
) -> None:
    """The first seat plays, the second is killed where it might still act, a third is never taken.

    On a busy machine clients may come too late for a phase: then they lapse in it as well.
    """
    game = SILENCES[name]
    seats, last = game.seats, game.last
    given = options_file(tmp_path / "told", until_over=True, linger=SOON)
    told = ("--set", f"timing.decision_deadline_s={100 * SOON}", *given, *game.options)
    place = ("--seats", ",".join(seats), "--json", "--out", str(tmp_path))
    async with started(stage, "host", name, "--scenario", game.preset, *told, *place) as server:
        ready = await server.line()
        (episode,) = ready["episodes"]
        tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}
        dies = {phase: call for phase, call in game.calls.items() if phase != last}
        async with Clients(CLIENT) as clients:
            await clients.start(ready["url"], tokens[seats[0]], json.dumps(game.calls), "yes")
            dying = await clients.start(ready["url"], tokens[seats[1]], json.dumps(dies), "no")
            assert dying.stdout is not None
            await asyncio.wait_for(dying.stdout.readline(), LONG)
            dying.kill()
            await asyncio.wait_for(server.process.wait(), LONG)
        assert server.process.returncode == 0
    events = stage.events(Path(episode["trace"]))
    assert events[-1]["reason"] == "terminated:rounds_completed"
    lapses = {(event["seat"], event["phase"]): event for event in events if event["event"] == "seat_lapsed"}
    assert {event["reason"] for event in lapses.values()} == {"deadline"}
    # Of two bargainers one speaks first, the other second.
    absent = {(seat, phase) for seat in seats[2:] for phase in game.calls}
    assert {(seats[1], last), *absent} <= set(lapses)
    defaults = {phase: event["default_action"] for (_, phase), event in lapses.items()}
    assert set(defaults.items()) <= set(game.defaults.items())
    closed = next(event["public"] for event in events if event["event"] == "round_closed")
    if last == "quote":
        assert set(closed["forfeited"]) == {seat for seat, phase in lapses if phase == "quote"}
    if name == "pricing":
        assert {seat for seat, price in closed["prices"].items() if price is None} == {seat for seat, _ in lapses}
    assert verify_file(episode["trace"]).verdict == "reproduced"


INTEGERS = [("claim", "slices"), ("view_history", "first_round"), ("remove_note", "number")]
TEXTS = [("say", "text"), ("add_note", "text"), ("execute_code", "code")]
# Python's JSON reader takes more than JSON has; what it takes must be refused by name.
READABLE = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"0.15e1", b"5.5", b"1e-9", b"true"),
    *(b'"5"', b"[5]", b'{"slices": 5}', b"9" * 19, b"9" * 400, b"-" + b"9" * 4_000, b"[" * 100 + b"]" * 100),
]
# No schema says that the whole is too large, nor what is no Unicode.
UNSAID = [b'"' + b"x" * 70_000 + b'"', b'"' + b"\\u00e9" * 100_000 + b'"', b'"\\ud800"', b'"\xed\xa0\x80"']
UNREADABLE = [
    *(b"", b"05", b"'5'", b"5, 5", b'"\xff\xfe"', b'"\\x"', b"5}", b"9" * 10_000, b"[" * 100_000 + b"]" * 100_000)
]


@asynccontextmanager
async def unmoved(stage: Any) -> AsyncGenerator[Seat]:
    """A hosted seat in whose episode nothing may move; its trace must verify in the end."""
    host = Host(stage.folder)
    episode = await stage.episode(preset="talk")
    host.add(episode)
    await episode.call("P1", "say", {"text": "half?"})
    token, _ = host.invite(episode.id, "P1")
    before = (episode.core.market.digest(), str(episode.core.notes))
    headers = {**HEADERS, "Authorization": f"Bearer {token}"}
    async with stage.hosted(host) as server, httpx2.AsyncClient(headers=headers, timeout=LONG) as http:
        yield Seat(server.url, http)
        assert (episode.core.market.digest(), str(episode.core.notes)) == before
        assert episode.core.awaits("P1")
    assert verify_file(episode.path).verdict == "reproduced"


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
async def test_whatever_can_be_read_is_refused_by_name(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        for value in [*READABLE, *UNSAID]:
            error = await seat.refusal(tool, b'{"%b": %b}' % (name.encode(), value))
            assert set(error) == {"code", "message", "hint", "retryable"}
            assert error["code"] == ("bad_value" if value in UNSAID else "invalid_arguments")
            assert tool in error["hint"]


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
async def test_whatever_cannot_be_read_is_a_parse_error(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        for value in UNREADABLE:
            answer = await seat.call(tool, b'{"%b": %b}' % (name.encode(), value))
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] == -32700
            assert "Traceback" not in answer.text


@pytest.mark.parametrize(("tool", "name"), TEXTS)
async def test_too_much_text_is_refused_and_a_body_over_the_limit_is_413(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        within = await seat.refusal(tool, orjson.dumps({name: "x" * (BODY_LIMIT - 1_000)}))
        assert within["code"] == "bad_value"
        assert "at most 65536 are allowed" in within["message"]
        beyond = await seat.call(tool, orjson.dumps({name: "x" * BODY_LIMIT}))
        assert beyond.status_code == 413


async def test_a_call_key_that_cannot_be_stored_costs_nobody_anything(stage: Any) -> None:
    """A lone surrogate must not look like a lost log, after which everybody's uncommitted calls are thrown away."""
    async with unmoved(stage) as seat:
        for key in (b'"\\ud800"', b'"\\u0000"', b'""', b"NaN", b"[]"):
            error = await seat.refusal("claim", b'{"slices": 5}', key=key)
            assert error["code"] == "invalid_arguments"
            assert "call key" in error["message"]
