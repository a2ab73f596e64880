"""Plays without a model in which a seat is called one, and the verdict with the trouble that it could have had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.players import AgentRecord, Player, Seating
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.evaluation.read.accounts import account
from tradefair.evaluation.verdict.of_trace import verdict_of
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.ledger.ledger import with_ledgers
from tradefair.tracestore import Written, open_trace, write_trace

LABEL = "react/openai:small-1"
REPLIES: Mapping[str, Any] = {
    **{"model_calls": 9, "input_tokens": 8_000, "output_tokens": 370, "usage_estimated": False},
    **{"model_seconds": 1.2, "finish_reasons": {"stop": 9}},
}


class Setting(NamedTuple):
    """A market's scenario: the seat under test, a weak and a good policy for it, references, and who plays others."""

    scenario: str
    seat: str
    weak: str
    good: str
    references: Sequence[str]
    others: Mapping[str, str]
    changed: Mapping[str, Any] = {}


SETTINGS: Mapping[str, Setting] = {
    "teaching": Setting("teaching/pie", "P1", "passive", "half", ["passive"], {"eater": "half"}),
    "double_auction": Setting(
        "double_auction/smoke", "B1", "forfeiter", "zip", ["truthful", "kaplan", "passive"],
        {"buyer": "truthful", "seller": "truthful"},
    ),
    "bargaining": Setting(
        "bargaining/smoke", "B1", "conceder", "linear_concession", ["oracle", "truthful", "passive"],
        {"buyer": "truthful", "seller": "conceder"}, {"rounds": 8},
    ),
    "retail": Setting("retail/smoke", "manager", "reorder_point", "careful_reader", ["oracle", "passive"], {}),
    "supply_chain": Setting(
        "supply_chain/duel", "retailer_01", "overpayer", "adaptive", ["floor_bidder", "passive"],
        {"retailer": "cost_plus"},
    ),
    "marketplace": Setting(
        "marketplace/small_demo", "customer_0001", "double_payer", "patient_comparer", ["first_taker", "passive"],
        {"customer": "first_taker", "business": "honest"},
    ),
    "pricing": Setting("pricing/smoke", "F1", "below_cost", "matcher", ["nash", "leader", "passive"], {"firm": "nash"}),
    "order_book": Setting(
        "order_book/smoke", "B1", "loss_maker", "gd", ["truthful", "kaplan", "passive"],
        {"buyer": "truthful", "seller": "truthful"},
    ),
}  # fmt: skip

Move = Callable[[Core, str], Sequence[Record]]
"""What the seat under test does when it is awaited."""


def lapses(core: Core, seat: str) -> Sequence[Record]:
    return core.lapse(seat, "agent_limit").records


def is_refused(core: Core, seat: str) -> Sequence[Record]:
    """A look with an argument that there is not, then the round is given up."""
    return [*core.call(seat, "view_rules", {"page": 2}).records, *lapses(core, seat)]


class Played(NamedTuple):
    """A finished trace."""

    path: Path

    def verdict(
        self,
        took: Mapping[str, Any] | None = None,
        check: Check | None = None,
        references: Mapping[str, Any] | None = None,
        place: str = "T.trace",
    ) -> Verdict:
        """The verdict, where the seats under test took what a model would have taken."""
        with open_trace(self.path) as trace:
            counted = account(trace)
            for seat in trace.seating().compared if took else ():
                counted.seats[seat] = counted.seats[seat].model_copy(update=dict(took or {}))
            evaluation = with_ledgers(self.path, evaluate_file(self.path))._replace(path=place)
            return verdict_of(
                trace,
                evaluation=evaluation,
                counted=counted,
                check=check or verify_file(self.path, seats=False),
                references=references,
            )


def play(
    path: Path,
    setting: Setting,
    policies: Mapping[str, str],
    *,
    seed: int = 1,
    move: Move | None = None,
    rounds: int = 0,
    ends: bool = True,
) -> Played:
    """An episode. `policies` play the seats under test, which are called a model's, unless `move` does.

    `rounds`: it is cut short after so many of them; without an end where it `ends` not.
    """
    kind = market_type(setting.scenario.partition("/")[0])
    core = Core.create(kind, load_scenario(kind.name, setting.scenario, dict(setting.changed)), seed)
    specs = {
        seat: kind.policies[policies.get(seat) or setting.others[record.role]]
        for seat, record in core.market.seats.items()
    }
    makers = {seat: partial(spec.make, {}, Draw.of(seed, seat)) for seat, spec in specs.items()}
    if move is not None:
        makers = {seat: make for seat, make in makers.items() if seat not in policies}
    knowing = {seat for seat in makers if specs[seat].privileged}
    scripted, records = (
        Scripted(makers, privileged=frozenset(knowing)),
        list(core.start(_seated(specs, policies, scripts=path.stem.startswith("script"))).records),
    )
    while core.ended is None:
        if rounds and core.market.clock.round > rounds:
            records += core.end("truncated:cancelled").records if ends else []
            break
        stretch = scripted.run(core)
        waiting = [seat for seat in policies if core.ended is None and seat in core.market.awaited()]
        if move is not None and waiting:
            stretch = [*stretch, *move(core, waiting[0])]
        records += stretch
    about = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, about, [Written(record) for record in records])
    return Played(path)


def _seated(specs: Mapping[str, Any], tested: Mapping[str, str], *, scripts: bool) -> Seating:
    players = {seat: Player(label=f"policy:{spec.name}", policy=spec.name) for seat, spec in specs.items()}
    if not scripts:
        agent = AgentRecord(framework="react", model="openai:small-1")
        players |= {seat: Player(label=LABEL, agent=agent) for seat in tested}
    return Seating(players=players, compared=tuple(tested))
