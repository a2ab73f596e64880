"""Prompts are files: named, versioned, and hashed into the manifest."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from fairground.contract.market import Brief

__all__ = ["Prompt", "load_prompt"]

_VERSION = re.compile(r"<!-- version: (\d+) -->\n")


@dataclass(frozen=True)
class Prompt:
    """A prompt file. `digest` is over its bytes, so an edit without a new version shows as well."""

    name: str
    version: int
    digest: str
    template: str

    def system(self, brief: Brief) -> str:
        """The stable prefix of every request of an episode."""
        return Template(self.template).substitute(brief._asdict())

    @property
    def label(self) -> str:
        """`react/1@<digest>`, for manifests."""
        return f"{self.name}/{self.version}@{self.digest}"


@cache
def load_prompt(name: str) -> Prompt:
    """The file `prompts/<name>.md`; its first line is `<!-- version: N -->`."""
    data = (resources.files("fairground.agents") / "prompts" / f"{name}.md").read_bytes()
    text = data.decode()
    head = _VERSION.match(text)
    if head is None:
        raise ValueError(f"prompts/{name}.md: the first line must be <!-- version: N -->")
    return Prompt(name, int(head[1]), hashlib.blake2b(data, digest_size=16).hexdigest(), text[head.end() :].strip())
