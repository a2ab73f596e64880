"""Divergence from a reference: what is raised, and where it is located."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluation.audit.runs import Did, did, run_of

from tradefair.evaluation.foreign.audit.references import Reference, divergence, read_reference, reference_of
from tradefair.evaluation.foreign.audit.run import Run

LOOK = did("get_order", {"status": "open", "total": 12.5, "tracking": "7463420"}, order_id="A1")
PAY = did("pay_order", order_id="A1", cents=100)
SHIP = did("ship_order", order_id="A1")
LATE = did("ship_order", "Error: paid orders cannot be shipped", order_id="A1")


def reference(*actions: Did, outputs: tuple[str, ...] = ()) -> Reference:
    made = [{"tool": action.tool, "arguments": dict(action.arguments)} for action in actions]
    found = read_reference(
        {"id": "r1", "actions": made, "outputs": list(outputs)}, lambda tool: not tool.startswith("get")
    )
    assert found is not None
    return found


OTHER = did("pay_order", order_id="B2", cents=1)
SWAP = did("swap", old=["1", "2"], new=["3", "4"])


def says(*outputs: str) -> Reference:
    return reference(outputs=outputs)


ALIKE: dict[str, tuple[Run, Reference]] = {
    "another order of actions": (run_of(LOOK, SHIP, PAY), reference(PAY, SHIP)),
    "a refused attempt that was made good": (run_of(LATE, PAY, SHIP), reference(PAY, SHIP)),
    "other reads": (run_of(PAY, did("list_orders")), reference(LOOK, PAY)),
    "something else, refused": (run_of(did("pay_order", "Error: no", order_id="B2"), PAY), reference(PAY)),
    "a hand-over": (run_of(PAY, did("transfer_to_human", note="x")), reference(PAY)),
    "100 and 100.0": (run_of(did("pay_order", order_id="A1", cents=100.0)), reference(PAY)),
    "pairs in another order": (run_of(SWAP), reference(did("swap", old=["2", "1"], new=["4", "3"]))),
    "outputs said": (run_of("It is $1,012.50, or 8.00, as Agreed."), says("1012.50", "8", "agreed")),
}


@pytest.mark.parametrize(("run", "wanted"), ALIKE.values(), ids=ALIKE)
def test_a_run_that_ends_with_the_references_actions_and_outputs_is_not_raised(run: Run, wanted: Reference) -> None:
    assert divergence(run, wanted) is None


APART: dict[str, tuple[Run, Reference, str, int | None]] = {
    "an action blocked a later one": (run_of("> hi", PAY, LATE, "sorry"), reference(SHIP, PAY), "blocked", 2),
    "in the reference's order: no block": (run_of(PAY, LATE), reference(PAY, SHIP), "missing_action", 3),
    "of another object: no block": (run_of(OTHER, LATE), reference(SHIP, OTHER), "missing_action", 3),
    "arguments": (run_of("hm", did("pay_order", order_id="A1", cents=99)), reference(PAY), "other_action", 2),
    "refused ones count": (run_of(PAY, did("void", "Error: no"), PAY), reference(PAY), "other_action", 3),
    "once more": (run_of(PAY, PAY), reference(PAY), "other_action", 3),
    "other pairs": (run_of(SWAP), reference(did("swap", old=["1", "2"], new=["4", "3"])), "other_action", 1),
    "a number from nowhere; markers and the user's numbers are none": (
        run_of("> 12 shirts?", LOOK, "1. We have 12.\n2. Or 11.", "Yes, 9"), says("10"), "wrong_output", 4
    ),
    "decimals only": (run_of(LOOK, "Sum: 12.51", "1 order"), says("7.25"), "wrong_output", 3),
    "it was at hand": (run_of(LOOK, "no number", "bye"), says("7463420"), "unsaid_output", 4),
    "part of a number is not said": (run_of("1031, 0.10, 10.50"), says("10"), "wrong_output", 1),
    "the hand-over": (run_of("ok", did("transfer_to_human"), "bye"), reference(PAY), "missing_action", 2),
    "the agent's last message": (run_of("ok", "bye", "> bye"), reference(PAY), "missing_action", 2),
    "nothing at all": (run_of(), reference(PAY), "missing_action", None),
}  # fmt: skip


@pytest.mark.parametrize(("run", "wanted", "kind", "step"), APART.values(), ids=APART)
def test_a_divergence_is_located_at_the_first_rule_that_applies(
    run: Run, wanted: Reference, kind: str, step: int | None
) -> None:
    found = divergence(run, wanted)
    assert found is not None
    assert (found.kind, found.step) == (kind, step)
    cited = [turn.step for turn in run.turns if turn.seq == found.seq]
    assert cited == ([] if step is None else [step])


def test_another_run_can_be_the_reference() -> None:
    good = run_of(LOOK, did("pay_order", "Error: no", order_id="A1", cents=1), PAY, SHIP)
    wanted = reference_of(good, "r2")
    assert [action.tool for action in wanted.actions] == ["pay_order", "ship_order"]
    assert divergence(run_of(SHIP, PAY), wanted) is None
    assert divergence(run_of(SHIP), wanted) is not None


@pytest.mark.parametrize("value", [None, [], {"actions": 3}, {"actions": [{"name": "x"}]}, {"actions": ["pay"]}])
def test_what_has_not_the_shape_of_a_reference_is_none(value: Any) -> None:
    assert read_reference(value, lambda tool: True) is None
