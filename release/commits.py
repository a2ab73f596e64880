"""Refuse commits that nobody can read, and those with which the code grows: `python -m release.commits`.

Each commit that `origin/main` does not have may insert 1,500 lines, and the sum of `code` in its `tests/budgets.toml`
may not be larger than in its parent's: a change that needs more in one room lowers another in the same commit. Moved
lines, snapshots, generated files and lists of versions are not counted. Where `origin/main` is not known there is
nothing to compare with.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAIN = "origin/main"
BUDGETS = "tests/budgets.toml"
MOST_INSERTED = 1_500
NOT_COUNTED = (
    "tests/snapshots/*",
    "tests/cli/snapshots/*",
    "*constraints.txt",
    "*package-lock.json",
    # Played by `python -m benchmarks.references` and `make interop`.
    "evaluation/*/references/*.json",
    # Solved from public logs, and filled by `python -m benchmarks.csa_fill`.
    "evaluation/*/data/csa_source_table.csv",
    "docs/reference/interop.md",
    # Written by `make fidelity`.
    "docs/explanation/fidelity.md",
    # Built from TypeScript.
    "evaluation/*/report/assets/*",
)
"""Files that programs write; those of `make docs` are asked of it."""


class NothingToCompare(Exception):
    """Why no commit can be looked at."""


@cache
def generated() -> Collection[str]:
    """The files that `make docs` writes whole."""
    # Here: it loads every market, and hardly any commit is so large that it matters.
    from docs.generate import whole_pages

    return {path.relative_to(ROOT).as_posix() for path in whole_pages()}


def new_commits(repo: Path) -> list[str]:
    """The commits of HEAD that `origin/main` does not have, oldest first, merges left out. Raises NothingToCompare."""
    try:
        known = _git(repo, "rev-parse", "--verify", "--quiet", f"{MAIN}^{{commit}}")
    except OSError as error:
        raise NothingToCompare("there is no git here") from error
    if known is None:
        raise NothingToCompare(f"{MAIN} is not known here")
    if _git(repo, "merge-base", MAIN, "HEAD") is None:
        raise NothingToCompare(f"HEAD and {MAIN} have no common commit here")
    found = (_git(repo, "rev-list", "--reverse", "--no-merges", f"{MAIN}..HEAD") or "").split()
    if not found:
        raise NothingToCompare(f"{MAIN} has every commit of HEAD")
    return found


def refused(repo: Path, commits: Sequence[str], generated: Callable[[], Collection[str]] = generated) -> Iterator[str]:
    """What is wrong with which commits, in sentences that say what to do."""
    known: int | None = None
    for commit in commits:
        name = (_git(repo, "show", "--no-patch", "--format=%h %s", commit) or commit).strip()
        lines = inserted(repo, commit, ())
        if lines > MOST_INSERTED:
            lines = inserted(repo, commit, generated())
        if lines > MOST_INSERTED:
            yield (
                f"{name}: {lines:,} inserted lines, at most {MOST_INSERTED:,}; split it (git rebase -i), with moves in "
                "commits of their own"
            )
        before, now = _sum_of_budgets(repo, f"{commit}^"), _sum_of_budgets(repo, commit)
        # A commit without the file does not make room for the next one.
        before = known if before is None else before
        known = before if now is None else now
        if before is not None and now is not None and now > before:
            yield (
                f"{name}: the sum of code in {BUDGETS} grows from {before:,} to {now:,}; a change that needs more in "
                "one room lowers another in the same commit, also one that opens a room"
            )


def inserted(repo: Path, commit: str, generated: Collection[str]) -> int:
    """Lines that a commit inserts, without those that are moved, recorded or generated."""
    numbers = ("diff-tree", "--root", "--no-commit-id", "-r", "-M", "-C", "-l0", "--numstat", "-z", commit)
    parts = iter((_git(repo, *numbers) or "").split("\0"))
    total = 0
    for part in parts:
        added, _, rest = part.partition("\t")
        path = rest.partition("\t")[2]
        if added and not path:  # moved or copied: from and to stand behind
            path = [next(parts), next(parts)][1]
        # Of binary files git says `-`.
        if added.isdigit() and path not in generated and not any(fnmatch(path, pattern) for pattern in NOT_COUNTED):
            total += int(added)
    return total


def _sum_of_budgets(repo: Path, commit: str) -> int | None:
    """The code lines that all rooms may have; None where the commit has no such file."""
    text = _git(repo, "show", f"{commit}:{BUDGETS}")
    return None if text is None else sum(row["code"] for row in tomllib.loads(text).values())


def _git(repo: Path, *arguments: str) -> str | None:
    """What git prints; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=repo, capture_output=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 else None


def main(repo: Path = ROOT) -> int:
    """Print what is wrong, or how many commits are not. Exit code 1 for a commit that is refused."""
    try:
        commits = new_commits(repo)
    except NothingToCompare as reason:
        print(f"commits: nothing to compare with: {reason}")
        return 0
    found = list(refused(repo, commits))
    print("\n".join(found) or f"commits: {len(commits)} since {MAIN}, none too large, no budget raised")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
