"""The first decision that differs between two traces of the same luck."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.compare.comparison import Divergence
from tradefair.evaluation.compare.divergence import decisions, first_divergence
from tradefair.tracestore import Written, open_trace, write_trace

Acts = Sequence[tuple[str, str, dict[str, object]]]


def talk(path: Path, rounds: Sequence[Acts]) -> Path:
    """The teaching market with talk; a seat that does not act in a phase lapses at its end."""
    core = Core.create(market_type("teaching"), load_scenario("teaching", "talk", {"rounds": len(rounds)}), 1)
    records = list(core.start().records)
    for acts in rounds:
        for phase in ("say", "claim"):
            for seat, tool, arguments in acts:
                if tool == phase:
                    records += core.call(seat, tool, arguments).records
            for seat in ("P1", "P2"):
                if core.awaits(seat) and core.market.clock.phase == ("talk" if phase == "say" else "claim"):
                    records += core.lapse(seat, "agent_limit").records
    write_trace(path, core.manifest, {}, [Written(record) for record in records])
    return path


def compared(a: Path, b: Path) -> Divergence | None:
    with open_trace(a) as one, open_trace(b) as other:
        return first_divergence(one, other)


def half(**changes: dict[str, object]) -> Acts:
    acts: list[tuple[str, str, dict[str, object]]] = []
    for tool, plain in (("say", {"text": "half"}), ("claim", {"slices": 5})):
        acts += [(seat, tool, changes.get(f"{seat}_{tool}", dict[str, object](plain))) for seat in ("P1", "P2")]
    return acts


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return talk(tmp_path / "plain.trace", [half(), half()])


def test_the_same_decisions_do_not_diverge_in_whatever_order_they_arrived(tmp_path: Path, plain: Path) -> None:
    backwards = talk(tmp_path / "backwards.trace", [list(reversed(half())), half()])
    with open_trace(plain) as one, open_trace(backwards) as other:
        assert [decision.seat for decision in decisions(one)][:2] == ["P1", "P2"]
        assert [decision.seat for decision in decisions(other)][:2] == ["P2", "P1"]
    assert compared(plain, backwards) is None


def test_other_arguments_are_named_with_both_decisions(tmp_path: Path, plain: Path) -> None:
    greedy = talk(tmp_path / "greedy.trace", [half(), half(P2_claim={"slices": 7})])
    found = compared(plain, greedy)
    assert found is not None
    assert (found.round, found.phase, found.seat, found.what) == (2, "claim", "P2", "arguments")
    assert found.a is not None
    assert found.b is not None
    assert (found.a.arguments, found.b.arguments) == ({"slices": 5}, {"slices": 7})
    with open_trace(greedy) as trace:
        event = next(event for event in trace.decoded() if event["seq"] == found.b.seq)
    assert (event["seat"], event["arguments"]) == ("P2", {"slices": 7})


def test_a_refusal_and_a_lapse_are_decisions_too(tmp_path: Path, plain: Path) -> None:
    refused = talk(tmp_path / "refused.trace", [half(P1_claim={"slices": 50}), half()])
    found = compared(plain, refused)
    assert found is not None
    assert found.what == "arguments"
    assert found.b is not None
    assert (found.b.status, found.b.error) == ("rejected", "too_many_slices")
    silent = talk(tmp_path / "silent.trace", [[act for act in half() if act[:2] != ("P1", "say")], half()])
    found = compared(plain, silent)
    assert found is not None
    assert (found.round, found.seat, found.what) == (1, "P1", "tool")
    assert found.b is not None
    assert (found.b.tool, found.b.status) == (None, "lapsed")


def test_a_shorter_trace_diverges_where_it_ends(tmp_path: Path, plain: Path) -> None:
    short = talk(tmp_path / "short.trace", [half()])
    found = compared(short, plain)
    assert found is not None
    assert (found.round, found.seat, found.a) == (2, "P1", None)
    assert found.what == "A did nothing where the other called say"
