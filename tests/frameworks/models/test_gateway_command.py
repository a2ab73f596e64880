"""`tradefair gateway` as a process, and the openai package at its door."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError
from tests.calling import moves
from tests.options_files import options_file
from tests.waiting import LONG

from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file
from tradefair.frameworks.models import ModelEndpoint

_TRADEFAIR = Path(sys.executable).parent / "tradefair"
_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("look", "act")
]


@asynccontextmanager
async def _gateway(*arguments: str, number: int = signal.SIGINT, **environment: str) -> AsyncGenerator[AsyncOpenAI]:
    """A client of a gateway in its own process, which is interrupted at the end and must go in peace."""
    process = await asyncio.create_subprocess_exec(
        str(_TRADEFAIR),
        "gateway",
        *arguments,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONG):
            url, key = await _announced(process, as_json="--json" in arguments)
            async with AsyncOpenAI(base_url=url, api_key=key, timeout=LONG) as client:
                yield client
            process.send_signal(number)
            said = await process.communicate()
        assert process.returncode == 0, said
        assert said == (b"", b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_a_policy_says_which_seat_it_plays_and_that_it_answers_a_seats_agent_only(tmp_path: Path) -> None:
    given = ("gateway", "--market", "double_auction", "--policy", "zip", *options_file(tmp_path, seed=5))
    said: list[bytes] = []
    for options in ((), ("--json",)):
        process = await asyncio.create_subprocess_exec(
            str(_TRADEFAIR), *given, *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        pipe = process.stdout if options else process.stderr
        assert pipe is not None
        try:
            async with asyncio.timeout(LONG):
                said.append(await pipe.readline())
                if options:
                    told = json.loads(said[-1])
                    async with AsyncOpenAI(base_url=told["base_url"], api_key=told["api_key"]) as client:
                        with pytest.raises(
                            BadRequestError, match=r"policy:zip answers a seat's agent only.*--base-url"
                        ):
                            await _ask(client, [{"role": "user", "content": "hello"}])
        finally:
            process.kill()
            await process.communicate()
    told = json.loads(said[1])
    assert (told["market"], told["seed"]) == ("double_auction", 5)
    plays = f"policy:zip answers for seat {told['seat']} of {told['scenario']}, seed 5, until interrupted"
    assert said[0].decode().startswith(plays)


async def _announced(process: asyncio.subprocess.Process, *, as_json: bool) -> tuple[str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    if as_json:
        said = json.loads(await process.stdout.readline())
        return said["base_url"], said["api_key"]
    lines = b"".join([await process.stderr.readline() for _ in range(3)]).decode()
    found = re.search(r"OPENAI_BASE_URL=(\S+)\nOPENAI_API_KEY=(\S+)\n", lines)
    assert found is not None, lines
    return found[1], found[2]


async def _ask(client: AsyncOpenAI, messages: list[Any], **options: Any) -> Any:
    completions: Any = client.chat.completions
    model = (await client.models.list()).data[0].id
    return await completions.create(model=model, messages=messages, tools=_TOOLS, **options)


async def test_a_policy_behind_a_process_plays_a_seat_and_another_process_replays_it(teaching: Any, tape: Path) -> None:
    inside = await teaching.native(teaching.policy("half"))
    policy = ["--market", "teaching", "--policy", "half"]
    told = options_file(tape.parent, seat="P1", faults="429@1,drop@3")
    async with _gateway(*policy, "--record", str(tape), *told) as client:
        played = await _play(teaching, client, "policy:half")
    async with _gateway("--replay", str(tape), "--json", number=signal.SIGTERM) as client:
        again = await _play(teaching, client, "policy:half")
        with pytest.raises(BadRequestError, match="differs: asked 'pray', recorded"):
            await _ask(client, [{"role": "user", "content": "pray"}])
    assert [table.head for table in (played, again)] == [inside.head] * 2


async def _play(teaching: Any, client: AsyncOpenAI, model: str) -> Any:
    """P1 played by the reference framework with the client's endpoint as its model."""
    endpoint = ModelEndpoint("openai", model, model, base_url=str(client.base_url), api_key=client.api_key)
    async with teaching.table() as table:
        await table.play("openai_loop", endpoint)
    return teaching.written(table)


@pytest.mark.parametrize(("market", "policy"), [("pricing", "best_reply"), ("order_book", "gd")])
async def test_a_process_plays_a_market_with_the_model_of_another_process(
    market: str, policy: str, tmp_path: Path
) -> None:
    game = ("--scenario", f"{market}/smoke", "--seed", "5")

    async def played(folder: str, *agent: str, **environment: str) -> Path:
        words = ("play", market, *game, "--out", str(tmp_path / folder), *agent)
        piped = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            str(_TRADEFAIR), *words, env={**os.environ, **environment}, stdout=piped, stderr=piped
        )
        said = await process.communicate()
        assert process.returncode == 0, said
        (path,) = (tmp_path / folder).glob("*.trace")
        return path

    told = options_file(tmp_path, scenario=f"{market}/smoke", seed=5)
    async with _gateway("--market", market, "--policy", policy, *told) as client:
        model = ("--model", f"openai:policy:{policy}", "--base-url", str(client.base_url))
        seated = await played("seated", "--agent", "react", *model, OPENAI_API_KEY=client.api_key)
    inside = await played("inside", "--agent", f"policy:{policy}")
    assert verify_file(seated).verdict == "reproduced"
    assert moves(seated) == moves(inside)


async def test_an_upstream_behind_a_process_keeps_its_parallel_calls_and_is_sent_its_own_key(
    serving: Any, answers: Any
) -> None:
    calls = [("look", '{"at": 1}'), ("act", '{"with": "care"}')]
    async with serving(answers.says(None, *calls)) as upstream:
        given = ["--upstream", "openai:tiny", "--base-url", upstream.url]
        async with _gateway(*given, OPENAI_API_KEY="sk-of-the-upstream") as client:
            whole = await _ask(client, [{"role": "user", "content": "play"}])
    assert [(call.function.name, call.function.arguments) for call in whole.choices[0].message.tool_calls] == calls
    assert upstream.keys == ["Bearer sk-of-the-upstream"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name what answers"),
        (["--market", "double_auction", "--upstream", "openai:x"], "only one of --market, --upstream, --replay"),
        (["--market", "double_auction", "--replay", "calls.jsonl"], "only one of --market, --upstream, --replay"),
        (["--market", "double_auction", "--config", "seat.toml"], "there is no seat 'X9'"),
        (["--market", "double_auction", "--policy", "nobody"], "no policy 'nobody'"),
        (["--replay", "/nowhere/calls.jsonl"], "cannot be read"),
        (["--market", "double_auction", "--config", "faults.toml"], "'typo@1' is no fault"),
    ],
)
def test_what_cannot_be_served_is_a_matter_of_usage(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seat.toml").write_text('seat = "X9"', encoding="utf-8")
    Path("faults.toml").write_text('faults = "typo@1"', encoding="utf-8")
    assert run(["gateway", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_refused_upstream_is_a_failure_of_the_harness(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gateway", "--upstream", "openai:tiny", "--base-url", "https://models.example/v1"]) == 3
    assert "TRADEFAIR_ALLOW_MODELS=0" in capsys.readouterr().err
