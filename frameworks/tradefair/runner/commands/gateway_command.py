"""`tradefair gateway`: serves a model endpoint in front of a policy, a real endpoint or a recording.

In the runner because it knows markets (for `--policy`), which the gateway itself does not.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tradefair.catalog import default_scenario, load_scenario, market_type
from tradefair.cli.options import API
from tradefair.cli.options_file import configured
from tradefair.cli.terminal import say, tell, watched
from tradefair.contract.errors import ScenarioError, unknown
from tradefair.frameworks.models.faults import FAULTS

if TYPE_CHECKING:
    from tradefair.contract import MarketType, Scenario, SeatId
    from tradefair.frameworks.models import Faults, ModelEndpoint
    from tradefair.frameworks.models.gateway import ModelCall

_FAULTS = (
    "Faults to inject, by the number of the request, such as 429=2@3,500@5..6,drop@8,endless@20.. Kinds: "
    f"{', '.join(FAULTS)} (docs/how-to/models.md)."
)


@configured("gateway", "api seat seed scenario set faults host")
def gateway(
    market: Annotated[str, typer.Option(help="The market whose policy answers, such as double_auction.")] = "",
    policy: Annotated[str, typer.Option(help="The policy that answers; default: the market's stand-in.")] = "",
    seat: Annotated[str, typer.Option(help="Seat that the policy plays, or whose calls are (in) the recording.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the policy's own draws.")] = 0,
    scenario: Annotated[str, typer.Option(help="Scenario of the seat; default: the market's first.")] = "",
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")] = None,
    upstream: Annotated[
        str, typer.Option(help="What answers: openai:<model>, or of this machine local or local:FILE.gguf.")
    ] = "",
    base_url: Annotated[str, typer.Option(help="Where the upstream is; its key comes from OPENAI_API_KEY.")] = "",
    api: Annotated[str, typer.Option(help=API)] = "",
    replay: Annotated[
        Path | None, typer.Option(help="Answer from this recording, alone or in an upstream's name.")
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Append every call to this file (JSON lines).")] = None,
    faults: Annotated[str, typer.Option(help=_FAULTS)] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; default: a free one.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print base URL, model and key as one JSON object.")] = False,
) -> int:
    """Serve an OpenAI-compatible endpoint until interrupted: chat completions and Responses, streamed, recorded.

    In front of a policy (--market), a real endpoint or a local model (--upstream), or a recording (--replay).
    A policy plays one seat of one episode: start the gateway anew for another one. Base URL and key are printed once,
    on stderr.
    """
    # Imported here, as what serves is below: --help does without.
    import asyncio

    from tradefair.contract.scenario import parse_override
    from tradefair.runner.play.agent_spec import read_endpoint, read_faults

    if not (market or upstream or replay):
        raise ScenarioError("name what answers: --market (a policy), --upstream openai:<model> or local, --replay FILE")
    # With --upstream, --replay answers what the upstream would be asked; with a policy it would have no meaning.
    if market and (upstream or replay):
        raise ScenarioError("only one of --market, --upstream, --replay answers (--replay also in an upstream's name)")
    schedule, role = read_faults(faults), None
    if market:
        chosen = load_scenario(market, scenario or default_scenario(market), dict(map(parse_override, overrides or ())))
        endpoint, seat = _policy_endpoint(market_type(market), chosen, policy, seat, seed)
        role = _Role(market, chosen.id, seat, seed)
    elif upstream:
        endpoint = _upstream(upstream, base_url, replay, api)
    else:
        # The recording is the endpoint itself here, and not one in another endpoint's name.
        endpoint, replay = read_endpoint(f"replay:{replay}"), None
    shown = _Shown(endpoint.label, role, as_json)
    # "" is no seat: a recording of one seat needs none to be named.
    asyncio.run(_serve(endpoint, seat or None, record, replay, schedule, (host, port), shown))
    return 0


class _Role(NamedTuple):
    """What a policy plays."""

    market: str
    scenario: str
    seat: SeatId
    seed: int


class _Shown(NamedTuple):
    """What is printed about the gateway when it is open; `role` where a policy answers."""

    label: str
    role: _Role | None
    as_json: bool

    def announce(self, model: str, url: str, key: str) -> None:
        """Address and key, once: JSON on stdout, else three lines on stderr."""
        if self.as_json:
            # The same keys in every case, null where no policy answers, so that a script need not ask which.
            played = self.role._asdict() if self.role else dict.fromkeys(_Role._fields)
            tell(json.dumps({"base_url": url, "model": model, "api_key": key, **played}))
            return
        what = self.label if self.label == model else f"{model} ({self.label})"
        role = self.role
        plays = f" for seat {role.seat} of {role.scenario}, seed {role.seed}," if role else ""
        say(f"{what} answers{plays} until interrupted (Ctrl-C).")
        say(f"OPENAI_BASE_URL={url}\nOPENAI_API_KEY={key}")


async def _serve(
    endpoint: ModelEndpoint,
    seat: str | None,
    record: Path | None,
    replay: Path | None,
    faults: Faults,
    place: tuple[str, int],
    shown: _Shown,
) -> None:
    import asyncio

    from tradefair.frameworks.models.gateway_app import GatewayApp, serve_app
    from tradefair.frameworks.models.serving import open_gateway
    from tradefair.host.server.signals import on_signals

    stopped = asyncio.Event()
    # A fresh key for each run; it is printed once and stored nowhere.
    key = secrets.token_urlsafe(24)
    # A line per call is for a person who watches; in a log file it would be noise.
    on_call = _show if watched() else None
    async with open_gateway(
        endpoint, record=record, replay=replay, faults=faults, seat=seat, on_call=on_call
    ) as behind:
        # A signal ends the wait and not the process, so that gateway and recording are closed in order.
        on_signals(stopped.set)
        async with serve_app(GatewayApp(behind, key), host=place[0], port=place[1]) as url:
            # Printed when the port is open and not before: a script connects as soon as it reads the line.
            shown.announce(behind.model, url, key)
            await stopped.wait()


def _show(call: ModelCall) -> None:
    tokens = "" if call.input_tokens is None else f", {call.input_tokens}+{call.output_tokens or 0} tokens"
    fault = f", injected {call.fault}" if call.fault else ""
    say(f"{call.number}: {call.status}{tokens}, {call.latency_s:.2f} s{fault}")


def _upstream(spelling: str, base_url: str, replay: Path | None, api: str) -> ModelEndpoint:
    from tradefair.runner.play.agent_spec import read_endpoint

    endpoint = read_endpoint(spelling, base_url, api=api or "auto")
    if endpoint.kind not in ("openai", "local"):
        raise ScenarioError(f"--upstream {spelling!r}: an upstream is openai:<model>, local or local:FILE.gguf")
    if endpoint.kind == "local" and replay:
        raise ScenarioError("a local model answers alone: leave --replay out")
    return endpoint


def _policy_endpoint(
    kind: MarketType, scenario: Scenario, policy: str, seat: str, seed: int
) -> tuple[ModelEndpoint, SeatId]:
    from tradefair.contract import Draw
    from tradefair.contract.kernel.players import check_told, seat_policy, seat_roles, stand_ins
    from tradefair.contract.policy import parse_policy
    from tradefair.runner.play.agent_spec import read_endpoint

    roles = seat_roles(kind, scenario)
    if seat and seat not in roles:
        raise ScenarioError(unknown("seat", seat, roles))
    spelling = policy or next(iter(stand_ins(kind, scenario)), "")
    name = parse_policy(spelling)[0]
    # Without a seat: the first that the policy can play, else the first, where `seat_policy` refuses it by name.
    fitting = [fit for fit, role in roles.items() if name in kind.policies and role in kind.policies[name].roles]
    chosen = seat or next(iter(fitting), next(iter(roles)))
    endpoint = read_endpoint(f"policy:{spelling.removeprefix('policy:')}")
    check_told(kind, spelling, roles[chosen], scenario)
    # The draws that this seat would have in an episode on this seed, under policy key 0.
    return endpoint.with_policy(seat_policy(kind, spelling, roles[chosen], Draw.of(seed, chosen))), chosen
