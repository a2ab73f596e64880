"""A small game for the graders, sound and with one mistake each: `uvicorn mutants:app`, a path per environment."""

import random
import time
from typing import Any

from fastapi import FastAPI
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from tradefair_openenv import Answer, Call, Place


class Sound(Environment[Call, Answer, Place]):
    """Four steps, each with a reward that the seed decides."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Answer:
        self._steps(0)
        self._chance = random.Random(self._seed(seed))
        self._place = Place(episode_id=episode_id)
        return Answer(reward=0.0)

    def step(self, action: Call, timeout_s: float | None = None, **_: Any) -> Answer:
        self._place.step_count += 1
        return Answer(text=f"step {self._steps(1)}", reward=self._reward(), done=self._place.step_count == 4)

    @property
    def state(self) -> Place:
        return self._place

    def _seed(self, seed: int | None) -> int | None:
        return seed

    def _reward(self) -> float:
        return self._chance.random()

    def _steps(self, more: int) -> int:
        self._taken = self._taken + more if more else 0
        return self._taken


class Unseeded(Sound):
    """Its reward is drawn from a seed of its own, whatever is asked for."""

    def _seed(self, seed: int | None) -> int | None:
        return 1


class Clock(Sound):
    """Its reward is what the clock says."""

    def _reward(self) -> float:
        return int(time.time()) % 60 / 60


class Shared(Sound):
    """Its steps are counted for all sessions together."""

    taken = 0

    def _steps(self, more: int) -> int:
        Shared.taken = Shared.taken + more if more else 0
        return Shared.taken


app = FastAPI()
for kind in (Sound, Unseeded, Clock, Shared):
    app.mount(f"/{kind.__name__}", create_app(kind, Call, Answer, env_name=kind.__name__, max_concurrent_envs=8))
