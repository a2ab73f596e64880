"""Writes the pages of the documentation site to build/docs/pages; `make docs` then builds them with Zensical.

`python -m docs.pages [--notebooks]`: pages of docs/, of the project and of each market, with links between them made
right; and what is made from the code alone: commands, scenarios, the Python reference. `--notebooks` also executes
examples/notebooks and adds what they print (packages of the group `notebooks`).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from docs.redirects import FILE, RedirectsError, configuration, redirects
from typer.main import get_command

from tradefair.catalog import load_scenario, market_names, scenario_ids
from tradefair.cli.invoke import app_of
from tradefair.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "docs" / "pages"
REDIRECTS = ROOT / "build" / "docs" / "redirects.yml"
FACES = {
    "tradefair.api": "frameworks/tradefair/api",
    "tradefair.contract": "mcp_servers/tradefair/contract",
    "tradefair.evaluation": "evaluation/tradefair/evaluation",
    "tradefair.testing": "mcp_servers/tradefair/testing",
}
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def main() -> int:
    """Write all pages, and where old addresses lead; the exit code."""
    shutil.rmtree(PAGES, ignore_errors=True)
    places = sources()
    for source, place in places.items():
        if source.suffix == ".md":
            write(place, linked(source, places))
        else:
            (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, PAGES / place)
    for place, text in made(notebooks="--notebooks" in sys.argv[1:]):
        write(place, text)
    pages = {page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md")}
    try:
        REDIRECTS.write_text(configuration(redirects(FILE.read_text(encoding="utf-8"), pages)), encoding="utf-8")
    except RedirectsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(pages)} pages in {PAGES.relative_to(ROOT)}")
    return 0


def sources() -> dict[Path, PurePosixPath]:
    """Files of the checkout that are on the site, and where: `docs/` as it is, the rest under `project/`."""
    docs = ROOT / "docs"
    files = [file for file in sorted(docs.rglob("*")) if file.suffix in (".md", ".svg", ".png")]
    places = {file: PurePosixPath(file.relative_to(docs).as_posix()) for file in files}
    places |= {file: PurePosixPath("project", file.name) for file in sorted(ROOT.glob("*.md"))}
    readmes = sorted(ROOT.glob("mcp_servers/tradefair/*/README.md"))
    return places | {file: PurePosixPath("project", "markets", f"{file.parent.name}.md") for file in readmes}


def linked(source: Path, places: Mapping[Path, PurePosixPath]) -> str:
    """A page's text with its links to other files pointing to where these stand on the site.

    What the site does not have (code, data) keeps its text; with `repository-url` in pyproject.toml it links there.
    """

    def target(found: re.Match[str]) -> str:
        path, mark, anchor = found["target"].partition("#")
        if not path or "://" in path:
            return found[0]
        file = Path(os.path.normpath(source.parent / path))
        if file in places:
            there = os.path.relpath(places[file], places[source].parent)
            return f"{found['mark']}[{found['text']}]({PurePosixPath(there)}{mark}{anchor})"
        url = repository()
        return f"[{found['text']}]({url}/{file.relative_to(ROOT).as_posix()})" if url else found["text"]

    text = source.read_text(encoding="utf-8")
    kept = [found.span() for found in _CODE.finditer(text)]
    parts, at = list[str](), 0
    # Text in code is shown as it is, whatever it looks like.
    for start, end in [*kept, (len(text), len(text))]:
        parts += [_LINK.sub(target, text[at:start]), text[start:end]]
        at = end
    return "".join(parts)


def repository() -> str:
    """Where the code can be read, as pyproject.toml names it; empty where it names nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("repository-url", "")).rstrip("/")


def write(place: PurePosixPath | str, text: str) -> None:
    """Write one page."""
    path = PAGES / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def made(*, notebooks: bool) -> Iterator[tuple[str, str]]:
    """Pages that exist on the site alone: where, and their text."""
    yield "reference/commands.md", "\n".join(commands_page())
    yield "reference/scenarios.md", "\n".join(scenarios_page())
    yield "reference/api.md", "\n".join(api_page())
    if notebooks:
        from docs.notebooks import executed

        yield from executed(ROOT / "examples" / "notebooks")


def commands_page() -> Iterator[str]:
    """Every command with its options, as `--help` says them."""
    yield from ("# Commands", "", "`tradefair COMMAND --help` says the same.", "")
    for command in COMMANDS:
        yield from (f"## tradefair {command.name}", "")
        yield from described(get_command(app_of(command)), f"tradefair {command.name}")


# Any: typer has a copy of click of its own, without public types.
def described(command: Any, name: str) -> Iterator[str]:
    """Help text and options of a command, then those of its subcommands."""
    context = command.make_context(name, [], resilient_parsing=True)
    yield from ((getattr(command, "help", None) or "").replace("\b", "").strip(), "")
    rows: list[tuple[str, str] | None] = [parameter.get_help_record(context) for parameter in command.params]
    shown = [row for row in rows if row is not None]
    if shown:
        yield from ("| option | what it does |", "|---|---|")
        yield from (f"| `{names.replace('|', chr(92) + '|')}` | {escaped(text)} |" for names, text in shown)
        yield ""
    rare = [option.get_help_record(context) for option in getattr(command, "rare", ())]
    if rare:
        yield from ("| in the file of `--config` | what it does |", "|---|---|")
        yield from (f"| `{names.removeprefix('--')}` | {escaped(text)} |" for names, text in rare)
        yield ""
    for below, inner in getattr(command, "commands", {}).items():
        yield from (f"### {name} {below}", "")
        yield from described(inner, f"{name} {below}")


def escaped(text: str) -> str:
    """Text that breaks no table and names no tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


def scenarios_page() -> Iterator[str]:
    """Every bundled scenario with its values."""
    yield from ("# Scenarios", "", "Any value may be set for a run: `tradefair play MARKET --set name=value`.", "")
    for market in market_names():
        yield from (f"## {market}", "")
        for name in scenario_ids(market):
            scenario = load_scenario(market, name)
            yield from (f"### {scenario.id}", "", "| field | value |", "|---|---|")
            for field, value in scenario.model_dump(mode="json").items():
                text = str(value)
                yield f"| `{field}` | `{text if len(text) <= 100 else text[:99] + '…'}` |".replace("||", "| |")
            yield ""


def api_page() -> Iterator[str]:
    """The promised names of each face, by the stub that promises them."""
    yield from ("# Python", "", "The promised names. All else may change between releases.", "")
    for face, folder in FACES.items():
        yield from (f"## {face}", "")
        stub = (ROOT / folder / "__init__.pyi").read_text(encoding="utf-8")
        for module, name in re.findall(r"^from \.([\w.]*) import (\w+) as", stub, re.MULTILINE):
            yield from (f"::: {face}.{module}.{name}".replace("..", "."), "")


if __name__ == "__main__":
    sys.exit(main())
