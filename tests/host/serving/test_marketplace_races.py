"""One seat over several connections at once, and seats that try what is not theirs, under the free clock over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.host.serving.by_hand import Seat
from tests.host.serving.doors import code_of, seats_over_http

from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import Host

C1, C2, B1 = "customer_0001", "customer_0002", "business_0001"
AGENTS = (C1, C2, B1)
FREE: dict[str, Any] = {
    "clock": "free",
    "timing.free_tick_s": 3600,
    "alias_ids": False,
    "limits": [],
    "data.customers": 2,
}
NASTY = "'; DROP TABLE events; -- \" $1 ${x} \\ %s 🌮 ‮abc‏ {name}\ttab"


class Market(NamedTuple):
    """A hosted episode, every agent's seat twice, and what is on the menu of the first business."""

    episode: Any
    one: dict[str, Seat]
    two: dict[str, Seat]
    item: str

    async def ask(self, seat: str, tool: str, *, key: str | None = None, second: bool = False, **arguments: Any) -> Any:
        """The result of a call, refused or not, over the first or the second connection."""
        doors = self.two if second else self.one
        answer = await doors[seat].call(tool, json.dumps(arguments).encode(), json.dumps(key).encode())
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def code(self, seat: str, tool: str, **arguments: Any) -> str:
        """What becomes of it."""
        return code_of(await self.ask(seat, tool, **arguments))

    async def offers(self, count: int, price: float = 2.5) -> list[str]:
        """So many proposals to the first customer, who has asked."""
        assert await self.code(C1, "send_message", to=["b0001"], text=NASTY) == "ok"
        lines = [{"item": self.item, "quantity": 1, "unit_price": price}]
        sent = [await self.ask(B1, "send_proposal", to="c0001", lines=lines, note=NASTY) for _ in range(count)]
        return [one["structuredContent"]["proposal"] for one in sent]

    @property
    def balances(self) -> dict[str, int]:
        """Accounts that are not empty."""
        return {name: cents for name, cents in self.episode.core.market.ledger.balances.items() if cents}


@asynccontextmanager
async def opened(stage: Any, folder: Path, **overrides: Any) -> AsyncGenerator[Market]:
    """A free market of two customers and a business; afterwards its books and its trace are sound."""
    wanted = {**FREE, **overrides}
    episode = await stage.game("marketplace", "small_demo", AGENTS, folder, others="passive", overrides=wanted)
    host = Host(folder)
    host.add(episode)
    async with (
        stage.hosted(host) as server,
        seats_over_http(server.url, host, episode.id, AGENTS) as one,
        seats_over_http(server.url, host, episode.id, AGENTS) as two,
    ):
        yield Market(episode, one, two, episode.core.market.catalogue.businesses[0].menu[0].item)
        episode.core.market.check()
    await host.close()
    assert verify_file(episode.path).verdict in {"reproduced", "incomplete"}


@pytest.mark.parametrize("escrow", [False, True])
async def test_two_connections_of_a_seat_pay_a_proposal_once(stage: Any, tmp_path: Path, escrow: bool) -> None:
    async with opened(stage, tmp_path, escrow=escrow) as market:
        (name,) = await market.offers(1)
        tries = (market.code(C1, "pay_proposal", proposal=name, second=bool(number % 2)) for number in range(12))
        assert Counter(await asyncio.gather(*tries)) == {"ok": 1, "not_open": 11}
        assert market.balances == {C1: -250, "escrow" if escrow else B1: 250}


async def test_two_connections_of_a_seat_cannot_spend_a_budget_twice(stage: Any, tmp_path: Path) -> None:
    async with opened(stage, tmp_path, budget_bp=5_000) as market:
        budget = market.episode.core.market.ledger.balance(C1)
        names = await market.offers(6, price=(budget // 2 + 1) / 100)
        tries = (market.code(C1, "pay_proposal", proposal=name, second=bool(at % 2)) for at, name in enumerate(names))
        assert Counter(await asyncio.gather(*tries)) == {"ok": 1, "insufficient_funds": 5}
        assert market.episode.core.market.ledger.balance(C1) == budget - budget // 2 - 1


async def test_a_payment_that_is_repeated_with_its_key_is_the_same_payment(stage: Any, tmp_path: Path) -> None:
    async with opened(stage, tmp_path) as market:
        names = await market.offers(2)
        assert await market.code(C1, "pay_proposal", proposal=names[0], key=NASTY) == "invalid_arguments"
        tries = [market.ask(C1, "pay_proposal", proposal=names[0], key="once", second=bool(at % 2)) for at in range(8)]
        answers = await asyncio.gather(*tries)
        assert {code_of(answer) for answer in answers} == {"ok"}
        assert len({json.dumps(answer["structuredContent"], sort_keys=True) for answer in answers}) == 1
        assert market.balances == {C1: -250, B1: 250}
        # The key belongs to this request of this seat, and to no other.
        assert await market.code(C1, "pay_proposal", proposal=names[1], key="once") != "ok"
        assert await market.code(C2, "pay_proposal", proposal=names[0], key="once") == "unknown_id"
        assert market.balances == {C1: -250, B1: 250}


async def test_whoever_leaves_over_one_connection_pays_over_no_other(stage: Any, tmp_path: Path) -> None:
    async with opened(stage, tmp_path) as market:
        names = await market.offers(6)
        pays = [market.code(C1, "pay_proposal", proposal=name, second=True) for name in names]
        codes = await asyncio.gather(*pays[:3], market.code(C1, "finish"), *pays[3:])
        assert codes[3] == "ok"
        bought = Counter(codes[:3] + codes[4:])
        assert set(bought) <= {"ok", "finished"}
        assert market.balances.get(C1, 0) == -250 * bought["ok"]
        offers = market.episode.core.market.proposals.values()
        assert Counter(offer.state for offer in offers) == Counter({"paid": bought["ok"], "void": bought["finished"]})


async def test_nothing_of_a_pair_is_another_seats(stage: Any, tmp_path: Path) -> None:
    async with opened(stage, tmp_path) as market:
        (name,) = await market.offers(1)
        before = market.episode.core.market.digest()
        for tool in ("pay_proposal", "reject_proposal"):
            assert await market.code(C2, tool, proposal=name) == "unknown_id"
            assert await market.code(C2, tool, proposal="p-b0001-c0001-7") == "unknown_id"
        assert await market.code(C2, "withdraw_proposal", proposal=name) == "tool_unavailable"
        assert await market.code(B1, "withdraw_proposal", proposal="p-b0002-c0001-1") == "unknown_id"
        assert await market.code(C2, "compare_proposals", proposals=[name]) == "unknown_id"
        looks: list[tuple[str, dict[str, Any]]] = [
            ("receive_messages", {"after": 0}),
            ("receive_messages", {"sender": "b0001"}),
            ("view_proposals", {"counterpart": "b0001"}),
            ("view_proposals", {"after": 0, "max": 50}),
            ("view_turn", {}),
        ]
        for tool, arguments in looks:
            shown = json.dumps(await market.ask(C2, tool, **arguments), ensure_ascii=False)
            assert "DROP" not in shown
            assert name not in shown
        assert market.episode.core.market.digest() == before
