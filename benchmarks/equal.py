"""`python -m benchmarks.equal FOLDER [MARKET …]`: digests of all that is said of an episode of every policy.

Each bundled policy plays the agent's seat of a small scenario on one seed; traces stay in FOLDER and are read again by
a later run. Printed, one a line: the head of each trace and digests of its outcome, its findings, its charts and its
page; of each market those of `compare` (each trace with the next) and of `rate`. Two outputs that are equal
say that a change of the evaluation altered nothing; the first two thirds of a
trace of each market are among them.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import orjson
from pydantic import BaseModel

from benchmarks.seated import play_seated
from tradefair.catalog import load_scenario, market_names, market_type
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.compare.comparing import Options, compare_sides
from tradefair.evaluation.compare.runs import load_files
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.results import gathered, read_files
from tradefair.evaluation.report.boards import boards_of
from tradefair.evaluation.report.build import episode_page
from tradefair.evaluation.report.comparison_figure import figure_of
from tradefair.host.seats.plans import plan_turn
from tradefair.tracestore import jsonl_lines, open_trace

PRESETS = {
    "teaching": "pie",
    "double_auction": "smoke",
    "bargaining": "smoke",
    "retail": "smoke",
    "supply_chain": "duel",
    "marketplace": "small_demo",
    "order_book": "thin",
    "pricing": "smoke",
}
SEED = 3


def main() -> None:
    """Play what FOLDER lacks and print the digests."""
    folder = Path(sys.argv[1])
    for market in sys.argv[2:] or sorted(market_names()):
        for line in digests(market, folder / market):
            print(line, flush=True)


def digests(market: str, folder: Path) -> Iterator[str]:
    """The lines of one market."""
    files = traces(market, folder)
    for path in files:
        evaluation = evaluate_file(path).to_json()
        evaluation["path"] = evaluation["seal"] = None  # the seal covers wall clock times
        page = episode_page(path, check=False)
        parts = {"outcome": evaluation["outcome"], "evaluation": evaluation, "charts": page.charts, "page": page}
        said = " ".join(f"{name} {digest(part)}" for name, part in parts.items())
        yield f"{market} {path.name} head {evaluation['head_hash']} {said}"
    # A trace that was cut short is in no pair.
    sides = [load_files(path, [path]) for path in files if path.suffix == ".trace"]
    found = [compare_sides(a, b, Options()) for a, b in pairwise(sides)]
    shown = digest([figure_of(pair) for pair in found])
    boards = boards_of(leaderboards(gathered(read_files(files, workers=1, series=True))))
    yield f"{market} compare {digest(found)} page {shown} rate {digest(boards.pages)} {boards.rated}"


def traces(market: str, folder: Path) -> list[Path]:
    """The traces of a market, played where they are missing, and the first two thirds of one."""
    kind, scenario = market_type(market), load_scenario(market, PRESETS[market])
    roles = set(seat_roles(kind, scenario, plan_turn(kind, scenario, SEED).agents).values())
    folder.mkdir(parents=True, exist_ok=True)
    for policy in (name for name, spec in kind.policies.items() if roles <= set(spec.roles)):
        path = folder / f"{policy}.trace"
        if not path.exists():
            with tempfile.TemporaryDirectory() as place:
                played, _ = play_seated(market, PRESETS[market], policy, SEED, Path(place))
                shutil.copy(played, path)
    files = sorted(folder.glob("*.trace"))
    with open_trace(files[0]) as trace:
        lines = list(jsonl_lines(trace))
    cut = folder / "cut.trace.jsonl"
    cut.write_bytes(b"".join(line + b"\n" for line in lines[: 2 * len(lines) // 3]))
    return [*files, cut]


def digest(record: object) -> str:
    """Of a record's JSON, keys sorted."""
    body = orjson.dumps(record, default=_plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=12).hexdigest()


def _plain(record: object) -> object:
    if isinstance(record, BaseModel):
        return record.model_dump(mode="json")
    return str(record)


if __name__ == "__main__":
    main()
