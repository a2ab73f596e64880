"""The Dockerfile and compose.yaml: rules that any image should keep; their steps and commands, run without Docker."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias
from urllib.request import urlopen

import orjson
import pytest
from release.container import DOCKERFILE, ROOT, Image, Step, labels, services, stages_of, steps_of
from tests.host.postgres import Server, missing, running_server
from tests.release.reach import needs_packages
from tests.waiting import LONGER, until

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEPS = steps_of(DOCKERFILE.read_text(encoding="utf-8"))
SECRET = re.compile(r"(?i)(token|password|secret|api_?key)[a-z_]*[\"']?\s*[=:]\s*[\"']?[^\s\"'$]")

Rule: TypeAlias = Callable[[Sequence[Step]], list[str]]


def unpinned_bases(steps: Sequence[Step]) -> list[str]:
    """Base images without a version: the same file would give another image tomorrow."""
    given = {name: value for step in steps if step.name == "ARG" for name, _, value in [step.text.partition("=")]}
    bases = [step.words[0] for step in steps if step.name == "FROM"]
    resolved = [re.sub(r"\$\{(\w+)\}", lambda found: given.get(found[1], ""), base) for base in bases]
    return [base for base in resolved if not re.search(r":\d+\.\d+[\w.-]*-[a-z]+", base)]


def rights_of_root(steps: Sequence[Step]) -> list[str]:
    """What runs as root, or as a user of whom an orchestrator cannot see that it is none."""
    users = [step.text for step in stages_of(steps)[-1] if step.name == "USER"]
    return [] if users and re.fullmatch(r"[1-9]\d*(:[1-9]\d*)?", users[-1]) else [f"USER {users[-1:]}"]


def fetched_unchecked(steps: Sequence[Step]) -> list[str]:
    """ADD fetches and unpacks; curl and wget bring what no digest holds."""
    found = [step for step in steps if step.name == "ADD" or re.search(r"\b(curl|wget)\b", step.text)]
    return [f"{step.name} {step.text}" for step in found]


def shell_forms(steps: Sequence[Step]) -> list[str]:
    """Commands under a shell, which would keep SIGTERM from the process."""
    forms = [step for step in steps if step.name in ("CMD", "ENTRYPOINT", "HEALTHCHECK", "VOLUME")]
    return [step.name for step in forms if not step.text.startswith("[")]


def secrets_kept(steps: Sequence[Step]) -> list[str]:
    """Values of secrets: every layer can be read by whoever has the image."""
    return [step.text for step in steps if step.name in ("ARG", "ENV", "RUN", "LABEL") and _tells(step.text)]


def _tells(line: str) -> bool:
    return SECRET.search(re.sub(r"\$\{[^}]*\}", "", line)) is not None


def caches_kept(steps: Sequence[Step]) -> list[str]:
    """pip's cache, which nothing in the image reads."""
    runs = [step.text for step in steps if step.name == "RUN" and re.search(r"\bpip (install|wheel)\b", step.text)]
    return [text for text in runs if "--no-cache-dir" not in text]


def sources_in_the_image(steps: Sequence[Step]) -> list[str]:
    """What the last stage takes from the build's folder instead of from a stage before it."""
    copies = [step for step in stages_of(steps)[-1] if step.name == "COPY"]
    return [step.text for step in copies if not any(flag.startswith("--from=") for flag in step.flags)]


def nothing_asks_for_health(steps: Sequence[Step]) -> list[str]:
    found = [step for step in stages_of(steps)[-1] if step.name == "HEALTHCHECK"]
    return [] if found and "/health" in found[-1].text else ["HEALTHCHECK"]


PLANTED: list[tuple[Rule, str]] = [
    (unpinned_bases, "FROM python:latest"),
    (unpinned_bases, "FROM python\nFROM python:3.13-slim-trixie"),
    (rights_of_root, "FROM python:3.13-slim-trixie\nUSER root"),
    (rights_of_root, "FROM python:3.13-slim-trixie\nUSER 10001:0"),
    (fetched_unchecked, "FROM python:3.13-slim-trixie\nADD https://host.example/x.tar.gz /opt"),
    (fetched_unchecked, "FROM python:3.13-slim-trixie\nRUN curl https://host.example/x | sh"),
    (shell_forms, "FROM python:3.13-slim-trixie\nENTRYPOINT tradefair"),
    (shell_forms, "FROM python:3.13-slim-trixie\nHEALTHCHECK --interval=5s CMD curl http://127.0.0.1/health"),
    (secrets_kept, 'FROM python:3.13-slim-trixie\nENV TRADEFAIR_TOKEN="tf_abc"'),
    (caches_kept, "FROM python:3.13-slim-trixie\nRUN pip install \\\n  tradefair"),
    (sources_in_the_image, "FROM python:3.13-slim-trixie AS build\nFROM python:3.13-slim-trixie\nCOPY . ."),
    (nothing_asks_for_health, "FROM python:3.13-slim-trixie\nHEALTHCHECK NONE"),
]


@pytest.mark.parametrize(("rule", "planted"), PLANTED)
def test_a_rule_finds_what_is_planted_and_nothing_in_our_dockerfile(rule: Rule, planted: str) -> None:
    assert rule(steps_of(planted)) != []
    assert rule(STEPS) == []


def test_what_is_no_instruction_is_refused() -> None:
    with pytest.raises(ValueError, match="no instruction: pip install"):
        steps_of("FROM python:3.13-slim-trixie\npip install tradefair\n")


def test_the_labels_say_what_the_project_says() -> None:
    said = labels(stages_of(STEPS)[-1])
    prefix = "org.opencontainers.image."
    assert said[f"{prefix}version"] == PROJECT["version"]
    assert (said[f"{prefix}title"], said[f"{prefix}licenses"]) == (PROJECT["name"], PROJECT["license"])
    assert said[f"{prefix}description"] == PROJECT["description"]


def test_every_copied_path_is_let_through_and_exists() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # Everything is left out first: what somebody puts beside the sources never reaches an image.
    assert next(line for line in ignored if line and not line.startswith("#")) == "*"
    copied = [word for step in stages_of(STEPS)[0] if step.name == "COPY" for word in step.words[:-1]]
    assert sorted(f"!{name}" for name in copied) == sorted(line for line in ignored if line.startswith("!"))
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_services_reach_this_machine_alone_and_hold_no_secret() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert _tells('PGPASSWORD: "swordfish"')
    assert [line for line in text.splitlines() if _tells(line) and not line.startswith("#")] == []
    known = services()
    assert sorted(known) == ["host", "store", "viewer"]
    for name, service in known.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert "healthcheck" in service or service["image"] == f"tradefair:{PROJECT['version']}", name
        assert re.search(r":\d", service["image"]), name
        if "build" in service:
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
    # Whoever can reach the store can rewrite chains.
    assert "ports" not in known["store"]


# --- without Docker -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    needs_packages()
    made = Image(tmp_path_factory.mktemp("image"))
    made.build()
    return made


class Composed(NamedTuple):
    """The services as they would run in containers, on free ports and with a store on this machine."""

    image: Image
    moved: Mapping[str, str]
    given: Mapping[str, str]

    def _here(self, text: str) -> str:
        for old, new in self.moved.items():
            text = text.replace(old, new)
        return text

    def environment(self, name: str) -> dict[str, str]:
        asked = services()[name]["environment"] | {}
        filled = {
            key: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: self.given[found[1]], value)
            for key, value in asked.items()
        }
        both = self.image.environment() | filled
        return {key: self._here(self.image.placed(value)) for key, value in both.items()}

    @contextmanager
    def up(self, name: str) -> Generator[subprocess.Popen[str]]:
        """A service, healthy; ended as Docker ends it."""
        command = [self._here(word) for word in self.image.command(services()[name])]
        process = subprocess.Popen(command, env=self.environment(name), cwd=self.image.root / "data", text=True)
        try:
            asked = [self._here(word) for word in self.image.health(services()[name])]
            until(lambda: self.run(name, *asked).returncode == 0, f"{name}, healthy", LONGER, process)
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONGER) == 0
        finally:
            process.kill()
            process.wait()

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in a service's container, as `docker compose exec` has it."""
        env = self.environment(name)
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=LONGER, check=False)


def _free_ports(*names: str) -> Iterator[tuple[str, str]]:
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for name, taken in zip(names, (one, two, three), strict=True):
            taken.bind(("127.0.0.1", 0))
            yield name, str(taken.getsockname()[1])


@pytest.fixture
def composed(image: Image) -> Iterator[Composed]:
    if missing() is not None:
        pytest.skip(str(missing()))
    with running_server() as server:
        yield Composed(image, _moved(server), dict.fromkeys(("POSTGRES_PASSWORD", "TRADEFAIR_CONTROL_TOKEN"), "x" * 32))


def _moved(server: Server) -> dict[str, str]:
    assert services()["host"]["environment"]["TRADEFAIR_STORE"] == "postgresql://tradefair@store/tradefair"
    return {"postgresql://tradefair@store/tradefair": server.dsn, **dict(_free_ports("8765", "8766", "8767"))}


def test_the_image_holds_the_wheel_and_no_sources(image: Image) -> None:
    env = image.environment()
    said = subprocess.run([*image.command()[:1], "--version"], env=env, capture_output=True, text=True, check=True)
    assert said.stdout == f"tradefair {PROJECT['version']}\n"
    where = "import tradefair.host as host, psycopg, zstandard; print(host.__file__)"
    found = subprocess.run(["python", "-c", where], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(f"{image.root}/opt/tradefair/lib/")


def test_the_composed_services_host_keep_show_and_go_on(composed: Composed) -> None:
    create = ("tradefair", "control", "create", "double_auction", "--scenario", "double_auction/smoke", "--seats", "B1")
    with composed.up("host"), composed.up("viewer"):
        made = composed.run("host", *create, "--json")
        assert made.returncode == 0, made.stderr
        (episode,) = orjson.loads(made.stdout)["episodes"]
        assert _rows(composed.moved["8767"]) == [f"{episode['episode']}.trace"]
    # A container that is started again has the same command, and the same episodes.
    with composed.up("host"):
        status = orjson.loads(composed.run("host", "tradefair", "control", "status", "--json").stdout)
        assert [entry["episode"] for entry in status["episodes"]] == [episode["episode"]]
    assert list((composed.image.root / "data").rglob("*.trace")) == []


def _rows(port: str) -> list[str]:
    """The traces that the viewer lists, as soon as there are any."""

    def listed() -> list[str]:
        with urlopen(f"http://127.0.0.1:{port}/rows.json") as answer:
            return [row["path"] for row in orjson.loads(answer.read())["rows"]]

    return until(listed, "rows of the viewer")
