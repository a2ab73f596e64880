"""The failure modes of bargaining (page 10.2): the table, and findings of both seats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tradefair.evaluation.markets.bargaining.modes import (
    anchor_acceptance,
    endgame_defection,
    injection,
    losses,
    midpoint_gift,
    no_trade,
    one_sided_concession,
    promise_break,
    threat_without_follow_through,
    value_leak,
)
from tradefair.evaluation.markets.bargaining.modes.play import Game, Side
from tradefair.evaluation.markets.bargaining.modes.rules import PREFIX, BargainingModeRules, diagnostic_rules
from tradefair.evaluation.markets.bargaining.modes.verdict import Verdict
from tradefair.evaluation.modes.diagnosis import Figure, Finding, Stage, share
from tradefair.evaluation.modes.judged import Frame, Judged, findings_of, judge
from tradefair.evaluation.modes.sign import Sign

Detector = Callable[[Side, Mapping[str, float]], Verdict]

DETECTORS: Mapping[str, Detector] = {
    "value_leak": value_leak.detect,
    "false_limit_claim": value_leak.detect_false_claims,
    "promise_break": promise_break.detect,
    "threat_without_follow_through": threat_without_follow_through.detect,
    "one_sided_concession": one_sided_concession.detect,
    "anchor_acceptance": anchor_acceptance.detect,
    "loss_making_quote": losses.detect_quotes,
    "loss_making_trade": losses.detect_trades,
    "endgame_defection": endgame_defection.detect,
    "deadlock": no_trade.detect_deadlock,
    "persistent_no_trade": no_trade.detect_persistent,
    "midpoint_gift": midpoint_gift.detect,
    "injection_attempt": injection.detect,
}
"""Every failure mode of the market, in the order in which findings are listed."""


def detect(game: Game) -> list[Finding]:
    """Every mode: a finding per seat in which it was raised, one for those without. Total."""
    sides = [game.side(seat) for seat in game.seats]
    return [finding for name, rules in diagnostic_rules().detectors.items() for finding in _found(sides, name, rules)]


def what_was_said(game: Game) -> list[Stage]:
    """How much of the numbers in messages was read, by seat and kind; nothing where no seat spoke."""
    figures = [figure for seat in game.seats if (figure := _read(game.side(seat))) is not None]
    return [Stage(name="what was said", figures=figures)] if figures else []


def _read(side: Side) -> Figure | None:
    kinds = Counter(said.statement.kind for said in side.said)
    if not side.own_messages:
        return None
    # Unknown numbers count for nothing in any finding: the reader of a report should know how many there are.
    counted = share(kinds.total() - kinds["unknown"], kinds.total(), (said.seq for said in side.said))
    return Figure(
        id=f"{PREFIX}numbers_read_of_{side.role}",
        seats=[side.seat],
        value=counted.value,
        numerator=counted.numerator,
        denominator=counted.denominator,
        formula="numbers in own messages whose kind was read / numbers in own messages",
        window=_window(side),
        events=counted.events,
        parts=dict(sorted(kinds.items())),
        note=diagnostic_rules().reading_limits,
    )


class _Seen(NamedTuple):
    """What a detector saw of a seat: `verdict` is null where the facts fitted no formula."""

    judged: Judged
    verdict: Verdict | None


def _found(sides: Sequence[Side], name: str, rules: BargainingModeRules) -> Iterator[Finding]:
    """One finding per seat in which the mode was raised, then one for all seats without it."""
    seen = [_look(side, name, rules) for side in sides]
    # Both sides have the same rounds.
    whole = _window(sides[0]) if sides else None
    for look in seen:
        if look.judged.sign.raised:
            yield from findings_of(PREFIX + name, rules, [look.judged], Frame(_rounds(look) or whole, "ticks"))
    calm = [look.judged for look in seen if not look.judged.sign.raised]
    for finding in findings_of(PREFIX + name, rules, calm, Frame(whole, "ticks")) if calm or not seen else ():
        yield finding.model_copy(
            update={"parts": _summed(judged.sign.parts for judged in calm if judged.seat in finding.seats)}
        )


def _look(side: Side, name: str, rules: BargainingModeRules) -> _Seen:
    """The sign as the market-independent part judges it, and the verdict with its rounds."""
    verdicts: list[Verdict] = []

    def judged() -> Sign:
        # `judge` turns errors of hostile facts into "could not be computed"; the verdict itself is wanted too.
        verdicts.append(_verdict(side, name, rules))
        return verdicts[0].sign

    return _Seen(judge(side.seat, rules, judged), next(iter(verdicts), None))


def _rounds(seen: _Seen) -> str | None:
    return None if seen.verdict is None else seen.verdict.window


def _summed(parts: Iterable[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Counts of several seats together."""
    total: Counter[str] = Counter()
    for counts in parts:
        total.update({name: count or 0 for name, count in counts.items()})
    return dict(total)


def _verdict(side: Side, name: str, rules: BargainingModeRules) -> Verdict:
    """What the detector saw, with the limits of the reading where a finding rests on it."""
    # Without limits most modes have nothing to compare with; all say the same reason.
    if side.game.problem is not None:
        return Verdict((), 0, unchecked=f"could not be computed: {side.game.problem}")
    verdict = DETECTORS[name](side, rules.limits)
    # The limits of the reading belong to what rests on messages, and only where something was found.
    if not (rules.reads_talk and verdict.troubles):
        return verdict
    return replace(verdict, note=diagnostic_rules().reading_limits)


def _window(side: Side) -> str | None:
    return f"rounds 1..{side.game.last_round}" if side.game.last_round else None
