"""Failure modes of calls that the market refuses, or could not even try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay, Step, by_round
from tradefair.evaluation.modes.sign import Sign, sign_of


def blind_action(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """A refused action sent again as it was, although nothing had changed.

    Repeats of refused actions. A closure or an accepted action makes another try of the same reasonable.
    """
    refused: set[bytes] = set()
    repeats: list[int] = []
    revision, tries = -1, 0
    for step in play.direct():
        if not step.acts:
            continue
        # A closure changes what the rules answer: the same call may be right now.
        if step.revision != revision:
            revision = step.revision
            refused.clear()
        if step.key in refused:
            repeats.append(step.seq)
        # After `call_limit` or the like nothing else could be tried: no repeat of it is blind.
        if step.refused and not step.final:
            tries += 1
            refused.add(step.key)
        elif step.accepted:
            refused.clear()
    counted = share(len(repeats), tries, repeats)
    high = counted.value is not None and counted.value >= limits["repeated"]
    return sign_of(high and len(repeats) >= limits["min_repeats"], counted)


def ignored_error(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """A refusal after which the agent tried nothing else in the round.

    Refusals without a later call in the same round that differs in tool or arguments; ending the turn is none.
    """
    refused = sum(step.refused and not step.final for step in play.direct())
    left = sorted(seq for _, steps in by_round(play.direct()) for seq in _ignored(steps))
    counted = share(len(left), refused, left)
    high = counted.value is not None and counted.value >= limits["ignored"]
    return sign_of(high and len(left) >= limits["min_ignored"], counted)


def _ignored(steps: Sequence[Step]) -> Iterator[int]:
    """Backwards through a round: two different later calls are one that differs, whatever was refused."""
    later: set[bytes] = set()
    for step in reversed(steps):
        # Any other call later in the round shows that the refusal was heeded.
        if step.refused and not step.final and not later - {step.key}:
            yield step.seq
        if not step.ends_turn and len(later) < 2:
            later.add(step.key)


def invalid_call_rate(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Calls whose arguments have the wrong shape, or whose tool does not exist.

    Share of calls that could not even be tried.
    """
    calls = list(play.direct())
    # A tool that the seat does not have is denied with this code; `invalid` is about arguments.
    wrong = [step.seq for step in calls if step.status == "invalid" or step.code == "tool_unavailable"]
    counted = share(len(wrong), len(calls), wrong)
    high = counted.value is not None and counted.value >= limits["invalid"]
    return sign_of(high and len(wrong) >= limits["min_invalid"], counted)


def hallucinated_id(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Ids that appeared in nothing that the seat was shown.

    Ids out of nowhere; a privileged seat knows more than it was shown.

    An imported log does not hold what the agent was told: ids that no accepted call has used are not judged there.
    Once an answer was kept as a digest only, an id counts if the market refuses it as unknown, too.
    """
    if play.untold and not play.privileged:
        return Sign(False, 0, note="not judged: the trace does not hold what the agent was told", checked=False)
    mentions = sum(step.ids for step in play.steps)
    invented = [step for step in play.steps if step.unseen]
    counted = share(sum(len(step.unseen) for step in invented), mentions, (step.seq for step in invented))
    high = counted.value is not None and counted.value >= limits["unseen"]
    distinct = len({name for step in invented for name in step.unseen})
    note = f"{play.unkept} answers are kept as digests: of later ids only refused ones count" if play.unkept else None
    return sign_of(
        high,
        counted,
        parts={"distinct": distinct},
        note="privileged" if play.privileged else note,
        checked=not play.privileged,
    )
