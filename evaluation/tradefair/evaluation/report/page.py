"""The HTML around the data: one file that makes no request, under a policy by which only the bundle itself can run."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from importlib.resources import files

import orjson

from tradefair.contract.text import clean
from tradefair.evaluation.report.page_data import PageData

# The JSON stands inside a script element, and texts of agents stand inside the JSON.
# Inside <script> a parser looks for `</script` and `<!--`; U+2028 and U+2029 end a line of JavaScript.
_ESCAPES = {
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    "\u2028".encode(): rb"\u2028",
    "\u2029".encode(): rb"\u2029",
}


def html_page(data: PageData, *, connect: bool = False, shared: str | None = None, home: str = "") -> bytes:
    """The whole page as bytes. With `connect` it may ask the server that it came from; a report may not.

    The file holds its script, its style and its data; nothing is loaded when it is opened. With `shared`, script and
    style are those of `shared_assets` in the folder of that address; `home` is the address of the page above.
    """
    head = (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_policy(connect, shared))}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
        # The empty icon prevents the request for /favicon.ico that browsers make on their own.
        f'<title>{html.escape(clean(_title(data)))}</title><link rel="icon" href="data:,">'
    )
    style, script = [b"<style>", _asset("report.css"), b"</style>"], [b"<script>", _asset("report.js"), b"</script>"]
    if shared is not None:
        css, js = (f"{shared}{name}" for name in shared_assets())
        style, script = [f'<link rel="stylesheet" href="{css}">'.encode()], [f'<script src="{js}"></script>'.encode()]
    above = f'<nav class="home"><a href="{html.escape(home)}">All episodes</a></nav>' if home else ""
    parts = [
        # File and folder names may hold bytes that are no text; Python keeps these as lone surrogates.
        head.encode(errors="replace"),
        *style,
        f"</head><body>{above}".encode(),
        b'<div id="app"><noscript>This page needs JavaScript to show the trace that it carries.</noscript></div>\n',
        b'<script type="application/json" id="data">',
        json_for_script(data),
        b"</script>\n",
        *script,
        b"</body></html>\n",
    ]
    return b"".join(parts)


def content_policy(connect: bool = False) -> str:
    """The Content-Security-Policy: only this script and this style sheet, each by its hash.

    Texts of agents stand in the page. Even if one became markup, it could neither run nor send anything.
    """
    asking = "; connect-src 'self'" if connect else ""
    return (
        f"default-src 'none'; script-src {_source(_asset('report.js'))}; "
        f"style-src {_source(_asset('report.css'))}; img-src data:"
        # These two do not fall back to `default-src`, so they are forbidden by name.
        f"{asking}; base-uri 'none'; form-action 'none'"
    )


def shared_assets() -> dict[str, bytes]:
    """Style and script by file names that hold their digests, for pages that share them."""
    named = {"css": _asset("report.css"), "js": _asset("report.js")}
    return {f"report.{hashlib.sha256(content).hexdigest()[:16]}.{end}": content for end, content in named.items()}


def _policy(connect: bool, shared: str | None) -> str:
    """As `content_policy`; script and style of a site are files next to the page, which a hash cannot name there."""
    policy = content_policy(connect)
    return policy if shared is None else re.sub(r"(script|style)-src 'sha256-[^']*'", r"\1-src 'self'", policy)


def json_for_script(data: PageData) -> bytes:
    """The data as JSON that no HTML parser reads as markup, whatever texts it holds."""
    content = orjson.dumps(data.model_dump(mode="json"))
    # All five are legal escapes in JSON strings, and outside of strings none of these characters occurs.
    for plain, escaped in _ESCAPES.items():
        content = content.replace(plain, escaped)
    return content


def _title(data: PageData) -> str:
    """The page's title: the folder, or scenario and seed of at most two episodes."""
    if data.figure is not None:
        return f"{data.figure.title} · tradefair"
    if data.mode == "boards":
        return f"Leaderboards{f' of {data.folder}' if data.folder else ''} · tradefair"
    if data.mode == "list":
        return f"{data.folder} · tradefair"
    names = [f"{episode.scenario} · seed {episode.seed}" for episode in data.episodes]
    return " and ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "") + " · tradefair"


@cache
def _asset(name: str) -> bytes:
    """A file of the bundle, read once: each page of the viewer needs it, and its hash, again."""
    return files("tradefair.evaluation.report").joinpath("assets", name).read_bytes()


def _source(content: bytes) -> str:
    """A hash as the policy writes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
