"""What plays a seat: framework, model and options, as plain data that a trace keeps and a resume takes up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tradefair.contract.errors import ScenarioError, TraceError
from tradefair.contract.market import MarketType
from tradefair.contract.policy import Draw, parse_policy
from tradefair.contract.seats import SeatId
from tradefair.frameworks import FRAMEWORKS, load_framework
from tradefair.frameworks.base import Limits
from tradefair.frameworks.models.access import api_key, check_allowed, endpoint_url
from tradefair.frameworks.models.endpoint import ModelEndpoint, parse_model
from tradefair.frameworks.models.faults import Faults
from tradefair.frameworks.models.prices import load_prices
from tradefair.host.setup import seat_policy

NATIVE = "policy"
OUTSIDE = "external"

_REPLAY = "replay:"
_GRAPHS = "tradefair.frameworks.langgraph:"
_SPELLINGS = "policy:<name>, openai:<model>, <provider>:<model> or replay:<file>"
_TEXTS = ("model", "base_url", "window", "record", "replay", "faults")


@dataclass(frozen=True)
class AgentSpec:
    """What plays a seat: a framework and, where it needs one, a model (`openai:…`, `policy:…`, `replay:…`).

    `record` and `replay` are files of model calls, `faults` a schedule of injected faults (`frameworks.models.faults`),
    `window` what of a round a graph shows its model. With `approve` a person is asked before each action. `trials`
    holds what an agent wrote after earlier episodes (`runner.trials`), `timeout_s` how long a model's reply may take.
    """

    framework: str = "react"
    model: str | None = None
    base_url: str | None = None
    limits: Limits = field(default_factory=Limits)
    window: str | None = None
    record: str | None = None
    replay: str | None = None
    faults: str | None = None
    approve: bool = False
    trials: tuple[str, ...] | None = None
    timeout_s: float | None = None

    @property
    def label(self) -> str:
        """How it is called in tables: `react/policy:zip`, `policy:zip`, `external`, `reflection+trials+approve/…`."""
        model = self.model or (self.replay and f"{_REPLAY}{self.replay}")
        if model is not None and model.startswith(_REPLAY):
            # A label is shown to others: a file's name, never where it lies.
            model = _REPLAY + Path(model.removeprefix(_REPLAY)).name
        # Who has met its luck before, or acts on a person's word, is not to be mixed up with who has not and does not.
        trials = "" if self.trials is None else "+trials"
        framework = f"{self.framework}{trials}{'+approve' if self.approve else ''}"
        return (model or framework) if self.framework == NATIVE or model is None else f"{framework}/{model}"

    @property
    def endpoint(self) -> ModelEndpoint | None:
        """The model's endpoint, the recording's where no model is named. Raises ScenarioError."""
        if self.model is None and self.replay is None:
            return None
        found = parse_model(self.model or f"{_REPLAY}{self.replay}", base_url=self.base_url)
        return found if self.timeout_s is None else replace(found, timeout_s=self.timeout_s)

    @property
    def options(self) -> dict[str, Any]:
        """What the framework's constructor is given besides a person's word: options that were chosen."""
        chosen = {"window": self.window, "trials": self.trials}
        return {name: value for name, value in chosen.items() if value is not None}

    def recorded(self) -> dict[str, Any]:
        """Plain data for the manifest's about, from which `resume` takes up the same agent, without its faults."""
        return asdict(replace(self, faults=None))

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> AgentSpec:
        """The agent that `recorded` wrote down, now or in an earlier version. Raises TraceError when it is none."""
        try:
            texts = {name: record.get(name) for name in _TEXTS}
            trials = record.get("trials")
            said = [record["framework"], *(text for text in texts.values() if text is not None), *(trials or ())]
            if not all(isinstance(text, str) for text in said):
                raise TypeError("not text")
            timeout_s = record.get("timeout_s")
            if timeout_s is not None and not 0 < float(timeout_s) < float("inf"):
                raise ValueError("not a time")
            return cls(
                record["framework"],
                limits=Limits(**record["limits"]),
                approve=record.get("approve") is True,
                trials=None if trials is None else tuple(trials),
                timeout_s=timeout_s,
                **texts,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise TraceError("the trace does not say what played its agent's seat: name it with --agent") from None


def is_graph(framework: str) -> bool:
    """Whether a framework is one of our graphs, which have windows and ask for a person's word."""
    return FRAMEWORKS.get(framework, "").startswith(_GRAPHS)


def check_agent(kind: MarketType, agent: AgentSpec, roles: Mapping[SeatId, str]) -> None:
    """Refuse what cannot work before anything is played or written. Raises ScenarioError."""
    load_framework(agent.framework)
    if not is_graph(agent.framework):
        options = {"--window": agent.window, "--approve": agent.approve, "--trials": agent.trials}
        given = [name for name, value in options.items() if value]
        if given:
            graphs = ", ".join(name for name in FRAMEWORKS if is_graph(name))
            raise ScenarioError(f"{given[0]} is an option of our graphs ({graphs}), not of {agent.framework}")
    if agent.framework in (NATIVE, OUTSIDE):
        _check_no_model_calls(agent)
    if agent.framework == OUTSIDE:
        return
    endpoint = agent.endpoint
    if endpoint is None:
        raise ScenarioError(f"--agent {agent.framework} needs a model: --model {_SPELLINGS}")
    if agent.framework == NATIVE and endpoint.kind != "policy":
        raise ScenarioError("--agent policy plays a scripted policy: --model policy:<name>")
    if endpoint.kind == "langchain" and not is_graph(agent.framework):
        raise ScenarioError(
            f"{endpoint.label} is for our graphs; {agent.framework} asks openai:<model> with --base-url"
        )
    if endpoint.kind == "policy":
        _check_policy(kind, agent, roles)
    else:
        load_prices()
    if endpoint.kind == "openai" and agent.replay is None:
        _check_address(endpoint)
    if agent.window is not None:
        from tradefair.agents.window import parse_window

        parse_window(agent.window)
    _check_files(agent, endpoint, list(roles))


def _check_address(endpoint: ModelEndpoint) -> None:
    """Raises ScenarioError for what is no address, HarnessFailure where the switch or a missing key forbids it."""
    url = endpoint_url(endpoint.base_url)
    if not url.startswith(("http://", "https://")):
        raise ScenarioError("the base URL is no address of an endpoint: write --base-url https://HOST/v1")
    check_allowed(url)
    api_key(url)


def _check_no_model_calls(agent: AgentSpec) -> None:
    options = {
        "--record": agent.record,
        "--replay": agent.replay,
        "--faults": agent.faults,
        "--model-timeout": agent.timeout_s,
    }
    for name, value in options.items():
        if value is not None:
            raise ScenarioError(f"{name} concerns calls of a model, and --agent {agent.framework} makes none")


def _check_policy(kind: MarketType, agent: AgentSpec, roles: Mapping[SeatId, str]) -> None:
    spelling = str(agent.model)
    for role in roles.values():
        seat_policy(kind, spelling, role, Draw.of(0, "probe"))
    name = parse_policy(spelling)[0]
    if kind.policies[name].privileged and agent.framework != NATIVE:
        raise ScenarioError(f"policy:{name} knows hidden truth and plays in process only: --agent policy")


def _check_files(agent: AgentSpec, endpoint: ModelEndpoint, seats: list[SeatId]) -> None:
    if agent.faults is not None:
        Faults.parse(agent.faults)
    replayed = agent.replay or (endpoint.model if endpoint.kind == "replay" else None)
    if replayed is None and agent.record is None:
        return
    from tradefair.frameworks.models.recording import Recording

    if replayed is not None:
        if agent.record is not None:
            raise ScenarioError("a run is recorded or replayed, not both: leave --record or --replay out")
        recording = Recording(Path(replayed))
        for seat in seats:
            recording.seat(seat)
    elif agent.record is not None and Path(agent.record).exists() and Path(agent.record).stat().st_size:
        # Another file under that name must not be appended to.
        Recording(Path(agent.record))
