"""What plays a seat: as plain data that a trace keeps (`AgentSpec`), and made ready to play (`ReadyAgent`).

All that an agent's options say is read in this module and nowhere else in the runner: once, and before anything is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from tradefair.cli.options import PlayerFlags
from tradefair.contract import Draw, HarnessFailure, MarketType, Scenario, ScenarioError, SeatId, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.contract.kernel.players import PERSON, AgentRecord, Limits, check_told, seat_policy
from tradefair.frameworks import FRAMEWORKS, load_framework
from tradefair.frameworks.base import COMMAND, SeatAgent
from tradefair.frameworks.models.access import DEFAULT_URL, api_key, check_allowed, endpoint_url, is_loopback, shown_url
from tradefair.frameworks.models.budget import Budget
from tradefair.frameworks.models.endpoint import ModelEndpoint, parse_model, read_fields, spell_fields
from tradefair.frameworks.models.faults import Faults
from tradefair.frameworks.models.local.weights import LABEL, find_weights, fingerprint
from tradefair.frameworks.models.prices import check_priced, load_prices

if TYPE_CHECKING:
    from tradefair.agents.offers import Offer
    from tradefair.agents.options import Approve
    from tradefair.agents.window import Window
    from tradefair.frameworks.models.recording import Recording

AskPerson: TypeAlias = "Callable[[SeatId], Approve]"
"""Makes, for a seat, the function that asks a person before actions of this seat are made."""

NATIVE = "policy"
OUTSIDE = "external"
OWN = "own:"
"""Begins the framework's name of an agent that is its caller's code (`tradefair.api`): a trace cannot name it again."""

POLICY = "policy:"
Player = TypeVar("Player", bound=PlayerFlags)
_REPLAY = "replay:"
_GRAPHS = "tradefair.frameworks.langgraph:"
_MODELS = "policy:<name>, openai:<model>, <provider>:<model>, local or replay:<file>"
_LOCAL = "local"


@dataclass(frozen=True)
class AgentSpec:
    """What plays a seat: a framework and, where it needs one, a model (`openai:…`, `policy:…`, `replay:…`).

    All fields are texts as a person wrote them; nothing is checked here, so that any record of a trace can be held.
    `record` is a file that model calls are written to, `replay` one (or a trace) that they are answered from, `faults`
    a schedule of injected faults (`frameworks.models.faults`), `window` what of a round a graph shows its model. With
    `approve` a person is asked before each action. `trials` holds what an agent wrote after earlier episodes
    (`runner.trials`), oldest first. `timeout_s` is how long a model's reply may take, in seconds; None means the
    endpoint's own default. With `prompts` the trace keeps what the model is sent. `offer` says which tools a graph
    offers its model per reply, `max_reply` how many tokens one may have (0: any number). `api` is how an `openai:`
    endpoint is asked. Of a program (`command:…`) `timeout_s` is how long it may play a game. `max_cost` (dollars),
    `max_tokens` and `idle_rounds` end an episode before its time; they are no part of the agent, and no trace keeps
    them.
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
    prompts: bool = True
    offer: str | None = None
    max_reply: int | None = None
    api: str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    idle_rounds: int = 0

    @property
    def label(self) -> str:
        """The agent's name in tables: `react/policy:zip`, `policy:zip`, `external`, `reflection+trials+approve/…`.

        The same label means the same agent in comparisons and ratings, so all that makes an agent another one is in it.
        """
        model = self.model or (self.replay and f"{_REPLAY}{self.replay}")
        if model is not None and model.startswith(_REPLAY):
            # A label is shown to others: a file's name, never where it lies.
            model = _REPLAY + Path(model.removeprefix(_REPLAY)).name
        model = _shown(model)
        # An agent that has played this seed before, or acts with a person's consent, must not share a row with others.
        if self.command is not None:
            return self._named
        trials = "" if self.trials is None else "+trials"
        usual = self._offer == default_offer(self.framework, self.model)
        offer = "" if usual else f"+{self._offer}"
        framework = f"{self.framework}{offer}{trials}{'+approve' if self.approve else ''}"
        # A policy that plays natively is called by its policy alone: its framework says nothing more.
        return (model or framework) if self.framework == NATIVE or model is None else f"{framework}/{model}"

    @property
    def outside(self) -> bool:
        """Whether the seat is served over HTTP, to a client from outside or to a person's browser."""
        return self.framework in (OUTSIDE, PERSON)

    @property
    def command(self) -> str | None:
        """The program that plays the seat, with its arguments; None where another framework does."""
        return self.framework.removeprefix(COMMAND) if self.framework.startswith(COMMAND) else None

    @property
    def asks_model(self) -> bool:
        """Whether its framework asks a model of ours: no policy, no program, nobody from outside."""
        return not (self.outside or self.framework == NATIVE or self.command is not None)

    @property
    def _named(self) -> str:
        """The framework as tables and traces name it; of a program no path and no secret."""
        if self.command is None:
            return self.framework
        from tradefair.frameworks.command import shown_command

        return f"{COMMAND}{shown_command(self.command)}"

    @property
    def policy(self) -> str | None:
        """The model where it is a scripted policy (`policy:<name>`), else None.

        With it a resumed episode can replay the policy behind a model's interface.
        """
        # Spaces in front are kept as a person wrote them, and must not make a policy look like a model.
        return self.model if (self.model or "").lstrip().startswith(POLICY) else None

    @property
    def asks(self) -> bool:
        """Whether a model is asked, here or elsewhere: none is for a policy, a recording and a client from outside."""
        kind = (self.model or _REPLAY).strip().partition(":")[0]
        return self.replay is None and f"{kind}:" not in (POLICY, _REPLAY)

    @property
    def endpoint(self) -> ModelEndpoint | None:
        """The model's endpoint, the recording's where no model is named; parsed at each call. Raises ScenarioError."""
        if self.model is None and self.replay is None:
            return None
        # A recording without a named model answers under an endpoint of its own.
        return read_endpoint(self.model or f"{_REPLAY}{self.replay}", self.base_url, self.timeout_s, self.api or "auto")

    def plain(self) -> dict[str, Any]:
        """Plain data from which `of_plain` makes the same agent, paths included: for a sweep's own workers."""
        # Faults are a test of one run: a run that is resumed after them must not meet them again.
        return asdict(replace(self, faults=None))

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> AgentSpec:
        """The agent that `plain` wrote down. Raises TraceError for anything else."""
        try:
            spec = TypeAdapter(cls).validate_python(data)
        except ValidationError:
            raise TraceError("this does not say what plays an agent's seat") from None
        # Code of a caller cannot be loaded again by a name.
        if spec.framework.startswith(OWN):
            raise TraceError("an agent that is its caller's code cannot be seated again by its record")
        return spec

    def recorded(self) -> AgentRecord:
        """What a trace keeps of it: what makes it this agent, no path and no text that it was given."""
        # `--replay FILE` and `--model replay:FILE` mean the same recording, and are recorded alike.
        model = self.model or ""
        recording = self.replay or (model.removeprefix(_REPLAY) if model.startswith(_REPLAY) else None)
        asks = model.startswith("openai:") and recording is None
        return AgentRecord(
            framework=self._named,
            model=None if model.startswith(_REPLAY) else _shown(self.model),
            # What is asked, also where the environment names it; a recording asks nothing.
            endpoint=shown_url(endpoint_url(self.base_url)) if asks else None,
            limits=self.limits,
            window=self.window,
            approve=self.approve,
            timeout_s=self.timeout_s,
            trials=None if self.trials is None else digest(canonical(list(self.trials))),
            replay=None if recording is None else _digest_of(recording),
            options=self._told_apart(recording),
        )

    def _told_apart(self, recording: str | None) -> dict[str, JsonValue]:
        """What else makes it another agent, where it is not the default; of a local model its file and library."""
        offer = self._offer if self._offer != "all" or _is_local(self.model) else None
        said: dict[str, JsonValue] = {"faults": self.faults, "offer": offer, "max_reply": self.max_reply}
        said |= {"api": self.api}
        # A recording answers in the model's place, and needs no weights.
        if recording is None and _is_local(self.model):
            # `ready` says what is wrong with them.
            with suppress(ScenarioError, OSError):
                said |= fingerprint(find_weights(read_endpoint(str(self.model)).model))
        return {name: value for name, value in said.items() if value is not None}

    @property
    def _offer(self) -> str:
        """What a graph offers its model, where nothing was said too."""
        return self.offer or default_offer(self.framework, self.model)

    @classmethod
    def of_record(cls, record: AgentRecord | None, *, replay: str | None = None) -> AgentSpec:
        """The agent that `recorded` wrote down; `replay` is the file of a recording, of which a trace keeps a digest.

        Raises TraceError where a trace does not hold enough to seat it again: code of a caller has no name to load it
        by; files and texts that an agent was given are not in a trace.
        """
        # Of a program neither: a stranger's trace must not choose what is run on this machine.
        if record is None or record.framework.startswith((OWN, COMMAND)):
            raise TraceError("the trace does not say what played its agent's seat: name it with --agent")
        held = "of which a trace keeps the digest only"
        if record.trials is not None:
            raise TraceError(f"the trace's agent was given notes of earlier episodes, {held}: name it with --agent")
        if record.replay is not None and replay is None:
            raise TraceError(f"the trace's agent was given a recording, {held}: name the file with --replay")
        # The label of the package's weights is enough to find them.
        if record.replay is None and _is_local(record.model) and record.model != LABEL:
            raise TraceError(f"the trace's agent asked a model of a file, {held}: name it with --model local:FILE")
        # A stranger's trace must not choose who is sent OPENAI_API_KEY.
        known = (shown_url(DEFAULT_URL), shown_url(endpoint_url(None)))
        if record.endpoint is not None and record.endpoint not in known and not is_loopback(record.endpoint):
            where = f"the trace's agent asked its model at {record.endpoint[:200]}"
            raise TraceError(f"{where}: set OPENAI_BASE_URL to that if you trust it, or name another --agent")
        # Faults are a test of one run: a run that is resumed after them must not meet them again.
        return cls(
            record.framework,
            record.model,
            record.endpoint,
            record.limits,
            record.window,
            approve=record.approve,
            timeout_s=record.timeout_s,
            replay=replay,
            offer=_recorded(record, "offer", str),
            max_reply=_recorded(record, "max_reply", int),
            api=_recorded(record, "api", str),
        )


def default_offer(framework: str, model: str | None) -> str:
    """What a graph offers its model where nothing is said: a local one is small, and gets what can do something."""
    return "useful(reads=1)" if _is_local(model) and is_graph(framework) else "all"


def _recorded(record: AgentRecord, name: str, kind: type[Any]) -> Any:
    """An option of a record; None where it has none. TraceError where a stranger's trace holds something else there."""
    value = record.options.get(name)
    # `True` is an int in Python, and a bound of one token.
    if value is not None and type(value) is not kind:
        raise TraceError(f"the trace's agent has a damaged {name}: name the agent with --agent")
    return value


def _is_local(model: str | None) -> bool:
    return (model or "").strip().partition(":")[0] == _LOCAL


def _shown(model: str | None) -> str | None:
    """A model as tables and traces may show it: a local one by its label, never by where its file lies.

    Fields of its requests stand in one order, so that two spellings are one player.
    """
    if _is_local(model):
        return read_endpoint(str(model)).label
    if model is None or model.lstrip().startswith((POLICY, _REPLAY)):
        return model
    # What cannot be read is refused by `ready`; a record of a stranger's trace is shown as it is.
    with suppress(ScenarioError):
        return spell_fields(*read_fields(model))
    return model


def _digest_of(recording: str) -> str:
    try:
        return digest(Path(recording).read_bytes())
    except OSError:
        return digest(b"")  # `ready` says what is wrong with it


@dataclass(frozen=True)
class ReadyAgent:
    """An agent that can play: `spec` with everything in it read, checked and opened. `ready` makes it.

    `make` gives the agent of one seat, with its framework's options and the person to ask bound to it. It is also how
    an agent of one's own gets a seat: an agent that asks no model needs only `spec` and `make`. `endpoint` is the
    model's (None where none is asked), `recording` answers in its place, `faults` disturb it. `budget` is an
    episode's.
    """

    spec: AgentSpec
    make: Callable[[SeatId], SeatAgent]
    endpoint: ModelEndpoint | None = None
    window: Window | None = None
    faults: Faults | None = None
    recording: Recording | None = None
    ask: AskPerson | None = None
    budget: Budget = field(default_factory=Budget)

    def begun(self, notes: Iterable[Mapping[str, Any]] = ()) -> ReadyAgent:
        """The agent for one episode: its budget has spent nothing but what the notes of an earlier run say."""
        budget = Budget(self.spec.model, self.spec.max_cost, self.spec.max_tokens)
        for note in notes:
            budget.count(note)
        return replace(self, budget=budget)


def ready(
    kind: MarketType,
    spec: AgentSpec,
    roles: Mapping[SeatId, str],
    *,
    scenario: Scenario | None = None,
    ask: AskPerson | None = None,
    folder: Path | None = None,
) -> ReadyAgent:
    """The agent of `spec` for the seats of `roles` (seat to role); `ask` is how a person approves its actions.

    A program is started in `folder` (default: where we are).

    With the `scenario` that it will play, a policy that would have to be told what this hides is refused here already.

    Raises ScenarioError for what cannot work, HarnessFailure where a model may not be asked or has no key.
    """
    # An unknown framework is named first: all other options depend on it.
    factory = load_framework(spec.framework if spec.command is None else COMMAND[:-1])
    _check_graph_options(spec)
    if not spec.asks_model:
        _check_no_model_calls(spec)
    if spec.command is not None:
        program = factory(spec.command, game_s=spec.timeout_s, folder=folder)
        return ReadyAgent(spec, lambda _: program)
    if spec.outside:
        # The host serves a client from outside: no agent of ours is made for its seat.
        return ReadyAgent(spec, _not_ours)
    endpoint = _checked_endpoint(spec)
    window = None
    if spec.window is not None:
        # Imported here: only runs with a window need the graphs' package.
        from tradefair.agents.window import parse_window

        window = parse_window(spec.window)
    faults = None if spec.faults is None else read_faults(spec.faults)
    recording = _recording(spec, endpoint, roles)
    if spec.approve and ask is None:
        raise ScenarioError("approval of actions was asked for, and there is no terminal to ask on")
    # Only what was given is passed on: factories of other frameworks take no such keywords.
    small = True if _is_local(spec.model) and is_graph(spec.framework) else None
    chosen: dict[str, Any] = {"window": window, "trials": spec.trials, "offer": _offer(spec), "small": small}
    options = {name: value for name, value in chosen.items() if value is not None}

    def make(seat: SeatId) -> SeatAgent:
        bound = _max_reply(spec, recording, seat) if is_graph(spec.framework) else {}
        return factory(**options, **bound, **({"approve": ask(seat)} if spec.approve and ask is not None else {}))

    made = ReadyAgent(spec, make, endpoint, window, faults, recording, ask)
    # Last: this makes policies, and every cheaper refusal has had its turn.
    if endpoint.kind == "policy":
        _check_policy(kind, spec, roles, scenario)
    return made


def _offer(spec: AgentSpec) -> Offer | None:
    """What a graph offers its model; None where nothing was said. Raises ScenarioError."""
    if not is_graph(spec.framework):
        return None
    from tradefair.agents.offers import parse_offer

    return parse_offer(spec.offer or default_offer(spec.framework, spec.model))


def _max_reply(spec: AgentSpec, recording: Recording | None, seat: SeatId) -> dict[str, int]:
    """The bound of a graph's replies: in a replay that of the recorded requests, which it is part of."""
    if spec.max_reply is not None:
        return {"max_reply": spec.max_reply}
    return {} if recording is None else {"max_reply": recording.seat(seat).max_reply}


def with_policy(player: Player) -> Player:
    """The options, where `--agent policy:NAME` stands for `--agent policy --model policy:NAME`.

    So trace labels and `tradefair.api` name a policy that plays. Raises ScenarioError where a model was given too.
    """
    if not player.framework.startswith(POLICY):
        return player
    if player.model:
        raise ScenarioError(f"--agent {player.framework} names the policy: leave --model out")
    return replace(player, framework=NATIVE, model=player.framework)


def agent_of(player: PlayerFlags, limits: Limits | None = None) -> AgentSpec:
    """The agent of a command line; without a framework a policy plays natively and a model through `react`.

    `limits` are per round; None stands for the defaults of `Limits`. What `ready` checks is not checked here.
    """
    player = with_policy(player)
    native = player.model.startswith(POLICY)
    framework = player.framework or (NATIVE if native else "react")
    made = AgentSpec(framework, player.model or None, player.base_url or None, limits or Limits())
    return replace(made, api=player.api or None)


def read_endpoint(
    model: str, base_url: str | None = None, timeout_s: float | None = None, api: str = "auto"
) -> ModelEndpoint:
    """The endpoint that a text such as `openai:<model>` names; a reply may take `timeout_s`. Raises ScenarioError."""
    found = parse_model(model, base_url=base_url or None, api=api)
    return found if timeout_s is None else replace(found, timeout_s=timeout_s)


def read_faults(text: str) -> Faults:
    """The schedule of faults that a text such as `429@3,drop@8` describes; "" has none. Raises ScenarioError."""
    return Faults.parse(text)


def is_graph(framework: str) -> bool:
    """Whether a framework is one of our graphs: only these have windows, trials and a person's approval."""
    return FRAMEWORKS.get(framework, "").startswith(_GRAPHS)


def _not_ours(seat: SeatId) -> SeatAgent:
    """The factory of a seat that a client from outside plays. Always raises HarnessFailure."""
    raise HarnessFailure(f"{seat} is played by a client from outside, which comes by itself")


def _check_graph_options(agent: AgentSpec) -> None:
    """Raises ScenarioError for an option that only our graphs have."""
    options = {"window": agent.window, "approve": agent.approve or None, "trials": agent.trials}
    options |= {"--limit offer": agent.offer, "--limit reply": agent.max_reply}
    given = [name for name, value in options.items() if value not in (None, "")]
    if given and not is_graph(agent.framework):
        graphs = ", ".join(name for name in FRAMEWORKS if is_graph(name))
        raise ScenarioError(f"{given[0]} is an option of our graphs ({graphs}), not of {agent.framework}")


def _check_no_model_calls(agent: AgentSpec) -> None:
    """Raises ScenarioError for an option that concerns model calls, which these frameworks do not make."""
    options = {
        "--record": agent.record,
        "--replay": agent.replay,
        "faults": agent.faults,
        "--limit seconds": agent.timeout_s if agent.command is None else None,
        "--model": agent.model if agent.command is not None or agent.outside else None,
    }
    # The fields are None where nothing was given: even an empty schedule of faults counts as given.
    for name, value in options.items():
        if value is not None:
            raise ScenarioError(f"{name} concerns calls of a model, and --agent {agent.framework} makes none")


def _checked_endpoint(agent: AgentSpec) -> ModelEndpoint:
    """The endpoint that the framework can ask. Raises ScenarioError, HarnessFailure."""
    endpoint = agent.endpoint
    if endpoint is None:
        raise ScenarioError(f"--agent {agent.framework} needs a model: --model {_MODELS}")
    if agent.framework == NATIVE and endpoint.kind != "policy":
        raise ScenarioError("--agent policy plays a scripted policy: --model policy:<name>")
    if endpoint.kind == "langchain" and not is_graph(agent.framework):
        raise ScenarioError(
            f"{endpoint.label} is for our graphs; {agent.framework} asks openai:<model> with --base-url"
        )
    if endpoint.kind != "policy":
        # A price list that cannot be read is found now, not after the first reply that was paid for.
        load_prices()
    if agent.max_cost is not None:
        check_priced(endpoint.label, "--limit cost")
    # A replayed endpoint is never asked, so it needs neither an address nor a key.
    if endpoint.kind == "openai" and agent.replay is None:
        _check_address(endpoint)
    if endpoint.kind == "local" and agent.replay is None:
        find_weights(endpoint.model)
    return endpoint


def _check_address(endpoint: ModelEndpoint) -> None:
    """Raises ScenarioError for what is no address, HarnessFailure where the switch or a missing key forbids it."""
    url = endpoint_url(endpoint.base_url)
    if not url.startswith(("http://", "https://")):
        raise ScenarioError("the base URL is no address of an endpoint: write --base-url https://HOST/v1")
    # The switch first: where models are forbidden, a missing key is not what has to be mended.
    check_allowed(url)
    api_key(url)


def _recording(agent: AgentSpec, endpoint: ModelEndpoint, seats: Iterable[SeatId]) -> Recording | None:
    """The recording that answers in the model's place; None where there is none. Raises ScenarioError."""
    # `--replay FILE` and `--model replay:FILE` mean the same recording.
    replayed = agent.replay or (endpoint.model if endpoint.kind == "replay" else None)
    if replayed is None and agent.record is None:
        return None
    # Imported here: most runs neither record nor replay.
    from tradefair.frameworks.models.recording import Recording

    if agent.record is not None and not agent.prompts:
        raise ScenarioError("--record is written from the prompts in the trace: leave `prompts = false` out")
    if replayed is not None:
        if agent.record is not None:
            raise ScenarioError("a run is recorded or replayed, not both: leave --record or --replay out")
        recording = Recording(Path(replayed))
        # A seat that the recording does not hold would be missed only in the middle of the first round.
        for seat in seats:
            recording.seat(seat)
        return recording
    if agent.record is not None and Path(agent.record).exists() and Path(agent.record).stat().st_size:
        # Another file under that name must not be appended to.
        Recording(Path(agent.record))
    return None


def _check_policy(kind: MarketType, agent: AgentSpec, roles: Mapping[SeatId, str], scenario: Scenario | None) -> None:
    policy = str(agent.model)
    for role in roles.values():
        # Made once for nothing: a policy checks its parameters when it is made, and the draws do not matter for that.
        seat_policy(kind, policy, role, Draw.of(0, "probe"))
        # It reads the market's state itself, and no connection over MCP can give it that.
        if agent.framework != NATIVE:
            check_told(kind, policy, role, scenario)
