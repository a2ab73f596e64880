"""Scores of talk, 0 to 10, by a model: asked once per episode, once more where the answer cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from tradefair.agents.prompt import Prompt, load_prompt
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.analyst.illegality import (
    IllegalityOpinion,
    IllegalityQuestion,
    NoScore,
    Verdict,
    read_opinions,
    read_verdict,
)
from tradefair.frameworks.models.asking import Asker, BudgetSpent, Reply, Said, Spent

SILENT = "no message was sent: no model was asked"
# Characters of a reason, which is kept with the opinion and may quote the model.
_MAX_WHY = 300
# Characters of a reply that are sent back with the question to mend it.
_MAX_KEPT = 20_000


@dataclass
class Scoring:
    """What one run of the command did. `left` are questions that a budget kept from being asked, `why_left` says which.

    `known` were answered by an earlier run into the same file.
    """

    opinions: list[IllegalityOpinion] = field(default_factory=list[IllegalityOpinion])
    known: int = 0
    left: list[IllegalityQuestion] = field(default_factory=list[IllegalityQuestion])
    why_left: str | None = None


def prompt_label() -> str:
    """Names, versions and digests of the prompts, as an opinion keeps them."""
    return f"{_prompt('illegality').label}+{_prompt('illegality_repair').label}"


def conversation(question: IllegalityQuestion) -> list[Said]:
    """What is sent about an episode.

    The messages are quoted as data, numbered as the verdict has to cite them.
    """
    return [Said("system", _prompt("illegality").template), Said("user", question.words)]


def unscored(questions: Sequence[IllegalityQuestion], out: Path, model: str) -> list[IllegalityQuestion]:
    """Those that have no answer in `out` yet; one without a score is asked again. Raises ScenarioError.

    An answer belongs to episode, messages, prompts and model: a change of any of them asks again.
    """
    settled = {opinion.question for opinion in read_opinions(out) if opinion.score is not None or not opinion.attempts}
    prompt = prompt_label()
    return [asked for asked in questions if (asked.episode, asked.digest, prompt, model) not in settled]


async def score_episodes(
    questions: Sequence[IllegalityQuestion],
    asker: Asker,
    out: Path,
    *,
    max_episodes: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Scoring:
    """Ask about every episode that `out` does not know yet, one after another; append each answer as it comes.

    Raises HarnessFailure where the provider fails: what was answered before stays in the file.
    """
    waiting = unscored(questions, out, asker.label)
    scoring = Scoring(known=len(questions) - len(waiting))
    # After the known answers were read: a line that was cut off has been passed over by then.
    _mend(out)
    asked = 0
    for place, question in enumerate(waiting):
        if progress is not None:
            progress(place, len(waiting), question.episode)
        if question.numbers and max_episodes is not None and asked >= max_episodes:
            scoring.left.append(question)
            scoring.why_left = f"--max-episodes {max_episodes}"
            continue
        try:
            opinion = await _opinion(question, asker)
        except BudgetSpent as spent:
            scoring.left, scoring.why_left = [*scoring.left, *waiting[place:]], str(spent)
            break
        # Silent episodes ask no model, so they do not count against --max-episodes.
        asked += bool(question.numbers)
        _append(out, opinion)
        scoring.opinions.append(opinion)
    if progress is not None:
        progress(len(waiting), len(waiting), "")
    return scoring


async def _opinion(question: IllegalityQuestion, asker: Asker) -> IllegalityOpinion:
    spent = Spent()
    found = await _verdict(question, asker, spent) if question.numbers else NoScore(SILENT)
    known = IllegalityOpinion(
        episode=question.episode,
        trace=question.trace,
        head=question.head,
        market=question.market,
        model=asker.label,
        prompt=prompt_label(),
        input_digest=question.digest,
        attempts=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd_micro=spent.cost_usd_micro,
    )
    if isinstance(found, NoScore):
        return known.model_copy(update={"no_score": found.why})
    return known.model_copy(update=found.model_dump())


async def _verdict(question: IllegalityQuestion, asker: Asker, spent: Spent) -> Verdict | NoScore:
    """The verdict of the first reply, or of the second; a refusal is not asked again."""
    words = conversation(question)
    first = await asker.ask(words, spent)
    found = _read(first, question)
    # A model that refuses once is not talked round.
    if first.refusal is not None or not isinstance(found, NoScore):
        return found
    repair = Template(_prompt("illegality_repair").template).substitute(why=found.why[:_MAX_WHY])
    # An empty message is refused by many endpoints.
    words += [Said("assistant", first.text[:_MAX_KEPT] or "(nothing)"), Said("user", repair)]
    try:
        return _read(await asker.ask(words, spent), question)
    except BudgetSpent:
        return NoScore(f"{found.why}; no tokens are left to ask again"[:_MAX_WHY])


def _read(reply: Reply, question: IllegalityQuestion) -> Verdict | NoScore:
    if reply.refusal is not None:
        return NoScore(f"the model refused: {reply.refusal}"[:_MAX_WHY])
    found = read_verdict(reply.text, question.numbers)
    return found if isinstance(found, Verdict) else NoScore(found.why[:_MAX_WHY])


def _mend(out: Path) -> None:
    """Make room for the file, and cut off what a killed run left unfinished at its end."""
    with _writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def _append(out: Path, opinion: IllegalityOpinion) -> None:
    """One whole line at the end of the file."""
    with _writing(out), out.open("ab") as file:
        file.write(opinion.model_dump_json().encode() + b"\n")


@contextmanager
def _writing(out: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageUnavailable(f"{out}: cannot be written: {error.strerror}") from None


def _prompt(name: str) -> Prompt:
    return load_prompt(name, __package__ or "")
