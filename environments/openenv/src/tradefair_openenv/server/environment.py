"""One seat of one episode of a `tradefair host --tasks bundled`, as an OpenEnv environment."""

import json
from contextlib import suppress
from typing import Any

from openenv.core.env_server.interfaces import Environment
from tradefair_client import Refused, Seat, control, create, mcp

from tradefair_openenv.models import Answer, Call, Place

_DEFAULT = ("double_auction/smoke", "B1")
_MOST_WAITS = 20  # of 30 seconds each, until a turn comes
_MOST_LISTED = 1_000


class TradefairEnvironment(Environment[Call, Answer, Place]):
    """Play a seat: `reset` orders an episode, `step` calls a tool, the last step carries the score in [-1, 1]."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._seat: Seat | None = None
        self._place, self._done = Place(), False

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: str | None = None,
        split: str | None = None,
        index: int | None = None,
        scenario: str | None = None,
        seat: str | None = None,
    ) -> Answer:
        """Order a task (`train/17`, or split and index), or a scenario with seat and seed; rules and first turn.

        Raises ValueError about a task of several seats, Refused about what the host refuses.
        """
        self.close()
        task = task if split is None else f"{split}/{index}"
        scenario, seat = (scenario, seat) if scenario else _DEFAULT
        order = {"market": scenario.partition("/")[0], "scenario": scenario, "seats": [seat], "others": "stand_in"}
        order |= {} if seed is None else {"seed": seed}
        self._seat, *others = create(**({"task": task} if task else order), tools="slim")
        if others:
            self.close()
            raise ValueError(f"{task} is of {len(others) + 1} seats; take a task of one seat")
        self._done, shown = False, control(f"/episodes/{self._seat.episode}")
        named = {"scenario": shown["scenario"], "seed": shown["seed"], "seat": self._seat.seat}
        self._place = Place(episode_id=episode_id, market=shown["scenario"].partition("/")[0], **named)
        listed = mcp(self._seat, "tools/list")["tools"]
        tools = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed]
        text = f"{_text(self._called('view_rules'))}\n{self._turn()}"
        return self._answer(text, metadata={"episode": self._seat.episode, "tools": tools})

    def step(self, action: Call, timeout_s: float | None = None, **_: Any) -> Answer:
        """Call the tool. What ends the turn is answered with the next one, or with how the episode ended."""
        if self._seat is None or self._done:
            return self._answer("the episode is over: reset", is_error=True)
        self._place.step_count += 1
        try:
            answer = self._called(action.tool, **action.arguments)
        except Refused as refused:
            if refused.args[0] != 401:
                raise
            self._done = True
            return self._answer("the episode is over: nobody called for too long", is_error=True)
        turn, text = answer["_meta"]["tradefair/turn"], _text(answer)
        if turn["turn_over"] and not answer["isError"]:
            text = f"{text}\n{self._turn()}"
        self._done |= turn["over"]
        return self._answer(text, is_error=answer["isError"])

    @property
    def state(self) -> Place:
        """Where the session stands; `episode_id` is the one that was asked for."""
        return self._place

    def close(self) -> None:
        """Let go of the episode: its trace stays on the host, its slot is free."""
        if self._seat is not None:
            with suppress(Refused):  # the host has retired it
                control(f"/episodes/{self._seat.episode}", method="DELETE")
        self._seat = None

    def _called(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self._seat is not None
        return mcp(self._seat, "tools/call", name=tool, arguments=arguments)

    def _turn(self) -> str:
        for _ in range(_MOST_WAITS):
            answer = self._called("await_turn", timeout_s=30)
            if not answer["structuredContent"].get("still_open"):
                break
        self._done = bool(answer["structuredContent"].get("over"))
        return _text(answer)

    def _answer(self, text: str, *, is_error: bool = False, metadata: dict[str, Any] | None = None) -> Answer:
        """Every answer carries a number: 0 until the end, then the score."""
        reward, told = 0.0, metadata or {}
        if self._done and self._seat is not None:
            outcome = control(f"/episodes/{self._seat.episode}/outcome")
            told = {**told, "episode": self._seat.episode, "outcome": outcome}
            reward = outcome["seats"][self._seat.seat]["score"] or 0.0
        return Answer(text=text, reward=reward, done=self._done, metadata=told, is_error=is_error)

    # --- tasks: OpenEnv's TaskProvider ------------------------------------------------------------------------------

    def list_splits(self) -> list[dict[str, str]]:
        """Name and type of each."""
        return [{"name": split["split"], "type": split["split"]} for split in control("/tasks")["splits"]]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return control(f"/tasks/{split}?limit=1")["tasks"]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """The first thousand."""
        return self.get_task_range(split, 0, _MOST_LISTED)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One of them. Raises IndexError."""
        try:
            return control(f"/tasks/{split}/{index}")
        except Refused as refused:
            raise IndexError(json.loads(refused.args[1])["error"]["message"]) from None

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Tasks from `start` up to but without `stop`, at most a thousand."""
        first, count = start or 0, self.num_tasks(split)
        limit = min(count if stop is None else stop, count) - first
        return control(f"/tasks/{split}?start={first}&limit={min(limit, _MOST_LISTED)}")["items"] if limit > 0 else []


def _text(answer: dict[str, Any]) -> str:
    return answer["content"][0]["text"]
