"""Writes a folder for each task: configuration, instruction, two containers, a verifier and a solution (`task/`).

A folder holds the order of an episode and no token: the `market` container of a trial serves the market itself and
makes the episode when Harbor asks whether the environment is healthy. Needs TRADEFAIR_CONTROL_URL and _TOKEN.
"""

import argparse
import json
import shutil
from pathlib import Path
from string import Template
from typing import Any

import tradefair_client
from tradefair_client import control

HERE = Path(__file__).parent
PAGE = 1_000


class _Filled(Template):
    # As TOML and shell scripts use braces and dollars of their own.
    delimiter = "@"


def export(out: Path, split: str = "train", limit: int = 100, scenario: str | None = None) -> list[Path]:
    """Write at most `limit` tasks of one seat, spread over a split or its tasks of one scenario; their folders.

    Raises ValueError where there is none or they are sealed, FileExistsError, and `tradefair_client.Refused` for an
    unknown split.
    """
    rows: list[dict[str, Any]] = []
    for start in range(0, control(f"/tasks/{split}?limit=1")["tasks"], PAGE):
        listed = control(f"/tasks/{split}?start={start}&limit={PAGE}")["items"]
        rows += [row for row in listed if len(row["seats"]) == 1 and scenario in (None, row["scenario"])]
    if not rows or limit < 1:
        raise ValueError(f"no task of one seat: {split}, scenario {scenario or 'any'}, limit {limit}; see GET /tasks")
    if rows[0]["sealed"]:
        raise ValueError(f"{split} is sealed: its seeds stay on its server, and a trial has a server of its own")
    chosen = rows[:: max(1, len(rows) // limit)][:limit]
    return [_write(out, control(f"/tasks/{row['task']}")) for row in chosen]


def _write(out: Path, told: dict[str, Any]) -> Path:
    name, (seat,) = told["task"].replace("/", "-"), told["seats"]
    folder = out / name
    shutil.copytree(HERE / "task", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for place in ("environment/market", "solution"):
        shutil.copy(tradefair_client.__file__, folder / place)
    named = {**told, "name": name, "seat": seat, "brief": "\n\n".join(told["brief"][seat].values())}
    for file in ("task.toml", "instruction.md"):
        path = folder / file
        path.write_text(_Filled(path.read_text(encoding="utf-8")).substitute(named), encoding="utf-8")
    order = {key: told[key] for key in ("market", "scenario", "seed", "seats")} | {
        "others": "stand_in",
        "tools": "slim",
    }
    (folder / "environment" / "market" / "order.json").write_text(json.dumps(order) + "\n", encoding="utf-8")
    return folder


def main() -> None:
    """Read the command line, export, and print the folders."""
    parser = argparse.ArgumentParser(prog="python -m tradefair_harbor", description=export.__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--scenario")
    asked = parser.parse_args()
    try:
        folders = export(asked.out, asked.split, asked.limit, asked.scenario)
    except (ValueError, FileExistsError) as refused:
        parser.error(str(refused))
    print(*folders, sep="\n")
