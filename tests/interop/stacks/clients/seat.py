"""What a client's script is given by the environment: the seat, over stdio or HTTP, and the model's address."""

import json
import os
import urllib.request

COMMAND, *ARGUMENTS = json.loads(os.environ.get("SEAT_COMMAND", '[""]'))
URL = os.environ.get("SEAT_URL", "")
HEADERS = {"Authorization": f"Bearer {os.environ.get('SEAT_TOKEN', '')}"}
# The seat as files and frameworks write a server down.
SERVER = {"url": URL, "headers": HEADERS} if URL else {"command": COMMAND, "args": ARGUMENTS}
MODEL = os.environ["MODEL_URL"]
PROMPT = "Play your seat until the episode is over."
# Frameworks take the address of an OpenAI-compatible model from here.
os.environ |= {"OPENAI_BASE_URL": f"{MODEL}/v1", "OPENAI_API_BASE": f"{MODEL}/v1", "OPENAI_API_KEY": "none"}


def next_call(last=""):
    """For clients without a model: (tool, arguments) after the answer `last`, or None."""
    request = urllib.request.Request(f"{MODEL}/step", json.dumps({"last": last}).encode())
    with urllib.request.urlopen(request) as answer:
        step = json.load(answer)
    return None if step.get("over") else (step["tool"], step["arguments"])
