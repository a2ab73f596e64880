"""The sentences of a verdict, one function each: from the object's figures alone, in a fixed order.

Trouble or score with what the best known policies would have earned, where it was lost, the costliest turn, effort and
check: two to five sentences of at most 240 characters; then what the market says of its world.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from tradefair.contract.text import clean_line
from tradefair.evaluation.ledger import EVEN, Action, Ledger, LedgerTurn
from tradefair.evaluation.verdict.amounts import (
    amount,
    count,
    cut,
    did,
    dollars,
    in_money,
    listed,
    name,
    number,
    number_apart,
    percent,
    seconds,
)
from tradefair.evaluation.verdict.ledger_text import (
    actions_apart,
    actions_text,
    called,
    count_turns,
    place_text,
    tools_text,
)
from tradefair.evaluation.verdict.verdict import (
    Beside,
    Effort,
    FoundAt,
    Mistake,
    Reproduced,
    SeatVerdict,
    Trouble,
    Verdict,
)

MAX_SENTENCES = 5
MAX_CHARACTERS = 240
_IN_BRACKETS = re.compile(r" \([^)]*\)")
_MAX_BESIDE = 3
"""References that a sentence names; the object has all."""
_MAX_SEATS = 3
"""Seats with a sentence of their own; more are told by their range."""

_MILLIONS = re.compile(r"\blocal:\S*?\b(\d{1,3})m\b")
_ROUND = re.compile(r"^(round|day|period) \d+(?:, step \d+)?: ")
_PLUMBING = "shows that the plumbing works, not what models can do"
INSTEAD = frozenset({"unsound", "provider_failed", "never_called", "malformed", "unknown_tools", "all_refused"})
"""Troubles that stand before the score, or in its place; the others are added to it."""
IDLE = frozenset({"never_called", "malformed", "unknown_tools", "all_refused"})
"""Troubles after which nothing was played."""
RESULTS = {False: "failed", True: "passed", None: "without a result"}
"""What a source says of a run."""


def sentences_of(verdict: Verdict) -> tuple[str, ...]:
    """The sentences of an episode's verdict."""
    verdict = in_money(verdict)
    seats, trouble = verdict.seats, verdict.trouble
    said: list[str] = []
    if trouble and trouble.kind in INSTEAD:
        said.append(_trouble(trouble, seats))
    if trouble and trouble.kind == "unread":
        return fitted(trouble.text), fitted(f"Nothing is scored; {check(verdict.reproduced)}.")
    if not seats:
        said.append(nobody(verdict))
    elif len(seats) == 1:
        said += _alone(seats[0], verdict)
    else:
        said.append(several(seats, verdict))
    said += [two_minds(seats), plumbing(seats)]
    if seats and not all(seat.trouble and seat.trouble.kind in IDLE for seat in seats):
        said += mistake(seats)[: MAX_SENTENCES - 1 - len(list(filter(None, said)))]
    said.append(f"{effort(seats, verdict)}; {check(verdict.reproduced)}.")
    # The market's own words are as long as it makes them.
    return tuple(filter(None, [*map(fitted, said), clean_line(verdict.world)]))


def two_minds(seats: Sequence[SeatVerdict]) -> str:
    """That a person has moved in seats of others; empty where none has."""
    shared = [(seat.seat, seat.person_moves) for seat in seats if seat.person_moves]
    parts = [f"{number(moves.clicked)} of {count(moves.of, 'move')} of {name(seat)}" for seat, moves in shared]
    more = f" and of {count(len(parts) - _MAX_SEATS, 'more seat')}" if len(parts) > _MAX_SEATS else ""
    return f"A person made {listed(parts[:_MAX_SEATS])}{more}: two minds in one seat." if parts else ""


def plumbing(seats: Sequence[SeatVerdict]) -> str:
    """That a small local model has played, by the millions of parameters in its name; empty where none has."""
    sizes = dict.fromkeys(size for seat in seats for size in _MILLIONS.findall(seat.player))
    return f"{listed([f'{size}M' for size in sizes])} model: {_PLUMBING}." if sizes else ""


def fitted(sentence: str) -> str:
    """A sentence within its length, on one line, without what a terminal obeys."""
    text = clean_line(sentence)
    return text if len(text) <= MAX_CHARACTERS else cut(text, MAX_CHARACTERS - 1) + "."


def where(seat: SeatVerdict | None, verdict: Verdict) -> str:
    """`in seat B1 of double_auction/smoke, seed 1`; without what is not known."""
    at = (f"in seat {name(seat.seat)} of" if seat.seat else "in several seats of") if seat else "in"
    parts = [at, name(verdict.scenario or verdict.market or "a trace")]
    return " ".join(parts) + (f", seed {verdict.seeds[0]}" if len(verdict.seeds) == 1 else "")


def _trouble(trouble: Trouble, seats: Sequence[SeatVerdict]) -> str:
    others = sum(seat.trouble is not None and seat.trouble.kind in INSTEAD for seat in seats) - 1
    more = f" {count(others, 'other seat')} had trouble too." if others > 0 and trouble.kind != "unsound" else ""
    return cut(trouble.text, MAX_CHARACTERS - len(more)) + more


def _alone(seat: SeatVerdict, verdict: Verdict) -> list[str]:
    trouble = seat.trouble
    if trouble and trouble.kind in IDLE:
        return [nothing_played(seat)]
    added = [trouble.text] if trouble and trouble.kind not in INSTEAD else []
    return [
        *(added if trouble and trouble.kind == "stopped" else []),
        score(seat, verdict),
        *(added if trouble and trouble.kind != "stopped" else []),
    ]


def score(seat: SeatVerdict, verdict: Verdict) -> str:
    """How a seat did, what share of the possible that is, and where references are."""
    begin = f"{name(seat.player)} {clean_line(seat.score.said)} {where(seat, verdict)}"
    part = part_of(seat)
    if seat.ledger is not None:
        # The table below has the references; what does not fit is left out, the share first, the gap last of all.
        tails = [*reached(seat, seat.ledger, part)]
        tails += [_IN_BRACKETS.sub("", tails[-1]), ""]
        return next(said for tail in tails if len(said := f"{begin}{tail}.") <= MAX_CHARACTERS or not tail)
    # What does not fit is left out from the end: the references that are named last, then all of them, then the share.
    for shown in range(_MAX_BESIDE, -1, -1):
        tail = ", ".join(filter(None, [part, place(seat, shown) if shown or not seat.beside else ""]))
        sentence = f"{begin}{': ' * bool(tail)}{tail}."
        if len(sentence) <= MAX_CHARACTERS:
            return sentence
    return f"{begin}."


def part_of(seat: SeatVerdict) -> str:
    """The share of the possible that a seat won; below 0 how much less than doing nothing that is, above 1 nothing."""
    if seat.share is not None and seat.share_of and 0 <= seat.share <= 1:
        return f"{percent(seat.share)} {seat.share_of}"
    own, sign = seat.score.value, 1 if seat.score.higher_is_better else -1
    idle = next((row.value for row in seat.beside if row.name == "passive"), None)
    idle = seat.ledger.idle if seat.ledger else idle
    if own is None or idle is None or sign * own >= sign * idle:
        return ""
    return f"{number(abs(idle - own))} {'less' if sign > 0 else 'more'} than doing nothing"


def reached(seat: SeatVerdict, ledger: Ledger, part: str) -> Iterator[str]:
    """What the best known policies would have earned in this place, in words that become shorter."""
    if ledger.nothing_to_win and not ledger.own:
        many = len(ledger.known)
        each = f"each of {many} known policies" if many > 1 else "the known policy"
        yield f": nothing could be won: 0 for {each} on this seed"
        return
    best = [name(policy) for policy in ledger.of]
    many = len(best) > 1
    verb, value = did(seat.score, ledger.reachable, "")
    short = [*best[:1], count(len(best) - 1, "other")] if many else best
    shares = dict.fromkeys([f": {part}" if part else "", ""])
    more = "more" if ledger.higher_is_better else "less"
    for tail in shares:
        for shown in (listed(best), listed(short), *[""] * (not tail)):
            who = f"the best known polic{'ies' if many else 'y'}"
            if ledger.gap <= 0:
                than = "as much as" if not ledger.gap else f"{number(-ledger.gap)} {more} than"
                yield f"{tail}; {than} {'the mean of ' * many}{who}{f' ({shown})' * bool(shown)}"
                continue
            behind = f" (mean of {shown or len(best)})" if many else ""
            only = f" ({shown})" if shown and not many else ""
            yield f"{tail}; {who}{only} would have {verb} {value}{behind}, {number(ledger.gap)} {more}"


def place(seat: SeatVerdict, most: int = _MAX_BESIDE) -> str:
    """The score among the references, best first: less than these, as much as those, more than the others."""
    if not seat.beside:
        return "no references were played" if seat.referenced else ""
    known = [(row, row.value) for row in seat.beside if row.value is not None][:most]
    own = seat.score.value
    parts: list[str] = []
    # Beyond the ends of the scale the references say it in money.
    if seat.headline is not None and len(seat.between) == 2 and 0 <= seat.headline <= 1:
        parts.append(f"{percent(seat.headline)} of the way from {name(seat.between[0])} to {name(seat.between[1])}")
    if own is None:
        return ", ".join([*parts, *([f"references: {listed([_named(row) for row, _ in known])}"] if known else [])])
    groups = {
        "less than": [_named(row, own) for row, value in known if own < value],
        "as much as": [_named(row, own) for row, value in known if own == value],
        "more than": [_named(row, own) for row, value in known if own > value],
    }
    # In the order of the references: better ones stand first, whichever direction is better.
    order = groups if seat.score.higher_is_better else reversed(groups)
    return ", ".join([*parts, *(f"{how} {listed(groups[how])}" for how in order if groups[how])])


def _named(row: Beside, own: float | None = None) -> str:
    value = "unknown" if row.value is None else number_apart(row.value, own)
    return f"{name(row.name)} ({value}{', knows hidden facts' if row.privileged else ''})"


def nothing_played(seat: SeatVerdict) -> str:
    """After a trouble in which no call was accepted: what passed by default, and what that earned."""
    some = 0 < seat.lapsed < seat.rounds
    passed = f"{number(seat.lapsed)} of {count(seat.rounds, seat.round_word)} passed and " if some else ""
    begin = f"Nothing was played; {passed}it {clean_line(seat.score.said)}"
    if seat.ledger is not None:
        return next(
            said for tail in [*reached(seat, seat.ledger, ""), ""] if len(said := f"{begin}{tail}.") <= MAX_CHARACTERS
        )
    beside = [f"{name(row.name)} {number(row.value)}" for row in seat.beside[:_MAX_BESIDE] if row.value is not None]
    shown = f" (in its place: {', '.join(beside)})" if beside else ""
    return f"{begin}{shown}."


def several(seats: Sequence[SeatVerdict], verdict: Verdict) -> str:
    """The scores of up to three seats, one behind another; of more, or of long names, their range. Then their mean."""
    together = where(None, verdict).partition(" ")[2]
    parts: list[str] = []
    for before, seat in zip([None, *seats], seats, strict=False):
        who = "" if before and before.player == seat.player else f"{name(seat.player)} "
        verb, value = did(seat.score, seat.score.value, seat.score.unit)
        # Verb and unit once, where the next seat has the same ones.
        if before and not who and verb == did(before.score, before.score.value, "")[0]:
            verb, value = "", did(seat.score, seat.score.value, "")[1]
        parts.append(f"{who}{verb}{' ' * bool(verb)}{value} in seat {name(seat.seat)}")
    each = [f"{listed(parts)} of {together}"] if len(seats) <= _MAX_SEATS else []
    bodies = [*each, _range(seats, verdict), _range(seats, verdict, worst=False)]
    tails = [_mean(verdict.together, shown) for shown in range(_MAX_BESIDE, -1, -1)]
    # What does not fit is left out from the end, as of one seat; a range is shorter than its seats.
    said = (f"{body}{tail}." for tail in [*dict.fromkeys(tails), ""] for body in bodies)
    return next((sentence for sentence in said if len(sentence) <= MAX_CHARACTERS), f"{bodies[-2]}.")


def _mean(together: SeatVerdict | None, shown: int) -> str:
    """Behind the scores of several seats: their mean, what it is of, and the means of the references in these seats."""
    if together is None or together.score.value is None:
        return ""
    tail = [together.score.said, place(together, shown) if shown or not together.beside else ""]
    known = ", ".join(filter(None, tail))
    return f"; on average {number(together.score.value)}, {known}" if known else ""


def _range(seats: Sequence[SeatVerdict], verdict: Verdict, *, worst: bool = True) -> str:
    """From the worst to the best score of the seats that have the first one's metric; their median and the worst."""
    first = seats[0].score
    scores = {seat.seat: seat.score.value for seat in seats if seat.score.metric == first.metric}
    known = {seat: value for seat, value in scores.items() if value is not None}
    players = dict.fromkeys(name(seat.player) for seat in seats)
    who = next(iter(players)) if len(players) == 1 else f"{len(players)} players"
    place = f"{len(scores)} seats of {where(None, verdict).partition(' ')[2]}"
    if not known:
        return f"{who} played {place}; none has a score"
    values = sorted(known.values())
    said = f"{who} {first.verb} {number(values[0])} to {amount(values[-1], first.unit)} in {place}"
    if not worst:
        return said
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    last = (min if first.higher_is_better else max)(known, key=known.__getitem__)
    return f"{said} (median {number(middle)}); worst {name(last)}"


def nobody(verdict: Verdict) -> str:
    """A trace in which no seat was under test: the market's own figure, never a mean over its seats."""
    figure = verdict.figure
    shown = f"; {clean_line(figure.title)}: {amount(figure.value, figure.unit)}" if figure else ""
    return f"No seat was under test {where(None, verdict)}{shown}."


def mistake(seats: Sequence[SeatVerdict]) -> list[str]:
    """What kept a seat from acting, then where it lost and its costliest turn; without a ledger its first mistake."""
    worst = max(seats, key=lambda seat: (seat.mistake is not None and seat.mistake.protocol, seat.gap or 0.0))
    several = len(seats) > 1
    if worst.ledger is not None and worst.ledger.gap > 0 and worst.ledger.lost:
        return _by_ledger(worst, worst.ledger, several=several)
    # Without a ledger it is said why, behind what else is known.
    lacks = [f"What its turns lost is not known: {seat.no_ledger}." for seat in seats if seat.no_ledger][:1]
    first = worst.mistake or next((seat.mistake for seat in seats if seat.mistake), None)
    if first is not None:
        return [mistake_text(first, several=several, word=worst.round_word), *lacks]
    checked = max(seat.checked for seat in seats)
    verb = "was" if checked == 1 else "were"
    return [f"No mistake was found of {count(checked, 'kind')} that {verb} looked for.", *lacks]


def _by_ledger(worst: SeatVerdict, ledger: Ledger, *, several: bool) -> list[str]:
    """Where a seat lost, with its first mistake in front if that kept it from acting, else behind."""
    made, sentences = worst.mistake, list[str]()
    if several:
        short = list(reached(worst, ledger, ""))[-1].removeprefix("; ")
        sentences = [f"The costliest seat is {name(worst.seat)}: {short}."]
    sentences += losses(worst, ledger)
    if made is None:
        return sentences
    first = mistake_text(made, several=several, word=worst.round_word)
    if made.protocol:
        return [first, *sentences]
    # What stands with the costliest turn already is not said again; nor a mistake that gained on this luck.
    costliest_ = ledger.costliest
    again = costliest_ is not None and made.mode in costliest_.names
    return sentences if again or (made.lost or 0.0) < 0 else [*sentences, first]


def losses(seat: SeatVerdict, ledger: Ledger) -> list[str]:
    """Where a seat lost what the best known policies would have earned more, and its costliest turn.

    Turns are named where they stand out; else the shortest stretch that holds half of the gap. The costliest turn is
    left out where competent seats have as large a gap.
    """
    how, turns = ledger.where
    many = count(count_turns(ledger.turns), "turn")
    spread = f"over {number(count_turns(ledger.lost))} of {many}"
    match how:
        case "evenly":
            said = f"It was lost evenly {spread}."
        case "turns":
            said = _of_turns(seat, ledger, turns)
        case "stretch":
            said = _of_stretch(seat, ledger, turns)
        case "disagreed":
            said = f"The {number(len(ledger.of))} policies do not agree where it was lost."
        case "spread":
            said = f"It was lost {spread}, none more than {number(ledger.lost[0].lost)}."
    return [said, costliest(seat, ledger, turn)] if (turn := ledger.costliest) else [said]


def _of_turns(seat: SeatVerdict, ledger: Ledger, turns: Sequence[LedgerTurn]) -> str:
    each = [f"{place_text(ledger, turn, word=seat.round_word)} ({number(turn.lost)})" for turn in turns]
    many = len(ledger.of)
    agree = f"; {'both' if many == 2 else f'all {many}'} policies agree" if many > 1 else ""
    much, back = _part(turns, ledger)
    of_all = f"{number(count_turns(turns))} of {count(count_turns(ledger.turns), 'turn')}"
    return f"{much} was lost in {of_all}: {listed(each)}{agree}{back}."


def _of_stretch(seat: SeatVerdict, ledger: Ledger, stretch: Sequence[LedgerTurn]) -> str:
    lost = math.fsum(turn.lost for turn in stretch)
    ends = [place_text(ledger, turn, word=seat.round_word) for turn in (stretch[0], stretch[-1])]
    where_ = f"in {ends[0]}" if len(stretch) == 1 else f"from {ends[0]} to {ends[1]}"
    much, back = _part(stretch, ledger)
    much = number(lost) if back else f"{much}, {number(lost)},"
    return f"{much} was lost {where_}{by_policy(ledger, stretch)}{back}."


def _part(turns: Sequence[LedgerTurn], ledger: Ledger) -> tuple[str, str]:
    """How much of the gap some turns lost; where it is more than all of it, what the others gained, too."""
    beyond = math.fsum(turn.lost for turn in turns) - ledger.gap
    if abs(beyond) <= EVEN * ledger.gap:
        return "All of it", ""
    if beyond < 0:
        return "Most of it", ""
    return "More than all of it", f"; the other turns together gained {number(beyond)}"


def by_policy(ledger: Ledger, stretch: Sequence[LedgerTurn]) -> str:
    """The least and the most that a stretch lost by a single policy; empty where it is the same by all."""
    each = ledger.losses(stretch[0], stretch[-1]) or [0.0]
    low, high = number(min(each)), number(max(each))
    return f" ({low} to {high} by policy)" if low != high else ""


def costliest(seat: SeatVerdict, ledger: Ledger, turn: LedgerTurn) -> str:
    """The turn that lost most: what the seat did, what the best policy would have done, and what either is worth."""
    where_ = place_text(ledger, turn, word=seat.round_word)
    place = f"{where_[0].upper()}{where_[1:]}"
    policy, who = name(ledger.of[0]), f"the best known polic{'y' if len(ledger.of) == 1 else 'ies'}"
    reach = f"; from there {who} would have ended with {number(turn.value)}, a turn later with {number(turn.after)}"
    because = _ROUND.sub("", seat.because).rstrip(".").removeprefix(f"{where_.rpartition(', ')[2]} ")
    # Of many calls the tools have to do, where they differ.
    says = (actions_text, tools_text)[: 1 + (tools_text(turn.did) != tools_text(turn.would or []))]
    pairs = [_did_and_would(turn, policy, say) for say in says]
    bodies = [f"{because}{behind}" if because else begin for begin, behind in pairs]
    bodies.append(cut(because or bodies[0].partition(";")[0], MAX_CHARACTERS - len(reach) - len(place) - 3))
    return next(said for body in bodies if len(said := f"{place}: {body}{reach}.") <= MAX_CHARACTERS)


def _did_and_would(turn: LedgerTurn, policy: str, say: Callable[[Sequence[Action]], str]) -> tuple[str, str]:
    """What the seat did in a turn and a policy would have done, as far as they differ; then the policy's part alone."""
    if turn.would is None:
        return f"it {called(say, turn.did, 'did nothing')}", ""
    did_, would = actions_apart(turn.did, turn.would)
    begin = f"it {called(say, did_, 'did nothing')}"
    if turn.did and turn.would and not would:
        return f"{begin}, which {policy} would not have", ""
    # One of two that share calls did no more than these.
    also = "also " * bool(turn.did and not did_)
    instead = f"{policy} would {also}have {called(say, would)}"
    return instead if also else f"{begin}; {instead}", f"; {instead}"


def mistake_text(found: Mistake, *, several: bool, word: str = "round") -> str:
    """A mistake by its first case, what its turns lost, and how many known policies make it too; `word`: of a round."""
    because = clean_line(found.because).rstrip(".")
    # Sentences of cases begin with their round already.
    of_round = _ROUND.match(because)
    begun = word + because.removeprefix(of_round[1]) if of_round else f"{word} {found.round}: {because}"
    at = f"seat {name(found.seat)}, " if several else f"seed {found.seed}, " if found.seed is not None else ""
    # What lost nothing is seen, and no mistake that cost anything. None is called the first: of another kind, one may
    # stand in an earlier round.
    kind = "Also seen" if found.lost == 0 and not found.protocol else "Mistake"
    head = f"{kind}, {at}{begun}" if found.seq else because
    lost = ""
    if found.lost is not None and found.turns:
        verb = "lost" if found.lost >= 0 else "gained, as it came out,"
        much = amount(abs(found.lost), found.unit) if found.lost else "nothing"
        turns = "its turn" if found.turns == 1 else f"{number(found.turns)} turns of its kind"
        lost = f"{turns} {verb} {much}" if found.agreed else f"the policies do not agree what {turns} lost"
    often_ = (
        f"such mistakes come first in {count(found.episodes, 'episode')}"
        if found.episodes and found.episodes > 1
        else ""
    )
    rate = ""
    if found.of:
        many = number(found.raised) if found.raised else "none"
        rate = f"{many} of {count(found.of, 'seat')} of known policies made one"
    sentence = "; ".join(filter(None, [head, lost, often_, rate]))
    return f"{sentence if len(sentence) < MAX_CHARACTERS else head}."


def effort(seats: Sequence[SeatVerdict], verdict: Verdict) -> str:
    """Calls, tokens, money and seconds of all seats under test; what is not known of one is not known of the sum."""
    took = total([seat.effort for seat in seats]) if seats else verdict.effort
    kinds = {seat.kind for seat in seats}
    parts = [count(took.tool_calls, "tool call")]
    if took.model_calls:
        parts.insert(0, count(took.model_calls, "model call"))
        if took.tokens is not None:
            parts.append(f"{'about ' * took.estimated}{count(took.tokens, 'token')}")
        parts.append(
            "no cost"
            if kinds == {"script"}
            else "cost unknown"
            if took.cost_usd_micro is None
            else dollars(took.cost_usd_micro)
        )
        if took.seconds is not None:
            parts.append(seconds(took.seconds))
    elif kinds == {"script"}:
        parts.append("no model")
    return ", ".join(parts)


def total(efforts: Sequence[Effort]) -> Effort:
    """The sum of several; null where one part is not known."""
    if not efforts:
        return Effort()

    def known(field: str) -> float | None:
        values = [getattr(took, field) for took in efforts]
        return None if None in values else sum(values)

    sums = {field: known(field) for field in Effort.model_fields if field != "estimated"}
    return Effort.model_validate({**sums, "estimated": any(took.estimated for took in efforts)})


def check(reproduced: Reproduced) -> str:
    """What re-execution says, behind the number of events."""
    events = count(reproduced.events, "event")
    match reproduced.state:
        case "reproduced" | "reproduced in part":
            copied = f" ({number(reproduced.copied)} from outside the rules copied)" if reproduced.copied else ""
            return f"{events}, {reproduced.state}{copied}"
        case "up_to":
            return f"reproduced up to event {reproduced.seq or reproduced.events} of {reproduced.events}"
        case "intact":
            return f"{events}, chain intact, not re-executed"
        case "not_checked":
            return f"{events}, not checked"
        case "foreign":
            return f"{events}, not re-executed: these rules are not installed here"
        case _:
            return f"{events} sound, not reproduced"


def told_at(found: FoundAt) -> str:
    """A case behind its place: "step 12, map.confirm: …"."""
    at = f"step {found.step}" if found.step else f"event {found.seq}"
    return f"{at}, {name(found.rule)}: {found.because.rstrip('.')}."
