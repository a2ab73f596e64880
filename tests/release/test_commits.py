"""Which commits `python -m release.commits` refuses, in real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from release.commits import BUDGETS, MOST_INSERTED, generated, inserted, main, new_commits, refused

NAMED = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")


class Repository:
    """A repository with one commit, which `origin/main` has too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet")
        self.commit("The first line", {"README.md": "first\n", BUDGETS: budgets(host=100, runner=50)})
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")

    def git(self, *arguments: str) -> str:
        command = ["git", *NAMED, *arguments]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, encoding="utf-8").stdout

    def commit(self, message: str, files: dict[str, str | None]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def refused(self) -> list[str]:
        return list(refused(self.folder, new_commits(self.folder), lambda: {"pages/written.md"}))


def budgets(**code: int) -> str:
    return "".join(f"[{room}]\ncode = {lines}\n" for room, lines in code.items())


def lines(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number}\n" for number in range(count))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_a_commit_that_is_too_large_is_refused_by_name(repository: Repository) -> None:
    repository.commit("A page", {"page.md": lines(MOST_INSERTED)})
    repository.commit("A book", {"book.md": lines(MOST_INSERTED, "word") + "more\n"})
    (found,) = repository.refused()
    assert found.partition(" ")[2].startswith("A book: 1,501 inserted lines, at most 1,500; split it")


def test_what_is_moved_recorded_or_generated_does_not_count(repository: Repository) -> None:
    many = lines(MOST_INSERTED + 1)
    repository.commit("Half", {"old/half.py": lines(900)})
    repository.commit("Other half", {"old/other.py": lines(900, "other")})
    # Both moved whole, with one line changed.
    moved = {"old/half.py": None, "new/half.py": lines(900) + "x\n", "old/other.py": None}
    repository.commit("Moved", moved | {"new/other.py": lines(900, "other")})
    assert inserted(repository.folder, "HEAD", ()) == 1
    written = (
        "tests/snapshots/a.json",
        "tests/cli/snapshots/80.txt",
        "constraints.txt",
        "environments/trl/constraints.txt",
    )
    for name in (*written, "web/package-lock.json", "pages/written.md"):
        repository.commit(f"Writes {name}", {name: f"{name}\n{many}"})
    assert repository.refused() == []
    repository.commit("By hand", {"pages/by_hand.md": f"by hand\n{many}"})
    assert len(repository.refused()) == 1


def test_a_commit_that_raises_the_sum_of_the_budgets_is_refused_by_name(repository: Repository) -> None:
    repository.commit("Exchanged", {BUDGETS: budgets(host=90, runner=60)})
    repository.commit("Opens a room", {BUDGETS: budgets(host=80, runner=60, api=10)})
    assert repository.refused() == []
    repository.commit("Grows", {BUDGETS: budgets(host=80, runner=61, api=10)})
    # What a later commit lowers does not excuse it.
    repository.commit("Shrinks", {BUDGETS: budgets(host=70, runner=61, api=10)})
    (found,) = repository.refused()
    assert "Grows: the sum of code in tests/budgets.toml grows from 150 to 151" in found


def test_a_commit_without_budgets_makes_no_room_for_the_next(repository: Repository) -> None:
    repository.commit("Without", {BUDGETS: None})
    assert repository.refused() == []
    repository.commit("Again", {BUDGETS: budgets(host=151)})
    assert ["grows from 150 to 151" in found for found in repository.refused()] == [True]


def test_the_first_budgets_are_no_growth(repository: Repository) -> None:
    repository.commit("Without", {BUDGETS: None})
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.commit("First", {BUDGETS: budgets(host=200)})
    assert repository.refused() == []


def test_where_there_is_nothing_to_compare_with_it_says_so(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none").mkdir()
    assert main(tmp_path / "none") == 0
    assert main(repository.folder) == 0
    repository.git("update-ref", "-d", "refs/remotes/origin/main")
    repository.commit("A book", {"book.md": lines(MOST_INSERTED + 1)})
    assert main(repository.folder) == 0
    assert capsys.readouterr().out.splitlines() == [
        "commits: nothing to compare with: origin/main is not known here",
        "commits: nothing to compare with: origin/main has every commit of HEAD",
        "commits: nothing to compare with: origin/main is not known here",
    ]


def test_the_exit_code_says_whether_a_commit_is_refused(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit("A page", {"page.md": lines(10)})
    assert main(repository.folder) == 0
    assert capsys.readouterr().out == "commits: 1 since origin/main, none too large, no budget raised\n"
    repository.commit("A book", {"book.md": lines(MOST_INSERTED + 1)})
    assert main(repository.folder) == 1


def test_generated_files_are_those_of_make_docs() -> None:
    assert {"llms.txt", "docs/reference/tools/pricing.md", "docs/reference/figures.md"} <= set(generated())
    assert "README.md" not in generated()
