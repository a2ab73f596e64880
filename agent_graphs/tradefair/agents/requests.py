"""What planners and reflectors are asked for: one JSON object; its schema closes their system message.

Plain text rather than a provider's structured output, so that every chat model can be asked. Nothing that a market or
another seat says ever stands in a system message, so a request cannot be forged.
"""

from __future__ import annotations

import re
from typing import Literal, TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

RequestName = Literal["plan", "lesson", "reflection"]
"""What can be asked for."""

MAX_ANSWER_CHARS = 20_000
"""Longer answers are not read."""

_Model = TypeVar("_Model", bound=BaseModel)
# At the very end of the message: a block further up is part of the prompt's own text.
_BLOCK = re.compile(r"```json (plan|lesson|reflection)_schema\n[^\n]*\n```\Z")
# The rest is counted only; a model needs no list of a hundred errors.
_MAX_PROBLEMS = 5


class AnswerProblem(ValueError):
    """An answer is not what was asked for; the message can be shown to the model."""


def show_request(name: RequestName, schema: type[BaseModel]) -> str:
    """The block that closes a system message: what is asked for, as one line of JSON schema."""
    return f"```json {name}_schema\n{orjson.dumps(schema.model_json_schema()).decode()}\n```"


def find_request(system: str) -> RequestName | None:
    """What a system message asks for; None for an actor's.

    Used by policies behind a model's interface, which must answer planners and reflectors too.
    """
    found = _BLOCK.search(system)
    return None if found is None else cast("RequestName", found[1])


def read_answer(text: str, schema: type[_Model]) -> _Model:
    """The object in an answer, which may stand in a fence or between words. Raises AnswerProblem."""
    # Before anything is searched or parsed.
    if len(text) > MAX_ANSWER_CHARS:
        raise AnswerProblem(f"the answer is longer than {MAX_ANSWER_CHARS} characters")
    # From the first brace to the last: fences and politeness around the object do no harm.
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        raise AnswerProblem("the answer holds no JSON object")
    try:
        return schema.model_validate_json(text[begin : end + 1])
    # `from None`: the chain would show the whole answer again.
    except ValidationError as error:
        raise AnswerProblem(_told(error)) from None


def _told(error: ValidationError) -> str:
    # Without input and context: the message goes to the model, which knows what it wrote.
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}" for problem in problems]
    more = f"; and {len(lines) - _MAX_PROBLEMS} more" if len(lines) > _MAX_PROBLEMS else ""
    return "; ".join(lines[:_MAX_PROBLEMS]) + more
