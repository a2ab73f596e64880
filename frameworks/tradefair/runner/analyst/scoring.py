"""Asking a model once per episode, and once more where the answer cannot be read; every opinion is a line of a file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Generic, TypeVar

from pydantic import BaseModel

from tradefair.agents.prompt import Prompt, load_prompt
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.analyst.opinion import NoScore, Opinion, Question, read_opinions
from tradefair.frameworks.models.asking import Asker, BudgetSpent, Reply, Said, Spent

# Characters of a reason, which is kept with the opinion and may quote the model.
_MAX_WHY = 300
# Characters of a reply that are sent back with the question to mend it.
_MAX_KEPT = 20_000

Q = TypeVar("Q", bound=Question)
A = TypeVar("A", bound=Opinion)


@dataclass(frozen=True)
class Study(Generic[Q, A]):
    """One kind of opinion: its prompts `name` and `name_repair`, how a reply is read, and the line that is kept.

    `read` gives a record whose fields are the opinion's own, or why there is none. `fill` fills in the prompt's
    placeholders; `silent` is said of an episode in which there is nothing to ask about.
    """

    name: str
    opinion: type[A]
    read: Callable[[str, Q], BaseModel | NoScore]
    silent: str
    fill: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def prompt_label(self) -> str:
        """Names, versions and digests of the prompts, as an opinion keeps them."""
        return f"{_prompt(self.name).label}+{_prompt(f'{self.name}_repair').label}"

    def conversation(self, question: Q) -> list[Said]:
        """What is sent about an episode: its words are quoted as data."""
        template = _prompt(self.name).template
        return [
            Said("system", Template(template).substitute(self.fill) if self.fill else template),
            Said("user", question.words),
        ]

    def unscored(self, questions: Sequence[Q], out: Path, model: str) -> list[Q]:
        """Those that have no answer in `out` yet; one without an opinion is asked again. Raises ScenarioError.

        An answer belongs to episode, messages, prompts and model: a change of any of them asks again.
        """
        settled = {opinion.question for opinion in read_opinions(out, self.opinion) if opinion.settled}
        prompt = self.prompt_label
        return [asked for asked in questions if (asked.episode, asked.digest, prompt, model) not in settled]


@dataclass
class Scoring(Generic[Q, A]):
    """What one run of the command did. `left` are questions that a budget kept from being asked, `why_left` says which.

    `known` were answered by an earlier run into the same file.
    """

    opinions: list[A]
    left: list[Q]
    known: int = 0
    why_left: str | None = None


async def score_episodes(
    study: Study[Q, A],
    questions: Sequence[Q],
    asker: Asker,
    out: Path,
    *,
    max_episodes: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Scoring[Q, A]:
    """Ask about every episode that `out` does not know yet, one after another; append each answer as it comes.

    Raises HarnessFailure where the provider fails: what was answered before stays in the file.
    """
    waiting = study.unscored(questions, out, asker.label)
    scoring = Scoring[Q, A]([], [], known=len(questions) - len(waiting))
    # After the known answers were read: a line that was cut off has been passed over by then.
    _mend(out)
    asked = 0
    for place, question in enumerate(waiting):
        if progress is not None:
            progress(place, len(waiting), question.episode)
        if question.asks and max_episodes is not None and asked >= max_episodes:
            scoring.left.append(question)
            scoring.why_left = f"--max-episodes {max_episodes}"
            continue
        try:
            opinion = await _opinion(study, question, asker)
        except BudgetSpent as spent:
            scoring.left, scoring.why_left = [*scoring.left, *waiting[place:]], str(spent)
            break
        # Silent episodes ask no model, so they do not count against --max-episodes.
        asked += question.asks
        _append(out, opinion)
        scoring.opinions.append(opinion)
    if progress is not None:
        progress(len(waiting), len(waiting), "")
    return scoring


async def _opinion(study: Study[Q, A], question: Q, asker: Asker) -> A:
    spent = Spent()
    found = await _verdict(study, question, asker, spent) if question.asks else NoScore(study.silent)
    known = study.opinion(
        episode=question.episode,
        trace=question.trace,
        head=question.head,
        market=question.market,
        model=asker.label,
        prompt=study.prompt_label,
        input_digest=question.digest,
        attempts=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd_micro=spent.cost_usd_micro,
    )
    if isinstance(found, NoScore):
        return known.model_copy(update={"no_score": found.why})
    # Fields, not their dump: an opinion holds records of its own.
    return known.model_copy(update=dict(found))


async def _verdict(study: Study[Q, A], question: Q, asker: Asker, spent: Spent) -> BaseModel | NoScore:
    """The verdict of the first reply, or of the second; a refusal is not asked again."""
    words = study.conversation(question)
    first = await asker.ask(words, spent)
    found = _read(study, first, question)
    # A model that refuses once is not talked round.
    if first.refusal is not None or not isinstance(found, NoScore):
        return found
    repair = Template(_prompt(f"{study.name}_repair").template).substitute(why=found.why[:_MAX_WHY])
    # An empty message is refused by many endpoints.
    words += [Said("assistant", first.text[:_MAX_KEPT] or "(nothing)"), Said("user", repair)]
    try:
        return _read(study, await asker.ask(words, spent), question)
    except BudgetSpent:
        return NoScore(f"{found.why}; no tokens are left to ask again"[:_MAX_WHY])


def _read(study: Study[Q, A], reply: Reply, question: Q) -> BaseModel | NoScore:
    if reply.refusal is not None:
        return NoScore(f"the model refused: {reply.refusal}"[:_MAX_WHY])
    found = study.read(reply.text, question)
    return NoScore(found.why[:_MAX_WHY]) if isinstance(found, NoScore) else found


def _mend(out: Path) -> None:
    """Make room for the file, and cut off what a killed run left unfinished at its end."""
    with _writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def _append(out: Path, opinion: Opinion) -> None:
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
