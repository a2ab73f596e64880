"""The Dockerfile and compose.yaml without Docker: their steps below a folder, their commands as they stand.

`python -m release.container FOLDER` carries out the steps of the Dockerfile with FOLDER as the root of the image. What
only an image can do (base, user, labels) is left out; nothing else is written a second time, so that the two agree.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = ROOT / "compose.yaml"
PATIENCE_S = 900


class Step(NamedTuple):
    """One instruction: its name in capitals, its flags (`--chown=…`), and what follows in one line."""

    name: str
    flags: tuple[str, ...]
    text: str

    @property
    def words(self) -> list[str]:
        """The JSON form's items; of any other form the words."""
        if self.text.startswith("["):
            items: list[str] = json.loads(self.text)
            return items
        return self.text.split()


def steps_of(text: str) -> list[Step]:
    """The instructions of a Dockerfile in their order. ValueError for what is none."""
    joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text))
    steps: list[Step] = []
    for line in filter(str.strip, joined.splitlines()):
        found = re.fullmatch(r"\s*([A-Z]+)((?:\s+--[a-z-]+=\S+)*)\s+(.*?)\s*", line)
        if found is None:
            raise ValueError(f"no instruction: {line[:80]}")
        # HEALTHCHECK has an instruction of its own behind its options.
        rest = re.sub(r"\s+", " ", found[3].removeprefix("CMD ") if found[1] == "HEALTHCHECK" else found[3])
        steps.append(Step(found[1], tuple(found[2].split()), rest))
    return steps


def stages_of(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps by stage; what stands before the first FROM is left out."""
    starts = [index for index, step in enumerate(steps) if step.name == "FROM"]
    return [list(steps[start:end]) for start, end in zip(starts, [*starts[1:], len(steps)], strict=True)]


def last(steps: Sequence[Step], name: str) -> Step:
    """The instruction that counts where several of its name may stand. LookupError where there is none."""
    return [step for step in steps if step.name == name][-1]


def environment(steps: Sequence[Step]) -> dict[str, str]:
    """What the ENV instructions of a stage set."""
    return {name: value for step in steps if step.name == "ENV" for name, value in _pairs(step.text)}


def labels(steps: Sequence[Step]) -> dict[str, str]:
    """What the LABEL instructions of a stage say."""
    return {name: value for step in steps if step.name == "LABEL" for name, value in _pairs(step.text)}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    return ((found[1], found[2]) for found in re.finditer(r'([\w.]+)="([^"]*)"', text))


class Image:
    """A folder that stands for the image's root."""

    def __init__(self, root: Path, python: str = sys.executable) -> None:
        self.root = root
        self._python = python
        self.steps = steps_of(DOCKERFILE.read_text(encoding="utf-8"))
        self.final = stages_of(self.steps)[-1]

    def placed(self, text: str) -> str:
        """The text with the image's folders below the root."""
        return re.sub(r"(?<![\w./])/(?=(?:src|opt|data)\b)", f"{self.root}/", text)

    def build(self) -> None:
        """Carry out the steps. Raises CalledProcessError where one fails."""
        # The base image's Python, which the steps may change.
        base = self.root / "base"
        subprocess.run([self._python, "-m", "venv", str(base)], check=True, timeout=PATIENCE_S)
        for stage in stages_of(self.steps):
            folder = self.root
            for step in stage:
                if step.name == "WORKDIR":
                    folder = Path(self.placed(step.text))
                    folder.mkdir(parents=True, exist_ok=True)
                # What another stage has made lies here already: both have one root.
                elif step.name == "COPY" and not any(flag.startswith("--from=") for flag in step.flags):
                    *sources, target = step.words
                    for source in sources:
                        _copy(ROOT / source, folder / (source if len(sources) > 1 else target))
                elif step.name == "RUN":
                    command = self.placed(step.text)
                    found = {"PATH": f"{base / 'bin'}:/usr/local/bin:/usr/bin:/bin"}
                    env = _reaching_packages() | found
                    subprocess.run(["sh", "-ec", command], cwd=folder, env=env, check=True, timeout=PATIENCE_S)

    def environment(self) -> dict[str, str]:
        """The environment of a container."""
        given = {name: self.placed(value) for name, value in environment(self.final).items()}
        return given | {"PATH": given["PATH"].replace("$PATH", "/usr/local/bin:/usr/bin:/bin")}

    def command(self, service: Mapping[str, Any] | None = None) -> list[str]:
        """The command line of a container, or of a service in compose.yaml."""
        words = (service or {}).get("command", last(self.final, "CMD").words)
        return [self.placed(word) for word in (*last(self.final, "ENTRYPOINT").words, *words)]

    def health(self, service: Mapping[str, Any] | None = None) -> list[str]:
        """The command line that asks for the health of a container, or of a service."""
        check = (service or {}).get("healthcheck")
        return list(check["test"][1:]) if check else last(self.final, "HEALTHCHECK").words


def services() -> dict[str, Any]:
    """The services of compose.yaml, with what they share."""
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]


def _reaching_packages() -> dict[str, str]:
    """Of this environment only how packages are reached: a build of Docker has nothing else of it either."""
    kept = ("PIP_", "UV_", "SSL_", "HTTP", "NO_PROXY", "http", "no_proxy")
    return {name: value for name, value in os.environ.items() if name.startswith(kept)}


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def main() -> None:
    """Carry out the Dockerfile's steps below the folder that is named."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m release.container FOLDER")
    image = Image(Path(sys.argv[1]).absolute())
    image.build()
    print(f"PATH={image.environment()['PATH']} {' '.join(image.command())}")


if __name__ == "__main__":
    main()
