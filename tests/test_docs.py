"""What the pages say is so: generated parts are current, examples run, links, paths, tests and commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.test_options import ROWS
from tests.rooms import room_of
from tests.source_code import all_modules
from tests.waiting import LONG
from tradefair.cli import run as tradefair
from tradefair.cli.former import former_command
from tradefair.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("mcp_servers/tradefair/*/README.md")])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False)


def test_the_picture_is_small_and_runs_no_script() -> None:
    """That it is the demo's episode, and that generated pages are current, `make check` asks."""
    text = (ROOT / "docs" / "picture.svg").read_text(encoding="utf-8")
    assert len(text) <= 150_000
    assert "<script" not in text


def test_pages_of_the_site_link_to_pages_of_the_site() -> None:
    """What Zensical refuses in `make docs`, without its 130 MiB; notebooks and gallery are executed there alone."""
    done = run("-m", "docs.pages")
    assert done.returncode == 0, done.stderr
    pages = ROOT / "build" / "docs" / "pages"
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w/-]+\.md)$", config, re.MULTILINE)
    made = [name for name in named if "/notebooks/" not in name and not name.startswith("gallery/")]
    assert len(made) > 30
    assert [name for name in made if not (pages / name).is_file()] == []
    links = [dead for page in pages.rglob("*.md") for dead in dead_links(page, page.read_text(encoding="utf-8"))]
    assert links == []


def test_a_stranger_client_plays_a_seat_over_stdio(tmp_path: Path) -> None:
    done = run("examples/stdio_seat.py", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "over: terminated:rounds_completed"
    assert len(list(tmp_path.glob("*.trace"))) == 1


def run_example(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an example as a reader would; its traces lie below `folder`/runs."""
    command = [sys.executable, str(ROOT / "examples" / name)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONG, check=False)


def test_an_agent_of_ones_own_plays_a_seat(tmp_path: Path) -> None:
    done = run_example("own_agent.py", tmp_path)
    assert (done.returncode, done.stdout) == (0, "764 True\n"), done.stderr


def test_a_policy_of_ones_own_plays_a_seat(tmp_path: Path) -> None:
    done = run_example("own_policy.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("B1 own:ShrinkingMargin: payoff")
    assert done.stdout.splitlines()[-1] == "verify: reproduced"


def test_a_seat_is_played_by_hand(tmp_path: Path) -> None:
    done = run_example("by_hand.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("Frame(")
    assert len(list(tmp_path.rglob("*.trace"))) == 1


def test_a_hundred_episodes_are_stepped_together(tmp_path: Path) -> None:
    done = run_example("batch.py", tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 5), done.stderr
    assert done.stdout.startswith("50 0.0\n60 121.")
    assert not list(tmp_path.iterdir())


def test_two_policies_are_compared_on_the_same_luck(tmp_path: Path) -> None:
    done = run_example("two_policies.py", tmp_path)
    assert done.stdout.startswith("B (policy:gd) earned ")
    assert len(list(tmp_path.rglob("*.trace"))) == 40
    assert done.returncode == 0, done.stderr
    # One row per seed: a seat's payoff needs no library that makes tables.
    assert done.stdout.count("'name': 'payoff'") >= 20


def dead_links(page: Path, text: str) -> list[str]:
    dead: list[str] = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = page if not path else page.parent / path
        if "://" not in target and (not found.exists() or (anchor and anchor not in anchors(found))):
            dead.append(f"{page.relative_to(ROOT)}: {target}")
    return dead


def test_links_lead_somewhere() -> None:
    planted = "[a](ARCHITECTURE.md) [b](absent.md) [c](README.md#no-such-heading) [d](https://host.example/x)"
    assert dead_links(ROOT / "README.md", planted) == ["README.md: absent.md", "README.md: README.md#no-such-heading"]
    assert [link for page in PAGES for link in dead_links(page, page.read_text(encoding="utf-8"))] == []


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_and_the_navigation_lead_to_every_page() -> None:
    docs = ROOT / "docs"
    folders = ("tutorials", "how-to", "reference", "explanation")
    pages = {page.relative_to(docs).as_posix() for folder in folders for page in (docs / folder).rglob("*.md")}
    assert len(pages) > 40
    links = [
        page.parent / link
        for page in (docs / "all.md", docs / "explanation" / "why" / "index.md")
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    ]
    assert pages - {link.relative_to(docs).as_posix() for link in links} == set()
    navigation = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert pages - navigation == set()


def misfits(pages: Iterable[Path], rooms: Collection[str]) -> Iterator[str]:
    for page in pages:
        words = len(page.read_text(encoding="utf-8").split())
        if page.stem not in rooms or words > 900:
            yield f"{page.name}: {words} words, of 900; rooms have such a name: {page.stem in rooms}"


def test_a_why_page_has_a_rooms_name_and_at_most_900_words(tmp_path: Path) -> None:
    house = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"^(\w+)/ ", house, re.MULTILINE)
    rooms = {*named, *(room_of(module).rpartition(".")[2] for module in all_modules())}
    for name, words in (("attic.md", 900), ("host.md", 901), ("docs.md", 900)):
        (tmp_path / name).write_text("word " * words, encoding="utf-8")
    assert [line.partition(":")[0] for line in misfits(sorted(tmp_path.iterdir()), rooms)] == ["attic.md", "host.md"]
    pages = {page.name: page for page in (ROOT / "docs" / "explanation" / "why").glob("*.md")}
    assert pages.pop("index.md").exists()
    assert list(misfits(pages.values(), rooms)) == []


def test_the_map_in_architecture_names_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for root in ROOTS:
        for package in (ROOT / root / "tradefair").iterdir():
            if (package / "__init__.py").exists():
                assert re.search(rf"\b{package.name}/", text), f"the map lacks {package.name}"


@pytest.mark.parametrize(("page", "least"), [("ARCHITECTURE.md", 10), ("docs/explanation/security.md", 30)])
def test_every_promise_names_a_test_that_exists(page: str, least: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= least
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {test}"


def command_lines() -> Iterator[tuple[str, str]]:
    """Every `tradefair …` line in a code block or in backticks, with its page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
        for line in [*blocks, *re.findall(r"`([^`\n]*\btradefair [a-z][^`\n]*)`", text)]:
            for part in re.split(r"; (?=tradefair )", line):
                found = re.match(r"(?:\$ |\w+=\S+ |\.venv/bin/)*tradefair ([a-z]+(?!:)\b.*)", part)
                if not found:
                    continue
                # What stands behind `--` is the command line of somebody else's server.
                yield str(page.relative_to(ROOT)), found[1].partition("#")[0].partition(" -- ")[0].strip()


@cache
def help_of(command: str, sub: str) -> str:
    assert command in ("lab", *(item.name for item in COMMANDS)), f"there is no command {command}"
    shown = StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        code = tradefair([*command.split(), *([sub] if sub else []), "--help"])
    assert code == 0, shown.getvalue()
    return shown.getvalue()


def test_documented_command_lines_name_commands_and_options_that_exist() -> None:
    lines = list(command_lines())
    assert len(lines) > 20
    for page, line in lines:
        rows = [f"{line.split()[0]} {word}" for word in line.split()]
        if page == "CHANGELOG.md" and (former_command(line.split()) or ROWS.keys() & rows):
            # What an earlier version had is its history.
            continue
        command, *words = line.split()
        if command == "lab" and words and not words[0].startswith("-"):
            command = f"lab {words.pop(0)}"
        command = command.rstrip(",.;")
        grouped = command in ("arena", "control", "gate", "seeds")
        sub = words[0] if grouped and words and re.fullmatch(r"[a-z_]+", words[0]) else ""
        for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", f" {' '.join(words)}"):
            assert option in help_of(command, sub), f"{page}: {line}: {command} has no {option}"
        assert help_of(command, sub)


def test_the_makefile_explains_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*  ## \w", text, re.MULTILINE), f"{target} is not explained"
