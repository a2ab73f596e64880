"""Whether every address of a folder of pages leads somewhere: href, src and fragments, in markup and in page data."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson

# Fragments that the page's script makes when it draws.
_DRAWN = ("seq=",)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.data = ""
        self._in_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids.add(known.get("id") or "")
        self.addresses += [value for name in ("href", "src") if (value := known.get(name))]
        self._in_data = known.get("id") == "data"

    def handle_data(self, data: str) -> None:
        self.data += data if self._in_data else ""


def broken_links(root: Path) -> Iterator[str]:
    """`page: address` of each link that leads to no file of the folder, or to none of its ids."""
    pages = {path: _read(path) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        for address in [*page.addresses, *_in_data(page.data)]:
            if address.startswith("data:"):
                continue
            file, _, fragment = address.partition("#")
            target = (path.parent / file).resolve() if file else path
            known = pages.get(target)
            inside = target.is_relative_to(root.resolve()) and target.is_file()
            if not inside or (fragment and not fragment.startswith(_DRAWN) and fragment not in (known or page).ids):
                yield f"{path.relative_to(root)}: {address}"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _in_data(text: str) -> Iterator[str]:
    """The addresses that the script of a site's first page shows as links."""
    site: Any = orjson.loads(text).get("site") if text else None
    if site is not None:
        for part in ("newest", "boards", "pairs", "parts", "files"):
            yield from (entry[-1] for entry in site[part])
        yield from (f"episode/{row['id']}.html" for row in orjson.loads(text)["listing"]["rows"])
        yield "figures.html"
