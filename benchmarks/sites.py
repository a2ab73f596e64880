"""A site of finished traces: CPU time of a bundle, what a thousand take, and the bytes of a page."""

from __future__ import annotations

import asyncio
import os
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
