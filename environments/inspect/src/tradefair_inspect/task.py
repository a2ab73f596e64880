"""The tasks of a tradefair server for Inspect: a sample is a task, and each epoch of it has the same luck.

Logs hold samples, stores and scores, so no token is in them: the episode is ordered when a sample begins to be solved,
and the token of its seat goes to the MCP client only. Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN.
"""

from asyncio import to_thread
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.agent import as_solver, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import mcp_server_http
from tradefair_client import control, create

PAGE = 1_000
PROMPT = """You hold seat {seat} of a market and act through its tools only.
{brief}
Read view_rules, then play on until await_turn says that the episode is over. A reply without a call ends your game."""
# A wait for one's turn takes a few seconds, on a busy host more; Inspect's own bound is 5.
TIMEOUT_S = 60


@task
def market(
    split: str = "validation",
    limit: int = 50,
    tools: Literal["slim", "full"] = "slim",
    measure: Literal["score", "reward"] = "score",
    scenario: str | None = None,
) -> Task:
    """Tasks of one seat, spread over a split or its tasks of one scenario: played by `react`, scored by the server.

    With `tools` "slim" the model is shown no output schemas. `measure` "score" lies in [-1, 1], from a passive seat to
    the best reference; "reward" is in the market's own unit.
    """
    dataset = MemoryDataset(samples(split, limit, scenario), name=f"tradefair-{split}")
    return Task(dataset, solver=seat(tools), scorer=earned(measure))


def samples(split: str, limit: int, scenario: str | None = None) -> list[Sample]:
    """At most `limit` tasks, each with a first message. Raises ValueError without one, `tradefair_client.Refused`."""
    rows = []
    for start in range(0, control(f"/tasks/{split}?limit=1")["tasks"], PAGE):
        listed = control(f"/tasks/{split}?start={start}&limit={PAGE}")["items"]
        rows += [row for row in listed if len(row["seats"]) == 1 and scenario in (None, row["scenario"])]
    if not rows or limit < 1:
        raise ValueError(f"no task of one seat: {split}, scenario {scenario or 'any'}, limit {limit}; see GET /tasks")
    return [_sample(control(f"/tasks/{row['task']}")) for row in rows[:: max(1, len(rows) // limit)][:limit]]


def _sample(told: dict) -> Sample:
    (name,) = told["seats"]
    first = PROMPT.format(seat=name, brief="\n".join(told["brief"][name].values()))
    return Sample(first, id=told["task"], metadata={"scenario": told["scenario"], "seat": name, "tier": told["tier"]})


@solver
def seat(tools: str = "slim") -> Solver:
    """Order the sample's episode, with the market's own agents in all other seats, and let `react` play its seat."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        (taken,) = await to_thread(create, task=str(state.sample_id), tools=tools)
        state.store.set("episode", taken.episode)
        server = mcp_server_http(name="market", url=taken.url, authorization=taken.token, timeout=TIMEOUT_S)
        try:
            return await as_solver(react(prompt=None, tools=[server], submit=False))(state, generate)
        finally:  # its place is free; the trace stays
            await to_thread(control, f"/episodes/{taken.episode}", method="DELETE")

    return solve


@scorer(metrics=[mean(), stderr()])
def earned(measure: str = "score") -> Scorer:
    """What the seat has earned, with the outcome as metadata; `censored` is true where it left before the game ended.

    One that left before anything counted scores 0, as one that does nothing.
    """

    async def score(state: TaskState, target: Target) -> Score:
        outcome = await to_thread(control, f"/episodes/{state.store.get('episode')}/outcome?end=true")
        own = outcome["seats"][state.metadata["seat"]]
        value = own[measure]
        if value is None and (measure != "score" or own["score_range"] is None):
            raise ValueError(f"{outcome['scenario']} has no {measure} of this seat: {own}; try -T measure=reward")
        said = f"{own['metric']} {own['reward']} {own['unit']}, {outcome['end_reason']}"
        return Score(value=value or 0, explanation=said, metadata=outcome)

    return score
