"""Many seats of one host at once: what a seat gets and leaves behind depends on its seed and its calls alone.

Every seat is spoken to over HTTP with a token of its own; all make the same calls, in shuffled order of arrival.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.host.serving.by_hand import HEADERS, Seat
from tests.host.serving.planes import Plane, plane
from tests.waiting import LONGER

import tradefair.api as tf
from tradefair.evaluation.prove.verify import verify_file

GAME = ("double_auction", "double_auction/smoke", "B1")
ORDER: dict[str, Any] = {"market": GAME[0], "scenario": GAME[1], "seats": [GAME[2]], "others": "stand_in"}
SCRIPT = (("view_my_value", b"{}"), ("submit_quote", b'{"price": 50}')) * 3
KEYS = range(4)
AT_ONCE = 16


def shuffled(count: int, key: int) -> list[int]:
    """A permutation that is the same on every machine."""
    return sorted(range(count), key=lambda number: blake2b(f"{key}|{number}".encode()).digest())


async def play(url: str, tokens: Sequence[str], keys: Sequence[int], *, odd: int | None = None) -> None:
    """The script in every seat, step by step; step n arrives by the n-th key. Seat `odd` quotes another price."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def step(http: httpx2.AsyncClient, number: int, tool: str, arguments: bytes) -> None:
        async with turn:
            answer = await Seat(url, http, tokens[number]).call(tool, arguments)
            assert answer.json()["result"]["isError"] is False, answer.text

    limits = httpx2.Limits(max_connections=AT_ONCE)
    async with httpx2.AsyncClient(headers=HEADERS, limits=limits, timeout=LONGER) as http:
        for index, (tool, arguments) in enumerate(SCRIPT):
            order = shuffled(len(tokens), keys[index % len(keys)])
            told = {odd: b'{"price": 51}'} if tool == "submit_quote" else {}
            # Tasks run in the order in which they are made.
            await asyncio.gather(*(step(http, number, tool, told.get(number, arguments)) for number in order))


async def group(it: Plane, seed: int, count: int) -> list[Any]:
    """Invitations of `count` episodes on one seed, in groups as large as may be ordered."""
    made: list[Any] = []
    while len(made) < count:
        size = min(64, count - len(made))
        order = {**ORDER, "seed": seed, "count": size, "same_seed": size > 1}
        answer = await it.http.post("/episodes", json=order, timeout=LONGER)
        assert answer.status_code == 201, answer.text
        made += answer.json()["invitations"]
    return made


def expected(tmp_path: Path, seed: int, price: int = 50) -> str:
    """The head of the same episode, stepped in this process without a server."""
    batch = tf.batch(*GAME, [seed])
    for _ in range(3):
        batch.call([tf.ToolCall("view_my_value")])
        batch.call([tf.ToolCall("submit_quote", {"price": price})])
    batch.trace(0, tmp_path / f"{seed}-{price}.trace")
    return heads([tmp_path / f"{seed}-{price}.trace"])[0]


def heads(paths: Sequence[Path]) -> list[str]:
    found: list[str] = []
    for path in paths:
        check = verify_file(path)
        assert (check.verdict, check.sealed) == ("reproduced", True), check.sentence
        found.append(check.head_hash or "")
    return found


async def one_head(stage: Any, elsewhere: Path, count: int, keys: Sequence[int]) -> None:
    async with plane(stage, max_episodes=count + 10) as it:
        made = [*await group(it, 7, count), *await group(it, 8, 1)]
        await play(it.server.url, [one["token"] for one in made], keys, odd=count - 1)
        paths = [it.host.trace_of(one["episode"]) for one in made]
        ends = {episode.core.ended for episode in it.host.episodes.values()}
        assert ends == {"terminated:rounds_completed"}
    *same, odd, other = await asyncio.to_thread(heads, paths)
    assert set(same) == {expected(elsewhere, 7)}
    # Another call, and another seed, leave another trace.
    assert odd == expected(elsewhere, 7, 51) != same[0]
    assert other == expected(elsewhere, 8) not in (odd, same[0])


async def test_64_seats_with_one_seed_and_one_script_leave_one_chain(
    stage: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 64, KEYS)


@pytest.mark.parametrize("key", KEYS)
async def test_the_order_of_arrival_leaves_no_mark_by_any_permutation(
    stage: Any, tmp_path_factory: pytest.TempPathFactory, key: int
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 64, [key])


async def test_1000_seats_with_one_seed_and_one_script_leave_one_chain(
    stage: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 1_000, KEYS)
