"""`python -m benchmarks.tokens [--model] [--write PAGE]`: what a graph's requests hold, market by market, in tokens.

Not speed: the same figures on every machine. Tokens are bytes / 4, as everywhere that nobody counts; with `--model`
those of the small local model (extra `local-model`). An episode is played by the market's stand-in policy behind the
react graph, once per offer: the same calls each time, so that only what is offered differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mcp import Client

from benchmarks.figures import Figure
from tradefair.agents.prompt import load_prompt
from tradefair.agents.rounds import opening
from tradefair.agents.toolbox import WITHHELD
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Scenario, SeatId, Tool
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import seat_roles
from tradefair.host.episode.unbegun import Begun, Unbegun
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.host.server.wire import Manner
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode
from tradefair.runner.play.setup import with_stand_in
from tradefair.tracestore import open_trace

_SCENARIOS = (
    *("teaching/pie", "double_auction/smoke", "bargaining/smoke", "retail/smoke"),
    *("supply_chain/duel", "marketplace/small_demo", "pricing/smoke", "order_book/smoke"),
)
_OFFERS = ("all", "useful(reads=3)", "useful(reads=1)")
_BYTES_PER_TOKEN = 4
_BEGIN, _END = "<!-- begin tokens -->", "<!-- end tokens -->"

Count = Callable[[str], int]


class Requests(NamedTuple):
    """A whole episode: how often the model is asked, all that it is sent, and how much of that are tools."""

    asked: int
    tokens: int
    of_tools: int


class Row(NamedTuple):
    """One scenario. `declared` and `listed`: the tools of a request without and with the scenario's bounds."""

    scenario: str
    full_bytes: int
    slim_bytes: int
    declared: int
    listed: int
    system: int
    first_turn: int
    episodes: Mapping[str, Requests]


def measure(*, tiny: bool) -> list[Figure]:
    """Tokens and shares per scenario, beside the goals."""
    figures: list[Figure] = []
    for name in _SCENARIOS[:1] if tiny else _SCENARIOS:
        row = asyncio.run(_row(name, _estimated))
        whole, least = row.episodes["all"], row.episodes[_OFFERS[-1]]
        figures += [
            Figure(f"{name}: tools of a request", row.listed, "tokens", how=f"{row.declared} as declared"),
            Figure(f"{name}: tools with the scenario's bounds / as declared", row.listed / row.declared, "×", 1.06),
            Figure(f"{name}: slim list / full", row.slim_bytes / row.full_bytes, "×", 0.75),
            Figure(f"{name}: an episode with {_OFFERS[-1]} / all", least.tokens / whole.tokens, "×", 0.9),
        ]
    return figures


def main() -> None:
    """Print the tables, or put them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokens", description=__doc__)
    parser.add_argument("--model", action="store_true", help="count with the small local model's own tokenizer")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables between the marks of this page")
    given = parser.parse_args()
    count = _of_model() if given.model else _estimated
    rows = [asyncio.run(_row(name, count)) for name in _SCENARIOS]
    text = "\n".join((*_requests_table(rows), "", *_episodes_table(rows)))
    if given.write is None:
        print(text)
        return
    before, _, rest = given.write.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    given.write.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after}", "utf-8")


def _requests_table(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| scenario | `tools/list`, kB | slim, kB | tools as declared | with its bounds | prompt | first turn |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        sizes = f"{row.full_bytes / 1000:.1f} | {row.slim_bytes / 1000:.1f}"
        tokens = (row.declared, row.listed, row.system, row.first_turn)
        lines.append(f"| `{row.scenario}` | {sizes} | {' | '.join(f'{number:,}' for number in tokens)} |")
    return lines


def _episodes_table(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"| scenario | requests | {' | '.join(f'`{offer}`' for offer in _OFFERS)} | tools' share | least / all |",
        f"|---|---|{'---|' * len(_OFFERS)}---|---|",
    ]
    for row in rows:
        played = [row.episodes[offer] for offer in _OFFERS]
        whole, least = played[0], played[-1]
        tokens = " | ".join(f"{episode.tokens:,}" for episode in played)
        share = f"{100 * whole.of_tools / whole.tokens:.0f} % → {100 * least.of_tools / least.tokens:.0f} %"
        lines.append(f"| `{row.scenario}` | {whole.asked} | {tokens} | {share} | {least.tokens / whole.tokens:.2f} |")
    return lines


async def _row(name: str, count: Count) -> Row:
    kind = market_type(name.partition("/")[0])
    scenario = load_scenario(kind.name, name)
    core = Core.create(kind, scenario, 1)
    core.start()
    seat = plan_seats(kind, scenario).agents[0]
    tools = [tool for tool in core.tools(seat).values() if tool.name not in WITHHELD]
    return Row(
        name,
        await _listed_bytes(core, seat, slim=False),
        await _listed_bytes(core, seat, slim=True),
        count(_wire(tools, None)),
        count(_wire(tools, scenario)),
        count(load_prompt("react").system(kind.brief(scenario, seat))),
        count(opening(core.turn_view(seat))),
        {offer: await _played(kind.name, scenario, offer, count) for offer in _OFFERS},
    )


async def _listed_bytes(core: Core, seat: SeatId, *, slim: bool) -> int:
    """What a client is sent for `tools/list`."""

    async def begin(_: object) -> Begun:
        raise AssertionError("listing begins nothing")

    async with Client(build_server(Unbegun(core, begin), seat, manner=Manner(slim))) as client:
        return len((await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True))


def _wire(tools: Sequence[Tool], scenario: Scenario | None) -> str:
    """The tools as they stand in a request; without a scenario as they are declared."""
    functions = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema if scenario is None else tool.listed_schema(scenario),
        }
        for tool in tools
    ]
    return json.dumps([{"type": "function", "function": function} for function in functions], ensure_ascii=False)


async def _played(market: str, scenario: Scenario, offer: str, count: Count) -> Requests:
    """The first agent's seat played by the stand-in policy, and what its model was sent."""
    kind = market_type(market)
    plan = plan_seats(kind, scenario)
    roles = seat_roles(kind, scenario, plan.agents)
    agent = with_stand_in(kind, scenario, AgentSpec("react", offer=offer), {*roles.values()})
    sizes: dict[int, int] = {}
    found = Requests(0, 0, 0)
    with TemporaryDirectory() as folder:
        path = (await play_episode(PlaySpec(market, scenario, 1, plan, ready(kind, agent, roles), Path(folder)))).path
        with open_trace(path) as trace:
            for call in trace.prompts(plan.agents[0]):
                tools = [] if call.tools is None else [call.tools]
                for number in (*call.numbers, *tools):
                    if number not in sizes:
                        sizes[number] = count(json.dumps(call.part(number), ensure_ascii=False))
                sent, of_tools = (sum(sizes[number] for number in numbers) for numbers in (call.numbers, tools))
                found = Requests(found.asked + 1, found.tokens + sent + of_tools, found.of_tools + of_tools)
    return found


def _estimated(text: str) -> int:
    return len(text.encode()) // _BYTES_PER_TOKEN


def _of_model() -> Count:
    """Counts with the local model's tokenizer. Raises ScenarioError with what to install."""
    from tradefair.frameworks.models.local.engine import Engine
    from tradefair.frameworks.models.local.weights import find_weights

    engine: Any = Engine(find_weights("").path)
    return cache(engine.count)


if __name__ == "__main__":
    main()
