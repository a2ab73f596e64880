"""The server: `uvicorn tradefair_openenv.server.app:app`. It needs the address and the token of a control plane."""

from openenv.core.env_server.http_server import create_app

from tradefair_openenv.models import Answer, Call
from tradefair_openenv.server.environment import TradefairEnvironment

app = create_app(TradefairEnvironment, Call, Answer, env_name="tradefair", max_concurrent_envs=64)
