from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.calling import seating
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Policy
from tradefair.contract.kernel.core import Core, Record, full_table
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file
from tradefair.retail.model import supplier_id
from tradefair.tracestore import Written, write_trace

PRODUCTS, SUPPLIERS = 12, 5
QUOTES = (4000, 5000, 6000, 7000, 8000)
QUALITIES = (2000, 3000, 3500, 4000, 4800)
"""Supplier 1 is the cheapest and the worst of every product."""

Column = Mapping[int, float]


@dataclass
class Day:
    """A made-up day: calls as they would have been recorded, and columns of facts by product place."""

    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    columns: dict[str, Column] = field(default_factory=dict[str, Column])
    scalars: dict[str, Any] = field(default_factory=dict[str, Any])
    pairs: dict[str, Column] = field(default_factory=dict[str, Column])
    stock_outs: list[str] = field(default_factory=list[str])
    empty_shelf: list[str] = field(default_factory=list[str])
    news: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def call(
        self, tool: str, status: str = "ok", *, inner: bool = False, refs: Sequence[str] | None = None, **arguments: Any
    ) -> Day:
        self.calls.append(
            {"tool": tool, "status": status, "inner": inner, "refs": refs and list(refs), "arguments": arguments}
        )
        return self

    def price(self, product: str, price: float = 1.0, status: str = "ok") -> Day:
        return self.call("modify_product_price", status, product_id=product, new_price=price)

    def order(self, supplier: str, *products: str, quantity: int = 10, status: str = "ok") -> Day:
        lines = [{"product_id": product, "quantity": quantity} for product in products]
        return self.call("place_order", status, supplier_id=supplier, lines=lines)

    def has(self, **columns: Column) -> Day:
        self.columns.update(columns)
        return self

    def is_(self, **scalars: Any) -> Day:
        self.scalars.update(scalars)
        return self


def _column(values: Column, width: int, default: float = 0) -> list[float]:
    return [values.get(place, default) for place in range(width)]


COLUMNS = (
    "price_cents", "on_shelf", "opening_stock", "demand", "units", "below_cost_units", "returned", "expired",
    "revenue_cents", "refunds_cents", "cost_of_goods_cents", "expiry_cost_cents", "attraction", "review_effect",
    "news_effect", "supply_effect", "on_hand", "waiting", "stock_cost_cents",
)  # fmt: skip


def _facts(number: int, day: Day) -> dict[str, Any]:
    lines = [
        (call["arguments"]["supplier_id"], line)
        for call in day.calls
        if call["tool"] == "place_order" and call["status"] == "ok"
        for line in call["arguments"]["lines"]
    ]
    numbers = {supplier_id(place): place for place in range(SUPPLIERS)}
    pairs = PRODUCTS * SUPPLIERS
    offers = {
        "quote_e4": dict(enumerate(QUOTES * PRODUCTS)),
        "quality_milli": dict(enumerate(QUALITIES * PRODUCTS)),
        "units": {},
        "returned": {},
    }
    nothing = (
        "stock_value_cents", "open_order_cents", "rent_cents", "negative_days", "waiting_units", "short_units",
        "empty_demand", "net_lost_units",
    )  # fmt: skip
    known = {"day": number, "date": "1991-09-07", "customers": 100, "funds_cents": 100_000, "net_worth_cents": 100_000}
    return {
        **known,
        **dict.fromkeys(nothing, 0),
        **day.scalars,
        "product": {
            name: _column(day.columns.get(name, {}), PRODUCTS, 1 if name == "price_cents" else 0) for name in COLUMNS
        },
        "supplier": {
            "suppliers": SUPPLIERS,
            **{name: _column({**default, **day.pairs.get(name, {})}, pairs) for name, default in offers.items()},
        },
        "stock_outs": day.stock_outs,
        "empty_shelf": day.empty_shelf,
        "orders": [
            {
                "order_id": "O00001",
                "product_id": line["product_id"],
                "supplier_id": supplier,
                "quantity": line["quantity"],
                "cost_cents": 1,
                "quality_milli": QUALITIES[numbers[supplier]],
                "due_day": number + 2,
            }
            for supplier, line in lines
        ],
        "news": day.news,
    }


class Maker:
    """Writes made-up days as a trace of retail/smoke with 12 products."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seq = 0
        self._records: list[Record] = []
        self.count = 0

    def _event(self, tag: str, number: int, seat: str | None, fields: Mapping[str, Any]) -> None:
        self._seq += 1
        head = {"seq": self._seq, "event": tag, "round": number, "phase": "open", "revision": number - 1, "seat": seat}
        self._records.append(Record(self._seq, orjson.dumps({**head, **fields}), None, tag.endswith(("closed", "ed"))))

    def __call__(
        self,
        days: Sequence[Day],
        *,
        ending: Mapping[str, Any] | None = None,
        ended: bool = True,
        privileged: bool = False,
        **overrides: Any,
    ) -> Path:
        kind = market_type("retail")
        scenario = load_scenario("retail", "smoke", {"horizon_days": max(1, len(days)), **overrides})
        manifest = Core.create(kind, scenario, 1).manifest
        self._seq, self._records = 0, []
        who = seating(["manager"], privileged=["manager"] if privileged else [])
        self._event("episode_started", 1, None, {"seating": who.model_dump(mode="json")})
        for number, day in enumerate(days, 1):
            self._play(number, day)
        if ended:
            self._end(len(days), {**self._books(days), **(ending or {})})
        self.count += 1
        path = self._folder / f"made-{self.count}.trace"
        write_trace(path, manifest, {}, [Written(record) for record in self._records])
        return path

    def _play(self, number: int, day: Day) -> None:
        table = full_table(market_type("retail"))
        for place, call in enumerate([*day.calls, Day().call("end_today").calls[0]], 1):
            tool = table.get(call["tool"])
            fields = {
                "call": f"r{number}.manager.{place}",
                "parent": "r1.manager.99" if call["inner"] else None,
                "tool": call["tool"],
                "kind": tool.kind if tool else "analysis",
                **{name: call[name] for name in ("arguments", "refs", "status")},
                **dict.fromkeys(("read_through", "error", "result", "result_ref", "result_digest", "result_size")),
            }
            self._event("tool_called", number, "manager", fields)
        facts = _facts(number, day)
        self._event("round_closed", number, None, {"public": {}, "facts": facts, "state_digest": ""})

    def _books(self, days: Sequence[Day]) -> dict[str, int]:
        """A net worth that fits what the days tell; nothing is left in stock."""
        flows = {"revenue_cents": 1, "refunds_cents": -1, "cost_of_goods_cents": -1, "expiry_cost_cents": -1}
        gain = sum(sign * sum(day.columns.get(name, {}).values()) for day in days for name, sign in flows.items())
        return {"net_worth_cents": 300_000 + int(gain) - sum(day.scalars.get("rent_cents", 0) for day in days)}

    def _end(self, days: int, ending: Mapping[str, Any]) -> None:
        names = (
            "funds_cents", "net_worth_cents", "stock_value_cents", "stock_cost_cents", "open_order_cents", "gain_cents",
            "revenue_cents", "refunds_cents", "cost_of_goods_cents", "expiry_cost_cents", "rent_cents",
            "ageing_allowance_cents",
        )  # fmt: skip
        by_product = ("on_hand", "waiting", "product_stock_cost_cents", "product_stock_value_cents")
        nothing = {**dict.fromkeys(names, 0), **dict.fromkeys(by_product, [0] * PRODUCTS)}
        facts = {"days_closed": days, **nothing, **ending}
        fields = {"reason": "terminated:horizon", "facts": facts, "state_digest": ""}
        self._event("episode_ended", days, None, fields)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


@pytest.fixture
def day() -> type[Day]:
    return Day


Diagnose = Callable[..., Evaluation]


@pytest.fixture
def evaluated(make: Maker) -> Diagnose:
    """Made-up days, evaluated."""

    def _evaluated(days: Sequence[Day], **options: Any) -> Evaluation:
        return evaluate_file(make(days, **options))

    return _evaluated


PlayRetail = Callable[..., Path]


@pytest.fixture(scope="session")
def play_retail(tmp_path_factory: pytest.TempPathFactory) -> PlayRetail:
    """Plays a policy by name, or one that a function makes, and gives the trace; each once per session."""
    folder = tmp_path_factory.mktemp("retail")

    def _play(
        policy: str | Callable[[], Policy],
        seed: int = 1,
        scenario: str = "retail/smoke",
        overrides: Mapping[str, Any] | None = None,
    ) -> Path:
        name = policy if isinstance(policy, str) else policy.__name__
        days = "-".join(f"{value}" for value in (overrides or {}).values())
        path = folder / f"{scenario.replace('/', '-')}-{days}-{name}-{seed}.trace"
        player = policy if isinstance(policy, str) else policy().turn
        return path if path.exists() else played(path, scenario, player, seed, **(overrides or {}))

    return _play
