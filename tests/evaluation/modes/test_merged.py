"""One fact, one finding: which of several findings tells a decision, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tradefair.evaluation.modes.diagnosis import Case, Detector, Finding, Seen
from tradefair.evaluation.modes.judged import Frame, Sight, findings_of, is_raised, longest_run, look
from tradefair.evaluation.modes.merged import fact_of, merge
from tradefair.evaluation.modes.table import Mode, ModeTable, Term

FRAME = Frame("m.", "points", {"A": "buyer", "B": "seller"}, {"buyer": {"quote": "bid"}})
ROW: dict[str, Any] = {
    **{"version": 1, "sentence": "{seat} {quote} {count} of {of}, {share}, {amount} {unit} {odd}"},
    **{"counts": "cases", "of": "rounds", "unit": "rounds", "raised": ({"count": 1},), "fact": "quote"},
    **{"provoked_by": "x", "not_by": "y"},
}


def mode(**changes: Any) -> Mode:
    return Mode.model_validate({**ROW, **changes})


def case(number: int, because: str = "", **fields: Any) -> Case:
    return Case(10 * number, number, because or f"round {number}: x", **fields)


def sight(name: str, cases: Sequence[Case], seat: str = "A", **changes: Any) -> Sight:
    return Sight(mode(**changes), FRAME, name, seat, Seen(cases, 10), "raised")


def told(*sights: Sight) -> list[tuple[str, int, int]]:
    merge(sights)
    return [(s.status, len(s.seen.cases) - len(s.gone), sum(map(len, s.also.values()))) for s in sights]


def test_the_upper_row_tells_a_fact_and_keeps_the_others_sentence() -> None:
    upper, lower = sight("a", [case(1), case(2)]), sight("b", [case(2, "round 2: y"), case(3), case(4)])
    assert told(upper, lower) == [("raised", 2, 1), ("raised", 2, 0)]
    assert upper.also == {1: ["round 2: y"]}
    assert lower.gone == {0}


def test_a_cause_comes_before_the_damage_whatever_the_order() -> None:
    damage, cause = sight("a", [case(1)], level="damage"), sight("b", [case(1)])
    assert told(damage, cause) == [("merged", 1, 0), ("raised", 1, 0)]
    assert damage.note == "told by b"


@pytest.mark.parametrize(("shared", "status"), [(1, "raised"), (2, "raised"), (3, "merged")])
def test_a_finding_that_keeps_less_than_half_of_its_cases_is_merged(shared: int, status: str) -> None:
    upper = sight("a", [case(n) for n in range(1, shared + 1)])
    lower = sight("b", [case(n) for n in range(1, 5)])
    assert told(upper, lower)[1][0] == status


def test_of_a_sentence_that_says_half_the_same_only_the_new_half_is_kept() -> None:
    upper = sight("a", [case(1, "round 1: bid 0 in any of rounds 0 to 5; a bid of 4 would have traded")])
    told(upper, sight("b", [case(1, "round 1: bid 0; a bid of 4 would have traded; an ask of 3 was open")]))
    assert upper.also == {0: ["an ask of 3 was open"]}


def test_what_a_merged_finding_still_had_is_free_for_the_next() -> None:
    first, second = sight("a", [case(1), case(2)]), sight("b", [case(1), case(2), case(3)])
    third = sight("c", [case(3)])
    assert [status for status, _, _ in told(first, second, third)] == ["raised", "merged", "raised"]


def test_a_repeated_sentence_is_not_said_twice() -> None:
    upper, lower = sight("a", [case(1)]), sight("b", [case(1)])
    assert told(upper, lower) == [("raised", 1, 0), ("merged", 1, 0)]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({}, {}, True),
        ({"seat": "B"}, {}, False),
        ({"fact": "order"}, {}, False),
        ({"cases": [case(1, about="P1")]}, {}, False),
        ({"cases": [case(2)]}, {}, False),
        ({"cases": [Case(99, 1, "round 1: z")]}, {}, True),
        ({"fact": "action", "cases": [case(1, fact="quote")]}, {}, True),
        ({"fact": "looks"}, {"fact": "looks"}, True),
        ({"fact": "looks"}, {"fact": "protocol"}, False),
        ({"fact": "looks", "cases": [Case(99, 1, "round 1: z")]}, {"fact": "looks"}, False),
    ],
)
def test_a_decision_is_seat_kind_round_and_object_and_a_step_of_work_is_its_call(
    first: dict[str, Any], second: dict[str, Any], same: bool
) -> None:
    made: list[dict[str, Any]] = [{"cases": [case(1)], **changes} for changes in (first, second)]
    a, b = (sight("x", **fields) for fields in made)
    assert (fact_of(a, a.seen.cases[0]) == fact_of(b, b.seen.cases[0])) is same


def test_only_raised_findings_tell_facts() -> None:
    condition, other = sight("a", [case(1)]), sight("b", [case(1)])
    condition.status = "condition"
    assert told(condition, other) == [("condition", 1, 0), ("raised", 1, 0)]


# --- terms ------------------------------------------------------------------------------------------------------------

SEEN = Seen([case(1, amount=0.1), case(2, amount=0.2), case(4, amount=0.4)], 2, {"near": 3.0})


@pytest.mark.parametrize(
    ("term", "holds"),
    [
        ({"count": 3}, True),
        ({"count": 4}, False),
        ({"amount": 0.7}, True),
        ({"amount": 0.8}, False),
        ({"share": 0.35}, True),
        ({"share": 0.36}, False),
        ({"run": 2}, True),
        ({"run": 3}, False),
        ({"parts": {"near": 3}}, True),
        ({"parts": {"near": 4}}, False),
        ({"count": 3, "share": 0.36}, False),
        ({"count": 4, "share": 0.35}, False),
        ({"count": 3, "run": 2, "share": 0.35, "amount": 0.7}, True),
    ],
)
def test_every_term_of_a_row_is_at_least(term: dict[str, Any], holds: bool) -> None:
    row = mode(raised=({"count": 99}, term))
    assert is_raised(row, SEEN) == (Term.model_validate(term) if holds else None)


def test_without_opportunities_no_share_is_reached() -> None:
    assert is_raised(mode(raised=({"share": 0.01},)), Seen([case(1)], 0)) is None


@pytest.mark.parametrize(
    ("rounds", "run"), [([], 0), ([5], 1), ([3, 1, 2], 3), ([1, 1, 2, 4, 5, 6], 3), ([1, 3, 5], 1)]
)
def test_a_run_counts_consecutive_rounds_once(rounds: list[int], run: int) -> None:
    assert longest_run(rounds) == run


# --- one finding a seat -----------------------------------------------------------------------------------------------


def found(seen: dict[str, Seen], **changes: Any) -> list[Finding]:
    detectors: dict[str, Detector] = {"x": seen.__getitem__}
    table = ModeTable({"x": mode(**changes)}, detectors, {"x": {}}, "")
    return findings_of(look(table, {seat: seat for seat in seen}, FRAME), [(table, FRAME)])


def test_raised_seats_have_a_finding_each_and_the_others_share_one() -> None:
    cases = [case(2, amount=4), case(1, amount=2)]
    (first, clear) = found({"A": Seen(cases, 8), "B": Seen([], 8)})
    assert (first.seats, first.status, first.count, first.of, first.amount, first.share) == (
        ["A"],
        "raised",
        2,
        8,
        6,
        0.75,
    )
    assert first.says == "A bid 2 of 8, 75%, 6 points odd"
    assert [c.seq for c in first.cases] == [10, 20]
    assert (clear.seats, clear.status, clear.count, clear.share) == (["B"], "clear", 0, 0.0)


@pytest.mark.parametrize(
    ("least", "of", "status", "note"),
    [
        (3, 2, "unchecked", "2 rounds, 3 needed"),
        (3, 3, "clear", None),
        (1, 0, "unchecked", "0 rounds, 1 needed"),
        (0.5, 0, "unchecked", "0 rounds, 1 needed"),
        (0, 0, "clear", None),
    ],
)
def test_too_few_opportunities_are_not_judged(least: float, of: float, status: str, note: str | None) -> None:
    (finding,) = found({"A": Seen([], of)}, least_of=least)
    assert (finding.status, finding.note) == (status, note)


def test_what_was_not_read_keeps_a_mode_from_being_clear_and_never_from_being_raised() -> None:
    unread = [case(3)]
    assert found({"A": Seen([], 4, unread=unread)})[0].note == "1 message not read"
    assert found({"A": Seen([], 4, unread=unread * 2)})[0].note == "2 messages not read"
    assert found({"A": Seen([case(1)], 4, unread=unread)})[0].status == "raised"
    (few,) = found({"A": Seen([case(1)], 4, unread=unread)}, raised=({"count": 2},))
    assert few.status == "clear"


def test_only_the_roles_of_the_row_are_judged_and_an_unjudged_mode_is_named() -> None:
    assert [f.seats for f in found({"A": Seen([], 4), "B": Seen([], 4)}, judged=("seller",))] == [["B"]]
    (nobody,) = found({"A": Seen([], 4)}, judged=("seller",))
    assert (nobody.seats, nobody.status) == ([], "unchecked")


def test_what_the_trace_cannot_tell_is_not_asked() -> None:
    detectors: dict[str, Detector] = {"x": lambda seat: Seen([], 4)}  # pyright: ignore[reportUnknownLambdaType]
    table = ModeTable({"x": mode(needs=("looks",))}, detectors, {"x": {}}, "")
    frame = FRAME._replace(lacking={"looks": "an imported log"})
    (seen,) = look(table, {"A": None}, frame)
    assert (seen.status, seen.note) == ("unchecked", "an imported log")


def test_a_fault_of_a_detector_is_loud_in_tests_and_a_note_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seat: object) -> Seen:
        raise LookupError("no round")

    table = ModeTable({"x": mode()}, {"x": broken}, {"x": {}}, "")
    with pytest.raises(LookupError):
        look(table, {"A": None}, FRAME)
    monkeypatch.delenv("TRADEFAIR_STRICT")
    (seen,) = look(table, {"A": None}, FRAME)
    assert (seen.status, seen.note) == ("unchecked", "cannot be computed: LookupError('no round')")


def test_fifty_cases_are_kept_and_a_long_sentence_is_cut() -> None:
    (finding,) = found({"A": Seen([case(n, "round 1: " + "x" * 300) for n in range(1, 61)], 60)})
    assert (finding.count, len(finding.cases), len(finding.cases[0].because)) == (60, 50, 160)


def test_notes_of_several_seats_name_them() -> None:
    seen = {"A": Seen([], 4, note="short"), "B": Seen([], 4)}
    assert found(seen)[0].note == "A: short"
    assert found({"A": Seen([], 4, note="short"), "B": Seen([], 4, note="short")})[0].note == "short"
