"""What the container runs: `tradefair host --tasks bundled`, and OpenEnv's server before it, until one of them ends.

HOST (127.0.0.1) and PORT (8000) say where. Both programs are found on PATH, each in an environment of its own.
"""

import json
import os
import signal
import subprocess
import sys

# As the first process of a container it is not ended by this signal unless it says so.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
markets = subprocess.Popen(["tradefair", "host", "--tasks", "bundled", "--json"], stdout=subprocess.PIPE, text=True)
assert markets.stdout is not None
control = json.loads(markets.stdout.readline())["control"]
named = {**os.environ, "TRADEFAIR_CONTROL_URL": control["url"]}
# The host does not repeat a token that it was given.
named["TRADEFAIR_CONTROL_TOKEN"] = control["token"] or os.environ["TRADEFAIR_CONTROL_TOKEN"]
where = ["--host", os.environ.get("HOST", "127.0.0.1"), "--port", os.environ.get("PORT", "8000")]
code = 0
try:
    code = subprocess.call([sys.executable, "-m", "uvicorn", "tradefair_openenv.server.app:app", *where], env=named)
except KeyboardInterrupt:
    pass
finally:
    markets.terminate()
    markets.wait()
sys.exit(code)
