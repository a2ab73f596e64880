"""What `analyst failures` prints: the failures that a model saw, and apart from everything measured, their rates."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, words
from tradefair.cli.terminal import print_json
from tradefair.contract.text import clean_line
from tradefair.evaluation.analyst.failures import CategoryRate, FailureOpinion, FailureQuestion
from tradefair.evaluation.audit.rates import WITHIN, Share
from tradefair.runner.analyst.scoring import Scoring
from tradefair.runner.analyst.studies import FAILURES


def show_failures(
    scoring: Scoring[FailureQuestion, FailureOpinion], rates: Sequence[CategoryRate], as_json: bool
) -> None:
    """Print each failure with step, category, quotation and reason; then the table by category, where there is one."""
    if as_json:
        left = [question.episode for question in scoring.left]
        opinions = [opinion.model_dump(mode="json") for opinion in scoring.opinions]
        told = {"known": scoring.known, "left": left, "why_left": scoring.why_left}
        print_json({"opinions": opinions, **told, "categories": [rate.to_json() for rate in rates]})
        return
    console = Console(soft_wrap=True)
    if scoring.opinions:
        told = f"A model's opinion, not a finding: {scoring.opinions[0].model}, {FAILURES.prompt_label}"
        console.print(told, markup=False, style="bold")
        rows = [row for opinion in scoring.opinions for row in _rows(opinion)]
        show_table(console, [*names("run"), *figures("step"), *words("category", "quoted", "reason")], rows)
    if rates:
        columns = [*names("category"), *figures("failed runs", "passed runs", "precision", "located")]
        show_table(console, columns, [_rate(rate) for rate in rates], whole=True)
        console.print(f"located: labelled failures with an opinion within {WITHIN} steps")
    elif scoring.opinions:
        console.print("no labels: how often this is wrong is not known")


def _rows(opinion: FailureOpinion) -> list[tuple[str, str, str, str, str]]:
    run = clean_line(opinion.episode)
    if not opinion.failures:
        return [(run, "none", "", "", clean_line(opinion.no_score or ""))]
    return [
        (run, str(seen.step), seen.category, f'"{clean_line(seen.quote)}"', clean_line(seen.reason))
        for seen in opinion.failures
    ]


def _rate(rate: CategoryRate) -> tuple[str, ...]:
    precision = "" if rate.precision is None else f"{rate.precision:.2f}"
    return rate.category, _share(rate.failed), _share(rate.passed), precision, _share(rate.located)


def _share(share: Share) -> str:
    return f"{share.raised} of {share.of}"
