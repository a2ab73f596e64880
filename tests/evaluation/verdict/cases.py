"""What verdicts say, per market: plays without a model, in which a seat is called one, and the trouble it could have.

`python -m tests.evaluation.verdict.cases` writes the texts anew; a person reads what has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.verdicts.play import REPLIES, SETTINGS, Played, Setting, is_refused, lapses, play

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core, Record
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.prove.verify import Check
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.verdict import Verdict

FORBIDDEN = re.compile(
    r"\b(?:laps(?:e[sd]?|ing)|findings?|modes?|competent seats|by turns|exploratory|heads?|seal(?:s|ed)?|minor units)\b"
)
"""Words of the glossary that nobody knows who reads a first screen, and a unit that is no money."""
TEXTS = Path(__file__).parent / "texts"


def calls_nothing(core: Core, seat: str) -> Sequence[Record]:
    """A tool that does not exist, then the round is given up."""
    return [*core.call(seat, "buy_low_sell_high", {}).records, *lapses(core, seat)]


def cases(market: str, folder: Path) -> Iterator[tuple[str, Verdict]]:
    """Every verdict of a market, by name."""
    setting = SETTINGS[market]
    seat = setting.seat

    def trace(name: str, policy: str = setting.weak, **more: Any) -> Played:
        return play(folder / f"{name}.trace", setting, {seat: policy}, **more)

    def references(seed: int = 1) -> dict[str, Outcome[Any, Any]]:
        found = {policy: trace(f"script-{policy}-{seed}", policy, seed=seed).path for policy in setting.references}
        return {policy: outcome for policy, path in found.items() if (outcome := evaluate_file(path).outcome)}

    beside, asked = references(), {**REPLIES, "cost_usd_micro": 57_000}
    weak = trace("weak")
    yield "scripted", trace("script", setting.good).verdict(references=beside)
    yield "model", weak.verdict(asked, references=beside)
    yield "model without references", weak.verdict({**asked, "usage_estimated": True}, references={})
    yield "several seats", several(folder, setting).verdict(asked)
    yield (
        "several seats and references",
        several(folder, setting).verdict(asked, references=everywhere(folder, setting)),
    )
    # Two episodes: an interval needs no more.
    second = trace("second", seed=2).verdict(asked, references=references(2))
    yield "series", verdict_of_series([weak.verdict(asked, references=beside), second])
    wrong = Check("T.trace", "diverged", "event 34 differs: the log says 41, re-execution says 40", events=33, seq=34)
    yield "unsound", weak.verdict(asked, wrong, references=beside)
    silent = trace("silent", move=lapses)
    yield from idle(silent, beside, trace)
    yield "series, some idle", verdict_of_series([silent.verdict({**REPLIES, "silent": {"text": 9}}), second])
    cut = trace("cut", setting.good, rounds=1)
    yield "stopped", cut.verdict(asked)
    open_ended = trace("open", setting.good, rounds=1, ends=False)
    failure = "react, small-1 at http://127.0.0.1/v1: RateLimitError: status 429: slow down, after 4 retries and 9.1 s"
    yield "provider failed", open_ended.verdict({**asked, "failure": failure})
    yield "killed", open_ended.verdict(asked)
    given_up = {"given_up": {"no_call": 2}, "given_up_rounds": 2}
    yield "gave up", weak.verdict({**asked, **given_up}, references=beside)


def idle(silent: Played, beside: Mapping[str, Any], trace: Callable[..., Played]) -> Iterator[tuple[str, Verdict]]:
    """The troubles after which nothing was played."""
    yield "never called", silent.verdict({**REPLIES, "silent": {"text": 9}}, references=beside)
    yield "malformed", silent.verdict({**REPLIES, "invalid_calls": 180}, references=beside)
    yield "unknown tools", trace("unknown", move=calls_nothing).verdict(REPLIES, references=beside)
    yield "all refused", trace("refused", move=is_refused).verdict(REPLIES, references=beside)


def everywhere(folder: Path, setting: Setting) -> dict[str, Outcome[Any, Any]]:
    """The references in all these seats, as far as they play their roles."""
    roles = set(seats_of(setting).values())
    kind = market_type(setting.scenario.partition("/")[0])
    able = [policy for policy in setting.references if roles <= kind.policies[policy].roles]
    found = {policy: evaluate_file(several(folder, setting, policy).path).outcome for policy in able}
    return {policy: outcome for policy, outcome in found.items() if outcome}


def several(folder: Path, setting: Setting, policy: str = "") -> Played:
    """The same player in all seats of the market; of two roles in those of the first."""
    return play(
        folder / (f"script-several-{policy}.trace" if policy else "several.trace"),
        setting,
        dict.fromkeys(seats_of(setting), policy or setting.good),
    )


def seats_of(setting: Setting) -> dict[str, str]:
    """Roles of the seats under test where there are several."""
    kind = market_type(setting.scenario.partition("/")[0])
    seats = kind.create(load_scenario(kind.name, setting.scenario, dict(setting.changed)), 1).seats
    role = seats[setting.seat].role
    return {seat: record.role for seat, record in seats.items() if record.role == role or len(seats) == 2}


def shown(said: Mapping[str, Verdict]) -> str:
    """The verdicts of a market as its file has them: name, status, exit code, a line per sentence, next steps."""
    parts: list[str] = []
    for case, verdict in said.items():
        steps = [f"  > {step.command}" for step in verdict.next]
        head = f"{case} ({verdict.status}, exit {verdict.exit_code})"
        parts.append("\n".join([head, *(f"  {sentence}" for sentence in verdict.sentences), *steps]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TEXTS.mkdir(exist_ok=True)
    for market in SETTINGS:
        with TemporaryDirectory() as folder:
            (TEXTS / f"{market}.txt").write_text(shown(dict(cases(market, Path(folder)))), encoding="utf-8")
