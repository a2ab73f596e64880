"""Draws docs/picture.svg: one BAZAAR episode, round by round, as an animated picture.

`python -m docs.picture [--check]` plays the episode of the demo, checks its trace and draws it: the trades of all seats
as grey dots, those of seat B1 as dots in colour below its value, its earnings as a line that grows. SVG's own
animation, no script; where motion is unwanted, the last frame stands. The same bytes on every machine.
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import tradefair.api as tf

PICTURE = Path(__file__).resolve().parent / "picture.svg"
SEAT, SEED = "B1", 7
WIDTH, HEIGHT, LEFT, TOP, PLOT_HEIGHT = 960, 400, 56, 92, 236
SECONDS = 15.0
PAUSE_S = 4.0
"""The last frame stands this long before the picture begins again."""

_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>{sentence}</title>
<style>
svg {{ background: #fff; font-family: system-ui, sans-serif }}
text {{ font-size: 13px; fill: #5b6470 }} .said {{ font-size: 19px; fill: #14171a }} .own {{ fill: #0f766e }}
.grid {{ stroke: #e7eaee }} .value {{ stroke: #0f766e; stroke-dasharray: 5 4 }} .quote {{ stroke: #14171a }}
.other {{ fill: #c3c9d1 }} .seat {{ fill: #0f766e }} .gain {{ stroke: #0f766e; stroke-width: 3; opacity: .25 }}
.earned {{ fill: none; stroke: #0f766e; stroke-width: 2.5; stroke-linecap: round }}
@media (prefers-reduced-motion: reduce) {{ g {{ opacity: 1 !important }} }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #14171a }} .said {{ fill: #f1f3f5 }} text {{ fill: #9aa4b0 }} .grid {{ stroke: #2a3037 }}
.quote {{ stroke: #f1f3f5 }} .other {{ fill: #59626d }} .own {{ fill: #2dd4bf }} .seat {{ fill: #2dd4bf }}
.value, .gain, .earned {{ stroke: #2dd4bf }}
}}
</style>"""


class Round(NamedTuple):
    """Prices at which other buyers traded; the seat's quote, its price (None: no trade), what it has earned so far."""

    others: Sequence[float]
    quote: float
    price: float | None
    earned: float


def main() -> int:
    """Write or check the picture; the exit code."""
    text = drawn(*played())
    if "--check" in sys.argv[1:]:
        stale = not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != text
        print(f"{PICTURE.name}: out of date, run make picture" if stale else f"{PICTURE.name}: {len(text):,} bytes")
        return int(stale)
    PICTURE.write_text(text, encoding="utf-8")
    print(f"{PICTURE.name}: written, {len(text):,} bytes")
    return 0


def played() -> tuple[list[Round], float, str]:
    """Rounds of the demo's episode, the seat's value, the verdict's first sentence. SystemExit: not reproduced."""
    with tempfile.TemporaryDirectory() as folder:
        trace = tf.play(
            "double_auction",
            scenario="double_auction/bazaar",
            seed=SEED,
            agent="react",
            model="policy:zip",
            folder=folder,
            references=True,
        )
        if not trace.verify().sound:
            raise SystemExit("the episode is not reproduced")
        return list(rounds(trace)), float(trace.outcome.seats[SEAT].value), trace.verdict.sentences[0]


def rounds(trace: tf.Trace) -> Iterator[Round]:
    """One record per closed round, from the facts of its closure."""
    for event in trace.events():
        if event["event"] == "round_closed":
            facts: Mapping[str, Any] = event["facts"]
            own = [float(match["price"]) for match in facts["matches"] if match["buyer"] == SEAT]
            others = [float(match["price"]) for match in facts["matches"] if match["buyer"] != SEAT]
            earned = float(facts["cumulative_payoff"][SEAT])
            yield Round(others, float(facts["quotes"][SEAT]), own[0] if own else None, earned)


def drawn(shown: Sequence[Round], value: float, sentence: str) -> str:
    """The picture: prices on the left, earnings below, a round every half second, then the whole for a while."""
    width = (WIDTH - LEFT - 24) / len(shown)
    top = max(value, *(price for one_round in shown for price in (*one_round.others, one_round.quote))) * 1.05
    most = max(one_round.earned for one_round in shown) or 1.0

    def across(number: int) -> float:
        return round(LEFT + width * (number + 0.5), 1)

    def down(price: float) -> float:
        return round(TOP + PLOT_HEIGHT * (1 - price / top), 1)

    def earnings(amount: float) -> float:
        return round(HEIGHT - 16 - 40 * amount / most, 1)

    parts = [_HEAD.format(width=WIDTH, height=HEIGHT, sentence=escape(sentence))]
    parts += _sentence(sentence)
    for price in range(0, int(top) + 1, 20):
        parts.append(f'<text class="axis" x="{LEFT - 10}" y="{down(price) + 4}" text-anchor="end">{price}</text>')
        parts.append(f'<path class="grid" d="M{LEFT} {down(price)}H{WIDTH - 24}"/>')
    parts.append(f'<path class="value" d="M{LEFT} {down(value)}H{WIDTH - 24}"/>')
    parts.append(f'<text class="own" x="{LEFT}" y="{down(value) - 6}">what a unit is worth to {SEAT}: {value:g}</text>')
    for number, one_round in enumerate(shown):
        marks = [
            f'<circle class="other" cx="{across(number)}" cy="{down(price)}" r="4"/>' for price in one_round.others
        ]
        marks.append(f'<path class="quote" d="M{across(number) - 6} {down(one_round.quote)}h12"/>')
        if one_round.price is not None:
            x, y = across(number), down(one_round.price)
            marks.append(
                f'<path class="gain" d="M{x} {y}V{down(value)}"/><circle class="seat" cx="{x}" cy="{y}" r="6"/>'
            )
        before = shown[number - 1].earned if number else 0.0
        begins = f"{across(number - 1) if number else LEFT} {earnings(before)}"
        step = f"M{begins}L{across(number)} {earnings(one_round.earned)}"
        marks.append(f'<path class="earned" d="{step}"/>')
        parts.append(f"<g>{_appears(number, len(shown))}{''.join(marks)}</g>")
    parts.append(
        f'<text class="own" x="{WIDTH - 24}" y="{earnings(most) - 8}" text-anchor="end">earned: {most:g}</text>'
    )
    legend = f"30 rounds; dash: bid of {SEAT}, large dot: its trade, bar: its gain; small dots: others' trades"
    parts.append(f'<text x="{LEFT}" y="{down(0) - 10}">{legend}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _appears(number: int, count: int) -> str:
    """Hidden until the round's turn, then shown until the picture begins again."""
    whole = SECONDS + PAUSE_S
    start = f"{SECONDS * number / count / whole:.4f}"
    return (
        f'<animate attributeName="opacity" dur="{whole:g}s" repeatCount="indefinite" calcMode="discrete" '
        f'values="0;1" keyTimes="0;{start}"/>'
        if number
        else ""
    )


def _sentence(sentence: str) -> Iterator[str]:
    """The verdict's first sentence, in lines of at most 92 characters."""
    for number, line in enumerate(textwrap.wrap(sentence, 92)[:2]):
        yield f'<text class="said" x="24" y="{36 + 26 * number}">{escape(line)}</text>'


if __name__ == "__main__":
    sys.exit(main())
