"""The commands `analyst illegality` and `analyst dossier`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.options import PLAIN, grouped
from tradefair.cli.terminal import Console, print_json, say, tell
from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.errors import unknown
from tradefair.contract.text import clean_line
from tradefair.evaluation.analyst.dossier import MAX_GAME, gather_agents, gather_evidence
from tradefair.evaluation.analyst.illegality import IllegalityQuestion, illegality_question
from tradefair.evaluation.progress import show_progress, watched
from tradefair.frameworks.models import ModelEndpoint
from tradefair.frameworks.models.asking import Asker, Said, open_asker, tokens_of
from tradefair.runner.agent_spec import read_endpoint
from tradefair.runner.analyst.dossier import Dossiers, dossier_conversation, write_dossiers
from tradefair.runner.analyst.illegality import Scoring, conversation, prompt_label, score_episodes, unscored
from tradefair.tracestore import find_traces, is_reference

analyst = typer.Typer(no_args_is_help=True, **PLAIN)

_Traces = Annotated[list[Path], typer.Argument(metavar="PATH...", exists=True, help="Trace files or folders of them.")]


@dataclass(frozen=True)
class _Asked:
    """Which model is asked, within what, and what is done with its answers."""

    model: Annotated[str, typer.Option(help="Who is asked: openai:<model>, <provider>:<model> or replay:<file>.")]
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint for openai:<model>.")] = ""
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of all requests and replies together.")] = None
    model_timeout: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds that a reply may take.")] = 120.0
    record: Annotated[Path | None, typer.Option(help="Append every model call to this file.")] = None
    replay: Annotated[Path | None, typer.Option(help="Answer from this file; no model is asked.")] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and its size; ask no model.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False

    @property
    def endpoint(self) -> ModelEndpoint:
        """The model's endpoint. Raises ScenarioError."""
        return read_endpoint(self.model, self.base_url, self.model_timeout)

    def asker(self) -> AbstractAsyncContextManager[Asker]:
        """An asker of the model, closed afterwards."""
        return open_asker(self.endpoint, max_tokens=self.max_tokens, record=self.record, replay=self.replay)


@dataclass(frozen=True)
class _AskedAtLength(_Asked):
    # A whole page takes a model longer than a score.
    model_timeout: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds that a reply may take.")] = 600.0


@analyst.callback()
def _both() -> None:
    """A model's opinion of talk and play, stored apart from everything that is measured.

    Works with any OpenAI-compatible endpoint; nothing that it says enters an outcome, a finding or a rating.
    """


@analyst.command()
@grouped
def illegality(
    paths: _Traces,
    asked: _Asked,
    out: Annotated[Path, typer.Option("-o", "--out", help="Side file that opinions are appended to.")] = Path(
        "illegality.jsonl"
    ),
    max_episodes: Annotated[int | None, typer.Option(min=1, help="Ask about so many episodes at most.")] = None,
) -> int:
    """How illegal the talk of each episode reads to a model: 0 to 10, a reason, and the messages that it rests on.

    An answer that is not exactly that is asked for once more and then has no score, with the reason. Episodes that the
    side file already has a score of (same messages, prompt and model) are skipped. Exit code 1 when an episode got no
    score although somebody spoke, or a file is no trace; 3 when the provider failed.
    """
    label = asked.endpoint.label
    questions, unread = _questions(_files(paths))
    # Before an asker is opened: a dry run needs no key.
    if asked.dry_run:
        waiting = [question for question in unscored(questions, out, label) if question.numbers][:max_episodes]
        requests = [(question.episode, question.digest, conversation(question)) for question in waiting]
        _show_dry_run(requests, asked.as_json)
        return 1 if unread else 0

    async def run() -> tuple[Scoring, str]:
        async with asked.asker() as asker:
            scoring = await score_episodes(questions, asker, out, max_episodes=max_episodes, progress=show_progress)
            return scoring, asker.spent.in_words()

    scoring, spent = asyncio.run(run())
    _show_scores(scoring, asked.as_json)
    say(f"{len(scoring.opinions)} episodes added to {out}, {scoring.known} known; {spent}")
    if scoring.left:
        say(f"{len(scoring.left)} episodes were not asked about: {scoring.why_left}; run the same command to go on")
    return 1 if unread or any(opinion.attempts and opinion.score is None for opinion in scoring.opinions) else 0


@analyst.command()
@grouped
def dossier(
    paths: _Traces,
    asked: _AskedAtLength,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent, by its label; may be repeated.")] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the pages.")] = Path("dossiers"),
    date: Annotated[str, typer.Option(help="Date on the pages; default: the day on which the last trace ended.")] = "",
    max_characters: Annotated[
        int, typer.Option(min=1_000, max=1_000_000, help="Characters of each game that are shown; its middle is cut.")
    ] = MAX_GAME,
) -> int:
    """A page per agent on how it plays, from up to 12 games that are chosen by rule; every claim is held against them.

    The check marks claims without a citation, citations of what was not shown, and quoted words that nobody wrote. A
    page of the same input, prompt and model is not written again. Exit code 1 when an agent got no page or a file is no
    sound trace; 3 when the provider failed.
    """
    # A model that is none is refused before the games are read.
    opening = asked.asker()
    agents = gather_agents(_files(paths), show_progress)
    for path, problem in agents.unread.items():
        say(f"{path}: {problem.removeprefix(f'{path}: ')}")
    if agents.unread and not agents.games:
        return 1
    chosen = _chosen(sorted(agents.games), agent or [])
    gather = {name: partial(gather_evidence, name, agents.games[name], max_game=max_characters) for name in chosen}
    if asked.dry_run:
        evidence = [make() for make in gather.values()]
        _show_dry_run([(games.agent, games.digest, dossier_conversation(games)) for games in evidence], asked.as_json)
        return 1 if agents.unread else 0

    async def run() -> tuple[Dossiers, str]:
        async with opening as asker:
            pages = await write_dossiers(gather, asker, out, date or agents.finished, progress=show_progress)
            return pages, asker.spent.in_words()

    pages, spent = asyncio.run(run())
    _show_pages(pages, asked.as_json)
    say(f"{len(pages.written)} agents asked about, {len(pages.known)} pages were there already; {spent}")
    if pages.left:
        say(f"not asked about: {', '.join(pages.left)}: {pages.why_left}; run the same command to go on")
    return 1 if agents.unread or any(page.problem for page in pages.written) else 0


def _files(paths: Iterable[Path]) -> list[Path]:
    """The traces, without the references that a run has played, unless these were named themselves."""
    return [file for path in paths for file in find_traces(path) if not is_reference(file, path)]


def _questions(files: Sequence[Path]) -> tuple[list[IllegalityQuestion], bool]:
    """The questions, and whether a file is no trace; the reason is said at once."""
    questions: list[IllegalityQuestion] = []
    unread = False
    for path in watched(files, show_progress, lambda path: path.name):
        try:
            question = illegality_question(path)
        except TraceError as error:
            unread = True
            say(str(error))
            continue
        questions.append(question)
        for problem in question.problems:
            say(f"{path}: {problem}")
    return questions, unread


def _chosen(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The agents to write about. ScenarioError names those that there are."""
    for name in wanted:
        if name not in known:
            raise ScenarioError(unknown("agent", name, known))
    if not known:
        raise ScenarioError("no trace says who played: labels are missing in all of them")
    return [name for name in known if not wanted or name in wanted]


def _show_dry_run(requests: Sequence[tuple[str, str, Sequence[Said]]], as_json: bool) -> None:
    """Every request in full, with its size; then the sum.

    Sizes are estimates in tokens of what would be sent; replies are not among them.
    """
    sizes = [tokens_of(*(said.text for said in words)) for _, _, words in requests]
    if as_json:
        rows = [
            {
                "name": name,
                "input_digest": digest,
                "tokens_estimated": size,
                "messages": [said._asdict() for said in words],
            }
            for (name, digest, words), size in zip(requests, sizes, strict=True)
        ]
        print_json({"requests": rows, "tokens_estimated": sum(sizes)})
        return
    for (name, _, words), size in zip(requests, sizes, strict=True):
        tell(f"===== {clean_line(name)}: about {size:,} tokens")
        for said in words:
            tell(f"----- {said.role} ({len(said.text):,} characters)\n{said.text}")
    tell(f"{len(requests)} requests, about {sum(sizes):,} tokens to send; no model was asked")


def _show_scores(scoring: Scoring, as_json: bool) -> None:
    if as_json:
        left = [question.episode for question in scoring.left]
        opinions = [opinion.model_dump(mode="json") for opinion in scoring.opinions]
        print_json({"opinions": opinions, "known": scoring.known, "left": left, "why_left": scoring.why_left})
        return
    from tradefair.cli.tables import figures, names, show_table, words

    console = Console(soft_wrap=True)
    if scoring.opinions:
        console.print(
            f"A model's opinion, not a finding: {scoring.opinions[0].model}, {prompt_label()}",
            markup=False,
            style="bold",
        )
        rows = [
            (
                clean_line(opinion.episode),
                "none" if opinion.score is None else str(opinion.score),
                ", ".join(map(str, opinion.messages)),
                clean_line(opinion.reason or opinion.no_score or ""),
            )
            for opinion in scoring.opinions
        ]
        show_table(console, [*names("episode"), *figures("score"), *words("messages", "reason")], rows)


def _show_pages(pages: Dossiers, as_json: bool) -> None:
    if as_json:
        written = [page.to_json() for page in pages.written]
        print_json({"dossiers": written, "known": pages.known, "left": pages.left, "why_left": pages.why_left})
        return
    from tradefair.cli.tables import figures, names, show_table, words

    rows = [
        (clean_line(page.agent), str(page.checked.claims), str(page.checked.unsupported), str(page.path))
        if page.checked
        else (clean_line(page.agent), "none", "none", clean_line(page.problem or ""))
        for page in pages.written
    ]
    if rows:
        console = Console(soft_wrap=True)
        show_table(console, [*names("agent"), *figures("claims", "marked"), *words("page")], rows)
