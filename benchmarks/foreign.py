"""Logs of anybody's agents: peak memory at 1 GB beside that at 100 MB, and CPU beside that of reading their JSON.

Three shapes: lines (a coding agent's sessions), one document (simulations), spans (OTLP requests, in any order). Every
import is a process of its own, as `tradefair import` is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks.figures import Figure

# Bytes of the two files of a shape; the smaller one is larger than all that is held at once.
_SIZES, _TINY = (100 << 20, 1 << 30), (2 << 20, 6 << 20)
_RATIO, _CPU = 1.1, 25
_BASELINE = 32 << 20

_CHILD = """
import resource, sys, time
from pathlib import Path
from tradefair.evaluation.foreign.importers.importing import import_files
begun = time.process_time()
(file,) = import_files([Path(sys.argv[1])], Path(sys.argv[2])).files
assert file.total("calls") == file.total("answered") > 0 and not file.found, file.found[:3]
spent = time.process_time() - begun
# On Linux ru_maxrss is that of the parent, too.
told = Path("/proc/self/status")
lines = told.read_text().splitlines() if told.exists() else []
peak = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")]
print(spent, peak[0] if peak else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file.total("calls"))
"""


def measure(*, tiny: bool) -> list[Figure]:
    """Peak memory and CPU of each shape."""
    return list(chain.from_iterable(_shape(name, make, tiny) for name, make in _SHAPES.items()))


def _shape(name: str, make: Callable[[Random], Iterator[bytes]], tiny: bool) -> Iterator[Figure]:
    with TemporaryDirectory() as place:
        peaks: list[float] = []
        ratios: list[float] = []
        small, large = _TINY if tiny else _SIZES
        for size in (small, large):
            file = Path(place) / f"{name}-{size >> 20}.json"
            _write(file, make(Random(1)), size)
            before = _parsing(file)
            seconds, peak, _ = _import(file, Path(place) / "out")
            share = file.stat().st_size
            peaks.append(peak)
            # In turns with the import, since a neighbour may slow both.
            ratios.append(seconds / share / ((before + _parsing(file)) / 2))
            file.unlink()
        how = f"{small >> 20} and {large >> 20} MiB"
        yield Figure(f"import, {name}: peak", peaks[1] / 2**20, "MB", how=f"{large >> 20} MiB, resident")
        yield Figure(f"import, {name}: peak over that of a tenth", peaks[1] / peaks[0], "times", _RATIO, how=how)
        yield Figure(f"import, {name}: CPU over orjson.loads", ratios[1], "times", _CPU, how=f"{large >> 20} MiB")


def _write(file: Path, pieces: Iterator[bytes], size: int) -> None:
    """Pieces until the file has this size; a document is closed then."""
    with file.open("wb") as out:
        for piece in pieces:
            out.write(piece)
            if out.tell() >= size:
                break
        if file.name.startswith("document"):
            out.write(b"]}")


def _parsing(file: Path) -> float:
    """CPU seconds a byte of reading the JSON of the file's first 32 MB, element by element."""
    with file.open("rb") as opened:
        lines = list(islice(opened, 200_000))[1:]
    # Of a document every element stands in a line of its own; the last one ends it, too.
    lines = [line.strip().strip(b",") for line in lines[: -1 if file.name.startswith("document") else None]]
    read, spent = 0, 0.0
    for line in lines:
        if read > _BASELINE:
            break
        begun = time.process_time()
        orjson.loads(line)
        spent += time.process_time() - begun
        read += len(line)
    return spent / read


def _import(file: Path, out: Path) -> tuple[float, float, int]:
    """CPU seconds, peak bytes and calls of an import in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(file), str(out)], env=environment, capture_output=True, text=True, check=True
    )
    seconds, peak, calls = done.stdout.split()
    return float(seconds), float(peak), int(calls)


def _words(chance: Random, count: int) -> str:
    return " ".join(f"{chance.choice(_VOCABULARY)}" for _ in range(count))


_VOCABULARY = ("order", "delivered", "on", "monday", "customer", "asks", "whether", "it", "may", "be", "returned")


def _answer(chance: Random) -> str:
    items = [{"item_id": str(chance.randrange(10**9)), "price": chance.randrange(10**4) / 100} for _ in range(60)]
    return orjson.dumps({"order_id": f"#W{chance.randrange(10**6)}", "status": "pending", "items": items}).decode()


def _sessions(chance: Random) -> Iterator[bytes]:
    """Sessions of 1,000 calls: an assistant's line asks, a user's line answers with 5 kB of a file."""
    texts, answers = [_words(chance, 60) for _ in range(200)], [_words(chance, 900) for _ in range(200)]
    for place in range(10**9):
        session, step = divmod(place, 1_000)
        common: dict[str, Any] = {
            "sessionId": f"00000000-0000-4000-8000-{session:012d}",
            "isSidechain": False,
            "version": "2.0.1",
            "cwd": "/home/user/project",
            "timestamp": f"2026-11-{1 + step // 600:02d}T{step // 60 % 10:02d}:{step % 60:02d}:00.000Z",
        }
        tool = {"type": "tool_use", "id": f"toolu_{place}", "name": "read_file", "input": {"path": f"src/{step}.py"}}
        asked = [{"type": "text", "text": chance.choice(texts)}, tool]
        told = [{"type": "tool_result", "tool_use_id": f"toolu_{place}", "content": chance.choice(answers)}]
        usage = {"input_tokens": 900, "output_tokens": 80}
        said = {"id": f"msg_{place}", "role": "assistant", "model": "m", "content": asked, "usage": usage}
        lines = (
            {**common, "type": "assistant", "uuid": f"a{place}", "message": said},
            {**common, "type": "user", "uuid": f"u{place}", "message": {"role": "user", "content": told}},
        )
        yield b"".join(orjson.dumps(line) + b"\n" for line in lines)


def _simulations(chance: Random) -> Iterator[bytes]:
    """One document of simulations of 120 messages each."""
    texts, answers = [_words(chance, 60) for _ in range(200)], [_answer(chance) for _ in range(200)]
    yield b'{"timestamp": "2026-11-01T10:00:00", "info": {}, "tasks": [], "simulations": [\n'
    for place in range(10**9):
        messages: list[dict[str, Any]] = []
        for step in range(40):
            call = {"id": f"c{step}", "name": "get_order_details", "arguments": {"order_id": f"#W{step}"}}
            messages.append({"role": "user", "content": chance.choice(texts)})
            messages.append({"role": "assistant", "content": chance.choice(texts), "tool_calls": [call]})
            messages.append({"role": "tool", "id": f"c{step}", "content": chance.choice(answers), "error": False})
        run = {"id": f"run-{place}", "task_id": str(place), "trial": 0, "messages": messages}
        yield b",\n" * (place > 0) + orjson.dumps({**run, "reward_info": {"reward": 1.0}})


def _spans(chance: Random) -> Iterator[bytes]:
    """OTLP requests of 50 spans; those of a trace come in no order."""
    answers = [_answer(chance) for _ in range(200)]
    for place in range(10**9):
        spans: list[dict[str, Any]] = []
        for number in chance.sample(range(50), 50):
            texts = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_order",
                "gen_ai.tool.call.id": f"call_{place}_{number}",
                "gen_ai.tool.call.arguments": '{"order_id": "#W12"}',
                "gen_ai.tool.call.result": chance.choice(answers),
            }
            at = 1_793_527_200_000_000_000 + (place * 50 + number) * 1_000_000
            spans.append(
                {
                    "traceId": f"{place // 20:032x}",
                    "spanId": f"{place * 50 + number:016x}",
                    "name": "execute_tool get_order",
                    "startTimeUnixNano": str(at),
                    "endTimeUnixNano": str(at + 500_000),
                    "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()],
                }
            )
        yield orjson.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "app"}, "spans": spans}]}]}) + b"\n"


_SHAPES: dict[str, Callable[[Random], Iterator[bytes]]] = {
    "lines": _sessions,
    "document": _simulations,
    "spans": _spans,
}
