"""Failure modes of calls that the market refuses, and of replies that never became a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.evaluation.modes.play import SeatPlay, Step, by_round
from tradefair.evaluation.read.objects import sequence

_TOLD = 3
"""Values of later tries that a sentence names at most."""


def refused_calls(play: SeatPlay) -> Seen:
    """Own calls that were refused, whatever the code.

    Parts: by code, and what came next in the round: the same call `again`, a `near` one (same tool, refused with the
    same code, other arguments), or nothing else (`abandoned`).
    """
    cases: list[Case] = []
    parts: Counter[str] = Counter({"again": 0, "near": 0, "abandoned": 0})
    calls = 0
    for _, steps in by_round(play.direct()):
        calls += len(steps)
        for place, step in enumerate(steps):
            if step.refused:
                kind, words = _followed(step, steps[place + 1 :])
                parts[step.code or step.status] += 1
                parts[kind] += 1
                cases.append(step.case(f"was refused as {step.code or step.status}, {words}"))
    # Without a further word `parts` would count successes too.
    del parts["repaired"]
    return Seen(cases, calls, {name: float(count) for name, count in parts.items()})


def _followed(step: Step, later: Sequence[Step]) -> tuple[str, str]:
    """What became of a refused call within its round: a part's name, and words."""
    for following in later:
        if following.tool == step.tool and following.acts == step.acts:
            break
    else:
        # Ending the turn is no further try.
        others = next((other.tool for other in later if not other.ends_turn), None)
        return ("repaired", f"then {others} was called") if others else ("abandoned", "then nothing else was tried")
    if following.key == step.key:
        return "again", "then the same call was sent again"
    if following.refused and following.code == step.code:
        tries = [value for other in later if other.tool == step.tool for value in _changed(step, other)]
        return "near", f"then tried with {', '.join(dict.fromkeys(tries[:_TOLD])) or 'other arguments'}"
    return "repaired", "then it was called with other arguments"


def _changed(step: Step, other: Step) -> Iterator[str]:
    """The values of a later try that differ, cut to a few characters."""
    return (str(value)[:20] for name, value in other.arguments.items() if step.arguments.get(name) != value)


def malformed_replies(play: SeatPlay) -> Seen:
    """Replies of a model without a tool call where one was due, or with arguments that are no JSON."""
    replies = [note for note in play.notes_of("model_call") if note.get("role") == "actor"]
    if not replies:
        return unchecked("no reply of a model is noted in the trace")
    cases: list[Case] = []
    silent = 0
    for note in replies:
        number, calls, broken = note.get("round"), sequence(note.get("calls")), note.get("invalid_calls")
        if not isinstance(number, int) or (calls and not broken):
            continue
        silent += not broken
        what = (
            f"with {broken} call{'s' * (broken != 1)} whose arguments are no JSON" if broken else "without a tool call"
        )
        because = f"round {number}: a reply of {len(str(note.get('text') or '')):,} characters, {what}"
        cases.append(Case(_event_of(play, number), number, because))
    return Seen(cases, len(replies), {"no call": silent, "no JSON": len(cases) - silent})


def _event_of(play: SeatPlay, number: int) -> int:
    """The event that a reply led to: the lapse of its round, else the last call up to then. Notes have no number."""
    lapses = [lapse.seq for lapse in play.lapses if lapse.round == number]
    calls = [step.seq for step in play.steps if step.round <= number]
    return next(iter(lapses), max(calls, default=0))


def hallucinated_id(play: SeatPlay) -> Seen:
    """Ids that appeared in nothing that the seat was shown; a privileged seat knows more than it was shown.

    An imported log does not hold what the agent was told: ids that no accepted call has used are not judged there. Once
    an answer was kept as a digest only, an id counts if the market refuses it as unknown, too.
    """
    if play.privileged:
        return unchecked("privileged")
    if play.untold:
        return unchecked("not judged: the trace does not hold what the agent was told")
    invented = [step for step in play.steps if step.unseen]
    cases = [
        step.case(f"names {name[:40]}, which nothing had shown", about=name)
        for step in invented
        for name in step.unseen
    ]
    note = f"{play.unkept} answers are kept as digests: of later ids only refused ones count" if play.unkept else None
    mentions = sum(step.ids for step in play.steps)
    return Seen(cases, mentions, {"distinct": float(len({case.about for case in cases}))}, note=note)
