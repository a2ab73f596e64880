"""A model's opinion of one episode, and the one form of reply that is accepted: a JSON object and nothing else.

Every study that asks once per episode shares this: what is asked, the line that is kept of it, and how a reply is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tradefair.contract import ScenarioError
from tradefair.files.user_files import MIB, read_regular

MAX_CHAT = 120_000
"""Characters of an episode's messages that are shown; of longer ones the first and the last."""

# Characters. The accepted forms need some hundred; a longer reply is not parsed at all.
_MAX_REPLY = 20_000
_MAX_FILE = 256 * MIB
# Many models send JSON in a code block. Only a block around the whole reply leaves nothing to guess.
_BLOCK = re.compile(r"\A```(?:json)?\n(.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """What is asked about one episode. `words` are the untrusted part, fenced; `digest` is that of `words`.

    `problems` say what of the trace could not be read.
    """

    episode: str
    trace: str
    head: str
    market: str
    words: str
    digest: str
    problems: tuple[str, ...]

    @property
    def asks(self) -> bool:
        """Whether there is anything to ask about."""
        return True


class NoScore(NamedTuple):
    """An answer that is none, and why: what a model is told when it is asked again."""

    why: str


class Opinion(BaseModel):
    """One line of a side file: a model's opinion, never a finding. Without one, `no_score` says why.

    `attempts` counts replies; tokens and cost are null where the provider did not state them. The same
    `input_digest`, `prompt` and `model` are the same question.
    """

    # A later version may add fields; its side files must stay readable here.
    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    episode: str
    trace: str
    head: str
    market: str
    model: str
    prompt: str
    input_digest: str
    no_score: str | None = None
    attempts: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd_micro: int | None = None

    @property
    def question(self) -> tuple[str, str, str, str]:
        """Episode, input, prompt and model: two opinions with the same four answer the same question."""
        return self.episode, self.input_digest, self.prompt, self.model

    @property
    def settled(self) -> bool:
        """Whether the question needs no further asking."""
        return self.no_score is None or not self.attempts


_Opinion = TypeVar("_Opinion", bound=Opinion)
_Form = TypeVar("_Form", bound=BaseModel)


def read_reply(text: str, form: type[_Form]) -> _Form | NoScore:
    """What a reply states in the form that was asked for, or why it states nothing. Nothing is guessed: prose, twice
    the same key or values out of range make it none. A block of code around the whole reply is taken off."""
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
        return form.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return NoScore(f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}")


def read_opinions(path: Path, kind: type[_Opinion]) -> list[_Opinion]:
    """The opinions in a side file, in order; nothing where there is no file. Raises ScenarioError with the line.

    A last line that a killed run left unfinished is passed over.
    """
    if not path.exists():
        return []
    try:
        lines = read_regular(path, _MAX_FILE).split(b"\n")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    return list(_opinions(path, lines, kind))


def _opinions(path: Path, lines: list[bytes], kind: type[_Opinion]) -> Iterable[_Opinion]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            # A run that was killed while writing leaves half a line; every other broken line is damage.
            if number == len(lines):
                return  # unfinished: a whole line ends with a line feed
            said = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise ScenarioError(f"{path}, line {number}: not an opinion of the analyst: {said}") from None


class _Twice(ValueError):
    """A key that stands twice: which of its values is meant cannot be known."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise _Twice("a key stands twice")
    return content
