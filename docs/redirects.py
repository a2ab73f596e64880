"""Old addresses of pages (docs/redirects.toml), and the part of the configuration of Zensical that leads from them."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

FILE = Path(__file__).with_name("redirects.toml")
_NAMED = re.compile(r"""^\s*["'](?P<address>[^"']+)["']\s*=""", re.MULTILINE)


class RedirectsError(ValueError):
    """Says line by line which redirects lead nowhere, or twice."""


def redirects(text: str, pages: Collection[str]) -> dict[str, str]:
    """Old address -> page now, both relative to docs/, where the site has `pages`.

    Raises RedirectsError, which names every entry that is wrong.
    """
    counted = Counter(found["address"] for found in _NAMED.finditer(text))
    wrong = [f"{address}: stands in {FILE.name} {count} times" for address, count in counted.items() if count > 1]
    # Before TOML is read: of a name that stands twice, its reader says only the line.
    if wrong:
        raise RedirectsError("\n".join(wrong))
    try:
        entries: Mapping[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RedirectsError(f"{FILE.name}: {error}") from None
    wrong = [problem for old, new in entries.items() for problem in _problems(old, new, entries, pages)]
    if wrong:
        raise RedirectsError("\n".join(wrong))
    return {old: str(new) for old, new in entries.items()}


def _problems(old: str, new: object, entries: Mapping[str, object], pages: Collection[str]) -> Iterator[str]:
    if not isinstance(new, str):
        yield f'{old}: is no address; an entry is a line "old.md" = "folder/new.md"'
        return
    path = PurePosixPath(old)
    if path.suffix != ".md" or path.as_posix() != old or path.is_absolute() or ".." in path.parts:
        yield f'{old}: write an old address relative to docs/, as in "old.md" or "folder/old.md"'
    if old in pages:
        yield f"{old}: is a page again; remove it from {FILE.name}, or the page"
    if new in entries:
        yield f"{old}: leads to {new}, which leads on to {entries[new]}; name the last page"
    elif new not in pages:
        yield f"{old}: leads to {new}, and the site has no such page"


def configuration(entries: Mapping[str, str]) -> str:
    """The text of the file that mkdocs.yml inherits from; its plugin writes a page at every old address."""
    # JSON is YAML.
    return json.dumps({"plugins": {"redirects": {"redirect_maps": dict(entries)}}}, indent=2) + "\n"
