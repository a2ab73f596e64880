"""Old addresses of pages: each leads to a page that exists, on the built site too, and nothing here names one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import REDIRECTS, sources
from docs.redirects import FILE, RedirectsError, configuration, redirects

from tests.waiting import LONG

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".pyi", ".md", ".toml", ".ts", ".json", ".ipynb", ".yml", ".yaml", ".txt", ".sh", ".html", ".cff"}
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]+?\.md\b")
RELATIVE = 'write an old address relative to docs/, as in "old.md" or "folder/old.md"'
PAGES = {"index.md", "how-to/exports.md", "how-to/agents.md"}


def test_old_addresses_of_this_repository_lead_to_its_pages() -> None:
    entries = redirects(FILE.read_text(encoding="utf-8"), {str(place) for place in sources().values()})
    assert entries["diagnostics.md"] == "reference/failure-modes.md"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"old.md" = "how-to/gone.md"', "old.md: leads to how-to/gone.md, and the site has no such page"),
        ('"index.md" = "how-to/agents.md"', "index.md: is a page again; remove it from redirects.toml, or the page"),
        (
            '"a.md" = "b.md"\n"b.md" = "how-to/agents.md"',
            "a.md: leads to b.md, which leads on to how-to/agents.md; name the last page",
        ),
        ('"a.md" = "how-to/agents.md"\n"a.md" = "how-to/exports.md"', "a.md: stands in redirects.toml 2 times"),
        ('a.md = "how-to/agents.md"', 'a: is no address; an entry is a line "old.md" = "folder/new.md"'),
        ('"../a.md" = "how-to/agents.md"', f"../a.md: {RELATIVE}"),
        ('"a.html" = "how-to/agents.md"', f"a.html: {RELATIVE}"),
    ],
)
def test_a_redirect_that_leads_nowhere_or_twice_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(RedirectsError) as refused:
        redirects(text, PAGES)
    assert str(refused.value) == said


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(RedirectsError, match=r"^old\.md: .*\nolder\.md: .*$"):
        redirects('"old.md" = "gone.md"\n"older.md" = "gone.md"', PAGES)
    with pytest.raises(RedirectsError, match=r"^redirects\.toml: Expected"):
        redirects('"old.md"', PAGES)


def test_the_built_site_leads_from_an_old_address_to_the_page(tmp_path: Path) -> None:
    """With the configuration of this repository, of which the navigation alone is left out: it names every page."""
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[0]
    (tmp_path / "mkdocs.yml").write_text(config, encoding="utf-8")
    pages = tmp_path / "build" / "docs" / "pages"
    for page in PAGES:
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        (pages / page).write_text(f"# {page}\n", encoding="utf-8")
    entries = redirects('"analyst.md" = "how-to/exports.md"\n"old/agents.md" = "how-to/agents.md"', PAGES)
    (tmp_path / REDIRECTS.relative_to(ROOT)).write_text(configuration(entries), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "build" / "docs" / "site"
    for old, new in (("analyst.html", "how-to/exports.html"), ("old/agents.html", "../how-to/agents.html")):
        page = (site / old).read_text(encoding="utf-8")
        assert f'<meta http-equiv="refresh" content="0; url={new}">' in page
        assert f'<link rel="canonical" href="{new}">' in page
        assert f'<a href="{new}">' in page
        assert ((site / old).parent / new).is_file()


def missing_pages(text: str) -> list[str]:
    return [path for path in NAMED.findall(text) if not (ROOT / path).is_file()]


def test_nothing_in_the_repository_names_a_page_that_is_not_there() -> None:
    """Links are held by test_docs; this is for messages, docstrings, examples and what is generated."""
    old = "docs/" + "analyst.md"
    assert missing_pages(f"docs/index.md, {old}, https://host.example/docs/x.md") == [old]
    folders = ("mcp_servers", "agent_graphs", "frameworks", "evaluation", "docs", "tests", "benchmarks", "examples")
    found = [file for folder in (*folders, "environments", "release") for file in (ROOT / folder).rglob("*")]
    files = [file for file in (*found, *ROOT.glob("*")) if file.suffix in SUFFIXES and "node_modules" not in file.parts]
    assert len(files) > 1_000
    dead = {str(file.relative_to(ROOT)): missing_pages(file.read_text(encoding="utf-8")) for file in files}
    assert {name: paths for name, paths in dead.items() if paths} == {}
