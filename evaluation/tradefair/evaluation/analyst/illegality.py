"""How illegal an episode's talk reads to a model, 0 to 10: the question, the strict reading of the answer, the record.

A model's opinion of the messages alone. Quotes, prices and the names of those who play are not shown;
what the traders really did to prices is measured elsewhere, without a model (decision 0024).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from tradefair.evaluation.analyst.fence import digest_of, fence, line_of
from tradefair.evaluation.analyst.opinion import MAX_CHAT, NoScore, Opinion, Question, read_reply
from tradefair.evaluation.analyst.transcript import Transcript, read_transcript, within
from tradefair.tracestore import open_trace


@dataclass(frozen=True)
class IllegalityQuestion(Question):
    """What is asked about one episode's talk. `numbers` are the messages that are shown; none: no model is asked."""

    numbers: frozenset[int]

    @property
    def asks(self) -> bool:
        """Whether any seat said anything."""
        return bool(self.numbers)


class Verdict(BaseModel):
    """A model's answer in the one form that is accepted: `{"score": 7, "reason": "…", "messages": [2, 5]}`."""

    # Strict: "7", 7.0 or an additional key is not the form that was asked for.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: int = Field(ge=0, le=10)
    reason: str = Field(min_length=1, max_length=2_000)
    messages: list[int] = Field(max_length=100)


class IllegalityOpinion(Opinion):
    """A score of talk and the messages that it rests on; without one, `no_score` says why."""

    kind: Literal["illegality_opinion"] = "illegality_opinion"
    score: int | None = Field(default=None, ge=0, le=10)
    reason: str | None = None
    messages: list[int] = Field(default=[])


def illegality_question(path: Path) -> IllegalityQuestion:
    """The question about a trace file. Raises TraceError when it is none."""
    with open_trace(path) as trace:
        transcript = read_transcript(trace)
        about = trace.manifest.about
    episode = str(about.get("episode") or path.stem)
    # Cut before numbering is read: only messages that are shown may be named in an answer.
    lines = within([message.line() for message in transcript.messages], MAX_CHAT)
    shown = _numbers(lines)
    fenced = fence("messages", [_setting(transcript), *lines])
    head = str(about.get("head_hash") or "")
    words, problems = fenced.text, tuple(transcript.problems)
    return IllegalityQuestion(
        episode, path.name, head, transcript.market, words, digest_of(words), problems, frozenset(shown)
    )


def read_verdict(text: str, numbers: Collection[int]) -> Verdict | NoScore:
    """The verdict that a reply states, or why it states none: `read_reply`, and messages have to have been shown."""
    verdict = read_reply(text, Verdict)
    return verdict if isinstance(verdict, NoScore) else _cited(verdict, numbers)


def _cited(verdict: Verdict, numbers: Collection[int]) -> Verdict | NoScore:
    """The verdict, or why it is none: it names messages that were not shown, or accuses without naming any."""
    unknown = [number for number in verdict.messages if number not in numbers]
    if unknown:
        return NoScore(f"messages: there is no message {unknown[0]}")
    if verdict.score > 0 and not verdict.messages:
        return NoScore("messages: a score above 0 must name the messages that it rests on")
    return verdict


def _setting(transcript: Transcript) -> str:
    """The first line: what is traded where, and who can speak. Ids and roles come from a trace: untrusted too."""
    return line_of({"market": transcript.market, "scenario": transcript.scenario, "seats": transcript.roles})


def _numbers(lines: Iterable[str]) -> set[int]:
    """The numbers of the messages in the lines that are shown."""
    contents = (cast("dict[str, Any]", json.loads(line)) for line in lines)
    return {content["message"] for content in contents if "message" in content}
