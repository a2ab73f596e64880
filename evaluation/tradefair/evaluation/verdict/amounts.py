"""How a verdict writes numbers, names and counts: one rule for all sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tradefair.contract.money import dollars_text, nearest
from tradefair.contract.text import clean_line
from tradefair.evaluation.ledger import MAJOR, MINOR, in_major, major
from tradefair.evaluation.verdict.verdict import Score, SeatVerdict, Verdict

MAX_NAME = 60
"""Characters of a player's label, a seat or a scenario."""
_DIGITS, _MOST_DIGITS = 4, 9
_WORDS = ((10**12, " trillion"), (10**9, " billion"), (10**6, " million"))
"""Short for amounts of seven digits and more."""
_MICRO = 1_000_000


def number(value: float, digits: int = _DIGITS) -> str:
    """At most four significant digits, thousands separated; "0" for a true zero only; 12.55 billion."""
    if not math.isfinite(value):
        return "an unknown number"
    if value == 0:
        return "0"
    # Beyond these, digits would fill the sentence.
    if not 1e-6 <= abs(value) < 1e15:
        return f"{value:.3g}"
    word = ""
    if abs(value) >= 10**6:
        size, word = next((size, word) for size, word in _WORDS if abs(value) >= size)
        value /= size
    places = digits - 1 - math.floor(math.log10(abs(value)))
    shown = f"{nearest(value, places):,.{max(places, 0)}f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + word


def number_apart(value: float, known: float | None) -> str:
    """A number that reads otherwise than `known` where it is another, with as many more digits as this takes.

    Where no digits tell them apart, since this one is round and `known` reads like it, their difference stands behind.
    """
    if known is None or value == known:
        return number(value)
    several = (number(value, digits) for digits in range(_DIGITS, _MOST_DIGITS + 1))
    apart = f"{number(value)}, {number(abs(value - known))} {'more' if value > known else 'less'}"
    return next((shown for shown in several if shown != number(known)), apart)


def amount(value: float | None, unit: str) -> str:
    """A number with its unit, which loses its plural after 1."""
    if unit in MINOR:
        value, unit = major(value), MAJOR
    if value is None:
        return f"an unknown number of {unit}" if unit else "an unknown number"
    shown = number(value)
    return f"{shown} {unit.removesuffix('s') if shown in ('1', '-1') else unit}".rstrip()


def did(score: Score, value: float | None, unit: str) -> tuple[str, str]:
    """The verb for a value of this score, and its amount: a loss has a verb of its own and no sign."""
    if value is not None and value < 0 and score.loss:
        return score.loss, amount(-value, unit)
    return score.verb, amount(value, unit)


def in_money(verdict: Verdict) -> Verdict:
    """The verdict with money as people read it, in major units; the object keeps those of the rules."""
    together = verdict.together and _in_money(verdict.together)
    return verdict.model_copy(update={"seats": tuple(map(_in_money, verdict.seats)), "together": together})


def _in_money(seat: SeatVerdict) -> SeatVerdict:
    score, mistake = seat.score, seat.mistake
    if score.unit not in MINOR:
        return seat
    known: dict[str, Any] = {
        "score": score.model_copy(update={**in_major(score, "value", "low", "high"), "unit": MAJOR}),
        "beside": tuple(row.model_copy(update=in_major(row, "value")) for row in seat.beside),
        "mistake": mistake and mistake.model_copy(update={**in_major(mistake, "lost"), "unit": MAJOR}),
        "ledger": seat.ledger and seat.ledger.in_money(),
        **in_major(seat, "gap", "reachable"),
    }
    return seat.model_copy(update=known)


def count(times: int, thing: str) -> str:
    """How many there are of a thing that is named in the singular."""
    return f"{number(times)} {thing}{'' if times == 1 else 's'}"


def over(score: Score, rounds: int, word: str) -> str:
    """How many rounds a total is of; empty for a figure that is none, or before a round has closed."""
    return f" in {count(rounds, word)}" if score.aggregation == "total" and rounds else ""


def often(times: int) -> str:
    """Once, twice, or how many times."""
    return {1: "once", 2: "twice"}.get(times, f"{number(times)} times")


def percent(part: float) -> str:
    """A share of 1 in per cent."""
    # What is not all is not rounded to 100 %, nor a little to nothing.
    if 0.99 < part < 1:
        return f"{number(math.floor(10_000 * part) / 100)} %"
    return f"{number(round(100 * part, 1 if abs(part) < 0.1 else 0))} %"


def seconds(value: float) -> str:
    """Seconds: whole ones from ten on, else two significant digits."""
    return f"{number(round(value) if value >= 10 else float(f'{value:.2g}'))} s"


def dollars(micro: int) -> str:
    """Millionths of a US dollar in dollars: cents from one cent on, else two significant digits."""
    value = micro / _MICRO
    return dollars_text(micro) if value >= 0.01 or not micro else f"${number(float(f'{value:.2g}'))}"


def name(text: str) -> str:
    """A name from a trace, cleaned, on one line, cut at 60 characters."""
    return cut(clean_line(text), MAX_NAME) or "an unnamed player"


def cut(text: str, most: int) -> str:
    """The text, or what fits with a mark that it goes on."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def listed(parts: Sequence[str]) -> str:
    """In words: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
