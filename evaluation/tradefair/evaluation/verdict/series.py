"""The verdict on a series: episodes of one scenario on several seeds, or whatever a folder holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tradefair.contract.text import clean_line
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.headline import Block, headline_of
from tradefair.evaluation.ledger import LedgerSeries, ledger_series
from tradefair.evaluation.phrases import phrases_for
from tradefair.evaluation.statistics.paired import interval, mean_sd
from tradefair.evaluation.verdict.amounts import count, did, in_money, listed, name, number
from tradefair.evaluation.verdict.together import beside_all, figures_of, mean_of, said_of, same
from tradefair.evaluation.verdict.verdict import (
    Beside,
    Mistake,
    NextStep,
    Reproduced,
    Score,
    SeatKind,
    SeatVerdict,
    Status,
    Trouble,
    TroubleKind,
    Verdict,
)
from tradefair.evaluation.verdict.words import (
    IDLE,
    INSTEAD,
    MAX_CHARACTERS,
    MAX_SENTENCES,
    effort,
    fitted,
    mistake_text,
    total,
    where,
)
from tradefair.evaluation.wings import of_wing

_DID = {
    "unsound": "the trace is not reproduced",
    "unread": "the trace cannot be read",
    "provider_failed": "the provider failed",
    "never_called": "the agent never called a tool",
    "malformed": "no call had arguments that were JSON",
    "unknown_tools": "only tools were called that do not exist",
    "all_refused": "all calls were refused",
}
_ORDER: tuple[Status, ...] = ("unsound", "failed", "running", "stopped", "played", "idle")
_MAX_SEATS = 3
_TELLING = "seeds on which there is something to win"


class _Row(NamedTuple):
    """One seat of one episode."""

    episode: Verdict
    seat: SeatVerdict


def verdict_of_series(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on several episodes, in their order; of one it is that one's own.

    Means are over episodes, with Student's 95 % interval; a reference is named only where it was played in all of them.
    Never raises.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    runs = [verdict.foreign for verdict in verdicts if verdict.foreign]
    if runs and len(runs) == len(verdicts):
        return of_wing("foreign.of_runs:series_of_runs")(verdicts, runs)
    rows = [_Row(episode, seat) for episode in verdicts for seat in episode.seats]
    players: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        players.setdefault((row.seat.player, row.seat.score.metric), []).append(row)
    seeds = tuple(dict.fromkeys(seed for episode in verdicts for seed in episode.seeds))
    informative, unknown = _informative(rows)
    verdict = Verdict(
        kind="series",
        status=_status(verdicts),
        trouble=_trouble(verdicts),
        market=same([episode.market for episode in verdicts], ""),
        scenario=same([episode.scenario for episode in verdicts], ""),
        seeds=seeds,
        seats=tuple(_merged(group) for group in players.values()),
        effort=total([episode.effort for episode in verdicts]),
        informative=informative,
        unknown_stakes=unknown,
        reproduced=_reproduced(verdicts),
        next=_steps(verdicts, rows, informative, seeds),
        versions=same([episode.versions for episode in verdicts], {}),
        world=same([episode.world for episode in verdicts], ""),
    )
    said = map(fitted, _sentences(in_money(verdict), len(verdicts)))
    return verdict.saying(filter(None, [*said, clean_line(verdict.world)]))


def _merged(rows: Sequence[_Row]) -> SeatVerdict:
    """One player over its episodes; the seat is "" where it sat in several."""
    seats = [row.seat for row in rows]
    beside = beside_all(seats)
    headline, between = _headline(rows, beside)
    return SeatVerdict(
        seat=same([row.seat.seat for row in rows], ""),
        role=same([row.seat.role for row in rows], ""),
        player=rows[0].seat.player,
        kind=_kind_of_all(rows),
        score=_mean_score(rows),
        headline=headline,
        between=between,
        share=_mean_of_all([row.seat.share for row in rows]),
        share_of=same([row.seat.share_of for row in rows], ""),
        beside=beside,
        referenced=all(row.seat.referenced for row in rows),
        rounds=sum(row.seat.rounds for row in rows),
        lapsed=sum(row.seat.lapsed for row in rows),
        round_word=same([row.seat.round_word for row in rows], "round"),
        mistake=_mistake(rows),
        gap=_mean_of_all([row.seat.gap for row in rows]),
        reachable=_mean_of_all([row.seat.reachable for row in rows]),
        ledgers=_ledgers(rows),
        raised=sum(row.seat.raised > 0 for row in rows),
        checked=max(row.seat.checked for row in rows),
        unchecked=min(row.seat.unchecked for row in rows),
        effort=total([row.seat.effort for row in rows]),
        acted=any(row.seat.acted for row in rows),
        trouble=next((row.seat.trouble for row in rows if row.seat.trouble), None),
    )


def _kind_of_all(rows: Sequence[_Row]) -> SeatKind:
    """Who decided in all episodes; unknown where they differ."""
    kinds: set[SeatKind] = {row.seat.kind for row in rows}
    return kinds.pop() if len(kinds) == 1 else "unknown"


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean; null where one of them is not known."""
    return None if None in values else mean_of(values)


def _mean_score(rows: Sequence[_Row]) -> Score:
    """The first score with the mean over episodes in its place."""
    seats, score = [row.seat for row in rows], rows[0].seat.score
    # Seats of one episode share its luck: their mean is one observation.
    means = [mean_of([row.seat.score.value for row in group]) for group in _by_episode(rows)]
    values = [mean for mean in means if mean is not None]
    value = mean_sd(values)[0]
    low, high = interval(values) or (None, None)
    said = ", ".join(filter(None, [f"{' '.join(did(score, value, score.unit))} on average", said_of(seats)]))
    figures = {"value": value, "said": said, "figures": figures_of(seats), "low": low, "high": high}
    return score.model_copy(update=figures)


def _ledgers(rows: Sequence[_Row]) -> LedgerSeries | None:
    return ledger_series([[row.seat.ledger for row in group if row.seat.ledger] for group in _by_episode(rows)])


def _by_episode(rows: Sequence[_Row]) -> Iterable[Sequence[_Row]]:
    found: dict[int, list[_Row]] = {}
    for row in rows:
        found.setdefault(id(row.episode), []).append(row)
    return found.values()


def _headline(rows: Sequence[_Row], beside: Sequence[Beside]) -> tuple[float | None, tuple[str, ...]]:
    """The headline over all seeds: the ratio of means, where every episode has its place."""
    if any(row.seat.headline is None for row in rows):
        return None, ()
    declared = evaluator_of(rows[0].episode.market).headline
    if declared is None:
        return None, ()
    blocks: dict[int, Block] = {}
    for row in rows:
        known = {reference.name: reference.value or 0.0 for reference in row.seat.beside}
        if not row.episode.seeds or not {declared.naive, declared.best} <= known.keys():
            return None, ()
        blocks[row.episode.seeds[0]] = Block(row.seat.score.value or 0.0, known[declared.naive], known[declared.best])
    value = headline_of(declared, blocks).value
    return value, () if value is None else (declared.naive, declared.best)


def _dearest(rows: Sequence[_Row]) -> tuple[_Row, int] | None:
    """The costliest instance of the mode that comes first in most episodes, and in how many it does."""
    # A seat that never acted has only the echoes of its trouble.
    awake = [row for row in rows if row.seat.trouble is None or row.seat.trouble.kind not in IDLE]
    modes = Counter(row.seat.mistake.mode for row in awake if row.seat.mistake)
    if not modes:
        return None
    # The first of equally frequent ones, in the order of the episodes.
    ((mode, _),) = modes.most_common(1)
    alike = [row for row in awake if row.seat.mistake and row.seat.mistake.mode == mode]
    # Several seats of one episode are one.
    times = len({id(row.episode) for row in alike})
    return max(alike, key=lambda row: (row.seat.mistake and row.seat.mistake.lost) or 0.0), times


def _mistake(rows: Sequence[_Row]) -> Mistake | None:
    found = _dearest(rows)
    if found is None or found[0].seat.mistake is None:
        return None
    (seed, *_) = (*found[0].episode.seeds, None)
    return found[0].seat.mistake.model_copy(update={"episodes": found[1], "seed": seed})


def _informative(rows: Sequence[_Row]) -> tuple[int | None, int]:
    """Seeds on which a seat had something to win, and those of them of which it is not known."""
    stakes: dict[int, list[float | None]] = {}
    for row in rows:
        for seed in row.episode.seeds:
            stakes.setdefault(seed, []).append(row.seat.at_stake)
    if not stakes:
        return None, 0
    # What is not known counts as something to win.
    known = [seed for seed, found in stakes.items() if any(stake is None or stake > 0 for stake in found)]
    return len(known), sum(None in found for found in stakes.values())


def _trouble(verdicts: Sequence[Verdict]) -> Trouble | None:
    """The trouble of most episodes among those that leave no score, and how many have it."""
    kinds: Counter[TroubleKind] = Counter(
        episode.trouble.kind for episode in verdicts if episode.trouble and episode.trouble.kind in (*INSTEAD, "unread")
    )
    if not kinds:
        return None
    ((kind, times),) = kinds.most_common(1)
    exits = max(episode.exit_code for episode in verdicts)
    others = kinds.total() - times
    more = f"; {count(others, 'other')} had trouble too" if others else ""
    text = f"In {number(times)} of {count(len(verdicts), 'episode')} {_DID.get(kind, kind)}{more}."
    return Trouble(kind=kind, text=text, exit=exits)


def _status(verdicts: Sequence[Verdict]) -> Status:
    """The first of the list that some episode has; idle only where all are."""
    found: list[Status] = [episode.status for episode in verdicts]
    return min(found, key=_ORDER.index) if found else "failed"


def _reproduced(verdicts: Sequence[Verdict]) -> Reproduced:
    checks = [episode.reproduced for episode in verdicts]
    asked = [check for check in checks if check.state not in ("not_checked", "intact")]
    state: Any = same([check.state for check in checks], "not_checked")
    return Reproduced(
        state=state,
        events=sum(check.events for check in checks),
        copied=sum(check.copied for check in checks),
        traces=len(checks),
        sound=sum(check.state in ("reproduced", "up_to") for check in checks) if asked else None,
    )


def _steps(
    verdicts: Sequence[Verdict], rows: Sequence[_Row], informative: int | None, seeds: Sequence[int]
) -> tuple[NextStep, ...]:
    """What to do about seeds that say nothing; then the steps of the episode with the dearest mistake, or the first."""
    steps: list[NextStep] = []
    if informative is not None and informative < len(seeds) and (way := _way(rows)):
        steps = [NextStep(command=f"tradefair play {rows[0].episode.market} {way}", why=_TELLING)]
    found = _dearest(rows)
    cited = [found[0].episode] if found else list(verdicts)
    return (*steps, *cited[0].next) if cited else ()


def _way(rows: Sequence[_Row]) -> str:
    """Options of `play` with which every seed has something to win; empty where the market names no such scenario."""
    first, seeds = rows[0], len({seed for row in rows for seed in row.episode.seeds})
    words = phrases_for(evaluator_of(first.episode.market).phrases, first.seat.role)
    return f"--scenario {words['informative']} --seeds {seeds}" if "informative" in words else ""


def _sentences(verdict: Verdict, episodes: int) -> list[str]:
    said = [verdict.trouble.text] if verdict.trouble else []
    said.append(_score(verdict, episodes))
    said += filter(None, [_uninformative(verdict)])
    # Of an agent that never acted there is no more to say than that.
    if verdict.status != "idle" and verdict.seats:
        said += _mistaken(verdict.seats, episodes)
    unknown = ""
    if verdict.unknown_stakes:
        some = "" if verdict.unknown_stakes == len(verdict.seeds) else f" on {count(verdict.unknown_stakes, 'seed')}"
        unknown = f"; what there was to win is not known{some}"
    closing = f"{effort(verdict.seats, verdict)}{unknown}; {_checked(verdict.reproduced)}."
    return [*said[: MAX_SENTENCES - 1], closing]


def _uninformative(verdict: Verdict) -> str:
    """On how many seeds there was nothing to win; "" where there was on all."""
    seeds = len(verdict.seeds)
    if verdict.informative is not None and verdict.informative < seeds:
        options = [step.command.split(" --")[1] for step in verdict.next if step.why == _TELLING]
        ways = " or ".join(f"`--{option}`" for option in options)
        nothing = f"On {number(seeds - verdict.informative)} of {count(seeds, 'seed')} the seat had nothing to win"
        return f"{nothing}, whoever plays{f'; take {ways}' if ways else ''}."
    return ""


def _score(verdict: Verdict, episodes: int) -> str:
    """The mean of each player over its episodes; of many players the best and the worst."""
    seats, seeds = verdict.seats, len(verdict.seeds)
    over = f"over {count(seeds, 'seed') if seeds == episodes else count(episodes, 'episode')}"
    if len(seats) == 1:
        (seat,) = seats
        spread = ""
        # Episodes that are all alike say nothing of how far others lie apart.
        if seat.score.low is not None and seat.score.high is not None and seat.score.low < seat.score.high:
            spread = f" (95 % interval {number(seat.score.low)} to {number(seat.score.high)})"
        named = [_apart(seat, row, row.value) for row in seat.beside[:3] if row.value is not None]
        said = f"{name(seat.player)} {seat.score.said} {where(seat, verdict)} {over}{spread}"
        beside = [f"; {', '.join(named[:shown])} on the same seeds" for shown in range(len(named), 0, -1)]
        # What does not fit is left out from the end.
        return next((f"{said}{tail}." for tail in beside if len(said) + len(tail) < MAX_CHARACTERS), f"{said}.")
    place = f"in {name(verdict.scenario or 'several scenarios')} {over}"
    if not seats:
        return f"No seat was under test {place}."
    sentence = f"{listed([f'{name(seat.player)} {seat.score.said}' for seat in seats[:_MAX_SEATS]])} {place}."
    if len(seats) <= _MAX_SEATS and len(sentence) <= MAX_CHARACTERS:
        return sentence
    known = sorted((seat.score.value, name(seat.player)) for seat in seats if seat.score.value is not None)
    if not known:
        return f"{count(len(seats), 'player')} {place}; none has a score."
    ends = f"from {number(known[0][0])} ({known[0][1]}) to {number(known[-1][0])} ({known[-1][1]})"
    return f"{count(len(seats), 'player')} {place}, means {ends}."


def _apart(seat: SeatVerdict, reference: Beside, value: float) -> str:
    """The mean gap between a seat and a reference: "52.7 less than gd (250)"."""
    gap = (seat.score.value or 0.0) - value
    much = "as much as" if not gap else f"{number(abs(gap))} {'more' if gap > 0 else 'less'} than"
    return f"{much} {name(reference.name)} ({number(value)}{', knows hidden facts' * reference.privileged})"


def _mistaken(seats: Sequence[SeatVerdict], episodes: int) -> list[str]:
    found = [seat.mistake for seat in seats if seat.mistake]
    gaps = [seat.gap for seat in seats if seat.gap is not None]
    if len(seats) == len(gaps) == 1 and gaps[0] > 0:
        more = "more" if seats[0].score.higher_is_better else "less"
        gap = f"The best known policies would have {seats[0].score.verb} {number(gaps[0])} {more} a seed."
        return [gap, *([mistake_text(found[0], several=False, word=seats[0].round_word)] if found else [])]
    if not found:
        return [f"No mistake was found in any of {count(episodes, 'episode')}."]
    worst = max(found, key=lambda known: (known.episodes or 0, known.lost or 0.0))
    return [mistake_text(worst, several=False, word=same([seat.round_word for seat in seats], "round"))]


def _checked(reproduced: Reproduced) -> str:
    if reproduced.sound is None:
        return f"{count(reproduced.traces, 'trace')}, not re-executed"
    return f"{number(reproduced.sound)} of {number(reproduced.traces)} reproduced"
