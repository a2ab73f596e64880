"""What the commands of `analyst` do: ask, and print what was answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from tradefair.cli.console import Console
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.errors import unknown
from tradefair.contract.text import clean_line
from tradefair.evaluation.analyst.dossier import gather_agents, gather_evidence
from tradefair.evaluation.analyst.failures import FailureOpinion, FailureQuestion, category_rates, failure_question
from tradefair.evaluation.analyst.illegality import IllegalityOpinion, IllegalityQuestion, illegality_question
from tradefair.evaluation.analyst.opinion import read_opinions
from tradefair.evaluation.audit.rates import Label, labels_in
from tradefair.evaluation.progress import show_progress, watched
from tradefair.files.user_files import text_file
from tradefair.frameworks.models.asking import Said, tokens_of
from tradefair.runner.analyst.analyst_flags import Asked, AskedAtLength
from tradefair.runner.analyst.dossier import Dossiers, dossier_conversation, write_dossiers
from tradefair.runner.analyst.scoring import A, Q, Scoring, Study, score_episodes
from tradefair.runner.analyst.show_failures import show_failures
from tradefair.runner.analyst.studies import FAILURES, ILLEGALITY
from tradefair.tracestore import find_traces, is_reference


def ask_illegality(paths: Iterable[Path], asked: Asked, out: Path, max_episodes: int | None) -> int:
    """Ask how illegal the talk of each episode reads, append the opinions to `out` and print them; the exit code.

    Raises ScenarioError, and HarnessFailure where the provider failed.
    """
    return _ask(ILLEGALITY, paths, illegality_question, asked, out, max_episodes, _show_scores)


def ask_failures(
    paths: Iterable[Path], asked: Asked, out: Path, max_episodes: int | None, policy: Path, labels: Path | None
) -> int:
    """Ask where each run failed under a policy, append the opinions to `out` and print them; the exit code.

    With labels, or where the sources say which runs passed, the table of all opinions in `out` of this policy follows.
    Raises likewise.
    """
    text = text_file(policy)
    known, wrong = ({}, []) if labels is None else labels_in(labels)
    for problem in wrong:
        say(problem)

    def question(path: Path) -> FailureQuestion:
        made = failure_question(path, text)
        if labels is None and made.passed is not None:
            known[made.episode] = Label(made.episode, made.passed)
        return made

    def show(scoring: Scoring[FailureQuestion, FailureOpinion], as_json: bool) -> None:
        digests = {made.episode: made.digest for made in asked_about}
        newest = {
            opinion.episode: opinion
            for opinion in read_opinions(out, FailureOpinion)
            if digests.get(opinion.episode) == opinion.input_digest
        }
        show_failures(scoring, category_rates(newest.values(), known) if known else [], as_json)

    asked_about: list[FailureQuestion] = []

    def remembered(path: Path) -> FailureQuestion:
        asked_about.append(question(path))
        return asked_about[-1]

    code = _ask(FAILURES, paths, remembered, asked, out, max_episodes, show)
    return code or bool(wrong)


def _ask(
    study: Study[Q, A],
    paths: Iterable[Path],
    question: Callable[[Path], Q],
    asked: Asked,
    out: Path,
    max_episodes: int | None,
    show: Callable[[Scoring[Q, A], bool], None],
) -> int:
    """Ask a study's question about each trace, append the opinions to `out` and show them; the exit code."""
    label = asked.endpoint.label
    questions, unread = _questions(_files(paths), question)
    # Before an asker is opened: a dry run needs no key.
    if asked.dry_run:
        waiting = [made for made in study.unscored(questions, out, label) if made.asks][:max_episodes]
        _show_dry_run([(made.episode, made.digest, study.conversation(made)) for made in waiting], asked.as_json)
        return 1 if unread else 0

    async def run() -> tuple[Scoring[Q, A], str]:
        async with asked.asker() as asker:
            scoring = await score_episodes(
                study, questions, asker, out, max_episodes=max_episodes, progress=show_progress
            )
            return scoring, asker.spent.in_words()

    scoring, spent = asyncio.run(run())
    show(scoring, asked.as_json)
    say(f"{len(scoring.opinions)} episodes added to {out}, {scoring.known} known; {spent}")
    if scoring.left:
        say(f"{len(scoring.left)} episodes were not asked about: {scoring.why_left}; run the same command to go on")
    return 1 if unread or not all(opinion.settled for opinion in scoring.opinions) else 0


def ask_dossiers(
    paths: Iterable[Path], asked: AskedAtLength, wanted: Sequence[str], out: Path, date: str, max_characters: int
) -> int:
    """Write a page per agent into the folder `out` and print what was written; the exit code. Raises likewise."""
    # A model that is none is refused before the games are read.
    opening = asked.asker()
    agents = gather_agents(_files(paths), show_progress)
    for path, problem in agents.unread.items():
        say(f"{path}: {problem.removeprefix(f'{path}: ')}")
    if agents.unread and not agents.games:
        return 1
    chosen = _chosen(sorted(agents.games), wanted)
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


def _questions(files: Sequence[Path], make: Callable[[Path], Q]) -> tuple[list[Q], bool]:
    """The questions, and whether a file is no trace; the reason is said at once."""
    questions: list[Q] = []
    unread = False
    for path in watched(files, show_progress, lambda path: path.name):
        try:
            question = make(path)
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


def _show_scores(scoring: Scoring[IllegalityQuestion, IllegalityOpinion], as_json: bool) -> None:
    if as_json:
        left = [question.episode for question in scoring.left]
        opinions = [opinion.model_dump(mode="json") for opinion in scoring.opinions]
        print_json({"opinions": opinions, "known": scoring.known, "left": left, "why_left": scoring.why_left})
        return
    from tradefair.cli.tables import figures, names, show_table, words

    console = Console(soft_wrap=True)
    if scoring.opinions:
        console.print(
            f"A model's opinion, not a finding: {scoring.opinions[0].model}, {ILLEGALITY.prompt_label}",
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
