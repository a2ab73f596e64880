"""Fifty episodes of seven markets, each verdict verbatim beside its numbers.

`python -m benchmarks.verdicts` writes docs/explanation/verdicts.md anew, in a few minutes; a person reads
what has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.verdicts.play import REPLIES, SETTINGS, Move, Setting, is_refused, lapses, play
from tradefair.contract.kernel.core import Core, Record
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.verdict.amounts import in_money
from tradefair.evaluation.verdict.ledger_text import amount_text, place_text
from tradefair.evaluation.verdict.verdict import SeatVerdict, Verdict

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "verdicts.md"
_TOP = 3
"""Turns in a row of a table, the costliest ones."""


class Player(NamedTuple):
    """Who plays: a policy, or a stand-in for a model that makes a `move` when it is awaited."""

    what: str
    policy: str = ""
    move: Move | None = None
    took: Mapping[str, Any] | None = None


class Field(NamedTuple):
    """The preset in which policies play: good, mediocre and terrible ones."""

    setting: Setting
    policies: Mapping[str, str]


IDLE = (
    Player("a script that never acts", "passive"),
    Player("a model that never calls a tool", move=lapses, took={"silent": {"text": 9}}),
    Player("a model whose calls are refused", move=is_refused, took={}),
    Player("a model whose calls cannot be read", move=lapses, took={"invalid_calls": 180}),
)

FIELDS: Mapping[str, Field] = {
    "double_auction": Field(
        Setting(
            "double_auction/bazaar", "B1", "", "", ["truthful", "gd", "passive"],
            {"buyer": "zip", "seller": "zip"}, {"rounds": 15},
        ),
        {"shading_20": "good", "gd": "mediocre", "stubborn": "terrible"},
    ),
    "bargaining": Field(
        Setting(
            "bargaining/pact", "B1", "", "", ["truthful", "linear_concession", "passive"],
            {"buyer": "truthful", "seller": "boulware"},
        ),
        {"linear_concession": "good", "truthful": "mediocre", "gifter": "terrible"},
    ),
    "retail": Field(
        Setting("retail/smoke", "manager", "", "", ["reorder_point", "careful_reader", "passive"], {}),
        {"careful_reader": "good", "reorder_point": "mediocre", "giveaway": "terrible"},
    ),
    "supply_chain": Field(
        Setting(
            "supply_chain/duel", "retailer_01", "", "", ["cost_plus", "adaptive", "passive"], {"retailer": "skill"}
        ),
        {"floor_bidder": "good", "adaptive": "mediocre", "overspender": "terrible"},
    ),
    "marketplace": Field(
        Setting(
            "marketplace/near_fits", "customer_0001", "", "", ["first_taker", "patient_comparer", "passive"],
            {"customer": "item_searcher", "business": "honest"},
        ),
        {"patient_comparer": "good", "first_taker": "mediocre", "double_payer": "terrible"},
    ),
    "pricing": Field(
        Setting("pricing/duel", "F1", "", "", ["nash", "best_reply", "passive"], {"firm": "matcher"}, {"rounds": 20}),
        {"undercutter": "good", "best_reply": "mediocre", "below_cost": "terrible"},
    ),
    "order_book": Field(
        Setting(
            "order_book/smith", "B1", "", "", ["truthful", "kaplan", "passive"],
            {"buyer": "zip", "seller": "zip"}, {"periods": 2},
        ),
        {"kaplan": "good", "zi_c": "mediocre", "loss_maker": "terrible"},
    ),
}  # fmt: skip


def bids_40(core: Core, seat: str) -> Sequence[Record]:
    """The same bid in every round, whatever it is worth."""
    return core.call(seat, "submit_quote", {"price": 40}).records


class Told(NamedTuple):
    """One of the fifty: who played, and the verdict."""

    what: str
    verdict: Verdict


def episodes(folder: Path, market: str) -> Iterator[Told]:
    """Those of a market."""
    field, policies = FIELDS[market]
    for policy, how in policies.items():
        yield _told(folder, market, field, Player(f"{how}: `{policy}`", policy))
    if market == "double_auction":
        yield _told(folder, market, field, Player("terrible: bids 40 for ever", move=bids_40, took={}))
    for player in IDLE:
        yield _told(folder, market, SETTINGS[market], player)


def _told(folder: Path, market: str, setting: Setting, player: Player) -> Told:
    name = player.what.replace(" ", "-").replace("`", "").replace(":", "")
    script = "script-" * (player.took is None)
    played = play(
        folder / f"{script}{market}-{name}.trace", setting, {setting.seat: player.policy or "passive"}, move=player.move
    )
    took = None if player.took is None else {**REPLIES, **player.took}
    rivals = ", ".join(f"`{policy}`" for policy in dict.fromkeys(setting.others.values()))
    return Told(
        player.what + (f", other seats: {rivals}" if rivals else ""),
        played.verdict(took, references=references(folder, setting)),
    )


def references(folder: Path, setting: Setting) -> dict[str, Any]:
    """What other policies reach in this seat, each played once."""
    found: dict[str, Any] = {}
    for policy in setting.references:
        path = folder / f"script-{setting.scenario.replace('/', '-')}-{policy}.trace"
        if not path.exists():
            play(path, setting, {setting.seat: policy})
        found[policy] = evaluate_file(path).outcome
    return found


def page(sections: Mapping[str, Sequence[str]]) -> str:
    """The page: all sections by market, numbered."""
    parts, number = [_HEAD], count(1)
    for market, texts in sections.items():
        parts.append(f"## {market.replace('_', ' ').capitalize()}\n")
        parts += [f"**{next(number)}. {text}" for text in texts]
    return "\n".join(parts)


def _section(told: Told) -> str:
    said = "\n>\n".join(f"> {sentence}" for sentence in told.verdict.sentences)
    return f"{told.what}**\n\n{said}\n\n{_table(in_money(told.verdict).seats[0])}\n"


def _table(seat: SeatVerdict) -> str:
    ledger = seat.ledger
    cells: dict[str, str] = {
        f"score, {seat.score.unit}": "–" if seat.score.value is None else amount_text(seat.score.value)
    }
    if ledger is not None:
        turns = [
            f"{place_text(ledger, turn, word=seat.round_word)}: {amount_text(turn.lost)}"
            f" ({amount_text(turn.band[0])} to {amount_text(turn.band[1])})"
            for turn in ledger.lost[:_TOP]
        ]
        cells |= {
            "gap": amount_text(ledger.gap),
            "reachable": amount_text(ledger.reachable),
            "of": ", ".join(f"{policy} {amount_text(ledger.known[policy])}" for policy in ledger.of),
            "turns": f"{len(ledger.turns)}",
            "lost by turn (band)": "; ".join(turns) or "–",
        }
    rule = "|".join("---" for _ in cells)
    return f"| {' | '.join(cells)} |\n|{rule}|\n| {' | '.join(cells.values())} |"


_HEAD = """# Fifty verdicts

What does `tradefair evaluate` say of good, mediocre and terrible players, and is it true?

Each verdict stands here as it is printed, with the numbers of its [ledger](ledger.md) below: the score, the gap to the
best known policies, what these earn, and the turns that lost most, each with the least and the largest loss by a single
policy. No model played: scripts sit in the seat, or a stand-in answers as a model would that cannot act. A heading says
who played, and which scripts had the other seats; `good` and `mediocre` are by what they earned here.

Read for a third time, as if for the first: 4 of 50 misled. One called a policy the best known that a bundled one beat,
two told a "first mistake" behind an earlier one of another kind, and one could not say where a double payment was lost.
Since then every reference is among the best known, and no mistake is called the first. The last one stands (32): half
of the policies could not have finished the purchase from there.

<!-- Written by `python -m benchmarks.verdicts`. -->
"""


def written(market: str) -> list[str]:
    """The sections of a market."""
    with TemporaryDirectory() as folder:
        return [_section(told) for told in episodes(Path(folder), market)]


def main() -> None:
    """Write the page anew."""
    with ProcessPoolExecutor() as pool:
        PAGE.write_text(page(dict(zip(FIELDS, pool.map(written, FIELDS), strict=True))), encoding="utf-8")
