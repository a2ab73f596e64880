"""A page per agent, written by a model and checked without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from tradefair.agents.prompt import Prompt, load_prompt
from tradefair.evaluation.analyst.citations import HEADINGS, Checked, check_claims
from tradefair.evaluation.analyst.dossier import DossierEvidence
from tradefair.evaluation.analyst.dossier_page import Origin, dossier_file, dossier_page, read_origin
from tradefair.evaluation.whole_files import write_whole
from tradefair.frameworks.models.asking import Asker, BudgetSpent, Said, Spent

# Characters of a reply: a dossier is a page, and each of its claims is checked.
_MAX_TEXT = 100_000


class Dossier(NamedTuple):
    """One page that was written, or why none was."""

    agent: str
    path: Path
    checked: Checked | None
    spent: Spent
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        checked = self.checked
        return {
            "agent": self.agent,
            "path": str(self.path),
            "problem": self.problem,
            "claims": checked.claims if checked else None,
            "unsupported": checked.unsupported if checked else None,
            "marks": [mark._asdict() for mark in checked.marks] if checked else None,
            "input_tokens": self.spent.input_tokens,
            "output_tokens": self.spent.output_tokens,
            "cost_usd_micro": self.spent.cost_usd_micro,
        }


@dataclass
class Dossiers:
    """What one run of the command did: `known` pages were there already, `left` is beyond a budget."""

    written: list[Dossier] = field(default_factory=list[Dossier])
    known: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    why_left: str | None = None


def dossier_conversation(evidence: DossierEvidence) -> list[Said]:
    """What is sent about an agent."""
    headings = "\n".join(f"- {heading}" for heading in HEADINGS)
    return [Said("system", Template(_prompt().template).substitute(headings=headings)), Said("user", evidence.words)]


def dossier_origin(evidence: DossierEvidence, model: str, date: str | None) -> Origin:
    """What makes the dossier the one that it is.

    Written into the page, and read from it to tell whether it has to be written again.
    """
    return Origin(evidence.agent, model, _prompt().label, evidence.digest, date or "unknown")


async def write_dossiers(
    agents: Mapping[str, Callable[[], DossierEvidence]],
    asker: Asker,
    folder: Path,
    date: str | None,
    *,
    progress: Callable[[int, int, str], None] | None = None,
) -> Dossiers:
    """Write a page for each agent that has none yet of the same input, prompt and model.

    Evidence is gathered when it is needed. Raises HarnessFailure where the provider fails; finished pages stay.
    """
    done = Dossiers()
    names = list(agents)
    for place, agent in enumerate(names):
        if progress is not None:
            progress(place, len(names), agent)
        evidence = agents[agent]()
        path, origin = dossier_file(agent, folder), dossier_origin(evidence, asker.label, date)
        # The date is no part of the question: a page from another day is not written again.
        if origin.same_question(read_origin(path)):
            done.known.append(agent)
            continue
        try:
            done.written.append(await _write(evidence, origin, asker, path))
        except BudgetSpent as spent:
            # A smaller one may still fit, but which pages there are should not depend on their sizes.
            done.left, done.why_left = names[place:], str(spent)
            break
    if progress is not None:
        progress(len(names), len(names), "")
    return done


async def _write(evidence: DossierEvidence, origin: Origin, asker: Asker, path: Path) -> Dossier:
    spent = Spent()
    reply = await asker.ask(dossier_conversation(evidence), spent)
    problem = _problem(reply.refusal, reply.text)
    if problem is not None:
        return Dossier(evidence.agent, path, None, spent, problem)
    text = _unpacked(reply.text)
    checked = check_claims(text, evidence.shown)
    # Whole or not at all: a page that was cut off would look finished.
    write_whole(path, [dossier_page(origin, evidence, text, checked).encode()])
    return Dossier(evidence.agent, path, checked, spent)


def _problem(refusal: str | None, text: str) -> str | None:
    """Why a reply is no dossier."""
    if refusal is not None:
        return f"the model refused: {refusal}"[:300]
    if not text.strip():
        return "the reply is empty"
    return f"the reply is longer than {_MAX_TEXT:,} characters" if len(text) > _MAX_TEXT else None


def _unpacked(text: str) -> str:
    """The text without a block of code around all of it."""
    lines: Sequence[str] = text.strip().splitlines()
    packed = len(lines) > 2 and lines[0] in ("```", "```markdown", "```md") and lines[-1] == "```"
    # Models often wrap a whole reply in a block of code.
    return "\n".join(lines[1:-1] if packed else lines)


def _prompt() -> Prompt:
    return load_prompt("dossier", __package__ or "")
