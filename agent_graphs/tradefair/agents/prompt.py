"""Prompts are files: named, versioned, and hashed into the manifest."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from tradefair.contract import Brief

# In the file itself, so that a prompt and its version are changed in one place.
_VERSION = re.compile(r"<!-- version: (\d+) -->\n")


@dataclass(frozen=True)
class Prompt:
    """A prompt file. `digest` is over its bytes, so an edit without a new version shows as well."""

    name: str
    version: int
    digest: str
    template: str

    def system(self, brief: Brief, **more: str) -> str:
        """The stable prefix of every request of an episode; `more` fills what else the template names."""
        # `substitute` and not `safe_substitute`: a name without a value must fail here and not reach a model.
        return Template(self.template).substitute(brief._asdict(), **more)

    @property
    def label(self) -> str:
        """`react/1@<digest>`, for manifests."""
        return f"{self.name}/{self.version}@{self.digest}"


class PromptSet:
    """All prompts of one agent."""

    def __init__(self, *names: str) -> None:
        self._prompts = {name: load_prompt(name) for name in names}

    def __getitem__(self, name: str) -> Prompt:
        return self._prompts[name]

    @property
    def label(self) -> str:
        """The labels of all of them: `planner/1@<digest>+plan_and_act/1@<digest>`."""
        return "+".join(prompt.label for prompt in self._prompts.values())


@cache
def load_prompt(name: str, package: str = "tradefair.agents") -> Prompt:
    """The file `prompts/<name>.md` of a package; its first line is `<!-- version: N -->`."""
    data = (resources.files(package) / "prompts" / f"{name}.md").read_bytes()
    text = data.decode()
    # A mistake in the package, not in a user's input.
    head = _VERSION.match(text)
    if head is None:
        raise ValueError(f"prompts/{name}.md: the first line must be <!-- version: N -->")
    return Prompt(name, int(head[1]), hashlib.blake2b(data, digest_size=16).hexdigest(), text[head.end() :].strip())
