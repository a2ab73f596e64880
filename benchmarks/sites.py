"""A site of finished traces: CPU time of a bundle, what a thousand take, and the bytes of a page.

`python -m benchmarks.sites --bundles 1000` makes a site of so many traces twice, the second time of copies elsewhere
and without what was remembered, and names the files whose bytes differ: some 15 CPU minutes for a thousand.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bazaar import play_scripted
from benchmarks.figures import Figure, Stopwatch
from tradefair.evaluation.site.build import build_site
from tradefair.evaluation.site.plan import Wanted

_BUNDLES = 1_000


def measure(*, tiny: bool) -> list[Figure]:
    """Traces of the BAZAAR scenario, eight scripted seats; every trace is evaluated and re-executed for the site."""
    count, rounds = (2, 3) if tiny else (20, 30)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        # No list of an earlier run: a row that is remembered costs nothing.
        os.environ["TRADEFAIR_CACHE"] = str(place / "cache")
        (place / "runs").mkdir()
        for seed in range(count + 1):
            asyncio.run(play_scripted(place / "runs", seed + 1, rounds))
        wanted = Wanted("Benchmark")
        first = next((place / "runs").glob("*.trace"))
        # What is imported and loaded once is not charged to a bundle.
        (place / "one").mkdir()
        first.rename(place / "one" / first.name)
        build_site(place / "one", place / "warm", wanted)
        watch = Stopwatch()
        build_site(place / "runs", place / "site", wanted)
        each = watch.seconds() / count
        watch = Stopwatch()
        assert build_site(place / "runs", place / "site", wanted).written == 0
        again = watch.seconds()
        page = max(path.stat().st_size for path in (place / "site" / "episode").iterdir())
    how = f"{count} traces of {rounds} rounds"
    return [
        Figure("a site of 1,000 bundles", each * _BUNDLES / 60, "CPU minutes", 10, how=how),
        Figure("pages of episodes", 1 / each, "per CPU s", how="evaluated, re-executed and written"),
        Figure("the same site again", again / count * 1000, "CPU ms per bundle", how="nothing is written"),
        Figure("largest page without the shared script", page / 1000, "kB", 120, how=how),
    ]


def made_again(bundles: int, rounds: int = 30) -> list[str]:
    """The files of a site of `bundles` traces whose bytes differ when it is made again elsewhere; a goal of none."""
    sites: list[Mapping[str, str]] = []
    with TemporaryDirectory() as folder:
        first, second = (Path(folder) / name for name in ("first", "second"))
        for place in (first, second):
            (place / "runs").mkdir(parents=True)
        for seed in range(1, bundles + 1):
            asyncio.run(play_scripted(first / "runs", seed, rounds))
        # Last ones first: neither times nor the order of a folder's files may show.
        for trace in sorted((first / "runs").iterdir(), reverse=True):
            shutil.copyfile(trace, second / "runs" / trace.name)
        for place in (first, second):
            os.environ["TRADEFAIR_CACHE"] = str(place / "cache")
            build_site(place / "runs", place / "site", Wanted("Benchmark"))
            sites.append(_digests(place / "site"))
    one, other = sites
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _digests(site: Path) -> Mapping[str, str]:
    files = (path for path in site.rglob("*") if path.is_file())
    return {path.relative_to(site).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what differs; exit code 1 where something does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites", description=__doc__)
    parser.add_argument("--bundles", type=int, default=_BUNDLES, help="traces of the site; default 1,000")
    bundles = parser.parse_args(arguments).bundles
    watch = Stopwatch()
    different = made_again(bundles)
    print(
        *different, f"{len(different)} files differ; {bundles:,} bundles twice, {watch.seconds():.0f} CPU s", sep="\n"
    )
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
