"""The verdict on two sides: who is better by how much, on which pairs, what is missing and what that could do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from tradefair.evaluation.compare.comparison import MIN_PAIRS, Comparison, Gap, Metric
from tradefair.evaluation.compare.judgement import b_is_better, detected, p_text, settled
from tradefair.evaluation.compare.metric_tables import metric_title
from tradefair.evaluation.verdict.amounts import MAX_NAME, amount, count, cut, name, number
from tradefair.evaluation.verdict.verdict import NextStep, Score, SeatVerdict, Verdict
from tradefair.evaluation.verdict.words import MAX_CHARACTERS, MAX_SENTENCES

_MIN_LABEL = 12
_MAX_SEEDS = 6


def verdict_of_comparison(found: Comparison, *, versions: Mapping[str, str], said: str) -> Verdict:
    """The verdict on a comparison. `said` is how the market says a score, such as `earned {value}`.

    What is missing stands in the first three sentences always, with the worst case for the side that lacks it.
    """
    shown = _shown(found)
    sentences = [_who(found, shown, said), *_informative(found), *_missing(found, shown)]
    sentences += [*_doubt(found, shown)][: MAX_SENTENCES - len(sentences)]
    scenarios = list(dict.fromkeys(pair.scenario for pair in found.pairs))
    return Verdict(
        kind="comparison",
        status="played" if found.pairs else "failed",
        market=found.market,
        scenario=", ".join(scenarios),
        seeds=tuple(dict.fromkeys(pair.seed for pair in found.pairs)),
        seats=tuple(_seat(found, shown, side) for side in ("a", "b")) if shown else (),
        informative=found.shares.n if found.shares else None,
        next=tuple(_next(found)),
        versions=versions,
    ).saying(sentences)


def _shown(found: Comparison) -> Metric | None:
    """The metric that the first sentence is about: the first that differs, else the first that is known."""
    known = [metric for metric in found.metrics if metric.primary and metric.mean_difference is not None]
    sure = [row for row in known if detected(row) and settled(row, found.bounds)]
    return next(iter([*sure, *known]), None)


def _seat(found: Comparison, shown: Metric, side: str) -> SeatVerdict:
    arm, value = (found.a, shown.mean_a) if side == "a" else (found.b, shown.mean_b)
    shares = found.shares
    score = Score(
        metric=shown.name,
        title=metric_title(found.market, shown.name),
        value=value,
        unit=shown.unit or "",
        higher_is_better=shown.higher_is_better is not False,
    )
    share = None if shares is None else shares.mean_a if side == "a" else shares.mean_b
    return SeatVerdict(
        seat=", ".join(found.seats),
        role="",
        player=name(arm.label),
        kind="unknown",
        score=score,
        share=share,
        share_of="" if share is None else "what there was to win",
    )


# --- sentences ------------------------------------------------------------------------------------------------------


def _who(found: Comparison, shown: Metric | None, said: str) -> str:
    """Who is better, by how much and how surely; labels are cut further where the sentence would be too long."""
    for most in range(MAX_NAME, _MIN_LABEL - 1, -4):
        text = _first(found, shown, said, _named(found, "a", most), _named(found, "b", most))
        if len(text) <= MAX_CHARACTERS:
            break
    return text  # pyright: ignore[reportPossiblyUnboundVariable]


def _first(found: Comparison, shown: Metric | None, said: str, a: str, b: str) -> str:
    pairs = count(len(found.pairs), "pair")
    if not found.pairs:
        notes = "".join(f"; {note}" for note in found.notes)
        return f"Nothing to compare: {a} and {b} have no pair{notes}."
    where = f"in {_place(found)}"
    if found.conclusion == "identical":
        return f"{a} and {b} played exactly alike: identical on all {pairs} {where}."
    if shown is None:
        primary = any(metric.primary for metric in found.metrics)
        why = "undefined on every pair" if primary else "not declared by the market's evaluator"
        return f"{b} and {a} cannot be told apart over {pairs} {where}: the primary metric is {why}."
    if found.conclusion == "mixed":
        return f"{b} is better in one figure and worse in another than {a}: {_both(found)}, over {pairs} {where}."
    difference = _by(found, shown, said, a, b)
    if found.conclusion == "exploratory":
        verb = "is" if len(found.pairs) == 1 else "are"
        of = f"{shown.wins} better, {shown.ties} equal, {shown.losses} worse for B"
        return f"{pairs} {verb} too few to test ({MIN_PAIRS} are needed): {difference} in the mean ({of}) {where}."
    luck = "on the same luck" if not _other_draws(found) else "on the same seeds"
    tail = f"{luck}{_interval(shown)}{f', {_p(shown)}' if shown.p_holm is not None else ''}"
    tail += f" over {count(shown.n, 'pair')} {where}"
    if found.conclusion in ("a_better", "b_better"):
        return f"{difference} {tail}."
    return f"No difference can be told: {difference} {tail}{_but(found, shown)}."


def _by(found: Comparison, metric: Metric, said: str, a: str, b: str) -> str:
    """Who scored how much more than whom."""
    value = metric.mean_difference or 0.0
    if not value:
        return f"{b} scored as much as {a}"
    first, second = (b, a) if b_is_better(metric) else (a, b)
    # Of a cost or a loss the better side has less.
    shown = f"{amount(abs(value), metric.unit or '')} {'less' if metric.higher_is_better is False else 'more'}"
    # The market's own words are about its main metric.
    if metric.name != _main(found):
        return f"{first} scored {shown} ({metric_title(found.market, metric.name)}) than {second}"
    return f"{first} {said.replace('{value}', shown)} than {second}"


def _both(found: Comparison) -> str:
    """The metrics that decide, each with its difference and p."""
    tested = [metric for metric in found.metrics if metric.primary and metric.mean_difference is not None]
    return ", ".join(
        f"{metric_title(found.market, metric.name)} {number(metric.mean_difference or 0)} ({_p(metric)})"
        for metric in tested
        if metric.p_holm is not None
    )


def _but(found: Comparison, metric: Metric) -> str:
    """Why a small p is no difference."""
    reversible = detected(metric) and not settled(metric, found.bounds)
    return ", but the missing seeds could reverse it" if reversible else ""


def _informative(found: Comparison) -> Iterator[str]:
    shares = found.shares
    if shares is not None and shares.nothing:
        yield (
            f"{shares.nothing} of the {count(shares.nothing + shares.n, 'seed')} had nothing to win in that seat, "
            f"whoever plays; the difference rests on {count(shares.n, 'pair')}."
        )


def _missing(found: Comparison, shown: Metric | None) -> Iterator[str]:
    """What a side lacks, and the worst case for it; one sentence for both sides."""
    # Both sides with long lists of seeds: the numbers are kept, the lists are not.
    for lists in (True, False):
        text = "; ".join(_gap(found, gap, shown, lists) for gap in found.gaps)
        if text and (len(text) < MAX_CHARACTERS or not lists):
            yield f"{text}."
            return


def _gap(found: Comparison, gap: Gap, shown: Metric | None, lists: bool) -> str:
    side, other = ("A", "B") if gap.side == "a" else ("B", "A")
    total = len(found.pairs) + max(found.missing.absent + found.missing.unfinished, len(gap.seeds))
    told = [_listed(gap.seeds)] if gap.seeds and lists else []
    told += [f"{gap.unfinished} unfinished"] if gap.unfinished else []
    told += [f"{count(gap.unread, 'file')} damaged"] if gap.unread else []
    which = f" ({', '.join(told)})" if told else ""
    text = f"{side} lacks {len(gap.seeds) or gap.unread} of {count(total, 'seed')}{which}"
    if gap.worst is None or shown is None or gap.metric != shown.name:
        return text
    ahead = gap.worst * (1 if side == "B" else -1) * (-1 if shown.higher_is_better is False else 1)
    ends = f"{amount(abs(ahead), shown.unit or '')} {'ahead of' if ahead > 0 else 'behind'} {other}"
    return f"{text}; had it scored the worst seen there, it would be {ends if ahead else f'as good as {other}'}"


def _doubt(found: Comparison, shown: Metric | None) -> Iterator[str]:
    """What else limits the result: a few pairs that carry it, too few pairs to show it."""
    if shown is None:
        return
    skew = next((row for row in found.skewed if row.metric == shown.name), None)
    if skew is not None:
        first = (
            f"One pair decides this, with {skew.largest:.0%} of all differences"
            if skew.largest > 0.5
            else "Few pairs carry the difference"
        )
        yield f"{first}: the interval says less than it seems; more seeds say more."
    if not found.gaps:
        few = "no seed is missing" if skew is not None else "no seed is missing, and no single pair decides"
        yield f"{count(len(found.pairs), 'pair')}: {few}."


# --- next steps -----------------------------------------------------------------------------------------------------


def _next(found: Comparison) -> Iterator[NextStep]:
    pair = shlex.join([found.a.name, found.b.name])
    for gap in found.gaps:
        begun = next((row.path for row in found.dropped if row.side == gap.side and row.unfinished), None)
        if begun is not None:
            yield NextStep(command=f"tradefair play --resume {shlex.quote(begun)}", why=f"{gap.side.upper()} began it")
        else:
            folder = shlex.quote(found.a.name if gap.side == "a" else found.b.name)
            yield NextStep(command=f"tradefair list {folder}", why=f"what is there of {gap.side.upper()}")
    yield NextStep(command=f"tradefair compare {pair} -o pair.html", why="every pair as a figure")


# --- words ----------------------------------------------------------------------------------------------------------


def _named(found: Comparison, side: str, most: int) -> str:
    arm = found.a if side == "a" else found.b
    return f"{side.upper()} ({cut(name(arm.label), most)})" if arm.label else side.upper()


def _place(found: Comparison) -> str:
    scenarios = list(dict.fromkeys(pair.scenario for pair in found.pairs))
    scenario = scenarios[0] if len(scenarios) == 1 else f"{len(scenarios)} scenarios of {found.market}"
    seats = f"seat {found.seats[0]}" if len(found.seats) == 1 else f"{len(found.seats)} seats"
    return f"{seats} of {name(scenario)}"


def _main(found: Comparison) -> str:
    return next((metric.name for metric in found.metrics if metric.primary), "")


def _other_draws(found: Comparison) -> bool:
    return any(item.name == "policy key" for item in found.differs)


def _interval(metric: Metric) -> str:
    if metric.interval is None:
        return ""
    # The sign of the tables below.
    low, high = map(number, metric.interval)
    return f", 95 % interval of B − A {low} to {high}"


def _p(metric: Metric) -> str:
    shown = p_text(metric.p_holm)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def _listed(seeds: Sequence[int]) -> str:
    """Seeds in short: runs of neighbours as a range, the first few of them."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:_MAX_SEEDS]]
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(shown)}" + " …" * (len(runs) > _MAX_SEEDS)
