"""How illegal an episode's talk reads to a model, 0 to 10: the question, the strict reading of the answer, the record.

A model's opinion of the messages alone. Quotes, prices and the names of those who play are not shown;
what the traders really did to prices is measured elsewhere, without a model (decision 0024).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradefair.contract import ScenarioError
from tradefair.evaluation.analyst.fence import digest_of, fence, line_of
from tradefair.evaluation.analyst.transcript import Transcript, read_transcript, within
from tradefair.files.user_files import MIB, read_regular
from tradefair.tracestore import open_trace

MAX_CHAT = 120_000
"""Characters of an episode's messages that are shown; of longer ones the first and the last."""

# Characters. The accepted form needs some hundred; a longer reply is not parsed at all.
_MAX_REPLY = 20_000
_MAX_FILE = 256 * MIB
# Many models send JSON in a code block. Only a block around the whole reply leaves nothing to guess.
_BLOCK = re.compile(r"\A```(?:json)?\n(.*)\n```\Z", re.DOTALL)


class IllegalityQuestion(NamedTuple):
    """What is asked about one episode. `words` is the untrusted part, fenced; `digest` is that of `words`.

    `numbers` are the messages that are shown; none: no seat said anything, and no model is asked.
    """

    episode: str
    trace: str
    head: str
    market: str
    words: str
    digest: str
    numbers: frozenset[int]
    problems: tuple[str, ...] = ()


class Verdict(BaseModel):
    """A model's answer in the one form that is accepted: `{"score": 7, "reason": "…", "messages": [2, 5]}`."""

    # Strict: "7", 7.0 or an additional key is not the form that was asked for.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: int = Field(ge=0, le=10)
    reason: str = Field(min_length=1, max_length=2_000)
    messages: list[int] = Field(max_length=100)


class NoScore(NamedTuple):
    """An answer that is none, and why: what a model is told when it is asked again."""

    why: str


class IllegalityOpinion(BaseModel):
    """One line of the side file: a model's opinion, never a finding. Without a score, `no_score` says why.

    `attempts` counts replies; tokens and cost are null where the provider did not state them. The same
    `input_digest`, `prompt` and `model` are the same question.
    """

    # A later version may add fields; its side files must stay readable here.
    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["illegality_opinion"] = "illegality_opinion"
    version: Literal[1] = 1
    episode: str
    trace: str
    head: str
    market: str
    model: str
    prompt: str
    input_digest: str
    score: int | None = Field(default=None, ge=0, le=10)
    reason: str | None = None
    messages: list[int] = []
    no_score: str | None = None
    attempts: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd_micro: int | None = None

    @property
    def question(self) -> tuple[str, str, str, str]:
        """Episode, input, prompt and model: two opinions with the same four answer the same question."""
        return self.episode, self.input_digest, self.prompt, self.model


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
        episode, path.name, head, transcript.market, words, digest_of(words), frozenset(shown), problems
    )


def read_verdict(text: str, numbers: Collection[int]) -> Verdict | NoScore:
    """The verdict that a reply states, or why it states none. Nothing is guessed: prose, twice the same key, numbers
    out of range or messages that were not shown make it none. A block of code around the whole reply is taken off."""
    if len(text) > _MAX_REPLY:
        return NoScore(f"the reply is longer than {_MAX_REPLY:,} characters")
    block = _BLOCK.match(text.strip())
    try:
        # Python's json, not orjson: it hands over duplicate keys, of which orjson silently keeps the last.
        content: Any = json.loads(block[1] if block else text, object_pairs_hook=_once)
    # Deeply nested brackets in a reply end in a RecursionError.
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, _Twice) else "there is other text around it, or it is broken"
        return NoScore(f"the reply is not one JSON object: {said}" if text.strip() else "the reply is empty")
    try:
        verdict = Verdict.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return NoScore(f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}")
    return _cited(verdict, numbers)


def _cited(verdict: Verdict, numbers: Collection[int]) -> Verdict | NoScore:
    """The verdict, or why it is none: it names messages that were not shown, or accuses without naming any."""
    unknown = [number for number in verdict.messages if number not in numbers]
    if unknown:
        return NoScore(f"messages: there is no message {unknown[0]}")
    if verdict.score > 0 and not verdict.messages:
        return NoScore("messages: a score above 0 must name the messages that it rests on")
    return verdict


def read_opinions(path: Path) -> list[IllegalityOpinion]:
    """The opinions in a side file, in order; nothing where there is no file. Raises ScenarioError with the line.

    A last line that a killed run left unfinished is passed over.
    """
    if not path.exists():
        return []
    try:
        lines = read_regular(path, _MAX_FILE).split(b"\n")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    return list(_opinions(path, lines))


def _opinions(path: Path, lines: list[bytes]) -> Iterable[IllegalityOpinion]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield IllegalityOpinion.model_validate_json(line)
        except ValidationError as error:
            # A run that was killed while writing leaves half a line; every other broken line is damage.
            if number == len(lines):
                return  # unfinished: a whole line ends with a line feed
            said = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise ScenarioError(f"{path}, line {number}: not an opinion of the analyst: {said}") from None


def _setting(transcript: Transcript) -> str:
    """The first line: what is traded where, and who can speak. Ids and roles come from a trace: untrusted too."""
    return line_of({"market": transcript.market, "scenario": transcript.scenario, "seats": transcript.roles})


def _numbers(lines: Iterable[str]) -> set[int]:
    """The numbers of the messages in the lines that are shown."""
    contents = (cast("dict[str, Any]", json.loads(line)) for line in lines)
    return {content["message"] for content in contents if "message" in content}


class _Twice(ValueError):
    """A key that stands twice: which of its values is meant cannot be known."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise _Twice("a key stands twice")
    return content
